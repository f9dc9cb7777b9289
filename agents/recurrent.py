"""REINFORCE with a memory: a gated recurrent unit (GRU) between the observations and the probabilities.

For agents that need what one observation does not show, such as whether the queue grows or how the last jobs fared.

| option | default | meaning |
|---|---|---|
| ``hidden`` | 32 | width of the memory |
| ``lr`` | 0.001 | learning rate |
| ``gamma`` | 0.99 | discount of one decision |
"""

import torch
from torch import Tensor, nn

from hdeeprm_like.learning.recurrent import RecurrentPolicyAgent


class Recurrent(RecurrentPolicyAgent):
    """REINFORCE on a GRU, with the options in the table of this module."""

    def __init__(self, gamma: float, action_size: int, observation_size: int, hidden: int = 32) -> None:
        self.memory_size = hidden
        self.cell = nn.GRUCell(observation_size, hidden)
        self.output = nn.Linear(hidden, action_size)

    def forward_recurrent(self, observations: Tensor, memories: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, A) probabilities and (B, H) memories."""
        memories = self.cell(observations, memories)
        return torch.softmax(self.output(memories), dim=1), memories
