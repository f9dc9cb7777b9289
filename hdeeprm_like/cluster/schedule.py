"""All figures of a finished schedule by name: the one list behind every table that shows them.

Each is a function of `metrics`, where its source stands.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.types import Floats, Ints

PER_HOUR = 3600.0


class Figure(NamedTuple):
    """What a figure is called by people, and its unit.

    Attributes:
        unit: ``s``, ``J``, ``J s``, ``core s``, ``1`` for ratios, ``%`` for shares of 1, ``jobs``, ``1/h``.
    """

    name: str
    unit: str


STATISTICS = {"": "Mean {}", "_median": "Median {}", "_p95": "P95 {}", "_max": "Max {}"}
QUANTITIES = {
    "bounded_slowdown": Figure("bounded slowdown", "1"),
    "wait": Figure("waiting", "s"),
    "turnaround": Figure("turnaround", "s"),
    "slowdown": Figure("slowdown", "1"),
    "per_processor_slowdown": Figure("per-processor slowdown", "1"),
}
FIGURES = {
    **{
        f"{quantity}{statistic}": Figure(name.format(figure.name), figure.unit)
        for quantity, figure in QUANTITIES.items()
        for statistic, name in STATISTICS.items()
    },
    "utilization": Figure("Utilization", "%"),
    "steady_utilization": Figure("Steady utilization", "%"),
    "makespan": Figure("Makespan", "s"),
    "throughput": Figure("Throughput", "1/h"),
    "energy": Figure("Energy", "J"),
    "energy_delay_product": Figure("Energy-delay product", "J s"),
    "queue_length": Figure("Mean queue length", "jobs"),
    "queue_length_max": Figure("Max queue length", "jobs"),
    "job_load": Figure("Mean job load", "core s"),
    "job_load_max": Figure("Max job load", "core s"),
    "fairness": Figure("Fairness to users (Jain)", "1"),
    "worst_user": Figure("Worst user over mean", "1"),
    "starving": Figure("Jobs that starved", "jobs"),
    "jobs_run": Figure("Jobs that ran", "jobs"),
}


@dataclass(frozen=True, eq=False)
class Schedule:
    """When the jobs of a workload ran; those that never did are left out.

    Attributes:
        submit, start, finish: (J,) s. size: (J,) cores that each held.
        cores: of the machine.
        run: (J,) s where they are not just finish less start, see `metrics.slowdown`.
        requested_time: (J,) s. user: (J,) any numbers. None where nobody knows.
        energy: J from the first submission to the last finish, NaN where nobody measured.
    """

    submit: Floats
    start: Floats
    finish: Floats
    size: Ints
    cores: int
    run: Floats | None = None
    requested_time: Floats | None = None
    user: Ints | None = None
    energy: float = float("nan")

    def __len__(self) -> int:
        return len(self.submit)


def figures(schedule: Schedule) -> dict[str, float]:
    """Return the figures of a schedule in the order of `FIGURES`; NaN for those that cannot be told.

    Fairness is that of the users' mean bounded slowdowns. Length and load of the queue are averages over the time from
    the first submission to the last finish, as the utilization is.

    Raises:
        WorkloadError: the times make no sense.
    """
    submit, start, finish, size = schedule.submit, schedule.start, schedule.finish, schedule.size
    run = finish - start if schedule.run is None else schedule.run
    wait = metrics.wait(submit, start)
    bounded = metrics.bounded_slowdown(wait, run)
    found = {
        **_spread("bounded_slowdown", bounded),
        **_spread("wait", wait),
        **_spread("turnaround", metrics.turnaround(submit, finish)),
        **_spread("slowdown", metrics.slowdown(wait, run)),
        **_spread("per_processor_slowdown", metrics.per_processor_slowdown(wait, run, size)),
        "utilization": metrics.utilization(submit, start, finish, size, schedule.cores),
        "steady_utilization": metrics.steady_utilization(submit, start, finish, size, schedule.cores),
        "makespan": metrics.makespan(finish),
        "throughput": PER_HOUR * metrics.throughput(submit, finish),
        "energy": schedule.energy,
        **_over_time("queue_length", *metrics.queue_length(submit, start), finish),
        "starving": float(metrics.starving(wait)),
        "jobs_run": float(len(schedule)),
    }
    found["energy_delay_product"] = (
        float("nan") if np.isnan(schedule.energy) else metrics.energy_delay_product(schedule.energy, found["makespan"])
    )
    if schedule.requested_time is not None:
        found |= _over_time("job_load", *metrics.job_load(submit, start, size, schedule.requested_time), finish)
    if schedule.user is not None:
        users = metrics.by_user(bounded, schedule.user)
        found |= {"fairness": metrics.jain(users), "worst_user": metrics.largest_over_mean(users)}
    return {name: found.get(name, float("nan")) for name in FIGURES}


def _spread(quantity: str, values: Floats) -> dict[str, float]:
    names = (f"{quantity}{statistic}" for statistic in STATISTICS)
    return dict(zip(names, metrics.distribution(values), strict=True))


def _over_time(quantity: str, times: Floats, values: Floats | Ints, finish: Floats) -> dict[str, float]:
    end, largest = metrics.largest(finish), metrics.largest(np.asarray(values, np.float64))
    return {quantity: metrics.time_average(times, values, end), f"{quantity}_max": largest}
