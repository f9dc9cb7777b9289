"""``hdeeprm-like batsim``: the command line of Batsim 4.2.1.

Exit status: 0 when the simulation ended or nothing more could happen, 1 when the scheduler broke the protocol or is
gone, 2 when an option or a file is invalid, 143 or 130 when stopped by SIGTERM or SIGINT.
"""

import gc
import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, TypeVar

from hdeeprm_like.batsim_server.arguments import AnyOptions, read_command_line
from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.errors import HDeepRMError, ProtocolError, one_line
from hdeeprm_like.signals import raised_by

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.server import Ask
    from hdeeprm_like.batsim_server.simulation import Simulation

AnySimulation = TypeVar("AnySimulation", bound="Simulation")

logger = logging.getLogger("hdeeprm_like.batsim_server")
COLLECT_AFTER = 50_000  # new objects; Python's default of 700 takes a tenth of the time of a simulation
FEWEST_JOBS = 200  # of sessions for which machine code is looked for


class Stopped(BaseException):
    """A signal that ends the process arrived."""

    def __init__(self, number: int) -> None:
        """Record the signal."""
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run one simulation by Batsim's command line; return the exit status."""
    return run_command(sys.argv[1:] if argv is None else argv, read_command_line, serve)


def run_command(
    argv: Sequence[str],
    read: Callable[[Sequence[str]], tuple[AnyOptions, int]],
    serve: Callable[[AnyOptions], object],
) -> int:
    """Run one simulation by the command line of a version of Batsim; return the exit status.

    Args:
        read: returns the options of a command line, and the log level.
        serve: runs the simulation.
    """
    gc.set_threshold(COLLECT_AFTER)
    try:
        options, level = read(argv)
    except HDeepRMError as error:
        sys.stderr.write(f"error: {one_line(str(error))}\n")
        return 2
    with _logging_to_stderr(level):
        try:
            with raised_by((signal.SIGTERM, signal.SIGINT), Stopped):
                serve(options)
        except Stopped as stopped:
            logger.error("%s", stopped)
            return 128 + stopped.number
        except ProtocolError as error:
            logger.error("%s", one_line(str(error)))
            return 1
        except HDeepRMError as error:
            logger.error("%s", one_line(str(error)))
            return 2
    return 0


def serve(options: ServerOptions) -> bool:
    """Run a simulation with the scheduler at the other end of the socket; return whether it came to its end.

    Raises:
        ProtocolError: the scheduler broke the protocol or is gone; results so far are written and marked incomplete.
        HDeepRMError: options or files are invalid.
    """
    if options.only_dump or not options.scheduler:
        return play(options, _no_scheduler)
    from hdeeprm_like.batsim_server.carrier import Carrier  # needed only with a socket

    with closing(Carrier(options.socket, options.timeout)) as carrier:
        return play(options, carrier.ask)


def play(options: ServerOptions, ask: "Ask") -> bool:
    """Run a simulation with any scheduler; write the output files; return whether it came to its end.

    Args:
        ask: sends a message to the scheduler and returns the reply.
    """
    if options.only_dump:
        sys.stdout.write(encode(options.context()) + "\n")
        return True
    from hdeeprm_like.batsim_server.outputs import write_outputs  # not needed for --help
    from hdeeprm_like.batsim_server.simulation import Simulation

    began = time.perf_counter()
    simulation = Simulation(options)
    return run_to_the_end(simulation, lambda: _run(simulation, ask), write_outputs, began)


def _run(simulation: "Simulation", ask: "Ask") -> bool:
    """Run a simulation in the way that takes the least time; return whether it came to its end."""
    if not simulation.options.scheduler:
        from hdeeprm_like.batsim_server.submitters import start_all

        return start_all(simulation)
    if (len(simulation.jobs) >= FEWEST_JOBS or _sends(simulation)) and not logger.isEnabledFor(logging.DEBUG):
        from hdeeprm_like.batsim_server.silent import run  # which takes longer to load than short sessions save

        return run(simulation, ask)
    from hdeeprm_like.batsim_server.server import Server

    return Server(simulation, ask).run()


def _sends(simulation: "Simulation") -> bool:
    """Return whether jobs send while they compute: the links that they share take Python numpy, which loads slowly."""
    from hdeeprm_like.batsim_server.profile_types.computing import COMPUTING

    used = (profile for profiles in simulation.profiles.values() for profile in profiles.values())
    return any(profile.type in COMPUTING and not profile.type.silent(profile.parameters) for profile in used)


def run_to_the_end(
    simulation: AnySimulation, run: Callable[[], bool], write_outputs: Callable[..., None], began: float
) -> bool:
    """Run a prepared simulation; write its output files; return whether it came to its end.

    Args:
        simulation: of any version of Batsim.
        run: runs it.
        write_outputs: takes the simulation, its wall-clock time in s, and why it is incomplete, if so.
        began: start on `time.perf_counter`.
    """
    options = simulation.options
    logger.info(
        "%d machines, %d jobs; the scheduler is at %s", len(simulation.machines), len(simulation.jobs), options.socket
    )
    try:
        ended = run()
    except BaseException as cause:
        with _signals_wait():
            logger.info("writing what is known until %g s", simulation.engine.now)
            write_outputs(simulation, time.perf_counter() - began, incomplete=str(cause) or type(cause).__name__)
        raise
    if not ended:
        logger.warning(
            "deadlock at %g s: nothing more can happen, but %d of %d jobs are not over",
            simulation.engine.now,
            simulation.submitted - simulation.completed,
            simulation.submitted,
        )
    with _signals_wait():
        write_outputs(simulation, time.perf_counter() - began)
    logger.info("the simulation took %g simulated s", simulation.engine.now)
    return ended


def _no_scheduler(text: str) -> bytes:
    raise ProtocolError("there is no scheduler to talk to")


@contextmanager
def _logging_to_stderr(level: int) -> Iterator[None]:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[%(levelname)s] %(message)s"))
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(level)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Delay signals while files are written."""
    numbers = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
