"""Names of policies in options files, split into job order and placement; imports nothing heavy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from hdeeprm_like.decision.names import (
    BY_FILE,
    CORE_POLICY_NAMES,
    JOB_POLICIES,
    baseline,
    holds_file,
    is_baseline,
    names_own,
)
from hdeeprm_like.decision.rates import beside_rates
from hdeeprm_like.decision.score_files import LEARNED, SCORED
from hdeeprm_like.decision.tree_files import with_files
from hdeeprm_like.errors import OptionsError, did_you_mean

JOB_POLICY_NAMES = tuple(JOB_POLICIES)

Pair: TypeAlias = tuple[str, str]


def split_pair(text: str) -> Pair:
    """Split ``"shortest-high_gflops"`` or ``"sjf+easy-best_fit"``, whose placement is optional, into its policies.

    Raises:
        ValueError: one of them does not exist.
    """
    job, _, core = text.partition("-")
    if job not in JOB_POLICY_NAMES and is_baseline(job):
        try:
            found = baseline(text)
        except OptionsError as error:
            raise ValueError(str(error)) from None
        return found.rule, found.placement
    check_name(job, JOB_POLICY_NAMES, "job policy")
    check_name(core, CORE_POLICY_NAMES, "core policy")
    return job, core


def split_policy(text: str) -> Pair:
    """Do the same, also for a user's own job policy, ``"file.py:attribute-high_gflops"``.

    Raises:
        ValueError: one of them does not exist.
    """
    job, _, core = text.rpartition("-")
    if not names_own(job) or holds_file(text):
        return split_pair(text)
    check_name(core, CORE_POLICY_NAMES, "core policy")
    return job, core


def check_part(name: str, known: Sequence[str]) -> None:
    """Raise a ValueError if *name* is neither known nor a user's own, ``'file.py:attribute'``."""
    if ":" not in name and name not in known:
        raise ValueError(f"{name!r} is not known{did_you_mean(name, known)}")


def check_name(name: str, known: Sequence[str], kind: str) -> None:
    """Raise a ValueError with the nearest name if *name* is not known."""
    if name not in known:
        raise ValueError(f"{name!r} is no {kind}{did_you_mean(name, known)}")


def beside(content: Any, folder: Path) -> Any:
    """Return the content of an options file with the paths of policies and tariffs made relative to its folder."""
    if isinstance(content, dict):
        return {beside_rates(key, folder): beside(value, folder) for key, value in content.items()}
    if isinstance(content, list):
        return [beside(value, folder) for value in content]
    by_file = BY_FILE.fullmatch(content) if isinstance(content, str) else None
    if by_file is not None and BY_FILE.fullmatch(by_file[1]) is None:  # several placements are refused later
        return f"{beside(by_file[1], folder)}-{beside(by_file[2], folder)}"
    if isinstance(content, str) and content.startswith(SCORED):
        content = SCORED + str((folder / content.removeprefix(SCORED)).absolute())
    if isinstance(content, str) and holds_file(content):
        return with_files(content, lambda path: LEARNED + str((folder / path).absolute()))
    return beside_rates(content, folder) if isinstance(content, str) else content
