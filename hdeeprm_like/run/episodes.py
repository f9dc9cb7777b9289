"""Episodes for learning: fragments of a workload, and runs of them on the embedded simulator."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from hdeeprm_like.cluster.metrics import bounded_slowdown, load
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.loop import Run
from hdeeprm_like.run.observed import ObservedRuns
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.runs import Runs, shows_cores
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.types import Floats

GROUP = 5  # fragments of a stretch: three for training, one held out, one for validation


def fragment(workload: Workload, first: int, jobs: int) -> Workload:
    """Return consecutive jobs of a workload; the clock starts with the first job."""
    part = workload.take(slice(first, first + jobs))
    return replace(part, submit=part.submit - part.submit[0])


def stretched(jobs: Workload, cores: int, load: float, reference_flops: float = 1.0) -> Workload:
    """Return jobs with submissions scaled in time to request a share *load* of *cores* cores.

    Args:
        reference_flops: flop/s of a core, for jobs that compute.
    """
    span = float(jobs.submit[-1] - jobs.submit[0])
    if span <= 0.0:
        return jobs
    seconds = np.where(jobs.delay >= 0.0, jobs.delay, jobs.ops / reference_flops)
    present = float((seconds * jobs.size).sum()) / (cores * span)
    return replace(jobs, submit=np.floor((jobs.submit - jobs.submit[0]) * present / load))


def demand(workload: Workload) -> int:
    """Return the most cores busy at once if every job began on arrival and ran for its requested time."""
    return int(load(workload.submit, workload.submit + workload.requested_time, workload.size)[1].max())


@dataclass(frozen=True, eq=False)
class Fragments:
    """Fragments of a workload by number, the same for the same seed.

    The workload is cut into stretches of five fragments. Training fragments begin in the first three fifths of a
    stretch, as far as they stay within; the fourth is held out, for the reported results; the last is for validation:
    the choice of agents and their options. So all cover quiet and busy times, and no job serves two purposes.

    Attributes:
        workload: the whole. jobs: of a fragment. seed: of the places where training fragments begin.
        candidates: each training fragment is the busiest of this many, since quiet times teach little.
        compression: the jobs of each training fragment arrive faster by a factor up to this; the factor is drawn
        log-uniformly, so that agents see many load levels even if the workload has few.
    """

    workload: Workload
    jobs: int
    seed: int = 0
    candidates: int = 1
    compression: float = 1.0

    def __post_init__(self) -> None:
        if self.candidates < 1:
            raise OptionsError(f"candidates is {self.candidates}; at least 1 is needed")
        if not 1.0 <= self.compression < np.inf:
            raise OptionsError(f"compression is {self.compression}; a factor of at least 1 is needed")
        if self.jobs < 1 or not self.stretches:
            raise OptionsError(
                f"fragments of {self.jobs} jobs do not fit into {len(self.workload)} jobs; {GROUP} must fit in"
            )

    @property
    def stretches(self) -> int:
        """Number of stretches, and so of held-out and of validation fragments."""
        return len(self.workload) // (GROUP * self.jobs)

    def __call__(self, number: int) -> Workload:
        """Return a training fragment."""
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
        busiest = max((self._draw(rng) for _ in range(self.candidates)), key=demand)
        return replace(busiest, submit=busiest.submit / self.compression ** rng.random())

    def held_out(self, number: int) -> Workload:
        """Return a held-out fragment; numbered in the order of the workload, modulo their number."""
        return fragment(self.workload, self._first(number % self.stretches) + (GROUP - 2) * self.jobs, self.jobs)

    def validation(self, number: int) -> Workload:
        """Return a validation fragment, numbered likewise."""
        return fragment(self.workload, self._first(number % self.stretches) + (GROUP - 1) * self.jobs, self.jobs)

    def _draw(self, rng: np.random.Generator) -> Workload:
        stretch = int(rng.integers(self.stretches))
        return fragment(self.workload, self._first(stretch) + int(rng.integers((GROUP - 3) * self.jobs + 1)), self.jobs)

    def _first(self, stretch: int) -> int:
        return stretch * GROUP * self.jobs


@dataclass(frozen=True, eq=False)
class Plays:
    """Runs of episodes by number: the *new_episode* and *evaluation* arguments of ``learning.training.train``.

    Attributes:
        platform: the machine. workload_of: function from number to the jobs of an episode.
        space: observation, actions and reward.
        limits_of: the workload whose largest requests scale observations; None for each episode's own.
        seed: of the random policies.
        alike: number of consecutive episodes with the same jobs.
        clock: Batsim's, or the textbook's.
    """

    platform: Platform
    workload_of: Callable[[int], Workload]
    space: Space
    limits_of: Workload | None = None
    seed: int = 0
    alike: int = 1
    clock: Clock = "batsim"
    _runs: dict[int, Runs] = field(default_factory=dict, init=False, repr=False)  # by batch size

    def __call__(self, number: int) -> Play:
        """Return an episode at its beginning."""
        workload = self.workload_of(number // self.alike)
        limits = self.limits_of.limits() if self.limits_of is not None else None
        state = self.space.state(self.platform, workload, self.seed + number, log=False, limits=limits)
        return Play(Simulator(state, workload, self.clock), self.space.system(state))

    def batch(self, first: int, count: int) -> Runs | None:
        """Return consecutive episodes as a batch; None if actions or objectives are a user's own.

        They equal the results of `__call__` for each number; the next call reuses their memory.
        """
        if count not in self._runs:
            kind = Runs if isinstance(self.space.observation, str) else ObservedRuns
            try:
                self._runs[count] = kind(self.space, self.platform, count, self.clock)
            except OptionsError:
                return None
        self.load(self._runs[count], first)
        return self._runs[count]

    def runs_to_fork(self, count: int, threads: int = 1) -> Runs:
        """Return room for *count* episodes whose arrays are as small as can be, since forks copy them.

        If no part observes which cores a job has, the cores are counted.

        Raises:
            OptionsError: a part of the space is the user's own Python.
        """
        named = shows_cores(self.space, self.platform, self.limits_of, self.clock)
        return Runs(self.space, self.platform, count, self.clock, threads, named)

    def load(self, runs: Runs, first: int) -> None:
        """Begin consecutive episodes, from the number *first* on, at all places of some runs."""
        for place in range(runs.count):
            number = first + place
            jobs = self.workload_of(number // self.alike)
            limits = (self.limits_of or jobs).limits()
            runs.load(place, runs.put(place, jobs), len(jobs), 0.0, self.seed + number, limits)
        runs.begin(np.arange(runs.count))


def finished(run: Run) -> tuple[Floats, Floats, Floats]:
    """Return when the finished jobs of an episode were submitted, started and finished, in s."""
    jobs = int(run.simulation.sim["jobs"][0])
    tasks, submit = run.simulation.tasks[:jobs], run.core.tables.jobs["submit"][:jobs]
    done = np.isfinite(tasks["finish"])
    return submit[done], tasks["start"][done], tasks["finish"][done]


def mean_slowdown(run: Run) -> float:
    """Return the mean slowdown of the finished jobs (thesis 5.2.3); lower is better."""
    submit, start, finish = finished(run)
    return float(np.mean((finish - submit) / np.maximum(finish - start, 1e-5)))


def mean_bounded_slowdown(run: Run) -> float:
    """Return the mean bounded slowdown of the finished jobs; 0 if there is none."""
    submit, start, finish = finished(run)
    return float(bounded_slowdown(np.maximum(start - submit, 0.0), finish - start).mean()) if len(submit) else 0.0


def mean_wait(run: Run) -> float:
    """Return the mean wait of the finished jobs in s; 0 if there is none."""
    submit, start, _ = finished(run)
    return float(np.maximum(start - submit, 0.0).mean()) if len(submit) else 0.0


def makespan(run: Run) -> float:
    """Return the time of the last finish in s; 0 if there is none."""
    return float(np.max(finished(run)[2], initial=0.0))
