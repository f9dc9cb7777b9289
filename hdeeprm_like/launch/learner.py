"""A learning agent in an experiment, whatever is done with it: launched, trained, compared."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.actions import ActionSpace
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.experiment import Experiment
from hdeeprm_like.learning.agents import ALONE, LearningAgent
from hdeeprm_like.learning.checkpoint import load_agent, save_checkpoint
from hdeeprm_like.learning.loading import build_agent, load_agent_class
from hdeeprm_like.run.episodes import Plays


@dataclass(frozen=True)
class AgentChoice:
    """The agent that the command line names.

    Attributes:
        name: ``my_agent.py``, ``my_agent.py:Class`` or ``package.module:Class``, relative to the current folder.
        device: ``cpu``, ``cuda``, ``mps`` or ``auto``.
        input_model: checkpoint with the initial weights. output_model: where to write the weights at the end.
        section: options in place of those of the section ``agent``; None for these.
    """

    name: str
    device: str = "cpu"
    input_model: Path | None = None
    output_model: Path | None = None
    section: Mapping[str, Any] | None = None


class Learner:
    """A learning agent in an experiment.

    Attributes:
        experiment: platform, workload and options. choice: the agent that the command line names.
        training: the section of the options, with the episodes and envs of the command line in place of its own.
        space: observation, actions and reward. actions: the action space. layout: what is seen and can be done.
        agent: with its initial weights.
    """

    def __init__(
        self, experiment: Experiment, choice: AgentChoice, episodes: int | None = None, envs: int | None = None
    ) -> None:
        options = experiment.options.pybatsim
        self.experiment = experiment
        given = ({"episodes": episodes, "steps": 0} if episodes else {}) | ({"envs": envs} if envs else {})
        self.training = experiment.options.training.model_copy(update=given)
        self.choice = choice
        self.space = experiment.space
        limits = experiment.workload.limits()
        self.actions: ActionSpace = self.space.sample(experiment.platform, limits).actions
        self.layout = self.space.layout(experiment.platform, limits)
        written = options.agent.model_dump(exclude={"type", "run", "policy_pair"}, exclude_none=True)
        section = written if choice.section is None else choice.section
        self.agent: LearningAgent = build_agent(
            load_agent_class(choice.name),
            section,
            self.layout,
            choice.device,
            experiment.options.seed,
            self.training.alike,
        )
        if choice.input_model is not None:
            load_agent(self.agent, choice.input_model, self.actions.names)

    def system(self, platform: Platform, limits: JobLimits, jobs: Workload | None, log: bool = True) -> DecisionSystem:
        """Begin a run of all jobs by the agent, and return its decision system.

        Args:
            jobs: None where only Batsim knows those still to come.
        """
        self.agent.begin(ALONE)
        space = replace(self.space, until=0.0, placed=0)  # where episodes to learn from end
        return space.system(space.state(platform, jobs, self.experiment.policy_seed, log, limits))

    def plays(self, workload_of: Callable[[int], Workload], alike: int = 1) -> Plays:
        """Return numbered episodes.

        Args:
            workload_of: number to jobs. alike: how many consecutive episodes have the same jobs.
        """
        return Plays(
            self.experiment.platform,
            workload_of,
            self.space,
            limits_of=self.experiment.workload,
            seed=self.experiment.policy_seed,
            alike=alike,
            clock=self.training.clock,
        )

    def finish(self) -> None:
        """Write the weights to the file that the command line names, if any."""
        if self.choice.output_model is not None:
            save_checkpoint(self.choice.output_model, self.agent, self.actions.names)
