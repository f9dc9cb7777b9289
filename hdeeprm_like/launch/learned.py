"""Training learning agents in experiments."""

import copy
import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import AgentError, OptionsError, ResultsError
from hdeeprm_like.experiment import JobsOf, episodes_of
from hdeeprm_like.formats.files import alone_in, replacing, write_json
from hdeeprm_like.formats.training_logs import EVALUATIONS, LOSSES, PREFERENCES, PROGRESS, REWARDS
from hdeeprm_like.launch.imitation import Teacher
from hdeeprm_like.launch.learner import Learner
from hdeeprm_like.launch.parts import Gather, one_by_one, rollouts_in_parts
from hdeeprm_like.launch.resuming import origin
from hdeeprm_like.launch.run_folder import RECORD, description, inputs_of, write_inputs
from hdeeprm_like.learning.agents import PolicyLearningAgent
from hdeeprm_like.learning.callbacks import TensorBoard, callbacks_named
from hdeeprm_like.learning.checkpoint import BEST, CHECKPOINT, load_agent
from hdeeprm_like.learning.constant_policy import best_constant_policy, constant_policy_means
from hdeeprm_like.learning.threads import threads_for
from hdeeprm_like.learning.training import Played, References, Training, evaluate
from hdeeprm_like.run.episodes import Plays, makespan, mean_bounded_slowdown, mean_slowdown, mean_wait

log = logging.getLogger(__name__)

MEASURES: dict[str, Callable[[Any], float]] = {
    "mean_slowdown": mean_slowdown,
    "bounded_slowdown": mean_bounded_slowdown,
    "wait": mean_wait,
    "makespan": makespan,
}
HELD_OUT = "held-out.csv"
TRAINING_FILES = (CHECKPOINT, BEST, LOSSES, REWARDS, PREFERENCES, PROGRESS, EVALUATIONS, HELD_OUT)


HERE: AbstractContextManager[Gather] = nullcontext(one_by_one)


def train_learner(
    learner: Learner,
    output: Path,
    resume: bool,
    progress: bool,
    gathering: AbstractContextManager[Gather] = HERE,
    callbacks: Sequence[str] = (),
) -> int:
    """Train an agent, or resume its training, in a directory; return how many episodes it has learned from.

    A training that was killed before its first checkpoint starts again when it is resumed.

    Args:
        gathering: gives what plays the parts of an update's episodes, where ``training.parts`` has several; the result
            is the same on any engine.
        callbacks: names of callbacks beside TensorBoard, see `learning.callbacks`.

    Raises:
        ResultsError: the directory holds a run and *resume* is false.
        OptionsError: the options want parts that end before their episodes.
    """
    where, followers = learner.experiment.options_path, [TensorBoard(), *callbacks_named(callbacks)]
    section = learner.training
    if section.n_steps and section.parts > 1:
        raise OptionsError(f"{where}: training.parts: are of whole episodes, n_steps cuts these; leave out one of both")
    with alone_in(output), gathering as gather, threads_for(learner.agent):
        training, validation, held_out = episodes_of(learner.experiment)
        run = begin_training(learner, output, section.episodes, resume)
        if section.prior and not (output / CHECKPOINT).exists():  # also where it was killed before its first one
            plays, size = learner.plays(training), learner.actions.size
            learner.agent.prefer(best_constant_policy(size, plays, section.prior, section.best, MEASURES))
        if section.imitate is not None and not (output / CHECKPOINT).exists():
            imitate(learner, learner.plays(training), section.imitate)
        played = Played(
            training=learner.plays(training, section.alike),
            actions=learner.actions.names,
            evaluation=learner.plays(validation),
            measures=MEASURES,
            references=references_of(learner, learner.plays(training)) if section.baseline is not None else None,
            rollouts=rollouts_in_parts(learner, output, gather) if section.parts > 1 else None,
            seed=learner.experiment.options.seed,
        )
        episodes = Training(learner.agent, played, output, section).run(resume, not progress, followers)
        end_training(learner, output, run, held_out)
        return episodes


def begin_training(learner: Learner, output: Path, count: int, resume: bool, **more: str) -> dict[str, Any]:
    """Return the record of a training; write it, and the inputs, unless the training is resumed.

    Args:
        count: episodes or iterations of the training. more: entries of the record.

    Raises:
        ResultsError: the directory holds a run and *resume* is false.
    """
    run = {**description(learner.experiment, count), "status": "training", **more, **origin(learner)}
    run["files"] = [*TRAINING_FILES, *inputs_of(learner.experiment.platform), RECORD]
    if not resume:
        if (output / RECORD).exists() or (output / CHECKPOINT).exists():
            raise ResultsError(f"{output}: holds a run; resume it with --resume, clean it, or choose another directory")
        write_inputs(learner.experiment, output)
        write_json(output / RECORD, run)
    return run


def end_training(learner: Learner, output: Path, run: dict[str, Any], held_out: JobsOf) -> None:
    """Play the held-out episodes, if the options want some, and record that the training is complete."""
    if learner.training.held_out:
        write_held_out(learner, output, learner.plays(held_out))
    learner.finish()
    files = [name for name in run["files"] if (output / name).exists()]
    write_json(output / RECORD, run | {"status": "complete", "files": files})


def references_of(learner: Learner, plays: Plays) -> References:
    """Return what plays the baseline of ``training.baseline`` on the jobs of training episodes.

    Args:
        plays: of the training episodes, each with its own jobs.
    """
    section = learner.training
    assert section.baseline is not None
    teacher = Teacher(section.baseline, plays, learner.layout)

    def references(first: int, count: int) -> list[Episode]:
        begin, end = first // section.alike, (first + count - 1) // section.alike
        played = teacher.play(begin, end - begin + 1)
        return [played[number // section.alike - begin] for number in range(first, first + count)]

    return references


def imitate(learner: Learner, plays: Plays, policy: str) -> None:
    """Train an agent to imitate a policy on training episodes.

    Raises:
        OptionsError: there is no such policy, or it cannot be imitated in this decision space.
        AgentError: the agent cannot imitate.
    """
    section, agent = learner.training, learner.agent
    if not isinstance(agent, PolicyLearningAgent):
        raise AgentError(f"{learner.choice.name}: has no probabilities of actions; leave out training.imitate")
    played = Teacher(policy, plays, learner.layout).play(0, section.imitate_episodes)
    loss = agent.imitate([episode for episode in played if len(episode)], section.imitate_epochs)
    log.info("imitated %s on %d decisions; the mean loss is %.4f", policy, sum(map(len, played)), loss)


def write_held_out(learner: Learner, output: Path, plays: Plays) -> None:
    """Write ``held-out.csv``: mean results on held-out episodes of a training's best agent and of constant policies.

    The first line is the agent's, with the weights of ``best.pt`` if there is one; one for each action follows, of the
    policy that always takes it. The agent's weights are unchanged afterwards.

    Args:
        output: directory of the training. plays: the held-out episodes.
    """
    last, section = copy.deepcopy(learner.agent.state_dict()), learner.training
    load_agent(learner.agent, output, learner.actions.names)
    seed, episodes = learner.experiment.options.seed, section.held_out
    results = evaluate(learner.agent, plays, episodes, greedy=section.greedy, seed=seed, measures=MEASURES)
    learner.agent.load_state_dict(last)
    means = [{name: sum(values) / episodes for name, values in results.items()}]
    means += constant_policy_means(range(learner.actions.size), plays, episodes, MEASURES)
    with replacing(output / HELD_OUT) as file:
        file.write(",".join(("name", *means[0])) + "\n")
        for name, figures in zip(("agent", *learner.actions.names), means, strict=True):
            file.write(",".join((name, *map(repr, figures.values()))) + "\n")
