"""The `State` of a running Slurm: pass the changes between two reads to the decision system as instants.

Each event has the time that Slurm reports, so that the history of the users is what a simulation of the same jobs
would have. A core is one of Slurm's CPUs. They are counted and have no names, so that whatever Slurm does has room:
what the nodes are like beside their CPUs, and which of them a job has, is Slurm's business.

| Slurm shows | the state has |
|---|---|
| a job that waits and may start (eligible, not held) | a waiting job, which came when it became eligible |
| one that is held again, is cancelled or changed while it waits | the waiting job is withdrawn (and comes again) |
| a job that runs | a running job on as many cores as it got |
| one that is over, is requeued or has disappeared | the running job has ended |
| CPUs of nodes that are down or drained | cores that are withdrawn |

All tasks of an array that have not begun are one waiting job, as Slurm has one priority for them.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.ranking import Ranked
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.outside_starts import runs, start_outside, withdraw
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.words import of_cores
from hdeeprm_like.slurm.journal import Past
from hdeeprm_like.slurm.shown import OVER, RUNS, WAITS, Job, Node

END, WITHDRAW, SUBMIT, START = range(4)  # what happens to a job, in the order in which it does at one time
SHORTEST = 1e-3  # s that a job counts as having run which ended in the second in which it began
NO_LIMITS = JobLimits(1.0, 1.0, 1.0, 1.0)  # of requests, which only observations look at
MOST_ROWS = 100_000  # jobs of a state; then a new one takes its place, so that memory does not grow for ever


class Event(NamedTuple):
    """Something that happened to a job at a time, in s since 1970."""

    time: float
    kind: int
    job: Job


@dataclass
class Known:
    """A job that is in the state: its row there, and how Slurm showed it last."""

    row: int
    shown: Job


@dataclass
class Look:
    """What a look found.

    Attributes:
        started: jobs that have begun to run since the last look. over: those that have ended since then, or were
            cancelled. `anew`: numbers that now belong to other jobs, as after a loss of Slurm's state.
    """

    started: list[Job] = field(default_factory=list)
    over: list[Job] = field(default_factory=list)
    anew: set[int] = field(default_factory=set)


class Follower:
    """Keeps the state of the machine, or of some of its partitions, as Slurm shows it.

    Attributes:
        known: the waiting and the running jobs by number. system: the decision system, which computes the order.
    """

    system: DecisionSystem

    def __init__(self, policy: Baseline, partitions: Collection[str] = (), past: Past | None = None) -> None:
        """Wait for the first look.

        Args:
            policy: that orders the jobs. partitions: their nodes and jobs are the machine; none for all.
            past: jobs that were over before.
        """
        self.policy = policy
        self.partitions = frozenset(partitions)
        self.known: dict[int, Known] = {}
        self._past = past or Past()
        self._over = {_life(job) for job in self._past}  # jobs that were over when they were last shown
        self._users: dict[str, int] = {}
        self._cores = 0
        self._began = 0.0  # s since 1970 when the state's clock shows 0
        self._looked = False

    def look(self, now: float, jobs: Iterable[Job], nodes: Mapping[str, Node]) -> Look:
        """Bring the state to the present; *now* in s since 1970."""
        mine = [node for node in nodes.values() if self._is_mine(node.partitions)]
        cores = max(sum(node.cpus for node in mine), 1)
        away = sum(node.cpus for node in mine if not node.serves)
        shown = {job.number: job for job in jobs if self._is_mine(job.partitions)}
        found, past, running = Look(), [], set()
        if not self._looked or cores != self._cores or self.system.state.known > MOST_ROWS:
            running = {number for number, known in self.known.items() if known.shown.phase == RUNS}
            past = self._begin_anew(cores, now, shown.values())
        self._tell(past + self._events(now, shown, found), now)
        self._instant(now, ())
        found.started = [job for job in found.started if job.number not in running]
        self._withdraw_cores(away)
        return found

    def rank(self) -> tuple[list[int], Ranked]:
        """Return the numbers of the waiting jobs in the policy's order, and the same as rows with keys and reasons."""
        ranked = self._actions.rank(0, self.system.state)
        number_of = {known.row: number for number, known in self.known.items()}
        return [number_of[row] for row in ranked.jobs.tolist()], ranked

    def _is_mine(self, partitions: Iterable[str]) -> bool:
        return not self.partitions or not self.partitions.isdisjoint(partitions)

    def _begin_anew(self, cores: int, now: float, shown: Iterable[Job]) -> list[Event]:
        """Make a new state; return what it is to hear of the jobs that are remembered, under numbers below 0."""
        self._actions = PolicyActions([self.policy])
        mine = [job for job in self._past if self._is_mine(job.partitions)]
        self._began = min([now, *(job.submit for job in (*mine, *shown))])
        state = State(pool(cores), None, limits=NO_LIMITS, named=False, needs=self._actions.needs, log=False)
        self.system = DecisionSystem(state, self._actions)
        self._cores, self._looked = cores, True
        self.known = {}
        return [event for n, job in enumerate(mine, -len(mine)) for event in life_of(job._replace(number=n))]

    def _events(self, now: float, shown: Mapping[int, Job], found: Look) -> list[Event]:
        """Return what happened since the last look."""
        events: list[Event] = []
        for number in [number for number in self.known if number not in shown]:
            events += self._gone(self.known[number].shown, now, found)
        for number, job in shown.items():
            known = self.known.get(number)
            if known is None:
                events += self._come(job, now, found)
            elif known.shown is job:
                continue  # nothing has happened to it
            elif known.shown.submit != job.submit:
                found.anew.add(number)
                events += self._replaced(known.shown, job, now, found)
            elif job.phase == OVER:
                events += self._ended(known.shown, job, now, found)
            elif job.phase == RUNS:
                events += self._runs(known.shown, job, now, found)
            else:
                events += self._waits(known.shown, job, now, found)
        self._over = {_life(job) for job in shown.values() if job.phase == OVER}
        return events

    def _come(self, job: Job, now: float, found: Look) -> list[Event]:
        """Return what happened to a job that the state does not have."""
        if job.phase == WAITS:
            return [Event(job.eligible, SUBMIT, job)] if may_start(job, now) else []
        if job.phase == RUNS:
            found.started.append(job)
            start = begin(job, now)
            return [Event(min(arrival(job), start), SUBMIT, job), Event(start, START, job)]
        if _life(job) in self._over or not job.ran:
            return []
        self._past.append(job)
        found.over.append(job)
        return life_of(job)

    def _waits(self, before: Job, job: Job, now: float, found: Look) -> list[Event]:
        if before.phase == RUNS:  # requeued
            return self._replaced(before, job, now, found)
        if not may_start(job, now):
            return [Event(now, WITHDRAW, before)]
        if (job.cpus, job.limit) != (before.cpus, before.limit):
            return [Event(now, WITHDRAW, before), Event(now, SUBMIT, job)]
        self.known[job.number].shown = job
        return []

    def _runs(self, before: Job, job: Job, now: float, found: Look) -> list[Event]:
        if before.phase == WAITS:
            found.started.append(job)
            return [Event(begin(job, now), START, job)]
        if job.start > before.start + 1.0:  # requeued and started between two looks
            return self._replaced(before, job, now, found)
        self.known[job.number].shown = job
        return []

    def _replaced(self, before: Job, job: Job, now: float, found: Look) -> list[Event]:
        """Return the end of what a number stood for, and then what happened to what it stands for now."""
        at = min(max(arrival(job), before.start if before.phase == RUNS else before.submit), now)
        gone = self._gone(before, at, found)
        return gone + [event._replace(time=max(event.time, at)) for event in self._come(job, now, found)]

    def _ended(self, before: Job, job: Job, now: float, found: Look) -> list[Event]:
        if math.isnan(job.end):
            job = job._replace(end=now)
        found.over.append(job)
        if before.phase == WAITS and not job.ran:
            return [Event(now, WITHDRAW, before)]
        self._past.append(job)
        if before.phase == WAITS:
            found.started.append(job)
            return life_of(job)[1:]
        return life_of(job)[2:]

    def _gone(self, before: Job, at: float, found: Look) -> list[Event]:
        """Return the end of a job that Slurm no longer shows, or shows as another one."""
        found.over.append(before)
        if before.phase == WAITS:
            return [Event(at, WITHDRAW, before)]
        ended = before._replace(phase=OVER, ran=True, end=at)
        self._past.append(ended)
        return [Event(at, END, ended)]

    def _tell(self, events: Sequence[Event], now: float) -> None:
        """Pass events to the decision system in the order of time, one instant for all events of one time."""
        events = sorted(events, key=lambda event: (event.time, event.kind, event.job.number))
        i = 0
        while i < len(events):
            same = i
            while same < len(events) and events[same].time == events[i].time:
                same += 1
            self._instant(min(events[i].time, now), events[i:same])
            i = same

    def _instant(self, time: float, events: Sequence[Event]) -> None:
        state = self.system.state
        ended = []
        first = state.known
        for when, kind, job in events:  # what leaves comes first, as one number may leave and come again
            if kind == SUBMIT:
                self._append(job, when)
            elif kind != START and (known := self.known.pop(job.number, None)) is not None:
                if runs(state.tables, known.row):
                    ended.append(known.row)
                else:
                    withdraw(state.tables, known.row)
        moment = max(time - self._began, state.now)
        self.system.receive(Instant(moment, ended, state.known - first, arrivals_over=False))
        for _, kind, job in events:
            if kind == START and (known := self.known.get(job.number)) is not None:
                start_outside(state.tables, known.row, job.cpus)
                known.shown = job
        if events:
            self._actions.notice(0, state)

    def _append(self, job: Job, when: float) -> None:
        user = self._users.setdefault(job.user, len(self._users) + 1) if job.user else -1
        submit = min(arrival(job), when) - self._began
        row = self.system.state.append(Request(submit, job.cpus, job.limit, job.limit * 1e9, 0.0, 0.0, user=user))
        self.known[job.number] = Known(row, job)

    def _withdraw_cores(self, count: int) -> None:
        """Take so many cores out of service."""
        tables = self.system.state.tables
        serve = np.arange(self._cores) >= count
        for core in np.flatnonzero(of_cores(tables.words, "available") != serve).tolist():
            set_available(tables, core, bool(serve[core]))


def may_start(job: Job, now: float) -> bool:
    """Return whether a waiting job waits only for resources: not held, and without dependencies."""
    return job.priority != 0 and job.eligible <= now


def arrival(job: Job) -> float:
    """Return when a job came, in s since 1970: when it became eligible, but no later than it began."""
    eligible = job.eligible if not math.isnan(job.eligible) else job.submit
    return min(eligible, job.start) if job.phase != WAITS and not math.isnan(job.start) else eligible


def begin(job: Job, now: float) -> float:
    """Return when a job that runs began, in s since 1970."""
    return min(job.start, now) if not math.isnan(job.start) else now


def _life(job: Job) -> tuple[int, float, float]:
    return job.number, job.submit, job.end


def life_of(job: Job) -> list[Event]:
    """Return what happened to a job that ran and is over."""
    start = begin(job, job.end)
    end = max(job.end, start + SHORTEST)
    return [Event(min(arrival(job), start), SUBMIT, job), Event(start, START, job), Event(end, END, job)]
