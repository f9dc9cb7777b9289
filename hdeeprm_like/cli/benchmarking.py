"""The command ``benchmark``."""

import argparse
import sys
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, add_trust_flag, at_most, command
from hdeeprm_like.cli.names import completed_policies
from hdeeprm_like.limits import PROCESSES


def add_benchmark(commands: Commands) -> None:
    """Add ``benchmark``."""
    added = command(commands, "benchmark", "put a policy through fixed cases, for a card to compare", run_benchmark)
    policy = added.add_argument(
        "policies", metavar="POLICY", help="as compare takes one: sjf+easy, zoo:NAME, agent:DIR, FILE.py:function"
    )
    completed_policies(policy)
    added.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="DIR",
        help="the card, card.json and card.html; a benchmark that was interrupted goes on where it stopped",
    )
    added.add_argument("--quick", action="store_true", help="a few small cases, to try it out")
    add_trust_flag(added)
    added.add_argument("--processes", type=at_most(PROCESSES), metavar="N", help="at most so many at a time")


def run_benchmark(options: argparse.Namespace) -> None:
    """Run the benchmark, and print where the card is."""
    from hdeeprm_like.studies.benchmark.page import table_of
    from hdeeprm_like.studies.benchmark.run import PAGE, benchmark

    card = benchmark(options.policies, options.output, options.quick, options.processes, not options.quiet)
    if not options.quiet:
        sys.stdout.write(f"{table_of([card])}\nmean bounded slowdowns; the card is {options.output / PAGE}\n")
