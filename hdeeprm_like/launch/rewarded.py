"""A classic driver whose decisions and rewards are logged, used by launches only if requested."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.system import DecisionSystem, FirstAction
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import Experiment
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.formats.training_logs import REWARDS
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.results.decision_log import DECISIONS, write_decisions
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator


class Rewarded(Classic):
    """The policy pair or baseline of an experiment, with the observation and the rewards of its options."""

    def __init__(self, experiment: Experiment) -> None:
        super().__init__(experiment)
        self._rewards: list[float] = []

    def begin(self, folder: Path, runs: int) -> None:
        """Write the logs into a folder."""
        self._folder, self._runs = folder, runs

    def play(self, progress: bool) -> tuple[Simulator, DecisionSystem]:
        """Run the whole workload once.

        Raises:
            OptionsError: the options place each job on a single node, which decision spaces of pairs do not support.
        """
        experiment = self.experiment
        if experiment.options.whole:
            raise OptionsError("--log-decisions: whole: baselines that put each job whole on one node are not rewarded")
        as_pair = replace(
            experiment.space, actions="policies", pairs=self.policies, void=False, masked=True, opens="waiting"
        )
        space = replace(as_pair, step=0.0, jump=False, until=0.0, placed=0)
        jobs = experiment.workload
        system = space.system(space.state(experiment.platform, jobs, experiment.policy_seed))
        simulator = Simulator(system.state, jobs)
        play(simulator, system, FirstAction())
        return simulator, system

    def after(self, system: DecisionSystem | None) -> dict[str, Any]:
        """Write the sum of the rewards of each run, and the decisions of the last one."""
        assert system is not None
        self._rewards.append(system.episode.reward)
        write_lines(self._folder / REWARDS, self._rewards)
        if len(self._rewards) == self._runs:
            write_decisions(self._folder / DECISIONS, system)
        return {"reward": system.episode.reward}
