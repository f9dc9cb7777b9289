"""The files of an imported log: a trace (SWF) with what SWF cannot hold beside it, or one CSV that holds both.

The units are the house's: SWF counts KB of 1024 bytes as Slurm does, and a MB of platforms and CSV files is 1000 of
them, as `formats.trace_jobs.convert` has it. So a job fills a node here if it did so there.
"""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.formats.files import replacing
from hdeeprm_like.formats.jobs_csv import COLUMNS
from hdeeprm_like.formats.swf import KB_PER_MB, Trace, write_swf_parts
from hdeeprm_like.importers.fields import STATE_NAMES, STATES
from hdeeprm_like.importers.jobs import JobStore
from hdeeprm_like.types import Floats, Ints

EXTRA = (
    *("JobID", "Submitted", "Started", "AllocatedCPUs", "GPUs", "Nodes", "State"),
    *("GRES", "User", "Account", "QOS", "Partition", "Constraints", "Reservation", "Cluster"),
)
NAMED = ("gres", "user", "account", "qos", "partition", "constraints", "reservation", "cluster")  # the last of these
LISTED = ("user", "account", "qos", "partition")  # names listed in the header of a trace
LABELS = {"user": "User", "account": "Group", "qos": "Queue", "partition": "Partition"}  # as SWF calls them
MOST_LISTED = 1000
MOST_WORDS = 100_000  # different ends of lines that are remembered
FIRST_DATE = 10**8  # s since 1970; what is before is on a clock of the log's own


def extra_path(path: Path) -> Path:
    """Return where the columns lie that SWF cannot hold: ``jobs.extra.csv`` beside ``jobs.swf``."""
    ending = ".swf.gz" if path.name.endswith(".swf.gz") else ".swf"
    packed = ".gz" if ending.endswith(".gz") else ""
    return path.with_name(f"{path.name.removesuffix(ending)}.extra.csv{packed}")


def write_trace(store: JobStore, path: Path, cores: int | None) -> list[Path]:
    """Write the jobs of a log; return the files that were written.

    Args:
        path: ``.swf``, ``.swf.gz``, ``.csv`` or ``.csv.gz``.
        cores: of the machine; None for the most that were in use at once.

    Raises:
        ResultsError: a file cannot be written.
    """
    if path.name.endswith((".csv", ".csv.gz")):
        _write_csv(store, path, (*COLUMNS, *EXTRA), whole=True)
        return [path]
    write_swf_parts(_header(store, cores), _traces(store, path), path)
    beside = extra_path(path)
    _write_csv(store, beside, ("Job", *EXTRA), whole=False)
    return [path, beside]


def tell(store: JobStore, path: Path, cores: int | None) -> None:
    """Add to the report of a log what its reader should know about the files made of it."""
    report, unlimited, held, more, beyond, wide, instant = store.report, 0, 0, 0, 0, 0, 0
    for jobs in store.parts():
        unlimited += int((jobs["requested_time"] <= 0).sum())
        held += int((jobs["arrival"] > jobs["submit"]).sum())
        more += int(((jobs["cpus"] > jobs["requested_cpus"]) & (jobs["requested_cpus"] > 0)).sum())
        beyond += int((jobs["gpus"] > 0).sum())
        instant += int((jobs["run"] == 0).sum())
        wide = max(wide, int(np.maximum(jobs["cpus"], jobs["requested_cpus"]).max()))
    if held:
        report.note(f"{held:,} jobs arrive when they became eligible, later than submitted: held, dependent or put off")
    if instant:
        report.note(f"{instant:,} jobs ran for 0 s, that is, for less than half a second")
    if unlimited:
        end = "their run time stands in" if path.name.endswith((".csv", ".csv.gz")) else "field 9 is -1"
        report.note(
            f"{unlimited:,} jobs have no time limit of their own, and {end}; set one by --time-limit or --platform"
        )
    if more:
        report.note(f"{more:,} jobs got more CPUs than they requested; simulations take those that they got")
    if beyond and not path.name.endswith((".csv", ".csv.gz")):
        report.note(
            f"{beyond:,} jobs have GPUs, which SWF cannot hold: they are in {extra_path(path).name}; a .csv holds all"
        )
    if cores is not None and wide > cores:
        report.note(f"the widest job has {wide:,} CPUs, the machine {cores:,}: is this the machine of the log?")
    if (clusters := len(store.numbers["cluster"].names)) > 1:
        report.note(f"the log has jobs of {clusters} clusters, all in one trace now; sacct -M selects one")
    for name, numbers in store.numbers.items():
        if numbers.beyond:
            report.note(
                f"{numbers.beyond:,} values of {name} are beyond the first {numbers.most:,} different ones: unknown"
            )
    if store.salt is not None:
        for entry in report.entries.values():
            entry.example = entry.example and "(hidden)"


def _header(store: JobStore, cores: int | None) -> tuple[str, ...]:
    begin = int(store.epoch)
    note = "" if cores else " (the most in use at once in this log; the machine may have more)"
    dated: tuple[str, ...] = ()
    if begin > FIRST_DATE:
        date = f"{datetime.fromtimestamp(begin, UTC):%a %b %d %H:%M:%S UTC %Y}"
        dated = (f"UnixStartTime: {begin}", "TimeZoneString: UTC", f"StartTime: {date}")
    header = [
        "Version: 2.2",
        *dated,
        f"MaxJobs: {len(store)}",
        f"MaxRecords: {len(store)}",
        f"MaxProcs: {cores or store.busiest()}",
        f"Note: imported by hdeeprm-like, {store.report.form}",
        "Note: submit times are those from which jobs could have run; memory is in KB of 1024 bytes",
    ]
    if note:
        header.append(f"Note: MaxProcs{note}")
    for column in LISTED:
        names = store.name_of(column)[1:-1]
        header += [
            f"{LABELS[column]}: {number} {' '.join(name.split())}" for number, name in enumerate(names[:MOST_LISTED], 1)
        ]
    return tuple(header)


def _traces(store: JobStore, path: Path) -> Iterator[Trace]:
    status = np.array([state.status for state in STATES.values()])
    first = 1
    for jobs in store.parts():
        wait = jobs["start"] - jobs["arrival"]
        cpus = np.where(jobs["cpus"] > 0, jobs["cpus"], -1).astype(np.int64)
        unknown = np.full(len(jobs), -1)
        yield Trace(
            path=path,
            header=(),
            job=np.arange(first, first + len(jobs)),
            submit=jobs["arrival"] - store.epoch,
            wait=np.where(wait >= 0, wait, -1.0),
            run=jobs["run"],
            processors=cpus,
            cpu_time=np.where((jobs["cpu_time"] >= 0) & (cpus > 0), np.round(jobs["cpu_time"] / np.abs(cpus), 2), -1.0),
            memory=np.floor(jobs["used_memory"]),
            requested_processors=np.where(jobs["requested_cpus"] > 0, jobs["requested_cpus"], -1).astype(np.int64),
            requested_time=jobs["requested_time"],
            requested_memory=np.floor(jobs["memory"] * _of_those_it_got(jobs)),
            status=status[jobs["state"]],
            user=jobs["user"].astype(np.int64),
            group=jobs["account"].astype(np.int64),
            executable=jobs["name"].astype(np.int64),
            queue=jobs["qos"].astype(np.int64),
            partition=jobs["partition"].astype(np.int64),
            preceding=unknown,
            think_time=unknown.astype(np.float64),
        )
        first += len(jobs)


def _of_those_it_got(jobs: Any) -> Floats:
    """Return (n,) requested CPUs over those that each job got, where it got more: the memory of the job is the same."""
    got, requested = jobs["cpus"], jobs["requested_cpus"]
    more = (got > requested) & (requested > 0) & (jobs["memory"] > 0)
    return np.where(more, requested / np.maximum(got, 1), 1.0)


def _write_csv(store: JobStore, path: Path, columns: tuple[str, ...], whole: bool) -> None:
    """Write the number of each job, what the simulator reads if *whole*, and what else is known."""
    words = _Words(store)
    first = 1
    with replacing(path) as file:
        file.write(",".join(columns) + "\n")
        for jobs in store.parts():
            numbers = map(str, range(first, first + len(jobs)))
            simulated = _simulated(jobs, store.epoch) if whole else ()
            known = (*_known(jobs), words.of(jobs))
            file.writelines(",".join(row) + "\n" for row in zip(numbers, *simulated, *known, strict=True))
            first += len(jobs)


def _simulated(jobs: Any, epoch: float) -> tuple[list[str], ...]:
    """Return what the house's CSV of jobs has behind the name of each, as it would come out of the SWF."""
    size = np.where(jobs["requested_cpus"] > 0, jobs["requested_cpus"], jobs["cpus"]).astype(np.int64)
    memory = np.where(jobs["memory"] > 0, np.floor(jobs["memory"] / KB_PER_MB) * size, 0.0)
    requested = np.where(jobs["requested_time"] > 0, jobs["requested_time"], jobs["run"])
    gpus = np.maximum(jobs["gpus"], 0.0)
    columns = memory, size, gpus, requested, jobs["run"], jobs["arrival"] - epoch
    return tuple(_texts(column) for column in columns)


def _known(jobs: Any) -> tuple[list[str], ...]:
    """Return what else is known of jobs in numbers."""
    return (
        _job_ids(jobs),
        _texts(np.nan_to_num(jobs["submit"], nan=-1.0)),
        _texts(np.nan_to_num(jobs["start"], nan=-1.0)),
        _texts(jobs["cpus"]),
        _texts(jobs["gpus"]),
        _texts(jobs["nodes"]),
    )


class _Words(dict[tuple[int, ...], str]):
    """State and names of a job as the end of its line, by their numbers: few jobs have others than all before them."""

    def __init__(self, store: JobStore) -> None:
        super().__init__()
        self.names = [store.name_of(name) for name in NAMED]

    def of(self, jobs: Any) -> list[str]:
        """Return the ends of the lines of some jobs."""
        if len(self) > MOST_WORDS:
            self.clear()
        numbers = zip(*(jobs[column].tolist() for column in ("state", *NAMED)), strict=True)
        return [self[one] for one in numbers]

    def __missing__(self, numbers: tuple[int, ...]) -> str:
        line = io.StringIO()
        names = [known[number] for known, number in zip(self.names, numbers[1:], strict=True)]
        csv.writer(line, lineterminator="").writerow([STATE_NAMES[numbers[0]], *names])
        self[numbers] = line.getvalue()
        return self[numbers]


def _job_ids(jobs: Any) -> list[str]:
    """Return the numbers of the jobs as Slurm writes them: ``12``, ``12_3``, ``12+1``."""
    ids = _texts(jobs["job"])
    for column, sign in (("task", "_"), ("component", "+")):
        for row in np.flatnonzero(jobs[column] >= 0).tolist():
            ids[row] += f"{sign}{jobs[column][row]}"
    return ids


def _texts(column: Floats | Ints) -> list[str]:
    """Return whole numbers as such and what is unknown (below 0) as nothing."""
    whole = column.astype(np.int64)
    if (whole == column).all():
        texts = list(map(str, whole.tolist()))
    else:
        texts = [str(int(value)) if value == int(value) else repr(value) for value in column.tolist()]
    for row in np.flatnonzero(column < 0).tolist():
        texts[row] = ""
    return texts
