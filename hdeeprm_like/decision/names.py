"""The names of the baselines that every paper compares with: an order, and how it is applied.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` knows the actual run times in place of the requested ones;
``"sjf@tsafrir+easy"`` orders by predicted run times and reserves by requested ones, ``"fcfs+easy@ewma"`` the other way
round; ``"sjf@learned:FILE.json+easy"`` orders by what a learned predictor tells (see `tree_files`);
``"sjf+easy-best_fit"`` chooses cores by best fit in place of the fastest ones; ``"saf+reserve:64:600"`` starts whatever
fits but keeps 64 cores for jobs that request at most 600 s, ``"saf+reserve"`` an eighth of them for those up to 1000 s;
``"saf+bounded"`` starts whatever fits beside a start that each job is guaranteed, ``"saf+bounded:2"`` later ones, and
``"zoo:balanced+bounded"`` does so in the order of a learned policy (see `policies.guarantees`).

``"multifactor+slurm"`` is Slurm as it is configured. ``"sjf+slurm"`` and ``"zoo:balanced+slurm"`` are the same Slurm
with a watch beside it that raises priorities by that order (``hdeeprm-like slurm watch``); ``"sjf+slurm:60:5000"``
looks each 60 s and raises them by at most 5000; in ``"sjf+slurm:0"`` the order stands in place of Slurm's priorities.
This module names them and imports nothing heavy; `engine.job_keys` and `decision.policies` compute them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hdeeprm_like.decision.mode_specs import MODES
from hdeeprm_like.decision.score_files import (
    ZOO,
    ScoredPolicy,
    file_of,
    is_scored,
    plans_profiles,
    scored_policy,
    split_scored,
)
from hdeeprm_like.decision.tree_files import LEARNED as LEARNED_PREFIX
from hdeeprm_like.decision.tree_files import is_predictor, predictor, with_files
from hdeeprm_like.engine.numbers import (
    CORE_POLICIES,
    FIRST_PREDICTED,
    JOB_POLICIES,
    LEARNED,
    ORDERS,
    PACKINGS,
    PLACEMENTS,
    RUN_TIMES,
    WATCH_FACTOR,
    WATCH_INTERVAL,
)
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.limits import SITE_FACTOR

__all__ = [
    "CORE_POLICIES",
    "JOB_POLICIES",
    "MODES",
    "ORDERS",
    "PACKINGS",
    "PLACEMENTS",
    "RUN_TIMES",
    "Baseline",
    "baseline",
]

RESERVED = (
    "reserve"  # the mode that has options: how many cores it keeps, and the longest request, in s, that may take them
)
GUARANTEED = "bounded"  # the mode whose option is how long a job waits at most, see `Baseline.bound`
USUAL_BOUND, LEAST_BOUND, MOST_BOUND = 1.0, 0.1, 100.0
KEPT_SHARE, SHORT = 1.0 / 8.0, 1000.0  # of the cores, and s, unless the name tells others
WATCHED = "slurm"  # the mode whose options are those of a watch: s between two looks, and the largest site factor
OWN = "multifactor"  # the order that Slurm has without a watch

PERFECT = "P"  # at the end of a mode: order and reservations look at actual run times
AT = "@"  # before the run times that an order or the reservations of a mode look at

BOUND = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)")
OPTIONS = re.compile(r"([0-9]{1,9})(?::([0-9]{1,9}(?:\.[0-9]{1,6})?))?")
LOOKS = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(?::([0-9]{1,10}))?")
MODE_OF_SCORED = re.compile(r"(.+?)\+(slurm|scored|bounded)(?::((?!.*\.json)[^-]*))?(-[a-z_]+)?")
HIDDEN = "\0"  # before the number of a file whose path is put aside while a name is split

CORE_POLICY_NAMES = tuple(CORE_POLICIES)
PLACEMENT_NAMES = tuple(PLACEMENTS)

SHORTHANDS = {
    "bfbp": "fcfs+packing-best_fit",
    "tetris": "fcfs+packing-tetris",
    "tetris_srtf": "fcfs+packing-tetris_srtf",
}


@dataclass(frozen=True)
class Baseline:
    """An order and how it is applied.

    Attributes:
        order, mode: names in `ORDERS` and `MODES`; a learned policy is an order, in the mode ``scored`` or ``slurm``.
        order_times, times: the run times that the order looks at, and those that reservations look at: in `RUN_TIMES`,
            or ``learned:FILE.json``.
        placement: how cores are chosen, one of `PLACEMENT_NAMES`; empty for best fit where the mode packs, else for
            the fastest ones.
        kept, short: of the mode ``reserve``: cores that it keeps, -1 for `KEPT_SHARE` of all, for jobs of at most so
            many s.
        interval, factor: of the mode ``slurm``: s between two looks of the watch, 0 where the order stands in place of
            Slurm's priorities; and the largest site factor that it sets.
        bound: a job is guaranteed to wait no longer than the machine would take for so many times all work, and half a
            day; of the mode ``bounded`` and of a learned policy that wears it, else 0.

    Raises:
        OptionsError: the mode packs and the placement scores no nodes; learned policy and mode do not go together; or
            a watch is to have Slurm's own order.
    """

    order: str
    mode: str
    order_times: str = "requested"
    times: str = "requested"
    placement: str = ""
    kept: int = -1
    short: float = SHORT
    interval: float = WATCH_INTERVAL
    factor: int = WATCH_FACTOR
    bound: float = 0.0

    def __post_init__(self) -> None:
        if not self.placement:
            object.__setattr__(self, "placement", self._usual)
        if self.mode == "packing" and self.placement not in PACKINGS:
            raise OptionsError(f"baseline {self.name!r}: packing goes with {', '.join(PACKINGS)}, not this placement")
        if self.mode == "scored" and not is_scored(self.order):
            raise OptionsError(f"baseline {self.name!r}: write scored:FILE.json or zoo:NAME for a learned policy")
        if self.order == OWN and self.mode == WATCHED and self.options:
            raise OptionsError(f"baseline {self.name!r}: {OWN} is Slurm's own order, for which no watch sets factors")
        if self.bound and number_of_times(self.times) >= FIRST_PREDICTED:
            raise OptionsError(f"baseline {self.name!r:.80}: guaranteed starts look at requested times, not predicted")
        if self.bound and self.learned is not None and plans_profiles(self.learned):
            raise OptionsError(
                f"baseline {self.name!r:.80}: a policy with several reservations cannot wear {GUARANTEED}"
            )

    @property
    def _usual(self) -> str:
        return "best_fit" if self.mode == "packing" else "high_gflops"

    @property
    def rule(self) -> str:
        """Order and mode with the run times that they look at: ``"sjf@ewma+easy"``, ``"sjf+easyP"``."""
        if self.mode == "scored":
            return f"{self.order}+{self._guaranteed}" if self.bound else self.order
        if self.order_times == self.times == "actual":
            return f"{self.order}+{self._mode_with_options}{PERFECT}"
        order, mode = (
            name if times == "requested" else name + AT + times
            for name, times in ((self.order, self.order_times), (self._mode_with_options, self.times))
        )
        return f"{order}+{mode}"

    @property
    def _guaranteed(self) -> str:
        return GUARANTEED if self.bound == USUAL_BOUND else f"{GUARANTEED}:{self.bound:.12g}"

    @property
    def _mode_with_options(self) -> str:
        return self._guaranteed if self.bound else ":".join((self.mode, *self.options))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the mode, without those at the end that are usual."""
        given = () if self.kept < 0 else (str(self.kept), f"{self.short:.12g}")
        usual = ("", f"{SHORT:.12g}")
        if self.mode == WATCHED:
            given, usual = (f"{self.interval:.12g}", str(self.factor)), (f"{WATCH_INTERVAL:.12g}", str(WATCH_FACTOR))
        count = max((place for place, one in enumerate(given, 1) if one != usual[place - 1]), default=0)
        return given[:count]

    @property
    def alone(self) -> "Baseline":
        """The order without Slurm's mechanism, for a watch of a real Slurm, which has that itself.

        Raises:
            OptionsError: it tells how often to look, which a watch has options for.
        """
        if self.mode != WATCHED:
            return self
        if self.options:
            raise OptionsError(f"baseline {self.name!r}: write {self.order}, and how a watch looks in its own options")
        return replace(self, mode="scored" if self.learned else "strict")

    @property
    def watched(self) -> bool:
        """Whether it is a Slurm beside which a watch sets site factors."""
        return self.mode == WATCHED and self.order != OWN and self.interval > 0.0

    def kept_of(self, cores: int) -> int:
        """Return how many of so many cores it keeps for short jobs."""
        return int(cores * KEPT_SHARE) if self.kept < 0 else self.kept

    @property
    def name(self) -> str:
        """The name that tells the semantics: ``"sjf+easyP-best_fit"``; the usual placement is left out."""
        return self.rule if self.placement == self._usual else f"{self.rule}-{self.placement}"

    @property
    def needs_run_times(self) -> bool:
        """Whether it looks at actual run times, which only a simulator knows."""
        return "actual" in (self.order_times, self.times) or self.order == "oracle"

    @property
    def learned(self) -> ScoredPolicy | None:
        """What its file holds, if it is a learned policy."""
        return scored_policy(self.order) if is_scored(self.order) else None

    @property
    def looks_back(self) -> bool:
        """Whether it looks at what the past jobs of users tell."""
        times = number_of_times(self.order_times), number_of_times(self.times)
        return (
            is_scored(self.order)
            or (self.order == "multifactor" and self.mode != "slurm")
            or max(times) >= FIRST_PREDICTED
        )

    @property
    def predictors(self) -> tuple[str, ...]:
        """The run times that it looks at which are those of learned predictors: ``learned:FILE.json``."""
        return tuple(times for times in (self.order_times, self.times) if is_predictor(times))

    @property
    def files(self) -> tuple[Path, ...]:
        """Those that decide what it does besides its name."""
        learned = (file_of(self.order),) if is_scored(self.order) else ()
        return *learned, *(Path(times.removeprefix(LEARNED_PREFIX)) for times in self.predictors)


def number_of_times(times: str, predictors: Sequence[str] = ()) -> int:
    """Return the number of run times.

    Args:
        predictors: those of learned predictors in their order; the first of them, if *times* is none of these.
    """
    if is_predictor(times):
        return LEARNED + (predictors.index(times) if times in predictors else 0)
    return RUN_TIMES[times]


def holds_file(name: str) -> bool:
    """Tell whether the colon in a name belongs to a learned policy or predictor, not to one of the user's own."""
    return is_scored(name) or AT + LEARNED_PREFIX in name


def names_own(name: str) -> bool:
    """Tell whether a name names something of the user's own, as ``own.py:attribute`` does."""
    options = any(f"+{mode}:" in name for mode in (RESERVED, WATCHED, GUARANTEED))
    return ":" in name and not holds_file(name) and not options


def is_baseline(name: str) -> bool:
    """Tell whether a name without a placement is meant as that of a baseline; it may still be wrong."""
    return is_scored(name) or "+" in name or AT in name or name in ORDERS or name in SHORTHANDS


def baseline(name: str) -> Baseline:
    """Return the baseline of a name.

    Raises:
        OptionsError: there is no such order, mode, placement or run times, or they do not go together.
    """
    if is_scored(name):
        return learned_baseline(name)
    files: list[str] = []

    def hide(path: str) -> str:  # names are split at characters that a path may hold
        files.append(LEARNED_PREFIX + path)
        return f"{HIDDEN}{len(files) - 1}"

    params, dash, placement = with_files(SHORTHANDS.get(name, name), hide).partition("-")
    order, _, mode = params.partition("+")
    order, at_order, order_times = order.partition(AT)
    mode, at_mode, times = (mode or "strict").partition(AT)
    if mode.endswith(PERFECT) and not (at_order or at_mode):
        mode, order_times, times = mode.removesuffix(PERFECT), "actual", "actual"
    mode, colon, options = mode.partition(":")
    kept, short = options_of(name, options) if mode == RESERVED and colon else (-1, SHORT)
    looks = looks_of(name, options) if mode == WATCHED and colon else (WATCH_INTERVAL, WATCH_FACTOR)
    bound = 0.0
    if mode == GUARANTEED:
        bound = bound_of(name, options) if colon else USUAL_BOUND
    if colon and mode not in (RESERVED, WATCHED, GUARANTEED):
        raise OptionsError(
            f"baseline {name!r:.80}: {mode} has no options; only {RESERVED}, {WATCHED} and {GUARANTEED} have, as "
            f"saf+{RESERVED}:64, saf+{WATCHED}:60 and saf+{GUARANTEED}:2"
        )
    order_times = order_times if at_order else order_times or "requested"  # "sjf@" is refused below
    times = times if at_mode else times or "requested"
    order_times, times = (
        files[int(one.removeprefix(HIDDEN))] if one.startswith(HIDDEN) else one for one in (order_times, times)
    )
    parts: list[tuple[str, Iterable[str], str]] = [(order, ORDERS, "order"), (mode, MODES, "mode")]
    for one in (order_times, times):
        if is_predictor(f"{one}:"):  # also where the file was forgotten
            predictor(one)
        else:
            parts.append((one, RUN_TIMES, "run times"))
    if dash:
        parts.append((placement, PLACEMENT_NAMES, "placement"))
    for part, known, what in parts:
        if part not in known:
            raise OptionsError(f"baseline {name!r}: {what} {part!r} is not known{did_you_mean(part, known)}")
    return Baseline(order, mode, order_times, times, placement, kept, short, *looks, bound)


def names_mode(name: str) -> bool:
    """Tell whether the name of a baseline tells how its order is applied."""
    if is_scored(name):
        return MODE_OF_SCORED.fullmatch(name) is not None
    return "+" in with_files(name, lambda path: HIDDEN) or name in SHORTHANDS


def learned_baseline(name: str) -> Baseline:
    """Return the baseline of a learned policy: ``"zoo:balanced"``, with ``+slurm`` or with ``+bounded``.

    Raises:
        OptionsError: there is none, or its file cannot be used.
    """
    match = MODE_OF_SCORED.fullmatch(name)
    if match is None:
        order, placement = split_scored(name)
        if order.startswith(ZOO) and "+" in order:
            raise OptionsError(
                f"baseline {name!r:.80}: a learned policy starts jobs itself ({order.partition('+')[0]:.80}), wears "
                f"guaranteed starts (+{GUARANTEED}), or gives its order to Slurm (+{WATCHED})"
            )
        scored_policy(order)
        return Baseline(order, "scored", placement=placement)
    order, mode, options, dash = match.groups()
    placement = dash.removeprefix("-") if dash else ""
    scored_policy(order)
    if placement and placement not in PLACEMENT_NAMES:
        raise OptionsError(
            f"baseline {name!r:.80}: placement {placement!r:.80} is not known{did_you_mean(placement, PLACEMENT_NAMES)}"
        )
    if mode == GUARANTEED:
        bound = USUAL_BOUND if options is None else bound_of(name, options)
        return Baseline(order, "scored", placement=placement, bound=bound)
    if options is not None and mode != WATCHED:
        raise OptionsError(f"baseline {name!r:.80}: {mode} has no options; {WATCHED} has, as zoo:balanced+{WATCHED}:60")
    interval, factor = (WATCH_INTERVAL, WATCH_FACTOR) if options is None else looks_of(name, options)
    return Baseline(order, mode, placement=placement, interval=interval, factor=factor)


def looks_of(name: str, text: str) -> tuple[float, int]:
    """Return how many s lie between two looks of a watch, and its largest factor, by ``"60"`` or ``"60:5000"``.

    Raises:
        OptionsError: the text is neither.
    """
    match = LOOKS.fullmatch(text)
    factor = WATCH_FACTOR if match is None or match[2] is None else int(match[2])
    if match is None or not 1 <= factor <= SITE_FACTOR.most:
        raise OptionsError(
            f"baseline {name!r:.80}: {WATCHED}:{text:.40} is not known; write the s between two looks, and the largest "
            f"site factor from 1 to {SITE_FACTOR.most:,}, as sjf+{WATCHED}:60:5000"
        )
    return float(match[1]), factor


def bound_of(name: str, text: str) -> float:
    """Return how many times all work a job waits at most, by ``"2"`` or ``"1.5"`` in a name.

    Raises:
        OptionsError: the text is neither, or out of range.
    """
    match = BOUND.fullmatch(text)
    if match is None or not LEAST_BOUND <= float(match[1]) <= MOST_BOUND:
        raise OptionsError(
            f"baseline {name!r:.80}: {GUARANTEED}:{text:.40} is not known; write how many times all work, "
            f"from {LEAST_BOUND:g} to {MOST_BOUND:g}, as saf+{GUARANTEED}:1.5"
        )
    return float(match[1])


def options_of(name: str, text: str) -> tuple[int, float]:
    """Return how many cores are kept and for jobs of how many s, by ``"64"`` or ``"64:600"`` in a name.

    Raises:
        OptionsError: the text is neither.
    """
    match = OPTIONS.fullmatch(text)
    if match is None:
        raise OptionsError(
            f"baseline {name!r:.80}: {RESERVED}:{text:.40} is not known; write how many cores are kept, and for jobs "
            f"of how many s, as saf+{RESERVED}:64:600"
        )
    return int(match[1]), float(match[2] or SHORT)
