"""The names of the baselines that every paper compares with: an order, and how it is applied.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` knows the actual run times in place of the requested ones;
``"sjf+easy-best_fit"`` chooses cores by best fit in place of the fastest ones.
This module names them and imports nothing heavy; `engine.job_keys` and `decision.policies` compute them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hdeeprm_like.engine.numbers import CORE_POLICIES, JOB_POLICIES, ORDERS, PACKINGS, PLACEMENTS
from hdeeprm_like.errors import OptionsError, did_you_mean

__all__ = ["CORE_POLICIES", "JOB_POLICIES", "MODES", "ORDERS", "PACKINGS", "PLACEMENTS", "Baseline", "baseline"]

STRICT, GREEDY, COMMIT, EASY, CONSERVATIVE, PACKING, EASY_FCFS, EASY_SJF, COMMIT_BACKFILL = range(9)

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
}

PERFECT = "P"  # at the end of a mode: with actual run times

CORE_POLICY_NAMES = tuple(CORE_POLICIES)
PLACEMENT_NAMES = tuple(PLACEMENTS)

SHORTHANDS = {"bfbp": "fcfs+packing-best_fit", "tetris": "fcfs+packing-tetris"}


@dataclass(frozen=True)
class Baseline:
    """An order and how it is applied.

    Attributes:
        order, mode: names in `ORDERS` and `MODES`.
        perfect: whether everything looks at actual run times in place of requested ones.
        placement: how cores are chosen, one of `PLACEMENT_NAMES`; empty for best fit where the mode packs, else for
            the fastest ones.

    Raises:
        OptionsError: the mode packs and the placement scores no nodes.
    """

    order: str
    mode: str
    perfect: bool = False
    placement: str = ""

    def __post_init__(self) -> None:
        if not self.placement:
            object.__setattr__(self, "placement", self._usual)
        if self.mode == "packing" and self.placement not in PACKINGS:
            raise OptionsError(
                f"baseline {self.name!r}: packing goes with {' and '.join(PACKINGS)}, not this placement"
            )

    @property
    def _usual(self) -> str:
        return "best_fit" if self.mode == "packing" else "high_gflops"

    @property
    def rule(self) -> str:
        """Order and mode: ``"sjf+easyP"``."""
        return f"{self.order}+{self.mode}{PERFECT if self.perfect else ''}"

    @property
    def name(self) -> str:
        """The name that tells the semantics: ``"sjf+easyP-best_fit"``; the usual placement is left out."""
        return self.rule if self.placement == self._usual else f"{self.rule}-{self.placement}"

    @property
    def needs_run_times(self) -> bool:
        """Whether it looks at actual run times, which only a simulator knows."""
        return self.perfect or self.order == "oracle"


def is_baseline(name: str) -> bool:
    """Tell whether a name without a placement is meant as that of a baseline; it may still be wrong."""
    return "+" in name or name in ORDERS or name in SHORTHANDS


def baseline(name: str) -> Baseline:
    """Return the baseline of a name.

    Raises:
        OptionsError: there is no such order, mode or placement, or they do not go together.
    """
    params, dash, placement = SHORTHANDS.get(name, name).partition("-")
    order, _, mode = params.partition("+")
    mode = mode or "strict"
    perfect = mode.endswith(PERFECT)
    mode = mode.removesuffix(PERFECT)
    parts: list[tuple[str, Iterable[str], str]] = [(order, ORDERS, "order"), (mode, MODES, "mode")]
    if dash:
        parts.append((placement, PLACEMENT_NAMES, "placement"))
    for part, known, what in parts:
        if part not in known:
            raise OptionsError(f"baseline {name!r}: {what} {part!r} is not known{did_you_mean(part, known)}")
    return Baseline(order, mode, perfect, placement)
