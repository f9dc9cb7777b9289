"""What follows each simulation of a launched learning agent: it learns, and the logs grow by a line.

It does not depend on the simulator: trainings in process, with Batsim 4 and with Batsim 5 are equal.
"""

import time
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.learning.logs import REWARDS, Tally, TrainingLog
from hdeeprm_like.learning.training import CHECKPOINT, learn_from, save_agent
from hdeeprm_like.results.decision_log import DECISIONS, write_decisions


class RunByRun:
    """Takes in the simulations of a learning agent one after the other.

    Attributes:
        learner: learns after each, unless its experiment says "test". output: folder of the logs.
        runs: simulations in all. log_decisions: whether to write the decisions of the last one.
        checkpoint: whether to write what the agent has become after the last one it learns from.
    """

    def __init__(
        self, learner: Learner, output: Path, runs: int = 1, log_decisions: bool = False, checkpoint: bool = False
    ) -> None:
        self.learner = learner
        self.runs = runs
        self.output = output
        self.log_decisions = log_decisions
        self.checkpoint = checkpoint
        self._testing = learner.experiment.options.pybatsim.agent.run == "test"
        learner.agent.greedy = self._testing and learner.experiment.options.training.greedy
        self._rewards: list[float] = []
        self._log: TrainingLog | None = None
        self._began = time.perf_counter()

    def after(self, system: DecisionSystem) -> dict[str, Any]:
        """Learn from a finished simulation; return its entries in ``run.json``."""
        system.settle()
        episode, agent = system.episode, self.learner.agent
        self._rewards.append(episode.reward)
        if self._testing:
            write_lines(self.output / REWARDS, self._rewards)
        else:
            if self._log is None:
                self._log = TrainingLog(self.output, self.learner.actions.names, tensorboard=False)
            tally = Tally()
            agent.anneal(1.0 - (len(self._rewards) - 1) / self.runs)
            tally.add(episode, *agent.action_shares([episode]))
            losses = learn_from(agent, [episode])
            row = tally.row(time.perf_counter() - self._began)
            self._log.write_episode(len(self._rewards), row, losses, tally.preference)
            self._log.flush()
            if self.checkpoint and len(self._rewards) == self.runs:
                save_agent(agent, self.output / CHECKPOINT, self.learner.actions.names)
        if self.log_decisions:
            write_decisions(self.output / DECISIONS, system)
        self._began = time.perf_counter()
        return {"reward": episode.reward}

    def close(self) -> None:
        """Close the logs."""
        if self._log is not None:
            self._log.close()
            self._log = None
