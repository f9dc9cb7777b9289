"""A plain function in the place of an agent: ``choose(observation, mask) -> action``, which learns nothing."""

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent
from hdeeprm_like.learning.user_code import code_of
from hdeeprm_like.types import Bools, Floats, Ints

Choose = Callable[[Floats, Any], Any]
"""Takes an observation and (A,) int8, 1 for each legal action, as in Gymnasium; returns the number of an action."""


class FunctionAgent(LearningAgent):
    """An agent that decides by a function."""

    function: ClassVar[Choose]

    def decide(self, observations: Floats, masks: Bools, episodes: Ints) -> Ints:
        """Return (B,) what the function answers to each observation.

        Raises:
            AgentError: it fails, or its answer is no legal action.
        """
        choose = type(self).function
        found = np.zeros(len(observations), np.int64)
        for row, (seen, mask) in enumerate(zip(observations, masks, strict=True)):
            with self.locating_errors():
                answer = choose(seen, mask.view(np.int8))
            try:
                found[row] = operator.index(answer)
            except TypeError:
                raise AgentError(
                    f"{code_of(choose)}: answers {answer!r:.60}; the number of an action is needed"
                ) from None
            if not 0 <= found[row] < len(mask) or not mask[found[row]]:
                legal = np.flatnonzero(mask).tolist()
                raise AgentError(f"{code_of(choose)}: answers {found[row]}; legal now: {legal!s:.80}")
        return found

    def learn(self, episodes: Sequence[Episode]) -> dict[str, float]:
        """Refuse to learn.

        Raises:
            AgentError: always.
        """
        raise AgentError(f"{code_of(type(self).function)}: a plain function learns nothing; launch it in 'run': 'test'")


def deciding_by(choose: Choose) -> type[LearningAgent]:
    """Return a class of agents that decide by a function; errors in it name its file and line."""
    named = {"function": staticmethod(choose), "__module__": getattr(choose, "__module__", __name__)}
    return type(getattr(choose, "__name__", "FunctionAgent"), (FunctionAgent,), named)
