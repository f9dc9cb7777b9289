"""The command ``compile``."""

import argparse
import sys

from hdeeprm_like.cli.arguments import Commands, command


def add_compile(commands: Commands) -> None:
    """Add ``compile``."""
    purpose = "compile ahead what the first launch and compare would compile, for containers and clusters"
    added = command(commands, "compile", purpose, run_compile)
    added.add_argument(
        "--env",
        action="append",
        default=[],
        metavar="PRESET",
        help="also the environments of a preset, as HDeepRM or SMDP, single and vectorized; may be given several times",
    )
    added.add_argument("--all", action="store_true", help="also the environments of all presets")


def run_compile(options: argparse.Namespace) -> None:
    """Compile, and tell what took how long."""
    from hdeeprm_like.ahead import compile_ahead, steps_for
    from hdeeprm_like.decision.presets import PRESETS

    functions = 0
    for done in compile_ahead(steps_for(list(PRESETS) if options.all else options.env)):
        functions += done.functions
        if not options.quiet:
            before = "" if done.functions else ", was compiled before"
            sys.stdout.write(f"{done.seconds:6.1f} s  {done.name}{before}\n")
            sys.stdout.flush()
    if not options.quiet:
        sys.stdout.write(
            f"{functions} functions compiled\n" if functions else "nothing to do: all was compiled before\n"
        )
