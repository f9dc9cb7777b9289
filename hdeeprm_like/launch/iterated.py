"""Policy iteration in experiments: an agent that is improved by comparing its decisions with others."""

from pathlib import Path

from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.experiment import episodes_of
from hdeeprm_like.formats.files import alone_in
from hdeeprm_like.launch.learned import begin_training, end_training, imitate
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.launch.resuming import fields_in
from hdeeprm_like.learning.checkpoint import CHECKPOINT
from hdeeprm_like.learning.comparisons import IterationOptions
from hdeeprm_like.learning.paired_rollouts import PairedRollouts, Sampling
from hdeeprm_like.learning.policy_iteration import iterate_policy, validation_of
from hdeeprm_like.learning.threads import threads_for
from hdeeprm_like.learning.training import TrainingOptions
from hdeeprm_like.run.batch import FIGURES

METHOD = "policy_iteration"
NAMES = {"slowdown": "mean_slowdown"}  # of figures, as ``training.best`` calls them
WITHOUT_USE = ("steps", "n_steps", "prior", "baseline")  # options of the section ``training`` that are of the gradient


def iterate_learner(
    learner: Learner,
    output: Path,
    how: TrainingOptions,
    resume: bool,
    progress: bool,
) -> int:
    """Improve an agent by policy iteration, or go on with that, in a directory; return how many iterations it has had.

    Args:
        how: of evaluations; its episodes and envs have no meaning here.

    Raises:
        ResultsError: the directory holds a run and *resume* is false.
        OptionsError: options do not fit together. AgentError: the agent cannot be improved so.
    """
    check(learner)
    section = learner.experiment.options.training
    chosen = section.policy_iteration
    training, validation, held_out = episodes_of(learner.experiment)
    plays = learner.plays(training)
    with alone_in(output), threads_for(learner.agent):
        sampling = Sampling(**fields_in(chosen, Sampling), seed=learner.experiment.options.seed)
        rollouts = PairedRollouts(learner.agent, plays, learner.layout, sampling)
        run = begin_training(learner, output, how, chosen.iterations, resume, method=METHOD)
        if not (output / CHECKPOINT).exists():
            start = start_of(learner)
            if start is not None:
                learner.agent.prefer(start)
            if section.imitate is not None:
                imitate(learner, plays, section.imitate)
        figures = [NAMES.get(name, name) for name in FIGURES]
        iterations = iterate_policy(
            rollouts,
            validation_of(learner.plays(validation), how.evaluation_episodes, figures),
            learner.actions.names,
            output,
            IterationOptions(**fields_in(chosen, IterationOptions), best=how.best),
            resume=resume,
            quiet=not progress,
        )
        end_training(learner, output, run, held_out, how)
        return iterations


def check(learner: Learner) -> None:
    """Refuse options that mean nothing here.

    Raises:
        OptionsError: there is one.
    """
    where, options = learner.experiment.options_path, learner.experiment.options
    section = options.training
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
    start, actions = learner.experiment.options.training.policy_iteration.start, learner.layout.actions
    if start is None:
        return None
    name = start
    if name not in actions:
        (name,) = PolicyActions([policy_named(start)]).names
    if name not in actions:
        where = f"{learner.experiment.options_path}: training.policy_iteration.start"
        raise OptionsError(f"{where}: {start!r:.60} is no action{did_you_mean(start, actions)}")
    return actions.index(name)
