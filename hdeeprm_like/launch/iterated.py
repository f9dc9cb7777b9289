"""Policy iteration in experiments: an agent that is improved by comparing its decisions with others."""

from pathlib import Path

from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.experiment import episodes_of
from hdeeprm_like.formats.files import alone_in
from hdeeprm_like.launch.learned import begin_training, end_training, imitate
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.learning.checkpoint import CHECKPOINT
from hdeeprm_like.learning.paired_rollouts import PairedRollouts
from hdeeprm_like.learning.policy_iteration import PolicyIteration, validation_of
from hdeeprm_like.learning.threads import threads_for
from hdeeprm_like.run.batch import FIGURES

METHOD = "policy_iteration"
NAMES = {"slowdown": "mean_slowdown"}  # of figures, as ``training.best`` calls them
WITHOUT_USE = ("steps", "n_steps", "prior", "baseline")  # options of the section ``training`` that are of the gradient


def iterate_learner(learner: Learner, output: Path, resume: bool, progress: bool) -> int:
    """Improve an agent by policy iteration, or go on with that, in a directory; return how many iterations it has had.

    Raises:
        ResultsError: the directory holds a run and *resume* is false.
        OptionsError: options do not fit together. AgentError: the agent cannot be improved so.
    """
    check(learner)
    section, names = learner.training, learner.actions.names
    training, validation, held_out = episodes_of(learner.experiment)
    plays = learner.plays(training)
    with alone_in(output), threads_for(learner.agent):
        seed = learner.experiment.options.seed
        rollouts = PairedRollouts(learner.agent, plays, learner.layout, section.policy_iteration, seed)
        run = begin_training(learner, output, section.policy_iteration.iterations, resume, method=METHOD)
        if not (output / CHECKPOINT).exists():
            start = start_of(learner)
            if start is not None:
                learner.agent.prefer(start)
            if section.imitate is not None:
                imitate(learner, plays, section.imitate)
        figures = [NAMES.get(name, name) for name in FIGURES]
        validate = validation_of(learner.plays(validation), section.evaluation_episodes, figures, section.best)
        iterations = PolicyIteration(rollouts, validate, names, output).run(resume, quiet=not progress)
        end_training(learner, output, run, held_out)
        return iterations


def check(learner: Learner) -> None:
    """Refuse options that mean nothing here.

    Raises:
        OptionsError: there is one.
    """
    where, section = learner.experiment.options_path, learner.training
    for name in WITHOUT_USE:
        if getattr(section, name):
            raise OptionsError(f"{where}: training.{name}: policy iteration has no use for it; leave it out")
    for name in ("alike", "parts"):
        if getattr(section, name) != 1:
            raise OptionsError(f"{where}: training.{name}: policy iteration has no use for it; leave it out")
    start_of(learner)


def start_of(learner: Learner) -> int | None:
    """Return the action that the agent prefers at first; None if the options name none.

    Raises:
        OptionsError: it is no action.
    """
    start, actions = learner.training.policy_iteration.start, learner.layout.actions
    if start is None:
        return None
    name = start
    if name not in actions:
        (name,) = PolicyActions([policy_named(start)]).names
    if name not in actions:
        where = f"{learner.experiment.options_path}: training.policy_iteration.start"
        raise OptionsError(f"{where}: {start!r:.60} is no action{did_you_mean(start, actions)}")
    return actions.index(name)
