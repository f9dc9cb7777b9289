"""The parts of a file of a learned policy: scores and kept cores; see `score_files` for the whole."""

from collections.abc import Mapping
from typing import Any

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.records import Record
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
"""The features of scores; the last three are 0 except in ``backfill``."""

MOST_BINS = 38  # half powers of e: beyond, no job is so long
STEEPEST = 10  # power of the backlog, and of the load
OF_JOB = 14  # the first so many describe a job and its user, not of its wait or of the machine


class Unit(Record):
    """A hidden unit of a small network: *out* times tanh of the weighted features."""

    weights: tuple[tuple[str, float], ...]
    out: float


class Score(Record):
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


def formula(score: Score) -> str:
    """Return a score as a formula that an operator can read, the heaviest features first."""

    def text(weights: tuple[tuple[str, float], ...]) -> str:
        ordered = sorted(((weight, name) for name, weight in weights if weight), key=lambda pair: -abs(pair[0]))
        return " ".join(f"{weight:+.3g} {name}" for weight, name in ordered) or "0"

    return " ".join([text(score.weights), *(f"{unit.out:+.3g} tanh({text(unit.weights)})" for unit in score.hidden)])
