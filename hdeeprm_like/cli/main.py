"""The command line. Every command imports what it needs when it runs, so that ``--help`` answers at once.

``batsim`` is started once per simulation and often takes less time than the options of the other commands to load.
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING

from hdeeprm_like.errors import HDeepRMError, one_line
from hdeeprm_like.signals import raised_by

if TYPE_CHECKING:
    import logging

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
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may come next
        import argcomplete

        argcomplete.autocomplete(parser())
    from hdeeprm_like.cli.arguments import BROKEN_PIPE, EXTRAS, INTERRUPTED, PROGRAM, USER_ERROR

    options = parser(*arguments[:1]).parse_args(arguments)
    if not options.command:
        parser().print_help()
        return USER_ERROR
    import logging

    from hdeeprm_like.cli.trust import trusted_by
    from hdeeprm_like.plugins import trusting

    use_one_thread_for_linear_algebra()
    look_for_no_plugins()
    logging.basicConfig(level="ERROR" if options.quiet else options.log_level or "WARNING", force=True)
    logging.getLogger().handlers[0].setFormatter(one_line_formatter())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # names of files need not be text
    try:
        run: Callable[[argparse.Namespace], int | None] = options.run
        with heeding_termination(), trusting(*trusted_by(options)):
            status = run(options)
        sys.stdout.flush()
    except HDeepRMError as error:
        return refuse(str(error))
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interrupt(error):
            raise
        sys.stderr.write(f"{PROGRAM}: interrupted; nothing half-written is left\n")
        return INTERRUPTED
    except ModuleNotFoundError as error:
        package, extra = EXTRAS.get((error.name or "").partition(".")[0], ("", ""))
        if not package:
            raise
        return refuse(f"{options.command}: needs {package}; install it with: pip install 'hdeeprm_like[{extra}]'")
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:  # a full disk, a folder that may not be read: nothing that we could have foreseen
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
    except MemoryError:
        return refuse("the memory of this computer does not suffice for this; ask for less, or run it on a larger one")
    return status or 0


def is_interrupt(error: BaseException) -> bool:
    """Tell whether Ctrl-C is behind an error; Python 3.11 wraps what comes while a class is made, as in imports."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def heeding_termination() -> AbstractContextManager[None]:
    """End as Ctrl-C does when a batch system says that the time is up: what was begun is tidied up or saved.

    Ctrl-C is heeded in the same way, unless whoever started us wants it ignored, as shells do in the background.
    """
    heeded = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        heeded.append(signal.SIGINT)
    return raised_by(heeded, lambda number: KeyboardInterrupt())


def refuse(message: str) -> int:
    """Say in one line why a command did nothing; return its exit status."""
    from hdeeprm_like.cli.arguments import PROGRAM, USER_ERROR

    sys.stderr.write(f"{PROGRAM}: {one_line(message)}\n")
    return USER_ERROR


def one_line_formatter() -> "logging.Formatter":
    """Return what makes one line of a warning, whatever is in the names of files."""
    import logging

    from hdeeprm_like.cli.arguments import PROGRAM

    class OneLine(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            return one_line(super().formatMessage(record), most=1000)

    return OneLine(f"{PROGRAM}: %(message)s")


def use_one_thread_for_linear_algebra() -> None:
    """Keep OpenBLAS, which numpy and scipy bring along, from starting a thread for each processor.

    We multiply no large matrices with it, and its threads wait actively: they take 0.1 to 0.2 s of CPU time in every
    command. torch brings a library of its own and is not concerned. Whoever sets the variable keeps what is set.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def look_for_no_plugins() -> None:
    """Keep pydantic from reading what each installed package says of itself, which finds no plugin that we need.

    Whoever sets the variable, to 0 for instance, keeps what is set.
    """
    if "pydantic" not in sys.modules:
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


class Version(argparse.Action):
    """Prints the versions that results depend on; they are looked up only if somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print and end."""
        from hdeeprm_like.cli.doctor import version_line

        sys.stdout.write(version_line() + "\n")
        parser.exit()


COMMANDS = (  # the module and the function that add them; the names, in the order of the help
    ("example", "add_example", "example"),
    ("launch", "add_launch", "launch"),
    ("learning", "add_train", "train"),
    ("results", "add_visual", "visual"),
    ("results", "add_metrics", "metrics"),
    ("comparison", "add_compare", "compare"),
    ("streaming", "add_stream", "stream"),
    ("checking", "add_check", "check"),
    ("benchmarking", "add_benchmark", "benchmark"),
    ("sweep", "add_sweep", "sweep"),
    ("whatif", "add_whatif", "whatif"),
    ("explanation", "add_explain", "explain"),
    ("reproduction", "add_reproduce", "reproduce"),
    ("reports", "add_report", "report"),
    ("reports", "add_export", "export"),
    ("results", "add_jobstat", "jobstat"),
    ("prediction", "add_predict", "predict"),
    ("workloads", "add_workload_commands", "generate", "cut", "fetch-trace"),
    ("importing", "add_import", "import"),
    ("slurm", "add_slurm", "slurm"),
    ("conversion", "add_convert", "convert"),
    ("launch", "add_clean", "clean"),
    ("results", "add_schema", "schema"),
    ("doctor", "add_doctor", "doctor"),
)


def parser(command: str = "") -> "Parser":
    """Return the parser of the whole command line, or of one command if there is one of that name."""
    from hdeeprm_like.cli.arguments import PROGRAM, Parser

    top = Parser(
        prog=PROGRAM, description="Learned job scheduling for heterogeneous HPC clusters, coupled with Batsim."
    )
    top.add_argument("--version", action=Version, nargs=0)
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    wanted = [added for added in COMMANDS if command in added[2:]]
    for module, add, *_ in wanted or COMMANDS:
        getattr(import_module(f"hdeeprm_like.cli.{module}"), add)(commands)
    if not wanted:
        commands.add_parser("batsim", help="a server that takes the place of the batsim command", add_help=False)
        commands.add_parser("batsim5", help="the same in the place of Batsim 5", add_help=False)
    return top
