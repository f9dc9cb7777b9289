"""The decisions of some episodes in one piece, as agents learn from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.learning.returns import reference_returns
from hdeeprm_like.types import Floats, Ints


@dataclass(frozen=True, eq=False)
class Batch:
    """The decisions of some episodes, concatenated; S decisions, F features, A actions, E episodes.

    Attributes:
        episodes: as they were played. device: that tensors go to.
        actions: (S,) int64. rewards: (S,) float64. times: (S,) float64, s. lengths: (E,) decisions of each episode.
    """

    episodes: Sequence[Episode]
    device: torch.device
    actions: Tensor
    rewards: Floats
    times: Floats
    lengths: Ints

    @classmethod
    def of(cls, episodes: Sequence[Episode], device: torch.device) -> Self:
        """Concatenate episodes."""
        return cls(
            episodes=episodes,
            device=device,
            actions=torch.from_numpy(np.concatenate([e.actions for e in episodes])).to(device),
            rewards=np.concatenate([e.rewards for e in episodes]),
            times=np.concatenate([e.times for e in episodes]),
            lengths=np.array([len(e) for e in episodes], np.int64),
        )

    def __len__(self) -> int:
        return len(self.rewards)

    @cached_property
    def observations(self) -> Tensor:
        """(S, F) float32, flattened if they have several dimensions."""
        return torch.from_numpy(np.concatenate([e.observations for e in self.episodes])).flatten(1).to(self.device)

    @cached_property
    def masks(self) -> Tensor:
        """(S, A) bool, legal actions."""
        return torch.from_numpy(np.concatenate([e.masks for e in self.episodes])).to(self.device)

    def reference_returns(self, gamma: float) -> Floats:
        """Return (S,) what the baseline of each episode gained from each decision's time on; 0 without one."""
        parts = [
            np.zeros(len(e)) if e.reference is None else reference_returns(e.reference, e.times, gamma)
            for e in self.episodes
        ]
        return np.concatenate(parts)

    def tensor(self, column: Floats) -> Tensor:
        """Return an array as a float32 tensor on the device."""
        return torch.from_numpy(np.asarray(column, np.float32)).to(self.device)
