"""The command ``sweep``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hdeeprm_like.cli.arguments import (
    CUT_SHORT,
    INTERRUPTED,
    PROGRAM,
    Commands,
    add_trust_flag,
    command,
    positive_seconds,
    tell,
)
from hdeeprm_like.cli.names import files_or
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.shipped import found, names_of
from hdeeprm_like.limits import PROCESSES
from hdeeprm_like.values import whole_in

if TYPE_CHECKING:
    from hdeeprm_like.plugins import Place
    from hdeeprm_like.studies.sweep.engine import Where

ACTIONS = ("status", "cancel", "collect")


def add_sweep(commands: Commands) -> None:
    """Add ``sweep``."""
    added = command(commands, "sweep", "run a grid of experiments here or on Slurm", run_sweep)
    added.usage = (
        f"{PROGRAM} sweep FILE --output DIR [--engine local|slurm] ...\n"
        f"       {PROGRAM} sweep status DIR | cancel DIR | collect DIR --output TABLE.csv"
    )
    added.option(
        "words",
        "FILE | status DIR | cancel DIR | collect DIR",
        "an options file with lists, or a list of such, or a name, e.g. lublin-1; or an action on a sweep that was "
        "begun",
        nargs="+",
        completes=files_or(lambda: (*names_of("sweep"), *ACTIONS)),
    )
    text = "folder of the sweep, which continues where it stopped; for collect the table, .csv or .parquet"
    added.path("--output -o", "PATH", text)
    added.choice("--engine", ("local", "slurm"), "processes of this computer, or jobs of Slurm", default="local")
    added.whole("--workers", PROCESSES, "most workers at a time (default: all available)")
    added.option("--chunk", "SECONDS", "work of a chunk for one worker", kind=positive_seconds, default=180.0)
    text = "parameter of submitit for Slurm's jobs: partition=short, timeout_min=60, account=me; repeat it for more"
    added.option("--slurm", "KEY=VALUE", text, action="append", default=[])
    add_trust_flag(added)
    added.set_defaults(sweep_file=None)


def run_sweep(options: argparse.Namespace) -> int:
    """Run a sweep, or act on one."""
    word, *rest = options.words
    if word in ACTIONS:
        if len(rest) != 1:
            raise OptionsError(f"sweep {word}: needs the folder of one sweep")
        return look_after(word, Path(rest[0]), options)
    if rest:
        raise OptionsError(f"sweep: {rest[0][:40]!r}: give one file, or one of {', '.join(ACTIONS)} and a folder")
    if options.output is None:
        raise OptionsError("sweep: needs --output DIR")
    from hdeeprm_like.cli.trust import trusted_by
    from hdeeprm_like.studies.sweep.engine import Where

    options.sweep_file = found(word, "sweep", "options")
    trusted = trusted_by(options)
    where = Where(options.engine, options.output, options.workers, parameters_in(options.slurm))
    try:
        return swept(where, options, trusted)
    except KeyboardInterrupt:
        queue = (
            f"; its jobs continue, {PROGRAM} sweep cancel {options.output} ends them"
            if options.engine == "slurm"
            else ""
        )
        sys.stderr.write(f"{PROGRAM}: interrupted; the same command continues{queue}\n")
        return INTERRUPTED


def swept(where: "Where", options: argparse.Namespace, trusted: "tuple[Place, ...]") -> int:
    """Run a sweep and print its outcome; return the exit status, which is not 0 if tasks have failed."""
    from hdeeprm_like.plugins import trusting
    from hdeeprm_like.studies.sweep.run import sweep
    from hdeeprm_like.studies.sweep.state import failures_of, told_failures

    with trusting(*trusted):
        tasks, ledger = sweep(options.sweep_file, where, options.chunk, trusted, progress=not options.quiet)
    failures, done = failures_of(tasks, ledger), sum(task.key in ledger.done for task in tasks)
    tell(options, f"{done} of {len(tasks)} tasks done, {len(failures)} failed; in {options.output}")
    sys.stderr.write(told_failures(failures))
    return CUT_SHORT if done < len(tasks) else 0


def look_after(action: str, folder: Path, options: argparse.Namespace) -> int:
    """Print the state of a sweep, end it, or make a table of its results."""
    from hdeeprm_like.studies.sweep import state

    if action == "status":
        sys.stdout.write(state.status_of(folder))
        return 0
    if action == "cancel":
        jobs = state.cancel(folder)
        tell(options, f"{folder}: cancelled{f', {jobs} jobs of Slurm' if jobs else ''}")
        return 0
    if options.output is None:
        raise OptionsError("sweep collect: needs --output TABLE.csv")
    rows = state.collect(folder, options.output)
    tell(options, f"{rows} rows in {options.output}")
    return 0


def parameters_in(words: list[str]) -> dict[str, str | int]:
    """Return the settings of Slurm's jobs from ``KEY=VALUE``."""
    found: dict[str, str | int] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise OptionsError(f"--slurm {word[:40]!r}: is no KEY=VALUE such as partition=short")
        number = whole_in(value, digits=9)
        found[key] = value if number < 0 else number
    return found
