"""How well a simulated machine reproduces what a log records: the first thing to know before any other policy is tried.

The grade is the worst of six: by the mean and the median wait, the utilization, the order of the waits, the share of
the jobs that start when they did, and the share of the jobs that the comparison leaves out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.studies.compare.significance import ranks_of
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.outcome import Outcome
from hdeeprm_like.types import Bools, Floats

GRADES = "ABCD"
WAIT_ERRORS = (0.10, 0.25, 0.50)  # of the mean wait, up to which the grade is A, B, C
MEDIAN_ERRORS = (0.15, 0.35, 0.60)  # of the median wait
USE_ERRORS = (0.02, 0.05, 0.10)  # of the utilization
ORDERS = (0.8, 0.6, 0.4)  # rank correlation of the waits, down to which the grade is A, B, C
CLOSE = (0.7, 0.5, 0.25)  # share of the jobs that start within `NEAR` of when they did
LEFT_OUT = (0.02, 0.05, 0.15)  # share of the jobs that are not compared
NEAR = 300.0  # s
NEARLY_ALL = (
    0.95  # share of the jobs that start within `SHORT` of when they did, from which their order counts as right
)
SHORT = 60.0  # s; errors of the mean and the median wait up to this count for nothing
MEANING = {
    "A": "the model reproduces the log well; its answers about other policies hold within their intervals",
    "B": "the model reproduces the log fairly; differences smaller than its own errors mean nothing",
    "C": "the model reproduces the log roughly; only large differences mean something",
    "D": "the model does not reproduce the log; its answers are about another machine",
}


@dataclass(frozen=True)
class Fidelity:
    """What a log records and what the model makes of it, of the jobs whose wait is recorded.

    Attributes:
        jobs: compared. left_out: jobs of the log without a recorded wait, or that the model cannot run.
        wait, median, p95 (s), utilization: pairs of what is recorded and what is simulated.
        order: Spearman's rank correlation of the waits. close: share of the jobs that start within five minutes of when
            they did; same: within one minute.
    """

    jobs: int
    left_out: int
    wait: tuple[float, float]
    median: tuple[float, float]
    p95: tuple[float, float]
    utilization: tuple[float, float]
    order: float
    close: float
    same: float

    @property
    def marks(self) -> dict[str, str]:
        """The grade of each figure."""
        return {
            "mean wait": _grade(_relative(*self.wait), WAIT_ERRORS),
            "median wait": _grade(_relative(*self.median), MEDIAN_ERRORS),
            "utilization": _grade(abs(self.utilization[1] - self.utilization[0]), USE_ERRORS),
            "order of the waits": GRADES[0] if self.same >= NEARLY_ALL else _at_least(self.order, ORDERS),
            "starts within 5 minutes": _at_least(self.close, CLOSE),
            "jobs not graded": _grade(self.left_out / (self.jobs + self.left_out), LEFT_OUT),
        }

    @property
    def grade(self) -> str:
        """The worst of them: A to D."""
        return max(self.marks.values())

    @property
    def warning(self) -> str:
        """What has to be read before any number of a model that does not reproduce its log; else empty."""
        if self.grade != GRADES[-1]:
            return ""
        worst = ", ".join(name for name, mark in self.marks.items() if mark == self.grade)
        return f"The model does not reproduce this log: do not rely on these numbers (grade {self.grade} by {worst})."

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        pairs = ("wait", "median", "p95", "utilization")
        told = {name: dict(zip(("recorded", "simulated"), getattr(self, name), strict=True)) for name in pairs}
        return {"grade": self.grade, "reliable": not self.warning, "marks": self.marks, "jobs": self.jobs, **told} | {
            "left_out": self.left_out,
            "order": self.order,
            "within_5_minutes": self.close,
        }


def _grade(value: float, limits: tuple[float, ...]) -> str:
    return GRADES[sum(not value <= limit for limit in limits)]  # of what is not known the worst


def _at_least(value: float, limits: tuple[float, ...]) -> str:
    return _grade(-value, tuple([-limit for limit in limits]))


def _relative(real: float, model: float) -> float:
    """Return the error of a wait as a share of the recorded one."""
    error = abs(model - real)
    return 0.0 if error <= SHORT else error / max(real, 1e-9)


def fidelity_of(log: Log, now: Outcome, rows: Bools | None = None) -> Fidelity | None:
    """Return how well the simulation of now reproduces a log; None where the log records no waits.

    Args:
        rows: (J,) the jobs that count; all where there is none.
    """
    counted = np.ones(len(log.wait), np.bool_) if rows is None else rows
    known = counted & np.isfinite(log.wait) & np.isfinite(now.wait) & (log.wait >= 0.0)
    if known.sum() < 2:
        return None
    real, model = log.wait[known], now.wait[known]
    submit, size, run = now.submit[known], np.minimum(now.size[known], now.cores), now.run[known]

    def use(wait: Floats) -> float:
        return metrics.recorded_utilization(submit, submit + wait, submit + wait + run, size, now.cores)

    return Fidelity(
        jobs=int(known.sum()),
        left_out=int((counted & ~known).sum()),
        wait=(float(real.mean()), float(model.mean())),
        median=(float(np.median(real)), float(np.median(model))),
        p95=(float(np.percentile(real, 95)), float(np.percentile(model, 95))),
        utilization=(use(real), use(model)),
        order=rank_correlation(real, model),
        close=float((np.abs(real - model) <= NEAR).mean()),
        same=float((np.abs(real - model) <= SHORT).mean()),
    )


def rank_correlation(one: Floats, other: Floats) -> float:
    """Return Spearman's correlation, with the mean rank for those that are alike; 1 where both are constant."""
    ranks = [ranks_of(column)[0] for column in (one, other)]
    spread = [float(np.std(column)) for column in ranks]
    if max(spread) == 0.0:
        return 1.0
    if min(spread) == 0.0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
