"""One small network for every job: it scores each job that may start; a second network scores waiting.

All jobs share the weights, so they fit queues and machines of any size, and a trained agent can run any trace; what is
learned from one job holds for all, whereas a network over a flat window learns each slot separately.

The options of PPO are those of `hdeeprm_like.learning.ppo`.

Source: Zhang et al., "RLScheduler: an automated HPC batch job scheduler using reinforcement learning", 2020.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import torch
from torch import Tensor, nn

from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.learning.ppo import Activation, dense
from hdeeprm_like.learning.slots import Rows, SlotPPO


class Kernel(SlotPPO):
    """PPO with a network for each job; the parameters of the constructor are the options."""

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        hidden: Annotated[int | Sequence[int], "units of the layers of the network for jobs"] = (32, 16),
        waiting_bias: Annotated[float, "bias of waiting before training, beside 0 for a job"] = -1.0,
        activation: Activation = "tanh",
        **ppo: Any,
    ) -> None:
        super().__init__(gamma, layout, activation, **ppo)
        layers = [hidden, hidden] if isinstance(hidden, int) else list(hidden)
        of_job, of_all = self.rows_of.row_features, self.rows_of.shared_features
        self.job = dense([of_job + of_all, *layers, 1], activation, 0.01)
        self.wait = dense([of_all, layers[-1], 1], activation, 0.01)
        nn.init.constant_(self.wait[-1].get_parameter("bias"), waiting_bias)

    def scores(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) the scores of the rows, and (S,) those of waiting."""
        seen = torch.cat([rows.features, rows.shared[rows.owner]], 1)
        return self.job(seen)[:, 0], self.wait(rows.shared)[:, 0]
