"""Learned policies in JSON: weights of features, readable for operators.

| key | meaning |
|---|---|
| ``queue`` | the score that orders the queue: feature -> weight; the smallest score is first |
| ``backfill`` | the same for the jobs behind the head; that of the queue if missing |
| ``keep`` | how many cores are kept free before longer jobs for shorter ones that are to come, see `Keep` |
| ``placement`` | a score of cores: those with the smallest are taken, see `placement_files`; without it the fastest |
| ``times`` | the run times that its features of estimates look at: ``expected`` if missing, or any other predictor |
| ``bounded`` | each job is guaranteed a start, as by ``+bounded:K`` with this K (see `policies.guarantees`) |
| ``exact`` | all of this once more, for as long as the last jobs ran as long as requested |
| ``made_by`` | how it was made: command, seed, traces; for readers |

A score may be an object with ``weights``, and ``hidden``: units of a small network, each with ``weights`` of
features and ``out``, its weight in the score: score = weights . features + sum of out * tanh(weights . features).

This module reads them and imports nothing heavy; `policies.scores` computes them.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from hdeeprm_like.decision.placement_files import Placement, placement_of
from hdeeprm_like.decision.policy_words import ENDING, LEARNED, SCORED, ZOO
from hdeeprm_like.decision.score_parts import (
    Keep,
    Score,
    keep_of,
    mapping,
    score_of,
)
from hdeeprm_like.engine.numbers import RUN_TIMES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json
from hdeeprm_like.records import Record
from hdeeprm_like.values import NUMBER

T = TypeVar("T")

LEAST_BOUND, MOST_BOUND = 0.1, 100.0  # of K, how many times all work a job waits at most
KEPT = 16  # files whose content is kept

EXPECTED = "expected"  # the run times that scores use by default


class ScoredPolicy(Record):
    """A learned policy.

    Attributes:
        queue, backfill: scores, None where the file has none. keep: None where no cores are kept.
        bounded: K of the guaranteed starts, 0 for none. times: predicted run times, as in the names of baselines.
        placement: score of cores, None where the file has none.
        exact: what holds while the last jobs ran as requested, None for the same.
    """

    queue: Score
    backfill: Score | None = None
    keep: Keep | None = None
    bounded: float = 0.0
    times: str = EXPECTED
    exact: "ScoredPolicy | None" = None
    placement: Placement | None = None


@lru_cache(maxsize=1)
def zoo() -> dict[str, Path]:
    """Return the files of the shipped learned policies, by name."""
    return {path.stem: path for path in sorted((examples_folder() / "agents" / "zoo").glob(f"*{ENDING}"))}


def file_of(name: str) -> Path:
    """Return the file of a learned policy.

    Raises:
        OptionsError: no policy of that name is shipped.
    """
    if not name.startswith(ZOO):
        return Path(name.removeprefix(SCORED))
    known = zoo()
    stem = name.removeprefix(ZOO)
    if stem not in known:
        raise OptionsError(f"policy {name!r}: no such policy is shipped{did_you_mean(stem, known)}")
    return known[stem]


def scored_policy(name: str) -> ScoredPolicy:
    """Return the learned policy of a name; cached until its file changes.

    Raises:
        OptionsError: there is no such policy, or its file cannot be used.
    """
    return read_once(read_scored, file_of(name))


def read_once(read: Callable[[Path], T], path: Path) -> T:
    """Return what a function reads from a file of something learned; cached until the file changes.

    Raises:
        OptionsError: there is no such file.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise OptionsError(f"{path}: cannot be read: {error.strerror or error}") from error
    return cast(T, _read(read, path, found.st_mtime_ns, found.st_size, found.st_ino))


@lru_cache(maxsize=KEPT)
def _read(read: Callable[[Path], Any], path: Path, *version: int) -> Any:
    """Return what is in a file, whose *version* changes with it."""
    return read(path)


def read_scored(path: Path) -> ScoredPolicy:
    """Read a learned policy from a file.

    Raises:
        OptionsError: it cannot be read, or is no learned policy.
    """
    found = policy_of(read_json(path, OptionsError), str(path))
    if not found.times.startswith(LEARNED):
        return found
    return found.replaced(times=LEARNED + str(path.parent / found.times.removeprefix(LEARNED)))


def policy_of(content: Any, where: str, placed: bool = False) -> ScoredPolicy:
    """Return the learned policy of a file's JSON.

    Args:
        placed: whether it is a stage of a file with a placement.

    Raises:
        OptionsError: it is invalid; the message begins with *where*.
    """
    given = mapping(content, (*ScoredPolicy.names(), "made_by"), where)
    if "queue" not in given:
        raise OptionsError(f"{where}: 'queue' is missing, the weights that order the queue")
    scores = {key: score_of(given[key], f"{where}: {key}") for key in ("queue", "backfill") if key in given}
    keep = keep_of(given["keep"], f"{where}: keep") if "keep" in given else None
    placement = placement_of(given["placement"], f"{where}: placement") if "placement" in given else None
    placed = placed or placement is not None
    if not placed and any("placement" in score.features for score in scores.values()):
        raise OptionsError(f"{where}: a score weighs 'placement', but the file has no such part, the score of cores")
    exact = policy_of(given["exact"], f"{where}: exact", placed) if "exact" in given else None
    bounded = NUMBER.of(given.get("bounded", 0.0), OptionsError, f"{where}: bounded")
    if "bounded" in given and not LEAST_BOUND <= bounded <= MOST_BOUND:
        raise OptionsError(f"{where}: bounded: from {LEAST_BOUND:g} to {MOST_BOUND:g} is possible, not {bounded:g}")
    for name in ("bounded", "placement"):
        if exact is not None and getattr(exact, name):
            raise OptionsError(f"{where}: exact: has a {name!r} of its own; write it at the top of the file")
    if exact is not None and exact.exact is not None:
        raise OptionsError(f"{where}: exact: has an 'exact' of its own, which has no effect")
    if exact is not None and exact.times != EXPECTED:
        raise OptionsError(f"{where}: exact: has 'times' of its own; write it at the top of the file")
    times = given.get("times", EXPECTED)
    if not isinstance(times, str) or not (times in RUN_TIMES or times.startswith(LEARNED)):
        raise OptionsError(
            f"{where}: times: one of {', '.join(RUN_TIMES)} or {LEARNED}FILE is needed, not {times!r:.60}"
        )
    return ScoredPolicy(
        **scores,
        keep=keep,
        bounded=bounded,
        exact=exact,
        placement=placement,
        times=times,
    )
