"""The command ``slurm``: order the jobs of a running Slurm by a policy."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from types import FrameType
from typing import TYPE_CHECKING

from hdeeprm_like.cli.arguments import Commands, Parser, add_trust_flag, command, flags_in, positive_seconds, tell
from hdeeprm_like.cli.names import policies
from hdeeprm_like.engine.numbers import WATCH_DEPTH, WATCH_FACTOR, WATCH_INTERVAL, WATCH_RATE
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.limits import JOBS, SITE_FACTOR
from hdeeprm_like.refusals import WATCH

if TYPE_CHECKING:
    import subprocess

FILE = Path("slurm-factors.json")
NEEDED = ("squeue", "sinfo", "scontrol")
FOREVER = 86400.0  # s until a guard gives up


def add_slurm(commands: Commands) -> None:
    """Add ``slurm`` and its commands."""
    purpose = "order the jobs of a running Slurm by a policy"
    added = commands.add_parser("slurm", help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    kinds = added.add_subparsers(dest="slurm", metavar="WHAT", required=True)
    _add_watch(kinds)
    restore = command(kinds, "restore", "set the site factors of jobs back to 0", _run_restore)
    _add_file(restore)
    restore.switch("--all", "reset all pending and running jobs, also those not in the file")
    text = "do nothing while a watch, or another restore, is at work on the file; for a timer"
    restore.switch("--unless-watched", text)
    restore.option("--timeout", "S", "s to try", kind=positive_seconds, default=60.0)
    restore.add_argument("--when-closed", action="store_true", help=argparse.SUPPRESS)  # the guard of a watch
    status = command(kinds, "status", "show the state of a watch and its factors", _run_status)
    _add_file(status)
    status.path("--log", "FILE", "log of the watch, to summarize")


def add_watch_options(added: Parser) -> None:
    """Add the flags for the interval of a watch and the size of its factors."""
    added.option("--interval", "S", "s between two reads of Slurm", kind=positive_seconds, default=WATCH_INTERVAL)
    added.whole("--max-factor", SITE_FACTOR, "the largest site factor that the watch sets", default=WATCH_FACTOR)


def _add_watch(kinds: Commands) -> None:
    added = command(kinds, "watch", "watch a Slurm, and order its pending jobs by a policy", _run_watch)
    added.option(
        "--policy",
        "NAME",
        "policy of the order: sjf, f1, zoo:steady, scored:FILE.json, ...",
        required=True,
        completes=policies(),
    )
    add_trust_flag(added)
    mode = added.add_mutually_exclusive_group()
    added.switch("--dry-run", "only log what would be done (the default)", group=mode)
    added.switch("--apply", "set site factors; needs operator rights in Slurm", group=mode)
    add_watch_options(added)
    added.whole("--depth", JOBS, "most jobs with a factor", default=WATCH_DEPTH)
    added.option("--partition", "A,B", "only these partitions", kind=names, default=())
    added.option("--users", "A,B", "set factors for jobs of these users only", kind=names, default=())
    added.option("--rate", "N", "most changes a second", kind=positive_seconds, default=WATCH_RATE)
    text = "s without contact before all factors are reset to 0"
    added.option("--patience", "S", text, kind=positive_seconds, default=60.0)
    added.option("--rest", "ADDRESS", "read from slurmrestd: http://HOST:PORT, https://HOST:PORT or unix:PATH")
    added.path("--log", "FILE", "JSON lines of changes and reasons (default: stdout)")
    _add_file(added)


def _add_file(added: Parser) -> None:
    added.path("--state", "FILE", "record of the factors that are set", default=FILE)


def names(text: str) -> tuple[str, ...]:
    """Parse names separated by commas."""
    return tuple(name for name in text.split(",") if name)


def _run_watch(options: argparse.Namespace) -> None:
    from hdeeprm_like.decision.names import Baseline, policy_in
    from hdeeprm_like.slurm.commands import Programs
    from hdeeprm_like.slurm.factors import FactorFile
    from hdeeprm_like.slurm.journal import Journal
    from hdeeprm_like.slurm.rest import Rest
    from hdeeprm_like.slurm.watch import ENDINGS, Watch, WatchOptions

    found = policy_in(options.policy, WATCH)
    assert isinstance(found, Baseline)
    slurm = Programs() if options.rest is None else Rest(options.rest)
    _need_programs(NEEDED if options.apply or not options.rest else ("scontrol",))
    file = FactorFile(options.state)
    watch = Watch(
        slurm,
        flags_in(options, WatchOptions, policy=found.alone, most=options.max_factor, partitions=options.partition),
        file,
        Journal(options.log),
    )
    stop = Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in ENDINGS:
        signal.signal(number, end)
    if not options.apply:
        watch.run(stop)
        return
    with file.locked():
        file = FactorFile(options.state)  # written by another watch until it released the lock
        watch.file = file
        guard = start_guard(options.state)
        try:
            watch.run(stop)
        finally:
            assert guard.stdin is not None
            guard.stdin.close()


def start_guard(path: Path) -> "subprocess.Popen[bytes]":
    """Start the process that resets the factors if this one ends without doing so, as after kill -9."""
    words = ("slurm", "restore", "--when-closed", "--quiet", "--state", str(path))
    import subprocess

    return subprocess.Popen(
        [sys.executable, "-m", "hdeeprm_like", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def _run_restore(options: argparse.Namespace) -> None:
    from hdeeprm_like.slurm.commands import Programs
    from hdeeprm_like.slurm.factors import FactorFile, put_back_in_time

    if options.when_closed:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # it ends with the watch, not before
        sys.stdin.buffer.read()
    if options.unless_watched and FactorFile(options.state).holder():
        return
    _need_programs(NEEDED)
    if options.all:
        options.state.unlink(missing_ok=True)  # it may be unreadable
    with FactorFile(options.state).locked(patience=options.when_closed):
        file = FactorFile(options.state)
        patience = FOREVER if options.when_closed else options.timeout
        count = put_back_in_time(Programs(), file, patience, options.all)
    tell(options, f"{count} jobs have the site factor 0 again" if count else "no factors are set")


def _run_status(options: argparse.Namespace) -> None:
    from hdeeprm_like.slurm.factors import FactorFile
    from hdeeprm_like.slurm.journal import summary

    file = FactorFile(options.state)
    holder = file.holder()
    sys.stdout.write(f"process {holder} sets factors\n" if holder else "no process sets factors\n")
    factors = file.factors.values()
    sys.stdout.write(
        f"{options.state}: {len(factors)} jobs have a factor, from {min(factors)} to {max(factors)}\n"
        if factors
        else f"{options.state}: no factors are set\n"
    )
    if options.log is not None:
        for line in summary(options.log):
            sys.stdout.write(f"{line}\n")


def _need_programs(needed: Sequence[str]) -> None:
    import shutil

    missing = [program for program in needed if shutil.which(program) is None]
    if missing:
        raise OptionsError(f"{', '.join(missing)}: not found in PATH; install Slurm's client programs")
