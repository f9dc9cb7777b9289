"""What happened in one run, as a learner needs it."""

from dataclasses import dataclass
from typing import Optional

from hdeeprm_like.types import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Episode:
    """The decisions of one run; T decisions, F features, A actions.

    Attributes:
        observations: (T, ...) float32, what the agent saw. masks: (T, A) which actions were legal.
        actions: (T,) what it did. rewards: (T,) float64, what it got for that.
        times: (T,) s, when it decided. end: s, when the run was over, or these decisions were.
        then: what was to be seen, and which actions were legal, after the last of them; None where the run was over.
        reference: what a baseline did on the same jobs, to be compared with; None for nothing.
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
        """Sum of the rewards, what the original writes to ``rewards.log``."""
        return float(self.rewards.sum())
