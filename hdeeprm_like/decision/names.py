"""The names of the baselines that every paper compares with: an order, and how it is applied.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` knows the actual run times in place of the requested ones;
``"sjf@tsafrir+easy"`` orders by predicted run times and reserves by requested ones, ``"fcfs+easy@ewma"`` the other way
round; ``"sjf+easy-best_fit"`` chooses cores by best fit in place of the fastest ones.
This module names them and imports nothing heavy; `engine.job_keys` and `decision.policies` compute them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hdeeprm_like.decision.score_files import ScoredPolicy, is_scored, scored_policy, split_scored
from hdeeprm_like.engine.numbers import (
    CORE_POLICIES,
    FIRST_PREDICTED,
    JOB_POLICIES,
    ORDERS,
    PACKINGS,
    PLACEMENTS,
    RUN_TIMES,
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

STRICT, GREEDY, COMMIT, EASY, CONSERVATIVE, PACKING, EASY_FCFS, EASY_SJF, COMMIT_BACKFILL, SCORED = range(10)

MODES = {
    "strict": STRICT,
    "greedy": GREEDY,
    "commit": COMMIT,
    "commitbackfill": COMMIT_BACKFILL,
    "easy": EASY,
    "easyfcfs": EASY_FCFS,
    "easysjf": EASY_SJF,
    "conservative": CONSERVATIVE,
    "packing": PACKING,
    "scored": SCORED,
}

PERFECT = "P"  # at the end of a mode: order and reservations look at actual run times
AT = "@"  # before the run times that an order or the reservations of a mode look at

CORE_POLICY_NAMES = tuple(CORE_POLICIES)
PLACEMENT_NAMES = tuple(PLACEMENTS)

SHORTHANDS = {"bfbp": "fcfs+packing-best_fit", "tetris": "fcfs+packing-tetris"}


@dataclass(frozen=True)
class Baseline:
    """An order and how it is applied.

    Attributes:
        order, mode: names in `ORDERS` and `MODES`; a learned policy is an order, in the mode ``scored``.
        order_times, times: the run times that the order looks at, and those that reservations look at, in `RUN_TIMES`.
        placement: how cores are chosen, one of `PLACEMENT_NAMES`; empty for best fit where the mode packs, else for
            the fastest ones.

    Raises:
        OptionsError: the mode packs and the placement scores no nodes; or learned policy and mode do not go together.
    """

    order: str
    mode: str
    order_times: str = "requested"
    times: str = "requested"
    placement: str = ""

    def __post_init__(self) -> None:
        if not self.placement:
            object.__setattr__(self, "placement", self._usual)
        if self.mode == "packing" and self.placement not in PACKINGS:
            raise OptionsError(
                f"baseline {self.name!r}: packing goes with {' and '.join(PACKINGS)}, not this placement"
            )
        if self.mode == "scored" and not is_scored(self.order):
            raise OptionsError(f"baseline {self.name!r}: write scored:FILE.json or zoo:NAME for a learned policy")

    @property
    def _usual(self) -> str:
        return "best_fit" if self.mode == "packing" else "high_gflops"

    @property
    def rule(self) -> str:
        """Order and mode with the run times that they look at: ``"sjf@ewma+easy"``, ``"sjf+easyP"``."""
        if self.learned:
            return self.order
        if self.order_times == self.times == "actual":
            return f"{self.order}+{self.mode}{PERFECT}"
        order, mode = (
            name if times == "requested" else name + AT + times
            for name, times in ((self.order, self.order_times), (self.mode, self.times))
        )
        return f"{order}+{mode}"

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
        times = RUN_TIMES[self.order_times], RUN_TIMES[self.times]
        return is_scored(self.order) or self.order == "multifactor" or max(times) >= FIRST_PREDICTED


def is_baseline(name: str) -> bool:
    """Tell whether a name without a placement is meant as that of a baseline; it may still be wrong."""
    return is_scored(name) or "+" in name or AT in name or name in ORDERS or name in SHORTHANDS


def baseline(name: str) -> Baseline:
    """Return the baseline of a name.

    Raises:
        OptionsError: there is no such order, mode, placement or run times, or they do not go together.
    """
    if is_scored(name):
        order, placement = split_scored(name)
        scored_policy(order)
        return Baseline(order, "scored", placement=placement)
    params, dash, placement = SHORTHANDS.get(name, name).partition("-")
    order, _, mode = params.partition("+")
    order, at_order, order_times = order.partition(AT)
    mode, at_mode, times = (mode or "strict").partition(AT)
    if mode.endswith(PERFECT) and not (at_order or at_mode):
        mode, order_times, times = mode.removesuffix(PERFECT), "actual", "actual"
    order_times = order_times if at_order else order_times or "requested"  # "sjf@" is refused below
    times = times if at_mode else times or "requested"
    parts: list[tuple[str, Iterable[str], str]] = [(order, ORDERS, "order"), (mode, MODES, "mode")]
    parts += [(order_times, RUN_TIMES, "run times"), (times, RUN_TIMES, "run times")]
    if dash:
        parts.append((placement, PLACEMENT_NAMES, "placement"))
    for part, known, what in parts:
        if part not in known:
            raise OptionsError(f"baseline {name!r}: {what} {part!r} is not known{did_you_mean(part, known)}")
    return Baseline(order, mode, order_times, times, placement)
