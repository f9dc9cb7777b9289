"""Users' own run-time predictors: Python code that is called before each decision."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.history import BUILT_IN, History, read_history
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.plans import predictors_of
from hdeeprm_like.decision.tree_files import predictor
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.plugins import answered, takes
from hdeeprm_like.types import Ints


class OwnTimes:
    """The user's own predictors among those of some baselines, for one run."""

    def __init__(self, state: State, baselines: Sequence[Baseline]) -> None:
        """Make the predictors.

        Raises:
            OptionsError: one fails, or what it makes cannot be called.
        """
        self._state = state
        numbered = [(n, name, predictor(name).own) for n, name in enumerate(predictors_of(baselines))]
        made = [(BUILT_IN + n, name, answered(own, "run times", state)) for n, name, own in numbered if own is not None]
        for _, name, predict in made:
            if not takes(predict, 2):
                raise OptionsError(f"{name:.80}: Predictor: cannot be called with (state, jobs)")
        self._asked = made

    def write(self, knowledge: Knowledge) -> None:
        """Predict the run times of the waiting jobs, and store them for compiled code.

        Raises:
            OptionsError: a predictor does not return a number of s per job.
        """
        if self._asked:
            read_history(
                self._state.tables, knowledge.history
            )  # a former prediction is cleared when its job is submitted
            self.write_of(knowledge.history, self._state.waiting)

    def write_of(self, history: History, jobs: Ints) -> None:
        """Do the same for some jobs, (J',)."""
        for row, name, ask in self._asked:
            times = np.asarray(answered(ask, "run times", self._state, jobs))
            if times.shape != jobs.shape or times.dtype.kind not in "biuf" or not (times >= 0.0).all():
                raise OptionsError(f"{name}: seconds for each of {len(jobs)} jobs are needed, not {times!r:.60}")
            history.planned[row, jobs] = np.maximum(times, 1.0)
