"""Learned policies in JSON: weights of features, readable for operators.

| key | meaning |
|---|---|
| ``queue`` | the score that orders the queue: feature -> weight; the smallest score is first |
| ``backfill`` | the same for the jobs behind the head; that of the queue if missing |
| ``keep`` | how many cores are kept free before longer jobs for shorter ones that are to come, see `Keep` |
| ``placement`` | a score of cores: those with the smallest are taken, see below; without it the fastest |
| ``times`` | the run times that its features of estimates look at: ``expected`` if missing, or any other predictor |
| ``bounded`` | each job is guaranteed a start, as by ``+bounded:K`` with this K (see `policies.bounded`) |
| ``exact`` | all of this once more, for as long as the last jobs ran as long as requested |
| ``made_by`` | how it was made: command, seed, traces; for readers |

A placement has weights of features of cores:

| key | meaning |
|---|---|
| ``speed`` | a feature of cores: what it weighs for every job |
| ``speed*log_cores`` | a feature of cores times one of the job: what it weighs the more, the larger the latter is |

The score of a processor is the sum of these terms for the cores that the job would take there; the processor with the
smallest score is first, ties go to the lowest. Then the next processor is chosen for the remaining cores. Where all
cores that the job could take would request more bandwidth than the processor has, as many as it has bandwidth for are
scored, too, and the better number is taken.

Logarithms are beside the mean core of the machine, so a file fits any machine. The speed that cores would have is
``speed`` + ln(.75) * ``contended``.

This module reads them and imports nothing heavy; `policies.scores` and `policies.placement_scores` compute them.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from hdeeprm_like.decision.policy_words import ENDING, LEARNED, SCORED, ZOO
from hdeeprm_like.engine.numbers import RUN_TIMES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json
from hdeeprm_like.records import Record
from hdeeprm_like.values import NUMBER, Whole

T = TypeVar("T")

LEAST_BOUND, MOST_BOUND = 0.1, 100.0  # of K, how many times all work a job waits at most
KEPT = 16  # files whose content is kept

EXPECTED = "expected"  # the run times that scores use by default


FEATURES = {
    "one": "1",
    "log_time": "ln(requested time in h)",
    "log_cores": "ln(cores / cores of the machine)",
    "log_expected_time": "ln(mean of the estimated run time in h)",
    "log_expected_rate": "ln(mean of 1 / estimated run time in h), short jobs counted as 10 s",
    "expected_log_time": "mean of ln(estimated run time in h), short jobs counted as 10 s",
    "short": "estimated chance to run less than 10 minutes",
    "log_last_two": "ln(mean run time of the user's last two jobs / requested time), at most 0; 0 before there are two",
    "log_ratio": "mean of ln(run time / requested time) of the user's jobs, those of late weighing more",
    "log_class_last": "ln(run time of the last job of this user with this request / requested time); 0 before",
    "sibling": "ln(1 + min that a job of this user with this request has been running)",
    "user_running": "ln(1 + running jobs of the user)",
    "user_waiting": "ln(1 + waiting jobs of the user)",
    "user_share": "share of the machine's cores that the user has",
    "trust": "reliability of the user's requests: 1 where they are exact, 1/2 where they are wrong by the factor e^.5",
    "trusted_log_time": "trust * log_time + (1 - trust) * expected_log_time, short jobs counted as 10 s",
    "log_wait": "ln(1 + wait / estimated run time), this no less than 60 s",
    "log_wait_request": "ln(1 + wait / requested time), this no less than 10 s",
    "log_wait_hours": "ln(1 + wait in h)",
    "wait_days": "wait in days, at most 10",
    "log_time_queue": "log_time * queue",
    "log_cores_queue": "log_cores * queue",
    "free": "share of the cores that are free",
    "queue": "ln(1 + waiting jobs) / 3",
    "work": "ln(1 + hours that the waiting jobs would keep the machine busy as requested) / 3",
    "of_free": "cores / free cores",
    "placement": "score of the cores that the placement score would take first for the job now, 0 where none fit",
    "log_time_to_head": "ln(requested time / that of the head of the queue)",
    "log_cores_to_head": "ln(cores / those of the head of the queue)",
    "in_time": "1 where the job would end before the head of the queue starts",
}
"""The features of scores; the last three are 0 except in ``backfill``."""

CORE_FEATURES = {
    "speed": "ln(peak flop/s of a core / that of the mean core)",
    "power": "ln(peak W of a core / that of the mean core)",
    "bandwidth": "ln(GB/s of the processor per core / the mean)",
    "memory": "ln(MB of the node per core / the mean)",
    "gpus": "1 where the node has GPUs",
    "asleep": "1 where the processor serves no job, so that its other cores wake to idle power",
    "added_power": "W that the processor draws more with the job / cores taken / peak W of the mean core",
    "contended": "1 where its jobs would then request more bandwidth than it has, so that they run at 75 % speed",
    "slowed": "share of its cores that serve other jobs, where the job begins to slow these",
    "bandwidth_left": "share of the bandwidth that is left, from -1 on",
    "memory_left": "share of the node's memory that is left",
    "cores_left": "share of the processor's cores that stay free",
    "node_left": "share of the node's cores that stay free",
    "elsewhere": "share of the cores still to find for the job that must come from other processors",
    "lag": "ln(speed of the slowest core taken before / speed), at least 0: the slowest core sets the job's speed",
}
"""Features of the cores of a processor that a job may take now."""

JOB_FEATURES = {
    "one": "1",
    "trusted_log_time": "ln(run time in h, between request and estimate as requests are trusted)",
    "log_cores": "ln(cores / cores of the machine)",
    "memory_share": "memory per core / that of the mean core, at most 4",
    "bandwidth_share": "bandwidth per core / that of the mean core, at most 4",
    "on_gpus": "1 where the job requests GPUs",
    "log_wait_hours": "ln(1 + wait in h)",
    "free": "share of the cores that are free",
    "queue": "ln(1 + waiting jobs) / 3",
}
"""Features of the job, and of the moment, that those of cores may be multiplied by."""

TIMES = "*"

MOST_BINS = 38  # half powers of e: beyond, no job is so long
STEEPEST = 10  # power of the backlog, and of the load
OF_JOB = 14  # the first so many describe a job and its user, not of its wait or of the machine


class Score(Record):
    """A score: the names of features with their weights."""

    weights: tuple[tuple[str, float], ...] = ()

    @property
    def features(self) -> frozenset[str]:
        """Names of the features that it reads."""
        return frozenset(name for name, _ in self.weights)

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """The same as its weights, as a placement has it."""
        return self.weights


class Keep(Record):
    """Cores that a job must leave free for shorter ones still to arrive, as a telephone exchange reserves lines.

    They are the mean and standard deviations of the cores busy with much shorter jobs if each of these
    started at once (square-root staffing). The job starts only if this many cores stay free.

    Attributes:
        deviations: so many standard deviations are kept beside the mean. bins: so many half powers of e a job must be
            shorter beside one. most: share of the machine that is kept at most.
        backlog: what is kept is divided by (1 + h that the waiting jobs keep the machine busy) ^ backlog.
        load: *most* is multiplied by (share of the machine that would be idle if all jobs that came of late had started
            at once) ^ load: cores that others ask for anyway are dear to keep.
        felt: what is kept is multiplied by (1 - 1 / mean bounded slowdown of the last jobs to end) ^ felt: nothing is
            kept while no job waits.
        widest: jobs wider than this share of the machine start without regard to what is kept.
    """

    deviations: float = 0.0
    bins: int = 0
    most: float = 0.0
    backlog: float = 0.0
    load: float = 0.0
    felt: float = 0.0
    widest: float = 1.0


class Placement(Record):
    """A score of cores for a job.

    Attributes:
        weights: names of a feature of cores and of a feature of the job, and what their product weighs.
    """

    weights: tuple[tuple[str, str, float], ...]

    @property
    def looks(self) -> frozenset[str]:
        """Names of the features of jobs that it reads."""
        return frozenset(job for _, job, _ in self.weights)

    @property
    def terms(self) -> tuple[tuple[str, float], ...]:
        """The names of terms in a file, with their weights."""
        return tuple((core if job == "one" else core + TIMES + job, weight) for core, job, weight in self.weights)


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


def mapping(content: Any, known: Any, where: str) -> Mapping[str, Any]:
    """Return an object of a file after checking that all its keys are known."""
    if not isinstance(content, dict):
        raise OptionsError(f"{where}: an object is needed, not {content!r:.60}")
    for key in content:
        if key not in known:
            raise OptionsError(f"{where}: {key!r} is not known{did_you_mean(key, known)}")
    return content


def score_of(content: Any, where: str) -> Score:
    """Return a score: the weights of features."""
    given = mapping(content, FEATURES, where)
    return Score(tuple((name, NUMBER.of(value, OptionsError, f"{where}: {name}")) for name, value in given.items()))


def keep_of(content: Any, where: str) -> Keep:
    """Return the settings of kept cores."""
    given = dict(mapping(content, Keep.names(), where))
    bins = Whole(0, MOST_BINS).of(given.pop("bins", 0), OptionsError, f"{where}: bins")
    found = Keep(bins=bins, **{key: NUMBER.of(value, OptionsError, f"{where}: {key}") for key, value in given.items()})
    for name, power, least in (
        ("backlog", found.backlog, -STEEPEST),
        ("load", found.load, -STEEPEST),
        ("felt", found.felt, 0),
    ):
        if not least <= power <= STEEPEST:  # no job waits: 0 ^ felt
            raise OptionsError(f"{where}: {name}: a number from {least} to {STEEPEST} is needed, not {power:g}")
    return found


def split_term(name: str, where: str) -> tuple[str, str]:
    """Split ``"speed*log_cores"`` into the features of the cores and of the job; ``"speed"`` has the job's ``one``.

    Raises:
        OptionsError: one of them is not known; the message begins with *where*.
    """
    cores, times, job = name.partition(TIMES)
    if cores not in CORE_FEATURES:
        raise OptionsError(f"{where}: {cores!r:.60} is no feature of cores{did_you_mean(cores, CORE_FEATURES)}")
    if times and job not in JOB_FEATURES:
        raise OptionsError(f"{where}: {name!r:.80}: {job!r:.60} is no feature of jobs{did_you_mean(job, JOB_FEATURES)}")
    return cores, job if times else "one"


def placement_of(content: Any, where: str) -> Placement:
    """Return the placement of a file's JSON.

    Raises:
        OptionsError: it is invalid; the message begins with *where*.
    """
    if not isinstance(content, dict) or not content:
        raise OptionsError(f"{where}: an object with the weights of features of cores is needed, not {content!r:.60}")
    found: dict[tuple[str, str], float] = {}
    for name, value in content.items():
        term = split_term(name, where)
        if term in found:
            raise OptionsError(f"{where}: {name}: is given twice, as {term[0]!r} and as {TIMES.join(term)!r}")
        found[term] = NUMBER.of(value, OptionsError, where, name)
    return Placement(tuple((*term, weight) for term, weight in found.items()))


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


def formula(score: Score | Placement) -> str:
    """Return a score as a formula that an operator can read, the heaviest terms first."""
    ordered = sorted(score.terms, key=lambda term: -abs(term[1]))
    return " ".join(f"{weight:+.3g} {name}" for name, weight in ordered if weight) or "0"
