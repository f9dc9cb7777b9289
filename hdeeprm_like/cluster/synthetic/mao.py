"""The workload model of DeepRM (Mao et al.): short and long jobs with random arrivals in time steps."""

from dataclasses import dataclass, replace

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import ABOVE_0, FROM_0, PROBABILITY, Jobs, check, check_range, plain_jobs
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Ints
from hdeeprm_like.values import COUNT, Number, Whole

Range = tuple[int, int]  # both ends included
LARGEST = 1_000_000  # limit of cores, units and steps
KINDS = {
    "arrival": Number(0.0, 1.0, above=True, noun="probability"),
    **dict.fromkeys(("long", "cores_dominant"), PROBABILITY),
    "step": ABOVE_0,
    "memory_unit": FROM_0,
    "capacity": COUNT,
}


@dataclass(frozen=True)
class Mao:
    """Lengths in steps, sizes in cores; by default there are two resources, cores and units of memory.

    Attributes:
        arrival: probability that a job arrives in a step.
        long: probability that a job is long.
        short_length, long_length: steps, uniform.
        size: cores, uniform, of a machine without a second resource; None if each job has a dominant resource.
        dominant, other: amount of the dominant resource and of the other one, uniform.
        cores_dominant: probability that cores are the dominant resource.
        capacity: cores of the machine, and units of its memory.
        steps: length of an episode; later arrivals are left out. None for no end.
        step: s.
        memory_unit: MB; a job's units are spread evenly over its cores.

    Source: Mao et al., "Resource Management with Deep Reinforcement Learning", HotNets 2016; Cunha's dissertation,
    2.3.1 and 5.1.
    """

    arrival: float = 0.3
    long: float = 0.2
    short_length: Range = (1, 3)
    long_length: Range = (10, 15)
    size: Range | None = None
    dominant: Range = (5, 10)
    other: Range = (1, 2)
    cores_dominant: float = 0.5
    capacity: int = 10
    steps: int | None = 50
    step: float = 1.0
    memory_unit: float = 1.0

    def __post_init__(self) -> None:
        check("mao", self, KINDS if self.steps is None else KINDS | {"steps": Whole(1, LARGEST)})
        for name in ("short_length", "long_length", "size", "dominant", "other"):
            if (ends := getattr(self, name)) is not None:
                check_range("mao", name, ends, 1, LARGEST)

    def on(self, nodes: int) -> "Mao":
        """Return these parameters for another machine; job sizes stay."""
        return replace(self, capacity=nodes)

    def draw(self, jobs: int | None, rng: np.random.Generator) -> Jobs:
        """Draw *jobs* jobs, or all of an episode; fewer if the episode ends before.

        Raises:
            WorkloadError: neither a number of jobs nor a number of steps is given, or no job arrives.
        """
        if jobs is None and self.steps is None:
            raise WorkloadError("mao: jobs or steps: one of them is needed")
        most = self.steps if jobs is None else jobs
        assert most is not None
        arrival_rng, length_rng, size_rng = rng.spawn(3)
        step = np.cumsum(arrival_rng.geometric(self.arrival, most)) - 1
        step = step[: np.searchsorted(step, self.steps)] if self.steps is not None else step
        if not len(step):
            raise WorkloadError(f"mao: no job arrives in {self.steps} steps; try another seed or more steps")
        length = self._lengths(most, length_rng)[: len(step)]
        cores, units = self._sizes(most, size_rng)
        drawn = plain_jobs(
            step * self.step, length * self.step, cores[: len(step)], capacity=self.capacity, origin=str(self)
        )
        return replace(drawn, memory=(units / cores)[: len(step)] * self.memory_unit)

    def _lengths(self, jobs: int, rng: np.random.Generator) -> Ints:
        """Return (J,) steps."""
        long = rng.random(jobs) < self.long
        return np.where(long, _uniform(self.long_length, jobs, rng), _uniform(self.short_length, jobs, rng))

    def _sizes(self, jobs: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Return (J,) cores and (J,) units of memory."""
        if self.size is not None:
            return _uniform(self.size, jobs, rng), np.zeros(jobs, np.int64)
        dominant, other = _uniform(self.dominant, jobs, rng), _uniform(self.other, jobs, rng)
        cores_dominant = rng.random(jobs) < self.cores_dominant
        return np.where(cores_dominant, dominant, other), np.where(cores_dominant, other, dominant)


def _uniform(ends: Range, jobs: int, rng: np.random.Generator) -> Ints:
    return rng.integers(ends[0], ends[1], size=jobs, endpoint=True)


def scenario(processors: int, longest: int, largest: int) -> Mao:
    """Return the parameters of one row of the scenarios: episodes of 100 steps, cores only.

    Short jobs last 1 to d/5 steps and long ones 2d/3 to d, where d is the *longest*. Sizes go from half the *largest*
    to the largest; the text says half the processors to all of them, which would leave that column without a meaning
    (scenario 3 has 38 processors and jobs of at most 32).

    Source: Cunha and Chaimowicz, "On the Impact of MDP Design for Reinforcement Learning Agents in Resource
    Management", 2021, section 5, and the dissertation, 5.2 and table 5.3.
    """
    return Mao(
        short_length=(1, longest // 5),
        long_length=(2 * longest // 3, longest),
        size=(largest // 2, largest),
        capacity=processors,
        steps=100,
    )


SCENARIOS = (
    *((10, 15, 10), (10, 48, 10), (38, 15, 32), (38, 33, 32), (38, 48, 32)),
    *((64, 15, 64), (64, 33, 32), (64, 33, 64), (64, 48, 32), (64, 48, 64)),
)
SHORT = Mao(short_length=(1, 9), long_length=(32, 48), size=(16, 32), capacity=64, steps=100)

MAO: dict[str, Mao] = {
    "dissertation": Mao(),
    "deeprm": Mao(arrival=0.7),
    **{f"scenario-{number}": scenario(*row) for number, row in enumerate(SCENARIOS, start=1)},
    "short": SHORT,
    "long": replace(SHORT, arrival=0.03, short_length=(1, 90), long_length=(320, 480), steps=1000),
}
"""Presets: 5.1 of the dissertation; DeepRM as published; the ten scenarios; table 5.4 of the dissertation, which names
no machine (we use 64 processors, the largest of the scenarios)."""
