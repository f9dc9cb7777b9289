"""``hdeeprm-like batsim5``: the command line of Batsim 5.0.0-rc2, with one scheduler behind a socket or in a library.

Exit status: as that of ``hdeeprm-like batsim``.
"""

import logging
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server.arguments import Parser
from hdeeprm_like.batsim_server.cli import run_command, run_to_the_end
from hdeeprm_like.batsim_server.options import IMITATED, RC2, VERSIONS, Options5
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_text

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.batsim5.handshake import AskBytes

LEVELS = {"quiet": logging.ERROR, "info": logging.INFO, "debug": logging.DEBUG}
SCHEDULERS = "sSlL"  # behind a socket or in a library; the text for it is in a file after a capital
REFUSED = {
    "all_energy": "-E requests the energy of links, which Batsim 5 does not have; use --energy-host",
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
    from hdeeprm_like.batsim_server.batsim5.library import Library  # one of these is needed, and only here
    from hdeeprm_like.batsim_server.carrier import Carrier

    made = Carrier(options.socket, options.timeout) if options.library is None else Library(options.library)
    with closing(made) as scheduler:
        return play(options, scheduler.ask)


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
    given, level = _parser().given(argv, REFUSED)
    found = {name: given.pop(name, ()) for name in SCHEDULERS}
    chosen = [(name, *pair) for name, pairs in found.items() for pair in pairs]
    if len(chosen) != 1:
        raise OptionsError(
            "one scheduler is needed: -s ENDPOINT INIT, -S ENDPOINT FILE, -l LIBRARY INIT or -L LIBRARY FILE"
        )
    ((name, place, text),) = chosen
    given["init"] = read_text(Path(text), OptionsError) if name.isupper() else text
    given |= {"library": Path(place)} if name.lower() == "l" else {"socket": place}
    return Options5(**given, arguments=("batsim", *argv)), level


def _parser() -> Parser:
    made = Parser("batsim5", VERSIONS[RC2], LEVELS, ("--ee", "--external-events"))
    add = made.add_argument_group("scheduler").add_argument
    for letter, name, where in (("s", "socket", "ENDPOINT"), ("l", "library", "LIBRARY")):
        named = f"where the scheduler is ({name}), a text for it"
        pair: dict[str, Any] = {"nargs": 2, "action": "append"}
        add(f"-{letter}", f"--edc-{name}-str", dest=letter, metavar=(where, "INIT"), help=named, **pair)
        letter, named = letter.upper(), "the text is in a file"
        add(f"-{letter}", f"--edc-{name}-file", dest=letter, metavar=(where, "FILE"), help=named, **pair)
    add = made.add_argument_group("simulation").add_argument
    flag: dict[str, Any] = {"action": "store_true"}
    add("--energy-host", dest="energy", help="measure the energy of hosts", **flag)
    add("--energy-link", help="(refused, as by Batsim)", **flag)
    add("-E", "--energy", dest="all_energy", help="(refused, as by Batsim)", **flag)
    add("--trace-machine-state", dest="trace_machine_states", help="write the machine states", **flag)
    add("--trace-pstate-changes", dest="trace_pstates", help="write the changes of P-states", **flag)
    which = "rc2 with its faults (default), or documented without them"
    add("--imitate", choices=IMITATED, metavar="WHICH", help=which)
    return made
