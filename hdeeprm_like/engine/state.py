"""The cluster and its jobs now: the only object that changes during a run, under whatever driver."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine import lifecycle as kernels
from hdeeprm_like.engine.processor_index import rank_all
from hdeeprm_like.engine.tables import HEAPS, WAITING, Rows, Tables, new_tables, with_room
from hdeeprm_like.types import Floats, Ints


class Instant(NamedTuple):
    """Simulator to decision system: all that happened at one time.

    Attributes:
        now: s. completed: job rows. submitted: how many jobs came, the next rows. arrivals_over: no more will come.
    """

    now: float
    completed: Sequence[int]
    submitted: int
    arrivals_over: bool


class Request(NamedTuple):
    """What a job asks for, as its row in ``Tables.jobs`` says it.

    Attributes:
        submit: s. size: cores. time: s. ops: flop per core. memory: MB per core. bandwidth: GB/s per core.
        gpus: per core.
    """

    submit: float
    size: int
    time: float
    ops: float
    memory: float
    bandwidth: float
    gpus: float = 0.0


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


class State:
    """The cluster and its jobs now.

    Everything that decides reads it; it changes by ``receive`` (what the simulator tells) and by starting jobs.

    Attributes:
        platform: what exists.
        limits: the largest request of a single job, for scaling.
        tables: the rows behind it, see ``Tables``.
        known: rows of ``tables.jobs`` that hold a job, submitted or not.
        kills: job rows to end.
        named: whether it is known which cores a job has.
    """

    def __init__(
        self,
        platform: Platform,
        jobs: Workload | None,
        policies: tuple[int, ...] = tuple(range(HEAPS)),
        seed: int = 0,
        log: bool = True,
        limits: JobLimits | None = None,
        whole: bool = False,
        named: bool = True,
    ) -> None:
        """Make an idle cluster.

        Args:
            jobs: that will be submitted, None where they become known on the way (see ``append``).
            policies: the job policies that will be asked for. seed: of the random policies.
            log: whether to keep one. limits: must be given where *jobs* is not.
            whole: whether a node takes all cores of a job; one too large for any node is rejected then.
            named: False to count cores in place of naming those of each job, which takes the same time for jobs of any
                size. Only for one processor, for jobs that ask for cores alone, and with the textbook's clock.
        """
        if not named and (jobs is None or not countable(platform, jobs)):
            raise ValueError("cores need names unless there is one processor and all jobs ask for nothing but cores")
        if limits is None:
            if jobs is None:
                raise ValueError("the limits of jobs that are not known must be given")
            limits = jobs.limits()
        self.platform = platform
        self.limits = limits
        self.kills: list[int] = []
        self.known = 0 if jobs is None else len(jobs)
        self.named = named
        self._places = 1 if jobs is None else int(np.minimum(jobs.size, platform.cores).sum()) + 1
        self._changed = np.zeros(platform.cores, np.int32), np.zeros(platform.cores, np.int8)
        places = self._places if named else 0
        self.tables: Tables = new_tables(platform, self.known, places, policies, seed, 1 if log else 0)
        self.tables.clock["whole"] = whole
        rank_all(self.tables)
        if jobs is not None:
            fill_jobs(self.tables.jobs, jobs)
        self._enough = kernels.room_for_an_instant(self.tables)  # entries; an instant never needs more than that
        if log:
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
        """Rows of the waiting jobs, in the order of submission."""
        return np.flatnonzero(self.tables.jobs["status"] == WAITING)

    @property
    def watts(self) -> float:
        """Power of all cores now, in W."""
        return float(self.tables.clock["watts"][0])

    @property
    def joules(self) -> float:
        """Energy of all cores since time 0, in J."""
        return float(self.tables.clock["joules"][0])

    @property
    def free_memory(self) -> Floats:
        """(N,) MB free on each node."""
        free: Floats = self.tables.rooms["free_memory"]
        return free

    def append(self, request: Request) -> int:
        """Make room for a job that is submitted next after those known; return its row."""
        row = self.known
        self.known += 1
        self._places += min(request.size, self.platform.cores)
        roomy = with_room(self.tables, self.known, self._places)
        if roomy is not self.tables:
            self.tables = roomy
            self._enough = kernels.room_for_an_instant(roomy)
        job = self.tables.jobs[row]
        job["submit"], job["size"] = request.submit, request.size
        job["requested_time"], job["requested_ops"] = request.time, request.ops
        job["memory"], job["bandwidth"], job["gpus"] = request.memory, request.bandwidth, request.gpus
        job["start"] = job["finish"] = np.nan
        return row

    def receive(self, instant: Instant) -> None:
        """Move to the next instant."""
        self.make_room()
        completed = np.asarray(instant.completed, np.int32)
        kernels.receive(self.tables, instant.now, completed, instant.submitted, instant.arrivals_over)
        self.kills = []

    def drain(self) -> Commands:
        """Return what was decided in this instant; the simulator confirms the P-states when it applies them."""
        t = self.tables
        clock = t.clock[0]
        kernels.log_blocked(t)
        commands = Commands(kills=self.kills, wake_at=self.wake_at)
        if clock["rejected_now"]:
            commands.rejects = t.rejected_now[: clock["rejected_now"]].tolist()
        for j in t.started_now[: clock["started_now"]].tolist():
            commands.starts.append((j, self.cores_of(j)))
        cores, pstates = self._changed
        changed = kernels.changed_pstates(t, cores, pstates) if self.named else 0
        if changed:
            commands.pstates = dict(zip(cores[:changed].tolist(), pstates[:changed].tolist(), strict=True))
        return commands

    def confirm(self, pstates: dict[int, int]) -> None:
        """Take note that the simulator has put cores into P-states."""
        if pstates:
            self.tables.core_pstate[list(pstates)] = list(pstates.values())

    def cores_of(self, job: int) -> Ints:
        """Return the cores of a started job in ascending order; none where they have no names."""
        row = self.tables.jobs[job]
        first = row["first"]
        cores: Ints = self.tables.allocation[first : first + row["size"]].copy()
        cores.sort()
        return cores

    def make_room(self) -> None:
        """Let the log have room for one more instant."""
        log = self.tables.log
        used = int(self.tables.clock["logged"][0])
        if len(log) and len(log) < used + self._enough:
            grown = np.zeros(2 * (used + self._enough), log.dtype)
            grown[:used] = log[:used]
            self.tables = self.tables._replace(log=grown)


def countable(platform: Platform, jobs: Workload) -> bool:
    """Tell whether it makes no difference which cores the jobs have."""
    return platform.processors == 1 and not (jobs.memory.any() or jobs.bandwidth.any() or jobs.gpus.any())


def fill_jobs(rows: Rows, jobs: Workload) -> None:
    """Write the requests of a workload into rows of jobs."""
    rows["submit"], rows["size"] = jobs.submit, jobs.size
    rows["requested_time"], rows["requested_ops"] = jobs.requested_time, jobs.requested_ops
    rows["memory"], rows["bandwidth"], rows["gpus"] = jobs.memory, jobs.bandwidth, jobs.gpus
    rows["start"] = rows["finish"] = np.nan
