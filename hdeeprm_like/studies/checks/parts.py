"""`check_policy` and `check_agent`: a part of a user's own in some small runs; see the table of this folder."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import JobPolicy, PolicyActions, policy_named
from hdeeprm_like.decision.agent_names import Trained, agent_named
from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.decision.system import Agent
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import CheckError, HDeepRMError, OptionsError, did_you_mean
from hdeeprm_like.formats.any_platform import AnyPlatform, platform_from
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.studies.checks.runs import (
    CUTS,
    Player,
    Run,
    check_conservation,
    check_no_future,
    check_nothing_lost,
    check_same,
    drawn_jobs,
    run_of,
    small_machine,
)
from hdeeprm_like.types import Bools
from hdeeprm_like.values import NUMBER

JOBS = 120  # of a run
SEEDS = (1, 2)
STEPS = 200  # decisions for each job after which an agent is stopped
POOL = 32  # cores of the machine of alike cores that parts are tried on


@dataclass(frozen=True)
class Checked:
    """A part that has passed.

    Attributes:
        name: of the part. lines: what was tried, each in one sentence. seconds: of a decision.
    """

    name: str
    lines: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        return "\n".join((f"{self.name}: passed", *(f"  {line}" for line in self.lines)))


def check_policy(
    policy: "str | JobPolicy | tuple[JobPolicy, str]",
    platform: AnyPlatform | None = None,
    *,
    clock: Clock = "textbook",
    slowest: float | None = None,
) -> Checked:
    """Try a policy in small runs and return what was tried.

        >>> print(check_policy("sjf+easy"))

    Args:
        policy: its name, as `simulate` takes it; a job policy of your own, ``(state, jobs) -> keys``, as the function,
            by its name ``file.py:function``, or with a core policy as ``(function, "low_power")``.
        platform: as of `simulate`; None for a pool and for a machine of nodes with memory.
        slowest: s that a decision may take; None for any.

    Raises:
        CheckError: it fails a check; the message names the check and what happened.
        OptionsError: there is no such policy.
    """
    if isinstance(policy, str) and policy.startswith(AGENT):
        return check_agent(policy, slowest=slowest, clock=clock)
    chosen = own_or_named(policy)
    actions = PolicyActions([chosen])

    def play(machine: Platform, jobs: Workload, seed: int) -> Run:
        began = time.perf_counter()
        with answering():
            policies = PolicyActions([chosen])
            simulator = run_to_end(State(machine, jobs, seed, needs=policies.needs), policies, clock)
        return run_of(simulator, len(jobs), time.perf_counter() - began)

    machines = [platform_from(POOL), small_machine()] if platform is None else [platform_from(platform)]
    return checked(actions.names[0], play, machines, slowest, "a job")


def own_or_named(policy: Any) -> Any:
    """Return a policy by its name, or a function with its core policy.

    Raises:
        OptionsError: there is none of that name.
    """
    if callable(policy):
        return policy, "high_gflops"
    if isinstance(policy, tuple):
        return policy
    if not isinstance(policy, str):
        raise OptionsError(f"policy is {policy!r:.80}; a name or a function is needed")
    return policy_named(policy)


def check_agent(
    agent: str | Path | Agent | Callable[[int], Agent],
    space: "str | Space" = "SMDP",
    platform: AnyPlatform | None = None,
    *,
    clock: Clock = "textbook",
    slowest: float | None = None,
) -> Checked:
    """Try an agent in small runs and return what was tried.

        >>> check_agent("agent:runs/kernel")
        >>> check_agent(lambda seed: MyAgent(seed), "SMDP")

    Args:
        agent: the folder of a training, as ``"agent:DIR"``; or a function that makes an agent from a seed; or an agent
            that needs none. An agent has ``act(observation, mask) -> int``.
        space: in which it decides, a preset's name or a `Space`; that of its training for ``agent:DIR``.
        platform: as of `simulate`; None for the machine of the training, or a pool.
        slowest: as of `check_policy`.

    Raises:
        CheckError: it fails a check.
        HDeepRMError: it cannot be loaded.
    """
    if isinstance(agent, str | Path):
        trained = agent_named(str(agent)) or Trained(Path(agent))
        return check_trained(trained, platform, clock, slowest)
    if isinstance(space, str):
        if space not in PRESETS:
            raise OptionsError(f"preset {space!r:.60} is not known{did_you_mean(space, PRESETS)}")
        space = PRESETS[space]
    space = replace(space, until=0.0, placed=0)
    is_one = hasattr(agent, "act") and not isinstance(agent, type)
    make: Any = (lambda seed: agent) if is_one else agent
    name = type(agent).__name__ if is_one else getattr(agent, "__name__", "agent")

    def play(machine: Platform, jobs: Workload, seed: int) -> Run:
        system = space.system(space.state(machine, jobs, seed, limits=jobs.limits()))
        return advanced(make(seed), system, machine, jobs, clock)

    machines = [platform_from(POOL if platform is None else platform)]
    return checked(name, play, machines, slowest, "a decision")


def check_trained(trained: Trained, platform: AnyPlatform | None, clock: Clock, slowest: float | None) -> Checked:
    """Try a trained agent; see `check_agent`."""
    from hdeeprm_like.launch.trained import restored, system_of

    home = restored(trained).experiment.platform

    def play(machine: Platform, jobs: Workload, seed: int) -> Run:
        system = system_of(trained, machine, jobs, log=True)
        return advanced(restored(trained).agent, system, machine, jobs, clock)

    return checked(trained.name, play, [home if platform is None else platform_from(platform)], slowest, "a decision")


def advanced(agent: Any, system: Any, machine: Platform, jobs: Workload, clock: Clock) -> Run:
    """Return the run of a decision system in which an agent decides, which is stopped if it goes on for ever."""
    episode = Play(Simulator(system.state, jobs, clock), system)
    decisions, seconds = 0, 0.0
    while episode.advance():
        observation, mask = episode.observe()
        began = time.perf_counter()
        with answering():
            action = agent.act(observation, mask.copy())
        seconds += time.perf_counter() - began
        legal_action(action, mask, system.actions.names)
        episode.act(int(action))
        decisions += 1
        if decisions > STEPS * len(jobs):
            left = episode.simulator.unfinished
            told = f"after {decisions:,} decisions {left} of {len(jobs)} jobs have not ended on {machine.name!r:.40}"
            raise CheckError("nothing lost", f"{told}; an agent that always waits starts nothing")
    return run_of(episode.simulator, decisions, seconds)


def legal_action(action: Any, mask: Bools, names: Sequence[str]) -> None:
    """Refuse an answer that is no legal action."""
    if not isinstance(action, int | np.integer) or isinstance(action, bool):
        raise CheckError("answers", f"the action is {action!r:.60}; a whole number is needed")
    if not 0 <= action < len(mask):
        raise CheckError("answers", f"the action is {action}; there are {len(mask)}, numbered from 0")
    if not mask[action]:
        raise CheckError("answers", f"action {action} ({names[int(action)]}) is not legal then, as the mask says")


@contextmanager
def answering() -> Iterator[None]:
    """Turn what a part raises into a failed check.

    Raises:
        CheckError: something was raised.
    """
    try:
        yield
    except CheckError:
        raise
    except HDeepRMError as cause:
        raise CheckError("answers", str(cause)) from cause
    except Exception as cause:
        told = f"{type(cause).__name__}: {' '.join(str(cause).split())}"
        raise CheckError("answers", f"it raises {told:.160}") from cause


def checked(name: str, play: Player, machines: Sequence[Platform], slowest: float | None, unit: str) -> Checked:
    """Try a part on some machines and with some seeds.

    Args:
        unit: what the time of a decision is of.

    Raises:
        CheckError: it fails.
    """
    if slowest is not None:
        NUMBER.of(slowest, OptionsError, "slowest")
    each = 0.0
    for machine in machines:
        for seed in SEEDS:
            jobs = drawn_jobs(machine, JOBS, seed)
            run = play(machine, jobs, seed)
            check_nothing_lost(machine, jobs, run)
            check_conservation(machine, jobs, run)
            again = play(machine, jobs, seed)
            check_same(run, again)
            check_no_future(play, machine, jobs, run, seed)
            each = max(each, min(run.each, again.each))
    if slowest is not None and each > slowest:
        raise CheckError("cost", f"{unit} takes {each:.3g} s; at most {slowest:.3g} s are wanted")
    where = " and ".join(f"{machine.cores} cores ({machine.name})" for machine in machines)
    runs = len(machines) * len(SEEDS)
    return Checked(
        name,
        (
            f"answers: it answered in all runs of {JOBS} jobs, on {where}",
            f"nothing lost: every job of {runs} workloads ran, or the machine cannot hold it",
            "conservation: each job held the cores it asked for, and no core or memory served two jobs at a time",
            f"no look at the future: {len(CUTS) * runs} other futures changed no start before them",
            "determinism: the same seed gave the same schedule",
            f"cost: {unit} took {each:.2g} s, the simulation included"
            if unit == "a job"
            else f"cost: {unit} took {each:.2g} s",
        ),
        each,
    )
