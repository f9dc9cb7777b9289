"""The command line. Every command imports what it needs when it runs, so that ``--help`` answers at once.

``batsim`` is started once per simulation and often takes less time than the options of the other commands to load.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hdeeprm_like import __version__
from hdeeprm_like.errors import HDeepRMError

if TYPE_CHECKING:
    from hdeeprm_like.cli.arguments import Parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    That is 0, 1 for a simulation that was cut short, 2 for something the user can mend, 130 for Ctrl-C.
    """
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["batsim"]:  # keeps Batsim's own command line
        from hdeeprm_like.batsim_server.cli import main as serve

        return serve(arguments[1:])
    if arguments[:1] == ["batsim5"]:
        from hdeeprm_like.batsim_server.batsim5.cli import main as serve5

        return serve5(arguments[1:])
    from hdeeprm_like.cli.arguments import BROKEN_PIPE, INTERRUPTED, PROGRAM, USER_ERROR

    options = parser().parse_args(arguments)
    if not options.command:
        parser().print_help()
        return USER_ERROR
    import logging

    if options.quiet:
        os.environ["HDEEPRM_LIKE_QUIET"] = "1"  # read where functions are compiled
    use_one_thread_for_linear_algebra()
    logging.basicConfig(
        level="ERROR" if options.quiet else options.log_level or "WARNING", format=f"{PROGRAM}: %(message)s", force=True
    )
    try:
        run: Callable[[argparse.Namespace], int | None] = options.run
        status = run(options)
        sys.stdout.flush()
    except HDeepRMError as error:
        sys.stderr.write(f"{PROGRAM}: {error}\n")
        return USER_ERROR
    except KeyboardInterrupt:
        sys.stderr.write(f"{PROGRAM}: interrupted; nothing was written\n")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return status or 0


def use_one_thread_for_linear_algebra() -> None:
    """Keep OpenBLAS, which numpy and scipy bring along, from starting a thread for each processor.

    We multiply no large matrices with it, and its threads wait actively: they take 0.1 to 0.2 s of CPU time in every
    command. torch brings a library of its own and is not concerned. Whoever sets the variable keeps what is set.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def parser() -> "Parser":
    """Return the parser of the whole command line."""
    from hdeeprm_like.cli.arguments import PROGRAM, Parser
    from hdeeprm_like.cli.comparison import add_compare
    from hdeeprm_like.cli.compilation import add_compile
    from hdeeprm_like.cli.conversion import add_convert
    from hdeeprm_like.cli.example import add_example
    from hdeeprm_like.cli.explanation import add_explain
    from hdeeprm_like.cli.importing import add_import
    from hdeeprm_like.cli.launch import add_clean, add_launch
    from hdeeprm_like.cli.learning import add_train
    from hdeeprm_like.cli.prediction import add_predict
    from hdeeprm_like.cli.reproduction import add_reproduce
    from hdeeprm_like.cli.results import add_jobstat, add_metrics, add_schema, add_visual
    from hdeeprm_like.cli.workloads import add_workload_commands

    top = Parser(
        prog=PROGRAM, description="Learned job scheduling for heterogeneous HPC clusters, coupled with Batsim."
    )
    top.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    add_example(commands)
    add_launch(commands)
    add_train(commands)
    add_visual(commands)
    add_metrics(commands)
    add_compare(commands)
    add_explain(commands)
    add_reproduce(commands)
    add_jobstat(commands)
    add_predict(commands)
    add_workload_commands(commands)
    add_import(commands)
    add_convert(commands)
    add_clean(commands)
    add_schema(commands)
    add_compile(commands)
    commands.add_parser("batsim", help="a server that takes the place of the batsim command", add_help=False)
    commands.add_parser("batsim5", help="the same in the place of Batsim 5", add_help=False)
    return top
