"""Arguments that name shipped data or policies, with shell completion."""

import argparse
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.formats.shipped import Kind, found, names_of, shipped, unknown

Completer = Callable[..., Iterable[str]]


def add_named(
    added: "argparse.ArgumentParser | argparse._ArgumentGroup", *flags: str, kinds: tuple[Kind, ...], **options: Any
) -> argparse.Action:
    """Add an argument that is a name of shipped data or a path, see `formats.shipped`.

    Args:
        kinds: accepted kinds of data. options: as for ``add_argument``.
    """

    def parse(text: str) -> Path:
        try:
            return found(text, *kinds)
        except HDeepRMError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    action = added.add_argument(*flags, type=parse, **options)
    return completed_with_files(action, lambda: names_of(*kinds))


def completed_with_files(action: argparse.Action, names: Callable[[], Iterable[str]]) -> argparse.Action:
    """Complete an argument to names and files in a shell; they are looked up only for a completion."""

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        from argcomplete.completers import FilesCompleter

        return [*names(), *FilesCompleter()(prefix)]

    action.completer = complete  # type: ignore[attr-defined]  # argcomplete's way
    return action


def agent_named(text: str) -> str:
    """Return the file of a shipped agent, and any other agent unchanged.

    Raises:
        ArgumentTypeError: it is a bare word, and there is no module of this name.
    """
    known = shipped("agent")
    if text.replace("-", "_").isidentifier() and text not in known and find_spec(text) is None:
        raise argparse.ArgumentTypeError(unknown(text, "agent"))
    return str(known[text].path) if text in known else text


def completed_policies(action: argparse.Action, *others: str, several: bool = False) -> None:
    """Complete an argument to the names of policies in a shell.

    Args:
        others: further names. several: whether the argument is a list separated by commas.
    """

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        before, comma, last = prefix.rpartition(",") if several else ("", "", prefix)
        return [before + comma + name for name in (*policies_like(last), *others)]

    action.completer = complete  # type: ignore[attr-defined]  # argcomplete's way


def policies_like(begun: str) -> Iterable[str]:
    """Return policies by name: orders, and what may follow behind a ``+`` or a ``-`` once that is typed."""
    from hdeeprm_like.decision.modes import MODES, SCORED, mode_named
    from hdeeprm_like.decision.names import CORE_POLICY_NAMES, JOB_POLICY_NAMES, SHORTHANDS
    from hdeeprm_like.engine.numbers import ORDERS

    order, plus, mode = begun.partition("+")
    name, colon, _ = mode.partition(":")
    if colon and name in MODES:
        return [f"{order}+{mode_named(name).example()}"]
    if plus:
        return [f"{order}+{mode}" for mode in MODES if mode != SCORED]
    if "-" in begun:
        return [f"{job}-{core}" for job in JOB_POLICY_NAMES for core in CORE_POLICY_NAMES]
    return [*ORDERS, *SHORTHANDS, *learned_policies()]


def learned_policies() -> Iterable[str]:
    """Return the names of the shipped learned policies, e.g. ``zoo:steady``."""
    from hdeeprm_like.decision.policy_words import ZOO
    from hdeeprm_like.decision.score_files import zoo

    return [f"{ZOO}{name}" for name in zoo()]
