"""Jobs in slots as ragged rows: what agents that choose among jobs compute with, however many jobs there are.

A decision has a window of slots, and most are empty or cannot start. Instead of (S, M, K) numbers, most of them
0, a batch of decisions becomes (R, K): one row for each job that is shown to the network, those of one decision
together. With two or three jobs to choose from in the mean this is ten times less to compute than a window of 32.
"""

from dataclasses import dataclass
from math import log
from typing import Annotated, Any, cast

import torch
from torch import Tensor

from hdeeprm_like.decision.layout import JOB, NODE, Layout
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.ppo import Activation, Epochs, GAELambda, Minibatch, PPOAgent, Standardize, dense
from hdeeprm_like.learning.user_code import code_of

SPREAD = 1000.0  # shares of at least 1 / SPREAD are distinct on a logarithmic scale
OF_THE_CLOCK = ("submission time", "clock")  # grow with the age of a run: nothing learned of them holds elsewhere


@dataclass(frozen=True, eq=False)
class Rows:
    """The choices of a batch of decisions; S decisions, R rows, those of one decision one after the other.

    Attributes:
        features: (R, K) float32 of the job of each row, and of its node if one is chosen. shared: (S, G) of the rest.
        owner: (R,) int64 decision of each row. counts: (S,) int64 rows of each decision.
        actions: (R,) int64 what starts the job. legal: (R,) bool whether that can be done.
        waits: (S,) bool whether waiting is legal. waiting: its action, -1 if there is none.
    """

    features: Tensor
    shared: Tensor
    owner: Tensor
    counts: Tensor
    actions: Tensor
    legal: Tensor
    waits: Tensor
    waiting: int

    def __len__(self) -> int:
        return len(self.counts)

    def pick(self, decisions: Tensor) -> "Rows":
        """Return the rows of (B,) decisions, in that order."""
        counts = self.counts[decisions]
        owner = torch.repeat_interleave(counts)
        first = (self.counts.cumsum(0) - self.counts)[decisions] - (counts.cumsum(0) - counts)
        rows = torch.arange(len(owner), device=owner.device) + first[owner]
        return Rows(
            self.features[rows],
            self.shared[decisions],
            owner,
            counts,
            self.actions[rows],
            self.legal[rows],
            self.waits[decisions],
            self.waiting,
        )

    def chosen(self, actions: Tensor) -> Tensor:
        """Return (S,) the row of each of (S,) actions, -1 for waiting."""
        found = torch.full_like(actions, -1)
        hits = (self.actions == actions[self.owner]).nonzero()[:, 0]
        found[self.owner[hits]] = hits
        return found

    def log_probabilities(self, rows: Tensor, waits: Tensor) -> tuple[Tensor, Tensor]:
        """Return the logarithms of the probabilities of the rows and of waiting, for each decision by itself.

        Args:
            rows: (R,) scores. waits: (S,) scores.

        Returns:
            (R,) and (S,); minus infinity for what is not legal.
        """
        rows = rows.masked_fill(~self.legal, -torch.inf)
        waits = waits.masked_fill(~self.waits, -torch.inf)
        most = waits.detach().scatter_reduce(0, self.owner, rows.detach(), "amax")
        total = (waits - most).exp().index_add(0, self.owner, (rows - most[self.owner]).exp())
        level = most + total.log()
        return rows - level[self.owner], waits - level

    def of_actions(self, rows: Tensor, waits: Tensor, actions: Tensor) -> Tensor:
        """Return (S,) what is given for the rows and for waiting, of (S,) actions."""
        place = self.chosen(actions)
        if not len(rows):
            return waits
        return torch.where(place >= 0, rows[place.clamp(min=0)], waits)

    def entropy(self, rows: Tensor, waits: Tensor) -> Tensor:
        """Return (S,) entropies in nats of the logarithms of probabilities of `log_probabilities`."""
        parts = [-one.exp() * one.clamp(min=-1e9) for one in (rows, waits)]
        return parts[1].index_add(0, self.owner, parts[0])

    def draw(self, rows: Tensor, waits: Tensor, generator: torch.Generator) -> Tensor:
        """Return (S,) actions, drawn by the logarithms of their probabilities."""
        numbers = torch.rand(len(self), dtype=torch.float64, generator=generator).to(rows.device)
        if not len(rows):
            return torch.full_like(self.counts, self.waiting)
        sums = rows.double().exp().cumsum(0)
        starts = self.counts.cumsum(0) - self.counts
        before = torch.cat([sums.new_zeros(1), sums])[starts]
        passed = torch.zeros_like(self.counts).index_add(
            0, self.owner, (sums - before[self.owner] <= numbers[self.owner]).long()
        )
        beyond = passed >= self.counts
        drawn = torch.where(beyond, self.waiting, self.actions[(starts + passed).clamp(max=len(rows) - 1)])
        nothing = beyond & ~self.waits
        if not bool(nothing.any()):
            return drawn
        # probabilities add up to a little less than 1 now and then, and a number may lie between where none can wait
        return torch.where(nothing, self.best(rows, waits), drawn)

    def best(self, rows: Tensor, waits: Tensor) -> Tensor:
        """Return (S,) the most probable actions; of equals the first."""
        if not len(rows):
            return torch.full_like(self.counts, self.waiting)
        most = waits.scatter_reduce(0, self.owner, rows, "amax")
        places, tops = torch.arange(len(rows), device=rows.device), rows >= most[self.owner]
        first = torch.full_like(self.counts, len(rows)).scatter_reduce(0, self.owner[tops], places[tops], "amin")
        return torch.where(first < len(rows), self.actions[first.clamp(max=len(rows) - 1)], self.waiting)

    def dense(self, rows: Tensor, waits: Tensor, actions: int) -> Tensor:
        """Return (S, A) what is given for the rows and for waiting; minus infinity where nothing is."""
        out = rows.new_full((len(self), actions), -torch.inf)
        out = out.index_put((self.owner, self.actions), rows)
        if self.waiting < 0:
            return out
        return torch.cat([out[:, : self.waiting], waits[:, None]], 1)


class RowsOf:
    """Turns observations into rows, by what a layout says of their columns.

    Columns about jobs become features of rows, each twice: as it is, and on a logarithmic scale, since shares of a
    large machine are small. Of all other columns each row sees the same: of a block of several things, such as cores or
    events, the mean, the least and the greatest of each feature, so that a network fits machines of any size.

    Attributes:
        layout: of observations and actions. shows_all: whether rows are made of all jobs in the slots, or of those
            alone that can start. row_features, shared_features: how many there are, K and G.
    """

    def __init__(self, layout: Layout, shows_all: bool = False) -> None:
        """Look at a layout.

        Raises:
            OptionsError: actions do not choose jobs, or jobs are not shown.
        """
        found = [(one, columns) for one, columns in layout.columns if one.of == JOB]
        if not layout.slots or not found or any(one.count != layout.slots for one, _ in found):
            raise OptionsError(
                "this agent chooses among jobs that it sees; take actions 'jobs' or 'machines' and an observation that "
                "shows jobs: compact, horizon, backfilling or machines"
            )
        self.layout, self.shows_all = layout, shows_all
        self._jobs = [columns for _, columns in found]
        told = [name for one, _ in found for name in one.features]
        self._kept = [i for i, name in enumerate(told) if name not in OF_THE_CLOCK]
        nodes = layout.block(NODE)
        self._nodes = nodes if layout.nodes > 1 else None
        self._others = [
            (one, columns)
            for one, columns in layout.columns
            if one.of != JOB and not (self._nodes and one.of == NODE) and not set(one.features) <= set(OF_THE_CLOCK)
        ]
        self.names = tuple(told[i] for i in self._kept), tuple(one.features for one, _ in self._others)
        self.row_features = 2 * (len(self._kept) + (len(self._nodes[0].features) if self._nodes else 0))
        self.shared_features = sum(len(one.features) * (1 if one.count == 1 else 3) for one, _ in self._others)

    def __call__(self, observations: Tensor, masks: Tensor) -> Rows:
        """Return the rows of (S, F) observations with (S, A) masks."""
        slots, nodes, waiting = self.layout.slots, self.layout.nodes, self.layout.waiting
        told = [cells(observations[:, columns], slots) for columns in self._jobs]
        jobs = told[0] if len(told) == 1 else torch.cat(told, 2)
        startable = masks[:, : slots * nodes]
        shown = jobs.any(2) if self.shows_all else startable
        owner, actions = shown.nonzero(as_tuple=True)
        parts = [jobs[owner, actions % slots][:, self._kept]]
        if self._nodes:
            _, columns = self._nodes
            parts.append(cells(observations[:, columns], nodes)[owner, actions // slots])
        features = torch.cat(parts, 1)
        return Rows(
            features=torch.cat([features, spread(features)], 1),
            shared=self.shared(observations),
            owner=owner,
            counts=torch.bincount(owner, minlength=len(shown)),
            actions=actions,
            legal=startable[owner, actions],
            waits=masks[:, waiting] if waiting >= 0 else torch.zeros_like(masks[:, 0]),
            waiting=waiting,
        )

    def shared(self, observations: Tensor) -> Tensor:
        """Return (S, G) what all rows of a decision see."""
        parts = []
        for block, columns in self._others:
            seen = cells(observations[:, columns], block.count)
            parts += [seen[:, 0]] if block.count == 1 else [seen.mean(1), *seen.aminmax(dim=1)]
        return torch.cat(parts, 1) if parts else observations[:, :0]


def cells(columns: Tensor, count: int) -> Tensor:
    """Return (S, count, K) the features of each of some things, out of (S, count * K) columns; nothing is copied."""
    split: Tensor = columns.unflatten(1, (count, -1))  # type: ignore[no-untyped-call]
    return split


def spread(shares: Tensor) -> Tensor:
    """Return shares from 0 to 1 on a logarithmic scale, which also goes from 0 to 1."""
    return (shares * SPREAD).log1p() / log(1.0 + SPREAD)


class SlotPPO(PPOAgent):
    """PPO of a network that scores the jobs it may start, and waiting, whatever their number.

    The constructor of a subclass takes ``**ppo`` to hand the options of this one on, makes its layers, and the subclass
    writes `scores`.

    Attributes:
        shows_all: whether the network sees all jobs in the slots, or those alone that can start.
    """

    any_size = True
    learning_rate = 0.001
    shows_all = standardizes_minibatches = False

    def __init__(
        self,
        gamma: float,
        layout: Layout,
        activation: Activation = "tanh",
        critic: Annotated[
            bool, "whether a network learns what to expect; without it episodes with the same jobs are compared"
        ] = False,
        gae_lambda: GAELambda = 1.0,
        epochs: Epochs = 3,
        minibatch: Minibatch = 4096,
        standardize: Standardize = "batch",
        **ppo: Any,
    ) -> None:
        super().__init__(gamma, gae_lambda, epochs=epochs, minibatch=minibatch, standardize=standardize, **ppo)
        self.fit(layout)
        self.bootstraps = critic
        self.critic = dense([self.rows_of.shared_features, 32, 1], activation) if critic else None

    @property
    def layout(self) -> Layout:
        """What is seen and can be done."""
        return self.rows_of.layout

    def fit(self, layout: Layout) -> None:
        """Play on a machine, or with a queue, of another size.

        Raises:
            AgentError: the agent has learned of other features.
            OptionsError: actions do not choose jobs, or jobs are not shown.
        """
        before, found = self.__dict__.get("rows_of"), RowsOf(layout, self.shows_all)
        if before is not None and before.names != found.names:
            raise AgentError(
                f"was trained to observe {before.names}, not {found.names}; use the observation of its training"
            )
        self.rows_of = found

    def scores(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) the scores of the rows, and (S,) those of waiting; the higher, the more probable."""
        raise AgentError(f"{code_of(type(self))}: {type(self).__name__} has no scores(rows)")

    def forward_value(self, observation: Tensor) -> Tensor:
        """Return (B,) expected returns; 0 without a critic."""
        return self._expected(self.rows_of.shared(observation))

    def _expected(self, shared: Tensor) -> Tensor:
        """Return (S,) expected returns, given (S, G) what all rows of a decision see."""
        if self.critic is None:
            return torch.zeros(len(shared), device=self.device)
        return cast(Tensor, self.critic(shared))[:, 0]

    def logarithms(self, rows: Rows) -> tuple[Tensor, Tensor]:
        """Return (R,) and (S,) the log probabilities of the rows and of waiting."""
        return rows.log_probabilities(*self.scores(rows))

    def choose(self, observations: Tensor, masks: Tensor, episodes: Tensor) -> Tensor:
        """Return (B,) actions: sampled by their probabilities, or the most probable ones if the agent is greedy."""
        rows = self.rows_of(observations, masks)
        found = self.logarithms(rows)
        return rows.best(*found) if self.greedy else rows.draw(*found, self.generator)

    def log_probabilities(self, observations: Tensor, masks: Tensor) -> Tensor:
        """Return (B, A) log probabilities, minus infinity for actions that are not legal."""
        rows = self.rows_of(observations, masks)
        return rows.dense(*self.logarithms(rows), masks.shape[1])

    def seen_in(self, batch: Batch) -> Rows:
        """Return the rows of some episodes."""
        return self.rows_of(batch.observations, batch.masks)

    def evaluated(self, seen: Rows, rows: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return (B,) log probabilities of actions, (B,) entropies and (B,) values at the decisions *rows*."""
        part = seen.pick(rows)
        found = self.logarithms(part)
        uncertain = part.entropy(*(found if self.entropy else (one.detach() for one in found)))
        return part.of_actions(*found, actions), uncertain, self._expected(part.shared)

    def chosen_logarithms(self, batch: Batch, chosen: Tensor) -> Tensor:
        """Return (B,) the log probabilities of the actions of (B,) decisions of a batch."""
        rows = self.rows_of(batch.observations[chosen], batch.masks[chosen])
        return rows.of_actions(*self.logarithms(rows), batch.actions[chosen])
