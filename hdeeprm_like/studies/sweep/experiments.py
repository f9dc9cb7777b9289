"""The tasks of an options file: a simulation, as ``launch`` runs it, or a training."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.errors import OptionsError, ResultsError, WorkloadError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.formats.open import load_platform, load_trace
from hdeeprm_like.formats.shipped import Kind, found, shipped
from hdeeprm_like.formats.training_logs import EVALUATIONS
from hdeeprm_like.inputs import read_json, read_rows, read_text
from hdeeprm_like.options import Options
from hdeeprm_like.plugins import whole_names
from hdeeprm_like.studies.sweep.tasks import LAUNCH, TRAIN, WHO, Content, Task, combinations, flat, task_of, validated
from hdeeprm_like.values import FINITE

PATHS: Mapping[str, tuple[Kind, ...]] = {  # keys of paths, with the kinds of names that they accept
    "workload_file_path": ("workload", "trace"),
    "platform_file_path": ("platform",),
    "type_file_paths": (),
}

trace_at = lru_cache(maxsize=2)(load_trace)  # inputs may not change during a sweep, and its processes end with it
platform_at = lru_cache(maxsize=8)(load_platform)


def experiment_tasks(path: Path, entry: Content) -> Iterator[Task]:
    """Yield the tasks of an object of a sweep file that simulates or trains.

    Raises:
        HDeepRMError: the object or one of its files cannot be used.
    """
    folder = path.parent
    own = whole(entry, folder)
    if "options" in entry:
        if not isinstance(entry["options"], str):
            raise OptionsError(f"{path}: options: {entry['options']!r:.60}: the path of an options file is needed")
        base = found(entry["options"], "options", folder=folder)
        own = merged(whole(read_json(base, OptionsError), base.parent), own)
        del own["options"]
    for combination in combinations(path, own):
        agent = combination.pop(TRAIN, None)
        options = checked(path, combination)
        values = flat(combination | ({} if agent is None else {TRAIN: agent}))
        if agent is None:
            if options.pybatsim.agent.type == "LEARNING":
                raise OptionsError(f'{path}: pybatsim.agent.type: a LEARNING agent needs "train": "file.py"')
            content: Content = {"file": str(path.absolute()), "options": combination}
            yield task_of(LAUNCH, content, values, combination)
        else:
            check_agent(agent)
            yield task_of(TRAIN, {"agent": agent, "options": combination}, values, [combination, agent])


@cache
def check_agent(name: str) -> None:
    """Refuse an agent that cannot be loaded, before anything runs."""
    from hdeeprm_like.learning.loading import load_agent_class

    load_agent_class(name)


def whole(content: Any, folder: Path) -> Content:
    """Return options with absolute paths, which are valid in any folder."""
    if not isinstance(content, dict):
        raise OptionsError(f"{folder}: an object with the options of an experiment is needed")

    def path_of(value: Any, *kinds: Kind) -> Any:
        if isinstance(value, list):
            return [path_of(one, *kinds) for one in value]
        if not isinstance(value, str) or not value:
            return value
        named = found(value, *kinds, folder=folder.absolute()) if kinds else folder.absolute() / value
        return os.path.normpath(named)

    own: Content = whole_names(beside(content, folder), folder)
    own |= {name: path_of(own[name], *kinds) for name, kinds in PATHS.items() if name in own}
    if TRAIN in own:
        agents = own[TRAIN] if isinstance(own[TRAIN], list) else [own[TRAIN]]
        if not all(isinstance(agent, str) for agent in agents):
            raise OptionsError(f"{TRAIN}: {own[TRAIN]!r:.60}: name an agent as file.py or file.py:Class")
        known = shipped("agent")
        agents = [str(known[agent].path) if agent in known else agent for agent in agents]
        own[TRAIN] = [path_of(agent) if agent.endswith(".py") else agent for agent in agents]
    return own


def merged(base: Content, own: Content) -> Content:
    """Return options with some replaced by others."""
    found = dict(base)
    for key, value in own.items():
        inner = found.get(key)
        found[key] = merged(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return found


def checked(path: Path, content: Content) -> Options:
    """Return one combination of options, validated.

    Raises:
        OptionsError: it cannot be used.
    """
    options = validated(path, Options, content)
    if options.network:
        raise OptionsError(f"{path}: network: a sweep simulates no messages; omit it, or launch the experiments")
    return options


def launched(task: Task, folder: Path) -> dict[str, float]:
    """Return the figures of a simulation as ``launch`` runs it."""
    from hdeeprm_like.cluster.schedule import figures
    from hdeeprm_like.decision.actions import PolicyActions, policy_named
    from hdeeprm_like.engine.state import State
    from hdeeprm_like.refusals import LAUNCH as CASE
    from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of

    content = task.content["options"]
    options = Options.model_validate(content)
    jobs = json.dumps({key: value for key, value in content.items() if key not in WHO})
    experiment = replace(inputs_of_launch(jobs, Path(task.content["file"])), options=options)
    policies = PolicyActions([policy_named(options.classic_policy, CASE)])
    how = {"seed": experiment.policy_seed, "whole": options.whole, "needs": policies.needs, "log": False}
    simulator = run_to_end(State(experiment.platform, experiment.workload, **how), policies, "batsim")
    ran = jobs_that_ran(simulator)
    if not ran.any():
        raise WorkloadError(f"none of {len(ran)} jobs fits {experiment.platform_path}, so none has run")
    return figures(schedule_of(simulator, experiment.workload))


@lru_cache(maxsize=2)
def inputs_of_launch(content: str, file: Path) -> Any:
    """Return platform and jobs of options as JSON, without the policy; tasks of one experiment are consecutive."""
    from hdeeprm_like.experiment import Readers, experiment_of

    readers = Readers(lambda path, types: platform_at(path, tuple(types)), lambda path, enough: trace_at(path))
    return experiment_of(file, Options.model_validate({**json.loads(content), "policy": "fcfs"}), readers=readers)


def trained(task: Task, folder: Path) -> dict[str, float]:
    """Train an agent in a folder of the sweep, or continue its training; return its figures.

    ``reward`` is the mean over the last tenth of the episodes; the last evaluation and the results of the best agent on
    held-out episodes are included if the options enable them.
    """
    from hdeeprm_like.experiment import load_experiment
    from hdeeprm_like.launch.learned import HELD_OUT, train_learner
    from hdeeprm_like.launch.learner import AgentChoice, Learner
    from hdeeprm_like.launch.resuming import resume_learner

    output = folder / "trainings" / task.key
    file = output.with_suffix(".json")
    begun = (output / "run.json").exists()
    if begun:
        learner = resume_learner(output)
    else:
        write_json(file, task.content["options"])
        learner = Learner(load_experiment(file), AgentChoice(task.content["agent"]))
    episodes = train_learner(learner, output, begun, progress=False)
    rewards = numbers_in(output / "rewards.log")
    tenth = rewards[-max(1, len(rewards) // 10) :]
    found = {"episodes": float(episodes), "reward": sum(tenth) / len(tenth)}
    for file, row, prefix in ((output / EVALUATIONS, -1, "evaluation_"), (output / HELD_OUT, 0, "held_out_")):
        if file.exists():
            told = read_rows(file, (), ResultsError)[row]
            found |= {
                prefix + key: FINITE.in_text(value, ResultsError, file, key)
                for key, value in told.items()
                if key not in ("episode", "name")
            }
    return found


def numbers_in(path: Path) -> list[float]:
    """Return the numbers of a log with one on each line."""
    lines = enumerate(read_text(path, ResultsError).splitlines(), start=1)
    return [FINITE.in_text(text, ResultsError, f"{path}:{line}") for line, text in lines]
