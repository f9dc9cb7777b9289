"""The part of the command line that copies the examples that come with the package."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from hdeeprm_like.cli.arguments import PROGRAM, Commands, command, completed
from hdeeprm_like.errors import OptionsError


def add_example(commands: Commands) -> None:
    """Add ``example``."""
    purpose = "copy an example, ready to run, into a folder; without a name, list the examples"
    added = command(commands, "example", purpose, run_example)
    completed(added.add_argument("name", nargs="?", metavar="NAME", help="of the example, as gaia"), names_of_examples)
    added.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="where its files go; made if it is missing")
    told = "list the names of platforms, traces and other data that commands take in place of paths"
    added.add_argument("--names", action="store_true", help=f"{told}; NAME is then one of their kinds, or missing")


def names_of_examples() -> Iterable[str]:
    """Return what can be named."""
    from hdeeprm_like.example_files import EXAMPLES

    return EXAMPLES


def run_example(options: argparse.Namespace) -> None:
    """List the examples or the names of data, or copy an example and tell what to run next."""
    if options.names:
        from hdeeprm_like.formats.shipped import listed

        if options.folder is not None:
            raise OptionsError("example --names: lists names and copies nothing; leave DIR out")
        sys.stdout.write(f"{listed(options.name)}\n")
        return
    from hdeeprm_like.example_files import EXAMPLES, commands_for, copy_example, example_named

    if options.name is None:
        width = max(map(len, EXAMPLES))
        sys.stdout.write("".join(f"{name:{width}}  {example.shows}\n" for name, example in EXAMPLES.items()))
        return
    example = example_named(options.name)
    if options.folder is None:
        raise OptionsError(f"example: a folder for the copy is needed, as: {PROGRAM} example {options.name} DIR")
    files = copy_example(options.name, options.folder)
    if options.quiet:
        return
    needs = f" (it needs: pip install 'hdeeprm_like[{example.extra}]')" if example.extra else ""
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    sys.stdout.write(f"{count} in {options.folder}; run next{needs}:\n")
    sys.stdout.write("".join(f"  {line}\n" for line in commands_for(example, options.folder)))
