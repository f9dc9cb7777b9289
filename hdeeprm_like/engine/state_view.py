"""Read access to a State by name, for users' own observations, objectives, action spaces and job policies."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.tables import COMPLETED, IDLE_CORE, REJECTED, RUNNING, WAITING, Tables
from hdeeprm_like.engine.words import cores_in
from hdeeprm_like.types import Floats, Ints


class StateView:
    """A read-only view of the cluster and its jobs now.

    Arrays are read-only views, or copies if they are computed. Arrays over jobs have one entry for each known job, J;
    in a simulation that includes jobs yet to be submitted: `waiting` and `running` are those that a policy may look at.

    Attributes:
        platform: the machine.
        tables: the arrays behind it, see ``Tables``.
        known: rows of ``tables.jobs`` that hold a job, submitted or not.
    """

    platform: Platform
    tables: Tables
    known: int

    @property
    def now(self) -> float:
        """Time of the current instant in s, rounded to the microseconds of Batsim's protocol."""
        return float(self.tables.clock["now"][0])

    @property
    def arrivals_over(self) -> bool:
        """Whether no more jobs will be submitted."""
        return bool(self.tables.clock["arrivals_over"][0])

    @property
    def waiting(self) -> Ints:
        """Indices of the waiting jobs, in the order of submission."""
        return self._in_status(WAITING)

    @property
    def running(self) -> Ints:
        """Indices of the running jobs, in the order of submission."""
        return self._in_status(RUNNING)

    @property
    def completed(self) -> Ints:
        """Indices of the completed jobs, in the order of submission."""
        return self._in_status(COMPLETED)

    @property
    def rejected(self) -> Ints:
        """Indices of the jobs rejected because the whole platform could not hold them, in the order of submission."""
        return self._in_status(REJECTED)

    @property
    def submit_time(self) -> Floats:
        """(J,) s."""
        return self._of_jobs("submit")

    @property
    def start_time(self) -> Floats:
        """(J,) s, nan for jobs that have not started."""
        return self._of_jobs("start")

    @property
    def finish_time(self) -> Floats:
        """(J,) s, nan for jobs that have not finished."""
        return self._of_jobs("finish")

    @property
    def user(self) -> Ints:
        """(J,) number of the user of each job, -1 if unknown."""
        return self._of_jobs("user")

    @property
    def requested_time(self) -> Floats:
        """(J,) s, the users' estimates of the run times."""
        return self._of_jobs("requested_time")

    @property
    def requested_ops(self) -> Floats:
        """(J,) flop per core, the users' estimates of the work."""
        return self._of_jobs("requested_ops")

    @property
    def requested_cores(self) -> Ints:
        """(J,) cores of each job."""
        return self._of_jobs("size")

    @property
    def requested_memory(self) -> Floats:
        """(J,) MB per core; times `requested_cores` it is the memory of the job."""
        return self._of_jobs("memory")

    @property
    def requested_bandwidth(self) -> Floats:
        """(J,) GB/s of memory bandwidth per core."""
        return self._of_jobs("bandwidth")

    @property
    def requested_gpus(self) -> Floats:
        """(J,) GPUs per core, below 1 if cores share one; times `requested_cores` they are the GPUs of the job."""
        return self._of_jobs("gpus")

    @property
    def free_cores(self) -> int:
        """Number of cores that are available and serve no job."""
        return int(self.tables.clock["free_cores"][0])

    @property
    def processor_free_cores(self) -> Ints:
        """(P,) cores of each processor that are available and serve no job."""
        cores: Ints = read_only(self.tables.loads["free"])
        return cores

    @property
    def processor_busy_cores(self) -> Ints:
        """(P,) cores of each processor that serve jobs."""
        cores: Ints = read_only(self.tables.loads["busy"])
        return cores

    @property
    def processor_free_bandwidth(self) -> Floats:
        """(P,) GB/s of memory bandwidth that no job has requested; below 0 on an oversubscribed processor."""
        free: Floats = self.tables.processors["bandwidth"] - self.tables.loads["used_bandwidth"]
        return free

    @property
    def node_free_cores(self) -> Ints:
        """(N,) cores of each node that are available and serve no job."""
        cores = np.zeros(self.platform.nodes, np.int64)
        np.add.at(cores, self.platform.processor_node, self.tables.loads["free"])
        return cores

    @property
    def node_free_memory(self) -> Floats:
        """(N,) MB free on each node."""
        free: Floats = read_only(self.tables.node_loads["free_memory"])
        return free

    @property
    def node_free_gpus(self) -> Floats:
        """(N,) GPUs free on each node."""
        free: Floats = read_only(self.tables.node_loads["free_gpus"])
        return free

    @property
    def watts(self) -> float:
        """Power of all cores now, in W."""
        return float(self.tables.clock["watts"][0])

    @property
    def free_watts(self) -> float:
        """W that all cores may draw on top of their power now, infinite without a power cap."""
        return self.platform.power_cap - self.watts

    @property
    def joules(self) -> float:
        """Energy of all cores since time 0, in J."""
        return float(self.tables.clock["joules"][0])

    @property
    def core_job(self) -> Ints:
        """(C,) index of the job on each core, -1 for none; all -1 if cores have no names (`named`)."""
        jobs = np.full(self.platform.cores, IDLE_CORE, np.int32)
        for job in self.running.tolist():
            jobs[self.cores_of(job)] = job
        return read_only(jobs)

    def cores_of(self, job: int) -> Ints:
        """Return the cores of a started job in ascending order; empty if cores have no names."""
        return cores_of(self.tables, job)

    def _in_status(self, status: int) -> Ints:
        """Return the indices of the known jobs in a status."""
        jobs: Ints = (self.tables.jobs["status"][: self.known] == status).nonzero()[0]
        return jobs

    def _of_jobs(self, name: str) -> NDArray[Any]:
        """Return one column of the known jobs, (J,)."""
        figures: NDArray[Any] = self.tables.jobs[name][: self.known]
        figures.setflags(write=False)
        return figures


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array."""
    view = array[:]
    view.setflags(write=False)
    return view


def cores_of(tables: Tables, job: int) -> Ints:
    """Return the cores of a started job in ascending order; empty if cores have no names."""
    row = tables.jobs[job]
    return cores_in(tables.allocation[row["first"] : row["first"] + row["stretches"]])
