"""A simulation of some jobs on the cluster of a state."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.batsim_actors import BatsimClock, new_batsim_clock
from hdeeprm_like.engine.event_clock import EventClock, new_event_clock
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tasks import Simulation, new_simulation
from hdeeprm_like.errors import OptionsError, WorkloadError, did_you_mean
from hdeeprm_like.refusals import Case, refuse

Clock: TypeAlias = Literal["batsim", "textbook", "one-by-one"]
CLOCKS: tuple[Clock, ...] = get_args(Clock)
"""``batsim``: Batsim's time-keeping, to the nanosecond; ``textbook``: everything of one time happens at once;
``one-by-one``: the same, with a decision after each single event, as in RLScheduler's simulator."""


def check_clock(clock: object) -> None:
    """Raise if a clock is unknown.

    Raises:
        OptionsError: there is no clock of that name.
    """
    if clock not in CLOCKS:
        raise OptionsError(f"clock {clock!r} is not known{did_you_mean(str(clock), CLOCKS)}")


def new_clock(clock: str, platform: Platform, jobs: int) -> BatsimClock | EventClock:
    """Return a clock's arrays for the simulation of *jobs* jobs.

    Raises:
        OptionsError: there is no such clock, or it knows no network or no changing speeds.
    """
    check_clock(clock)
    if clock == "batsim":
        return new_batsim_clock(platform, jobs)
    refuse(Case(clock=clock).on(platform))
    return new_event_clock(clock == "one-by-one", platform.processors, jobs)


def refuse_unknown(workload: Workload) -> None:
    """Raise if a job has a profile that the embedded simulator does not know.

    Raises:
        WorkloadError: one has.
    """
    unknown = np.isnan(workload.bytes)
    if unknown.any():
        j = int(unknown.argmax())
        raise WorkloadError(
            f"job {workload.ids[j]}: profile {workload.profiles[j]!r:.40}: only launch simulates its type; other "
            "commands know delay, parallel_homogeneous and parallel_homogeneous_total, without ret"
        )


class Simulator:
    """The jobs of a workload on the cluster of a state, and the clock that moves them.

    Attributes:
        state: the cluster. simulation, clock: its simulator, in compiled code.
    """

    def __init__(self, state: State, workload: Workload, clock: Clock = "batsim") -> None:
        """Begin a simulation; what jobs send takes time if the platform has routes.

        Raises:
            OptionsError: there is no such clock, or it knows no network or no changing speeds.
            ValueError: the cores of the state have no names; Batsim's clock needs the P-state of each.
        """
        if clock == "batsim" and not state.named:
            raise ValueError("Batsim's clock needs a state whose cores have names")
        self.state = state
        self.simulation: Simulation = new_simulation(workload)
        if state.platform.routes is not None:
            refuse_unknown(workload)
        self.clock = new_clock(clock, state.platform, len(workload))

    def kill(self, jobs: list[int]) -> None:
        """Kill jobs together with the decisions of the present instant.

        Raises:
            OptionsError: the clock supports no kills.
        """
        if jobs and not isinstance(self.clock, BatsimClock):
            raise OptionsError("the textbook's clock knows no kills; use Batsim's")
        kills = list(dict.fromkeys(jobs))
        self.simulation.kills[: len(kills)] = kills
        self.simulation.sim["kills"] = len(kills)

    @property
    def over(self) -> int:
        """Number of jobs that have ended or been rejected."""
        clock = self.state.tables.clock[0]
        return int(clock["completed"] + clock["rejected"])

    @property
    def unfinished(self) -> int:
        """Number of jobs that have neither ended nor been rejected."""
        return len(self.simulation.tasks) - self.over
