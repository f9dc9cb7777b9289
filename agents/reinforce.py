"""REINFORCE, the policy gradient agent of the HDeepRM thesis (3.2.2, figure 3.5).

Five dense layers with LeakyReLU between them and a softmax at the end. After each batch of episodes Adam takes one step
on the policy loss: minus log probability x discounted and standardized return.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated

import torch.nn.functional as F
from torch import Tensor, nn

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.agent_options import NOT_NEGATIVE, Choice
from hdeeprm_like.learning.agents import PolicyLearningAgent, entropy
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.returns import discounted_returns, mean_at_each_step
from hdeeprm_like.types import Floats


class Reinforce(PolicyLearningAgent):
    """REINFORCE; the parameters of the constructor are the options."""

    def __init__(
        self,
        gamma: float,
        action_size: int,
        observation_size: int,
        hidden: Annotated[int | Sequence[int], "units of each of four layers, or of each layer in a list"] = 16,
        baseline: Annotated[
            str, Choice(("none", "mean")), "`mean`: each step's mean return over the batch (dissertation algorithm 1)"
        ] = "none",
        entropy: Annotated[float, NOT_NEGATIVE, "weight of the entropy bonus (dissertation equation 2.16)"] = 0.0,
    ) -> None:
        self.baseline = baseline
        self.entropy = entropy
        units = [hidden] * 4 if isinstance(hidden, int) else list(hidden)
        self.layers = nn.ModuleList(nn.Linear(*sizes) for sizes in pairwise([observation_size, *units]))
        self.output = nn.Linear(units[-1], action_size)

    def forward_policy(self, observation: Tensor) -> Tensor:
        """Return (B, A) probabilities."""
        out = observation
        for layer in self.layers:
            out = F.leaky_relu(layer(out))
        return F.softmax(self.output(out), dim=1)

    def transform_rewards(self, batch: Batch) -> Floats:
        """Return (S,) the weights of the decisions: returns, standardized or minus their mean at each step."""
        if self.baseline == "none":
            return super().transform_rewards(batch)
        if len(batch.lengths) < 2:
            raise OptionsError("agent.baseline 'mean' needs several episodes in an update; use --envs 2 or more")
        returns = discounted_returns(batch.rewards, batch.lengths, self.gamma)
        return returns - mean_at_each_step(returns, batch.lengths)

    def loss(self, batch: Batch) -> Mapping[str, Tensor]:
        """Return the policy loss and the entropy bonus."""
        weights = batch.tensor(self.transform_rewards(batch))
        parts = {"policy_loss": self.policy_loss(batch, weights)}
        if self.entropy > 0.0:
            uncertain = entropy(self.log_probabilities_of(batch))
            parts["entropy_loss"] = -self.entropy * uncertain.sum() / len(batch.lengths)
        return parts
