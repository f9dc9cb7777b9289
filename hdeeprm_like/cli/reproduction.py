"""The command ``reproduce``."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from hdeeprm_like.cli.arguments import CUT_SHORT, Commands, add_trust_flag, at_most, command, completed
from hdeeprm_like.limits import PROCESSES, RUNS


def add_reproduce(commands: Commands) -> None:
    """Add ``reproduce``."""
    added = command(
        commands, "reproduce", "measure the published numbers of five documents, and compare", run_reproduce
    )
    ids = added.add_argument("ids", nargs="*", metavar="ID", help="experiments, e.g. R03; default: all of the tier")
    completed(ids, ids_of_experiments)
    added.add_argument(
        "--tier",
        choices=("quick", "medium", "long"),
        default="quick",
        help="quick: some CPU minutes in all; medium: up to an hour each; long: hours (default quick)",
    )
    added.add_argument("--list", action="store_true", help="only list the experiments with their cost and needs")
    added.add_argument(
        "--output", type=Path, default=Path("reproduction"), metavar="DIR", help="results (default reproduction)"
    )
    added.add_argument("--seeds", type=at_most(RUNS), metavar="N", help="repetitions in place of each experiment's own")
    added.add_argument(
        "--scale",
        choices=("small", "full"),
        default="small",
        help="full: the published budgets, which take hours to days (default small)",
    )
    added.add_argument(
        "--traces",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with traces of the Parallel Workloads Archive; repeat it for more",
    )
    added.add_argument("--fetch", action="store_true", help="download traces that are missing")
    added.add_argument(
        "--processes", type=at_most(PROCESSES), default=1, metavar="N", help="experiments at a time (default 1)"
    )
    added.add_argument("--resume", action="store_true", help="continue in the folder, and keep finished experiments")
    add_trust_flag(added)
    added.add_argument("--no-report", action="store_true", help="write no report.html")
    added.add_argument(
        "--strict", action="store_true", help="exit status 1 if a claim is contradicted that is expected to hold"
    )


def ids_of_experiments() -> Iterable[str]:
    """Return the ids of the experiments."""
    from hdeeprm_like.studies.reproduction.experiment import known_ids

    return known_ids()


def run_reproduce(options: argparse.Namespace) -> int:
    """Run experiments, and print a line for each published number."""
    from hdeeprm_like.studies.reproduction.experiment import chosen, known_ids
    from hdeeprm_like.studies.reproduction.place import Settings
    from hdeeprm_like.studies.reproduction.report import described, listed
    from hdeeprm_like.studies.reproduction.run import REPORT, reproduce, surprises

    settings = Settings(options.output, options.scale, options.seeds, tuple(options.traces), options.fetch)
    if options.list:
        sys.stdout.write(listed(chosen(options.ids or known_ids(), options.tier), settings))
        return 0
    experiments = chosen(options.ids, options.tier)

    def report(result: object) -> None:
        if not options.quiet:
            sys.stdout.write(described(result))  # type: ignore[arg-type]
            sys.stdout.flush()

    results = reproduce(experiments, settings, resume=options.resume, processes=options.processes, report=report)
    if not options.no_report:
        from hdeeprm_like.studies.reproduction.report import write_report

        write_report(results, settings.output)
        if not options.quiet:
            sys.stdout.write(f"\nreport: {settings.output / REPORT}\n")
    found = surprises(results)
    if options.strict and found:
        sys.stderr.write("hdeeprm-like: " + "; ".join(found) + "\n")
        return CUT_SHORT
    return 0
