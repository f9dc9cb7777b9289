"""Playing one episode on the embedded simulator, in process."""

from hdeeprm_like.cluster.kernels import log_blocked
from hdeeprm_like.cluster.state import Commands
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.drivers.simulator import Simulator
from hdeeprm_like.types import Bools, Floats


class Play:
    """An episode that stops at each decision.

    Attributes:
        simulator: moves the cluster. system: decides.
    """

    def __init__(self, simulator: Simulator, system: DecisionSystem) -> None:
        self.simulator = simulator
        self.system = system
        self._begun = False

    def advance(self) -> bool:
        """Run until a decision is wanted; False when the episode is over and its last decision rewarded."""
        system, state = self.system, self.system.state
        while not system.open:
            if self._begun:  # the simulator reads starts, rejections and P-states from the tables that it shares
                log_blocked(state.tables)
                self.simulator.apply(Commands(kills=state.kills, wake_at=state.wake_at))
            instant = self.simulator.next_instant()
            if instant is None:
                self._begun = False
                system.settle()
                return False
            self._begun = True
            system.receive(instant)
        return True

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


def play(simulator: Simulator, system: DecisionSystem, agent: Agent) -> None:
    """Play an episode to its end."""
    episode = Play(simulator, system)
    while episode.advance():
        system.act(agent.act(*system.observe()))
