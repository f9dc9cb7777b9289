"""The decision system: instants in, observations and actions across to an agent, rewards and the episode out.

The same lines run under every driver::

    system.receive(instant)
    while system.open:
        system.act(agent.act(*system.observe()))
    commands = state.drain()
"""

from typing import Protocol

import numpy as np

from hdeeprm_like.cluster.state import Instant, State
from hdeeprm_like.decision.actions import ActionSpace
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.rewards import Reward
from hdeeprm_like.errors import AgentError
from hdeeprm_like.types import Bools, Floats

NO_FEATURES = np.zeros(0, np.float32)
NO_FEATURES.flags.writeable = False


class Observer(Protocol):
    """Turns the state into what an agent sees.

    Attributes:
        shape: of an observation.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an observation."""
        ...

    def __call__(self, state: State) -> Floats:
        """Return a new float32 array of that shape, within [0, 1]."""
        ...


class Agent(Protocol):
    """Chooses actions."""

    def act(self, observation: Floats, mask: Bools) -> int:
        """Return the number of a legal action."""
        ...


class DecisionSystem:
    """Decides for one run of one cluster, and records what an agent needs to learn from it.

    A decision is open when jobs wait at an instant, until the action space says that the instant is over.

    Attributes:
        state: the cluster and its jobs. actions: what can be done.
        observer: None for agents that look at nothing. reward: None where nothing is learned; rewards are 0 then.
        open: whether a decision is wanted now.
    """

    def __init__(
        self, state: State, actions: ActionSpace, observer: Observer | None = None, reward: Reward | None = None
    ) -> None:
        self.state = state
        self.actions = actions
        self.observer = observer
        self.reward = reward
        self.open = False
        self._seen: tuple[Floats, Bools] | None = None
        self._observations: list[Floats] = []
        self._masks: list[Bools] = []
        self._chosen: list[int] = []
        self._rewards: list[float] = []
        self._times: list[float] = []
        self._level = 0.0  # of the reward, at the last decision
        self._settled = True  # whether the last decision has its reward

    def receive(self, instant: Instant) -> None:
        """Move to the next instant."""
        if self.reward is not None:
            self.reward.pass_time(self.state, instant.now)
        self.state.receive(instant)
        self.arrive()

    def arrive(self) -> None:
        """Open a decision if one is wanted at the instant that the state is at."""
        self.open = bool(self.state.tables.clock["waiting"][0] > 0)
        self._seen = None

    def observe(self) -> tuple[Floats, Bools]:
        """Return what is to be seen now and which actions are legal; the same when asked again."""
        if self._seen is None:
            observation = self.observer(self.state) if self.observer is not None else NO_FEATURES
            self._seen = observation, self.actions.mask(self.state)
        return self._seen

    def act(self, action: int) -> None:
        """Apply an action and record it.

        Raises:
            AgentError: there is no such action or it is not legal now.
        """
        observation, mask = self.observe()
        if not (0 <= action < self.actions.size and mask[action]):
            raise AgentError(self._why_not(action))
        self.settle()
        self._observations.append(observation)
        self._masks.append(mask)
        self._chosen.append(int(action))
        self._times.append(self.state.now)
        again = self.actions.apply(int(action), self.state)
        self._seen = None
        self.open = bool(again and self.state.tables.clock["waiting"][0] > 0)
        if self.reward is None:
            self._rewards.append(0.0)
        elif self.reward.mode == "sample":
            self._rewards.append(self.reward.objective(self.state))
        else:
            self._settled = False

    def settle(self) -> None:
        """Give the last decision the reward that was not known at once; drivers call it when the run is over."""
        if self.reward is None or self.reward.mode == "sample":
            return
        level = self.reward.level(self.state)
        if not self._settled:
            self._rewards.append(level - self._level)
            self._settled = True
        self._level = level

    @property
    def rewards(self) -> list[float]:
        """The rewards that are known by now."""
        return self._rewards

    @property
    def episode(self) -> Episode:
        """The decisions until now, all of which must have been rewarded."""
        shape = self.observer.shape if self.observer is not None else (0,)
        steps = len(self._chosen)
        return Episode(
            observations=np.array(self._observations, np.float32).reshape(steps, *shape),
            masks=np.array(self._masks, np.bool_).reshape(steps, self.actions.size),
            actions=np.array(self._chosen, np.int64),
            rewards=np.array(self._rewards, np.float64),
            times=np.array(self._times, np.float64),
            end=self.state.now,
        )

    def _why_not(self, action: int) -> str:
        if not 0 <= action < self.actions.size:
            return f"the agent chose action {action}; there are {self.actions.size}, numbered from 0"
        return f"the agent chose action {action} ({self.actions.names[action]}), which is not legal now"
