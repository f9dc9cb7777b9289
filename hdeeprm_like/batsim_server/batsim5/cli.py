"""``hdeeprm-like batsim5``: the command line of Batsim 5.0.0-rc2, with one scheduler behind a socket or in a library.

Exit status: as that of ``hdeeprm-like batsim``.
"""

import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server.arguments import Parser
from hdeeprm_like.batsim_server.batsim5.options import IMITATED, RC2, VERSIONS, Options5
from hdeeprm_like.batsim_server.cli import LOG_LEVELS, run_command, run_to_the_end
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.version import __version__

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.batsim5.handshake import AskBytes

VERBOSITIES = {"quiet": "quiet", "info": "information", "debug": "debug"}  # Batsim 5's names of the log levels
REFUSED = {
    "energy": "-E requests the energy of links, which Batsim 5 does not have; use --energy-host",
    "energy_link": "--energy-link is not there in Batsim 5; use --energy-host",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one simulation by Batsim's command line; return the exit status."""
    return run_command(sys.argv[1:] if argv is None else argv, read_command_line, serve)


def serve(options: Options5) -> bool:
    """Run a simulation with the scheduler behind a socket or in a library; return whether it came to its end.

    Raises:
        ProtocolError: the scheduler broke the protocol or is gone; results so far are written and marked incomplete.
        HDeepRMError: options or files are invalid.
    """
    if options.library is not None:
        from hdeeprm_like.batsim_server.batsim5.library import Library

        with Library(options.library) as library:
            return play(options, library.ask)
    from hdeeprm_like.batsim_server.carrier import Carrier  # needed only with a socket

    with Carrier(options.socket, options.timeout) as carrier:
        return play(options, carrier.ask)


def play(options: Options5, ask: "AskBytes") -> bool:
    """Run a simulation with any scheduler; write the output files; return whether it came to its end.

    Args:
        ask: sends a message to the scheduler and returns the reply; those in JSON end with a NUL byte.
    """
    from hdeeprm_like.batsim_server.batsim5.handshake import shake_hands  # these four are not needed for --help
    from hdeeprm_like.batsim_server.batsim5.outputs import write_outputs
    from hdeeprm_like.batsim_server.batsim5.server import Server5
    from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5

    began = time.perf_counter()
    settled, speak = shake_hands(options, ask)
    simulation = Simulation5(settled)
    return run_to_the_end(simulation, Server5(simulation, speak).run, write_outputs, began)


def read_command_line(argv: Sequence[str]) -> tuple[Options5, int]:
    """Return the options of a command line, and the log level.

    Raises:
        OptionsError: an option is unknown or its value is invalid.
    """
    arguments = _parser().parse_args(argv)
    for name, why in REFUSED.items():
        if getattr(arguments, name) not in (None, False):
            raise OptionsError(why)
    place, init = _scheduler(arguments)
    if arguments.verbosity not in VERBOSITIES:
        raise OptionsError(f"-v {arguments.verbosity}: not one of {', '.join(VERBOSITIES)}")
    if arguments.imitate not in IMITATED:
        raise OptionsError(f"--imitate {arguments.imitate}: not one of {', '.join(IMITATED)}")
    if arguments.mmax < 0 or (arguments.timeout is not None and not 0 < arguments.timeout < 1e6):
        raise OptionsError("--mmax must not be negative, and --timeout must be above 0 s")
    in_library = bool(arguments.edc_library_str or arguments.edc_library_file)
    options = Options5(
        platform=Path(arguments.platform),
        workloads=tuple(map(Path, arguments.workload)),
        energy=arguments.energy_host,
        socket=place,
        library=Path(place) if in_library else None,
        export=arguments.export,
        master=arguments.master_host,
        mmax=arguments.mmax,
        mmax_workload=arguments.mmax_workload,
        events=tuple(map(Path, arguments.external_events)),
        trace_machine_states=arguments.trace_machine_state,
        trace_pstates=arguments.trace_pstate_changes,
        timeout=arguments.timeout,
        init=init,
        arguments=("batsim", *argv),
        imitate=arguments.imitate,
    )
    return options, LOG_LEVELS["quiet" if arguments.quiet else VERBOSITIES[arguments.verbosity]]


def _scheduler(arguments: Namespace) -> tuple[str, str]:
    """Return the endpoint or the library of the one scheduler, and the text for it."""
    texts = (arguments.edc_socket_str, arguments.edc_library_str)
    files = (arguments.edc_socket_file, arguments.edc_library_file)
    given = [found for found in (*texts, *files) if found]
    if len(given) != 1 or len(given[0]) != 1:
        raise OptionsError(
            "one scheduler is needed: -s ENDPOINT INIT, -S ENDPOINT FILE, -l LIBRARY INIT or -L LIBRARY FILE"
        )
    ((place, text),) = given[0]
    return place, text if given[0] in texts else read_text(Path(text), OptionsError)


def _parser() -> Parser:
    parser = Parser(
        prog="hdeeprm-like batsim5", description="Imitates Batsim 5: same options, messages and output files."
    )
    add = parser.add_argument
    add("-p", "--platform", required=True, metavar="FILE", help="SimGrid XML platform")
    add("-w", "--workload", action="append", default=[], metavar="FILE", help="Batsim 5 workload; may be repeated")
    for letter, name, where in (("s", "socket", "ENDPOINT"), ("l", "library", "LIBRARY")):
        named = f"where the scheduler is ({name}), a text for it"
        more: dict[str, Any] = {"nargs": 2, "action": "append"}
        add(f"-{letter}", f"--edc-{name}-str", metavar=(where, "INIT"), help=named, **more)
        add(f"-{letter.upper()}", f"--edc-{name}-file", metavar=(where, "FILE"), help="the text is in a file", **more)
    add("--energy-host", action="store_true", help="measure the energy of hosts")
    add("--energy-link", action="store_true", help="(refused, as by Batsim)")
    add("-E", "--energy", action="store_true", help="(refused, as by Batsim)")
    add("-e", "--export", default="out/", metavar="PREFIX", help="prefix of the output files (default out/)")
    add("--trace-machine-state", action="store_true", help="write the machine states")
    add("--trace-pstate-changes", action="store_true", help="write the changes of P-states")
    add("-m", "--master-host", default="master_host", metavar="NAME", help="host of the server, which never computes")
    add("--mmax", type=int, default=0, metavar="N", help="use the first N machines")
    add("--mmax-workload", action="store_true", help="use as many machines as the workloads were made for")
    add(
        *("--ee", "--external-events"),
        action="append",
        default=[],
        dest="external_events",
        metavar="FILE",
        help="outside events, one JSON object per line",
    )
    add("--imitate", default=RC2, metavar="WHICH", help="rc2 with its faults (default), or documented without them")
    add("-q", "--quiet", action="store_true", help="log errors only")
    add("-v", "--verbosity", default="info", metavar="LEVEL", help=", ".join(VERBOSITIES))
    add("--timeout", type=float, metavar="S", help="end when the scheduler is silent for S seconds (default: wait)")
    add("--version", action="version", version=f"{VERSIONS[RC2]} (imitated by hdeeprm_like {__version__})")
    return parser
