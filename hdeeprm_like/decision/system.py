"""The decision system: instants in; observations and actions to and from an agent; rewards and the episode out.

The same lines run with every driver::

    system.receive(instant)
    while system.open:
        system.act(agent.act(*system.observe()))
    commands = state.drain()
"""

from typing import Protocol

import numpy as np

from hdeeprm_like.decision.actions import ActionSpace
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.objectives import NUMBER_OF_OBJECTIVES
from hdeeprm_like.decision.rewards import (
    REWARD,
    Reward,
    RewardArrays,
    pass_time,
    reward_at_once,
    settle,
)
from hdeeprm_like.decision.window.arrays import NoWindow, Window, make_room
from hdeeprm_like.decision.window.statistics import arrive, read_changes
from hdeeprm_like.decision.window.window import JobWindow, NoJobWindow, has_ended, opens
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import entry, inlined, of_two
from hdeeprm_like.engine.lifecycle import receive
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.errors import AgentError
from hdeeprm_like.types import Bools, Floats, Ints

NO_FEATURES = np.zeros(0, np.float32)
NO_FEATURES.flags.writeable = False


class Core(Bundle):
    """The parts that process an instant together."""

    tables: Tables
    window: Window
    reward: RewardArrays


class Completed(Bundle):
    """Rows of the jobs that a message reports as ended; may have spare entries."""

    jobs: Ints


# --- runs without a window or a reward are compiled without the following work


def has_no_window(kind: object) -> bool:
    """Return whether the type of an argument is that of the stand-in for a window."""
    return getattr(kind, "kind", "") == "NoWindow"


def has_no_reward(kind: object) -> bool:
    """Return whether the type of an argument is that of the stand-in for a reward."""
    return getattr(kind, "kind", "") == "NoReward"


@inlined
def never_early(tables: Tables, window: NoWindow) -> bool:
    """Return False: a run is over when all its jobs are."""
    return False


@inlined
def call_requested(tables: Tables, window: NoWindow) -> float:
    """Return the date of the requested call in s."""
    return float(tables.clock[0].wake_at)


@inlined
def call_until_end(tables: Tables, window: Window) -> float:
    """Return the date of the requested call in s, or of the end of the run if that is earlier."""
    return float(min(tables.clock[0].wake_at, window.params[0].until))


@inlined
def jobs_wait(tables: Tables, window: NoWindow) -> bool:
    """Return whether jobs wait."""
    return bool(tables.clock[0].waiting > 0)


@inlined
def no_op_2(a: object, b: object) -> None:
    """Do nothing."""


@inlined
def no_op_3(a: object, b: object, c: object) -> None:
    """Do nothing."""


@inlined
def no_op_4(a: object, b: object, c: object, d: object) -> None:
    """Do nothing."""


let_time_pass = of_two(has_no_reward, no_op_4, pass_time)
reward_action = of_two(has_no_reward, no_op_4, reward_at_once)
settle_in = of_two(has_no_reward, no_op_3, settle)
bring_window = of_two(has_no_window, no_op_2, arrive)
look_at_changes = of_two(has_no_window, no_op_2, read_changes)
wants_decision = of_two(has_no_window, jobs_wait, opens)
ends_early = of_two(has_no_window, never_early, has_ended)
next_call = of_two(has_no_window, call_requested, call_until_end)


@entry
def take_in(core: Core, now: float, completed: Completed, count: int, submitted: int, arrivals_over: bool) -> None:
    """Move to the next instant: reward the time that has passed, update the cluster, then the window.

    Args:
        now: s. count: number of completed jobs. submitted: number of new jobs, the next rows.
        arrivals_over: whether no more jobs will arrive.
    """
    take_in_jobs(core, now, completed.jobs, count, submitted, arrivals_over)


@inlined
def take_in_jobs(core: Core, now: float, completed: Ints, count: int, submitted: int, arrivals_over: bool) -> None:
    """Do the same, with the first *count* of the completed jobs."""
    let_time_pass(core.tables, core.window, core.reward, now)
    receive(core.tables, now, completed, count, submitted, arrivals_over)
    bring_window(core.tables, core.window)


@entry
def note_action(core: Core, started_before: int) -> None:
    """Update window and reward after an action, given how many jobs had started in the instant before it."""
    look_at_changes(core.tables, core.window)
    started = core.tables.clock[0].started_now > started_before
    reward_action(core.tables, core.window, core.reward, started)


@entry
def settle_reward(core: Core) -> None:
    """Give the last decision the reward that was due."""
    settle_in(core.tables, core.window, core.reward)


class NoReward(RewardArrays):
    """The reward of a run without learning: always 0."""


def no_reward(kind: type[RewardArrays] = NoReward) -> RewardArrays:
    """Return the reward of a run without learning; `RewardArrays` for what has a window, as machine code knows it."""
    return kind(np.zeros(1, REWARD), np.zeros(NUMBER_OF_OBJECTIVES), np.zeros(0), np.zeros(0))


class Observer(Protocol):
    """Computes the observation of an agent.

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


class FirstAction:
    """The agent of a classic experiment: its only action."""

    def act(self, observation: object, mask: object) -> int:
        """Return action 0."""
        return 0


class DecisionSystem:
    """Takes the decisions of one run of one cluster, and records what an agent needs to learn from it.

    A decision is open from when the window says that one is due until the action space says that the instant is over.

    Attributes:
        state: the cluster and its jobs. actions: the action space. window: of the queue; without slots if not given.
        observer: None for agents without observations. reward: None without learning; rewards are 0 then.
        open: whether a decision is due now. core: its arrays in compiled code.
        records: whether decisions are recorded, as learning needs; otherwise there is no `episode`.
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
        if window is None:
            none = reward is None and observer is None
            window = NoJobWindow(state) if none else JobWindow(state, lists=False)
        self.window = window
        if reward is not None and reward.executes:
            window.arrays.params["executes"] = 1
        zero = no_reward(NoReward if isinstance(window, NoJobWindow) else RewardArrays)
        self.core = Core(state.tables, self.window.arrays, zero if reward is None else reward.arrays)
        self._reward_rows = self.core.reward.params
        self._followed = reward is not None or not isinstance(window, NoJobWindow)
        self._completed = Completed(np.zeros(16, np.int32))
        self.open = False
        self.records = True
        self._seen: tuple[Floats, Bools] | None = None
        self._observations: list[Floats] = []
        self._masks: list[Bools] = []
        self._chosen: list[int] = []
        self._rewards: list[float] = []
        self._times: list[float] = []

    def receive(self, instant: Instant) -> None:
        """Move to the next instant, as described by a message."""
        state = self.state
        state.make_room()
        make_room(self.window.arrays, len(state.tables.jobs))
        count = len(instant.completed)
        if count > len(self._completed.jobs):
            self._completed = Completed(np.zeros(2 * count, np.int32))
        if count:
            self._completed.jobs[:count] = instant.completed
        take_in(self.core, instant.now, self._completed, count, instant.submitted, instant.arrivals_over)
        state.kills = []
        self.arrive(self.window.opens(state))

    def arrive(self, wanted: bool) -> None:
        """Open a decision if one is due at the state's present instant."""
        if self.reward is not None:
            self.reward.refresh(self.state)
        self.open = wanted
        self._seen = None

    def observe(self) -> tuple[Floats, Bools]:
        """Return the observation and the mask now; repeated calls return the same."""
        if self._seen is None:
            observation = self.observer(self.state) if self.observer is not None else NO_FEATURES
            self._seen = observation, self.actions.mask(self.state)
        return self._seen

    def act(self, action: int) -> None:
        """Apply an action and record it.

        Raises:
            AgentError: there is no such action, or it is illegal now in a space that does not forgive that.
        """
        observation, mask = self.observe()
        self.check(action, mask)
        self.settle()
        clock = self.state.tables.clock[0]
        if self.records:
            self._observations.append(observation)
            self._masks.append(mask)
            self._chosen.append(int(action))
            self._times.append(float(clock["now"]))
        started = int(clock["started_now"])
        again = self.actions.apply(int(action), self.state)
        self._seen = None
        if self.reward is not None:
            self.reward.refresh(self.state)
        if self._followed:
            note_action(self.core, started)
        self.open = bool(again and self.window.opens(self.state))
        if self.records and not self._reward_rows["due"][0]:
            self._rewards.append(float(self._reward_rows["last"][0]))

    def check(self, action: int, mask: Bools) -> None:
        """Raise an AgentError unless an action exists and *mask* allows it, or the space forgives illegal ones."""
        actions = self.actions
        if not 0 <= action < actions.size:
            raise AgentError(f"the agent chose action {action}; there are {actions.size}, numbered from 0")
        if not (mask[action] or actions.forgiving):
            raise AgentError(f"the agent chose action {action} ({actions.names[action]}), which is not legal now")

    def settle(self) -> None:
        """Give the last decision the reward that was not known at once; drivers call it at the end of the run."""
        if self._followed:
            settle_reward(self.core)
        if len(self._rewards) < len(self._chosen):
            self._rewards.append(float(self._reward_rows["last"][0]))

    @property
    def rewards(self) -> list[float]:
        """The rewards known so far."""
        return self._rewards

    @property
    def episode(self) -> Episode:
        """The decisions so far; all of them must have been rewarded."""
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
