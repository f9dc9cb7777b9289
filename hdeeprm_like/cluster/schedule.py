"""All metrics of a finished schedule by name: `FIGURES` is the single list behind every table that shows them.

To add a metric, write its function in `metrics`, with its source, and add an entry to `FIGURES`. The commands
``metrics`` and ``compare`` then show it as a row and a column.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.types import Floats, Ints

PER_HOUR = 3600.0
UNKNOWN = float("nan")
NO_WORK = 1.0001e-5  # s; Batsim reports 1e-5 s for a job without work, whose slowdown would say nothing


@dataclass(frozen=True, eq=False)
class Schedule:
    """When the jobs of a workload ran, without jobs that never did.

    Attributes:
        submit: (J,) s.
        start: (J,) s.
        finish: (J,) s.
        size: (J,) cores that each job held.
        cores: of the machine.
        run: (J,) s, if not simply finish - start, see `metrics.slowdown`.
        requested_time: (J,) s; None if unknown.
        user: (J,) any numbers; None if unknown.
        energy: J from the first submission to the last finish, NaN if not measured.
        recorded: whether the times are those of a log, in which more cores may be busy at once than exist.
    """

    submit: Floats
    start: Floats
    finish: Floats
    size: Ints
    cores: int
    run: Floats | None = None
    requested_time: Floats | None = None
    user: Ints | None = None
    energy: float = UNKNOWN
    recorded: bool = False
    _distributions: dict["OfJobs", metrics.Distribution] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.submit)

    @cached_property
    def run_time(self) -> Floats:
        """(J,) s, run time of each job."""
        return self.finish - self.start if self.run is None else self.run

    @cached_property
    def wait(self) -> Floats:
        """(J,) s, wait of each job."""
        return metrics.wait(self.submit, self.start)

    @cached_property
    def bounded_slowdown(self) -> Floats:
        """(J,) see `metrics.bounded_slowdown`."""
        return metrics.bounded_slowdown(self.wait, self.run_time)

    @cached_property
    def queue_length(self) -> tuple[Floats, Floats | Ints]:
        """(T,) s, and (T,) number of waiting jobs from each of these times on."""
        return metrics.queue_length(self.submit, self.start)

    @cached_property
    def job_load(self) -> tuple[Floats, Floats | Ints]:
        """(T,) s, and (T,) core s requested by the waiting jobs from each of these times on; empty if unknown."""
        if self.requested_time is None:
            return np.zeros(0), np.zeros(0)
        return metrics.job_load(self.submit, self.start, self.size, self.requested_time)

    @cached_property
    def user_slowdowns(self) -> Floats:
        """(U,) mean bounded slowdown of each user; empty if users are unknown."""
        return np.zeros(0) if self.user is None else metrics.by_user(self.bounded_slowdown, self.user)

    def distribution(self, quantity: "OfJobs") -> metrics.Distribution:
        """Return mean, median, 95th percentile and maximum over the jobs of a quantity of `QUANTITIES`."""
        if quantity not in self._distributions:
            self._distributions[quantity] = metrics.distribution(quantity(self))
        return self._distributions[quantity]


OfJobs: TypeAlias = Callable[[Schedule], Floats]  # one value per job
OfSchedule: TypeAlias = Callable[[Schedule], float]  # NaN if unknown


@dataclass(frozen=True)
class Figure:
    """A metric of a schedule.

    Attributes:
        title: for display.
        unit: ``s``, ``J``, ``J s``, ``core s``, ``1`` for ratios, ``%`` for shares of 1, ``jobs``, ``1/h``.
        value: computes it from a schedule.
        more_is_better: how to rank by it; None for no ranking.
        batsim: its name in Batsim's ``out_schedule.csv``, empty if Batsim does not print it.
        worst_of: whether the largest value represents several schedules, instead of the mean.
        meaning: a sentence without its full stop.
    """

    title: str
    unit: str
    value: OfSchedule
    more_is_better: bool = False
    batsim: str = ""
    worst_of: bool = False
    meaning: str = ""


@dataclass(frozen=True)
class Quantity:
    """A value per job; its mean, median, 95th percentile and maximum are metrics."""

    title: str
    unit: str
    values: OfJobs
    meaning: str  # meaning of the value
    batsim: str = ""  # suffix after mean_ and max_ in Batsim's names


QUANTITIES = {
    "bounded_slowdown": Quantity(
        "bounded slowdown",
        "1",
        lambda s: s.bounded_slowdown,
        "turnaround over run time, jobs shorter than 10 s counted as 10 s long, at least 1",
    ),
    "wait": Quantity("waiting", "s", lambda s: s.wait, "from submission to start", "waiting_time"),
    "turnaround": Quantity(
        "turnaround",
        "s",
        lambda s: metrics.turnaround(s.submit, s.finish),
        "from submission to finish",
        "turnaround_time",
    ),
    "slowdown": Quantity(
        "slowdown",
        "1",
        lambda s: metrics.slowdown(s.wait[s.run_time > NO_WORK], s.run_time[s.run_time > NO_WORK]),
        "turnaround over run time, of the jobs that ran for some time",
        "slowdown",
    ),
    "per_processor_slowdown": Quantity(
        "per-processor slowdown",
        "1",
        lambda s: metrics.per_processor_slowdown(s.wait, s.run_time, s.size),
        "bounded slowdown over the cores of the job, at least 1, so that a wide job may wait longer",
    ),
}


STATISTICS = (  # over the jobs: title, ending of the name, of `Distribution`, its name in Batsim, and in words
    ("Mean", "", "mean", "mean", "mean"),
    ("Median", "_median", "median", "", "median"),
    ("P95", "_p95", "p95", "", "95th percentile"),
    ("Max", "_max", "largest", "max", "largest"),
)


def figures_of_jobs(name: str, quantity: Quantity) -> dict[str, Figure]:
    """Return the four metrics over the jobs, by name."""

    def value(part: str) -> OfSchedule:
        return lambda schedule: float(getattr(schedule.distribution(quantity.values), part))

    return {
        f"{name}{ending}": Figure(
            f"{title} {quantity.title}",
            quantity.unit,
            value(part),
            batsim=f"{batsim}_{quantity.batsim}" if batsim and quantity.batsim else "",
            worst_of=ending == "_max",
            meaning=f"{quantity.meaning}; {words} of all jobs that ran",
        )
        for title, ending, part, batsim, words in STATISTICS
    }


def over_time(times: Floats, values: Floats | Ints, finish: Floats) -> float:
    """Return the mean over the time from the first submission to the last finish; NaN for no values."""
    return metrics.time_average(times, values, metrics.largest(finish))


def largest(values: Floats | Ints) -> float:
    """Return the largest value; NaN for no values."""
    return metrics.largest(np.asarray(values, np.float64))


def utilization(schedule: Schedule) -> float:
    """Return the utilization as a share of 1."""
    own = metrics.recorded_utilization if schedule.recorded else metrics.utilization
    return own(schedule.submit, schedule.start, schedule.finish, schedule.size, schedule.cores)


def energy_delay_product(schedule: Schedule) -> float:
    """Return the energy-delay product in J s; NaN if the energy was not measured."""
    if np.isnan(schedule.energy):
        return UNKNOWN
    return metrics.energy_delay_product(schedule.energy, metrics.makespan(schedule.finish))


FIGURES: dict[str, Figure] = {
    **{key: own for name, quantity in QUANTITIES.items() for key, own in figures_of_jobs(name, quantity).items()},
    "area_weighted_response_time": Figure(
        "Area-weighted response",
        "s",
        lambda s: metrics.area_weighted_response_time(s.submit, s.finish, s.size, s.run_time),
        meaning="mean turnaround in which each job counts by the core seconds that it held (AWRT)",
    ),
    "utilization": Figure(
        "Utilization",
        "%",
        utilization,
        more_is_better=True,
        meaning="share of the core seconds that ran jobs, from the first submission to the last finish",
    ),
    "steady_utilization": Figure(
        "Steady utilization",
        "%",
        lambda s: metrics.steady_utilization(s.submit, s.start, s.finish, s.size, s.cores),
        more_is_better=True,
        meaning="utilization without the times when the machine fills and drains: between the submissions of the jobs "
        "at a tenth and at nine tenths of the workload",
    ),
    "utilization_to_last_start": Figure(
        "RLScheduler's utilization",
        "%",
        lambda s: metrics.utilization_to_last_start(s.submit, s.start, s.run_time, s.size, s.cores),
        more_is_better=True,
        meaning="core seconds of all jobs over those of the machine until the last job starts, as RLScheduler's code "
        "has it; what runs after that counts as well, so it may exceed 100 %",
    ),
    "makespan": Figure(
        "Makespan",
        "s",
        lambda s: metrics.makespan(s.finish),
        batsim="makespan",
        meaning="from the beginning of the simulation to the last finish",
    ),
    "throughput": Figure(
        "Throughput",
        "1/h",
        lambda s: PER_HOUR * metrics.throughput(s.submit, s.finish),
        more_is_better=True,
        meaning="jobs that ran over the time from the first submission to the last finish",
    ),
    "energy": Figure(
        "Energy",
        "J",
        lambda s: s.energy,
        batsim="consumed_joules",
        meaning="of all cores, busy and idle, from the beginning to the last finish",
    ),
    "energy_delay_product": Figure(
        "Energy-delay product", "J s", energy_delay_product, meaning="energy times makespan"
    ),
    "queue_length": Figure(
        "Mean queue length",
        "jobs",
        lambda s: over_time(*s.queue_length, s.finish),
        meaning="jobs that wait, mean over time",
    ),
    "queue_length_max": Figure(
        "Max queue length",
        "jobs",
        lambda s: largest(s.queue_length[1]),
        worst_of=True,
        meaning="most jobs that wait at once",
    ),
    "job_load": Figure(
        "Mean job load",
        "core s",
        lambda s: over_time(*s.job_load, s.finish),
        meaning="cores times requested time of the jobs that wait, mean over time",
    ),
    "job_load_max": Figure(
        "Max job load",
        "core s",
        lambda s: largest(s.job_load[1]),
        worst_of=True,
        meaning="most cores times requested time that jobs wait with at once",
    ),
    "fairness": Figure(
        "Fairness to users (Jain)",
        "1",
        lambda s: metrics.jain(s.user_slowdowns),
        more_is_better=True,
        meaning="Jain's index of the users' mean bounded slowdowns: 1 where all are equal, 1 / users where one has all",
    ),
    "worst_user": Figure(
        "Worst user over mean",
        "1",
        lambda s: metrics.largest_over_mean(s.user_slowdowns),
        meaning="the largest mean bounded slowdown of a user over the mean of all users: 1 where all are equal",
    ),
    "starving": Figure(
        "Jobs that starved",
        "jobs",
        lambda s: float(metrics.starving(s.wait)),
        meaning=f"jobs that waited longer than {metrics.PATIENCE / PER_HOUR:g} h",
    ),
    "jobs_run": Figure(
        "Jobs that ran",
        "jobs",
        lambda s: float(len(s)),
        more_is_better=True,
        batsim="nb_jobs_finished",
        meaning="jobs that were started; those rejected are left out",
    ),
}
"""All metrics, in the order of tables. Fairness is that of the users' mean bounded slowdowns."""


def figures(schedule: Schedule) -> dict[str, float]:
    """Return the metrics of a schedule in the order of `FIGURES`; NaN for unknown ones.

    Raises:
        WorkloadError: the times are inconsistent.
    """
    return {name: figure.value(schedule) for name, figure in FIGURES.items()}
