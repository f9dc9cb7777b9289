"""REINFORCE with a memory: a gated recurrent unit (GRU) between the observations and the probabilities.

For agents that need what one observation does not show, such as whether the queue grows or how the last jobs fared.
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from hdeeprm_like.learning.agent_options import COUNT
from hdeeprm_like.learning.recurrent import RecurrentPolicyAgent


class Recurrent(RecurrentPolicyAgent):
    """REINFORCE on a GRU; the parameters of the constructor are the options."""

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: Annotated[int, COUNT, "numbers that the memory of an episode has"] = 32,
    ) -> None:
        self.memory_size = hidden
        self.cell = nn.GRUCell(observation_size, hidden)
        self.output = nn.Linear(hidden, action_size)

    def forward_recurrent(self, observations: Tensor, memories: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, A) probabilities and (B, H) memories."""
        memories = self.cell(observations, memories)
        return torch.softmax(self.output(memories), dim=1), memories
