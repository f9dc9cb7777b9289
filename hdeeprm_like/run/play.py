"""Playing one episode in process, on Batsim's clock or the textbook's."""

from typing import Literal, TypeAlias

import numpy as np

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.rewards import OBJECTIVES, Reward, RewardRows, pass_time
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.decision.window.following import follow
from hdeeprm_like.decision.window.rows import Window
from hdeeprm_like.decision.window.window import opens
from hdeeprm_like.engine.batsim_clock import begin_answer, next_message, wire_time
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.event_clock import Clockwork, Textbook, begin, next_event
from hdeeprm_like.engine.lifecycle import log_blocked, receive, room_for_an_instant
from hdeeprm_like.engine.state import Commands, State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Bools, Floats

OVER, WANTED, FULL = 0, 1, 2  # why a simulation stops: the end, a decision, no room left in the log
Clock: TypeAlias = Literal["batsim", "textbook"]
BATSIM, TEXTBOOK = 0, 1  # clocks in compiled code


def new_simulator(clock: Clock, state: State, workload: Workload) -> Simulator | Textbook:
    """Return what moves a state: the embedded simulator with Batsim's clock, or the textbook's clock."""
    return Simulator(state, workload) if clock == "batsim" else Textbook(state, workload)


class Play:
    """An episode that stops at each decision.

    Attributes:
        simulator: moves the cluster. system: decides. clock: BATSIM or TEXTBOOK.
    """

    def __init__(self, simulator: Simulator | Textbook, system: DecisionSystem) -> None:
        self.simulator = simulator
        self.system = system
        self._answering = False  # whether an instant waits for its commands
        self._clockwork = simulator.clockwork if isinstance(simulator, Textbook) else NO_CLOCKWORK
        self.clock = TEXTBOOK if isinstance(simulator, Textbook) else BATSIM
        reward = system.reward
        self._reward = NO_REWARD if reward is None else reward.rows
        self._compiled = reward is None or reward.compiled

    def advance(self) -> bool:
        """Run until a decision is wanted; False when the episode is over and its last decision rewarded."""
        running = self._run() if self._compiled else self._run_instant_by_instant()
        if not running:
            self.system.settle()
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

    @property
    def rows(self) -> tuple[Tables, Simulation, Clockwork, Window, RewardRows]:
        """What compiled code reads and writes."""
        system = self.system
        return system.state.tables, self.simulator.simulation, self._clockwork, system.window.rows, self._reward

    def _run(self) -> bool:
        """Run over the instants at which no decision is wanted in compiled code."""
        system = self.system
        state = system.state
        while not system.open:
            if self._answering and state.kills:
                self._answer()
            state.make_room()
            why = to_next_decision(*self.rows, self.clock, self._answering)
            state.kills, self._answering = [], why == WANTED
            if why == OVER:
                return False
            if why == WANTED:
                system.arrive(True)
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


NO_CLOCKWORK = Clockwork(np.zeros(1, np.int64), np.zeros(0, np.int8))  # of Batsim's clock
NO_REWARD = Reward(OBJECTIVES["makespan"], "sample").rows  # adds up nothing over time


@compiled
def answer(t: Tables, s: Simulation, c: Clockwork, clock: int) -> None:
    """Let the simulator begin to apply what was decided."""
    log_blocked(t)
    s.sim[0].call_asked = t.clock[0].wake_at
    if clock == BATSIM:
        begin_answer(t, s)
    else:
        begin(t, s, c)


@compiled
def next_instant(t: Tables, s: Simulation, c: Clockwork, w: Window, r: RewardRows, clock: int) -> bool:
    """Run to the next instant and take in what happened; False when nothing can happen any more."""
    sim = s.sim[0]
    if clock == BATSIM:
        if not next_message(t, s):
            return False
        now, over = wire_time(sim.clock), sim.over == 2
    else:
        if not next_event(t, s, c):
            return False
        now, over = sim.clock, sim.over == 1
    pass_time(t, w, r, now)
    completed = s.completed[: sim.completed]
    receive(t, now, completed, sim.submitted, over)
    follow(t, w, completed)
    sim.completed = sim.submitted = sim.called = 0
    return True


@compiled
def to_next_decision(
    t: Tables, s: Simulation, c: Clockwork, w: Window, r: RewardRows, clock: int, answering: bool
) -> int:
    """Run to the next instant at which a decision is wanted; return why it stopped.

    Args:
        clock: BATSIM or TEXTBOOK. answering: whether to apply first what was decided at the present instant.
    """
    while True:
        if answering:
            answer(t, s, c, clock)
        if len(t.log) > 0 and t.clock[0].logged + room_for_an_instant(t) > len(t.log):
            return FULL
        if not next_instant(t, s, c, w, r, clock):
            return OVER
        if opens(t, w):
            return WANTED
        answering = True


def play(simulator: Simulator | Textbook, system: DecisionSystem, agent: Agent) -> None:
    """Play an episode to its end."""
    episode = Play(simulator, system)
    while episode.advance():
        system.act(agent.act(*system.observe()))
