"""Arguments that are names: of data that comes along, and of policies; a shell completes them."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError
from hdeeprm_like.formats.shipped import Kind, found, names_of, shipped

Completer = Callable[..., Iterable[str]]


def add_named(
    added: "argparse.ArgumentParser | argparse._ArgumentGroup", *flags: str, kinds: tuple[Kind, ...], **options: Any
) -> argparse.Action:
    """Add an argument that is a name of data that comes along or a path, see `formats.shipped`.

    Args:
        kinds: of what can be named. options: as of ``add_argument``.
    """

    def parse(text: str) -> Path:
        try:
            return found(text, *kinds)
        except HDeepRMError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    action = added.add_argument(*flags, type=parse, **options)
    return completed_with_files(action, lambda: names_of(*kinds))


def completed_with_files(action: argparse.Action, names: Callable[[], Iterable[str]]) -> argparse.Action:
    """Let a shell complete an argument to names and to files, both of which are looked up only if it asks."""

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        from argcomplete.completers import FilesCompleter

        return [*names(), *FilesCompleter()(prefix)]

    action.completer = complete  # type: ignore[attr-defined]  # argcomplete's way
    return action


def agent_named(text: str) -> str:
    """Return the file of an agent that comes along, and any other agent as it is named."""
    known = shipped("agent")
    return str(known[text].path) if text in known else text


def completed_policies(action: argparse.Action, *others: str, several: bool = False) -> None:
    """Let a shell complete an argument to the names of policies.

    Args:
        others: what is known besides them. several: whether it takes a list with commas.
    """

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        before, comma, last = prefix.rpartition(",") if several else ("", "", prefix)
        return [before + comma + name for name in (*policies_like(last), *others)]

    action.completer = complete  # type: ignore[attr-defined]  # argcomplete's way


def policies_like(begun: str) -> Iterable[str]:
    """Return policies by name: orders, and what may follow behind a ``+`` or a ``-`` once that is typed."""
    from hdeeprm_like.decision.names import CORE_POLICY_NAMES, MODES, SHORTHANDS
    from hdeeprm_like.decision.pair_names import JOB_POLICY_NAMES
    from hdeeprm_like.engine.numbers import ORDERS

    if "+" in begun:
        order = begun.partition("+")[0]
        return [f"{order}+{mode}" for mode in MODES if mode != "scored"]
    if "-" in begun:
        return [f"{job}-{core}" for job in JOB_POLICY_NAMES for core in CORE_POLICY_NAMES]
    return [*ORDERS, *SHORTHANDS, *learned_policies()]


def learned_policies() -> Iterable[str]:
    """Return the names of the learned policies that come along, as ``zoo:balanced``."""
    from hdeeprm_like.decision.score_files import ZOO, zoo

    return [f"{ZOO}{name}" for name in zoo()]
