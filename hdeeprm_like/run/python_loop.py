"""An episode that stops at each decision, for agents and parts in Python; the compiled loop runs in between."""

from collections.abc import Iterator

import numpy as np

from hdeeprm_like.decision.actions import Choices, PolicyActions
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.job_actions import JobSlots, SlotChoices
from hdeeprm_like.decision.observations.view import View
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.engine.compiled import direct
from hdeeprm_like.run import loop
from hdeeprm_like.run.loop import BEGIN, FOREVER, OVER, WANTED, NoChoices, NoView, Run, advance, step
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Bools, Floats

NO_NUMBERS = np.zeros(0)


def choices_of(system: DecisionSystem) -> Choices | SlotChoices | NoChoices:
    """Return the actions of a decision system in compiled code; `NoChoices` if they are Python."""
    actions = system.actions
    if type(actions) is JobSlots:
        return actions.choices()
    if type(actions) is PolicyActions and actions.built_in:
        return actions.choices(system.state)
    return NoChoices(NO_NUMBERS)


def new_run(simulator: Simulator, system: DecisionSystem) -> Run:
    """Return a simulation and the decision system of its cluster in compiled code."""
    observer = system.observer
    rows = observer.arrays if type(observer) is View else NoView(NO_NUMBERS)
    shape = system.observer.shape if system.observer is not None else (0,)
    return loop.new_run(
        core=system.core,
        simulator=simulator,
        observer=rows,
        choices=choices_of(system),
        observation=np.zeros(int(np.prod(shape)), np.float32),
        mask=np.ones(system.actions.size, np.bool_),
    )


class Play:
    """An episode that stops at each decision.

    Attributes:
        simulator: moves the cluster. system: decides. run: both in compiled code.
    """

    def __init__(self, simulator: Simulator, system: DecisionSystem) -> None:
        self.simulator = simulator
        self.system = system
        self.run = new_run(simulator, system)

    def advance(self) -> bool:
        """Run until a decision is due; False when the episode is over and its last decision rewarded."""
        system, state = self.system, self.system.state
        while not system.open:
            if state.kills:
                self.simulator.kill(state.kills)
                state.kills = []
            state.make_room()
            why = advance(self.run, FOREVER)
            if why == OVER:
                system.settle()
                return False
            system.arrive(why == WANTED)
        return True

    def observe(self) -> tuple[Floats, Bools]:
        """Return the present observation and mask."""
        return self.system.observe()

    def act(self, action: int) -> None:
        """Apply an action."""
        self.system.act(action)

    @property
    def episode(self) -> Episode:
        """The decisions of the episode."""
        return self.system.episode

    @property
    def is_built_in(self) -> bool:
        """Whether no part of the decision system is Python, so that `Steps` can run it."""
        return self.steps_are_built_in and not isinstance(self.run.observer, NoView)

    @property
    def steps_are_built_in(self) -> bool:
        """Whether no part but the observation is Python, so that nothing in Python happens in between decisions."""
        reward = self.system.reward
        return not isinstance(self.run.choices, NoChoices) and reward is not None and reward.compiled


class Steps:
    """The steps of an episode with built-in parts, from its beginning; nothing is recorded.

    One call of compiled code takes a step and writes the next observation.

    Attributes:
        mask: (A,) which actions are legal now.
    """

    def __init__(self, play: Play) -> None:
        play.system.state.make_room_for_all()
        assert play.system.observer is not None
        self._run = play.run
        self._shape = play.system.observer.shape
        self.mask = self._run.mask
        self._reward = play.run.core.reward.params[0]
        self._clock = play.run.core.tables.clock[0]
        self._step = direct(step, self._run, 0)

    def begin(self) -> bool:
        """Run to the first decision; return False if there is none."""
        return bool(self._step(self._run, BEGIN))

    @property
    def seen(self) -> Floats:
        """The present observation."""
        return self._run.observation.copy().reshape(self._shape)

    def __call__(self, action: int) -> tuple[Floats, float, float, bool]:
        """Apply an action that is legal or forgiven.

        Returns:
            Next observation, reward of the action, time of the cluster in s, whether the episode continues.
        """
        goes_on = self._step(self._run, action)
        return self.seen, float(self._reward["last"]), float(self._clock["now"]), goes_on


def run_in_python(simulator: Simulator, policies: PolicyActions, action: int) -> Iterator[int]:
    """Run to the end under one policy that is Python, wholly or in part; yield the number of jobs that are over."""
    episode = Play(simulator, DecisionSystem(simulator.state, policies))
    while episode.advance():
        episode.act(action)
        yield simulator.over
    yield simulator.over


def play(simulator: Simulator, system: DecisionSystem, agent: Agent) -> None:
    """Run an episode to its end."""
    episode = Play(simulator, system)
    while episode.advance():
        system.act(agent.act(*system.observe()))
