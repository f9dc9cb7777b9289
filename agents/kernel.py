"""One small network for every job: it scores each job that may start, and one more network scores waiting.

As the weights are shared by all jobs, they fit queues and machines of any size, so a trained agent plays any trace; and
what is learned of one job holds for all others, where a network over a flat window learns each slot anew.

| option | default | meaning |
|---|---|---|
| ``hidden`` | [32, 16] | units of the layers of the network for jobs |
| ``waiting_bias`` | -1.0 | how much waiting is liked at first beside starting a job |

The options of PPO are those of `hdeeprm_like.learning.slot_ppo`.

Source: Zhang et al., "RLScheduler: an automated HPC batch job scheduler using reinforcement learning", 2020.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.slot_ppo import SlotPPO, dense
from hdeeprm_like.learning.slots import Rows


class Kernel(SlotPPO):
    """PPO with a network for each job, with the options in the table of this module."""

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        hidden: int | Sequence[int] = (32, 16),
        waiting_bias: float = -1.0,
        activation: str = "tanh",
        **ppo: Any,
    ) -> None:
        super().__init__(gamma, layout, activation, **ppo)
        layers = [hidden, hidden] if isinstance(hidden, int) else list(hidden)
        of_job, of_all = self.rows_of.row_features, self.rows_of.shared_features
        self.job = dense([of_job + of_all, *layers, 1], activation, 0.01)
        self.wait = dense([of_all, layers[-1], 1], activation, 0.01)
        nn.init.constant_(self.wait[-1].get_parameter("bias"), waiting_bias)

    def lean(self, action: int, by: float) -> None:
        """Add a number to the logit of waiting, which alone has a bias of its own."""
        if action != self.layout.waiting:
            raise AgentError(f"kernel: all jobs share one bias; only waiting ({self.layout.waiting}) can be preferred")
        with torch.no_grad():
            self.wait[-1].get_parameter("bias").add_(by)

    def scores(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) the scores of the rows, and (S,) those of waiting."""
        seen = torch.cat([rows.features, rows.shared[rows.owner]], 1)
        return self.job(seen)[:, 0], self.wait(rows.shared)[:, 0]
