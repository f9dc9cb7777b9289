"""The cluster and its jobs now: the only object that changes during a run, under whatever driver."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hdeeprm_like.cluster.partitions import NO_DEMAND
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine import core_pstates, lifecycle
from hdeeprm_like.engine.job_rows import Request, countable, fill_job, fill_jobs
from hdeeprm_like.engine.node_sets import NumberedSets, add_demand, most_cores, new_node_sets
from hdeeprm_like.engine.numbers import FIRST, LOW_MEM, LOW_MEM_BW, RANDOM_JOB, REQUESTED, SHORTEST, SMALLEST
from hdeeprm_like.engine.processor_index import rank_all
from hdeeprm_like.engine.running_jobs import BY_START
from hdeeprm_like.engine.state_view import StateView
from hdeeprm_like.engine.tables import (
    KIND_BITS,
    Tables,
    longer,
    make_room,
    new_tables,
)
from hdeeprm_like.errors import PlatformError, WorkloadError
from hdeeprm_like.types import Ints

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


class State(StateView):
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
        if platform.power_cap < np.inf and (whole or platform.partitions is not None):
            where = "platforms with partitions" if platform.partitions is not None else "jobs that run whole on a node"
            raise PlatformError(f"platform {platform.name!r}: a power cap cannot be had with {where}")
        if limits is None:
            if jobs is None:
                raise ValueError("the limits of jobs that are not known must be given")
            limits = jobs.limits()
        self.platform, self.jobs, self._whole = platform, jobs, whole
        self.limits = limits
        self.kills: list[int] = []
        self.known = 0 if jobs is None else len(jobs)
        self.named = named
        asked = 0 if jobs is None or jobs.demands is None else jobs.demands.nodes
        self._places = 1 if jobs is None else int(most_cores(platform, asked, jobs.size).sum()) + 1
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
        self.make_room()

    @property
    def wake_at(self) -> float:
        """When the decision system wants to be called again, in s; infinite for never, and so at each new instant."""
        return float(self.tables.clock["wake_at"][0])

    @wake_at.setter
    def wake_at(self, time: float) -> None:
        self.tables.clock["wake_at"] = time

    @property
    def started_now(self) -> Ints:
        """Indices of the jobs started in this instant, in the order of the decisions."""
        clock = self.tables.clock[0]
        return self.tables.changes[clock["first_start"] : clock["changes"]] >> KIND_BITS

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
        if row == len(self.tables.jobs):
            make_room(self.tables, self.known, 0)
        if self.named:
            self.tables.clock["places"] = self._places
        fill_job(self.tables.jobs, row, request)
        return row

    def receive(self, instant: Instant) -> None:
        """Move to the next instant."""
        self.make_room()
        completed = np.asarray(instant.completed, np.int32)
        lifecycle.receive(self.tables, instant.now, completed, len(completed), instant.submitted, instant.arrivals_over)
        self.kills = []

    def drain(self, asked: bool = False) -> Commands:
        """Return what was decided in this instant.

        Args:
            asked: P-states count as changed at once, for whoever has no simulator here that applies them.
        """
        t = self.tables
        clock = t.clock[0]
        lifecycle.log_blocked(t)
        commands = Commands(kills=self.kills, wake_at=self.wake_at)
        if clock["rejected_now"]:
            commands.rejects = t.rejected_now[: clock["rejected_now"]].tolist()
        for j in self.started_now.tolist():
            commands.starts.append((j, self.cores_of(j)))
        changed = core_pstates.changed_pstates(t, self._changed, asked) if self.named and clock["touched"] else 0
        if changed:
            cores, pstates = self._changed.cores[:changed].tolist(), self._changed.pstates[:changed].tolist()
            commands.pstates = dict(sorted(zip(cores, pstates, strict=True)))
        return commands

    def make_room(self) -> None:
        """Let the log and the allocation have room for one more instant."""
        if lifecycle.has_room(self.tables):
            return
        clock = self.tables.clock[0]
        make_room(self.tables, 0, min(int(clock["places"]), int(clock["placed"]) + self.platform.cores))
        while not lifecycle.has_room(self.tables):
            self.tables.log = longer(self.tables.log, 2 * len(self.tables.log), int(clock["logged"]))

    def make_room_for_all(self) -> None:
        """Let the allocation have room for all jobs, for compiled code that does not stop before their end."""
        make_room(self.tables, 0, int(self.tables.clock["places"][0]))
