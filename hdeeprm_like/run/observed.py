"""Batches of runs whose observation is a user's own Python; all else of them is compiled."""

import copy

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.presets import NO_LIMITS, Space
from hdeeprm_like.decision.system import DecisionSystem, Observer
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.plugins import function_name
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.runs import LEAST_JOBS, Runs, blank
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.types import Ints


class ObservedRuns(Runs):
    """Runs that a user's own observers look at, one for each episode, which are called once for each decision.

    Episodes are `put` and `load`ed and stay as they are at their ends.
    """

    _system: DecisionSystem  # of no run: what the observers see is like its state and window

    def __init__(self, space: Space, platform: Platform, count: int, clock: Clock = "batsim") -> None:
        """Allocate *count* runs, none of which has begun.

        Raises:
            OptionsError: actions or an objective are a user's own, too.
        """
        self._workloads = [blank(LEAST_JOBS)] * count
        self._largest = [NO_LIMITS] * count
        self._observers: dict[int, tuple[Observer, State]] = {}
        super().__init__(space, platform, count, clock)

    def put(self, place: int, jobs: Workload) -> int:
        """Put the jobs of the next episode of a place into the pool; return the row of the first one."""
        self._workloads[place] = jobs
        return super().put(place, jobs)

    def load(self, place: int, first: int, jobs: int, origin: float, seed: int, limits: JobLimits) -> None:
        """Set the next episode of a place, as in `Runs`."""
        self._largest[place] = limits
        super().load(place, first, jobs, origin, seed, limits)

    def begin(self, places: Ints) -> bool:
        """Run the next episodes of some places to their first decisions; return False if one has none."""
        all_begun = super().begin(places)
        for place in places.tolist():
            self._observers[place] = self._observer_of(place)
        self._observe(places[~self.over[places]])
        return all_begun

    def step(self, actions: Ints) -> int:
        """Apply (B,) actions where episodes are not over, and run to the next decisions; return how many ended."""
        ended = super().step(actions)
        self._observe(np.flatnonzero(~self.over))
        return ended

    def refuse(self, play: Play) -> None:
        """Refuse what Python has to do within a step."""
        self._system = play.system
        if not play.steps_are_built_in:
            raise OptionsError("a part of the decision space beside the observation is no built-in one")

    def _observer_of(self, place: int) -> tuple[Observer, State]:
        """Return a new observer for the episode of a place, and the state that it looks at."""
        run, state, window = self.run(place), copy.copy(self._system.state), copy.copy(self._system.window)
        state.tables, window.arrays = run.core.tables, run.core.window
        state.jobs, state.limits = self._workloads[place], self._largest[place]
        state.known = len(state.jobs)
        return self.space.observer(state, window), state

    def _observe(self, places: Ints) -> None:
        """Write the observations of some places."""
        for place in places.tolist():
            observer, state = self._observers[place]
            seen = observer(state)
            if np.shape(seen) != self.shape:
                name = function_name(type(observer))
                raise OptionsError(f"observation {name}: gives {np.shape(seen)} numbers; {self.shape} are needed")
            self.observations[place] = seen
