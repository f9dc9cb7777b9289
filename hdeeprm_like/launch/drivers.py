"""Who decides in the runs of a launch: `in_process.launch` and `with_batsim.launch_batsim` run any of them.

A classic driver is here; one that logs its decisions in `launch.rewarded`, a learning agent in `launch.run_by_run`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.actions import Policy, PolicyActions, policy_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.experiment import Experiment
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.refusals import LAUNCH

if TYPE_CHECKING:
    from hdeeprm_like.decision.system import Agent, DecisionSystem
    from hdeeprm_like.run.simulator import Simulator


class Driver(Protocol):
    """Decides in all runs of a launch; of itself it notes nothing.

    Attributes:
        experiment: what is run.
    """

    experiment: Experiment

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies that it may apply."""

    @property
    def entries(self) -> dict[str, Any]:
        """What ``run.json`` says about the driver, beside the options."""
        return {}

    def begin(self, folder: Path, runs: int) -> None:
        """Prepare for so many runs, whose logs go into a folder."""
        return

    def play(self, progress: bool) -> "tuple[Simulator, DecisionSystem | None]":
        """Run the whole workload once in this process; return what moved the cluster and, if there is one, what decided
        from observation to observation."""

    def system(self, platform: Platform, limits: JobLimits) -> "DecisionSystem":
        """Begin a run that Batsim simulates, which names the jobs one after the other."""

    @property
    def agent(self) -> "Agent":
        """What decides in the runs of `system`."""

    def after(self, system: "DecisionSystem | None") -> dict[str, Any]:
        """Take in a finished run; return its entries in ``run.json``."""
        return {}

    def close(self) -> None:
        """Close the logs, also after an error."""
        return

    def finish(self) -> None:
        """End the launch, once its folder is complete."""
        return


class Classic(Driver):
    """The policy pair or baseline of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The one of the options."""
        return (policy_named(self.experiment.options.classic_policy, LAUNCH),)

    def play(self, progress: bool) -> "tuple[Simulator, DecisionSystem | None]":
        """Run the whole workload once."""
        from hdeeprm_like.run.simulator import Simulator  # not needed where Batsim simulates
        from hdeeprm_like.run.to_end import run_policy

        experiment, options, policies = self.experiment, self.experiment.options, PolicyActions(self.policies)
        seed, jobs = experiment.policy_seed, experiment.workload
        state = State(experiment.platform, jobs, seed=seed, needs=policies.needs, whole=options.whole)
        simulator = Simulator(state, jobs)
        with progress_bar(len(jobs), progress) as show:
            for over in run_policy(simulator, policies):
                show(over)
        return simulator, None

    def system(self, platform: Platform, limits: JobLimits) -> "DecisionSystem":
        """Begin a run that Batsim simulates."""
        from hdeeprm_like.decision.system import DecisionSystem

        options, actions = self.experiment.options, PolicyActions(self.policies)
        seed, needs = self.experiment.policy_seed, actions.needs
        return DecisionSystem(
            State(platform, None, seed=seed, limits=limits, needs=needs, whole=options.whole), actions
        )

    @property
    def agent(self) -> "Agent":
        """The one that takes the only action."""
        from hdeeprm_like.decision.system import FirstAction

        return FirstAction()
