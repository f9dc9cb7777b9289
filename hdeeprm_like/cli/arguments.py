"""Code shared by the commands: exit statuses, the parser, types of arguments."""

import argparse
import shlex
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from hdeeprm_like.cli.names import add_named, agent_named, completed_with_files
from hdeeprm_like.errors import did_you_mean, one_line
from hdeeprm_like.formats.open import names
from hdeeprm_like.formats.shipped import names_of
from hdeeprm_like.limits import CORES, Limit, refusal
from hdeeprm_like.values import POSITIVE, SEED, Number, Whole

PROGRAM = "hdeeprm-like"
EXTRAS = {  # modules that only some commands need: their package, and the extra that installs it
    "numba": ("numba", "compile"),
    "torch": ("torch", "learn"),
    "cmaes": ("cmaes", "learn"),
    "sklearn": ("scikit-learn", "learn"),
    "gymnasium": ("gymnasium", "rl"),
    "sb3_contrib": ("sb3-contrib", "rl"),
    "tensorboard": ("tensorboard", "tensorboard"),
    "submitit": ("submitit", "slurm"),
    "wandb": ("wandb", "wandb"),
    "mlflow": ("mlflow", "mlflow"),
}
CUT_SHORT, USER_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

if TYPE_CHECKING:
    from hdeeprm_like.experiment import Overrides

    Commands: TypeAlias = "argparse._SubParsersAction[Parser]"
else:
    Commands = object


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, with the nearest name for a misspelt one."""

    def _check_value(self, action: argparse.Action, value: object) -> None:  # argparse has no public place for it
        if action.choices is not None and value not in action.choices:
            near = did_you_mean(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"{value!r:.60} is not known{near}")

    def error(self, message: str) -> NoReturn:
        """End the program."""
        self.exit(USER_ERROR, f"{PROGRAM}: {one_line(message)}; see {self.prog} --help\n")


def command(
    commands: Commands, name: str, purpose: str, run: Callable[[argparse.Namespace], int | None]
) -> argparse.ArgumentParser:
    """Add a command with the flags that all have."""
    added = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    added.add_argument("--quiet", "-q", action="store_true", help="no progress bar and no figures, errors only")
    levels = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
    added.add_argument("--log-level", choices=levels, help="how much to write to stderr (default WARNING)")
    added.set_defaults(run=run)
    return added


def completed(argument: argparse.Action, names: Callable[[], Iterable[str]]) -> None:
    """Complete an argument to names in a shell; the names are looked up only for a completion."""
    argument.completer = lambda **_: names()  # type: ignore[attr-defined]  # argcomplete's way


def add_json_flag(added: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    added.add_argument("--json", action="store_true", help="print the same as JSON, numbers with all digits")


def print_json(content: object) -> None:
    """Print a value as JSON, numbers that are not known as null."""
    import json

    from hdeeprm_like.formats.files import null_for_nan

    sys.stdout.write(json.dumps(null_for_nan(content), indent=2, ensure_ascii=False) + "\n")


def next_command(*words: object) -> str:
    """Return the last line of a command's output: a useful next command."""
    return f"next: {PROGRAM} {shlex.join(map(str, words))}\n"


LARGEST_READ = 10**18  # of the whole numbers that are read; limits are far below


def at_most(limit: Limit, least: int = 1) -> Callable[[str], int]:
    """Return a parser of whole numbers from *least* to a limit."""

    def parse(text: str) -> int:
        number = Whole(least, LARGEST_READ).in_text(text, argparse.ArgumentTypeError)
        if number > limit.most:
            raise argparse.ArgumentTypeError(f"{text!r}: {refusal(limit)}")
        return number

    return parse


def in_kind(kind: Number) -> Callable[[str], float]:
    """Return a parser of numbers of a kind."""
    return lambda text: kind.in_text(text, argparse.ArgumentTypeError)


positive_seconds = in_kind(Number(0.0, 1e6, above=True, noun="number of seconds"))
moment = in_kind(Number(0.0, 1e18, noun="number of seconds"))
share = in_kind(Number(0.0, 1.0, above=True, below=True))
gflops = in_kind(Number(1e-3, 1e6, noun="number of Gflop/s"))
factor = in_kind(POSITIVE)
seed = in_kind(SEED)


def add_trust_flag(added: argparse.ArgumentParser) -> None:
    """Add the flag that allows all Python code named by a file; every command that takes a policy has it."""
    added.add_argument(
        "--trust",
        action="store_true",
        help="run all Python code named by an options file, a policy's file or the record of a training; without this "
        "flag only files in the folder that the command line names, plugins, and what it names itself",
    )


def add_reading_flags(
    added: argparse.ArgumentParser,
    machine: str = "default: from the header of the trace",
    larger: str = "without it such a job of a log is an error",
) -> None:
    """Add the flags of the machine that a log is read for; every command that reads jobs has them.

    Args:
        machine: what it is without the flag. larger: what becomes of larger jobs without the flag for them.
    """
    added.add_argument("--cores", type=at_most(CORES), metavar="N", help=f"cores of the machine ({machine})")
    text = f"leave out jobs larger than the machine, and count them; {larger}"
    added.add_argument("--leave-out-larger", action="store_true", help=text)


def add_input_flags(added: argparse.ArgumentParser) -> None:
    """Add the flags that override platform, jobs and seed of an options file; `overrides_of` reads them."""
    instead, or_file = "in place of the options file's", "a name, e.g. {}, or a file: {}".format
    shown = f"platform {instead}: {or_file('gaia', names('platform'))}"
    add_named(added, "--platform", kinds=("platform",), help=shown)
    add_named(added, "--trace", kinds=("trace",), help=f"trace {instead}: {or_file('lublin-1', names('trace'))}")
    shown = f"complete workload, with run times: {or_file('learning', names('workload'))}"
    add_named(added, "--workload", "-cw", kinds=("workload",), help=shown)
    added.add_argument("--seed", type=seed, help=f"seed {instead}")
    larger = "those of a trace are left out without it, such a job of a complete workload is an error"
    add_reading_flags(added, "a pool, in place of a platform", larger)


def overrides_of(options: argparse.Namespace, network: bool = False) -> "Overrides":
    """Return what the flags of `add_input_flags` override; *network* says whether Batsim simulates the jobs."""
    from hdeeprm_like.experiment import Overrides

    names = (name for name in Overrides.__annotations__ if name != "network")
    return Overrides(network=network, **{name: getattr(options, name) for name in names})


def add_agent_flags(added: argparse.ArgumentParser) -> None:
    """Add the flags of learning agents, with HDeepRM's names."""
    learning = added.add_argument_group("learning agents")
    agent = learning.add_argument(
        "--agent", "-a", type=agent_named, metavar="FILE.py[:Class]", help="the agent; or a name, e.g. reinforce"
    )
    completed_with_files(agent, lambda: names_of("agent"))
    learning.add_argument("--input-model", "-im", type=Path, metavar="PT", help="weights, or a training's directory")
    learning.add_argument("--output-model", "-om", type=Path, metavar="PT", help="where to write the weights")
    learning.add_argument("--device", metavar="NAME", help="cpu, cuda, mps or auto (default cpu)")
