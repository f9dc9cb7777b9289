"""A simulation of some jobs on the cluster of a state."""

from typing import Literal, TypeAlias, get_args

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.batsim_actors import BatsimClock, new_batsim_clock
from hdeeprm_like.engine.event_clock import EventClock, new_event_clock
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tasks import Simulation, new_simulation
from hdeeprm_like.errors import OptionsError, did_you_mean

Clock: TypeAlias = Literal["batsim", "textbook", "one-by-one"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
"""``batsim``: as Batsim keeps time, to the nanosecond; ``textbook``: all that has one time happens at once;
``one-by-one``: the same, with a decision after each single event, as RLScheduler's simulator."""


def check_clock(clock: str) -> None:
    """Refuse a clock that there is not.

    Raises:
        OptionsError: there is none of that name.
    """
    if clock not in CLOCKS:
        raise OptionsError(f"clock {clock!r} is not known{did_you_mean(clock, CLOCKS)}")


def new_clock(clock: str, platform: Platform, jobs: int) -> BatsimClock | EventClock:
    """Return what a clock adds to the simulation of so many jobs.

    Raises:
        OptionsError: there is no such clock.
    """
    check_clock(clock)
    if clock == "batsim":
        return new_batsim_clock(platform, jobs)
    return new_event_clock(clock == "one-by-one", platform.processors, jobs)


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
        self.simulation: Simulation = new_simulation(workload)
        self.clock = new_clock(clock, state.platform, len(workload))

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
