"""The command ``compare``."""

import argparse
import sys
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, command, positive, seed
from hdeeprm_like.formats.open import names


def add_compare(commands: Commands) -> None:
    """Add ``compare``."""
    added = command(commands, "compare", "compare scheduling policies on the same windows of a trace", run_compare)
    added.add_argument("--trace", type=Path, required=True, metavar="SWF", help="the trace, plain or .gz")
    added.add_argument(
        "--policies",
        required=True,
        metavar="P,...",
        help="an order and how it is applied, as fcfs, sjf+easy, f1+conservative, sjf+easyP; agent:DIR for what train "
        "has left in DIR; see the README",
    )
    added.add_argument("--windows", default="10x1024", metavar="NxJ", help="windows and jobs of each (default 10x1024)")
    added.add_argument("--seed", type=seed, default=1, help="of the places where windows begin (default 1)")
    added.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="results; a comparison that was interrupted goes on where it stopped",
    )
    added.add_argument(
        "--cores", type=positive, metavar="N", help="of a pool (default: as the header of the trace says)"
    )
    added.add_argument(
        "--platform", type=Path, metavar="FILE", help=f"a machine in place of a pool: {names('platform')}"
    )
    added.add_argument(
        "--clock",
        choices=("textbook", "one-by-one", "batsim"),
        default="textbook",
        help="all of one time at once, a decision after each event, or as Batsim (default textbook)",
    )
    added.add_argument("--all", action="store_true", help="also print all the other figures")
    added.add_argument("--processes", type=positive, metavar="N", help="at most so many at a time")


def run_compare(options: argparse.Namespace) -> None:
    """Compare, and print the summary."""
    from hdeeprm_like.studies.compare.policies import policies_named
    from hdeeprm_like.studies.compare.run import Comparison, compare, windows_named
    from hdeeprm_like.studies.compare.text import format_all, format_summary

    count, jobs = windows_named(options.windows)
    comparison = Comparison(
        trace=options.trace,
        policies=policies_named(options.policies),
        windows=count,
        jobs=jobs,
        seed=options.seed,
        cores=options.cores,
        clock=options.clock,
        platform=options.platform,
    )
    summary, _ = compare(comparison, options.output, options.processes, progress=not options.quiet)
    if not options.quiet:
        sys.stdout.write(format_summary(summary))
        sys.stdout.write("\n" + format_all(summary) if options.all else "")
        sys.stdout.write(
            f"\nmean over {count} windows of {jobs} jobs; maxima of all; tests and pictures in {options.output}\n"
        )
