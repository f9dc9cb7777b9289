"""Learned policies in JSON: weights of features, readable for operators.

| key | meaning |
|---|---|
| ``queue`` | the score that orders the queue: feature -> weight; the smallest score is first |
| ``backfill`` | the same for the jobs behind the head; that of the queue if missing |
| ``gate`` | a job behind the head may only start where this is not negative; all may if missing |
| ``keep`` | how many cores are kept free before longer jobs for shorter ones that are to come, see `Keep` |
| ``reservations`` | how many jobs that do not fit have cores reserved; 1 if missing, as EASY |
| ``lookahead`` | plays what is known ahead for some candidates and does the first step of the best, see `LookAhead` |
| ``placement`` | a score of cores: those with the smallest are taken, see `placement_files`; without it the fastest |
| ``times`` | the run times that its features of estimates look at: ``expected`` if missing, or any other predictor |
| ``bounded`` | each job is guaranteed a start, as by ``+bounded:K`` with this K (see `policies.guarantees`) |
| ``exact`` | all of this once more, for as long as the last jobs ran as long as requested |
| ``made_by`` | how it was made: command, seed, traces; for readers |

A score may be an object with ``weights``, and ``hidden``: units of a small network, each with ``weights`` of
features and ``out``, its weight in the score: score = weights . features + sum of out * tanh(weights . features).

This module reads them and imports nothing heavy; `policies.scores` and `policies.lookahead` compute them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.placement_files import Placement, placement_of
from hdeeprm_like.engine.numbers import RUN_TIMES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.inputs import read_json
from hdeeprm_like.values import NUMBER, Whole

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
"""The features of scores; the last three are 0 except in ``backfill`` and ``gate``."""

MANY = 10**9  # jobs
LEAST_BOUND, MOST_BOUND = 0.1, 100.0  # of K, how many times all work a job waits at most
MOST_BINS = 38  # half powers of e: beyond, no job is so long
STEEPEST = 10  # power of the backlog, and of the load
EXTENTS = {
    "arrivals": (0, 1000),
    "queue": (1, 100_000),
    "budget": (1, 10**9),
    "scenarios": (0, 100),
    "plays": (0, 10**6),
}
KEPT = 8  # files whose content is kept
OF_JOB = 14  # the first so many describe a job and its user, not of its wait or of the machine

ZOO, SCORED, ENDING = "zoo:", "scored:", ".json"
LEARNED, EXPECTED = "learned:", "expected"  # before the file of a predictor; the run times that scores use by default


@dataclass(frozen=True)
class Unit:
    """A hidden unit of a small network: *out* times tanh of the weighted features."""

    weights: tuple[tuple[str, float], ...]
    out: float


@dataclass(frozen=True)
class Score:
    """Weighted features.

    Attributes:
        weights: names of features with their weights. hidden: units over the same features.
    """

    weights: tuple[tuple[str, float], ...] = ()
    hidden: tuple[Unit, ...] = ()

    @property
    def features(self) -> frozenset[str]:
        """Names of the features that it reads."""
        return frozenset(name for part in (self.weights, *(unit.weights for unit in self.hidden)) for name, _ in part)


@dataclass(frozen=True)
class Candidate:
    """A candidate policy of look-ahead: jobs by a score, or by time^time * cores^cores / (1 + wait / time)^wait.

    Attributes:
        backfill: whether jobs behind the head may start that do not delay it (EASY).
        queue: the score, None for the formula. keep: the cores that it keeps, None for none; only with a score.
    """

    time: float = 1.0
    cores: float = 0.0
    wait: float = 0.0
    backfill: bool = True
    queue: Score | None = None
    keep: "Keep | None" = None


@dataclass(frozen=True)
class LookAhead:
    """Extent and candidates of look-ahead.

    Attributes:
        arrivals: number of the last submitted jobs that are played as if they arrived again.
        queue: most waiting jobs to play, the first ones by score. candidates: policies to play.
        budget: µs for the plays of one decision, counted in steps so that all machines decide alike; plays beyond
            that are skipped. plays: most plays of one decision, 0 for as many as the budget has time for; a candidate
            that has begun plays all its futures.
        wait: cost of a second of waiting, added to 1 / max(run time, 10 s), so that long waits count.
        scenarios: number of futures with run times drawn from past jobs; 0 for a single one with requested times.
    """

    arrivals: int = 16
    queue: int = 256
    budget: int = 1000
    candidates: tuple[Candidate, ...] = ()
    wait: float = 0.0
    scenarios: int = 0
    plays: int = 0


@dataclass(frozen=True)
class Keep:
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


@dataclass(frozen=True)
class ScoredPolicy:
    """A learned policy.

    Attributes:
        queue, backfill, gate: scores, None where the file has none. keep: None where no cores are kept.
        reservations: jobs that have cores reserved. lookahead: None where it plays nothing.
        bounded: K of the guaranteed starts, 0 for none. times: predicted run times, as in the names of baselines.
        placement: score of cores, None where the file has none.
        exact: what holds while the last jobs ran as requested, None for the same.
    """

    queue: Score
    backfill: Score | None = None
    gate: Score | None = None
    keep: Keep | None = None
    reservations: int = 1
    lookahead: LookAhead | None = None
    bounded: float = 0.0
    times: str = EXPECTED
    exact: "ScoredPolicy | None" = None
    placement: Placement | None = None


def plans_profiles(policy: ScoredPolicy | None) -> bool:
    """Return whether a learned policy has more than one reservation, which needs a profile of free cores."""
    return policy is not None and max(policy.reservations, policy.exact.reservations if policy.exact else 1) > 1


def is_scored(name: str) -> bool:
    """Return whether a name looks like that of a learned policy: ``zoo:NAME`` or ``scored:FILE.json``."""
    return name.startswith((ZOO, SCORED))


def split_scored(name: str) -> tuple[str, str]:
    """Split off a placement: ``"scored:my-file.json-first_fit"`` -> ``"scored:my-file.json"``, ``"first_fit"``."""
    stem, ending, placement = name.partition(ENDING + "-")
    if name.startswith(ZOO) and not ending:
        stem, _, placement = name.partition("-")
        return stem, placement
    return (stem + ENDING, placement) if ending else (name, "")


@lru_cache(maxsize=1)
def zoo() -> dict[str, Path]:
    """Return the files of the shipped learned policies, by name; in a clone they are in its top folder."""
    package = Path(__file__).parent.parent
    folders = (package / "examples" / "agents" / "zoo", package.parent / "agents" / "zoo")
    return {path.stem: path for folder in folders for path in sorted(folder.glob(f"*{ENDING}"))}


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
    path = file_of(name)
    return _read(path, *version_of(path))


@lru_cache(maxsize=KEPT)
def _read(path: Path, *version: int) -> ScoredPolicy:
    """Return the policy in a file, whose *version* changes with it."""
    return read_scored(path)


def version_of(path: Path) -> tuple[int, ...]:
    """Return numbers that change when a file changes.

    Raises:
        OptionsError: there is no such file.
    """
    try:
        found = path.stat()
    except OSError as error:
        raise OptionsError(f"{path}: cannot be read: {error.strerror or error}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def read_scored(path: Path) -> ScoredPolicy:
    """Read a learned policy from a file.

    Raises:
        OptionsError: it cannot be read, or is no learned policy.
    """
    found = policy_of(read_object(path), str(path))
    if not found.times.startswith(LEARNED):
        return found
    return replace(found, times=LEARNED + str(path.parent / found.times.removeprefix(LEARNED)))


def read_object(path: Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        OptionsError: it cannot be read, or is no JSON.
    """
    return read_json(path, OptionsError)


def policy_of(content: Any, where: str) -> ScoredPolicy:
    """Return the learned policy of a file's JSON.

    Raises:
        OptionsError: it is invalid; the message begins with *where*.
    """
    known = (
        "queue",
        "backfill",
        "gate",
        "keep",
        "reservations",
        "lookahead",
        "placement",
        "times",
        "bounded",
        "exact",
        "made_by",
    )
    given = mapping(content, known, where)
    if "queue" not in given:
        raise OptionsError(f"{where}: 'queue' is missing, the weights that order the queue")
    scores = {key: score_of(given[key], f"{where}: {key}") for key in ("queue", "backfill", "gate") if key in given}
    ahead = lookahead_of(given["lookahead"], f"{where}: lookahead") if "lookahead" in given else None
    keep = keep_of(given["keep"], f"{where}: keep") if "keep" in given else None
    reservations = Whole(1, MANY).of(given.get("reservations", 1), OptionsError, f"{where}: reservations")
    placement = placement_of(given["placement"], f"{where}: placement") if "placement" in given else None
    if placement is None and any("placement" in score.features for score in scores.values()):
        raise OptionsError(f"{where}: a score weighs 'placement', but the file has no such part, the score of cores")
    exact = policy_of(given["exact"], f"{where}: exact") if "exact" in given else None
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
        reservations=reservations,
        lookahead=ahead,
        bounded=bounded,
        exact=exact,
        placement=placement,
        times=times,
    )


def mapping(content: Any, known: Any, where: str) -> Mapping[str, Any]:
    """Return an object of a file after checking that all its keys are known."""
    if not isinstance(content, dict):
        raise OptionsError(f"{where}: an object is needed, not {content!r:.60}")
    for key in content:
        if key not in known:
            raise OptionsError(f"{where}: {key!r} is not known{did_you_mean(key, known)}")
    return content


def weights_of(content: Any, where: str) -> tuple[tuple[str, float], ...]:
    """Return the weights of features."""
    given = mapping(content, FEATURES, where)
    return tuple((name, NUMBER.of(value, OptionsError, f"{where}: {name}")) for name, value in given.items())


def score_of(content: Any, where: str) -> Score:
    """Return a score: weights alone, or with hidden units."""
    if not (isinstance(content, dict) and "weights" in content):
        return Score(weights_of(content, where))
    given = mapping(content, ("weights", "hidden"), where)
    units = given.get("hidden", [])
    if not isinstance(units, list):
        raise OptionsError(f"{where}: hidden: a list of units is needed, not {units!r:.60}")
    hidden = []
    for i, unit in enumerate(units):
        place = f"{where}: hidden {i}"
        parts = mapping(unit, ("weights", "out"), place)
        out = NUMBER.of(parts.get("out"), OptionsError, f"{place}: out")
        hidden.append(Unit(weights_of(parts.get("weights"), f"{place}: weights"), out))
    return Score(weights_of(given["weights"], where), tuple(hidden))


def keep_of(content: Any, where: str) -> Keep:
    """Return the settings of kept cores."""
    given = dict(mapping(content, [field.name for field in fields(Keep)], where))
    bins = Whole(0, MOST_BINS).of(given.pop("bins", 0), OptionsError, f"{where}: bins")
    found = Keep(bins=bins, **{key: NUMBER.of(value, OptionsError, f"{where}: {key}") for key, value in given.items()})
    for name, power in (("backlog", found.backlog), ("load", found.load), ("felt", found.felt)):
        if abs(power) > STEEPEST:
            raise OptionsError(f"{where}: {name}: a number from -{STEEPEST} to {STEEPEST} is needed, not {power:g}")
    return found


def lookahead_of(content: Any, where: str) -> LookAhead:
    """Return the settings of look-ahead."""
    usual = LookAhead()
    given = mapping(content, [field.name for field in fields(LookAhead)], where)
    counts = {}
    for key, (least, most) in EXTENTS.items():
        counts[key] = Whole(least, most).of(given.get(key, getattr(usual, key)), OptionsError, f"{where}: {key}")
    listed = given.get("candidates")
    if not isinstance(listed, list) or not listed:
        raise OptionsError(f"{where}: candidates: a list of policies is needed, not {listed!r:.60}")
    candidates = tuple(candidate_of(one, f"{where}: candidate {i}") for i, one in enumerate(listed))
    return LookAhead(candidates=candidates, wait=NUMBER.of(given.get("wait", 0.0), OptionsError, where), **counts)


def candidate_of(content: Any, where: str) -> Candidate:
    """Return a candidate policy of look-ahead."""
    given = dict(mapping(content, [field.name for field in fields(Candidate)], where))
    backfill = given.pop("backfill", True)
    if not isinstance(backfill, bool):
        raise OptionsError(f"{where}: backfill: true or false is needed, not {backfill!r:.60}")
    queue = score_of(given.pop("queue"), f"{where}: queue") if "queue" in given else None
    keep = keep_of(given.pop("keep"), f"{where}: keep") if "keep" in given else None
    if queue is not None and given:
        raise OptionsError(f"{where}: {next(iter(given))!r} belongs to the formula, which 'queue' replaces")
    if queue is None and keep is not None:
        raise OptionsError(f"{where}: 'keep' needs a 'queue', the score that orders the jobs")
    weights = {key: NUMBER.of(value, OptionsError, f"{where}: {key}") for key, value in given.items()}
    return Candidate(**weights, backfill=backfill, queue=queue, keep=keep)


def formula(score: Score) -> str:
    """Return a score as a formula that an operator can read, the heaviest features first."""

    def text(weights: tuple[tuple[str, float], ...]) -> str:
        ordered = sorted(((weight, name) for name, weight in weights if weight), key=lambda pair: -abs(pair[0]))
        return " ".join(f"{weight:+.3g} {name}" for weight, name in ordered) or "0"

    return " ".join([text(score.weights), *(f"{unit.out:+.3g} tanh({text(unit.weights)})" for unit in score.hidden)])
