"""The commands ``report`` and ``export``."""

import argparse
import sys
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, command
from hdeeprm_like.errors import OptionsError


def add_report(commands: Commands) -> None:
    """Add ``report``."""
    added = command(commands, "report", "write what runs and trainings left as one HTML page", run_report)
    added.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="runs or trainings, or one comparison")
    added.add_argument(
        "--output", "-o", type=Path, default=Path("report.html"), metavar="F.html", help="default report.html"
    )


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
    if not options.quiet:
        sys.stdout.write(f"{options.output}: {options.output.stat().st_size / 1e6:.1f} MB\n")


def add_export(commands: Commands) -> None:
    """Add ``export``."""
    added = command(commands, "export", "write a run for another program", run_export)
    added.add_argument("format", choices=("perfetto",), help="perfetto: a trace for ui.perfetto.dev")
    added.add_argument("folder", type=Path, metavar="DIR", help="the run")
    added.add_argument(
        "--output", "-o", type=Path, metavar="F.json", help="plain or .gz (default: perfetto.json.gz in the run)"
    )


def run_export(options: argparse.Namespace) -> None:
    """Write the trace."""
    from hdeeprm_like.results.perfetto import write_perfetto

    output = options.output or options.folder / "perfetto.json.gz"
    lanes = write_perfetto(options.folder, output)
    if not options.quiet:
        sys.stdout.write(f"{output}: jobs on {lanes} lanes\n")
