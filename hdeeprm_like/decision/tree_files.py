"""Learned run-time predictors in JSON: trees that predict the share of its request that a job runs.

| key | meaning |
|---|---|
| ``baseline`` | constant added to the sum of the trees |
| ``trees`` | each a list of nodes, the first is the root |
| ``made_by`` | how it was made: command, trace, loss; for readers |

A node has either only a ``value``, or a question: ``feature`` (one of `FEATURES`), ``at_most``, ``left`` (number of the
next node if the feature is at most that), ``right`` (if it is more) and ``missing`` (``left`` or ``right``, if the
feature is unknown; default: right). Node numbers increase from a node to its children.

run time = requested time * exp(baseline + values of the leaves reached), at most the requested time.

A predictor may also be a user's own Python file, ``learned:FILE.py``, with a class `Predictor`: constructed with the
`State` at the beginning of a run, and called with the state and (J',) the waiting jobs before each decision, it returns
(J',) s.

This module reads the files and imports nothing heavy; `policies.trees` evaluates them, `studies.prediction` makes them.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hdeeprm_like.decision.policy_words import ENDING, LEARNED, OWN_ENDING
from hdeeprm_like.decision.score_files import FEATURES as SCORE_FEATURES
from hdeeprm_like.decision.score_files import OF_JOB, mapping, read_once
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.inputs import read_json
from hdeeprm_like.plugins import attribute_of, import_file, takes
from hdeeprm_like.records import Record
from hdeeprm_like.values import NUMBER

FEATURES = dict(list(SCORE_FEATURES.items())[:OF_JOB]) | {
    "expected_log_ratio": "mean of ln(estimated run time / requested time), short jobs counted as 10 s",
    "log_all_cores": "ln(cores)",
    "log_last": "ln(run time of the user's last job / requested time); missing before",
    "log_before_last": "the same of the one that ended before it; missing before",
    "class_ratio": "log_ratio of the jobs of this user with this request; missing before",
    "class_before_last": "ln(run time of the one before the last of these / requested time); missing before",
    "user_ended": "ln(1 + ended jobs of the user)",
    "class_ended": "ln(1 + ended jobs of this user with this request)",
    "class_running": "ln(1 + running ones)",
    "class_waiting": "ln(1 + waiting ones)",
    "since_end": "ln(1 + min since a job of the user ended); missing before",
}
"""The features of trees: the first are those of learned policies that depend only on the job and its user."""

MOST_NODES = 1_000_000  # in all trees of a file


class Node(NamedTuple):
    """A node of a tree; a leaf has only a value.

    Attributes:
        feature: its number in `FEATURES`, -1 for a leaf. at_most, left, right: of an inner node.
        missing_left: whether a job with the feature unknown goes left. value: of a leaf.
    """

    feature: int = -1
    at_most: float = 0.0
    left: int = 0
    right: int = 0
    missing_left: bool = False
    value: float = 0.0


class Predictor(Record):
    """A learned run-time predictor: the baseline and the nodes of each tree; or a user's own class."""

    baseline: float = 0.0
    trees: tuple[tuple[Node, ...], ...] = ()
    own: Callable[..., Any] | None = None


def is_predictor(times: str) -> bool:
    """Return whether run times name a learned predictor: ``learned:FILE.json``."""
    return times.startswith(LEARNED)


def is_own(times: str) -> bool:
    """Return whether run times name a user's own predictor, written in Python."""
    return is_predictor(times) and times.endswith(OWN_ENDING)


def predictor(times: str) -> Predictor:
    """Return the predictor of ``"learned:FILE.json"`` or ``.py``, cached until its file changes.

    Raises:
        OptionsError: there is no such predictor, or its file cannot be used.
    """
    path = Path(times.removeprefix(LEARNED))
    if path.suffix not in (ENDING, OWN_ENDING):
        raise OptionsError(
            f"run times {times!r:.80}: write learned:FILE{ENDING} for a learned predictor, or {OWN_ENDING}"
        )
    return read_once(_read, path)


def _read(path: Path) -> Predictor:
    """Return the predictor in a file."""
    if path.suffix == OWN_ENDING:
        made = attribute_of(import_file(path), "Predictor", "run times", OptionsError)
        if not takes(made, 1):
            raise OptionsError(f"{path}: Predictor: cannot be made with (state)")
        return Predictor(own=made)
    return predictor_of(read_json(path, OptionsError), str(path))


def predictor_of(content: Any, where: str) -> Predictor:
    """Return the predictor of a file's JSON.

    Raises:
        OptionsError: it is invalid; the message begins with *where*.
    """
    given = mapping(content, ("baseline", "trees", "made_by"), where)
    trees = given.get("trees")
    if not isinstance(trees, list):
        raise OptionsError(f"{where}: trees: a list of trees is needed, not {trees!r:.60}")
    for t, tree in enumerate(trees):
        if not isinstance(tree, list) or not tree:
            raise OptionsError(f"{where}: tree {t}: a list of nodes is needed, not {tree!r:.60}")
    if sum(map(len, trees)) > MOST_NODES:
        raise OptionsError(f"{where}: trees: no more than {MOST_NODES} nodes are possible")
    return Predictor(
        NUMBER.of(given.get("baseline"), OptionsError, f"{where}: baseline"),
        tuple(
            tuple(node_of(node, i, len(tree), f"{where}: tree {t}: node {i}") for i, node in enumerate(tree))
            for t, tree in enumerate(trees)
        ),
    )


NUMBERS = {name: i for i, name in enumerate(FEATURES)}
ASKING = ("feature", "at_most", "left", "right", "missing")
SIDES = ("left", "right")


def node_of(content: Any, own: int, nodes: int, where: str) -> Node:
    """Return node number *own* of a tree."""
    if isinstance(content, dict) and "value" in content:
        return Node(value=NUMBER.of(mapping(content, ("value",), where)["value"], OptionsError, f"{where}: value"))
    given = mapping(content, ASKING, where)
    feature, missing = given.get("feature"), given.get("missing", "right")
    if not isinstance(feature, str):
        raise OptionsError(f"{where}: feature: a name is needed, or a value alone; it is {feature!r:.60}")
    mapping({feature: 0}, FEATURES, f"{where}: feature")
    for side in SIDES:
        to = given.get(side)
        if isinstance(to, bool) or not isinstance(to, int) or not own < to < nodes:
            raise OptionsError(f"{where}: {side}: a node from {own + 1} to {nodes - 1} is needed, not {to!r:.60}")
    if missing not in SIDES:
        raise OptionsError(f"{where}: missing: left or right is needed, not {missing!r:.60}")
    at_most = NUMBER.of(given.get("at_most"), OptionsError, f"{where}: at_most")
    return Node(NUMBERS[feature], at_most, given["left"], given["right"], missing == "left")
