"""Names of the baselines that papers compare with: an order, and a mode that applies it.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` uses actual run times instead of requested ones;
``"sjf@tsafrir+easy"`` orders by predicted run times and reserves by requested ones, ``"fcfs+easy@ewma"`` the other way
round; ``"sjf@learned:FILE.json+easy"`` orders by a learned predictor (see `tree_files`);
``"sjf+easy-best_fit"`` chooses cores by best fit instead of the fastest ones, ``"sjf+easy-scored:FILE.json"`` and
``"sjf+easy-zoo:NAME"`` by the placement score of a learned policy (see `placement_files`);
``"saf+reserve:64:600"`` starts whatever fits but keeps 64 cores for jobs that request at most 600 s,
``"saf+reserve"`` an eighth of them for those up to 1000 s;
``"saf+bounded"`` starts whatever fits around a guaranteed start of each job, ``"saf+bounded:2"`` guarantees later
starts, and ``"zoo:balanced+bounded"`` does so in the order of a learned policy (see `policies.guarantees`).
``"zoo:steady@survival"`` is a learned policy whose scores look at other predicted run times than its file names.

``"multifactor+slurm"`` is Slurm as configured. ``"sjf+slurm"`` and ``"zoo:balanced+slurm"`` are the same Slurm with a
watch that raises priorities by that order (``hdeeprm-like slurm watch``); ``"sjf+slurm:60:5000"`` looks every 60 s and
raises them by at most 5000; in ``"sjf+slurm:0"`` the order replaces Slurm's priorities.
This module only handles names and imports nothing heavy; `engine.job_keys` and `decision.policies` compute.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hdeeprm_like.decision.mode_options import (
    GUARANTEED,
    KEPT_SHARE,
    OWN,
    RESERVED,
    SHORT,
    USUAL_BOUND,
    WATCHED,
    bound_of,
    looks_of,
    options_of,
)
from hdeeprm_like.decision.mode_specs import MODES
from hdeeprm_like.decision.placement_files import Placement
from hdeeprm_like.decision.score_files import LEARNED as LEARNED_PREFIX
from hdeeprm_like.decision.score_files import (
    SCORED,
    ZOO,
    ScoredPolicy,
    file_of,
    is_scored,
    plans_profiles,
    scored_policy,
    split_scored,
)
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

PERFECT = "P"  # suffix of a mode: order and reservations use actual run times
AT = "@"  # before the run times of an order or of a mode's reservations

MODE_OF_SCORED = re.compile(r"(.+?)\+(slurm|scored|bounded)(?::((?!.*\.json)[^-]*))?(-[a-z_]+)?")
BY_FILE = re.compile(r"(.+?)-((?:zoo:[^-:]+)|(?:scored:.+\.json))")  # a rule, and the learned policy that places
TIMES_OF_SCORED = re.compile(
    rf"({ZOO}[^@+]*|{SCORED}.+?\.json)@({LEARNED_PREFIX}.+?\.(?:json|py)|[a-z0-9_]*)(?=[+-]|$)"
)
HIDDEN = "\0"  # before the number of a file whose path is hidden while a name is split

CORE_POLICY_NAMES = tuple(CORE_POLICIES)
PLACEMENT_NAMES = tuple(PLACEMENTS)

SHORTHANDS = {
    "bfbp": "fcfs+packing-best_fit",
    "tetris": "fcfs+packing-tetris",
    "tetris_srtf": "fcfs+packing-tetris_srtf",
}


@dataclass(frozen=True)
class Baseline:
    """An order and a mode that applies it.

    Attributes:
        order, mode: names in `ORDERS` and `MODES`; a learned policy is an order, in the mode ``scored`` or ``slurm``.
        order_times, times: the run times of the order, and those of reservations: in `RUN_TIMES`, or
        ``learned:FILE.json``.
        placement: how cores are chosen, one of `PLACEMENT_NAMES`, or a learned policy with a placement score; empty
        for that of a learned policy, for best fit if the mode packs, else for the fastest ones.
        kept, short: of the mode ``reserve``: cores that it keeps, -1 for `KEPT_SHARE` of all, for jobs of at most
        *short* s.
        interval, factor: of the mode ``slurm``: s between two looks of the watch, 0 if the order replaces Slurm's
        priorities; and the largest site factor that it sets.
        bound: a job is guaranteed to wait at most *bound* times the machine's worst time for all work, and half a day;
        of the mode ``bounded`` and of learned policies combined with it, or whose file has it, else 0.

    Raises:
        OptionsError: the mode packs and the placement scores no nodes; learned policy and mode do not go together; or
        Slurm's own order is combined with a watch.
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
        if is_scored(self.placement) and self.placement_score is None:
            raise OptionsError(f"baseline {self.name!r:.80}: {self.placement:.80} has no 'placement', a score of cores")
        if self.mode == "scored" and not is_scored(self.order):
            raise OptionsError(f"baseline {self.name!r}: write scored:FILE.json or zoo:NAME for a learned policy")
        if self.order == OWN and self.mode == WATCHED and self.options:
            raise OptionsError(f"baseline {self.name!r}: {OWN} is Slurm's own order, for which no watch sets factors")
        if self.bound and number_of_times(self.times) >= FIRST_PREDICTED:
            raise OptionsError(f"baseline {self.name!r:.80}: guaranteed starts use requested times, not predicted ones")
        if self.bound and self.learned is not None and plans_profiles(self.learned):
            raise OptionsError(
                f"baseline {self.name!r:.80}: {GUARANTEED} does not combine with a policy of several reservations"
            )

    @property
    def _usual(self) -> str:
        if self.mode == "scored" and self.learned is not None and self.learned.placement is not None:
            return self.order
        return "best_fit" if self.mode == "packing" else "high_gflops"

    @property
    def rule(self) -> str:
        """Order and mode with their run times: ``"sjf@ewma+easy"``, ``"sjf+easyP"``."""
        if self.mode == "scored":
            own = self.learned.bounded if self.bound and self.learned else 0.0
            return self._ranking if self.bound == own else f"{self._ranking}+{self._guaranteed}"
        if self.learned:
            return f"{self._ranking}+{self._mode_with_options}"
        if self.order_times == self.times == "actual":
            return f"{self.order}+{self._mode_with_options}{PERFECT}"
        order, mode = (
            name if times == "requested" else name + AT + times
            for name, times in ((self.order, self.order_times), (self._mode_with_options, self.times))
        )
        return f"{order}+{mode}"

    @property
    def _ranking(self) -> str:
        own = self.learned.times if self.learned else "requested"
        return self.order if self.order_times == own else self.order + AT + self.order_times

    @property
    def _guaranteed(self) -> str:
        return GUARANTEED if self.bound == USUAL_BOUND else f"{GUARANTEED}:{self.bound:.12g}"

    @property
    def _mode_with_options(self) -> str:
        return self._guaranteed if self.bound else ":".join((self.mode, *self.options))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of the mode, without trailing defaults."""
        given = () if self.kept < 0 else (str(self.kept), f"{self.short:.12g}")
        usual = ("", f"{SHORT:.12g}")
        if self.mode == WATCHED:
            given, usual = (f"{self.interval:.12g}", str(self.factor)), (f"{WATCH_INTERVAL:.12g}", str(WATCH_FACTOR))
        count = max((place for place, one in enumerate(given, 1) if one != usual[place - 1]), default=0)
        return given[:count]

    @property
    def alone(self) -> "Baseline":
        """The order without Slurm's mechanism, for a watch of a real Slurm, which has its own.

        Raises:
            OptionsError: the name gives an interval, which is an option of the watch itself.
        """
        if self.mode != WATCHED:
            return self
        if self.options:
            raise OptionsError(f"baseline {self.name!r}: write {self.order}, and how a watch looks in its own options")
        return replace(self, mode="scored" if self.learned else "strict")

    @property
    def watched(self) -> bool:
        """Whether it is a Slurm with a watch that sets site factors."""
        return self.mode == WATCHED and self.order != OWN and self.interval > 0.0

    def kept_of(self, cores: int) -> int:
        """Return how many of *cores* cores it keeps for short jobs."""
        return int(cores * KEPT_SHARE) if self.kept < 0 else self.kept

    @property
    def name(self) -> str:
        """The full name: ``"sjf+easyP-best_fit"``; the default placement is left out."""
        return self.rule if self.placement == self._usual else f"{self.rule}-{self.placement}"

    @property
    def needs_run_times(self) -> bool:
        """Whether it uses actual run times, which only a simulator knows."""
        return "actual" in (self.order_times, self.times) or self.order == "oracle"

    @property
    def learned(self) -> ScoredPolicy | None:
        """The learned policy in its file, if it is one."""
        return scored_policy(self.order) if is_scored(self.order) else None

    @property
    def placement_score(self) -> Placement | None:
        """The score by which cores are chosen, if that is no fixed placement."""
        return scored_policy(self.placement).placement if is_scored(self.placement) else None

    @property
    def looks_back(self) -> bool:
        """Whether it uses the past jobs of users."""
        times = number_of_times(self.order_times), number_of_times(self.times)
        return (
            is_scored(self.order)
            or is_scored(self.placement)
            or (self.order == "multifactor" and self.mode != "slurm")
            or max(times) >= FIRST_PREDICTED
        )

    @property
    def predictors(self) -> tuple[str, ...]:
        """The run times of learned predictors that it uses: ``learned:FILE.json``."""
        return tuple(times for times in (self.order_times, self.times) if is_predictor(times))

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that its behaviour depends on besides its name."""
        learned = tuple(file_of(name) for name in dict.fromkeys((self.order, self.placement)) if is_scored(name))
        return *learned, *(Path(times.removeprefix(LEARNED_PREFIX)) for times in self.predictors)


def number_of_times(times: str, predictors: Sequence[str] = ()) -> int:
    """Return the number of some run times.

    Args:
        predictors: learned predictors in their order; the first is returned if *times* is none of these.
    """
    if is_predictor(times):
        return LEARNED + (predictors.index(times) if times in predictors else 0)
    return RUN_TIMES[times]


def holds_file(name: str) -> bool:
    """Return whether the colon in a name belongs to a learned policy or predictor, not to a user's own part."""
    return is_scored(name) or AT + LEARNED_PREFIX in name or BY_FILE.fullmatch(name) is not None


def names_own(name: str) -> bool:
    """Return whether a name names a user's own part, such as ``own.py:attribute``."""
    options = any(f"+{mode}:" in name for mode in (RESERVED, WATCHED, GUARANTEED))
    return ":" in name and not holds_file(name) and not options


def is_baseline(name: str) -> bool:
    """Return whether a name without a placement looks like a baseline's; it may still be invalid."""
    return is_scored(name) or "+" in name or AT in name or name in ORDERS or name in SHORTHANDS


def baseline(name: str) -> Baseline:
    """Return the baseline of a name.

    Raises:
        OptionsError: unknown order, mode, placement or run times, or they do not go together.
    """
    by_file = BY_FILE.fullmatch(name)
    if by_file is not None:
        if BY_FILE.fullmatch(by_file[1]) is not None:
            raise OptionsError(f"baseline {name!r:.80}: has several learned placements; one is possible")
        return replace(baseline(by_file[1]), placement=by_file[2])
    if is_scored(name):
        return learned_baseline(name)
    files: list[str] = []

    def hide(path: str) -> str:  # names are split at characters that a path may contain
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
            f"baseline {name!r:.80}: {mode!r:.80} has no options; only {RESERVED}, {WATCHED} and {GUARANTEED} have, as "
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
            for number, file in enumerate(files):  # a predictor where no @ is before it
                part = part.replace(f"{HIDDEN}{number}", file)
            raise OptionsError(f"baseline {name!r}: {what} {part!r} is not known{did_you_mean(part, known)}")
    return Baseline(order, mode, order_times, times, placement, kept, short, *looks, bound)


def names_mode(name: str) -> bool:
    """Return whether the name of a baseline includes its mode."""
    if is_scored(name):
        return MODE_OF_SCORED.fullmatch(split_times(name)[0]) is not None
    return "+" in with_files(name, lambda path: HIDDEN) or name in SHORTHANDS


def learned_baseline(name: str) -> Baseline:
    """Return the baseline of a learned policy: ``"zoo:balanced"``, with ``@survival``, ``+slurm`` or ``+bounded``.

    Raises:
        OptionsError: there is no such policy, or its file or its run times cannot be used.
    """
    plain, given = split_times(name)
    match = MODE_OF_SCORED.fullmatch(plain)
    if match is None:
        order, placement = split_scored(plain)
        mode, options = "scored", None
        if order.startswith(ZOO) and "+" in order:
            raise OptionsError(
                f"baseline {name!r:.80}: a learned policy starts jobs itself ({order.partition('+')[0]:.80}), has "
                f"guaranteed starts (+{GUARANTEED}), or gives its order to Slurm (+{WATCHED})"
            )
    else:
        order, mode, options, dash = match.groups()
        placement = dash.removeprefix("-") if dash else ""
        if placement and placement not in PLACEMENT_NAMES:
            raise OptionsError(
                f"baseline {name!r:.80}: placement {placement!r:.80} is not known"
                f"{did_you_mean(placement, PLACEMENT_NAMES)}"
            )
    policy = scored_policy(order)
    times = policy.times if given is None else given
    if is_predictor(times):
        predictor(times)
    elif times not in RUN_TIMES:
        raise OptionsError(
            f"baseline {name!r:.80}: run times {times!r:.80} is not known{did_you_mean(times, RUN_TIMES)}"
        )
    if options is not None and mode not in (WATCHED, GUARANTEED):
        raise OptionsError(f"baseline {name!r:.80}: {mode} has no options; {WATCHED} has, as zoo:balanced+{WATCHED}:60")
    if mode == WATCHED:
        interval, factor = (WATCH_INTERVAL, WATCH_FACTOR) if options is None else looks_of(name, options)
        return Baseline(order, mode, times, placement=placement, interval=interval, factor=factor)
    bound = policy.bounded
    if mode == GUARANTEED:
        bound = USUAL_BOUND if options is None else bound_of(name, options)
    return Baseline(order, "scored", times, placement=placement, bound=bound)


def split_times(name: str) -> tuple[str, str | None]:
    """Split the run times off the name of a learned policy: ``"zoo:steady@ewma+bounded"`` -> ``"zoo:steady+bounded"``,
    ``"ewma"``; None where it names none.
    """
    match = TIMES_OF_SCORED.match(name)
    return (name, None) if match is None else (match[1] + name[match.end() :], match[2])
