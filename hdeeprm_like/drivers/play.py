"""Playing one episode on the embedded simulator, in process."""

import numpy as np

from hdeeprm_like.cluster.kernels import log_blocked, room_for_an_instant
from hdeeprm_like.cluster.state import Commands
from hdeeprm_like.cluster.tables import Tables
from hdeeprm_like.compiled import compiled
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.rewards import NOT_BUILT_IN, objective_value
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.drivers.server_clock import begin_answer, next_message, take_news, wire_time
from hdeeprm_like.drivers.simulator import Simulator
from hdeeprm_like.drivers.tasks import Simulation
from hdeeprm_like.types import Bools, Floats

OVER, WANTED, FULL = 0, 1, 2  # why a simulation stops: the end, a decision, no room left in the log


class Play:
    """An episode that stops at each decision.

    Attributes:
        simulator: moves the cluster. system: decides.
    """

    def __init__(self, simulator: Simulator, system: DecisionSystem) -> None:
        self.simulator = simulator
        self.system = system
        self._answering = False  # whether an instant waits for its commands

    def advance(self) -> bool:
        """Run until a decision is wanted; False when the episode is over and its last decision rewarded."""
        system = self.system
        reward = system.reward
        if reward is None or reward.mode != "integral":
            running = self._run(NOT_BUILT_IN)
        elif reward.number != NOT_BUILT_IN:
            running = self._run(reward.number)
        else:
            running = self._run_instant_by_instant()
        if not running:
            system.settle()
        return running

    def observe(self) -> tuple[Floats, Bools]:
        """Return what is to be seen now and which actions are legal."""
        return self.system.observe()

    def act(self, action: int) -> None:
        """Apply an action."""
        self.system.act(action)

    @property
    def episode(self) -> Episode:
        """The decisions of the episode."""
        return self.system.episode

    def _run(self, objective: int) -> bool:
        """Run over the instants at which nothing waits in compiled code, adding up an objective on the way."""
        state, simulation = self.system.state, self.simulator.simulation
        while not self.system.open:
            if self._answering and (state.kills or state.wake_at != np.inf):
                self._answer()
            state.make_room()
            why, gained = to_next_decision(state.tables, simulation, objective, self._answering)
            state.wake_at, state.kills, self._answering = np.inf, [], why == WANTED
            if objective != NOT_BUILT_IN and self.system.reward is not None:
                self.system.reward.total += gained
            if why == OVER:
                return False
            if why == WANTED:
                self.system.arrive()
        return True

    def _run_instant_by_instant(self) -> bool:
        while not self.system.open:
            if self._answering:
                self._answer()
            instant = self.simulator.next_instant()
            if instant is None:
                return False
            self._answering = True
            self.system.receive(instant)
        return True

    def _answer(self) -> None:
        """Let the simulator apply what was decided; it reads starts, rejections and P-states from the shared tables."""
        state = self.system.state
        log_blocked(state.tables)
        self.simulator.apply(Commands(kills=state.kills, wake_at=state.wake_at))
        self._answering = False


@compiled
def to_next_decision(t: Tables, s: Simulation, objective: int, answering: bool) -> tuple[int, float]:
    """Run to the next instant at which jobs wait.

    Args:
        objective: what to integrate over time, or NOT_BUILT_IN.
        answering: whether to apply first what was decided at the present instant.

    Returns:
        Why it stopped; the integral.
    """
    gained = 0.0
    while True:
        if answering:
            log_blocked(t)
            begin_answer(t, s)
        if len(t.log) > 0 and t.clock[0].logged + room_for_an_instant(t) > len(t.log):
            return FULL, gained
        if not next_message(t, s):
            return OVER, gained
        if objective != NOT_BUILT_IN:
            seconds = wire_time(s.sim[0].clock) - t.clock[0].now
            gained += seconds * objective_value(t, objective, 0.5 * seconds)
        take_news(t, s)
        if t.clock[0].waiting > 0:
            return WANTED, gained
        answering = True


def play(simulator: Simulator, system: DecisionSystem, agent: Agent) -> None:
    """Play an episode to its end."""
    episode = Play(simulator, system)
    while episode.advance():
        system.act(agent.act(*system.observe()))
