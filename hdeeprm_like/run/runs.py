"""Batches of runs for Python: loading of jobs, and decisions on several threads."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.cluster.partitions import no_demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.observations.view import OBSERVATIONS
from hdeeprm_like.decision.presets import NO_LIMITS, Space
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.compiled import direct
from hdeeprm_like.engine.job_lists import BLOCK
from hdeeprm_like.engine.job_rows import countable, fill_jobs
from hdeeprm_like.engine.node_sets import DEMAND, NumberedSets, most_cores, refuse_demands, take_sets
from hdeeprm_like.engine.tables import JOB
from hdeeprm_like.engine.tasks import TASK, fill_tasks
from hdeeprm_like.engine.words import STRETCH
from hdeeprm_like.errors import AgentError, OptionsError, WorkloadError
from hdeeprm_like.run.batch import (
    EPISODE,
    FIGURES,
    LOST,
    NO_DECISION,
    REST,
    RULES,
    STAY,
    Batch,
    JobPool,
    advance_some,
    first_illegal,
)
from hdeeprm_like.run.loop import BEGIN, Run
from hdeeprm_like.run.memory import are_written_first, arrays_of, put_notes_together, stack, with_arrays
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Clock, Simulator, refuse_unknown
from hdeeprm_like.types import Bools, Floats, Ints

LEAST_JOBS = 2
OF_EPISODES = (  # the arrays of a batch that have a row for each run and lie outside the blocks
    "episodes", "draws", "limits", "masks", "rewards", "times", "terminated", "truncated", "ended", "final", "returns",
    "lengths", "figures",
)  # fmt: skip


def blank(jobs: int) -> Workload:
    """Return jobs without requests, as placeholders."""
    none, names = np.zeros(jobs), ("",) * jobs
    figures: dict[str, Any] = dict.fromkeys(
        ("submit", "requested_time", "requested_ops", "ops", "delay", "walltime"), none
    )
    return Workload(ids=names, profiles=names, size=none.astype(np.int64), capacity=0, **figures)


def shows_cores(space: Space, platform: Platform, jobs: Workload | None, clock: Clock) -> bool:
    """Return whether something reads which cores a job has, so that cores cannot just be counted.

    Args:
        jobs: None for jobs that request only cores.
    """
    kind = space.observation
    blind = isinstance(kind, str) and not OBSERVATIONS[kind].shows_cores
    return clock == "batsim" or not blind or not countable(platform, jobs)


class Runs:
    """B runs of one decision space on one platform, advanced together.

    The jobs of an episode are rows of a *job pool*: windows of a trace share one, generated jobs are put into it first.

    Attributes:
        observations: (B, ...) float32, masks: (B, A) which actions are legal now, rewards: (B,) of the last decisions,
        now: (B,) clocks in s; written in place.
        terminated, truncated, ended, final, returns, lengths, figures, draws, episodes: of ``Batch``.
        job_pool: the jobs for episodes, as they are before a run.
    """

    def __init__(
        self,
        space: Space,
        platform: Platform,
        count: int,
        clock: Clock = "batsim",
        threads: int = 1,
        named: bool = True,
    ) -> None:
        """Allocate *count* runs, none of which has begun; what ended stays as it is (`end_episodes`).

        Args:
            threads: number of threads that share the runs. named: of `State`.

        Raises:
            OptionsError: a part of the space is a user's own.
        """
        self.space = space
        self.platform = platform
        self.count = count
        self._sets = None if platform.partitions is None else NumberedSets(platform.partitions, space.whole)
        self.job_pool = self._room_for_jobs(0)
        self._named = named
        self._shelf = 0  # rows of the pool per place, if jobs are put into it
        self._rules = np.zeros(1, RULES)
        self._clock: Clock = clock
        self._rules["ends"], self._rules["cores"] = STAY, platform.cores
        sample = space.sample(platform)
        self.action_names = sample.actions.names
        self.shape = sample.observer.shape if sample.observer is not None else (0,)
        self.observations: Floats = np.zeros((count, *self.shape), np.float32)
        self.final: Floats = np.zeros_like(self.observations)
        self.masks: Bools = np.ones((count, len(self.action_names)), np.bool_)
        self.rewards, self.now, self.returns = (np.zeros(count) for _ in range(3))
        self.lengths: Ints = np.zeros(count, np.int64)
        self._actions: Ints = np.zeros(count, np.int64)
        self.figures: Floats = np.zeros((count, len(FIGURES)))
        self.terminated, self.truncated, self.ended = (np.zeros(count, np.bool_) for _ in range(3))
        self.draws = np.zeros(count, np.uint64)
        self._scale = NO_LIMITS  # of the arrays as they are before a run
        self._limits: Floats = np.zeros((count, 4))
        self.episodes = np.zeros(count, EPISODE)
        self.episodes["over"] = 1
        self._runs: list[Run] = []
        self._stacked: list[NDArray[Any]] = []
        self._ends = np.linspace(0, count, min(threads, count) + 1).astype(np.int64).tolist()
        self._batch = self._room_for(LEAST_JOBS, LEAST_JOBS)
        self._room = LEAST_JOBS, LEAST_JOBS
        self._advance_some = direct(advance_some, self._batch, self.job_pool, 0, 0)
        self._forgiving = sample.actions.forgiving
        self._first_illegal = direct(first_illegal, self._batch, self._forgiving)
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 and count > 1 else None

    @property
    def over(self) -> Bools:
        """(B,) which episodes are over."""
        over: Bools = self.episodes["over"] != 0
        return over

    @property
    def total_rewards(self) -> Floats:
        """(B,) sum of the rewards of each episode."""
        rewards: Floats = self.episodes["reward"]
        return rewards

    def put(self, place: int, jobs: Workload) -> int:
        """Put the jobs of the next episode of a place into the pool; return the row of the first one.

        Raises:
            WorkloadError: a job requests an unknown partition, or nodes on a platform without partitions.
            OptionsError: one requests several nodes, but must be on one.
        """
        if len(jobs) > self._shelf:
            wider = max(len(jobs), 2 * self._shelf, LEAST_JOBS)
            pool = self._room_for_jobs(wider * self.count)
            for (_, old), (_, new) in zip(self.job_pool.fields(), pool.fields(), strict=True):
                if len(old):
                    new.reshape(self.count, wider)[:, : self._shelf] = old.reshape(self.count, self._shelf)
            self.episodes["first"] += np.arange(self.count) * (wider - self._shelf)
            self.job_pool, self._shelf = pool, wider
        first = place * self._shelf
        self._fill(slice(first, first + len(jobs)), jobs)
        return first

    def load(self, place: int, first: int, jobs: int, origin: float, seed: int, limits: JobLimits) -> None:
        """Set the next episode of a place.

        Args:
            first: row of its first job in the pool. jobs: number of jobs. origin: s on their clock at its time 0.
            seed: of the random policies. limits: the largest requests, which scale observations.
        """
        size, nodes = (
            self.job_pool.jobs["size"][first : first + jobs],
            self.job_pool.demands["nodes"][first : first + jobs],
        )
        self.make_room(jobs, int(most_cores(self.platform, nodes, size).sum()))
        e = self.episodes[place]
        e["first"], e["jobs"], e["origin"], e["seed"] = first, jobs, origin, seed
        self._limits[place] = astuple(limits)

    def end_episodes(self, ends: int, max_steps: int | None) -> None:
        """Say how episodes end, before the first one begins.

        Args:
            ends: what to do then, of ``RULES``. max_steps: limit at which an episode is truncated, None for never.
        """
        self._rules["ends"], self._rules["max_steps"] = ends, max_steps or 0

    def draw_windows(self, jobs: Workload, length: int, limits: JobLimits | None) -> None:
        """Make episodes windows of some jobs, before the first one begins.

        Args:
            jobs: the whole. length: jobs of a window. limits: as in `load`, None for its own.

        Raises:
            WorkloadError, OptionsError: as in `put`.
        """
        self.job_pool = self._room_for_jobs(len(jobs))
        self._fill(slice(None), jobs)
        rules = self._rules
        rules["starts"], rules["window"], rules["limited"] = len(jobs) - length + 1, length, limits is not None
        if limits is not None:
            self._scale = limits
            self._batch = self._room_for(*self._room)

    def begin(self, places: Ints) -> bool:
        """Run the next episodes of some places to their first decisions; return False if one has none."""
        self._actions[:] = REST
        self._actions[places] = BEGIN
        return self._advance() >= 0

    def step(self, actions: Ints) -> int:
        """Apply (B,) actions where episodes are not over, and run to the next decisions; return how many ended.

        Raises:
            AgentError: there is no such action, or it is illegal in a space that does not forgive that.
            WorkloadError: none of many windows has a decision.
        """
        self._actions[:] = actions
        place = self._first_illegal(self._batch, self._forgiving)
        if place >= 0:
            action, known = int(self._actions[place]), len(self.action_names)
            name = f" ({self.action_names[action]}), which is not legal now" if 0 <= action < known else ""
            raise AgentError(f"environment {place}: action {action}{name or f'; there are {known}, numbered from 0'}")
        ended = self._advance()
        if ended < 0:
            raise WorkloadError(NO_DECISION)
        return ended

    @property
    def rows(self) -> Batch:
        """The batch that compiled functions read and write."""
        return self._batch

    def run(self, place: int) -> Run:
        """Return one run."""
        return self._runs[place]

    def room_like(self, other: "Runs") -> None:
        """Take the room of other runs of the same space on the same platform, so that they can be forked into these.

        What runs here is lost.
        """
        theirs = other._sets, other._scale, other._room
        if theirs != (self._sets, self._scale, self._room):
            self._sets, self._scale, self._room = theirs
            self._batch = self._room_for(*self._room)
        self.episodes["over"] = 1

    def fork(self, sources: Ints, places: Ints, of: "Runs | None" = None) -> None:
        """Copy running episodes: each of *places* goes on as the one of *sources* would, with the same random numbers.

        All arrays of a run lie in one block of memory, so a fork is one copy of some hundred kilobytes.

        Args:
            of: the runs that *sources* are places of, as in `room_like`; None for these ones.

        Raises:
            ValueError: the runs have not the same arrays, or a place is both read and written.
        """
        other = self if of is None else of
        mine, theirs = self._batch, other._batch
        if mine.blocks.shape[1] != theirs.blocks.shape[1] or self._sets is not other._sets:
            raise ValueError("fork: the runs have arrays of other lengths; call room_like first")
        if other is self and np.intersect1d(sources, places).size:
            raise ValueError("fork: a place cannot be read and written at once")
        for source, place in zip(sources.tolist(), places.tolist(), strict=True):
            mine.blocks[place] = theirs.blocks[source]
        for name in OF_EPISODES:
            getattr(mine, name)[places] = getattr(theirs, name)[sources]
        self.observations[places] = other.observations[sources]

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def make_room(self, jobs: int, places: int) -> None:
        """Grow each run to the given numbers of jobs and of places, at least to twice its size."""
        if jobs <= self._room[0] and places <= self._room[1] and self._knows_all_sets():
            return
        wanted = [old if new <= old else max(new, 2 * old) for new, old in zip((jobs, places), self._room, strict=True)]
        self._room = wanted[0], wanted[1]
        for run in self._runs:  # a longer ring of messages begins at its first one
            if isinstance(run.clock, BatsimClock):
                run.clock.messages[:] = np.roll(run.clock.messages, -int(run.clock.talk["first_message"][0]))
                run.clock.talk["first_message"] = 0
        before = self._stacked
        self._batch = self._room_for(*wanted)
        for old, new in zip(before, self._stacked, strict=True):
            new[tuple(slice(length) for length in old.shape)] = old

    def _room_for_jobs(self, jobs: int) -> JobPool:
        """Return a pool with capacity for *jobs* jobs."""
        return JobPool(np.zeros(jobs, JOB), np.zeros(jobs, TASK), np.zeros(0 if self._sets is None else jobs, DEMAND))

    def _fill(self, rows: slice, jobs: Workload) -> None:
        """Write jobs as they are before a run into rows of the pool."""
        if self.platform.routes is not None:
            refuse_unknown(jobs)
        fill_jobs(self.job_pool.jobs[rows], jobs, self.platform.reference_flops)
        fill_tasks(self.job_pool.tasks[rows], jobs)
        if self._sets is not None:
            demands = jobs.demands or no_demands(len(jobs))
            self.job_pool.demands[rows] = self._sets.rows(demands, jobs.size)
        elif jobs.demands is not None:
            refuse_demands(jobs.ids, jobs.demands)

    def _knows_all_sets(self) -> bool:
        """Return whether the runs know each set of nodes that a job in the pool requests."""
        if self._sets is None:
            return True
        return len(self._runs[0].core.tables.node_sets.members) == len(self._sets.members)

    def _advance(self) -> int:
        """Return how many episodes have ended, or LOST."""
        given = self._batch, self.job_pool
        if self._pool is None:
            return self._advance_some(*given, 0, self.count)
        others = [self._pool.submit(self._advance_some, *given, *ends) for ends in pairwise(self._ends[1:])]
        ended = [self._advance_some(*given, 0, self._ends[1]), *(done.result() for done in others)]
        return sum(ended) if min(ended) >= 0 else LOST

    def _room_for(self, jobs: int, places: int) -> Batch:
        """Return runs that have not begun, with the arrays of each in one block of memory."""
        fresh = self._fresh(jobs, places)
        # the last two arrays are the observation and the mask, whose place is with those of all other runs
        arrays, longer = list(arrays_of(fresh))[:-2], list(arrays_of(self._fresh(jobs + BLOCK, places + 1)))
        # arrays that grow with the number of jobs are written before they are read
        pairs = zip(are_written_first(fresh), arrays, longer, strict=False)
        unread = [first or one.shape != two.shape for first, one, two in pairs]
        blocks, stacked, fixed = stack(arrays, unread, self.count)
        self._stacked = stacked = [*stacked, self.observations.reshape(self.count, -1), self.masks]
        self._runs = [with_arrays(fresh, iter([many[place] for many in stacked])) for place in range(self.count)]
        put_notes_together(self._runs)
        return Batch(
            first=self._runs[0],
            runs=np.array([run.address for run in self._runs]),
            blocks=blocks,
            fresh=blocks[0, :fixed].copy(),
            rules=self._rules,
            episodes=self.episodes,
            draws=self.draws,
            limits=self._limits,
            actions=self._actions,
            masks=self.masks,
            rewards=self.rewards,
            times=self.now,
            terminated=self.terminated,
            truncated=self.truncated,
            ended=self.ended,
            final=self.final.reshape(self.count, -1),
            returns=self.returns,
            lengths=self.lengths,
            figures=self.figures,
        )

    def refuse(self, play: Play) -> None:
        """Raise an OptionsError if a part of a run is a user's own."""
        if not play.is_built_in:
            raise OptionsError("a part of the decision space is no built-in one, which runs side by side need")

    def _fresh(self, jobs: int, places: int) -> Run:
        """Return a run that has not begun."""
        state = self.space.state(self.platform, blank(jobs), log=False, limits=self._scale, named=self._named)
        if self._sets is not None:
            take_sets(state.tables.node_sets, self._sets, places + 1)
        state.tables.clock["places"] = places  # as if of the jobs that are not known yet, for what is sized by it
        play = Play(Simulator(state, blank(jobs), self._clock), self.space.system(state))
        self.refuse(play)
        state.tables.clock["places"] = 0  # capacity is already sufficient for all
        state.tables.allocation = np.zeros(places if self._named else 0, STRETCH)
        return play.run
