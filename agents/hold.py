"""Each job that can start is started or held by itself: a small network learns how much more an immediate start brings.

The jobs are looked at in the order of the window (smallest area first in `hold.json`); the first whose score is above 0
starts. At the beginning the scores are those of the rule `saf+reserve`: `rule` where it starts a job, minus that
where it holds it, since cores are kept for shorter ones. What the network learns is added.

It learns by policy iteration alone. Being small it is also evaluated in compiled code, in branches and validations.
An empty machine starts the first job, whatever is learned.
"""

from typing import Annotated

import numpy as np
import torch
from torch import Tensor, nn

from hdeeprm_like.decision.layout import JOB, Layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.run.branches import EMPTY, SLOTS, SlotNetwork

SPAN = 30 * 86400.0  # s, the limit of times in the observation `demand`
SURE = 1e3  # score of the first job where the machine is empty


class Hold(PolicyLearningAgent):
    """A network with one hidden layer that says of each job whether it starts now."""

    any_size = in_order = True

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        hidden: Annotated[int, "units of the hidden layer"] = 24,
        kept: Annotated[float, "share of the cores that the rule keeps for short jobs"] = 0.125,
        short: Annotated[float, "s, requested times up to which jobs are short to the rule"] = 1000.0,
        rule: Annotated[float, "score of a job that the rule starts; minus that of one that it holds"] = 0.3,
    ) -> None:
        super().__init__(gamma)
        self.hidden, self.rule, self.kept, self.short = hidden, rule, kept, short
        self.fit(layout)
        inputs = self.at + len(self.names)
        self.inner, self.outer = nn.Linear(inputs, hidden), nn.Linear(hidden, 1)
        nn.init.zeros_(self.outer.weight)
        nn.init.zeros_(self.outer.bias)

    def fit(self, layout: Layout) -> None:
        """Play with a window of any length, on any machine."""
        found = layout.block(JOB)
        if found is None or "cores left" not in found[0].features or layout.nodes != 1:
            raise AgentError("hold: it needs the observation 'demand' and actions 'jobs'")
        self.layout, (block, columns) = layout, found
        self.at, self.names = columns.start, block.features

    def lean(self, action: int, by: float) -> None:
        """Hold more jobs, or fewer."""
        if action != self.layout.waiting:
            raise AgentError(f"hold: only waiting ({self.layout.waiting}) can be preferred")
        with torch.no_grad():
            self.outer.bias.sub_(by)

    def scores(self, observations: Tensor, owner: Tensor, slots: Tensor) -> Tensor:
        """Return (R,) scores of jobs in slots of some observations, given (S, F) observations and (R,) of both."""
        count, own = self.layout.slots, len(self.names)
        jobs = observations[:, self.at : self.at + count * own].reshape(len(observations), count, own)[owner, slots]
        shared = observations[:, : self.at][owner]
        learned = self.outer(torch.relu(self.inner(torch.cat([shared, jobs], 1))))[:, 0]
        left, time = jobs[:, self.names.index("cores left")], jobs[:, self.names.index("requested time")]
        allowed = (left >= self.kept) | (time <= self.short_share)
        ruled = torch.where(allowed, self.rule, -self.rule)
        return torch.where(shared[:, 0] >= 1.0 - EMPTY, SURE, learned + ruled)

    @property
    def short_share(self) -> float:
        """The time up to which jobs are short, as the observation shows it."""
        return float(np.log1p(self.short) / np.log1p(SPAN)) + 1e-6

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) the logarithms of a softmax over the scores, with 0 for waiting."""
        count = self.layout.slots
        owner, slots = masks[:, :count].nonzero(as_tuple=True)
        logits = observations.new_full((len(masks), count + 1), -torch.inf)
        logits = logits.index_put((owner, slots), self.scores(observations, owner, slots))
        waits = torch.zeros_like(logits[:, count]).masked_fill(~masks[:, count], -torch.inf)
        return torch.cat([logits[:, :count], waits[:, None]], 1).log_softmax(1)

    def drawn(self, logarithms: Tensor) -> Tensor:
        """Return (B,) actions: the first job that is better started than held, or drawn ones."""
        if not self.greedy:
            return super().drawn(logarithms)
        starts = logarithms[:, :-1] > logarithms[:, -1:]
        return torch.where(starts.any(1), starts.int().argmax(1), starts.shape[1])

    def slot_network(self) -> SlotNetwork:
        """Return the network for compiled code."""
        params = np.zeros(1, SLOTS)
        params["shared"], params["own"], params["slots"] = self.at, len(self.names), self.layout.slots
        params["left"], params["time"] = self.names.index("cores left"), self.names.index("requested time")
        params["bias"], params["rule"] = self.outer.bias.item(), self.rule
        params["kept"], params["short"] = self.kept, self.short_share
        inner, biases, outer = (
            part.detach().cpu().double().numpy().copy()
            for part in (self.inner.weight, self.inner.bias, self.outer.weight[0])
        )
        return SlotNetwork(params, inner, biases, outer)
