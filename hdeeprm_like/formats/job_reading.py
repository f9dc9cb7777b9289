"""The one reading of a log: which of its lines are jobs, how many cores and seconds each takes, and an account of it.

`read_jobs` is the only way from a trace to jobs; commands, environments, options files and the Python interface use it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.job_rules import STANDARD, Rules
from hdeeprm_like.formats.open import load_trace
from hdeeprm_like.formats.swf import Trace, swf_parts
from hdeeprm_like.formats.swf_cuts import size_of, take
from hdeeprm_like.formats.swf_header import PROCESSORS, cores_of, values_of
from hdeeprm_like.limits import CORES, refusal
from hdeeprm_like.types import Bools, Floats, Ints

CANCELLED = 5  # status
PARTIAL = (2, 3, 4)  # status: to be continued, and the last part of a job that completed or failed
NOT_OF_A_POOL = ("memory", "requested_memory", "status", "group", "queue", "partition", "preceding",
                 "think_time")  # fmt: skip
GIVE = "give --cores"  # remedy in messages of the commands
NO_JOB = "no job of it ran on some processors"

Larger: TypeAlias = Literal["refuse", "leave out", "keep"]
LEAST_COVERED = 0.95  # share of jobs whose CPU times must be at least their run times; some jobs outlive their requests
MOST_DIFFERENT = 0.05  # largest number of different CPU times, as a share of the jobs
MOST_VALUES = 100_000  # different CPU times; from here on they are not few


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Attributes:
        cores: of the machine; None for those of the header.
        larger: what becomes of jobs larger than the machine. rules: by which lines become jobs.
        memory: whether the machine has memory; on a pool, without, the jobs have no memory, queue or status either.
        missing_memory: MB per core of a job of unknown memory; None for what the rules say.
        limits: returns (J,) s, the time limits of jobs that request none, NaN where unknown, as partitions have them.
    """

    cores: int | None = None
    larger: Larger = "refuse"
    rules: Rules = STANDARD
    memory: bool = True
    missing_memory: float | None = None
    limits: Callable[[Trace], Floats] | None = None


def larger_of(leave_out: bool) -> Larger:
    """Return what becomes of jobs larger than the machine by the flag ``--leave-out-larger``."""
    return "leave out" if leave_out else "refuse"


def read_jobs(path: Path, reading: Reading, enough: Callable[[Trace], bool] | None = None, say: bool = True) -> Trace:
    """Return the jobs of a log in the order of the file, with the account of what was left out and changed.

    In what is returned `Trace.processors` are the cores of each job, its run time is known unless the rules do without,
    and each has a requested time: field 9, else field 6 if that holds requests (see `CpuTimes`), else the run.

    Args:
        enough: as for `load_trace`. say: whether to log the account; otherwise the caller does.

    Raises:
        WorkloadError: the file cannot be used, no line is a job, or a job is larger than the machine.
    """
    found = jobs_of(load_trace(path, enough), reading)
    if say and found.account is not None:
        found.account.say()
    return found


def jobs_of(trace: Trace, reading: Reading) -> Trace:
    """Return the jobs of the lines of a log, see `read_jobs`.

    Raises:
        WorkloadError: no line is a job, or a job is larger than the machine.
    """
    reader = _Reader(str(trace.path), reading)
    found = reader.take(trace)
    if not len(found):
        raise WorkloadError(f"{trace.path}: {NO_JOB}: {reader.account.why()}")
    return _with_requested_times(found if reading.limits is None else _with_limits(found, reading.limits(found)))


def parts_of_jobs(path: Path, reading: Reading) -> Iterator[Trace]:
    """Yield the jobs of a log of any size as `read_jobs` does, some at a time, in the order of their submission.

    The account is that of all parts, and is logged at the end.

    Raises:
        WorkloadError: as for `read_jobs`; a job is submitted before the one above it; or no job has a requested time,
        and whether CPU times can replace them is known only at the end.
    """
    reader, cpu_times, latest = _Reader(str(path), reading), CpuTimes(), -np.inf
    for part in swf_parts(path, endless=True):
        found = reader.take(part)
        if not len(found):
            continue
        before = np.concatenate([[latest], found.submit[:-1]])
        if (found.submit < before).any():
            job = int(np.argmax(found.submit < before))
            raise WorkloadError(
                f"{path}: job {found.job[job]} is submitted at {found.submit[job]:.15g} s, the one above it at "
                f"{before[job]:.15g} s; jobs that are streamed must be in the order of their submission"
            )
        cpu_times.add(found)
        latest = float(found.submit[-1])
        yield _with_run_times(found)
    account = reader.account
    if account.jobs == account.left_out:
        raise WorkloadError(f"{path}: {NO_JOB}: {reader.account.why()}")
    if cpu_times.are_requests:
        raise WorkloadError(
            f"{path}: has no requested times (field 9); whether field 6 can replace them is known only after all "
            "jobs are read: use compare --windows all"
        )
    account.say()


@dataclass
class _Reader:
    """Makes jobs of the lines of a log, which may come in parts; counts them in one account."""

    source: str
    reading: Reading
    last_job: int = -1
    account: Account = field(init=False)

    def __post_init__(self) -> None:
        self.account = Account(self.source)

    def take(self, part: Trace) -> Trace:
        """Return the jobs of some lines.

        Raises:
            WorkloadError: one is larger than the machine.
        """
        rules, account, line = self.reading.rules, self.account, part.line
        if not len(part):
            return replace(part, account=account)
        cores = self._cores(part)
        run, wait, size = part.run, part.wait, size_of(part, rules)
        good = np.ones(len(part), np.bool_)
        if not rules.partial:
            summed, run = joined(part, self.last_job)
            self._leave_out("parts of jobs that another line has as a whole (status 2, 3, 4)", good, summed, line)
        unknown = run < 0.0
        if rules.unknown_run is not None:
            reason = f"without a run time that run for {rules.unknown_run:g} s"
            account.add("changed", reason, good & unknown, line, size * rules.unknown_run)
            run, wait = np.where(unknown, rules.unknown_run, run), np.where(unknown, -1.0, wait)
        elif not rules.by_request:
            status, got = part.status, part.processors
            never = (run <= 0.0) & ((status == CANCELLED) & ((got < 1) | unknown) | (got == 0) & ~unknown)
            self._leave_out("that never ran, as those cancelled while they waited", good, never, line)
            self._leave_out("without a run time (field 4)", good, unknown, line)
        else:
            nothing = ~((part.requested_time > 0.0) | (run > 0.0))
            self._leave_out("without a requested time", good, nothing, line)
        if not rules.instant:
            self._leave_out("that ran for 0 s", good, run == 0.0, line)
        self._leave_out("without a time of submission (field 2)", good, part.submit < 0.0, line)
        self._leave_out("without a number of processors (fields 5 and 8)", good, size < 1, line)
        area = np.where(good, np.maximum(run, 0.0) * size, 0.0)
        self._memory(part, good, area)
        if cores is not None:
            self._larger(part, good, size, cores, area)
        both = good & (part.processors > 0) & (part.requested_processors > 0)
        other = both & (part.processors != part.requested_processors)
        words = {"got": "what they got", "requested": "the request", "larger": "the larger number"}[rules.size]
        account.add("noted", f"got other processors than they requested; {words} counts", other, line, area)
        account.jobs += len(part)
        account.core_seconds += float(area.sum())
        self.last_job = int(part.job[-1])
        rows = np.arange(len(part)) if part.row is None else part.row
        found = replace(part, run=run, wait=wait, processors=size, row=rows, account=account, cores=cores)
        found = found if self.reading.memory else _for_a_pool(found)
        return found if good.all() else take(found, np.flatnonzero(good))

    def _leave_out(self, reason: str, good: Bools, rows: Bools, line: Ints | None, area: Floats | None = None) -> None:
        """Count and leave out those rows that are still good."""
        self.account.add("left out", reason, good & rows, line, area)
        good &= ~rows

    def _cores(self, part: Trace) -> int | None:
        """Return the cores of the machine, None if the header has none; a number that is a guess is in the account."""
        if self.reading.cores is not None:
            return self.reading.cores
        found = cores_of(part.header)
        if found is not None and not found.sure:
            unread = [f"{label}: {value:.40} is no number" for label, value in values_of(part.header, PROCESSORS)]
            why = unread[0] if unread else "it has no MaxProcs"
            self.account.add("guessed", f"the machine has {found.number} cores by {found.label!r} ({why}; {GIVE})")
        return None if found is None else found.number

    def _memory(self, part: Trace, good: Bools, area: Floats) -> None:
        """Account for jobs of unknown memory on a machine that has memory."""
        if not self.reading.memory or self.reading.missing_memory is not None:
            return
        unknown = (part.memory < 0) & (part.requested_memory < 0)
        if unknown.all():
            self.account.add("noted", "the log has no memory of any job; all need none")
        elif self.reading.rules.without_memory:
            self.account.add("changed", "of unknown memory that need none", good & unknown, part.line, area)
        else:
            self._leave_out("of unknown memory", good, unknown, part.line, area)

    def _larger(self, part: Trace, good: Bools, size: Ints, cores: int, area: Floats) -> None:
        """Refuse, count or leave out jobs larger than the machine."""
        larger = good & (size > cores)
        if not larger.any():
            return
        found = cores_of(part.header)
        by = "--cores or the platform" if self.reading.cores is not None or found is None else f"{found.label!r}"
        if self.reading.larger == "refuse":
            job = int(np.argmax(np.where(larger, size, 0)))
            raise WorkloadError(
                f"{part.path}: job {part.job[job]} requests {size[job]} processors, the machine has {cores} by {by}; "
                f"{GIVE} with the right number, or --leave-out-larger to do without the {larger.sum():,} larger jobs"
            )
        reason = f"larger than the machine, which has {cores:,} cores by {by}"
        if self.reading.larger == "keep":
            self.account.add("noted", reason, larger, part.line, area)
        else:
            self._leave_out(reason, good, larger, part.line, area)


def joined(trace: Trace, last_job: int) -> tuple[Bools, Floats]:
    """Return which lines are parts of jobs that another line has as a whole, and (J,) run times of the whole jobs.

    A job that has only lines of its parts is their first one, and runs for the sum of their times.

    Args:
        last_job: number of the job in the line before these.
    """
    parts = np.isin(trace.status, PARTIAL)
    if not parts.any():
        return parts, trace.run
    wholes = np.append(trace.job[~parts], last_job)
    summed = parts & np.isin(trace.job, wholes) & (trace.job >= 0)
    rest = np.flatnonzero(parts & ~summed & (trace.job >= 0))
    _, first, group, count = np.unique(trace.job[rest], return_index=True, return_inverse=True, return_counts=True)
    run = trace.run.copy()
    several = count > 1
    sums = np.bincount(group, np.maximum(run[rest], 0.0), len(count))
    run[rest[first[several]]] = sums[several]
    others = np.ones(len(rest), np.bool_)
    others[first] = False
    summed[rest[others]] = True
    return summed, run


def _for_a_pool(trace: Trace) -> Trace:
    """Return a trace without what does not apply on a pool; these columns are unknown and take no memory."""
    unknown: dict[str, Any] = {
        name: np.broadcast_to(getattr(trace, name).dtype.type(-1), len(trace)) for name in NOT_OF_A_POOL
    }
    return replace(trace, **unknown)


def _with_limits(trace: Trace, limits: Floats) -> Trace:
    """Return jobs where those that request no time have a limit, but no less than they ran."""
    chosen = ~(trace.requested_time > 0.0) & np.isfinite(limits)
    assert trace.account is not None
    trace.account.add("changed", "that request no time have the limit of their partition", chosen, trace.line)
    return replace(trace, requested_time=np.where(chosen, np.maximum(limits, trace.run), trace.requested_time))


def _with_requested_times(trace: Trace) -> Trace:
    """Return jobs with a requested time each: field 9, else field 6 if that holds requests, else the run time."""
    if not (trace.requested_time > 0.0).any():
        found = CpuTimes()
        found.add(trace)
        if found.are_requests:
            assert trace.account is not None
            trace.account.add("guessed", f"requested times are in field 6 and not in field 9: {found.why}")
            trace = replace(trace, requested_time=trace.cpu_time)
    return _with_run_times(trace)


def _with_run_times(trace: Trace) -> Trace:
    """Return jobs with the run time as requested time where that is missing; the account says so."""
    missing = ~(trace.requested_time > 0.0)
    if not missing.any():
        return trace
    assert trace.account is not None
    reason = "without a requested time (field 9): the run time replaces it, a perfect estimate"
    trace.account.add("changed", reason, missing, trace.line, np.maximum(trace.run, 0.0) * trace.processors)
    return replace(trace, requested_time=np.where(missing, np.maximum(trace.run, 0.0), trace.requested_time))


def machine_size(trace: Trace, remedy: str = GIVE) -> int:
    """Return the cores of the machine of jobs that were read.

    Args:
        remedy: for the message if they are unknown.

    Raises:
        OptionsError: they are. WorkloadError: they are too many.
    """
    if trace.cores is None:
        raise OptionsError(f"{trace.path}: its header has no number of processors (MaxProcs); {remedy}")
    if trace.cores > CORES.most:
        raise WorkloadError(f"{trace.path}: has {trace.cores:,} processors; {refusal(CORES)}; give the right number")
    return trace.cores


# -- requested times


@dataclass
class CpuTimes:
    """Decides whether field 6 of jobs holds requests, in a trace without field 9; they may come in parts.

    Some logs (Theta's and Mira's) hold the requested time in field 6, which is defined as the average CPU time used. A
    CPU time is at most as long as the run; a request is at least as long, and users request round numbers. So field 6
    counts as requests if no job has field 9 and

    - field 6 is known for all jobs and never below the run time, or
    - it is known and at least the run time for a share `LEAST_COVERED` of the jobs, with few different values (a share
      `MOST_DIFFERENT`).

    Attributes:
        jobs: their number. requested: number with a requested time. long: number with a CPU time not below the run.
        values: the different CPU times of these.
    """

    jobs: int = 0
    requested: int = 0
    long: int = 0
    values: set[float] = field(default_factory=set)

    def add(self, trace: Trace) -> None:
        """Count some jobs."""
        self.jobs += len(trace)
        self.requested += int((trace.requested_time > 0.0).sum())
        if self.requested:  # field 6 no longer matters
            return
        long = (trace.cpu_time > 0.0) & (trace.cpu_time >= trace.run)
        self.long += int(long.sum())
        if len(self.values) <= MOST_VALUES:
            self.values.update(np.unique(trace.cpu_time[long]).tolist())

    @property
    def all_long(self) -> bool:
        """Whether every CPU time is known and at least the run time."""
        return self.jobs > 0 and self.long == self.jobs

    @property
    def are_requests(self) -> bool:
        """Whether they count as requests."""
        few = len(self.values) <= min(MOST_DIFFERENT * self.jobs, MOST_VALUES)
        return (
            self.jobs > 0 and not self.requested and (self.all_long or (few and self.long >= LEAST_COVERED * self.jobs))
        )

    @property
    def why(self) -> str:
        """Why they do, in words."""
        if self.all_long:
            return "it is nowhere below the run time"
        return (
            f"it holds {len(self.values)} different times and is below the run time or unknown for "
            f"{self.jobs - self.long} of {self.jobs} jobs"
        )
