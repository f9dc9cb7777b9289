"""From a sweep file to a list of tasks.

The file holds an options file of an experiment in which a list may stand wherever one value does, or a list of such.
All combinations of the lists are tasks. Three keys are not of an options file:

| key | meaning |
|---|---|
| ``options`` | an options file that holds whatever is not said here |
| ``train`` | an agent, ``file.py[:Class]``, which is trained with each combination, as by the command ``train`` |
| ``compare`` | a trace; beside it stand ``policies``, ``windows`` and what else the command ``compare`` takes |
"""

import hashlib
import itertools
import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError

from hdeeprm_like import limits
from hdeeprm_like.decision.pair_names import beside
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.inputs import read_json, sha256
from hdeeprm_like.options import Options, explain
from hdeeprm_like.plugins import python_files, whole_names

Do: TypeAlias = Literal["launch", "compare", "train"]
LAUNCH, COMPARE, TRAIN = get_args(Do)

WHO = ("policy", "pybatsim", "training")  # keys that change neither platform nor jobs; they vary fastest
LISTS = ("type_file_paths", "selection", "policies", "hidden")  # what is a list in an options file, too
PATHS = ("workload_file_path", "platform_file_path", "type_file_paths")
SHOWN = ("policy", "seed")  # columns of the table though all tasks may have the same there

Content: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One simulation or training.

    Attributes:
        key: a digest of all that decides the result: options and the content of the files that they name. Tasks with
            one key, as two random windows that begin at one place, are run once and have a row each.
        do: what. content: with what, as JSON. values: what tells it from others, by column of the table.
    """

    key: str
    do: Do
    content: Content
    values: Content


def read_sweep(path: Path) -> list[Task]:
    """Read a sweep file.

    Raises:
        HDeepRMError: it cannot be used, or one of its experiments cannot.
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
    folder = path.parent
    own = whole(entry, folder)
    if "options" in entry:
        if not isinstance(entry["options"], str):
            raise OptionsError(f"{path}: options: {entry['options']!r:.60}: the path of an options file is needed")
        base = folder / entry["options"]
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
    """Refuse an agent that cannot be loaded before anything is run."""
    from hdeeprm_like.learning.loading import load_agent_class

    load_agent_class(name)


def task_of(do: Do, content: Content, values: Content, names: Any) -> Task:
    """Return a task.

    Args:
        names: JSON content whose strings may be names of files, which decide the result as well.
    """
    known = {name: digest for name in strings(names) if (digest := digest_of(name))}
    told = {key: value for key, value in content.items() if key != "file"}
    text = json.dumps([do, told, known], sort_keys=True)
    return Task(hashlib.sha256(text.encode()).hexdigest()[:16], do, content, values)


def strings(content: Any) -> Iterator[str]:
    """Yield all strings in JSON content but for the keys."""
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        for value in content:
            yield from strings(value)
    elif isinstance(content, str):
        yield content


@cache
def digest_of(name: str) -> str:
    """Return the digest of the file that a string names, ``scored:FILE`` and ``FILE.py:Class`` too; empty if none."""
    places = [Path(name), Path(name.partition(":")[2].partition("-")[0]), *python_files(name)]
    for place in places:
        try:
            if place.is_absolute() and place.is_file():
                return sha256(place)
        except (OSError, ValueError, ResultsError):  # a name too long for a file, or with a zero byte
            continue
    return ""


def whole(content: Any, folder: Path) -> Content:
    """Return options with whole paths, so that they mean the same wherever they are read."""
    if not isinstance(content, dict):
        raise OptionsError(f"{folder}: an object with the options of an experiment is needed")

    def path_of(value: Any) -> Any:
        if isinstance(value, list):
            return [path_of(one) for one in value]
        return os.path.normpath(folder.absolute() / value) if isinstance(value, str) and value else value

    found: Content = whole_names(beside(content, folder), folder)
    found |= {name: path_of(found[name]) for name in PATHS if name in found}
    if TRAIN in found:
        agents = found[TRAIN] if isinstance(found[TRAIN], list) else [found[TRAIN]]
        if not all(isinstance(agent, str) for agent in agents):
            raise OptionsError(f"{TRAIN}: {found[TRAIN]!r:.60}: an agent is named as file.py or file.py:Class")
        found[TRAIN] = [path_of(agent) if agent.endswith(".py") else agent for agent in agents]
    return found


def merged(base: Content, own: Content) -> Content:
    """Return options with others in the place of theirs."""
    found = dict(base)
    for key, value in own.items():
        inner = found.get(key)
        found[key] = merged(inner, value) if isinstance(value, dict) and isinstance(inner, dict) else value
    return found


def combinations(path: Path, content: Content) -> Iterator[Content]:
    """Yield all combinations of the lists in some content; those of the policies of one experiment in a row."""
    axes = sorted(axes_of(content), key=lambda axis: axis[0][0] in WHO)
    count = math.prod(len(values) for _, values in axes)
    if count == 0:
        empty = next(".".join(place) for place, values in axes if not values)
        raise OptionsError(f"{path}: {empty}: is an empty list; at least one value is needed")
    if count > limits.TASKS.most:
        raise OptionsError(f"{path}: makes {count:,} tasks: {limits.refusal(limits.TASKS)}")
    for chosen in itertools.product(*(values for _, values in axes)):
        found = content
        for (place, _), value in zip(axes, chosen, strict=True):
            found = replaced(found, place, value)
        yield dict(found)


def axes_of(content: Content, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Yield where lists stand in the place of one value, and these lists.

    Where an options file has a list anyway, a list of lists is one.
    """
    for key, value in content.items():
        if isinstance(value, dict):
            yield from axes_of(value, (*place, key))
        elif isinstance(value, list):
            lists = bool(value) and all(isinstance(one, list) for one in value)
            if lists or (key not in LISTS and "parameters" not in place):
                yield (*place, key), value


def replaced(content: Content, place: Sequence[str], value: Any) -> Content:
    """Return content with another value at a place."""
    key, *rest = place
    return content | {key: replaced(content[key], rest, value) if rest else value}


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
        raise OptionsError(f"{path}: network: a sweep plays no messages; leave it out, or launch the experiments")
    return options


def flat(content: Content, prefix: str = "") -> Content:
    """Return nested content with dotted keys."""
    found: Content = {}
    for key, value in content.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def columns_of(tasks: Sequence[Task]) -> list[str]:
    """Return the columns in which tasks differ, and those that a table shows anyway."""
    names = dict.fromkeys(name for task in tasks for name in task.values)
    first = tasks[0].values if tasks else {}
    return [name for name in names if name in SHOWN or any(task.values.get(name) != first.get(name) for task in tasks)]
