"""Names of the baselines that papers compare with: an order, and a mode that applies it.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` uses actual run times instead of requested ones;
``"sjf@tsafrir+easy"`` orders by predicted run times and reserves by requested ones, ``"fcfs+easy@ewma"`` the other way
round; ``"sjf@learned:FILE.json+easy"`` orders by a learned predictor (see `tree_files`);
``"sjf+easy-best_fit"`` chooses cores by best fit instead of the fastest ones, ``"sjf+easy-scored:FILE.json"`` and
``"sjf+easy-zoo:NAME"`` by the placement score of a learned policy (see `score_files`);
``"saf+reserve:64:600"`` starts whatever fits but keeps 64 cores for jobs that request at most 600 s,
``"saf+reserve"`` an eighth of them for those up to 1000 s;
``"saf+bounded"`` starts whatever fits around a guaranteed start of each job, ``"saf+bounded:2"`` guarantees later
starts, and ``"zoo:balanced+bounded"`` does so in the order of a learned policy (see `policies.bounded`).
``"zoo:steady@survival"`` is a learned policy whose scores look at other predicted run times than its file names.

``"multifactor+slurm"`` is Slurm as configured. ``"sjf+slurm"`` and ``"zoo:balanced+slurm"`` are the same Slurm with a
watch that raises priorities by that order (``hdeeprm-like slurm watch``); ``"sjf+slurm:60:5000"`` looks every 60 s and
raises them by at most 5000; in ``"sjf+slurm:0"`` the order replaces Slurm's priorities.
This module only handles names and imports nothing heavy; `engine.job_keys` and `decision.policies` compute.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from hdeeprm_like import refusals
from hdeeprm_like.decision.modes import GUARANTEED, SCORED, SLURM, Mode, mode_named
from hdeeprm_like.decision.modes import MODES as MODES
from hdeeprm_like.decision.policy_words import LEARNED as LEARNED_PREFIX
from hdeeprm_like.decision.policy_words import Words, is_scored, words_of
from hdeeprm_like.decision.score_files import Placement, ScoredPolicy, file_of, scored_policy
from hdeeprm_like.decision.tree_files import is_own, is_predictor, predictor
from hdeeprm_like.engine.numbers import CORE_POLICIES as CORE_POLICIES
from hdeeprm_like.engine.numbers import FIRST_PREDICTED, LEARNED
from hdeeprm_like.engine.numbers import JOB_POLICIES as JOB_POLICIES
from hdeeprm_like.engine.numbers import ORDERS as ORDERS
from hdeeprm_like.engine.numbers import PACKINGS as PACKINGS
from hdeeprm_like.engine.numbers import PLACEMENTS as PLACEMENTS
from hdeeprm_like.engine.numbers import RUN_TIMES as RUN_TIMES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.refusals import Case, refuse

PERFECT = "P"  # suffix of a mode: order and reservations use actual run times
AT = "@"  # before the run times of an order or of a mode's reservations
OF_LEARNED = (SCORED, SLURM, GUARANTEED)  # modes that a learned policy goes with
OWN = "multifactor"  # Slurm's order without a watch
USUAL_CORES = "high_gflops"  # core policy of a user's own job policy that names none

Pair: TypeAlias = tuple[str, str]
"""A job policy, one of the thesis or a user's own ``file.py:attribute``, and a core policy."""

JOB_POLICY_NAMES, CORE_POLICY_NAMES = tuple(JOB_POLICIES), tuple(CORE_POLICIES)
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
        order: a name in `ORDERS`, or a learned policy, in the mode ``scored`` or ``slurm``. mode: with its options.
        order_times, times: the run times of the order, and those of reservations: in `RUN_TIMES`, or
        ``learned:FILE.json``.
        placement: how cores are chosen, one of `PLACEMENT_NAMES`, or a learned policy with a placement score; empty
        for that of a learned policy, for best fit if the mode packs, else for the fastest ones.

    Raises:
        OptionsError: the mode packs and the placement scores no nodes; learned policy and mode do not go together; or
        Slurm's own order is combined with a watch.
    """

    order: str
    mode: Mode
    order_times: str = "requested"
    times: str = "requested"
    placement: str = ""

    def __post_init__(self) -> None:
        if not self.placement:
            object.__setattr__(self, "placement", self._usual)
        if self.mode.name == "packing" and self.placement not in PACKINGS:
            raise OptionsError(f"baseline {self.name!r}: packing goes with {', '.join(PACKINGS)}, not this placement")
        if is_scored(self.placement) and self.placement_score is None:
            raise OptionsError(f"baseline {self.name!r:.80}: {self.placement:.80} has no 'placement', a score of cores")
        if self.mode.name == SCORED and not is_scored(self.order):
            raise OptionsError(f"baseline {self.name!r}: write scored:FILE.json or zoo:NAME for a learned policy")
        if self.order == OWN and self.mode.name == SLURM and self.mode.text != SLURM:
            raise OptionsError(f"baseline {self.name!r}: {OWN} is Slurm's own order, for which no watch sets factors")
        if self.mode.bound and number_of_times(self.times) >= FIRST_PREDICTED:
            raise OptionsError(f"baseline {self.name!r:.80}: guaranteed starts use requested times, not predicted ones")

    @property
    def _usual(self) -> str:
        if self.mode.name == SCORED and self.learned is not None and self.learned.placement is not None:
            return self.order
        return "best_fit" if self.mode.name == "packing" else "high_gflops"

    @property
    def rule(self) -> str:
        """Order and mode with their run times: ``"sjf@ewma+easy"``, ``"sjf+easyP"``."""
        if self.mode.name == SCORED:
            bound = self.mode.bound
            own = bound == (self.learned.bounded if bound and self.learned else 0.0)
            return self._ranking if own else f"{self._ranking}+{mode_named(GUARANTEED)(bound=bound).text}"
        if self.learned:
            return f"{self._ranking}+{self.mode.text}"
        if self.order_times == self.times == "actual":
            return f"{self.order}+{self.mode.text}{PERFECT}"
        order, mode = (
            name if times == "requested" else name + AT + times
            for name, times in ((self.order, self.order_times), (self.mode.text, self.times))
        )
        return f"{order}+{mode}"

    @property
    def _ranking(self) -> str:
        own = self.learned.times if self.learned else "requested"
        return self.order if self.order_times == own else self.order + AT + self.order_times

    @property
    def alone(self) -> "Baseline":
        """The order without mechanism and guarantees, for a watch of a real Slurm, which starts the jobs itself."""
        if self.mode.name not in (SLURM, SCORED):
            return self
        return replace(self, mode=mode_named(SCORED if self.learned else "strict")())

    @property
    def watched(self) -> bool:
        """Whether it is a Slurm with a watch that sets site factors."""
        return self.mode.name == SLURM and self.order != OWN and self.mode.watches

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
            or (self.order == "multifactor" and self.mode.name != SLURM)
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


def policy_in(name: str, driver: str = "") -> Pair | Baseline:
    """Return the policy of a name: the one reading of it, for every command.

    A job policy of the thesis and a core policy, ``"smallest-high_gflops"``, are a pair, also where the job policy is
    an order, too; ``"smallest+strict-high_gflops"`` is the baseline, and so is ``"smallest"`` alone.

    Args:
        driver: what is to play it, of `refusals.DRIVERS`. What that cannot is refused before a file is read.

    Raises:
        OptionsError: there is no policy of that name, or it is not for this driver.
    """
    words = words_of(name)
    by_words = Case(name, words.kind, learned=is_scored(words.order), uses_file=words.uses_file, driver=driver)
    refuse(by_words)
    if words.kind in (refusals.PAIR, refusals.OWN):
        if words.order_times is not None or words.mode is not None:
            raise OptionsError(f"policy {name!r:.80}: a job policy of your own has no mode and no run times")
        core = USUAL_CORES if words.placement is None else words.placement
        if core not in CORE_POLICIES:
            raise OptionsError(
                f"policy {name!r:.80}: {core!r:.80} is no core policy{did_you_mean(core, CORE_POLICIES)}"
            )
        return words.order, core
    found = baseline(name)
    refuse(case_of(found, driver))
    return found


def case_of(policy: "Baseline | tuple[Any, str]", driver: str = "") -> Case:
    """Return a policy as the table of refusals looks it up.

    Args:
        policy: a baseline or a pair, whose job policy may be a function.
    """
    if not isinstance(policy, Baseline):
        job, core = policy
        own = not isinstance(job, str) or job not in JOB_POLICIES
        shown = job if isinstance(job, str) else getattr(job, "__name__", "own")
        return Case(f"{shown}-{core}", refusals.OWN if own else refusals.PAIR, python=own, driver=driver)
    return Case(
        policy.name,
        order=policy.order,
        mode=policy.mode.name,
        learned=is_scored(policy.order),
        uses_file=bool(policy.files),
        python=any(is_own(times) for times in policy.predictors),
        looks_back=policy.looks_back,
        needs_run_times=policy.needs_run_times,
        by_score=policy.placement_score is not None,
        streams=policy.mode.streams,
        bounded=policy.mode.bound != (policy.learned.bounded if policy.learned else 0.0),
        sets_watch=policy.mode.name == SLURM != policy.mode.text,
        driver=driver,
    )


def baseline(name: str) -> Baseline:
    """Return the baseline of a name.

    Raises:
        OptionsError: unknown order, mode, placement or run times, or they do not go together.
    """
    words = words_of(SHORTHANDS.get(name, name))
    learned = scored_policy(words.order) if is_scored(words.order) else None
    if learned is None:
        check_order(name, words.order)
    whole_mode, order_times, times = mode_and_times(words, learned)
    word, colon, options = whole_mode.partition(":")
    check_mode(name, word if word in MODES else whole_mode, learned)
    mode = mode_named(word).read(name, options if colon else None)
    if learned is not None and word != SLURM:
        mode = mode_named(SCORED)(bound=mode.bound if word == GUARANTEED else learned.bounded)
    for one in (order_times, times):
        if is_predictor(f"{one}:"):  # also where the file was forgotten
            predictor(one)
        else:
            check_known(name, one, RUN_TIMES, "run times")
    if words.placement is not None and not is_scored(words.placement):
        check_known(name, words.placement, PLACEMENT_NAMES, "placement")
    return Baseline(words.order, mode, order_times, times, words.placement or "")


def mode_and_times(words: Words, learned: ScoredPolicy | None) -> tuple[str, str, str]:
    """Return the mode with its options, the run times of the order, and those of reservations."""
    order_times, mode, times = words.order_times, words.mode, words.times
    if learned is not None:
        return mode or "scored", learned.times if order_times is None else order_times, times or "requested"
    mode = mode or "strict"
    if mode.endswith(PERFECT) and order_times is None and times is None:
        return mode.removesuffix(PERFECT), "actual", "actual"
    order_times, times = ("requested" if one is None else one for one in (order_times, times))  # "sjf@" is refused
    return mode, order_times, times


def check_order(name: str, order: str) -> None:
    """Raise an OptionsError if there is no order of the queue of that name."""
    if order in JOB_POLICIES and order not in ORDERS:
        raise OptionsError(
            f"baseline {name!r:.80}: {order!r} is no order, but a job policy of pairs, as {order}-{USUAL_CORES}"
        )
    check_known(name, order, ORDERS, "order", ORDERS | JOB_POLICIES)


def check_mode(name: str, mode: str, learned: ScoredPolicy | None) -> None:
    """Raise an OptionsError if there is no such mode, or a learned policy does not go with it."""
    check_known(name, mode, MODES, "mode")
    if learned is not None and (mode not in OF_LEARNED or words_of(name).times is not None):
        raise OptionsError(
            f"baseline {name!r:.80}: a learned policy starts jobs itself, has guaranteed starts (+{GUARANTEED}), or "
            f"gives its order to Slurm (+{SLURM}), and has its run times behind its name, as zoo:steady@ewma"
        )


def check_known(name: str, part: str, known: Iterable[str], what: str, near: Iterable[str] = ()) -> None:
    """Raise an OptionsError with the nearest name, of *known* or *near*, if a part of a name is not known."""
    if part not in known:
        raise OptionsError(
            f"baseline {name!r:.80}: {what} {part!r:.80} is not known{did_you_mean(part, near or known)}"
        )


def names_mode(name: str) -> bool:
    """Return whether the name of a baseline includes its mode."""
    return words_of(SHORTHANDS.get(name, name)).mode is not None
