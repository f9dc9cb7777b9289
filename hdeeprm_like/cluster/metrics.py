"""How good a schedule is: pure functions on the columns of its jobs.

Every time is in seconds, every job is a row. Jobs that never ran (rejected ones) do not belong in the columns: unlike
Batsim's ``out_schedule.csv``, whose means divide by the number of jobs including the rejected ones, a mean here is over
the jobs that it sums.
"""

import numpy as np

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Bools, Floats, Ints

BOUNDED_SLOWDOWN_THRESHOLD = 10.0  # s, the customary length under which a job counts as short


def wait(submit: Floats, start: Floats) -> Floats:
    """Time in the queue, from submission to start.

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
    """Time from submission to finish: the completion time of the thesis, section 5.3.

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
    """Turnaround over run time (thesis 5.2.3); Batsim's column ``stretch``.

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
    """Turnaround over run time, with short jobs counted as *threshold* seconds long.

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


def makespan(finish: Floats) -> float:
    """Time of the last finish in s, counted from 0 as Batsim does; NaN without jobs.

    Raises:
        WorkloadError: a job finishes before time 0.
    """
    _require(finish >= 0.0, "finishes before time 0", finish)
    return largest(finish)


def utilization(submit: Floats, start: Floats, finish: Floats, size: Ints, cores: int) -> float:
    """Share of the machine's core seconds that ran jobs between the first submission and the last finish.

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


def energy_delay_product(energy: float, makespan: float) -> float:
    """Energy times makespan in J s: low only for a schedule that is both frugal and fast.

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


def mean(values: Floats) -> float:
    """Mean over the jobs, NaN without jobs."""
    return float(values.mean()) if len(values) else float("nan")


def largest(values: Floats) -> float:
    """Maximum over the jobs, NaN without jobs."""
    return float(values.max()) if len(values) else float("nan")


def load(begin: Floats, end: Floats, amount: Ints) -> tuple[Floats, Ints]:
    """What is held over time when each row holds *amount* from *begin* up to *end*: busy cores, queued cores.

    What begins and ends at one time cancels out, so cores handed from one job to the next never count twice.

    Args:
        begin, end: (J,) s.
        amount: (J,) cores.

    Returns:
        (T,) s, increasing times; (T,) amount held from each of them on, 0 at the last one.
    """
    times, at = np.unique(np.concatenate([begin, end]), return_inverse=True)
    change = np.bincount(at, weights=np.concatenate([amount, -amount]), minlength=len(times))
    return times, np.rint(np.cumsum(change)).astype(np.int64)


def _require(good: Bools, fault: str, *columns: Floats) -> None:
    """Raise a WorkloadError that names the first job for which *good* does not hold (NaN never does)."""
    if not good.all():
        job = int(np.argmin(good))
        values = ", ".join(f"{column[job]:g} s" for column in columns)
        raise WorkloadError(f"job in row {job} {fault}: {values}")
