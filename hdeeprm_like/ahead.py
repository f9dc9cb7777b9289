"""Compiling ahead of time what commands and environments need, so that later processes find it in numba's cache.

Machine code is made for the kinds of the parts of a run: which clock, which actions, which observation. So for each of
them a few jobs are simulated here on a tiny cluster; numba leaves what it has compiled where it keeps its machine code,
in the user's cache or under ``NUMBA_CACHE_DIR``.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.presets import NO_LIMITS, PRESETS, policy_named
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine import compiled
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.results.job_lines import numbered
from hdeeprm_like.results.run_log import Record
from hdeeprm_like.run.loop import advance
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.run.streamed import Stream

PAIR, BASELINE = "shortest-high_gflops", "sjf+easy"
COMPARED = "fcfs", "saf+greedy", BASELINE, "f1+conservative"  # each mode has machine code of its own
CORES, JOBS = 2, 4
CLOCKS: tuple[Clock, ...] = ("batsim", "textbook")  # the third one has the machine code of the second


@dataclass(frozen=True)
class Step:
    """Something to compile.

    Attributes:
        name: for people. play: simulates a tiny instance of it.
    """

    name: str
    play: Callable[[], object]


@dataclass(frozen=True)
class Done:
    """What one step took: its name, s of wall clock, and how many functions had to be compiled."""

    name: str
    seconds: float
    functions: int


def machine_code() -> tuple[Path, list[Path]]:
    """Return where numba keeps the machine code of the one loop, and the files of it that are there.

    Raises:
        RuntimeError: numba may write no folder.
    """
    return compiled.machine_code(advance)


def steps_for(presets: Sequence[str] = ()) -> list[Step]:
    """Return what is to be compiled for ``launch``, ``compare`` and ``stream``, and for environments.

    Args:
        presets: those whose environments are wanted, single and vectorized, on both clocks.

    Raises:
        OptionsError: there is no such preset.
    """
    for preset in presets:
        if preset not in PRESETS:
            raise OptionsError(f"preset {preset!r} is not known{did_you_mean(preset, PRESETS)}")
    steps = [
        Step("launch with a policy pair", partial(simulate, PAIR, "batsim")),
        Step("launch with a baseline", partial(simulate, BASELINE, "batsim")),
        Step("launch with a policy pair, against Batsim", partial(answer_messages, PAIR)),
        Step("launch with a baseline, against Batsim", partial(answer_messages, BASELINE)),
        *(Step(f"compare with {name}", partial(simulate, name, "textbook")) for name in COMPARED),
        Step("stream through a baseline", partial(stream, BASELINE)),
    ]
    for preset in dict.fromkeys(presets):
        for clock in CLOCKS:
            where = f"{preset} on the {clock} clock"
            steps.append(Step(f"environment {where}", partial(play_environment, preset, clock)))
            steps.append(Step(f"vector environment {where}", partial(play_vector_environment, preset, clock)))
    return steps


def compile_ahead(steps: Sequence[Step]) -> Iterator[Done]:
    """Compile what is not compiled yet; yield what each step took as soon as it is done."""
    for step in steps:
        before, begin = compiled.functions_compiled, time.perf_counter()
        step.play()
        yield Done(step.name, time.perf_counter() - begin, compiled.functions_compiled - before)


def some_jobs() -> Workload:
    """Return jobs of two cores that come at once, of one second each, for a pool."""
    zeros = np.zeros(JOBS)
    return Workload(
        ids=tuple(f"w0!{number}" for number in range(JOBS)),
        profiles=("tiny",) * JOBS,
        submit=zeros,
        size=np.full(JOBS, CORES),
        requested_time=zeros + 1.0,
        requested_ops=zeros + 1e9,
        ops=zeros + 1e9,
        delay=zeros - 1.0,
        memory=zeros,
        bandwidth=zeros,
        walltime=zeros + np.inf,
        capacity=CORES,
    )


def simulate(policy: str, clock: Clock) -> None:
    """Simulate some jobs under one policy, and write them where the clock is that of ``launch``."""
    jobs = some_jobs()
    simulator = run_to_end(pool(CORES), jobs, PolicyActions([policy_named(policy)]), clock, log=clock == "batsim")
    if clock == "batsim":
        with TemporaryDirectory() as folder:
            Record(simulator, jobs).write_jobs(Path(folder) / "out_jobs.csv", many=0)


def stream(policy: str) -> None:
    """Simulate some jobs that come in parts."""
    for ended in Stream(pool(CORES), iter([some_jobs(), some_jobs()]), policy_named(policy)).ended():
        numbered(ended["number"].copy(), ",")


def answer_messages(policy: str) -> None:
    """Decide about a job as if Batsim told of it: it comes, and it ends."""
    actions = PolicyActions([policy_named(policy)])
    state = State(pool(CORES), None, limits=NO_LIMITS, needs=actions.needs)
    system = DecisionSystem(state, actions)
    job = state.append(Request(submit=0.0, size=CORES, time=1.0, ops=1e9, memory=0.0, bandwidth=0.0))
    for instant in (Instant(0.0, [], 1, False), Instant(1.0, [job], 0, True)):
        system.receive(instant)
        while system.open:
            system.act(0)
        state.drain(asked=True)
    system.settle()


def play_environment(preset: str, clock: Clock) -> None:
    """Play an episode as Gymnasium does and, with its decisions recorded, as learning agents do."""
    from hdeeprm_like.envs.registration import environment

    for record in (False, True):
        env = environment(preset, jobs=JOBS, clock=clock)
        env.record = record
        _, info = env.reset(seed=0)
        env.step(int(info["action_mask"].argmax()))
        env.close()


def play_vector_environment(preset: str, clock: Clock) -> None:
    """Take a step in two environments that are advanced together."""
    from hdeeprm_like.envs.registration import environments

    envs = environments(2, preset, jobs=JOBS, clock=clock)
    _, info = envs.reset(seed=0)
    envs.step(info["action_mask"].argmax(axis=1))
    envs.close()
