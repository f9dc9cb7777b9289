"""How well a simulated machine retells what a log records: the first thing to know before any other policy is tried.

The grade is the worst of three: by the mean wait, by the utilization, and by the order of the waits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.outcome import Outcome
from hdeeprm_like.types import Floats

GRADES = "ABCD"
WAIT_ERRORS = (0.10, 0.25, 0.50)  # of the mean wait, up to which the grade is A, B, C
USE_ERRORS = (0.02, 0.05, 0.10)  # of the utilization
ORDERS = (0.8, 0.6, 0.4)  # rank correlation of the waits, down to which the grade is A, B, C
SHORT = 60.0  # s; errors of the mean wait up to this count for nothing
MEANING = {
    "A": "the model retells the log well; what it says of other policies can be relied on within the intervals",
    "B": "the model retells the log fairly; differences that are small beside its errors mean nothing",
    "C": "the model retells the log roughly; only large differences mean something",
    "D": "the model does not retell the log; what it says of other policies is about another machine",
}


@dataclass(frozen=True)
class Fidelity:
    """What a log records and what the model makes of it, of the jobs whose wait is told.

    Attributes:
        jobs: that are compared. wait, median, p95, utilization: pairs of what is recorded and what is simulated.
        order: Spearman's rank correlation of the waits. close: share of the jobs that start within five minutes of when
            they did.
    """

    jobs: int
    wait: tuple[float, float]
    median: tuple[float, float]
    p95: tuple[float, float]
    utilization: tuple[float, float]
    order: float
    close: float

    @property
    def marks(self) -> dict[str, str]:
        """The grade of each of the three."""
        real, model = self.wait
        error = abs(model - real)
        relative = 0.0 if error <= SHORT else error / max(real, 1e-9)
        return {
            "mean wait": _grade(relative, WAIT_ERRORS),
            "utilization": _grade(abs(self.utilization[1] - self.utilization[0]), USE_ERRORS),
            "order of the waits": _grade(-self.order, tuple(-limit for limit in ORDERS)),
        }

    @property
    def grade(self) -> str:
        """The worst of the three: A to D."""
        return max(self.marks.values())

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        pairs = ("wait", "median", "p95", "utilization")
        told = {name: dict(zip(("recorded", "simulated"), getattr(self, name), strict=True)) for name in pairs}
        return {"grade": self.grade, "marks": self.marks, "jobs": self.jobs, **told} | {
            "order": self.order,
            "within_5_minutes": self.close,
        }


def _grade(value: float, limits: tuple[float, ...]) -> str:
    return GRADES[sum(not value <= limit for limit in limits)]  # of what is not known the worst


def fidelity_of(log: Log, now: Outcome) -> Fidelity | None:
    """Return how well the simulation of now retells a log; None where the log tells no waits."""
    known = np.isfinite(log.wait) & np.isfinite(now.wait) & (log.wait >= 0.0)
    if known.sum() < 2:
        return None
    real, model = log.wait[known], now.wait[known]
    submit, size, run = now.submit[known], np.minimum(now.size[known], now.cores), (now.finish - now.start)[known]

    def use(wait: Floats) -> float:
        return metrics.recorded_utilization(submit, submit + wait, submit + wait + run, size, now.cores)

    return Fidelity(
        jobs=int(known.sum()),
        wait=(float(real.mean()), float(model.mean())),
        median=(float(np.median(real)), float(np.median(model))),
        p95=(float(np.percentile(real, 95)), float(np.percentile(model, 95))),
        utilization=(use(real), use(model)),
        order=rank_correlation(real, model),
        close=float((np.abs(real - model) <= 300.0).mean()),
    )


def rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's correlation, with the mean rank for those that are alike; 1 where both are constant."""
    ranks = [_ranks(column) for column in (one, other)]
    spread = [float(np.std(column)) for column in ranks]
    if max(spread) == 0.0:
        return 1.0
    if min(spread) == 0.0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Floats) -> Floats:
    _, numbers, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    mean: Floats = ends - (counts + 1) / 2.0
    return mean[numbers]
