"""The command ``stream``."""

import argparse
import sys

from hdeeprm_like.cli.arguments import Commands, add_reading_flags, add_trust_flag, command, flags_in, seed
from hdeeprm_like.cli.names import policies


def add_stream(commands: Commands) -> None:
    """Add ``stream``."""
    added = command(commands, "stream", "simulate a trace of any length on a pool while reading it", run_stream)
    text = "a name, e.g. lublin-1, or a file, plain or .gz, in the order of submission"
    added.named("--trace", ("trace",), "SWF", text, required=True)
    added.option(
        "--policy",
        "P",
        "a baseline without history, e.g. fcfs, sjf+easy, saf+greedy; or a pair, e.g. first-high_gflops",
        required=True,
        completes=policies(),
    )
    add_reading_flags(added)
    text = "decide once for all events of one time, or after each event"
    added.choice("--clock", ("textbook", "one-by-one"), text, default="textbook")
    added.option("--seed", "SEED", "seed of random policies", kind=seed, default=0)
    text = "directory of out_jobs.csv and figures.json, written at the end"
    added.path("--output", "DIR", text, required=True)
    add_trust_flag(added)


def run_stream(options: argparse.Namespace) -> None:
    """Simulate, and print the figures."""
    from hdeeprm_like.studies.stream import Streaming, stream

    figures = stream(flags_in(options, Streaming), not options.quiet)
    if options.quiet:
        return
    import pandas as pd

    from hdeeprm_like.results.report import format_table, labelled

    known = {name: value for name, value in figures.items() if value == value}
    table = labelled(pd.DataFrame({options.policy: known}))
    sys.stdout.write(format_table(table, tuple(known)))
    sys.stdout.write(f"\nout_jobs.csv and figures.json in {options.output}\n")
