"""The command ``convert``."""

import argparse
from pathlib import Path

from hdeeprm_like.cli.arguments import Commands, add_reading_flags, command, gflops, tell
from hdeeprm_like.cli.names import files_or
from hdeeprm_like.cli.workloads import GIGA
from hdeeprm_like.formats.open import names
from hdeeprm_like.formats.shipped import Kind, found, is_name, names_of

JOBS: tuple[Kind, ...] = ("trace", "workload")


def add_convert(commands: Commands) -> None:
    """Add ``convert``."""
    added = command(commands, "convert", "write a platform or jobs in another format", run_convert)
    added.option(
        "source",
        "SOURCE",
        f"a name, e.g. gaia, or a file: platform ({names('platform')}) or jobs ({names('workload', 'trace')}); a "
        "name means a platform if the target ends in .xml, else jobs if there are any of that name",
        completes=files_or(lambda: names_of("platform", *JOBS)),
    )
    added.path("target", "TARGET", "the file; the format follows from its suffix")
    added.option("--gflops", "G", "speed of the cores that the run times refer to", kind=gflops, default=1.0)
    add_reading_flags(added, "default: those of the source")
    added.choice("--batsim", (4, 5), "version of Batsim that a JSON workload is for", kind=int, default=4)


def run_convert(options: argparse.Namespace) -> None:
    """Convert a file."""
    from hdeeprm_like.formats.conversion import convert_file

    flops = options.gflops * GIGA
    source = source_named(options.source, options.target)
    written = convert_file(
        source,
        options.target,
        flops=flops,
        cores=options.cores,
        batsim=options.batsim,
        leave_out_larger=options.leave_out_larger,
    )
    tell(options, f"{written} in {options.target}")


def source_named(text: str, target: Path) -> Path:
    """Return the file of a name or path; the target decides whether a name means a platform or jobs."""
    if target.name.endswith((".xml", ".xml.gz")):
        return found(text, "platform")
    return found(text, *(JOBS if is_name(text, *JOBS) or not is_name(text, "platform") else ("platform",)))
