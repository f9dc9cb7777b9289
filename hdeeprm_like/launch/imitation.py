"""Baselines as teachers: what one does on some jobs, as episodes of an agent's own decision space."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import Layout
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.rollout import batched_rollout
from hdeeprm_like.run.episodes import Plays
from hdeeprm_like.run.expert import follow, planned_starts
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.types import Bools, Floats, Ints


class Teacher:
    """Plays episodes as a baseline would, by the actions of a decision space.

    Where actions are policies, it takes the action of its name; where they start jobs in slots, it starts what the
    baseline's schedule of the same jobs has started by then.
    """

    def __init__(self, name: str, plays: Plays, layout: Layout) -> None:
        """Look at what the episodes are.

        Args:
            name: of the baseline or pair. layout: of the actions.

        Raises:
            OptionsError: the policy is not known, or these actions cannot express its decisions.
        """
        self._policy, self._plays = policy_named(name), plays
        self._action = -1
        if isinstance(layout.slots, int) and not layout.slots:
            (known,) = PolicyActions([self._policy]).names
            if known not in layout.actions:
                raise OptionsError(f"{name}: is none of the actions that the agent chooses from, so nothing to imitate")
            self._action = layout.actions.index(known)
        elif layout.nodes > 1 or layout.waiting < 0:
            raise OptionsError(f"{name}: can be imitated where jobs are chosen, or policies, but not machines for jobs")

    def play(self, first: int, count: int) -> list[Episode]:
        """Return consecutive episodes, played to their ends.

        Raises:
            OptionsError: actions or objectives are the user's own, which cannot be played in a batch.
        """
        runs = self._plays.batch(first, count)
        if runs is None:
            raise OptionsError("a baseline can be imitated where actions and objectives are built in")
        follower = _Follower(self, runs, range(first, first + count))
        return batched_rollout(follower, runs)

    def starts_of(self, numbers: Sequence[int]) -> Floats:
        """Return (B, J) when the baseline starts each job of some episodes, in s."""
        plays, kept = self._plays, dict[int, Floats]()
        for number in numbers:
            window = number // plays.alike
            if window not in kept:
                kept[window] = planned_starts(plays.platform, plays.workload_of(window), self._policy, plays.clock)
        starts = np.full((len(numbers), max(map(len, kept.values()))), np.inf)
        for row, number in zip(starts, numbers, strict=True):
            found = kept[number // plays.alike]
            row[: len(found)] = found
        return starts

    @property
    def action(self) -> int:
        """The action that it always takes; -1 where it starts jobs in slots."""
        return self._action


class _Follower:
    """Decides in a batch of episodes as a teacher says."""

    def __init__(self, teacher: Teacher, runs: Runs, numbers: Sequence[int]) -> None:
        self._action, self._runs = teacher.action, runs
        self._starts = teacher.starts_of(numbers) if self._action < 0 else np.zeros((0, 0))
        self._chosen: Ints = np.zeros(len(numbers), np.int64)

    def begin(self, episodes: Ints) -> None:
        """Take note of nothing."""

    def decide(self, observations: Floats, masks: Bools, episodes: Ints) -> Ints:
        """Return (B,) the action of each episode that is not over."""
        if self._action >= 0:
            return np.full(len(episodes), self._action)
        follow(self._runs.rows, self._starts, self._runs.masks, self._chosen)
        return self._chosen[episodes]
