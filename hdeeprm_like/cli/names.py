"""Arguments that name agents or policies, and what a shell completes arguments to."""

import argparse
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

from hdeeprm_like.formats.shipped import shipped, unknown
from hdeeprm_like.plugins import PACKAGE, function_at

Completer = Callable[..., Iterable[str]]
"""Returns what a shell completes an argument to; argcomplete calls it with its beginning as *prefix*."""


def one_of(*places: str, also: Iterable[str] = ()) -> Completer:
    """Complete an argument to names.

    Args:
        places: ``module:attribute`` of their tables, or of functions that return them, looked up for a completion only.
        also: further names.
    """

    def complete(**_: object) -> Iterable[str]:
        for place in places:
            found: Any = function_at(f"{PACKAGE}.{place}")
            yield from found() if callable(found) else found
        yield from also

    return complete


def files_or(names: Callable[[], Iterable[str]]) -> Completer:
    """Complete an argument to names and files, which are looked up only for a completion."""

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        from argcomplete.completers import FilesCompleter

        return [*names(), *FilesCompleter()(prefix)]

    return complete


def agent_named(text: str) -> str:
    """Return the file of a shipped agent, and any other agent unchanged.

    Raises:
        ArgumentTypeError: it is a bare word, and there is no module of this name.
    """
    known = shipped("agent")
    if text.replace("-", "_").isidentifier() and text not in known and find_spec(text) is None:
        raise argparse.ArgumentTypeError(unknown(text, "agent"))
    return str(known[text].path) if text in known else text


def policies(*others: str, several: bool = False) -> Completer:
    """Complete an argument to the names of policies.

    Args:
        others: further names. several: whether the argument is a list separated by commas.
    """

    def complete(prefix: str = "", **_: object) -> Iterable[str]:
        before, comma, last = prefix.rpartition(",") if several else ("", "", prefix)
        return [before + comma + name for name in (*policies_like(last), *others)]

    return complete


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
