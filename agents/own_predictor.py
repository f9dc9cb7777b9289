"""A user's own run-time predictor, named in policies as ``sjf@learned:agents/own_predictor.py+easy``.

It is Python, so a run with it takes some thousand decisions per second instead of some hundred thousand.
"""

import numpy as np

from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Floats, Ints


class Predictor:
    """The longest of the user's last three jobs; the request until a job of the user has ended."""

    def __init__(self, state: State) -> None:
        """Begin a run."""
        self.lasted: dict[int, list[float]] = {}
        self.seen: set[int] = set()

    def __call__(self, state: State, jobs: Ints) -> Floats:
        """Return (J',) predicted run times in s; the policy uses at most the request.

        Args:
            state: its properties hold what is known now; `State.finish_time` of jobs that have not ended is nan.
            jobs: (J',) indices of the waiting jobs.
        """
        ended = [j for j in state.completed.tolist() if j not in self.seen]
        self.seen.update(ended)
        for j in sorted(ended, key=lambda j: float(state.finish_time[j])):
            self.lasted.setdefault(int(state.user[j]), []).append(float(state.finish_time[j] - state.start_time[j]))
        longest = [max(self.lasted.get(int(state.user[j]), [])[-3:], default=state.requested_time[j]) for j in jobs]
        return np.array(longest)
