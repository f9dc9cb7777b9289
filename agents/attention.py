"""Self-attention over the whole queue: the score of a job may depend on every other waiting job.

Each waiting job in the slots is a row; in layers of attention every row attends to all others of its decision; then the
rows of the jobs that may start are scored, and waiting by a row of its own. As in the kernel network all jobs share the
weights, so the window need not limit the queue: configure as many slots as jobs may ever wait.

The options of PPO are those of `hdeeprm_like.learning.ppo`.

Source: section 6.3 of the dissertation proposes attention over all jobs as the successor of the window; Vaswani et al.,
"Attention is all you need", 2017.
"""

from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.agent_options import COUNT
from hdeeprm_like.learning.ppo import Activation, dense
from hdeeprm_like.learning.slots import Rows, SlotPPO


class Layer(nn.Module):
    """Attention of every row to all rows of its decision, then two dense layers; both are residual."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(size), nn.LayerNorm(size)
        self.asked = nn.Linear(size, 3 * size)
        self.told = nn.Linear(size, size)
        self.dense = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))

    def forward(self, rows: Tensor, there: Tensor) -> Tensor:
        """Return (S, L, H) for (S, L, H) rows; (S, L) marks the rows that exist."""
        parts = self.asked(self.before(rows)).chunk(3, 2)
        query, key, value = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in parts)
        seen = functional.scaled_dot_product_attention(query, key, value, there[:, None, None, :])
        rows = rows + self.told(seen.transpose(1, 2).flatten(2))
        added: Tensor = self.dense(self.between(rows))
        return rows + added


class Attention(SlotPPO):
    """PPO with attention between all jobs in the slots; the parameters of the constructor are the options."""

    shows_all = True

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        hidden: Annotated[int, COUNT, "numbers that describe a job between the layers"] = 32,
        heads: Annotated[int, COUNT, "heads of attention in each layer"] = 4,
        layers: Annotated[int, COUNT, "layers of attention"] = 1,
        waiting_bias: Annotated[float, "bias of waiting before training, beside 0 for a job"] = -1.0,
        activation: Activation = "tanh",
        **ppo: Any,
    ) -> None:
        if hidden % heads:
            raise OptionsError(f"agent.hidden is {hidden}; a multiple of the {heads} heads is needed")
        if layout.nodes > 1:
            raise OptionsError("attention chooses jobs, not machines for them; take the actions 'jobs'")
        super().__init__(gamma, layout, activation, **ppo)
        of_job, of_all = self.rows_of.row_features, self.rows_of.shared_features
        self.job = nn.Linear(of_job + of_all, hidden)
        self.wait = nn.Linear(of_all, hidden)
        self.layers = nn.ModuleList([Layer(hidden, heads) for _ in range(layers)])
        self.score = dense([hidden, 16, 1], activation, 0.01)
        self.score_of_waiting = dense([hidden, 16, 1], activation, 0.01)
        nn.init.constant_(self.score_of_waiting[-1].get_parameter("bias"), waiting_bias)

    def scores(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) the scores of the rows, and (S,) those of waiting."""
        of_jobs = self.job(torch.cat([rows.features, rows.shared[rows.owner]], 1))
        place = (
            torch.arange(len(rows.owner), device=rows.owner.device) - (rows.counts.cumsum(0) - rows.counts)[rows.owner]
        )
        most = int(rows.counts.max()) if len(rows) else 0
        padded = of_jobs.new_zeros(len(rows), most, of_jobs.shape[1]).index_put((rows.owner, place), of_jobs)
        padded = torch.cat([self.wait(rows.shared)[:, None], padded], 1)
        there = torch.arange(most + 1, device=padded.device) <= rows.counts[:, None]
        for layer in self.layers:
            padded = layer(padded, there)
        return self.score(padded[rows.owner, place + 1])[:, 0], self.score_of_waiting(padded[:, 0])[:, 0]
