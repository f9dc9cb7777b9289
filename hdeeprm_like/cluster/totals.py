"""Metrics of a schedule whose jobs arrive some at a time: only those given by sums, means and extremes."""

import numpy as np

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.schedule import FIGURES, PER_HOUR, QUANTITIES, UNKNOWN, Schedule
from hdeeprm_like.types import Floats, Ints


class Totals:
    """Sums and extremes over jobs; memory grows with the number of users, not of jobs.

    Attributes:
        jobs: number added so far. cores: of the machine.
    """

    def __init__(self, cores: int) -> None:
        self.jobs, self.cores = 0, cores
        self._sums, self._largest = dict.fromkeys(QUANTITIES, 0.0), dict.fromkeys(QUANTITIES, 0.0)
        self._counts = dict.fromkeys(QUANTITIES, 0)
        self._area = self._area_times_turnaround = self._load_times_wait = 0.0
        self._first, self._last_start, self._last, self._starving = np.inf, -np.inf, -np.inf, 0
        self._users: dict[int, tuple[float, int]] = {}

    def add(self, schedule: Schedule) -> None:
        """Add jobs; each must have a requested time.

        Raises:
            WorkloadError: the times are inconsistent.
        """
        if not len(schedule):
            return
        assert schedule.requested_time is not None
        self.jobs += len(schedule)
        for name, quantity in QUANTITIES.items():
            values = quantity.values(schedule)
            self._sums[name] += float(values.sum())
            self._counts[name] += len(values)
            self._largest[name] = float(values.max(initial=self._largest[name]))
        area = schedule.size * schedule.run_time
        self._area += float(area.sum())
        self._area_times_turnaround += float(np.sum(area * metrics.turnaround(schedule.submit, schedule.finish)))
        self._load_times_wait += float(np.sum(schedule.size * schedule.requested_time * schedule.wait))
        self._first = min(self._first, float(schedule.submit.min()))
        self._last_start = max(self._last_start, float(schedule.start.max()))
        self._last = max(self._last, float(schedule.finish.max()))
        self._starving += metrics.starving(schedule.wait)
        if schedule.user is not None:
            self._add_users(schedule.user, schedule.bounded_slowdown)

    def _add_users(self, of_jobs: Ints, slowdowns: Floats) -> None:
        users, user, jobs = np.unique(of_jobs, return_inverse=True, return_counts=True)
        sums = np.bincount(user, weights=slowdowns)
        for number, total, count in zip(users.tolist(), sums.tolist(), jobs.tolist(), strict=True):
            before, counted = self._users.get(number, (0.0, 0))
            self._users[number] = before + total, counted + count

    def figures(self) -> dict[str, float]:
        """Return the metrics in the order of `FIGURES`.

        NaN for those that need all jobs at once: medians, percentiles, energy and its products, the largest queue and
        load, and the steady utilization.
        """
        found = dict.fromkeys(FIGURES, UNKNOWN)
        found["jobs_run"] = float(self.jobs)
        if not self.jobs:
            return found
        for name in (name for name in QUANTITIES if self._counts[name]):
            found[name], found[f"{name}_max"] = self._sums[name] / self._counts[name], self._largest[name]
        seconds = self._last - self._first
        found["makespan"], found["starving"] = self._last, float(self._starving)
        if self._area > 0.0:
            found["area_weighted_response_time"] = self._area_times_turnaround / self._area
        if seconds > 0.0:
            found["utilization"] = self._area / (seconds * self.cores)
            found["throughput"] = PER_HOUR * self.jobs / seconds
            found["queue_length"] = self._sums["wait"] / seconds  # each job adds its wait to the integral over time
            found["job_load"] = self._load_times_wait / seconds
        if self._last_start > self._first:
            found["utilization_to_last_start"] = self._area / ((self._last_start - self._first) * self.cores)
        if any(number >= 0 for number in self._users):
            slowdowns = np.array([total / count for total, count in self._users.values()])
            found["fairness"], found["worst_user"] = metrics.jain(slowdowns), metrics.largest_over_mean(slowdowns)
        return found
