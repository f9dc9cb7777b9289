"""``hdeeprm-like batsim``: the command line of Batsim 4.2.1.

Exit status: 0 when the simulation ended or nothing more could happen, 1 when the scheduler broke the protocol or is
gone, 2 when an option or a file cannot be used, 143 or 130 when stopped by SIGTERM or SIGINT.
"""

import argparse
import logging
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from hdeeprm_like import __version__
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError, ResultsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.results.batsim_files import BATSIM_VERSION

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.server import Ask

logger = logging.getLogger("hdeeprm_like.batsim_server")
LEVELS = {
    "quiet": logging.ERROR,
    "network-only": logging.WARNING,
    "information": logging.INFO,
    "debug": logging.DEBUG,
}


class Stopped(BaseException):
    """A signal asked to stop."""

    def __init__(self, number: int) -> None:
        """Say which signal it was."""
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionsError(f"{self.prog}: {message}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one simulation as Batsim's command line says; return the exit status."""
    try:
        options, level = read_command_line(sys.argv[1:] if argv is None else argv)
    except HDeepRMError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    with _logging_to_stderr(level):
        try:
            with _signals_stop():
                serve(options)
        except Stopped as stopped:
            logger.error("%s", stopped)
            return 128 + stopped.number
        except ProtocolError as error:
            logger.error("%s", error)
            return 1
        except HDeepRMError as error:
            logger.error("%s", error)
            return 2
    return 0


def serve(options: ServerOptions) -> bool:
    """Play a simulation with the scheduler at the other end of the socket; return whether it came to its end.

    Raises:
        ProtocolError: the scheduler broke the protocol or is gone; what was known is written and marked incomplete.
        HDeepRMError: the options or files cannot be used.
    """
    from hdeeprm_like.batsim_server.carrier import Carrier  # zmq, which only a simulation over a socket needs

    with Carrier(options.socket, options.timeout) as carrier:
        return play(options, carrier.ask)


def play(options: ServerOptions, ask: "Ask") -> bool:
    """Play a simulation with any scheduler; write the output files; return whether it came to its end.

    Args:
        ask: sends a message to the scheduler and returns the reply.
    """
    from hdeeprm_like.batsim_server.outputs import write_outputs  # numpy, which --help does not need
    from hdeeprm_like.batsim_server.server import Server
    from hdeeprm_like.batsim_server.simulation import Simulation

    began = time.perf_counter()
    simulation = Simulation(options)
    logger.info(
        "%d machines, %d jobs; the scheduler is at %s", len(simulation.machines), len(simulation.jobs), options.socket
    )
    try:
        ended = Server(simulation, ask).run()
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


def read_command_line(argv: Sequence[str]) -> tuple[ServerOptions, int]:
    """Return the options of a command line, and how much to log.

    Raises:
        OptionsError: an option is unknown or its value cannot be used.
    """
    arguments = _parser().parse_args(argv)
    if arguments.verbosity not in LEVELS:
        raise OptionsError(f"-v {arguments.verbosity}: not one of {', '.join(LEVELS)}")
    if arguments.mmax < 0 or (arguments.timeout is not None and not 0 < arguments.timeout < 1e6):
        raise OptionsError("--mmax must not be negative, and --timeout must be above 0 s")
    if arguments.sched_cfg and arguments.sched_cfg_file:
        raise OptionsError("--sched-cfg and --sched-cfg-file cannot both be used")
    for name in ("platform", "export"):
        if not getattr(arguments, name):
            raise OptionsError(f"--{name} must not be empty")
    config = (
        read_text(Path(arguments.sched_cfg_file), OptionsError) if arguments.sched_cfg_file else arguments.sched_cfg
    )
    config = config.encode(errors="replace").decode()
    export = Path(arguments.export)
    if export.parent.exists() and not export.parent.is_dir():
        raise ResultsError(f"{export.parent}: is no folder to write results to")
    options = ServerOptions(
        platform=Path(arguments.platform),
        workloads=tuple(map(Path, arguments.workload)),
        energy=arguments.energy,
        socket=arguments.socket_endpoint,
        export=arguments.export,
        master=arguments.master_host,
        mmax=arguments.mmax,
        mmax_workload=arguments.mmax_workload,
        events=tuple(map(Path, arguments.events)),
        forward_unknown_events=arguments.forward_unknown_events,
        forward_profiles=arguments.forward_profiles_on_submission,
        dynamic_jobs=arguments.enable_dynamic_jobs,
        acknowledge_dynamic_jobs=arguments.acknowledge_dynamic_jobs,
        profile_reuse=arguments.enable_profile_reuse,
        compute_sharing=arguments.enable_compute_sharing,
        storage_sharing=not arguments.disable_storage_sharing,
        sched_config=config,
        trace_machine_states=not arguments.disable_machine_state_tracing,
        timeout=arguments.timeout,
    )
    return options, LEVELS["quiet" if arguments.quiet else arguments.verbosity]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hdeeprm-like batsim", description="Imitates Batsim 4.2.1: same options, messages and output files."
    )
    add = parser.add_argument
    add("-p", "--platform", required=True, metavar="FILE", help="SimGrid XML platform")
    add("-w", "--workload", action="append", default=[], metavar="FILE", help="Batsim JSON workload; may be repeated")
    add("-E", "--energy", action="store_true", help="measure energy")
    add("-s", "--socket-endpoint", default="tcp://localhost:28000", metavar="ENDPOINT", help="where the scheduler is")
    add("-e", "--export", default="out", metavar="PREFIX", help="prefix of the output files")
    add("-m", "--master-host", default="master_host", metavar="NAME", help="host of the server, which never computes")
    add("--mmax", type=int, default=0, metavar="N", help="use the first N machines")
    add("--mmax-workload", action="store_true", help="use as many machines as the workloads were made for")
    add("--events", action="append", default=[], metavar="FILE", help="outside events, one JSON object per line")
    add("--forward-unknown-events", action="store_true", help="tell the scheduler of events of unknown types")
    add("--forward-profiles-on-submission", action="store_true", help="tell a job's profile with the job")
    add("--enable-dynamic-jobs", action="store_true", help="let the scheduler register jobs")
    add("--acknowledge-dynamic-jobs", action="store_true", help="tell the scheduler of the jobs that it registered")
    add("--enable-profile-reuse", action="store_true", help="keep profiles that no job uses any more")
    add("--enable-compute-sharing", action="store_true", help="let jobs share machines")
    add("--disable-storage-sharing", action="store_true", help="(only sent to the scheduler: there is no storage)")
    add("--sched-cfg", default="", metavar="TEXT", help="sent to the scheduler")
    add("--sched-cfg-file", metavar="FILE", help="its content is sent to the scheduler")
    add("--disable-machine-state-tracing", action="store_true", help="leave out the machine states")
    add("--disable-schedule-tracing", action="store_true", help="(the Paje trace is never written)")
    add("-q", "--quiet", action="store_true", help="log errors only")
    add("-v", "--verbosity", default="information", metavar="LEVEL", help=", ".join(LEVELS))
    add("--timeout", type=float, metavar="S", help="end when the scheduler is silent for S seconds (default: wait)")
    add("--version", action="version", version=f"{BATSIM_VERSION} (imitated by hdeeprm_like {__version__})")
    return parser


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
def _signals_stop() -> Iterator[None]:
    """Turn SIGTERM and SIGINT into `Stopped`, where signals can be handled at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold signals back while files are written."""
    numbers = {signal.SIGTERM, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
