"""The command ``reproduce``."""

import argparse
import sys
from pathlib import Path

from hdeeprm_like.cli.arguments import CUT_SHORT, Commands, add_trust_flag, command, tell
from hdeeprm_like.cli.names import one_of
from hdeeprm_like.limits import PROCESSES, RUNS


def add_reproduce(commands: Commands) -> None:
    """Add ``reproduce``."""
    added = command(
        commands, "reproduce", "measure the published numbers of five documents, and compare", run_reproduce
    )
    added.option(
        "ids",
        "ID",
        "experiments, e.g. R03; default: all of the tier",
        nargs="*",
        completes=one_of("studies.reproduction.experiment:known_ids"),
    )
    text = "quick: some CPU minutes in all; medium: up to an hour each; long: hours"
    added.choice("--tier", ("quick", "medium", "long"), text, default="quick")
    added.switch("--list", "only list the experiments with their cost and needs")
    added.path("--output", "DIR", "results", default=Path("reproduction"))
    added.whole("--seeds", RUNS, "repetitions in place of each experiment's own")
    text = "full: the published budgets, which take hours to days"
    added.choice("--scale", ("small", "full"), text, default="small")
    text = "a folder with traces of the Parallel Workloads Archive; repeat it for more"
    added.path("--traces", "DIR", text, action="append", default=[])
    added.switch("--fetch", "download traces that are missing")
    added.whole("--processes", PROCESSES, "experiments at a time", default=1)
    added.switch("--resume", "continue in the folder, and keep finished experiments")
    add_trust_flag(added)
    added.switch("--no-report", "write no report.html")
    added.switch("--strict", "exit status 1 if a claim is contradicted that is expected to hold")


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
        tell(options, f"\nreport: {settings.output / REPORT}")
    found = surprises(results)
    if options.strict and found:
        sys.stderr.write("hdeeprm-like: " + "; ".join(found) + "\n")
        return CUT_SHORT
    return 0
