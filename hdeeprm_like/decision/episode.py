"""The record of one run that a learner needs."""

from dataclasses import dataclass
from typing import Optional

from hdeeprm_like.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Episode:
    """The decisions of one run; T decisions, F features, A actions.

    Attributes:
        observations: (T, ...) float32, input of the agent. masks: (T, A) which actions were legal.
        actions: (T,) actions taken. rewards: (T,) float64.
        times: (T,) s, times of the decisions. end: s, end of the run, or of these decisions.
        then: observation and mask after the last decision; None if the run was over.
        reference: a baseline's result on the same jobs, for comparison; None for nothing.
    """

    observations: Floats
    masks: Bools
    actions: Ints
    rewards: Floats
    times: Floats
    end: float
    then: tuple[Floats, Bools] | None = None
    reference: Optional["Episode"] = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def reward(self) -> float:
        """Sum of the rewards; the original writes it to ``rewards.log``."""
        return float(self.rewards.sum())
