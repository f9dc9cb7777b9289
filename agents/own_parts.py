"""One of each part of a decision space that users may bring, named in options files as ``own_parts.py:last_minute``.

    "env": {
      "objective": {"own_parts.py:fresh_queue": 1.0, "avg_utilization": 0.1},
      "observation": "own_parts.py:Occupancy",
      "actions": {"selection": [{"own_parts.py:longest": ["high_gflops"], "shortest": ["high_gflops"]}]}
    }

and in Gymnasium as ``gymnasium.make("hdeeprm_like/HDeepRM-v0", observation="own_parts.py:Occupancy", ...)``.
"""

import numpy as np

from hdeeprm_like.decision.job_actions import JobSlots
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Bools, Floats, Ints


def longest(state: State, jobs: Ints) -> Floats:
    """Job policy: the longest request first.

    Args:
        jobs: (J',) rows of the waiting jobs.

    Returns:
        (J',) keys, the smallest of which is first.
    """
    return -state.tables.jobs["requested_time"][jobs]


def fresh_queue(state: State) -> float:
    """Objective: minus the hours that the oldest waiting job has waited; the state changes at instants only."""
    jobs = state.waiting
    return 0.0 if not len(jobs) else float(state.tables.jobs["submit"][jobs[0]] - state.now) / 3600.0


class Occupancy:
    """Observation: the share of busy cores, and that of the waiting jobs which ask for more cores than are free.

    Attributes:
        shape: (2,).
    """

    shape = (2,)

    def __init__(self, state: State, window: JobWindow) -> None:
        """Begin a run; keep here what must be remembered between two observations."""

    def __call__(self, state: State) -> Floats:
        """Return a new float32 array of that shape, within [0, 1]."""
        free = int(state.tables.clock["free_cores"][0])
        sizes = state.tables.jobs["size"][state.waiting]
        too_large = float(np.mean(sizes > free)) if len(sizes) else 0.0
        return np.array([1.0 - free / state.platform.cores, too_large], np.float32)


class NarrowSlots(JobSlots):
    """Action space: the jobs of the window, of which those over half the machine may start only on an empty one.

    Any class with the attributes and methods of `decision.actions.ActionSpace` will do.
    """

    forgiving = False  # an action that is not legal is an error

    def __init__(self, state: State, window: JobWindow) -> None:
        super().__init__(state, window, core_policy="low_power")
        self._slots = window

    def mask(self, state: State) -> Bools:
        """Return (A,) which actions are legal now."""
        mask = super().mask(state)
        cores = state.platform.cores
        jobs = self._slots.rows.slots
        wide = (jobs >= 0) & (state.tables.jobs["size"][jobs] > cores / 2)
        if state.tables.clock["running"][0] > 0:
            mask[: len(jobs)] &= ~wide
        return mask
