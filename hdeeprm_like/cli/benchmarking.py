"""The command ``benchmark``."""

import argparse
import sys
from datetime import date

from hdeeprm_like.cli.arguments import Commands, add_trust_flag, command, tell
from hdeeprm_like.cli.names import policies
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.limits import PROCESSES


def add_benchmark(commands: Commands) -> None:
    """Add ``benchmark``."""
    added = command(commands, "benchmark", "put a policy through fixed cases, for a card to compare", run_benchmark)
    text = "as compare takes one: sjf+easy, zoo:NAME, agent:DIR, FILE.py:function; several are seeds of one agent"
    added.option("policies", "POLICY", text, nargs="*", completes=policies())
    text = "play a card again and say what is different; POLICY is where its policies are now, if not where they were"
    added.path("--check", "CARD.json", text)
    text = "the card, card.json and card.html; a benchmark that was interrupted goes on where it stopped"
    added.path("-o --output", "DIR", text)
    added.switch("--quick", "a few small cases, to try it out")
    text = "date that draws the fresh jobs (default: of the card that is there, else today)"
    added.option("--fresh", "YYYY-MM-DD", text, kind=day)
    text = "what the policy has learned from and its files do not name: a trace's name, model:NAME, words; repeat it"
    added.option("--learned-from", "DATA", text, action="append", default=[])
    add_trust_flag(added)
    added.whole("--processes", PROCESSES, "at most so many at a time")


def run_benchmark(options: argparse.Namespace) -> None:
    """Run the benchmark, and print where the card is."""
    from hdeeprm_like.studies.benchmark.page import table_of
    from hdeeprm_like.studies.benchmark.run import PAGE, benchmark, check

    show = not options.quiet
    if options.check is not None:
        different = check(options.check, options.policies, options.processes, show)
        if different:
            raise ResultsError(f"{options.check}: {len(different)} differences, first {different[0]}")
        sys.stdout.write(f"{options.check}: played again, all figures are the same\n" if show else "")
        return
    if not options.policies or options.output is None:
        raise OptionsError("benchmark: POLICY and --output are needed, or --check CARD.json")
    how = (options.quick, options.fresh, options.learned_from)
    card = benchmark(options.policies, options.output, *how, options.processes, show)
    tell(options, f"{table_of([card])}\nscores: 0 is fcfs+easy, 1 the best reference; {options.output / PAGE}")


def day(text: str) -> str:
    """Return a date as it is given."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as cause:
        raise argparse.ArgumentTypeError(f"{text!r:.60} is no date, e.g. 2026-12-01") from cause
