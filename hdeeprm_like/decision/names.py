"""The names of the baselines that every paper compares with: an order, and how it is applied.

``"sjf+easy"`` serves the shortest request first and backfills around a reservation for the head of the queue;
``"fcfs"`` alone means ``"fcfs+strict"``; ``"sjf+easyP"`` knows the actual run times in place of the requested ones;
``"sjf+easy-best_fit"`` chooses cores by best fit in place of the fastest ones.
This module names and numbers them and imports nothing heavy; ``orders`` and ``backfill`` compute them.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from hdeeprm_like.engine.numbers import (
    BEST_FIT,
    F1,
    F2,
    F3,
    F4,
    FCFS,
    FIRST,
    FIRST_FIT,
    HIGH_CORES,
    HIGH_GFLOPS,
    HIGH_MEM,
    HIGH_MEM_BW,
    LAF,
    LCFS,
    LJF,
    LOW_MEM,
    LOW_MEM_BW,
    LOW_POWER,
    MULTIFACTOR,
    ORACLE,
    RANDOM_CORE,
    RANDOM_JOB,
    SAF,
    SHORTEST,
    SJF,
    SMALLEST,
    TETRIS,
    UNICEP,
    UNICEP_PUBLISHED,
    WFP3,
    WFP3_PUBLISHED,
    XFACTOR,
)
from hdeeprm_like.errors import OptionsError, did_you_mean

ORDERS = {
    "fcfs": FCFS,
    "lcfs": LCFS,
    "sjf": SJF,
    "smallest": SMALLEST,
    "ljf": LJF,
    "saf": SAF,
    "laf": LAF,
    "f1": F1,
    "f2": F2,
    "f3": F3,
    "f4": F4,
    "oracle": ORACLE,
    "wfp3": WFP3,
    "unicep": UNICEP,
    "xfactor": XFACTOR,
    "multifactor": MULTIFACTOR,
    "wfp3_published": WFP3_PUBLISHED,
    "unicep_published": UNICEP_PUBLISHED,
}

STRICT, GREEDY, COMMIT, EASY, CONSERVATIVE, PACKING, EASY_FCFS, EASY_SJF, COMMIT_BACKFILL = range(9)
FIRST_WITH_OTHERS = EASY_FCFS  # from here on jobs are backfilled in another order than that of the queue

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

JOB_POLICIES = {
    "random": RANDOM_JOB,
    "first": FIRST,
    "shortest": SHORTEST,
    "smallest": SMALLEST,
    "low_mem": LOW_MEM,
    "low_mem_bw": LOW_MEM_BW,
}
CORE_POLICIES = {
    "random": RANDOM_CORE,
    "high_gflops": HIGH_GFLOPS,
    "high_cores": HIGH_CORES,
    "high_mem": HIGH_MEM,
    "high_mem_bw": HIGH_MEM_BW,
    "low_power": LOW_POWER,
}
CORE_POLICY_NAMES = tuple(CORE_POLICIES)
PACKINGS = {"best_fit": BEST_FIT, "tetris": TETRIS}  # those that score nodes, see ``engine.packing``
PLACEMENTS = CORE_POLICIES | {"first_fit": FIRST_FIT} | PACKINGS  # what baselines know besides
PLACEMENT_NAMES = tuple(PLACEMENTS)

SHORTHANDS = {"bfbp": "fcfs+packing-best_fit", "tetris": "fcfs+packing-tetris"}

MEANINGS = {
    "fcfs": "first come, first served",
    "lcfs": "last come, first served",
    "sjf": "shortest requested time first",
    "smallest": "fewest cores first",
    "ljf": "longest requested time first",
    "saf": "smallest area first: requested time times cores",
    "laf": "largest area first",
    "f1": "F1 of Carastan-Santos and de Camargo, 2017",
    "f2": "F2 of the same",
    "f3": "F3 of the same",
    "f4": "F4 of the same",
    "oracle": "shortest actual run time first, whatever the mode looks at",
    "wfp3": "largest (waiting time over requested time)^3 times cores first",
    "unicep": "largest waiting time over (log2 of cores times requested time) first",
    "xfactor": "largest expected slowdown first",
    "multifactor": "largest sum of age, size and fair share of the user first",
    "wfp3_published": "WFP3 with the waiting time that RLScheduler's code takes, -1 s - submit time",
    "unicep_published": "UNICEP with that waiting time",
    "strict": "head of the queue only; the queue is sorted anew at every event",
    "greedy": "every job that fits, in order",
    "commit": "the picked job blocks until it has started, whatever arrives meanwhile (RLScheduler)",
    "commitbackfill": "the same, with RLScheduler's backfilling around the picked job",
    "easy": "strict, then jobs that do not delay the head's reservation, in the same order",
    "easyfcfs": "the same, those in the order of submission",
    "easysjf": "the same, those in the order of requested time",
    "conservative": "a reservation for every job, planned anew at every event",
    "packing": "the job and the node that go together best, until no job fits; ties by order (best_fit, tetris)",
    "first_fit": "cores of the lowest processors with room",
    "best_fit": "the node on which the fewest cores, memory and GPUs stay free",
    "tetris": "the node whose free cores, memory and GPUs are most like what the job asks for",
}


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
