"""Read a log and a machine for `whatif`: jobs with all their requests, and their recorded starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload, without_larger
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.job_reading import Reading, larger_of, read_jobs
from hdeeprm_like.formats.log_words import (
    GPUS,
    NODES,
    WORDS,
    demands_from_words,
    numbers_in,
    words_of_csv,
    words_of_trace,
)
from hdeeprm_like.formats.open import has_ending_of, load_workload
from hdeeprm_like.formats.partitions_json import PARTITION_TIMES
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.swf_header import start_of
from hdeeprm_like.formats.windows import window
from hdeeprm_like.job_checks import check_sizes
from hdeeprm_like.types import Floats, Ints

UNKNOWN = ""
FIRST_DATE = 1e8  # s since 1970; what is before is on a clock of the log's own


@dataclass(frozen=True, eq=False)
class Log:
    """The jobs of a log, in the order of their submission.

    Attributes:
        jobs: as they are simulated; their times begin with the first of them.
        wait: (J,) s of recorded waits, NaN where the log has none.
        epoch: s since 1970 at time 0; 0 if the log has no dates.
        words: columns `WORDS` of the log for each job, empty where unknown. notes: further remarks on the log.
        name: of its file. read: jobs in it, including those that cannot be simulated; 0 if unknown.
    """

    jobs: Workload
    wait: Floats
    epoch: float
    words: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()
    name: str = ""
    read: int = 0

    @property
    def dated(self) -> bool:
        """Whether the log has dates."""
        return self.epoch > FIRST_DATE

    def take(self, rows: Ints) -> "Log":
        """Return some of the jobs."""
        words = {name: [column[row] for row in rows.tolist()] for name, column in self.words.items()}
        return replace(self, jobs=self.jobs.take(rows), wait=self.wait[rows], words=words)


def load_log(path: Path, machine: Platform, leave_out_larger: bool = False) -> Log:
    """Read a log for a machine: ``jobs.swf`` with its ``jobs.extra.csv``, or the CSV that importers write.

    Args:
        leave_out_larger: whether jobs larger than the machine are left out; otherwise they are an error.

    Raises:
        WorkloadError: it cannot be used, or requests partitions that the machine does not have.
    """
    if has_ending_of(path, "trace"):
        log = _of_trace(path, machine, leave_out_larger)
    elif path.name.endswith((".csv", ".csv.gz")):
        log = _of_csv(path, machine, leave_out_larger)
    else:
        raise WorkloadError(f"{path}: a trace (.swf, .swf.gz) or the .csv that hdeeprm-like import writes is needed")
    account = log.jobs.account
    assert account is not None
    changed = account.left_out or account.of("changed")
    return with_demands(replace(log, notes=(account.line(),) if changed else (), read=account.jobs), machine)


def _of_trace(path: Path, machine: Platform, leave_out_larger: bool) -> Log:
    partitions = machine.partitions
    limits = None if partitions is None else lambda one: default_times(partitions, words_of_trace(one)["Partition"])
    larger, has_memory = larger_of(leave_out_larger), machine.processors > 1
    trace = read_jobs(path, Reading(machine.cores, larger, memory=has_memory, limits=limits))
    trace = take(trace, np.lexsort((np.arange(len(trace)), trace.submit)))
    found = window(trace, machine.cores)
    jobs = found.workload
    words = words_of_trace(trace)
    memory = np.where(trace.requested_memory > 0, trace.requested_memory * 1.024e-3, 0.0)
    if machine.processors == 1:
        memory = np.zeros(len(jobs))  # the memory of a pool is unknown
    gpus = words.get(GPUS)
    jobs = replace(
        jobs,
        memory=np.floor(memory),
        gpus=np.zeros(len(jobs)) if gpus is None or not machine.node_gpus.any() else numbers_in(gpus) / jobs.size,
    )
    wait = np.where(trace.wait >= 0.0, trace.wait, np.nan)
    return Log(jobs, wait, found.epoch + start_of(trace.header), words, name=path.name)


def default_times(partitions: Partitions, names: Sequence[str]) -> Floats:
    """Return (J,) those of some partitions by name: DefaultTime, or MaxTime where it is missing, as in Slurm.

    Raises:
        WorkloadError: there is no partition of such a name.
    """
    times = partitions.settings.get(PARTITION_TIMES) or {}
    own = [times.get(name) or {} for name in partitions.names]
    limits = [one.get("DefaultTime") or one.get("MaxTime") or np.nan for one in own]
    numbers = {name: partitions.number_of(name) for name in set(names)}
    return np.array([limits[numbers[name]] for name in names], np.float64)


def _of_csv(path: Path, machine: Platform, leave_out_larger: bool) -> Log:
    jobs = load_workload(path, reference_flops=machine.reference_flops)
    jobs = without_larger(jobs, machine.cores) if leave_out_larger else jobs
    check_sizes(path, jobs, machine)
    columns = words_of_csv(path, "JobName", "Submitted", "Started")
    rows = {name: row for row, name in enumerate(columns["JobName"])}
    chosen = [rows[name.partition("!")[2]] for name in jobs.ids]
    told = {name: [column[row] for row in chosen] for name, column in columns.items()}
    epoch, wait = 0.0, np.full(len(jobs), np.nan)
    if "Submitted" in told and "Started" in told:
        submitted, started = numbers_in(told["Submitted"], np.nan), numbers_in(told["Started"], np.nan)
        if np.isfinite(submitted).any():
            epoch = float(np.nanmax(submitted - jobs.submit))  # jobs may arrive later than submitted, never earlier
            wait = started - (epoch + jobs.submit)
    user = np.unique(told.get("User", [UNKNOWN] * len(jobs)), return_inverse=True)[1]
    delay = jobs.ops / machine.reference_flops
    whole = machine.processors > 1
    jobs = replace(
        jobs,
        user=user.astype(np.int64),
        delay=delay,
        ops=np.zeros(len(jobs)),
        memory=jobs.memory if whole else np.zeros(len(jobs)),
        gpus=jobs.gpus if machine.node_gpus.any() else np.zeros(len(jobs)),
    )
    words = {name: told.get(name, [UNKNOWN] * len(jobs)) for name in WORDS}
    words |= {name: told[name] for name in (GPUS, NODES) if name in told}
    return Log(jobs, wait, epoch, words, name=path.name)


def with_demands(log: Log, machine: Platform) -> Log:
    """Return a log whose jobs ask for partitions, where the machine has some.

    Raises:
        WorkloadError: a job requests an unknown partition.
    """
    partitions = machine.partitions
    if partitions is None:
        return replace(log, jobs=replace(log.jobs, demands=None))
    for name in dict.fromkeys(log.words["Partition"]):
        partitions.number_of(name)
    demands = demands_from_words(log.words, len(log.jobs))
    if not machine.node_gpus.any():
        demands = replace(demands, gpus_per_node=np.zeros(len(log.jobs)))
    if NODES in log.words:  # where jobs get whole nodes, they ran on as many as they asked for
        whole = partitions.exclusive[[partitions.number_of(name) for name in log.words["Partition"]]]
        demands = replace(demands, nodes=np.where(whole, numbers_in(log.words[NODES]).astype(np.int64), demands.nodes))
    jobs = replace(log.jobs, demands=demands)
    told = partitions.settings.get("SelectTypeParameters")
    if told is not None and "memory" not in str(told).lower():  # where Slurm hands out none, jobs show all of a node's
        jobs = replace(jobs, memory=np.zeros(len(jobs)))
    return replace(log, jobs=jobs)


def in_one_partition(machine: Platform) -> Platform:
    """Return a machine without partitions as one whose only partition has all its nodes.

    Raises:
        OptionsError: the machine has partitions already.
    """
    if machine.partitions is not None:
        raise OptionsError(f"{machine.name}: has partitions already")
    nodes = machine.nodes
    everything = Partitions(
        names=("all",),
        nodes=np.ones((1, nodes), np.bool_),
        tiers=np.ones(1),
        factors=np.ones(1),
        exclusive=np.zeros(1, np.bool_),
        features=(frozenset[str](),) * nodes,
        weights=np.ones(nodes),
        settings=USUAL,
    )
    return replace(machine, partitions=everything)


def asking_for_all(log: Log) -> Log:
    """Return a log whose jobs ask for the only partition of a machine."""
    words = {**log.words, **dict.fromkeys(("Partition", "Constraints"), [""] * len(log.jobs))}
    return replace(log, words=words, jobs=replace(log.jobs, demands=demands_from_words(words, len(log.jobs))))


USUAL = {
    "PriorityWeightAge": 1000,
    "PriorityWeightFairshare": 1000,
    "PriorityWeightJobSize": 1000,
}
"""Slurm's weights for a machine without any: age, fair share and size equal, as in the policy ``multifactor+easy``."""
