"""Agents that remember: what they prefer depends on all that they have seen in an episode."""

import torch
from torch import Tensor
from torch.nn.utils import rnn

from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.batch import Batch
from hdeeprm_like.learning.user_code import code_of
from hdeeprm_like.types import Ints


class RecurrentPolicyAgent(PolicyLearningAgent):
    """A policy with a memory, one for each episode that is played: ``forward_recurrent`` gives what follows from both.

    Attributes:
        memory_size: H, numbers that a memory has; a subclass sets it in its constructor.
    """

    memory_size: int
    _memories: Tensor

    def first_memory(self) -> Tensor:
        """Return (H,) the memory at the beginning of an episode: zeros."""
        return torch.zeros(self.memory_size, device=self.device)

    def forward_recurrent(self, observations: Tensor, memories: Tensor) -> tuple[Tensor, Tensor]:
        """Return (B, A) probabilities and (B, H) memories after (B, F) observations, given (B, H) those before."""
        raise AgentError(
            f"{code_of(type(self))}: {type(self).__name__} has no forward_recurrent(observations, memories)"
        )

    def begin(self, episodes: Ints) -> None:
        """Forget what was seen in earlier episodes of these numbers."""
        if not len(episodes):
            return
        first, kept = self.first_memory().detach(), self.__dict__.get("_memories")
        rows = int(episodes.max()) + 1
        if kept is None or len(kept) < rows:
            longer = first.repeat(rows, 1)
            if kept is not None:
                longer[: len(kept)] = kept
            kept = longer
        kept[torch.from_numpy(episodes)] = first
        self.__dict__["_memories"] = kept

    def choose(self, observations: Tensor, masks: Tensor, episodes: Tensor) -> Tensor:
        """Return (B,) actions; each episode goes on from its own memory."""
        memories = self.__dict__["_memories"]
        probabilities, memories[episodes] = self.forward_recurrent(observations, memories[episodes])
        return self.drawn(self.legal_logarithms(probabilities, masks))

    def chosen_logarithms(self, batch: Batch, chosen: Tensor) -> Tensor:
        """Return (B,) the log probabilities of the actions of (B,) decisions of a batch."""
        return self.log_probabilities_of(batch).gather(1, batch.actions[:, None])[chosen, 0]

    def log_probabilities_of(self, batch: Batch) -> Tensor:
        """Return (S, A) log probabilities of the decisions of some episodes, each seen from its beginning on."""
        lengths = batch.lengths.tolist()
        padded = rnn.pad_sequence(list(torch.split(batch.observations, lengths)), batch_first=True)
        memories, steps = self.first_memory().repeat(len(lengths), 1), []
        for step in range(padded.shape[1]):
            probabilities, memories = self.forward_recurrent(padded[:, step], memories)
            steps.append(probabilities)
        told = torch.stack(steps, 1)
        return self.legal_logarithms(torch.cat([told[i, :n] for i, n in enumerate(lengths)]), batch.masks)
