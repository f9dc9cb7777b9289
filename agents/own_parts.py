"""An example of each part of a decision space that users can write; options files name them ``own_parts.py:NAME``.

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
        jobs: (J',) indices of the waiting jobs.

    Returns:
        (J',) keys; the smallest is first.
    """
    return -state.requested_time[jobs]


def fresh_queue(state: State) -> float:
    """Objective: minus the wait of the oldest waiting job in h, so that a fresh queue is worth more.

    It is evaluated when something happens; the reward mode ``integral`` takes it as constant in between.
    """
    jobs = state.waiting
    return 0.0 if not len(jobs) else float(state.submit_time[jobs[0]] - state.now) / 3600.0


class Occupancy:
    """Observation: the share of busy cores, and the share of waiting jobs that request more cores than are free.

    Attributes:
        shape: (2,).
    """

    shape = (2,)

    def __init__(self, state: State, window: JobWindow) -> None:
        """Begin a run; an observation that depends on earlier ones stores them in attributes."""

    def __call__(self, state: State) -> Floats:
        """Return a new float32 array of that shape, within [0, 1]."""
        requested = state.requested_cores[state.waiting]
        too_wide = np.count_nonzero(requested > state.free_cores) / max(len(requested), 1)
        return np.array([1.0 - state.free_cores / state.platform.cores, too_wide], np.float32)


class NarrowSlots(JobSlots):
    """Action space: the first waiting jobs; jobs wider than half the machine may start only while nothing runs.

    For windows with slots only for the first jobs of the queue (``tail`` 0). Any class with the attributes and methods
    of `decision.actions.ActionSpace` can be an action space.
    """

    forgiving = False  # an illegal action is an error

    def __init__(self, state: State, window: JobWindow) -> None:
        super().__init__(state, window, core_policy="low_power")
        self._slots = window.slots

    def mask(self, state: State) -> Bools:
        """Return (A,) which actions are legal now."""
        mask = super().mask(state)
        jobs = state.waiting[: self._slots]
        if len(state.running):
            mask[: len(jobs)] &= state.requested_cores[jobs] <= state.platform.cores / 2
        return mask
