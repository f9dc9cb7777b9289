"""The command ``doctor``, and the text of ``--version``."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.cli.arguments import EXTRAS, PROGRAM, Commands, add_json_flag, command, print_json
from hdeeprm_like.version import __version__

NEEDED = ("numpy", "pandas", "scipy", "matplotlib", "pydantic", "pyzmq")
PROGRAMS = {
    "batsim": "Batsim 4, for launch --simulator batsim",
    "docker": "for launch --simulator docker",
    "sacct": "Slurm's records of past jobs",
    "scontrol": "for slurm watch",
}


def version_of(package: str) -> str:
    """Return the version of an installed package, or a text for a missing one."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def version_line() -> str:
    """Return the versions that the results of a computer depend on."""
    import platform

    return f"{PROGRAM} {__version__} (numpy {version_of('numpy')}, Python {platform.python_version()})"


def add_doctor(commands: Commands) -> None:
    """Add ``doctor``."""
    added = command(commands, "doctor", "show what is installed, what is missing and how to install it", run_doctor)
    add_json_flag(added)


def run_doctor(options: argparse.Namespace) -> None:
    """Print the state of this installation."""
    if options.json:
        print_json(dict(findings()))
        return
    sys.stdout.write("".join(f"{name:22} {found}\n" for name, found in findings()))


def findings() -> Iterator[tuple[str, str]]:
    """Yield each item with its state."""
    import platform
    import shutil
    from importlib.util import find_spec

    yield PROGRAM, f"{__version__} in {Path(__file__).parents[1]}"
    yield "python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    for package in NEEDED:
        yield package, version_of(package)
    for module, (package, extra) in EXTRAS.items():
        missing = f"missing; pip install 'hdeeprm_like[{extra}]'"
        yield package, version_of(package) if find_spec(module) else missing
    yield from machine_code()
    for program, purpose in PROGRAMS.items():
        place = shutil.which(program)
        yield program, place or f"not found ({purpose})"


def machine_code() -> Iterator[tuple[str, str]]:
    """Yield the processor of the machine code, and whether all of it is there."""
    from hdeeprm_like.engine import library

    tables = library.tables()
    yield "processor", library.target()
    folders = " and ".join(sorted({str(place.path.parent) for place in tables.entries.values()}))
    if tables.whole:
        yield "machine code", f"whole, in {folders}; nothing is compiled at run time"
    else:
        yield "machine code", f"not whole; python -m hdeeprm_like.compiler compiles it into {tables.kept}"
