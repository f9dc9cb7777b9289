"""The commands ``report`` and ``watch``."""

import argparse
import sys
import time
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, command, in_kind, tell
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.values import Number

PAUSE = Number(0.1, 3600.0, noun="number of seconds")  # between two looks of `watch`


def add_report(commands: Commands) -> None:
    """Add ``report``."""
    added = command(commands, "report", "write what runs and trainings left as one HTML page", run_report)
    added.path("folders", "DIR", "runs or trainings, or one comparison", nargs="+")
    added.path("--output -o", "F.html", "the page", default=Path("report.html"))


def run_report(options: argparse.Namespace) -> None:
    """Write the page."""
    from hdeeprm_like.results.run_page import write_run_page
    from hdeeprm_like.studies.compare.page import is_comparison, write_comparison_page

    compared = [folder for folder in options.folders if is_comparison(folder)]
    if compared and len(options.folders) > 1:
        raise OptionsError(f"report: {compared[0]} is a comparison, which has a page of its own; name it alone")
    if compared:
        write_comparison_page(compared[0], options.output)
    else:
        write_run_page(options.folders, options.output)
    tell(options, f"{options.output}: {options.output.stat().st_size / 1e6:.1f} MB")


def add_watch(commands: Commands) -> None:
    """Add ``watch``."""
    added = command(commands, "watch", "follow a training in the terminal until it ends", run_watch)
    added.path("folder", "DIR", "the folder of the training")
    added.option("--every", "S", "seconds between two looks", kind=in_kind(PAUSE), default=2.0)
    added.switch("--once", "look once")


def run_watch(options: argparse.Namespace) -> None:
    """Show a training, on a terminal in place of the last look."""
    from hdeeprm_like.results.watching import record_of, view_of, watch

    begin = "\x1b[H\x1b[J" if sys.stdout.isatty() else ""

    def show(text: str) -> None:
        sys.stdout.write(begin + text)
        sys.stdout.flush()

    if options.once:
        show(view_of(options.folder, record_of(options.folder)))
    else:
        watch(options.folder, show, lambda: time.sleep(options.every))
