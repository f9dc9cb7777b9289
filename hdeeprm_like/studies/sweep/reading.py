"""Read a sweep file into a list of tasks.

The file holds an options file of an experiment with lists in place of single values, or a list of such objects.
All combinations of the lists are tasks. Four keys are not of an options file:

| key | meaning |
|---|---|
| ``options`` | an options file with defaults for the other keys |
| ``train`` | an agent, ``file.py[:Class]``, which is trained with each combination, as by the command ``train`` |
| ``compare`` | a trace; beside it ``policies``, ``windows`` and further options of the command ``compare`` |
| ``reproduce`` | an experiment of the documents, e.g. ``R10``; beside it ``scale``, ``seeds`` and ``traces`` |
"""

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from hdeeprm_like import limits
from hdeeprm_like.decision.policy_words import beside
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.shipped import Kind, found, shipped
from hdeeprm_like.inputs import read_json
from hdeeprm_like.options import Options, explain
from hdeeprm_like.plugins import whole_names
from hdeeprm_like.studies.sweep.tasks import (
    COMPARE,
    LAUNCH,
    REPRODUCE,
    TRAIN,
    Content,
    Task,
    combinations,
    flat,
    task_of,
)

PATHS: Mapping[str, tuple[Kind, ...]] = {  # keys of paths, with the kinds of names that they accept
    "workload_file_path": ("workload", "trace"),
    "platform_file_path": ("platform",),
    "type_file_paths": (),
}


def read_sweep(path: Path) -> list[Task]:
    """Read a sweep file.

    Raises:
        HDeepRMError: the file or one of its experiments cannot be used.
    """
    content = read_json(path, OptionsError)
    entries = content if isinstance(content, list) else [content]
    if not entries or not all(isinstance(entry, dict) for entry in entries):
        raise OptionsError(f"{path}: an object with the options of an experiment is needed, or a list of such objects")
    tasks = [task for entry in entries for task in tasks_of(path, entry)]
    if len(tasks) > limits.TASKS.most:
        raise OptionsError(f"{path}: makes {len(tasks):,} tasks: {limits.refusal(limits.TASKS)}")
    return list({(task.key, json.dumps(task.values)): task for task in tasks}.values())


def tasks_of(path: Path, entry: Content) -> Iterator[Task]:
    """Yield the tasks of one object of a sweep file."""
    if COMPARE in entry:
        from hdeeprm_like.studies.sweep.comparisons import comparison_tasks

        yield from comparison_tasks(path, entry)
        return
    if REPRODUCE in entry:
        from hdeeprm_like.studies.sweep.reproductions import reproduction_tasks

        yield from reproduction_tasks(path, entry)
        return
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
    try:
        options = Options.model_validate(content)
    except ValidationError as error:
        raise OptionsError(f"{path}: {explain(error.errors()[0])}") from None
    if options.network:
        raise OptionsError(f"{path}: network: a sweep simulates no messages; omit it, or launch the experiments")
    return options
