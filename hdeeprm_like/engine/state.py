"""The cluster and its jobs now: the only object that changes during a run, under whatever driver."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.partitions import NO_DEMAND
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine import core_pstates, lifecycle
from hdeeprm_like.engine.job_rows import Request, countable, fill_job, fill_jobs
from hdeeprm_like.engine.node_sets import NumberedSets, add_demand, most_cores, new_node_sets
from hdeeprm_like.engine.numbers import FIRST, LOW_MEM, LOW_MEM_BW, RANDOM_JOB, REQUESTED, SHORTEST, SMALLEST
from hdeeprm_like.engine.processor_index import rank_all
from hdeeprm_like.engine.running_jobs import BY_START
from hdeeprm_like.engine.tables import (
    COMPLETED,
    IDLE_CORE,
    KIND_BITS,
    REJECTED,
    RUNNING,
    WAITING,
    Tables,
    make_room,
    new_tables,
)
from hdeeprm_like.engine.words import cores_in
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints

AT_ONCE = 1 << 20  # stretches that the allocation has room for from the beginning, if the jobs may take so many
THESIS = (FIRST, SHORTEST, SMALLEST, LOW_MEM, LOW_MEM_BW)  # job policies that look at a sorted list


class Instant(NamedTuple):
    """Simulator to decision system: all that happened at one time.

    Attributes:
        now: s. completed: job rows. submitted: how many jobs came, the next rows. arrivals_over: no more will come.
    """

    now: float
    completed: Sequence[int]
    submitted: int
    arrivals_over: bool


@dataclass
class Commands:
    """Decision system to simulator: all that was decided at one time.

    Attributes:
        starts: job rows and their cores, in ascending order. rejects, kills: job rows.
        pstates: core to the P-state it comes into. wake_at: s, infinite for no call.
    """

    starts: list[tuple[int, Ints]] = field(default_factory=list)
    rejects: list[int] = field(default_factory=list)
    kills: list[int] = field(default_factory=list)
    pstates: dict[int, int] = field(default_factory=dict)
    wake_at: float = np.inf


class Needs(NamedTuple):
    """The sorted lists of jobs that somebody looks at; each an order and the run times that it looks at.

    Attributes:
        orders: of the waiting jobs, numbers of ``numbers``. ends: of the running jobs, BY_START or BY_SIZE.
    """

    orders: tuple[tuple[int, int], ...] = ()
    ends: tuple[tuple[int, int], ...] = ()

    def __or__(self, other: "Needs") -> "Needs":
        """Return the lists of both."""
        return Needs(tuple(dict.fromkeys(self.orders + other.orders)), tuple(dict.fromkeys(self.ends + other.ends)))


class State:
    """The cluster and its jobs now.

    Everything that decides reads it; it changes by ``receive`` (what the simulator tells) and by starting jobs.

    Attributes:
        platform: what exists.
        jobs: that will be submitted, None where they become known on the way.
        limits: the largest request of a single job, for scaling.
        tables: the rows behind it, see ``Tables``.
        known: rows of ``tables.jobs`` that hold a job, submitted or not.
        kills: job rows to end.
        named: whether it is known which cores a job has.
        needs: the sorted lists of jobs that are kept.
        knows_run_times: whether actual run times are known, as to a simulator of the jobs.
    """

    def __init__(
        self,
        platform: Platform,
        jobs: Workload | None,
        policies: tuple[int, ...] = THESIS,
        seed: int = 0,
        log: bool = True,
        limits: JobLimits | None = None,
        whole: bool = False,
        named: bool = True,
        needs: Needs | None = None,
        epoch: float = 0.0,
    ) -> None:
        """Make an idle cluster.

        Args:
            jobs: that will be submitted, None where they become known on the way (see ``append``).
            policies: the job policies of the thesis that will be asked for. seed: of the random policies.
            needs: which sorted lists of jobs to keep, in place of those that *policies* need.
            epoch: s on the trace's clock when the simulation's shows 0; F1 to F4 look at it.
            log: whether to keep one. limits: must be given where *jobs* is not.
            whole: whether a node takes all cores of a job; one too large for any node is rejected then.
            named: False to count cores in place of naming those of each job, which takes the same time for jobs of any
                size. Only for one processor, for jobs that ask for cores alone, and with the textbook's clock.
        """
        if not named and not countable(platform, jobs):
            raise ValueError("cores need names unless there is one processor and all jobs ask for nothing but cores")
        if limits is None:
            if jobs is None:
                raise ValueError("the limits of jobs that are not known must be given")
            limits = jobs.limits()
        self.platform, self.jobs, self._whole = platform, jobs, whole
        self.limits = limits
        self.kills: list[int] = []
        self.known = 0 if jobs is None else len(jobs)
        self.named = named
        self._places = 1 if jobs is None else int(most_cores(platform, jobs.demands, jobs.size).sum()) + 1
        self._changed = core_pstates.PstateChanges(
            cores=np.zeros(platform.cores, np.int32),
            pstates=np.zeros(platform.cores, np.int8),
        )
        places = min(self._places, max(platform.cores, AT_ONCE)) if named else 0
        orders = tuple((policy, REQUESTED) for policy in policies if policy != RANDOM_JOB)
        needs = needs or Needs(orders, ((BY_START, REQUESTED),))
        self.needs = needs
        self.knows_run_times = jobs is not None
        rows = 1 if log else 0
        self._sets = None if platform.partitions is None else NumberedSets(platform.partitions)
        node_sets = new_node_sets(platform, jobs, self._sets, whole)
        self.tables: Tables = new_tables(platform, self.known, places, needs.orders, needs.ends, seed, rows, node_sets)
        self.tables.clock["whole"], self.tables.clock["epoch"] = whole, epoch
        self.tables.clock["places"] = self._places if named else 0
        rank_all(self.tables)
        if jobs is not None:
            fill_jobs(self.tables.jobs, jobs, platform.reference_flops)
        self._enough = lifecycle.entries_of_an_instant(self.tables)  # entries; an instant never needs more than that
        self.make_room()

    @property
    def now(self) -> float:
        """Time of the instant being decided in s, to the microsecond of Batsim's wire."""
        return float(self.tables.clock["now"][0])

    @property
    def wake_at(self) -> float:
        """When the decision system wants to be called again, in s; infinite for never, and so at each new instant."""
        return float(self.tables.clock["wake_at"][0])

    @wake_at.setter
    def wake_at(self, time: float) -> None:
        self.tables.clock["wake_at"] = time

    @property
    def waiting(self) -> Ints:
        """Indices of the waiting jobs, in the order of submission."""
        return np.flatnonzero(self.tables.jobs["status"] == WAITING)

    @property
    def started_now(self) -> Ints:
        """Indices of the jobs started in this instant, in the order of the decisions."""
        clock = self.tables.clock[0]
        return self.tables.changes[clock["first_start"] : clock["changes"]] >> KIND_BITS

    @property
    def watts(self) -> float:
        """Power of all cores now, in W."""
        return float(self.tables.clock["watts"][0])

    @property
    def joules(self) -> float:
        """Energy of all cores since time 0, in J."""
        return float(self.tables.clock["joules"][0])

    def require(self, needs: Needs, who: str) -> None:
        """Refuse somebody whose sorted lists are not kept; compiled code would read others in their place.

        Raises:
            ValueError: a list is missing.
        """
        missing = [*(set(needs.orders) - set(self.needs.orders)), *(set(needs.ends) - set(self.needs.ends))]
        if missing:
            raise ValueError(f"{who}: the state keeps no list of jobs for {missing[0]}; name it in what State needs")

    def append(self, request: Request) -> int:
        """Make room for a job that is submitted next after those known; return its row.

        Where cores are counted it must ask for cores alone.

        Raises:
            WorkloadError: it asks for a partition that there is not.
            OptionsError: it asks for several nodes, and one is to take all of its cores.
        """
        row, demand = self.known, request.demand
        if self._sets is None and demand is not NO_DEMAND and (why := demand.refusal()) is not None:
            raise WorkloadError(why)
        most = min(request.size, self.platform.cores)
        if self._sets is not None:
            most = add_demand(self.tables.node_sets, self._sets, self.platform, row, request.size, demand, self._whole)
        self._places += most
        self.known += 1
        before = len(self.tables.jobs)
        make_room(self.tables, self.known, 0)
        self.tables.clock["places"] = self._places if self.named else 0
        if len(self.tables.jobs) > before:
            self._enough = lifecycle.entries_of_an_instant(self.tables)
        fill_job(self.tables.jobs[row], request)
        return row

    def receive(self, instant: Instant) -> None:
        """Move to the next instant."""
        self.make_room()
        completed = np.asarray(instant.completed, np.int32)
        lifecycle.receive(self.tables, instant.now, completed, len(completed), instant.submitted, instant.arrivals_over)
        self.kills = []

    def drain(self) -> Commands:
        """Return what was decided in this instant; the simulator confirms the P-states when it applies them."""
        t = self.tables
        clock = t.clock[0]
        lifecycle.log_blocked(t)
        commands = Commands(kills=self.kills, wake_at=self.wake_at)
        if clock["rejected_now"]:
            commands.rejects = t.rejected_now[: clock["rejected_now"]].tolist()
        for j in self.started_now.tolist():
            commands.starts.append((j, self.cores_of(j)))
        changed = core_pstates.changed_pstates(t, self._changed) if self.named and clock["touched"] else 0
        if changed:
            cores, pstates = self._changed.cores[:changed].tolist(), self._changed.pstates[:changed].tolist()
            commands.pstates = dict(sorted(zip(cores, pstates, strict=True)))
        return commands

    def confirm(self, pstates: dict[int, int]) -> None:
        """Take note that the simulator has put cores into P-states."""
        if pstates:
            core_pstates.confirm_pstates(self.tables, np.array(list(pstates)), np.array(list(pstates.values())))

    def cores_of(self, job: int) -> Ints:
        """Return the cores of a started job in ascending order; none where they have no names."""
        return cores_of(self.tables, job)

    def make_room(self) -> None:
        """Let the log and the allocation have room for one more instant."""
        clock, cores = self.tables.clock[0], self.platform.cores
        make_room(self.tables, 0, int(min(clock["places"], clock["placed"] + cores)))
        log = self.tables.log
        used = int(self.tables.clock["logged"][0])
        if len(log) and len(log) < used + self._enough:
            grown = np.zeros(2 * (used + self._enough), log.dtype)
            grown[:used] = log[:used]
            self.tables.log = grown

    def make_room_for_all(self) -> None:
        """Let the allocation have room for all jobs, for compiled code that does not stop before their end."""
        make_room(self.tables, 0, int(self.tables.clock["places"][0]))

    # What users' own observations, objectives, action spaces and job policies read. Arrays are read-only views, or
    # copies where they are computed; those over jobs have one entry for each job that is known, J, and in a simulation
    # that includes jobs which are still to be submitted: `waiting` and `running` say which ones a policy may look at.

    @property
    def arrivals_over(self) -> bool:
        """Whether no more jobs will be submitted."""
        return bool(self.tables.clock["arrivals_over"][0])

    @property
    def running(self) -> Ints:
        """Indices of the running jobs, in the order of submission."""
        return np.flatnonzero(self.tables.jobs["status"] == RUNNING)

    @property
    def completed(self) -> Ints:
        """Indices of the completed jobs, in the order of submission."""
        return np.flatnonzero(self.tables.jobs["status"] == COMPLETED)

    @property
    def rejected(self) -> Ints:
        """Indices of the jobs rejected because the whole platform could not hold them, in the order of submission."""
        return np.flatnonzero(self.tables.jobs["status"] == REJECTED)

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
        """(J,) number of the user of each job, -1 where it is not known."""
        users: Ints = read_only(self.tables.jobs["user"][: self.known])
        return users

    @property
    def requested_time(self) -> Floats:
        """(J,) s, the users' estimates of the run times."""
        return self._of_jobs("requested_time")

    @property
    def requested_ops(self) -> Floats:
        """(J,) flop for each core, the users' estimates of the work."""
        return self._of_jobs("requested_ops")

    @property
    def requested_cores(self) -> Ints:
        """(J,) cores of each job."""
        cores: Ints = read_only(self.tables.jobs["size"][: self.known])
        return cores

    @property
    def requested_memory(self) -> Floats:
        """(J,) MB for each core; times `requested_cores` it is that of the job."""
        return self._of_jobs("memory")

    @property
    def requested_bandwidth(self) -> Floats:
        """(J,) GB/s of memory bandwidth for each core."""
        return self._of_jobs("bandwidth")

    @property
    def requested_gpus(self) -> Floats:
        """(J,) GPUs for each core, below 1 where cores share one; times `requested_cores` they are those of the job."""
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
    def core_job(self) -> Ints:
        """(C,) index of the job that each core serves, -1 for none; all -1 where cores have no names (`named`)."""
        jobs = np.full(self.platform.cores, IDLE_CORE, np.int32)
        for job in self.running.tolist():
            jobs[self.cores_of(job)] = job
        return read_only(jobs)

    def _of_jobs(self, name: str) -> Floats:
        """Return (J,) a figure of the known jobs."""
        figures: Floats = read_only(self.tables.jobs[name][: self.known])
        return figures


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def cores_of(tables: Tables, job: int) -> Ints:
    """Return the cores of a started job in ascending order; none where they have no names."""
    row = tables.jobs[job]
    return cores_in(tables.allocation[row["first"] : row["first"] + row["stretches"]])
