"""The command ``example``, which copies shipped examples."""

import argparse
import sys

from hdeeprm_like.cli.arguments import PROGRAM, Commands, command
from hdeeprm_like.cli.names import one_of
from hdeeprm_like.errors import OptionsError


def add_example(commands: Commands) -> None:
    """Add ``example``."""
    purpose = "copy an example, ready to run, into a folder; without a name, list the examples"
    added = command(commands, "example", purpose, run_example)
    added.option(
        "name", "NAME", "name of the example, e.g. gaia", nargs="?", completes=one_of("example_files:EXAMPLES")
    )
    added.path("folder", "DIR", "folder for its files; created if it is missing", nargs="?")
    text = "list the names of platforms, traces and other data that commands take in place of paths"
    added.switch("--names", f"{text}; NAME is then one of their kinds, or missing")


def run_example(options: argparse.Namespace) -> None:
    """List the examples or the names of data, or copy an example and print the commands to run next."""
    if options.names:
        from hdeeprm_like.formats.shipped import listed

        if options.folder is not None:
            raise OptionsError("example --names: copies nothing; omit DIR")
        sys.stdout.write(f"{listed(options.name)}\n")
        return
    from hdeeprm_like.example_files import EXAMPLES, commands_for, copy_example, example_named

    if options.name is None:
        width = max(map(len, EXAMPLES))
        sys.stdout.write("".join(f"{name:{width}}  {example.shows}\n" for name, example in EXAMPLES.items()))
        return
    example = example_named(options.name)
    if options.folder is None:
        raise OptionsError(f"example: the folder for the copy is missing; try: {PROGRAM} example {options.name} DIR")
    files = copy_example(options.name, options.folder)
    if options.quiet:
        return
    needs = f" (it needs: pip install 'hdeeprm_like[{example.extra}]')" if example.extra else ""
    count = "1 file" if len(files) == 1 else f"{len(files)} files"
    sys.stdout.write(f"{count} in {options.folder}; run next{needs}:\n")
    sys.stdout.write("".join(f"  {line}\n" for line in commands_for(example, options.folder)))
