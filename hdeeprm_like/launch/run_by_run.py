"""A learning agent as the driver of a launch: after each run it learns, and the logs grow by a line, as in HDeepRM.

What follows a run does not depend on the simulator: trainings in process, with Batsim 4 and with Batsim 5 are equal.
"""

import time
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import Policy, PolicyActions
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.formats.training_logs import REWARDS
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.learning.checkpoint import CHECKPOINT, save_checkpoint
from hdeeprm_like.learning.logs import Tally, TrainingLog
from hdeeprm_like.learning.training import learn_from
from hdeeprm_like.results.decision_log import DECISIONS, write_decisions
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator


class RunByRun:
    """The driver of a learning agent, which one agent is in all runs.

    Attributes:
        learner: learns after each run, unless its experiment says "test". experiment: its experiment.
        agent: the agent. log_decisions: whether to write the decisions of the last run.
        checkpoint: whether to write what the agent has become after the last run it learns from.
    """

    def __init__(self, learner: Learner, log_decisions: bool = False, checkpoint: bool = True) -> None:
        self.learner = learner
        self.experiment, self.agent = learner.experiment, learner.agent
        self.log_decisions = log_decisions
        self.checkpoint = checkpoint
        self._testing = learner.experiment.options.pybatsim.agent.run == "test"
        learner.agent.greedy = self._testing and learner.training.greedy
        self._rewards: list[float] = []
        self._log: TrainingLog | None = None

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Those among its actions."""
        actions = self.learner.actions
        return actions.policies if isinstance(actions, PolicyActions) else ()

    @property
    def entries(self) -> dict[str, Any]:
        """The name of the agent."""
        return {"agent": self.learner.choice.name}

    def begin(self, folder: Path, runs: int) -> None:
        """Write the logs of so many runs into a folder."""
        self.output, self.runs = folder, runs
        self._began = time.perf_counter()

    def play(self, progress: bool) -> tuple[Simulator, DecisionSystem]:
        """Run the whole workload once in this process; return what moved the cluster and what decided."""
        jobs = self.experiment.workload
        system = self.learner.system(self.experiment.platform, jobs.limits(), jobs)
        simulator = Simulator(system.state, jobs)
        play(simulator, system, self.agent)
        return simulator, system

    def system(self, platform: Platform, limits: JobLimits) -> DecisionSystem:
        """Begin a run that Batsim simulates."""
        return self.learner.system(platform, limits, None)

    def after(self, system: DecisionSystem | None) -> dict[str, Any]:
        """Learn from a finished run; return its entries in ``run.json``."""
        assert system is not None
        system.settle()
        episode, agent = system.episode, self.learner.agent
        self._rewards.append(episode.reward)
        if self._testing:
            write_lines(self.output / REWARDS, self._rewards)
        else:
            if self._log is None:
                self._log = TrainingLog(self.output, self.learner.actions.names)
            tally = Tally()
            agent.anneal(1.0 - (len(self._rewards) - 1) / self.runs)
            tally.add(episode, *agent.action_shares([episode]))
            losses = learn_from(agent, [episode])
            row = tally.row(time.perf_counter() - self._began)
            self._log.write_episode(len(self._rewards), row, losses, tally.preference)
            self._log.flush()
            if self.checkpoint and len(self._rewards) == self.runs:
                save_checkpoint(self.output / CHECKPOINT, agent, self.learner.actions.names)
        if self.log_decisions:
            write_decisions(self.output / DECISIONS, system)
        self._began = time.perf_counter()
        return {"reward": episode.reward}

    def close(self) -> None:
        """Close the logs."""
        if self._log is not None:
            self._log.close()
            self._log = None

    def finish(self) -> None:
        """Write the weights to the file that the command line names, if any."""
        self.learner.finish()
