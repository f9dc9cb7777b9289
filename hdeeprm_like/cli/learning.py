"""The command ``train``."""

import argparse
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.cli.arguments import (
    INTERRUPTED,
    PROGRAM,
    AgentFlags,
    Commands,
    add_agent_flags,
    add_input_flags,
    add_trust_flag,
    command,
    flags_in,
    next_command,
    overrides_of,
    tell,
)
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.shipped import name_of
from hdeeprm_like.limits import ENVS, EPISODES, PROCESSES

POLICY_ITERATION = "policy_iteration"

if TYPE_CHECKING:
    from hdeeprm_like.experiment import Experiment
    from hdeeprm_like.launch.learner import Learner


def add_train(commands: Commands) -> None:
    """Add ``train``."""
    added = command(commands, "train", "train an agent", run_train)
    text = "the options file; or a name, e.g. learning"
    added.named("--options -o", ("options",), "EXP.json", text)
    added.path("--output", "DIR", "directory of the training (default: train-EXP)")
    added.path("--resume", "DIR", "continue the training in this directory")
    added.choice(
        "--method",
        ("gradient", POLICY_ITERATION, "evolution"),
        "gradient: an agent learns by its own loss; policy_iteration: its decisions are compared with others in forks "
        "of the simulation, and it learns the differences; evolution: the weights of a learned policy are searched for",
        default="gradient",
    )
    added.whole("--processes", PROCESSES, "processes of the engine (default: one per processor)")
    added.choice(
        "--engine",
        ("local", "slurm"),
        "where to run the windows of an evolution, or the episodes of an agent if training.parts is above 1: processes "
        "of this computer, or jobs of Slurm",
    )
    added.whole("--episodes", EPISODES, "total episodes, in place of the options file's")
    added.whole("--envs", ENVS, "parallel episodes, in place of the options file's")
    added.switch("--report", "also write report.html, one page on the training")
    text = "loggers beside TensorBoard: wandb, mlflow, or FILE.py:Class for your own callback"
    added.option("--log-to", "NAME,...", text)
    add_input_flags(added)
    add_trust_flag(added)
    add_agent_flags(added)


def run_train(options: argparse.Namespace) -> int:
    """Train an agent, from the beginning or from its last checkpoint."""
    if options.resume is None and options.options is None:
        raise OptionsError("train: needs --options EXP.json or --resume DIR")
    method = method_of(options.resume) or options.method
    if method == "evolution":
        return run_evolution(options)
    if method == POLICY_ITERATION:
        refuse_flags(options)
    import logging

    from hdeeprm_like.cli.trust import note_named
    from hdeeprm_like.experiment import load_experiment
    from hdeeprm_like.launch.learned import train_learner
    from hdeeprm_like.launch.resuming import resume_learner

    if options.resume is not None:
        output = options.resume
        learner = resume_learner(output, options.device, options.episodes)
    else:
        output = options.output or Path(f"train-{name_of(options.options)}")
        experiment = load_experiment(options.options, overrides_of(options))
        learner = new_learner(experiment, flags_in(options, AgentFlags), options.episodes, options.envs)
        note_named(options)
    gathering = engine_of(options, learner, output)
    callbacks = [name.strip() for name in (options.log_to or "").split(",") if name.strip()]
    level = options.log_level or learner.experiment.options.pybatsim.log_level
    logging.getLogger("hdeeprm_like").setLevel("ERROR" if options.quiet else level)
    try:
        resumes, progress = options.resume is not None, not options.quiet
        if method == POLICY_ITERATION:
            from hdeeprm_like.launch.iterated import iterate_learner

            found = iterate_learner(learner, output, resumes, progress)
            done = f"{found} iterations"
        else:
            found = train_learner(learner, output, resumes, progress, gathering, callbacks)
            done = f"{found} episodes learned from"
    except KeyboardInterrupt:
        return interrupted(output)
    if options.report:
        from hdeeprm_like.results.run_page import write_run_page

        write_run_page([output], output / "report.html")
    more = "" if options.report else next_command("report", output, "--output", output / "report.html")
    tell(options, f"{done}; the agent is in {output}\n{more}".removesuffix("\n"))
    return 0


def engine_of(
    options: argparse.Namespace, learner: "Learner", output: Path
) -> AbstractContextManager[Callable[..., list[Any]]]:
    """Return the context of the engine that plays the parts of an update; by default this process.

    Raises:
        OptionsError: there is only one part.
    """
    from hdeeprm_like.launch.learned import HERE

    if options.engine is None and options.processes is None:
        return HERE
    if learner.training.parts == 1:
        flag = "--engine" if options.engine else "--processes"
        raise OptionsError(
            f"train {flag}: an engine plays the parts of an update, and training.parts is 1 in "
            f"{learner.experiment.options_path}; set it to 2 or more (many trainings at once are a sweep)"
        )
    from hdeeprm_like.studies.sweep.engine import Where, gathering

    return gathering(Where(options.engine or "local", output, options.processes))


def interrupted(output: Path) -> int:
    """Print how to continue an interrupted training."""
    begun = (output / "run.json").exists()
    again = f"{PROGRAM} train --resume {output}"
    text = f"continue with: {again}" if begun else "nothing half-written is left"
    sys.stderr.write(f"{PROGRAM}: interrupted; {text}\n")
    return INTERRUPTED


def method_of(folder: Path | None) -> str | None:
    """Return the method of a training to resume; None if there is none, or its record names none."""
    if folder is None or not (folder / "run.json").exists():
        return None
    from hdeeprm_like.inputs import read_json

    record = read_json(folder / "run.json", ResultsError)
    method = record.get("method", "gradient") if isinstance(record, dict) else None
    return method if isinstance(method, str) else None


def refuse_flags(options: argparse.Namespace) -> None:
    """Refuse what policy iteration has no use for.

    Raises:
        OptionsError: such a flag is given.
    """
    for name in ("episodes", "envs", "log_to"):
        if getattr(options, name) is not None:
            reason = "set it in the options file, in training.policy_iteration"
            reason = reason if name in ("episodes", "envs") else "it has TensorBoard's events alone"
            raise OptionsError(f"train --method {POLICY_ITERATION}: --{name.replace('_', '-')}: {reason}")


def run_evolution(options: argparse.Namespace) -> int:
    """Evolve a learned policy, from the beginning or from its last checkpoint."""
    if options.report:
        raise OptionsError("train --method evolution: --report needs --method gradient")
    named = "log_to agent episodes envs platform trace workload seed cores leave_out_larger device input_model"
    for name in named.split():
        if getattr(options, name) not in (None, False):
            raise OptionsError(f"train --method evolution: --{name.replace('_', '-')}: set it in the options file")
    from hdeeprm_like.studies.evolution.search import evolve
    from hdeeprm_like.studies.sweep.engine import Where

    output = options.resume or options.output or Path(f"train-{name_of(options.options)}")
    path = None if options.resume else options.options
    try:
        where = Where(options.engine or "local", output, options.processes)
        best = evolve(path, output, where, progress=not options.quiet)
    except KeyboardInterrupt:
        return interrupted(output)
    tell(options, f"the best policy is in {best}; compare it as scored:{best}")
    return 0


def new_learner(
    experiment: "Experiment", options: AgentFlags, episodes: int | None = None, envs: int | None = None
) -> "Learner":
    """Return the learning agent of the command line, in its experiment; see `Learner`."""
    if experiment.options.pybatsim.agent.type != "LEARNING":
        raise OptionsError(f"{options.options}: pybatsim.agent.type: is CLASSIC; only LEARNING agents are trained")
    if not options.agent:
        raise OptionsError(f"{options.options}: pybatsim.agent.type: a LEARNING agent needs --agent FILE.py[:Class]")
    from hdeeprm_like.launch.learner import AgentChoice, Learner

    choice = AgentChoice(options.agent, options.device or "cpu", options.input_model, options.output_model)
    return Learner(experiment, choice, episodes, envs)
