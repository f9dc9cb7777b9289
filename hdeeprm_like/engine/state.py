"""The state of the cluster and its jobs: the only object that changes during a run, with any driver."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hdeeprm_like import refusals
from hdeeprm_like.cluster.partitions import NO_DEMAND
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.engine import core_pstates, lifecycle
from hdeeprm_like.engine.dates import request_call
from hdeeprm_like.engine.job_lists import Sorted
from hdeeprm_like.engine.job_rows import Request, countable, fill_job, fill_jobs
from hdeeprm_like.engine.node_calls import connect
from hdeeprm_like.engine.node_sets import NumberedSets, add_demand, most_cores, new_node_sets
from hdeeprm_like.engine.numbers import FIRST, LOW_MEM, LOW_MEM_BW, REQUESTED, SHORTEST, SMALLEST
from hdeeprm_like.engine.running_jobs import BY_START
from hdeeprm_like.engine.state_view import StateView
from hdeeprm_like.engine.tables import (
    KIND_BITS,
    Capacity,
    Tables,
    longer,
    make_room,
    new_tables,
)
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Ints

LOGGED = 8  # initial capacity of the log in entries for each job; those never written take no memory
AT_ONCE = 1 << 20  # initial capacity of the allocation in stretches, if the jobs may take that many


class Instant(NamedTuple):
    """Message from simulator to decision system: everything that happened at one time.

    Attributes:
        now: s. completed: job rows. submitted: number of new jobs, the next rows. arrivals_over: no more will arrive.
    """

    now: float
    completed: Sequence[int]
    submitted: int
    arrivals_over: bool


@dataclass
class Commands:
    """Message from decision system to simulator: everything decided at one time.

    Attributes:
        starts: job rows and their cores, in ascending order. rejects, kills: job rows.
        pstates: core to its new P-state. wake_at: s, infinite for no call.
    """

    starts: list[tuple[int, Ints]] = field(default_factory=list)
    rejects: list[int] = field(default_factory=list)
    kills: list[int] = field(default_factory=list)
    pstates: dict[int, int] = field(default_factory=dict)
    wake_at: float = np.inf


class Needs(NamedTuple):
    """The sorted lists of jobs that a run needs; each an order and the run times of its keys.

    Attributes:
        orders: for the waiting jobs, numbers of ``numbers``. ends: for the running jobs, BY_START or BY_SIZE.
        searched: for the waiting jobs too, but while few wait, readers search these jobs, see ``waiting_queue``.
    """

    orders: Sorted = ()
    ends: Sorted = ()
    searched: Sorted = ()

    def __or__(self, other: "Needs") -> "Needs":
        """Return the union of both."""
        orders = dict.fromkeys(self.orders + other.orders)
        searched = dict.fromkeys(self.searched + other.searched)
        return Needs(
            tuple(orders),
            tuple(dict.fromkeys(self.ends + other.ends)),
            tuple(order for order in searched if order not in orders),
        )


THESIS = Needs(
    tuple((order, REQUESTED) for order in (FIRST, SHORTEST, SMALLEST, LOW_MEM, LOW_MEM_BW)), ((BY_START, REQUESTED),)
)
"""What the job policies of the thesis read, and ends by request."""


def refuse(platform: Platform, jobs: Workload | None, whole: bool, named: bool) -> None:
    """Raise if a cluster cannot be simulated so, see `State`.

    Raises:
        PlatformError: a power cap with partitions or whole nodes.
        ValueError: cores without names where their number is not enough.
    """
    if not named and not countable(platform, jobs):
        raise ValueError("cores need names unless there is one processor and all jobs request only cores")
    refusals.refuse(refusals.Case().on(platform, whole))


class State(StateView):
    """The state of the cluster and its jobs.

    All decisions read it; it changes by ``receive`` (messages of the simulator) and by job starts.

    Attributes:
        platform: the machine.
        jobs: the jobs to be submitted, None if they become known during the run.
        limits: the largest request of a single job, for scaling.
        tables: the arrays behind it, see ``Tables``.
        known: rows of ``tables.jobs`` that hold a job, submitted or not.
        kills: job rows to end.
        named: whether the cores of each job are known.
        needs: the sorted lists of jobs that are maintained.
        whole: whether one node must take all cores of a job.
        knows_run_times: whether actual run times are known, as in the embedded simulator.
    """

    def __init__(
        self,
        platform: Platform,
        jobs: Workload | None,
        seed: int = 0,
        log: bool = True,
        limits: JobLimits | None = None,
        whole: bool = False,
        named: bool = True,
        needs: Needs = THESIS,
        epoch: float = 0.0,
    ) -> None:
        """Make an idle cluster.

        Args:
            jobs: the jobs to be submitted, None if they become known during the run (see ``append``).
            seed: of the random policies. needs: which sorted lists of jobs to maintain.
            epoch: s on the trace's clock at simulation time 0; F1 to F4 use it.
            log: whether to keep a log. limits: required if *jobs* is None.
            whole: whether one node must take all cores of a job; jobs too large for any node are then rejected.
            named: False to count cores instead of naming those of each job, which takes the same time for jobs of any
            size. Only for one processor, jobs that request only cores, and the textbook's clock.
        """
        refuse(platform, jobs, whole, named)
        if limits is None:
            if jobs is None:
                raise ValueError("the limits of jobs that are not known must be given")
            limits = jobs.limits()
        self.platform, self.jobs, self.whole = platform, jobs, whole
        self.limits = limits
        self.kills: list[int] = []
        self.known = 0 if jobs is None else len(jobs)
        self.named = named
        self.knows_run_times = jobs is not None
        self.needs = needs
        nodes = 0 if jobs is None or jobs.demands is None else jobs.demands.nodes
        self._places = 1 if jobs is None else int(most_cores(platform, nodes, jobs.size).sum()) + 1
        self._sets = None if platform.partitions is None else NumberedSets(platform.partitions, whole)
        self._changed = core_pstates.PstateChanges(
            cores=np.zeros(platform.cores, np.int32),
            pstates=np.zeros(platform.cores, np.int8),
        )
        self.tables: Tables = self._new_tables(seed, log, epoch)
        if jobs is not None:
            fill_jobs(self.tables.jobs, jobs, platform.reference_flops)
        self.make_room()

    def _new_tables(self, seed: int, log: bool, epoch: float) -> Tables:
        """Return the tables of the idle cluster, without the requests of the jobs."""
        platform, needs = self.platform, self.needs
        counted = not self.named and self.jobs is not None and bool(self.jobs.size.all())  # each job holds a core
        room = Capacity(
            jobs=self.known,
            running=min(self.known, platform.cores) if counted else self.known,
            places=min(self._places, max(platform.cores, AT_ONCE)) if self.named else 0,
            log=4 * platform.cores + LOGGED * self.known if log else 0,
        )
        sets = new_node_sets(platform, self.jobs, self._sets)
        tables = new_tables(platform, room, (needs.orders + needs.searched, needs.ends), seed, sets)
        tables.clock["whole"], tables.clock["epoch"] = self.whole, epoch
        tables.clock["sorted"] = tables.clock["always"] = len(needs.orders)
        tables.clock["places"] = self._places if self.named else 0
        if platform.partitions is not None:
            tables.clock["partitioned"] = 1
            connect(tables)
        return tables

    @property
    def wake_at(self) -> float:
        """When the decision system wants its next call, in s; infinite for none; reset at each new instant."""
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
        """Raise if a required sorted list is not maintained; compiled code would read another list instead.

        Raises:
            ValueError: a list is missing.
        """
        searched = set(needs.searched) - set(self.needs.orders) - set(self.needs.searched)
        missing = [*(set(needs.orders) - set(self.needs.orders)), *(set(needs.ends) - set(self.needs.ends)), *searched]
        if missing:
            raise ValueError(f"{who}: the state keeps no list of jobs for {missing[0]}; name it in what State needs")

    def append(self, request: Request) -> int:
        """Make room for the job submitted next after the known ones; return its row.

        If cores are counted it must request only cores.

        Raises:
            WorkloadError: it requests an unknown partition.
            OptionsError: it requests several nodes, but one must take all of its cores.
        """
        row, demand = self.known, request.demand
        if self._sets is None and demand is not NO_DEMAND and (why := demand.refusal()) is not None:
            raise WorkloadError(why)
        if self._sets is not None:
            add_demand(self.tables.node_sets, self._sets, row, request.size, demand)
        self._places += int(most_cores(self.platform, demand.nodes, np.array([request.size]))[0])
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

    def drain(self, requested: bool = False) -> Commands:
        """Return the decisions of this instant.

        Args:
            requested: count P-states as changed at once, and calls as requested, for drivers without a simulator that
                applies them.
        """
        t = self.tables
        clock = t.clock[0]
        lifecycle.log_blocked(t)
        call = request_call(t, self.wake_at) if requested else self.wake_at
        commands = Commands(kills=self.kills, wake_at=call)
        if clock["rejected_now"]:
            commands.rejects = t.rejected_now[: clock["rejected_now"]].tolist()
        for j in self.started_now.tolist():
            commands.starts.append((j, self.cores_of(j)))
        changed = core_pstates.changed_pstates(t, self._changed, requested) if self.named and clock["touched"] else 0
        if changed:
            cores, pstates = self._changed.cores[:changed].tolist(), self._changed.pstates[:changed].tolist()
            commands.pstates = dict(sorted(zip(cores, pstates, strict=True)))
        return commands

    def make_room(self) -> None:
        """Grow the log and the allocation for one more instant."""
        if lifecycle.has_room(self.tables):
            return
        clock = self.tables.clock[0]
        make_room(self.tables, 0, min(int(clock["places"]), int(clock["placed"]) + self.platform.cores))
        while not lifecycle.has_room(self.tables):
            self.tables.log = longer(self.tables.log, 2 * len(self.tables.log), int(clock["logged"]))

    def make_room_for_all(self) -> None:
        """Grow the allocation for all jobs, for compiled code that runs to their end without a stop."""
        make_room(self.tables, 0, int(self.tables.clock["places"][0]))
