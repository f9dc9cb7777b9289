"""Code shared by the commands: exit statuses, the parser, types of arguments."""

import argparse
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, TypeVar

from hdeeprm_like.cli.names import Completer, agent_named, files_or
from hdeeprm_like.errors import HDeepRMError, did_you_mean, one_line
from hdeeprm_like.formats.open import names
from hdeeprm_like.formats.shipped import Kind, found, names_of
from hdeeprm_like.limits import CORES, Limit, refusal
from hdeeprm_like.records import Record
from hdeeprm_like.values import POSITIVE, SEED, Number, Whole

R = TypeVar("R")
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

    def option(
        self,
        flags: str,
        metavar: str | None,
        text: str,
        kind: Callable[[str], Any] = str,
        default: Any = None,
        completes: Completer | None = None,
        group: "argparse._ActionsContainer | None" = None,
        **more: Any,
    ) -> None:
        """Add an argument with a value.

        Args:
            flags: its names, separated by blanks; one without dashes has its place.
            metavar: how the help calls the value. text: what it is for; the default is added.
            kind: what reads it. completes: gives what a shell completes it to. more: as ``add_argument`` takes it.
        """
        if isinstance(default, Path | str | int | float) and default != "":
            text += f" (default {default:g})" if isinstance(default, float) else f" (default {default})"
        more |= {"metavar": metavar, "help": text, "type": kind}
        added = (group or self).add_argument(*flags.split(), default=default, **more)
        if completes is not None:
            added.completer = completes  # type: ignore[attr-defined]  # argcomplete's way

    def switch(self, flags: str, text: str, group: "argparse._ActionsContainer | None" = None) -> None:
        """Add a flag without a value; see `option`."""
        (group or self).add_argument(*flags.split(), action="store_true", help=text)

    def choice(self, flags: str, choices: Sequence[Any], text: str, **more: Any) -> None:
        """Add an argument that is one of some values; see `option`."""
        self.option(flags, None, text, choices=choices, **more)

    def path(self, flags: str, metavar: str, text: str, **more: Any) -> None:
        """Add an argument that is a file or a folder; see `option`."""
        self.option(flags, metavar, text, Path, **more)

    def whole(self, flags: str, limit: Limit, text: str, least: int = 1, **more: Any) -> None:
        """Add an argument that is a whole number from *least* to a limit; see `option`."""
        self.option(flags, "N", text, at_most(limit, least), **more)

    def named(self, flags: str, kinds: tuple[Kind, ...], metavar: str | None, text: str, **more: Any) -> None:
        """Add an argument that is a name of shipped data of some kinds, or a path; see `formats.shipped`."""

        def place(given: str) -> Path:
            try:
                return found(given, *kinds)
            except HDeepRMError as error:
                raise argparse.ArgumentTypeError(str(error)) from None

        self.option(flags, metavar, text, place, completes=files_or(lambda: names_of(*kinds)), **more)


def command(commands: Commands, name: str, purpose: str, run: Callable[[argparse.Namespace], int | None]) -> Parser:
    """Add a command with the flags that all have."""
    added = commands.add_parser(name, help=purpose, description=f"{purpose[0].upper()}{purpose[1:]}.")
    added.switch("--quiet -q", "no progress bar and no figures, errors only")
    levels = ("CRITICAL", "ERROR", "WARNING", "INFO", "DEBUG")
    added.choice("--log-level", levels, "how much to write to stderr (default WARNING)")
    added.set_defaults(run=run)
    return added


def add_json_flag(added: Parser) -> None:
    """Add ``--json``."""
    added.switch("--json", "print the same as JSON, numbers with all digits")


def print_json(content: object) -> None:
    """Print a value as JSON, numbers that are not known as null."""
    import json

    from hdeeprm_like.formats.files import null_for_nan

    sys.stdout.write(json.dumps(null_for_nan(content), indent=2, ensure_ascii=False) + "\n")


def tell(options: argparse.Namespace, text: str) -> None:
    """Print what a command has done, unless with ``--quiet``."""
    if not options.quiet:
        sys.stdout.write(f"{text}\n")


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


def add_trust_flag(added: Parser) -> None:
    """Add the flag that allows all Python code named by a file; every command that takes a policy has it."""
    added.switch(
        "--trust",
        "run all Python code named by an options file, a policy's file or the record of a training; without this flag "
        "only files in the folder that the command line names, plugins, and what it names itself",
    )


def add_reading_flags(
    added: Parser,
    machine: str = "default: from the header of the trace",
    larger: str = "without it such a job of a log is an error",
) -> None:
    """Add the flags of the machine that a log is read for; every command that reads jobs has them.

    Args:
        machine: what it is without the flag. larger: what becomes of larger jobs without the flag for them.
    """
    added.whole("--cores", CORES, f"cores of the machine ({machine})")
    text = f"leave out jobs larger than the machine, and count them; {larger}"
    added.switch("--leave-out-larger", text)


def add_input_flags(added: Parser) -> None:
    """Add the flags that override platform, jobs and seed of an options file; `overrides_of` reads them."""
    instead, or_file = "in place of the options file's", "a name, e.g. {}, or a file: {}".format
    shown = f"platform {instead}: {or_file('gaia', names('platform'))}"
    added.named("--platform", ("platform",), None, shown)
    added.named("--trace", ("trace",), None, f"trace {instead}: {or_file('lublin-1', names('trace'))}")
    shown = f"complete workload, with run times: {or_file('learning', names('workload'))}"
    added.named("--workload -cw", ("workload",), None, shown)
    added.option("--seed", "SEED", f"seed {instead}", kind=seed)
    larger = "those of a trace are left out without it, such a job of a complete workload is an error"
    add_reading_flags(added, "a pool, in place of a platform", larger)


class AgentFlags(Record):
    """The flags of `add_agent_flags`, and the options file."""

    options: Path
    agent: str | None
    input_model: Path | None
    output_model: Path | None
    device: str | None


def flags_in(options: argparse.Namespace, kind: type[R], **more: Any) -> R:
    """Return the flags that a record or a dataclass names, and *more* of its fields."""
    names: tuple[str, ...] = kind.__match_args__  # type: ignore[attr-defined]
    return kind(**{name: getattr(options, name) for name in names if name not in more}, **more)


def overrides_of(options: argparse.Namespace, network: bool = False) -> "Overrides":
    """Return what the flags of `add_input_flags` override; *network* says whether Batsim simulates the jobs."""
    from hdeeprm_like.experiment import Overrides

    return flags_in(options, Overrides, network=network)


def add_agent_flags(added: Parser) -> None:
    """Add the flags of learning agents, with HDeepRM's names."""
    learning = added.add_argument_group("learning agents")
    how: dict[str, Any] = {"kind": agent_named, "completes": files_or(lambda: names_of("agent")), "group": learning}
    added.option("--agent -a", "FILE.py[:Class]", "the agent; or a name, e.g. reinforce", **how)
    added.path("--input-model -im", "PT", "weights, or a training's directory", group=learning)
    added.path("--output-model -om", "PT", "where to write the weights", group=learning)
    added.option("--device", "NAME", "cpu, cuda, mps or auto (default cpu)", group=learning)
