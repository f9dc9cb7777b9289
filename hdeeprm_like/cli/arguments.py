"""Code shared by the commands: exit statuses, the parser, types of arguments."""

import argparse
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from hdeeprm_like.cli.names import add_named, agent_named, completed_with_files
from hdeeprm_like.errors import did_you_mean, one_line
from hdeeprm_like.formats.open import names
from hdeeprm_like.formats.shipped import names_of
from hdeeprm_like.limits import Limit, refusal

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
    "ray": ("ray", "ray"),
}
CUT_SHORT, USER_ERROR, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

if TYPE_CHECKING:
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


def next_command(*words: object) -> str:
    """Return the last line of a command's output: a useful next command."""
    return f"next: {PROGRAM} {shlex.join(map(str, words))}\n"


DIGITS = 19  # most digits of a whole number


def at_most(limit: Limit, least: int = 1) -> Callable[[str], int]:
    """Return a parser of whole numbers from *least* to a limit."""

    def parse(text: str) -> int:
        digits = text.isascii() and text.isdigit()
        if not digits or int(text[:DIGITS]) < least:
            raise argparse.ArgumentTypeError(f"{text[:40]!r}: a whole number from {least} on is needed")
        if len(text) > DIGITS or int(text) > limit.most:
            raise argparse.ArgumentTypeError(f"{text[:40]!r}: {refusal(limit)}")
        return int(text)

    return parse


def positive_seconds(text: str) -> float:
    """Parse a time above 0."""
    return between(text, 1e6, "number of seconds above 0")


def moment(text: str) -> float:
    """Parse a time of a simulation, in s."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < 1e18:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: a number of seconds from 0 on is needed")
    return value


def share(text: str) -> float:
    """Parse a number between 0 and 1."""
    return between(text, 1.0, "number between 0 and 1")


def between(text: str, most: float, what: str, least: float = 0.0) -> float:
    """Parse a number above 0, from *least* and below *most*."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not (least <= value < most and value > 0.0):
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: a {what} is needed")
    return value


def gflops(text: str) -> float:
    """Parse the speed of a core."""
    return between(text, 1e6, "number of Gflop/s from 0.001 to 1e6", least=1e-3)


def seed(text: str) -> int:
    """Parse a seed."""
    if not text.isascii() or not text.isdigit() or len(text) > DIGITS or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}: a whole number from 0 to 2^63-1 is needed")
    return int(text)


def add_trust_flag(added: argparse.ArgumentParser) -> None:
    """Add the flag that allows all Python code named by an options file or a record."""
    added.add_argument(
        "--trust",
        action="store_true",
        help="run all Python code named by the options file or the record of a training; without this flag only "
        "files in its folder, plugins, and what the command line names",
    )


def add_input_flags(added: argparse.ArgumentParser) -> None:
    """Add the flags that override platform, jobs and seed of an options file."""
    instead, or_file = "in place of the options file's", "a name, e.g. {}, or a file: {}".format
    shown = f"platform {instead}: {or_file('gaia', names('platform'))}"
    add_named(added, "--platform", kinds=("platform",), help=shown)
    add_named(added, "--trace", kinds=("trace",), help=f"trace {instead}: {or_file('lublin-1', names('trace'))}")
    shown = f"complete workload, with run times: {or_file('learning', names('workload'))}"
    add_named(added, "--workload", "-cw", kinds=("workload",), help=shown)
    added.add_argument("--seed", type=seed, help=f"seed {instead}")


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
