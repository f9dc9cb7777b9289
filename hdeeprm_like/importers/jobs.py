"""Jobs on their way from a log to a trace: which of them count, when they arrive, and the files they are written to.

A log of millions of jobs does not pass through memory as text: each job becomes a record of numbers in a temporary
file, and names become numbers with a list beside it.
"""

import hashlib
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.importers.fields import STATE_NAMES, STATES, Meanings, Numbers
from hdeeprm_like.importers.times import Moments, left_out, repeated
from hdeeprm_like.types import Bools, Floats, Ints

NAMES = ("user", "account", "name", "qos", "partition", "constraints", "reservation", "gres", "cluster")
PRIVATE = ("user", "account", "qos", "partition", "reservation", "cluster")  # what --anonymize hides

# Times in s since 1970, memory in KB for each CPU; -1 is unknown but for times, which are NaN.
JOB = np.dtype(
    [
        *((name, np.float64) for name in ("arrival", "submit", "start", "run", "requested_time", "cpu_time")),
        *((name, np.float64) for name in ("memory", "used_memory", "gpus")),
        *((name, np.int32) for name in ("cpus", "requested_cpus", "nodes", "state", "task", "component")),
        *((name, np.int32) for name in NAMES),
        ("job", np.int64),
    ]
)
LINES_AT_ONCE = 50_000


class JobStore:
    """Takes the jobs of a log in any order and gives them out in the order of their arrival.

    Attributes:
        report: what is dropped is counted there. numbers: of the names in each of `NAMES`.
    """

    def __init__(self, report: Account) -> None:
        self.report = report
        report.unit = "records"
        self.numbers = {name: Numbers() for name in NAMES}
        self.salt: bytes | None = None  # of the hashes in place of names; None writes the names
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        self._jobs = np.zeros(0, JOB)
        self._order: Ints = np.zeros(0, np.int64)

    def __len__(self) -> int:
        return len(self._order)

    def admit(
        self,
        columns: Mapping[str, Any],
        moments: Mapping[str, Moments],
        elapsed: Floats,
        lines: Ints,
        suspended: Floats | float = 0.0,
    ) -> None:
        """Take some jobs of a log, and leave out those that did not run.

        Args:
            columns: (n,) arrays by the names of `JOB`; those that are missing are unknown.
            moments: of ``submit``, ``eligible``, ``start`` and ``end``. elapsed: s that each ran, NaN where unknown.
            lines: where each stands in the log. suspended: s between start and end for which each did not run.
        """
        jobs = np.full(len(lines), -1, JOB)  # all fields
        for name, column in columns.items():
            jobs[name] = column
        submit, eligible, start, end = _readings(moments, elapsed + suspended, self.report)
        run = np.where(np.isnan(elapsed), end - start - suspended, elapsed)
        jobs["submit"], jobs["start"], jobs["run"] = submit, start, run
        held = (eligible > submit) & ~(eligible > start)
        jobs["arrival"] = np.where(held | np.isnan(submit), eligible, submit)
        usable, area = np.ones(len(jobs), np.bool_), np.maximum(np.nan_to_num(run), 0.0) * np.maximum(jobs["cpus"], 0)
        for reason, refused in self._refused(jobs).items():
            self.report.add("left out", reason, refused & usable, lines, area)
            usable &= ~refused
        self.report.core_seconds += float(area.sum())
        self._file.write(jobs[usable].tobytes())

    def _refused(self, jobs: Any) -> dict[str, Bools]:
        """Return which jobs are left out for which reason."""
        over = np.array([state.over for state in STATES.values()])[jobs["state"]]
        begun = ~np.isnan(jobs["start"])
        cancelled = jobs["state"] == STATE_NAMES.index("CANCELLED")
        # old versions of Slurm record a start then
        at_once = (jobs["run"] == 0) & (cancelled | (jobs["cpus"] == 0) | ~begun)
        return {
            "still waiting or running when the log was taken": ~over,
            "that ended before they began, as those cancelled while waiting": at_once | np.isnan(jobs["run"]) & ~begun,
            "without an end, so without a run time": np.isnan(jobs["run"]),
            "without a time of submission": np.isnan(jobs["arrival"]),
            "without a number of CPUs": (jobs["cpus"] < 1) & (jobs["requested_cpus"] < 1),
            "that end before they start": jobs["run"] < 0,
        }

    def settle(self, requeues: str, unique: bool = True) -> None:
        """Put the jobs in order, each once.

        Args:
            requeues: ``"last"`` keeps the last run of a job that was put back into the queue, ``"one"`` the same with
                the first arrival, ``"all"`` every run.
            unique: whether two jobs cannot have the same number.

        Raises:
            WorkloadError: no job is left.
        """
        self._file.flush()
        if not self._file.tell():
            why = self.report.why() or "there is no line behind that of the names"
            raise WorkloadError(f"{self.report.source}: holds no job that ran: {why}")
        self._jobs = np.memmap(self._file, JOB, mode="c")
        kept = np.ones(len(self._jobs), np.bool_)
        if unique:
            self._once(kept, requeues)
        rows = np.flatnonzero(kept)
        task, job, submit, arrival = (self._jobs[name][rows] for name in ("task", "job", "submit", "arrival"))
        by_number = np.where(job < 0, np.iinfo(np.int64).max, job)  # jobs without a number keep the order of the log
        self._order = rows[np.lexsort((rows, task, by_number, submit, arrival))]
        counts = np.bincount(self._jobs["state"][rows], minlength=len(STATE_NAMES)).tolist()
        self.report.states.update({name: n for name, n in zip(STATE_NAMES, counts, strict=True) if n})

    def _once(self, kept: Bools, requeues: str) -> None:
        jobs = self._jobs
        keys = [jobs[name] for name in ("run", "start", "user", "cluster", "component", "task", "job")]
        order = np.lexsort(keys)
        earlier, later = order[:-1], order[1:]
        same = jobs["job"][earlier] >= 0
        for name in ("job", "task", "component", "cluster", "user"):
            same &= jobs[name][earlier] == jobs[name][later]
        repeats = same.copy()
        for name in ("start", "submit"):
            times = np.nan_to_num(jobs[name], nan=-1.0)
            repeats &= times[earlier] == times[later]
        self.report.leave_out("that the log has twice", int(repeats.sum()))
        kept[earlier[repeats]] = False
        if requeues == "one":
            first = np.maximum.accumulate(np.where(np.concatenate([[True], ~same]), np.arange(len(order)), 0))
            for name in ("submit", "arrival"):
                jobs[name][order] = jobs[name][order[first]]
        if requeues != "all":
            self.report.leave_out("earlier runs of jobs that were requeued", int((same & ~repeats).sum()))
            kept[earlier[same]] = False

    def parts(self) -> Iterator[Any]:
        """Yield the jobs as arrays of `JOB`, some at a time, in the order of their arrival."""
        for begin in range(0, len(self._order), LINES_AT_ONCE):
            yield self._jobs[self._order[begin : begin + LINES_AT_ONCE]]

    @property
    def epoch(self) -> float:
        """When the first job arrives, s since 1970."""
        return float(self._jobs["arrival"][self._order[0]])

    def busiest(self) -> int:
        """Return how many CPUs were in use at once, at least those of the widest job."""
        jobs, rows = self._jobs, self._order
        cpus = np.maximum(jobs["cpus"][rows], jobs["requested_cpus"][rows])
        begun, run = jobs["start"][rows], jobs["run"][rows]
        begun = np.where(np.isnan(begun), jobs["arrival"][rows], begun)
        times = np.concatenate([begun, begun + run])
        changes = np.concatenate([np.where(run > 0, cpus, 0), np.where(run > 0, -cpus, 0)]).astype(np.int64)
        in_use = np.cumsum(changes[np.lexsort((changes, times))])
        return int(max(in_use.max(), cpus.max()))

    def name_of(self, column: str) -> list[str]:
        """Return the text for each number of a column of names, ``""`` for the number 0 and the last one, -1."""
        names = self.numbers[column].names
        if self.salt is not None and column in PRIVATE:
            names = [f"{column}-{hashed(name, self.salt)}" for name in names]
        return ["", *names, ""]


class Rows:
    """The texts of some rows of a log by column, and what they mean.

    Attributes:
        store: which takes the jobs. texts: by the names of the columns. count: of the rows.
    """

    def __init__(self, store: JobStore, called: Mapping[str, str]) -> None:
        """Begin without any; *called* says what the log calls a column, for messages."""
        self.store, self.report = store, store.report
        self.texts: dict[str, Sequence[str]] = {}
        self.count = 0
        self._called = called
        self._meanings: dict[str, Meanings[Any]] = {}

    def meanings(self, column: str, meaning: Callable[[str], Any], unknown: Any) -> Meanings[Any]:
        """Return what the texts of a column have meant so far."""
        if column not in self._meanings:
            self._meanings[column] = Meanings(self._called.get(column, column), meaning, unknown, self.report)
        return self._meanings[column]

    def read(self, column: str, meaning: Callable[[str], Any], unknown: Any) -> list[Any]:
        """Return what the texts of a column mean; all are unknown where there is no such column."""
        if column not in self.texts:
            return [unknown] * self.count
        return list(map(self.meanings(column, meaning, unknown).__getitem__, self.texts[column]))

    def names(self, columns: Mapping[str, Sequence[str]]) -> dict[str, list[int]]:
        """Return the numbers of what has a name, by the first column of each that the log has."""
        found = {name: next((one for one in some if one in self.texts), None) for name, some in columns.items()}
        numbers = self.store.numbers
        return {name: list(map(numbers[name].__getitem__, self.texts[one])) for name, one in found.items() if one}


def hashed(name: str, salt: bytes) -> str:
    """Return ten hexadecimal digits in place of a name; who has not the salt cannot try names."""
    return hashlib.blake2b(name.encode("utf-8", "replace"), key=salt[:64], digest_size=5).hexdigest()


def _readings(
    moments: Mapping[str, Moments], elapsed: Floats, report: Account
) -> tuple[Floats, Floats, Floats, Floats]:
    """Choose between both readings of each time, so that jobs start after they came and end *elapsed* s later."""
    unknown = np.full(len(elapsed), np.nan)
    both = [moments.get(name, Moments(unknown, unknown)) for name in ("submit", "eligible", "start", "end")]
    submit, eligible, start, end = chosen = tuple(np.array(one.first) for one in both)
    gaps = sum(len(left_out(one)) for one in both)
    if gaps:
        report.note(f"{gaps:,} times are in an hour that spring leaves out, taken as past it: is --timezone right?")
    twice = sorted({row for one in both for row in repeated(one).tolist()})
    for row in twice:
        options = [sorted({float(one.first[row]), float(one.second[row])}) for one in both]
        last = submit[row - 1] if row else -np.inf
        later = [time for time in options[0] if time >= last]  # logs are in the order of submission, nearly
        submit[row] = later[0] if later else options[0][0]
        pairs = [(begin, stop) for begin in options[2] for stop in options[3]]
        wrong = [_wrongness(begin, stop, submit[row], elapsed[row]) for begin, stop in pairs]
        start[row], end[row] = pairs[int(np.argmin(wrong))]
        known = [time for time in options[1] if not (time < submit[row] or time > start[row])]
        eligible[row] = known[0] if known else options[1][0]
    if twice:
        report.note(f"{len(twice):,} jobs have times in an hour that autumn repeats; their order and run times decided")
    return chosen  # type: ignore[return-value]


def _wrongness(begin: float, stop: float, submit: float, elapsed: float) -> float:
    """Return by how many s a start and an end contradict what else is known of a job."""
    off = abs(stop - begin - elapsed) if not np.isnan(elapsed) and not np.isnan(stop - begin) else 0.0
    return off + max(0.0, submit - begin) + max(0.0, begin - stop)
