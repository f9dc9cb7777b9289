"""A classic agent whose decisions and rewards are logged, used by launches only if requested."""

from dataclasses import replace
from pathlib import Path

from hdeeprm_like.decision.presets import classic_policies
from hdeeprm_like.decision.system import DecisionSystem, FirstAction
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import Experiment
from hdeeprm_like.formats.files import write_lines
from hdeeprm_like.learning.logs import REWARDS
from hdeeprm_like.results.decision_log import DECISIONS, write_decisions
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator


def run_rewarded(experiment: Experiment) -> tuple[Simulator, DecisionSystem]:
    """Simulate an experiment under its policy pair or baseline, with the observation and the rewards of its options.

    Raises:
        OptionsError: the options place each job on a single node, which decision spaces of pairs do not support.
    """
    if experiment.options.whole:
        raise OptionsError("--log-decisions: whole: baselines that put each job whole on one node are not rewarded")
    policies = classic_policies(*experiment.options.classic_pair).policies
    as_pair = replace(experiment.space, actions="policies", pairs=policies, void=False, masked=True, opens="waiting")
    space = replace(as_pair, step=0.0, jump=False, until=0.0, placed=0)
    jobs = experiment.workload
    system = space.system(space.state(experiment.platform, jobs, experiment.policy_seed))
    simulator = Simulator(system.state, jobs)
    play(simulator, system, FirstAction())
    return simulator, system


def write_rewards(folder: Path, rewards: list[float], last: DecisionSystem) -> None:
    """Write the sum of the rewards of each simulation, and the decisions of the last one."""
    write_lines(folder / REWARDS, rewards)
    write_decisions(folder / DECISIONS, last)
