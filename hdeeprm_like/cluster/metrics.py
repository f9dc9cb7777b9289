"""Metrics of a schedule: pure functions on the columns of its jobs.

Every time is in seconds, every job is a row. Jobs that never ran (rejected ones) do not belong in the columns: unlike
Batsim's ``out_schedule.csv``, whose means divide by the number of jobs including the rejected ones, a mean here is over
the jobs that it sums.
"""

from typing import NamedTuple

import numpy as np

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Bools, Floats, Ints

BOUNDED_SLOWDOWN_THRESHOLD = 10.0  # s, the customary limit below which a job counts as short
PATIENCE = 2 * 86400.0  # s, default: a job that waits longer counts as starving
STEADY = 0.1  # share of the jobs at each end of a workload that fill and drain the machine


class Distribution(NamedTuple):
    """Statistics of one value per job: a mean hides jobs that starve; the 95th percentile and maximum show them."""

    mean: float
    median: float
    p95: float
    largest: float


def wait(submit: Floats, start: Floats) -> Floats:
    """Return the time in the queue, from submission to start.

    Args:
        submit, start: (J,) s.

    Returns:
        (J,) s, at least 0.

    Raises:
        WorkloadError: a job starts before it is submitted.
    """
    _require(start >= submit, "starts before it is submitted", start, submit)
    return start - submit


def turnaround(submit: Floats, finish: Floats) -> Floats:
    """Return the time from submission to finish: the completion time of the thesis, section 5.3.

    Args:
        submit, finish: (J,) s.

    Returns:
        (J,) s, at least 0.

    Raises:
        WorkloadError: a job finishes before it is submitted.
    """
    _require(finish >= submit, "finishes before it is submitted", finish, submit)
    return finish - submit


def slowdown(wait: Floats, run: Floats) -> Floats:
    """Return turnaround over run time (thesis 5.2.3); Batsim's column ``stretch``.

    Args:
        wait, run: (J,) s. Batsim gives a job without work a run time of 1e-5 s, so that the ratio exists.

    Returns:
        (J,) at least 1.

    Raises:
        WorkloadError: a waiting time is negative, or a run time is not positive.
    """
    _require(wait >= 0.0, "waits less than no time", wait)
    _require(run > 0.0, "has no run time, so no slowdown; use the bounded slowdown", run)
    return (wait + run) / run


def bounded_slowdown(wait: Floats, run: Floats, threshold: float = BOUNDED_SLOWDOWN_THRESHOLD) -> Floats:
    """Return turnaround over run time, with short jobs counted as *threshold* seconds long.

    Args:
        wait, run: (J,) s.

    Returns:
        (J,) at least 1.

    Raises:
        WorkloadError: a waiting or run time is negative, or the threshold is not positive.

    Source: Feitelson et al., "Theory and Practice in Parallel Job Scheduling", 1997.
    """
    if not threshold > 0.0:
        raise WorkloadError(f"bounded slowdown: the threshold is {threshold} s; it must be positive")
    _require(wait >= 0.0, "waits less than no time", wait)
    _require(run >= 0.0, "runs less than no time", run)
    return np.maximum((wait + run) / np.maximum(run, threshold), 1.0)


def per_processor_slowdown(
    wait: Floats, run: Floats, size: Ints, threshold: float = BOUNDED_SLOWDOWN_THRESHOLD
) -> Floats:
    """Return the bounded slowdown divided by the job's cores, so that a wide job may wait longer than a narrow one.

    Args:
        wait, run: (J,) s.
        size: (J,) cores.

    Returns:
        (J,) at least 1.

    Raises:
        WorkloadError: a waiting or run time is negative, or the threshold is not positive.

    Source: Zotkin and Keleher, "Job-length estimation and performance in backfilling schedulers", 1999.
    """
    bounded_slowdown(wait, run, threshold)  # raises for invalid values
    return np.maximum((wait + run) / (size * np.maximum(run, threshold)), 1.0)


def makespan(finish: Floats) -> float:
    """Return the time of the last finish in s, counted from 0 as Batsim does; NaN without jobs.

    Raises:
        WorkloadError: a job finishes before time 0.
    """
    _require(finish >= 0.0, "finishes before time 0", finish)
    return largest(finish)


def utilization(submit: Floats, start: Floats, finish: Floats, size: Ints, cores: int) -> float:
    """Return the share of the machine's core seconds that ran jobs between the first submission and the last finish.

    Args:
        submit, start, finish: (J,) s.
        size: (J,) cores that each job held.
        cores: of the machine.

    Returns:
        0 to 1; NaN without jobs or where no time passes.

    Raises:
        WorkloadError: a job ends before it starts, or more cores were busy than the machine has.

    Source: Feitelson, "Workload Modeling for Computer Systems Performance Evaluation", 2015 (busy over available).
    """
    _require(start >= submit, "starts before it is submitted", start, submit)
    _require(finish >= start, "finishes before it starts", finish, start)
    if not len(submit):
        return float("nan")
    busiest = int(load(start, finish, size)[1].max())
    if busiest > cores:
        raise WorkloadError(f"utilization: {busiest} cores are busy at once; the machine has {cores}")
    available = float(finish.max() - submit.min()) * cores
    return float(np.sum((finish - start) * size)) / available if available > 0.0 else float("nan")


def recorded_utilization(submit: Floats, start: Floats, finish: Floats, size: Ints, cores: int) -> float:
    """Return the utilization by a log, in which more cores may be busy at once than exist: these count as all.

    Args and returns: as in `utilization`.
    """
    times, busy = load(start, finish, size)
    available = float(finish.max() - submit.min()) * cores if len(submit) else 0.0
    return float(np.sum(np.diff(times) * np.minimum(busy, cores)[:-1])) / available if available > 0.0 else float("nan")


def area_weighted_response_time(submit: Floats, finish: Floats, size: Ints, run: Floats) -> float:
    """Return the mean turnaround weighted by the core seconds of each job, so that splitting a job gains nothing.

    Args:
        submit, finish: (J,) s. size: (J,) cores. run: (J,) s.

    Returns:
        s; NaN without jobs or if none ran for any time.

    Source: Schwiegelshohn and Yahyapour, "Fairness in parallel job scheduling", 2000.
    """
    area = size * run
    total = float(np.sum(area))
    return float(np.sum(area * turnaround(submit, finish))) / total if total > 0.0 else float("nan")


def steady_utilization(submit: Floats, start: Floats, finish: Floats, size: Ints, cores: int) -> float:
    """Return the utilization without the times when the machine fills and drains.

    It covers the time between the submissions of the jobs at a tenth and at nine tenths of the workload.

    Args:
        submit, start, finish: (J,) s. size: (J,) cores. cores: of the machine.

    Returns:
        0 to 1; NaN without jobs or where no time passes.
    """
    if not len(submit):
        return float("nan")
    begin, end = np.quantile(submit, [STEADY, 1.0 - STEADY])
    inside = np.maximum(np.minimum(finish, end) - np.maximum(start, begin), 0.0)
    available = float(end - begin) * cores
    return float(np.sum(inside * size)) / available if available > 0.0 else float("nan")


def utilization_to_last_start(submit: Floats, start: Floats, run: Floats, size: Ints, cores: int) -> float:
    """Return the core seconds of all jobs over those of the machine until the last job starts.

    Work after that date counts in the numerator only, so it is larger than `utilization`, and may exceed 1.

    Args:
        submit, start, run: (J,) s. size: (J,) cores. cores: of the machine.

    Returns:
        At least 0; NaN without jobs or if all start at once.

    Source: Zhang et al., "RLScheduler: An Automated HPC Batch Job Scheduler Using Reinforcement Learning", 2020, as in
    its code.
    """
    if not len(submit):
        return float("nan")
    available = float(start.max() - submit.min()) * cores
    return float(np.sum(run * size)) / available if available > 0.0 else float("nan")


def throughput(submit: Floats, finish: Floats) -> float:
    """Return jobs finished per s from the first submission to the last finish; NaN without jobs or time between."""
    if not len(submit):
        return float("nan")
    seconds = float(finish.max() - submit.min())
    return len(submit) / seconds if seconds > 0.0 else float("nan")


def energy_delay_product(energy: float, makespan: float) -> float:
    """Return energy times makespan in J s: low only for a schedule that is both frugal and fast.

    Args:
        energy: J.
        makespan: s.

    Raises:
        WorkloadError: one of them is negative.

    Source: Horowitz et al., "Low-Power Digital Design", 1994.
    """
    if energy < 0.0 or makespan < 0.0:
        raise WorkloadError(f"energy-delay product: {energy} J and {makespan} s; neither can be negative")
    return energy * makespan


def distribution(values: Floats) -> Distribution:
    """Return mean, median, 95th percentile and maximum over the jobs; NaN without jobs."""
    if not len(values):
        return Distribution(*[float("nan")] * 4)
    median, p95 = np.percentile(values, [50.0, 95.0])
    return Distribution(float(values.mean()), float(median), float(p95), float(values.max()))


def jain(values: Floats) -> float:
    """Return Jain's fairness index: 1 if all values are equal, 1 / n if one of n values is the whole sum; NaN if empty.

    Source: Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource allocation in
    shared computer systems", 1984.
    """
    squares = float(np.sum(np.square(values)))
    return float(np.sum(values)) ** 2 / (len(values) * squares) if squares > 0.0 else float("nan")


def by_user(values: Floats, users: Ints) -> Floats:
    """Return the mean over the jobs of each user.

    Args:
        values: (J,). users: (J,) any numbers.

    Returns:
        (U,) in the order of the users' numbers.
    """
    _, user, jobs = np.unique(users, return_inverse=True, return_counts=True)
    return np.bincount(user, weights=values) / jobs if len(values) else np.zeros(0)


def largest_over_mean(values: Floats) -> float:
    """Return the largest value over the mean: 1 if all are equal; NaN if empty or if the mean is 0."""
    return largest(values) / mean(values) if len(values) and mean(values) != 0.0 else float("nan")


def starving(wait: Floats, patience: float = PATIENCE) -> int:
    """Return how many jobs waited longer than *patience* s."""
    return int(np.sum(wait > patience))


def queue_length(submit: Floats, start: Floats) -> tuple[Floats, Ints]:
    """Return the number of waiting jobs over time, L(t) of Deep Back-Filling, section II.A; in the form of `load`."""
    return load(submit, start, np.ones(len(submit), np.int64))


def job_load(submit: Floats, start: Floats, size: Ints, requested_time: Floats) -> tuple[Floats, Floats]:
    """Return the core seconds requested by the waiting jobs over time: cores times requested time of each.

    Returns:
        (T,) s, increasing times; (T,) core s from each of them on.

    Source: Deep Back-Filling, section II.A, whose average over time is D(t): waiting time times load, over time.
    """
    return _sum_over_time(submit, start, size * requested_time)


def time_average(times: Floats, values: Floats | Ints, end: float) -> float:
    """Return the mean over time of a result of `load`, `queue_length` or `job_load`; NaN if no time passes.

    Args:
        times: (T,) s, increasing. values: (T,) from each of them on. end: s, of the last value.
    """
    seconds = end - float(times[0]) if len(times) else 0.0
    return float(np.sum(np.diff(times, append=end) * values)) / seconds if seconds > 0.0 else float("nan")


def mean(values: Floats) -> float:
    """Return the mean over the jobs, NaN without jobs."""
    return float(values.mean()) if len(values) else float("nan")


def largest(values: Floats) -> float:
    """Return the maximum over the jobs, NaN without jobs."""
    return float(values.max()) if len(values) else float("nan")


def load(begin: Floats, end: Floats, amount: Ints) -> tuple[Floats, Ints]:
    """Return a sum over the jobs as a function of time: busy cores from start to finish, queued cores while waiting.

    A job counts with its *amount* from *begin* until just before *end*. If one job ends and another begins at the
    same time, the sum changes once, by the difference: cores that pass from one job to the next never count twice.

    Args:
        begin, end: (J,) s.
        amount: (J,) cores.

    Returns:
        (T,) s, increasing times; (T,) the sum from each of them on, 0 at the last one.
    """
    times, total = _sum_over_time(begin, end, amount)
    return times, np.rint(total).astype(np.int64)


def outside_window(submit: Floats, start: Floats, slots: int) -> tuple[float, float]:
    """Return the mean over time of the number of waiting jobs outside a window of the queue, and the time share of any.

    Args:
        submit, start: (J,) s; each job waits between the two. slots: of the window.

    Returns:
        Jobs, and a share of the time from the first submission to the last start; NaN if no time passes.

    Source: 001, figure 6, over time instead of over decisions.
    """
    times, queue = load(submit, start, np.ones(len(submit), np.int64))
    lasts, outside = np.diff(times), np.maximum(queue[:-1] - slots, 0)
    if lasts.sum() <= 0.0:
        return float("nan"), float("nan")
    return float((lasts * outside).sum() / lasts.sum()), float(lasts[outside > 0].sum() / lasts.sum())


def _sum_over_time(begin: Floats, end: Floats, amount: Floats | Ints) -> tuple[Floats, Floats]:
    """Return when a sum changes, and the sum from each date on; `np.unique` takes twice the time, and more memory."""
    moments = np.concatenate([begin, end])
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    new = np.ones(len(moments), np.bool_)
    np.not_equal(moments[1:], moments[:-1], out=new[1:])
    times = moments[new]
    del moments  # for a million jobs each column takes much memory
    at: Ints = np.cumsum(new)
    np.subtract(at, 1, out=at)
    change = np.bincount(at, weights=np.concatenate([amount, -amount])[order], minlength=len(times))
    return times, np.cumsum(change)


def _require(good: Bools, fault: str, *columns: Floats) -> None:
    """Raise a WorkloadError that names the first job for which *good* is false (NaN always is)."""
    if not good.all():
        job = int(np.argmin(good))
        values = ", ".join(f"{column[job]:g} s" for column in columns)
        raise WorkloadError(f"job in row {job} {fault}: {values}")
