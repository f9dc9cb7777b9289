"""The jobs of a workload, as columns of arrays."""

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.html_table import html_table
from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-12  # tolerance of sums of requests, as a share of a node's memory or GPUs
NEARLY_WHOLE = 1e-9  # tolerance of a job's total GPUs around a whole number, as a share


SHOWN = {  # columns that a notebook shows, with their titles
    "submit": "submitted (s)",
    "size": "cores",
    "requested_time": "requested time (s)",
    "memory": "memory per core (MB)",
    "bandwidth": "bandwidth per core (GB/s)",
    "gpus": "GPUs per core",
}
LEFT_OUT: Any = ()  # in place of a column that has its usual value for all jobs
USUAL = {
    **{"delay": -1.0, "memory": 0.0, "bandwidth": 0.0, "walltime": np.inf, "gpus": 0.0, "bytes": 0.0},
    **{"user": -1, "program": -1},
}
LARGEST_NUMBER = 2**53  # upper limit of the numbers of users and programs in JSON


def known_number(value: object) -> int:
    """Return the number of a job's user or program in JSON; -1 (unknown) for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST_NUMBER else -1


@dataclass(frozen=True)
class JobLimits:
    """The largest request of a single job; observations are scaled by these (thesis 4.1.2).

    Attributes:
        time: s. cores: per job. memory: MB per core. bandwidth: GB/s per core.
    """

    time: float
    cores: float
    memory: float
    bandwidth: float


@dataclass(frozen=True, eq=False, kw_only=True)
class Workload:
    """The jobs of one or more Batsim workloads; a job is a row (thesis 3.1.3, appendix C).

    Rows are in the order in which Batsim submits the jobs: by submit time, then by the bytes of ``<workload>!<id>``
    (``w0!1, w0!10, w0!2``), so every policy breaks ties by row number.

    Attributes:
        ids: (J,) Batsim job identifiers with their workload, ``"w0!12"``.
        profiles: (J,) profile names.
        submit: (J,) s.
        size: (J,) cores requested.
        requested_time: (J,) s, the user's estimate (``req_time``).
        requested_ops: (J,) flop per core, by the estimate (``req_ops``).
        ops: (J,) flop per core actually needed (``cpu``); only for the simulator. 0 for a delay job.
        delay: (J,) s, length of a delay job whatever its cores; -1 for a job that computes, also if left out.
        memory: (J,) MB per core (``mem``); zeros if left out, as those of bandwidth.
        bandwidth: (J,) GB/s per core (``mem_bw``).
        walltime: (J,) s after which the simulator kills the job, infinite for none, also if left out.
        capacity: cores of the machine that the workload was made for (``nb_res``).
        gpus: (J,) GPUs per core, a fraction if cores share one (``gpus`` over ``res``); zeros if left out.
        user: (J,) a number for the submitting user, -1 if unknown.
        program: (J,) a number for the executable or the job name, -1 if unknown.
        demands: requests on a platform with partitions; None if there are none.
        bytes: (J,) that each core of a job sends to each other one (``com``), which takes time in a network; nan for
            a profile that the embedded simulator does not know; zeros if left out.
        account: of the source of the jobs: what was left out, changed and guessed; None if they have none.
    """

    ids: tuple[str, ...]
    profiles: tuple[str, ...]
    submit: Floats
    size: Ints
    requested_time: Floats
    requested_ops: Floats
    ops: Floats
    delay: Floats = LEFT_OUT
    memory: Floats = LEFT_OUT
    bandwidth: Floats = LEFT_OUT
    walltime: Floats = LEFT_OUT
    capacity: int
    gpus: Floats = LEFT_OUT
    user: Ints = LEFT_OUT
    program: Ints = LEFT_OUT
    demands: Demands | None = None
    bytes: Floats = LEFT_OUT
    account: Account | None = None

    def __post_init__(self) -> None:
        for name, value in USUAL.items():
            if len(getattr(self, name)) == 0:
                object.__setattr__(self, name, np.full(len(self.ids), value))

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        text = f"Workload of {len(self):,} job{'s' * (len(self) != 1)} for {self.capacity:,} cores"
        if len(self) == 0:
            return text
        days = np.ptp(self.submit) / 86400.0
        return f"{text}, {self.size.min():,} to {self.size.max():,} cores each, submitted within {days:.3g} days"

    def _repr_html_(self) -> str:
        """Return the requests as a notebook shows them."""
        shown = {name: getattr(self, name) for name in SHOWN} if len(self) else {}
        columns = [(name, (of.min(), np.median(of), of.mean(), of.max())) for name, of in shown.items()]
        rows = [(SHOWN[name], *(f"{value:,.6g}" for value in values)) for name, values in columns]
        return html_table(repr(self), ("", "least", "median", "mean", "most"), rows)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a table with one row for each job and a column for each attribute that has a value for each job."""
        import pandas as pd

        columns = {column.name: getattr(self, column.name) for column in fields(self)}
        columns = {"job": list(self.ids), "profile": list(self.profiles)} | columns
        return pd.DataFrame({name: of for name, of in columns.items() if isinstance(of, np.ndarray | list)})

    def take(self, rows: Ints | slice) -> "Workload":
        """Return some of the jobs, in the order of their rows; a slice copies no column."""
        columns: dict[str, Any] = {}
        chosen = np.arange(len(self))[rows]
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                columns[column.name] = value[rows]
            elif isinstance(value, tuple):
                consecutive = isinstance(rows, slice)
                columns[column.name] = value[rows] if consecutive else tuple([value[row] for row in chosen.tolist()])
        return replace(self, **columns, demands=None if self.demands is None else self.demands.take(chosen))

    @property
    def is_known(self) -> bool:
        """Whether the embedded simulator knows all profiles."""
        return not np.isnan(self.bytes).any()

    @property
    def gpus_of_job(self) -> Floats:
        """(J,) GPUs of all cores of a job together, rounded if whole except for rounding errors."""
        gpus = self.gpus * self.size
        whole = np.rint(gpus)
        return np.where(np.abs(gpus - whole) <= NEARLY_WHOLE * whole, whole, gpus)

    def limits(self) -> JobLimits:
        """Return the largest request of each kind (thesis 4.1.2).

        Raises:
            WorkloadError: there is no job.
        """
        if len(self) == 0:
            raise WorkloadError("a workload without jobs has no requests to scale by")
        return JobLimits(
            time=float(self.requested_time.max()),
            cores=float(self.size.max()),
            memory=float(self.memory.max()),
            bandwidth=float(self.bandwidth.max()),
        )


def without_larger(workload: Workload, cores: int) -> Workload:
    """Return the jobs of a workload that are not larger than a machine; the account counts the others."""
    larger = workload.size > cores
    if not larger.any():
        return workload
    if workload.account is not None:
        reason = f"larger than the machine, which has {cores:,} cores"
        workload.account.add("left out", reason, larger, area=workload.size * workload.requested_time)
    if larger.all():
        raise WorkloadError(f"all {len(larger):,} jobs are larger than the machine, which has {cores:,} cores")
    return workload.take(np.flatnonzero(~larger))
