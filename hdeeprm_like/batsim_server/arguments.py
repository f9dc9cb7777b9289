"""The command lines of both versions of Batsim; where an option is kept is the field of the record of options."""

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.simgrid_options import read_simgrid_options
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.results.batsim_files import BATSIM_VERSION
from hdeeprm_like.values import Number
from hdeeprm_like.version import __version__

AnyOptions = TypeVar("AnyOptions", bound=ServerOptions)

SIMGRID_VERSION = "3.32.0"  # version that Batsim 4.2.1 was recorded with
LEVELS = {
    "quiet": logging.ERROR,
    "network-only": logging.WARNING,
    "information": logging.INFO,
    "debug": logging.DEBUG,
}
MOST_SECONDS = 10**6  # of a wait
START = Number(0.0, 1e15, noun="number of seconds")  # at which a workflow begins
FILES: dict[str, Any] = {"action": "append", "type": Path, "metavar": "FILE"}
REFUSED = {"redis": "--enable-redis: is not imitated"}


class Parser(argparse.ArgumentParser):
    """A parser of the options of a version of Batsim, first those that both have; it raises our own errors."""

    def __init__(self, command: str, version: str, levels: Mapping[str, int], events: Sequence[str]) -> None:
        """Make a parser for a command that imitates a version of Batsim.

        Args:
            levels: of the log, by name.
            events: the names of the option for the files of outside events.
        """
        super().__init__(
            prog=f"hdeeprm-like {command}",
            description=f"Imitates Batsim {version}: same options, messages and output files.",
            add_help=False,
            argument_default=argparse.SUPPRESS,
        )
        self._levels = levels
        # Only groups get options: for each of its own a parser makes a formatter, which looks for the terminal's width.
        add = self.add_argument_group("options").add_argument
        add("-h", "--help", action="help", help="show this help message and exit")
        add("-v", "--verbosity", choices=levels, metavar="LEVEL", help=", ".join(levels))
        add("-q", "--quiet", action="store_true", help="log errors only")
        add("--version", action="version", version=f"{version} (imitated by hdeeprm_like {__version__})")
        add("--timeout", type=float, metavar="S", help="end when the scheduler is silent for S seconds (default: wait)")
        add = self.add_argument_group("input").add_argument
        add("-p", "--platform", required=True, type=_path, metavar="FILE", help="SimGrid XML platform")
        add("-w", "--workload", dest="workloads", help="JSON workload of this version; may be repeated", **FILES)
        add(*events, dest="events", help="outside events, one JSON object per line", **FILES)
        add = self.add_argument_group("machines").add_argument
        add("-m", "--master-host", dest="master", metavar="NAME", help="host of the server, which never computes")
        add("--mmax", type=int, metavar="N", help="use the first N machines")
        add("--mmax-workload", action="store_true", help="use as many machines as the workloads were made for")
        add = self.add_argument_group("output").add_argument
        add("-e", "--export", type=_named, metavar="PREFIX", help="prefix of the output files")

    def error(self, message: str) -> NoReturn:
        """Raise an `OptionsError`."""
        raise OptionsError(f"{self.prog}: {message}")

    def given(self, argv: Sequence[str], refused: Mapping[str, str]) -> tuple[dict[str, Any], int]:
        """Return the options of a command line by their fields, and the log level.

        Args:
            refused: why an option cannot be used, by where it is kept.

        Raises:
            OptionsError: an option is unknown, its value is invalid, or it cannot be used.
        """
        found = vars(self.parse_args(argv))
        for name, why in refused.items():
            if name in found:
                raise OptionsError(why)
        if found.get("mmax", 0) < 0:
            raise OptionsError(f"--mmax {found['mmax']}: must not be negative")
        if not 0 < found.get("timeout", 1) < MOST_SECONDS:
            raise OptionsError(f"--timeout {found['timeout']:g}: must be above 0 s and below {MOST_SECONDS:,} s")
        level = self._levels.get(found.pop("verbosity", ""), logging.INFO)
        level = logging.ERROR if found.pop("quiet", False) else level
        return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}, level


def _named(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def _path(text: str) -> Path:
    return Path(_named(text))


def _roles(text: str) -> dict[str, str]:
    """Return roles by host from a text such as ``h0,h1:storage``."""
    hosts, _, role = text.partition(":")
    if text.count(":") != 1:
        raise argparse.ArgumentTypeError(f"{text[:80]!r} is not HOST,...:ROLE with one colon")
    return dict.fromkeys(hosts.split(","), role)


def _sendable(text: str) -> str:
    return text.encode(errors="replace").decode()


def read_command_line(argv: Sequence[str]) -> tuple[ServerOptions, int]:
    """Return the options of a command line of Batsim 4, and the log level.

    Raises:
        OptionsError: an option is unknown or its value is invalid.
    """
    given, level = _parser().given(argv, REFUSED)
    given.pop("accepted", None)
    roles = {host: role for part in given.pop("roles", ()) for host, role in part.items()}
    late = [(Path(name), START.in_text(text, OptionsError, "--WS")) for name, text in given.pop("late_workflows", ())]
    options = ServerOptions(**given, roles=roles, late_workflows=tuple(late))
    folder = Path(options.export).parent
    if folder.exists() and not folder.is_dir():
        raise ResultsError(f"{folder}: is no folder to write results to")
    read_simgrid_options(options.simgrid)  # raises for invalid ones
    return options, level


def _parser() -> Parser:
    made = Parser("batsim", BATSIM_VERSION, LEVELS, ["--events"])
    flag: dict[str, Any] = {"action": "store_true"}
    no: dict[str, Any] = {"action": "store_false"}
    many: dict[str, Any] = {"action": "append"}
    add = made.add_argument_group("workflows").add_argument
    add("-W", "--workflow", dest="workflows", help="DAX XML workflow; may be repeated", **FILES)
    late = "the same, which begins at that time"
    add("--WS", "--workflow-start", dest="late_workflows", nargs=2, metavar=("FILE", "S"), help=late, **many)
    add("--workflow-jobs-limit", dest="workflow_jobs", type=int, metavar="N", help="jobs of each workflow at a time")
    beyond = "ignore jobs that come when all workflows are over"
    add("--ignore-beyond-last-workflow", dest="only_workflows_count", help=beyond, **flag)
    add = made.add_argument_group("simulation").add_argument
    roles = "make hosts master, storage or compute_node; may be repeated"
    add("-r", "--add-role-to-hosts", dest="roles", type=_roles, metavar="HOST,...:ROLE", help=roles, **many)
    add("-E", "--energy", help="measure energy", **flag)
    add("--enable-compute-sharing", dest="compute_sharing", help="allow jobs to share compute machines", **flag)
    alone = "give a storage host to one job at a time"
    add("--disable-storage-sharing", dest="storage_sharing", help=alone, **no)
    add("--enable-dynamic-jobs", dest="dynamic_jobs", help="allow the scheduler to register jobs", **flag)
    add("--enable-profile-reuse", dest="profile_reuse", help="keep profiles that no job uses any more", **flag)
    simgrid = "set an option of SimGrid; may be repeated"
    add("--sg-cfg", dest="simgrid", metavar="NAME:VALUE", help=simgrid, **many)
    add("--sg-log", dest="accepted", metavar="TEXT", help="accepted: what SimGrid logs is not imitated")
    add("--simgrid-version", action="version", version=SIMGRID_VERSION, help="show SimGrid's and exit")
    group = made.add_argument_group("scheduler")
    add = group.add_argument
    add("-s", "--socket-endpoint", dest="socket", metavar="ENDPOINT", help="where the scheduler is")
    start = "start every job at 0 s on the first machines, without a scheduler"
    add("--no-sched", dest="scheduler", help=start, **no)
    profile = "send a job's profile with the job"
    add("--forward-profiles-on-submission", dest="forward_profiles", help=profile, **flag)
    add("--acknowledge-dynamic-jobs", help="report registered jobs back to the scheduler", **flag)
    add("--forward-unknown-events", help="forward events of unknown types to the scheduler", **flag)
    add("--enable-redis", dest="redis", help="(not imitated)", **flag)
    for name, kind in (("hostname", str), ("port", int), ("prefix", str)):
        add(f"--redis-{name}", type=kind, metavar=name.upper(), help="only sent to the scheduler")
    add = group.add_mutually_exclusive_group().add_argument
    add("--sched-cfg", dest="sched_config", type=_sendable, metavar="TEXT", help="sent to the scheduler")
    read, content = lambda name: _sendable(read_text(Path(name), OptionsError)), "its content is sent to the scheduler"
    add("--sched-cfg-file", dest="sched_config", type=read, metavar="FILE", help=content)
    add = made.add_argument_group("files").add_argument
    add("--disable-schedule-tracing", dest="accepted", help="(the Paje trace is never written)", **flag)
    add("--disable-machine-state-tracing", dest="trace_machine_states", help="leave out the machine states", **no)
    context = "print where scheduler and files are as JSON, and exit"
    add("--dump-execution-context", dest="only_dump", help=context, **flag)
    return made
