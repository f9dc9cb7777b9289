"""The command ``stream``."""

import argparse
import sys
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, at_most, command, seed
from hdeeprm_like.cli.names import add_named, completed_policies
from hdeeprm_like.limits import CORES


def add_stream(commands: Commands) -> None:
    """Add ``stream``."""
    added = command(commands, "stream", "simulate a trace of any length on a pool, as it is read", run_stream)
    told = "a name, as lublin-1, or a file, plain or .gz, in the order of submission"
    add_named(added, "--trace", kinds=("trace",), required=True, metavar="SWF", help=told)
    policy = added.add_argument(
        "--policy",
        required=True,
        metavar="P",
        help="a baseline that needs no history or plan, as fcfs, sjf+easy, saf+greedy; or a pair as first-high_gflops",
    )
    completed_policies(policy)
    added.add_argument(
        "--cores", type=at_most(CORES), metavar="N", help="of the pool (default: as the header of the trace says)"
    )
    added.add_argument(
        "--clock",
        choices=("textbook", "one-by-one"),
        default="textbook",
        help="all of one time at once, or a decision after each event (default textbook)",
    )
    added.add_argument("--seed", type=seed, default=0, help="of random policies (default 0)")
    told = "for out_jobs.csv and figures.json, whole or not at all"
    added.add_argument("--output", type=Path, required=True, metavar="DIR", help=told)


def run_stream(options: argparse.Namespace) -> None:
    """Simulate, and print the figures."""
    from hdeeprm_like.studies.stream import stream

    figures = stream(
        options.trace,
        options.policy,
        options.output,
        options.cores,
        options.clock,
        options.seed,
        progress=not options.quiet,
    )
    if options.quiet:
        return
    import pandas as pd

    from hdeeprm_like.results.report import format_table, labelled

    known = {name: value for name, value in figures.items() if value == value}
    table = labelled(pd.DataFrame({options.policy: known}))
    sys.stdout.write(format_table(table, tuple(known)))
    sys.stdout.write(f"\nout_jobs.csv and figures.json in {options.output}\n")
