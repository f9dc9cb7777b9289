"""The decision system: instants in, observations and actions across to an agent, rewards and the episode out.

The same lines run under every driver::

    system.receive(instant)
    while system.open:
        system.act(agent.act(*system.observe()))
    commands = state.drain()
"""

from typing import Protocol

import numpy as np

from hdeeprm_like.decision.actions import ActionSpace
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.rewards import Reward
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.state import Instant, State
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

    A decision is open when the window says that one is wanted, until the action space says that the instant is over.

    Attributes:
        state: the cluster and its jobs. actions: what can be done. window: of the queue; without slots if not given.
        observer: None for agents that look at nothing. reward: None where nothing is learned; rewards are 0 then.
        open: whether a decision is wanted now.
    """

    def __init__(
        self,
        state: State,
        actions: ActionSpace,
        observer: Observer | None = None,
        reward: Reward | None = None,
        window: JobWindow | None = None,
    ) -> None:
        self.state = state
        self.actions = actions
        self.observer = observer
        self.reward = reward
        self.window = window if window is not None else JobWindow(state)
        self.open = False
        self._seen: tuple[Floats, Bools] | None = None
        self._observations: list[Floats] = []
        self._masks: list[Bools] = []
        self._chosen: list[int] = []
        self._rewards: list[float] = []
        self._times: list[float] = []

    def receive(self, instant: Instant) -> None:
        """Move to the next instant."""
        if self.reward is not None:
            self.reward.pass_time(self.state, self.window, instant.now)
        self.state.receive(instant)
        self.window.follow(self.state, instant.completed)
        self.arrive(self.window.opens(self.state))

    def arrive(self, wanted: bool) -> None:
        """Open a decision if one is wanted at the instant that the state is at."""
        self.open = wanted
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
            AgentError: there is no such action, or it is not legal now in a space that does not forgive that.
        """
        observation, mask = self.observe()
        self.check(action, mask)
        self.settle()
        self._observations.append(observation)
        self._masks.append(mask)
        self._chosen.append(int(action))
        clock = self.state.tables.clock[0]
        self._times.append(float(clock["now"]))
        started = clock["started_now"]
        again = self.actions.apply(int(action), self.state)
        self.window.note_starts(self.state)
        self._seen = None
        self.open = bool(again and self.window.opens(self.state))
        if self.reward is None:
            self._rewards.append(0.0)
        elif self.reward.at_once:
            self._rewards.append(self.reward.after(self.state, self.window, bool(clock["started_now"] > started)))

    def check(self, action: int, mask: Bools) -> None:
        """Raise an AgentError unless an action can be applied where *mask* tells what is legal."""
        actions = self.actions
        if not 0 <= action < actions.size:
            raise AgentError(f"the agent chose action {action}; there are {actions.size}, numbered from 0")
        if not (mask[action] or actions.forgiving):
            raise AgentError(f"the agent chose action {action} ({actions.names[action]}), which is not legal now")

    def settle(self) -> None:
        """Give the last decision the reward that was not known at once; drivers call it when the run is over."""
        if self.reward is None or self.reward.at_once:
            return
        reward = self.reward.settle(self.state, self.window)
        if len(self._rewards) < len(self._chosen):
            self._rewards.append(reward)

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
