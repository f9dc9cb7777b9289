"""The command line. Each command imports its modules when it runs, so that ``--help`` is fast.

``batsim`` is started once per simulation and often takes less time than loading the options of the other commands.
"""

import argparse
import atexit
import gc
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
    from hdeeprm_like.cli.arguments import Parser

OBJECTS_OF_A_START = 200_000  # which modules and their classes are
LIBRARIES = (  # the module that reads a variable of the environment, the variable, and its value here
    # OpenBLAS, of numpy and scipy, would start a thread for each processor. We multiply no large matrices with it, and
    # waiting, its threads take 0.1 to 0.2 s of CPU time in every command. torch has a library of its own.
    ("numpy", "OPENBLAS_NUM_THREADS", "1"),
    # pydantic would search the metadata of all installed packages for plugins; we need none
    ("pydantic", "PYDANTIC_DISABLE_PLUGINS", "__all__"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status.

    0 for success, 1 for a simulation that ended early, 2 for an error that the user can correct, 130 for Ctrl-C.
    """
    if argv is None:
        collect_only_garbage()
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["batsim"]:  # keeps Batsim's own command line
        from hdeeprm_like.batsim_server.cli import main as serve

        return serve(arguments[1:])
    if arguments[:1] == ["batsim5"]:
        from hdeeprm_like.batsim_server.batsim5.cli import main as serve5

        return serve5(arguments[1:])
    if "_ARGCOMPLETE" in os.environ:  # a shell requests completions
        import argcomplete

        argcomplete.autocomplete(parser())
    from hdeeprm_like.cli.arguments import USER_ERROR

    options = parser(*arguments[:1]).parse_args(arguments)
    if not options.command:
        parser().print_help()
        return USER_ERROR
    set_libraries()
    log_messages("ERROR" if options.quiet else options.log_level or "WARNING")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # file names may not be valid text
    return status_of(options)


def status_of(options: argparse.Namespace) -> int:
    """Run the command of some options, and return its exit status."""
    from hdeeprm_like.cli.arguments import BROKEN_PIPE, EXTRAS, INTERRUPTED, PROGRAM
    from hdeeprm_like.cli.trust import trusted_by
    from hdeeprm_like.plugins import trusting

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
    except OSError as error:  # a full disk, an unreadable folder: errors that no check can prevent
        return refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error))
    except MemoryError:
        return refuse("out of memory; reduce the problem, or use a computer with more memory")
    return status or 0


def collect_only_garbage() -> None:
    """Look for no garbage while a command imports its modules, and not among them at its end: these are none.

    Looking takes a tenth of a start, and the end as long again. After the first collection Python's own thresholds
    hold, unless the command has set others.
    """
    usual = gc.get_threshold()

    def resume(phase: str, info: dict[str, int]) -> None:
        gc.callbacks.remove(resume)
        if gc.get_threshold()[0] == OBJECTS_OF_A_START:
            gc.set_threshold(*usual)

    gc.callbacks.append(resume)
    gc.set_threshold(OBJECTS_OF_A_START, *usual[1:])
    atexit.register(gc.freeze)


def log_messages(level: str) -> None:
    """Log messages from a level on, in a line each, even with line ends in file names."""
    import logging  # not needed for --help

    from hdeeprm_like.cli.arguments import PROGRAM

    class OneLine(logging.Formatter):
        def formatMessage(self, record: logging.LogRecord) -> str:
            return one_line(super().formatMessage(record), most=1000)

    logging.basicConfig(level=level, force=True)
    logging.getLogger().handlers[0].setFormatter(OneLine(f"{PROGRAM}: %(message)s"))


def is_interrupt(error: BaseException) -> bool:
    """Return whether Ctrl-C caused an error; Python 3.11 wraps an exception raised while a class is created."""
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


def heeding_termination() -> AbstractContextManager[None]:
    """End on SIGTERM, which batch systems send at the time limit, as on Ctrl-C: clean up or save first.

    Ctrl-C ends in the same way, unless the parent process ignores it, as shells do for background jobs.
    """
    heeded = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        heeded.append(signal.SIGINT)
    return raised_by(heeded, lambda number: KeyboardInterrupt())


def refuse(message: str) -> int:
    """Print in one line why a command failed; return its exit status."""
    from hdeeprm_like.cli.arguments import PROGRAM, USER_ERROR

    sys.stderr.write(f"{PROGRAM}: {one_line(message)}\n")
    return USER_ERROR


def set_libraries() -> None:
    """Set `LIBRARIES` for those that are not loaded yet; a variable that the user has set is kept."""
    for module, variable, value in LIBRARIES:
        if module not in sys.modules:
            os.environ.setdefault(variable, value)


class Version(argparse.Action):
    """Print the versions that results depend on; they are looked up only for this flag."""

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
    ("reports", "add_watch", "watch"),
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
        commands.add_parser("batsim", help="a server that replaces the batsim command", add_help=False)
        commands.add_parser("batsim5", help="the same for Batsim 5", add_help=False)
    return top
