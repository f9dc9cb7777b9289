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
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hdeeprm_like.batsim_server.arguments import LEVELS, parser
from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.simgrid_options import read_simgrid_options
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError, ResultsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.signals import raised_by
from hdeeprm_like.values import Number

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.server import Ask
    from hdeeprm_like.batsim_server.simulation import Simulation

AnyOptions = TypeVar("AnyOptions", bound=ServerOptions)
AnySimulation = TypeVar("AnySimulation", bound="Simulation")

logger = logging.getLogger("hdeeprm_like.batsim_server")
LOG_LEVELS = dict(zip(LEVELS, (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG), strict=True))
START = Number(0.0, 1e15, noun="number of seconds")  # at which a workflow begins
COLLECT_AFTER = 50_000  # new objects; Python's default of 700 takes a tenth of the time of a simulation
FEWEST_JOBS = 200  # of sessions for which machine code is looked for
NOT_IMITATED = ("enable_redis",)


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
        sys.stderr.write(f"error: {error}\n")
        return 2
    with _logging_to_stderr(level):
        try:
            with raised_by((signal.SIGTERM, signal.SIGINT), Stopped):
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
    """Run a simulation with the scheduler at the other end of the socket; return whether it came to its end.

    Raises:
        ProtocolError: the scheduler broke the protocol or is gone; results so far are written and marked incomplete.
        HDeepRMError: options or files are invalid.
    """
    if options.only_dump or not options.scheduler:
        return play(options, _no_scheduler)
    from hdeeprm_like.batsim_server.carrier import Carrier  # needed only with a socket

    with Carrier(options.socket, options.timeout) as carrier:
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


def read_command_line(argv: Sequence[str]) -> tuple[ServerOptions, int]:
    """Return the options of a command line, and the log level.

    Raises:
        OptionsError: an option is unknown or its value is invalid.
    """
    arguments = parser().parse_args(argv)
    if arguments.verbosity not in LOG_LEVELS:
        raise OptionsError(f"-v {arguments.verbosity}: not one of {', '.join(LOG_LEVELS)}")
    for name in NOT_IMITATED:
        if getattr(arguments, name):
            raise OptionsError(f"--{name.replace('_', '-')}: is not imitated")
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
        workflows=tuple(map(Path, arguments.workflow)),
        late_workflows=tuple((Path(name), START.in_text(text, OptionsError, "--WS")) for name, text in arguments.WS),
        workflow_jobs=max(arguments.workflow_jobs_limit, 0),
        only_workflows_count=arguments.ignore_beyond_last_workflow,
        energy=arguments.energy,
        socket=arguments.socket_endpoint,
        export=arguments.export,
        master=arguments.master_host,
        roles=_roles(arguments.add_role_to_hosts),
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
        redis=(arguments.redis_hostname, arguments.redis_port, arguments.redis_prefix),
        scheduler=not arguments.no_sched,
        simgrid=tuple(arguments.sg_cfg),
        only_dump=arguments.dump_execution_context,
    )
    read_simgrid_options(options.simgrid)  # raises for invalid ones
    return options, LOG_LEVELS["quiet" if arguments.quiet else arguments.verbosity]


def _roles(texts: Sequence[str]) -> dict[str, str]:
    """Return roles by host from texts such as ``h0,h1:storage``."""
    roles: dict[str, str] = {}
    for text in texts:
        hosts, _, role = text.partition(":")
        if text.count(":") != 1:
            raise OptionsError(f"--add-role-to-hosts {text[:80]!r}: is not HOST,...:ROLE with one colon")
        roles.update(dict.fromkeys(hosts.split(","), role))
    return roles


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
