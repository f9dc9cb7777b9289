"""How much better a decision was than expected: rewards of episodes made into the weights of a policy gradient."""

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.returns import generalized_advantages, mean_at_each_time, standardized
from hdeeprm_like.types import Floats, Ints

Scale: TypeAlias = Literal["batch", "window", "none"]
SCALES: tuple[Scale, ...] = get_args(Scale)


@dataclass(frozen=True)
class Advantages:
    """How rewards become advantages.

    Attributes:
        gamma: discount of one decision. trace: lambda of the generalized estimate. alike: consecutive episodes with the
            same jobs, whose mean advantage at each time is subtracted. reward_scale: rewards are multiplied by it.
        standardize: over which decisions advantages get mean 0 and deviation 1: all, or those of the episodes with the
            same jobs, so that busy times do not outweigh quiet ones.
    """

    gamma: float
    trace: float = 0.95
    alike: int = 1
    reward_scale: float = 1.0
    standardize: Scale = "batch"

    def of(self, batch: Batch, values: Floats, following: Floats) -> tuple[Floats, Floats]:
        """Return (S,) advantages and (S,) returns to learn values by.

        Args:
            values: (S,) what a critic expects at each decision. following: (E,) what it expects after the last one.
        """
        rewards = batch.rewards * self.reward_scale
        advantages = generalized_advantages(rewards, values, following, batch.lengths, self.gamma, self.trace)
        returns = advantages + values
        advantages = advantages - self.reward_scale * batch.reference_returns(self.gamma)
        if self.alike > 1:
            advantages = advantages - mean_at_each_time(advantages, batch.times, batch.lengths, self.alike)
        if self.standardize == "batch":
            advantages = standardized(advantages)
        elif self.standardize == "window":
            advantages = standardized(scaled_by_window(advantages, batch.lengths, self.alike))
        return advantages, returns


def scaled_by_window(advantages: Floats, lengths: Ints, alike: int) -> Floats:
    """Return (S,) advantages, standardized over each group of *alike* episodes by itself."""
    ends = np.cumsum(lengths)
    parts = []
    for first in range(0, len(lengths), alike):
        last = min(first + alike, len(lengths)) - 1
        parts.append(standardized(advantages[ends[first] - lengths[first] : ends[last]]))
    return np.concatenate(parts)
