"""Fits the overheads of a Slurm to the first part of a log, and grades the model on the rest.

Four numbers are fitted: the *end latency*, for which the nodes of a job are not clean yet, and the phases at which
backfill, the main scheduler's full pass and, where fair share counts, the computation of priorities come first. A
Slurm logs as the start of a job the date at which it decides, so the latency of a launch is part of the run times of a
log already.

A queue is as chaotic as the weather: a look that comes a tenth of a second later changes what follows. So an end
latency is judged by several phases at once, and a phase only beside the best latency.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.modes import SLURM
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.studies.whatif.inputs import Log
from hdeeprm_like.studies.whatif.outcome import USUAL, Outcome, Overheads, simulate, usual_latency
from hdeeprm_like.types import Bools, Floats
from hdeeprm_like.values import POSITIVE

FITTED = 0.5  # share of the jobs, the first ones, that overheads are fitted to
FEWEST = 20  # jobs that have to be left on either side
TRIAL_JOBS = 4000  # jobs that are simulated in each trial, the first ones
LATENCIES = (
    *(0.0, 0.02, 0.05, 0.1, 0.2, 0.5),
    *(1.05, 2.05, 3.05, 4.05, 5.05, 6.05, 8.05, 10.05, 15.05, 20.05, 30.05, 60.05),
)  # s
NEARER = (-0.5, -0.25, -0.03, 0.03, 0.07, 0.25, 0.5)  # s beside the best of these
PHASES, MORE_PHASES = 5, 16  # of backfill, that are tried for each latency, and for the best one
FULL_PHASES = 6  # of the main scheduler's full pass
CALC_PHASES = 15  # of the computation of priorities
USUAL_PERIOD = 300.0  # s, PriorityCalcPeriod
FRACTION = 0.43  # s, of the second, where backfill looks; the main scheduler looks at whole ones
LEAST_GAIN = 0.02  # share of the error by which a longer latency must be better
SAME = 0.005  # shares of the starts, or of the mean wait, that differ by less are the same


@dataclass(frozen=True)
class Part:
    """How a part of a log is retold.

    Attributes:
        jobs: compared. wait, median: s, pairs of what is recorded and what is simulated.
        order: Kendall's tau of the starts. within: share of the starts within *interval* s of the recorded ones.
    """

    jobs: int
    wait: tuple[float, float]
    median: tuple[float, float]
    order: float
    within: float
    interval: float

    def text(self) -> str:
        """Return it in one line."""
        return (
            f"{self.jobs:,} jobs, mean wait {_error(self.wait)}, median {_error(self.median)}, "
            f"order of the starts {self.order:.2f}, {100 * self.within:.0f} % of the starts within {self.interval:g} s"
        )


@dataclass(frozen=True)
class Calibration:
    """What was fitted, and how well the parts of the log are retold with it.

    Attributes:
        fitted: the first part of the log. rest: the other one, which nothing was fitted to. before: the same with what
            is usual. held: (J,) the jobs of the rest.
    """

    overheads: Overheads
    fitted: Part
    rest: Part
    before: Part
    held: Bools

    def lines(self) -> list[str]:
        """Return it in lines of text."""
        found = self.overheads
        phase = "as usual" if found.backfill_phase is None else f"{found.backfill_phase:.1f} s after the first job"
        return [
            f"calibrated: nodes take other jobs {found.end_latency:.2f} s after one ended; backfill looks {phase}",
            f"the first part, which this was fitted to: {self.fitted.text()}",
            f"the rest, held out: {self.rest.text()}",
            f"the rest before the calibration: {self.before.text()}",
            *([] if self.gained else ["the calibration gains nothing: what is usual retells the rest as well"]),
        ]

    @property
    def gained(self) -> bool:
        """Whether the rest is retold better than before: more starts are right, or the mean wait is."""
        errors = [abs(part.wait[1] - part.wait[0]) / max(part.wait[0], 1e-9) for part in (self.before, self.rest)]
        return self.rest.within > self.before.within + SAME or errors[1] < errors[0] - SAME

    def as_json(self) -> dict[str, Any]:
        """Return it for programs."""
        parts = {name: asdict(getattr(self, name)) for name in ("fitted", "rest", "before")}
        return {"overheads": asdict(self.overheads), **parts, "gained": self.gained}


def calibrate(machine: Platform, log: Log, now: Baseline, progress: bool = False) -> Calibration:
    """Fit the overheads of the machine of now to the first part of a log.

    Args:
        progress: whether it is shown how many simulations are done.

    Raises:
        OptionsError: the policy of now is no Slurm, or there are too few jobs.
    """
    if now.mode.name != SLURM or machine.partitions is None:
        raise OptionsError(
            "whatif: --calibrate: needs a Slurm: --now multifactor+slurm and a --machine with partitions"
        )
    known = np.isfinite(log.wait) & (log.wait >= 0.0)
    count = int(known.sum() * FITTED)
    if count < FEWEST:
        raise OptionsError(
            f"whatif: --calibrate: {int(known.sum()):,} jobs have a recorded wait; {2 * FEWEST} are needed"
        )
    first = known & (np.cumsum(known) <= count)
    trials = _Trials(machine, log, now, first)
    with progress_bar(trials.most, progress, " simulations", "calibrating", in_log=True) as trials.show:
        found = trials.best()
    after, usual = (simulate(machine, log, now, overheads=one) for one in (found, USUAL))
    interval, held = parameter(machine, "bf_interval", 30.0), known & ~first
    fitted, rest = (part_of(log, after, rows, interval) for rows in (first, held))
    return Calibration(found, fitted, rest, part_of(log, usual, held, interval), held)


def parameter(machine: Platform, name: str, usual: float) -> float:
    """Return one of SchedulerParameters, or what is usual, in s."""
    assert machine.partitions is not None
    told = (machine.partitions.settings.get("SchedulerParameters") or {}).get(name, usual)
    return float(told) if POSITIVE.holds(told) else usual


class _Trials:
    """Simulates the beginning of a log with some overheads after the others.

    Attributes:
        log: as much as is simulated. first: (J,) jobs that count.
        most: simulations in all. done: so far. show: called with that number after each.
    """

    show: Callable[..., None]

    def __init__(self, machine: Platform, log: Log, now: Baseline, first: Bools) -> None:
        few = np.arange(min(len(log.jobs), TRIAL_JOBS))
        self.machine, self.log, self.now = machine, log.take(few), now
        self.first = first[few]
        self.interval = parameter(machine, "bf_interval", 30.0)
        assert machine.partitions is not None
        self.usual = usual_latency(machine.partitions.settings)
        calc = CALC_PHASES * bool(machine.partitions.settings.get("PriorityWeightFairshare"))
        self.most = PHASES * (calc + len(LATENCIES) + len(NEARER)) + MORE_PHASES + FULL_PHASES + 1
        self.done = 0

    def best(self) -> Overheads:
        """Return the overheads with the least error."""
        phases = [self._phase(n, PHASES) for n in range(PHASES)]
        calc = self._calc(phases)
        tried: dict[float, float] = {}

        def judge(latency: float) -> float:
            if latency not in tried:
                tried[latency] = self._error([Overheads(latency, 0.0, one, first_calc=calc) for one in phases])
            return tried[latency]

        chosen = min(LATENCIES, key=lambda one: judge(one) * (1.0 + LEAST_GAIN * (one != self.usual)))
        for step in NEARER if chosen >= 0.5 else ():
            judge(chosen + step)
        latency = min(tried, key=lambda one: (tried[one], one))
        if latency not in (chosen, *(chosen + step for step in NEARER)):
            latency = chosen
        more = [Overheads(latency, 0.0, self._phase(n, MORE_PHASES), None, calc) for n in range(MORE_PHASES)]
        best = min(more, key=lambda one: self._apart([one])[0])
        full = parameter(self.machine, "sched_interval", 60.0)
        others = [replace(best, first_full=full * n / FULL_PHASES + FRACTION) for n in range(FULL_PHASES)]
        return min((best, *others), key=lambda one: self._apart([one])[0])

    def _calc(self, phases: Sequence[float]) -> float | None:
        """Return when priorities are computed first; None where fair share does not count: all jobs age alike."""
        assert self.machine.partitions is not None
        settings = self.machine.partitions.settings
        if not settings.get("PriorityWeightFairshare"):
            return None
        told = settings.get("PriorityCalcPeriod", USUAL_PERIOD)
        period = float(told) if isinstance(told, int | float) and told > 0 else USUAL_PERIOD
        some = [period * (n + 0.5) / CALC_PHASES for n in range(CALC_PHASES)]
        return min(some, key=lambda one: self._error([Overheads(None, 0.0, phase, first_calc=one) for phase in phases]))

    def _phase(self, n: int, of: int) -> float:
        return float(np.floor(self.interval * n / of)) + (FRACTION if n % 2 == 0 else 1.0 - FRACTION)

    def _error(self, some: Sequence[Overheads]) -> float:
        """Return how far starts are apart in the mean of some overheads, and how far the mean wait is."""
        apart, waits = self._apart(some)
        return apart + abs(waits - float(self.log.wait[self.first].mean()))

    def _apart(self, some: Sequence[Overheads]) -> tuple[float, float]:
        """Return the mean distance of starts from the recorded ones, in s, and the mean wait."""
        apart, waits = [], []
        for one in some:
            wait = simulate(self.machine, self.log, self.now, overheads=one).wait[self.first]
            self.done += 1
            self.show(self.done)
            ran = np.isfinite(wait)
            apart.append(float(np.abs(wait - self.log.wait[self.first])[ran].mean()))
            waits.append(float(wait[ran].mean()))
        return float(np.mean(apart)), float(np.mean(waits))


def part_of(log: Log, outcome: Outcome, rows: Bools, interval: float) -> Part:
    """Return how some jobs of a log are retold."""
    rows = rows & np.isfinite(outcome.wait)
    real, model, submit = log.wait[rows], outcome.wait[rows], log.jobs.submit[rows]
    return Part(
        jobs=int(rows.sum()),
        wait=(float(real.mean()), float(model.mean())),
        median=(float(np.median(real)), float(np.median(model))),
        order=tau(submit + real, submit + model),
        within=float((np.abs(real - model) <= interval).mean()),
        interval=interval,
    )


def tau(one: Floats, other: Floats) -> float:
    """Return Kendall's tau-b of two columns, the first 3,000 of each; 1 where one of them is constant."""
    from scipy import stats  # takes 0.6 s

    if len(one) < 2:
        return 1.0
    found = float(stats.kendalltau(one[:3000], other[:3000]).statistic)
    return found if found == found else 1.0


def _error(pair: tuple[float, float]) -> str:
    real, model = pair
    return f"{100 * (model / real - 1):+.0f} %" if real > 0 else f"{model:.0f} s in place of {real:.0f} s"
