"""A simulation of some jobs on the cluster of a state, and running it to its end under one policy."""

from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import Choices, PolicyActions
from hdeeprm_like.decision.system import Core, no_reward
from hdeeprm_like.decision.window.window import NoJobWindow
from hdeeprm_like.engine.batsim_clock import BatsimClock
from hdeeprm_like.engine.event_clock import EventClock
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tasks import Simulation, new_simulation, seconds_to_master
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.run.loop import OVER, NoView, Run, advance
from hdeeprm_like.run.python_loop import run_in_python

Clock: TypeAlias = Literal["batsim", "textbook", "one-by-one"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
"""``batsim``: as Batsim keeps time, to the nanosecond; ``textbook``: all that has one time happens at once;
``one-by-one``: the same, with a decision after each single event, as RLScheduler's simulator."""

INSTANTS = 1000  # between two looks at the progress


def new_clock(clock: str, platform: Platform) -> BatsimClock | EventClock:
    """Return what a clock adds to a simulation.

    Raises:
        OptionsError: there is no such clock.
    """
    if clock == "batsim":
        return BatsimClock(seconds_to_master(platform))
    if clock not in CLOCKS:
        raise OptionsError(f"clock {clock!r} is not known{did_you_mean(str(clock), CLOCKS)}")
    return EventClock(np.array([clock == "one-by-one"], np.int64), np.zeros(platform.processors, np.int8))


class Simulator:
    """The jobs of a workload on the cluster of a state, and the clock that moves them.

    Attributes:
        state: the cluster. simulation, clock: what moves it, in compiled code.
    """

    def __init__(self, state: State, workload: Workload, clock: Clock = "batsim") -> None:
        """Begin a simulation.

        Raises:
            OptionsError: there is no such clock.
            ValueError: the cores of the state have no names; Batsim knows the P-state of each.
        """
        if clock == "batsim" and not state.named:
            raise ValueError("Batsim's clock needs a state whose cores have names")
        self.state = state
        self.simulation: Simulation = new_simulation(state.platform, workload)
        self.clock = new_clock(clock, state.platform)

    def kill(self, jobs: list[int]) -> None:
        """Let jobs be ended with what is decided at the present instant.

        Raises:
            OptionsError: the clock knows no kills.
        """
        if jobs and not isinstance(self.clock, BatsimClock):
            raise OptionsError("the textbook's clock knows no kills; use Batsim's")
        kills = list(dict.fromkeys(jobs))
        self.simulation.kills[: len(kills)] = kills
        self.simulation.sim["kills"] = len(kills)

    @property
    def over(self) -> int:
        """How many jobs have ended or been rejected."""
        clock = self.state.tables.clock[0]
        return int(clock["completed"] + clock["rejected"])

    @property
    def unfinished(self) -> int:
        """How many jobs have neither ended nor been rejected."""
        return len(self.simulation.tasks) - self.over


def run_policy(simulator: Simulator, policies: PolicyActions, action: int = 0) -> Iterator[int]:
    """Run to the end under one policy; yield now and then how many jobs are over.

    Raises:
        OptionsError: the policy looks at actual run times, which nobody knows.
        ValueError: the state does not keep the lists of jobs that it looks at.
    """
    if policies.built_in:
        yield from run_choices(simulator, policies.choices(simulator.state, constant=action))
    else:
        yield from run_in_python(simulator, policies, action)


def run_choices(simulator: Simulator, choices: Choices) -> Iterator[int]:
    """Run to the end by the constant action of some choices; yield now and then how many jobs are over."""
    state, run = simulator.state, constant_run(simulator, choices)
    state.make_room()
    while advance(run, INSTANTS) != OVER:
        state.make_room()
        yield simulator.over
    yield simulator.over


def constant_run(simulator: Simulator, choices: Choices) -> Run:
    """Return a run of which nothing is seen and in which the constant action of some choices is taken."""
    state = simulator.state
    return Run(
        core=Core(state.tables, NoJobWindow(state).arrays, no_reward()),
        simulation=simulator.simulation,
        clock=simulator.clock,
        observer=NoView(np.zeros(0)),
        choices=choices,
        observation=np.zeros(0, np.float32),
        mask=np.zeros(0, np.bool_),
    )
