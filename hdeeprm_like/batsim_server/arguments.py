"""The options of ``hdeeprm-like batsim``, under Batsim's names and in Batsim's groups."""

import argparse
from typing import NoReturn

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.results.batsim_files import BATSIM_VERSION
from hdeeprm_like.version import __version__

SIMGRID_VERSION = "3.32.0"  # version that Batsim 4.2.1 was recorded with
LEVELS = ("quiet", "network-only", "information", "debug")


class Parser(argparse.ArgumentParser):
    """An argument parser that raises our own errors."""

    def error(self, message: str) -> NoReturn:
        """Raise an `OptionsError`."""
        raise OptionsError(f"{self.prog}: {message}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = Parser(
        prog="hdeeprm-like batsim",
        description="Imitates Batsim 4.2.1: same options, messages and output files.",
        add_help=False,
    )
    # Only groups get options: for each of its own a parser makes a formatter, which looks for the terminal's width.
    add = made.add_argument_group("options").add_argument
    add("-h", "--help", action="help", help="show this help message and exit")
    _add_inputs(made)
    _add_outputs(made)
    _add_others(made)
    add("--version", action="version", version=f"{BATSIM_VERSION} (imitated by hdeeprm_like {__version__})")
    add("--simgrid-version", action="version", version=SIMGRID_VERSION, help="show SimGrid's and exit")
    return made


def _add_inputs(made: argparse.ArgumentParser) -> None:
    add = made.add_argument_group("input").add_argument
    add("-p", "--platform", required=True, metavar="FILE", help="SimGrid XML platform")
    add("-w", "--workload", action="append", default=[], metavar="FILE", help="Batsim JSON workload; may be repeated")
    add("-W", "--workflow", action="append", default=[], metavar="FILE", help="DAX XML workflow; may be repeated")
    late = "the same, which begins at that time"
    add("--WS", "--workflow-start", nargs=2, action="append", default=[], metavar=("FILE", "S"), help=late)
    add("--events", action="append", default=[], metavar="FILE", help="outside events, one JSON object per line")
    add = made.add_argument_group("most common").add_argument
    add("-m", "--master-host", default="master_host", metavar="NAME", help="host of the server, which never computes")
    add(
        "-r",
        "--add-role-to-hosts",
        action="append",
        default=[],
        metavar="HOST,...:ROLE",
        help="make hosts master, storage or compute_node; may be repeated",
    )
    add("-E", "--energy", action="store_true", help="measure energy")
    add = made.add_argument_group("connection").add_argument
    add("-s", "--socket-endpoint", default="tcp://localhost:28000", metavar="ENDPOINT", help="where the scheduler is")
    add("--timeout", type=float, metavar="S", help="end when the scheduler is silent for S seconds (default: wait)")
    add("--enable-redis", action="store_true", help="(not imitated)")
    add("--redis-hostname", default="127.0.0.1", metavar="HOST", help="only sent to the scheduler")
    add("--redis-port", type=int, default=6379, metavar="N", help="only sent to the scheduler")
    add("--redis-prefix", default="default", metavar="TEXT", help="only sent to the scheduler")


def _add_outputs(made: argparse.ArgumentParser) -> None:
    add = made.add_argument_group("output").add_argument
    add("-e", "--export", default="out", metavar="PREFIX", help="prefix of the output files")
    add("--disable-schedule-tracing", action="store_true", help="(the Paje trace is never written)")
    add("--disable-machine-state-tracing", action="store_true", help="leave out the machine states")
    add("-v", "--verbosity", default="information", metavar="LEVEL", help=", ".join(LEVELS))
    add("-q", "--quiet", action="store_true", help="log errors only")
    add("--dump-execution-context", action="store_true", help="print where scheduler and files are as JSON, and exit")


def _add_others(made: argparse.ArgumentParser) -> None:
    add = made.add_argument_group("number of machines").add_argument
    add("--mmax", type=int, default=0, metavar="N", help="use the first N machines")
    add("--mmax-workload", action="store_true", help="use as many machines as the workloads were made for")
    add = made.add_argument_group("jobs").add_argument
    add("--forward-profiles-on-submission", action="store_true", help="send a job's profile with the job")
    add("--enable-dynamic-jobs", action="store_true", help="allow the scheduler to register jobs")
    add("--acknowledge-dynamic-jobs", action="store_true", help="report registered jobs back to the scheduler")
    add("--enable-profile-reuse", action="store_true", help="keep profiles that no job uses any more")
    add("--enable-compute-sharing", action="store_true", help="allow jobs to share compute machines")
    add("--disable-storage-sharing", action="store_true", help="give a storage host to one job at a time")
    add("--workflow-jobs-limit", type=int, default=0, metavar="N", help="jobs of each workflow at a time")
    add("--ignore-beyond-last-workflow", action="store_true", help="ignore jobs that come when all workflows are over")
    add = made.add_argument_group("others").add_argument
    add("--no-sched", action="store_true", help="start every job at 0 s on the first machines, without a scheduler")
    add("--sched-cfg", default="", metavar="TEXT", help="sent to the scheduler")
    add("--sched-cfg-file", metavar="FILE", help="its content is sent to the scheduler")
    add("--forward-unknown-events", action="store_true", help="forward events of unknown types to the scheduler")
    add("--sg-cfg", action="append", default=[], metavar="NAME:VALUE", help="set an option of SimGrid; may be repeated")
    add("--sg-log", action="append", default=[], metavar="TEXT", help="accepted: what SimGrid logs is not imitated")
