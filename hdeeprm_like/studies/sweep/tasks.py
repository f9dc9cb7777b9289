"""The tasks of a sweep, from its file: their contents, digests, and the combinations of lists.

The file holds an options file of an experiment with lists in place of single values, or a list of such objects.
All combinations of the lists are tasks. Four keys are not of an options file:

| key | meaning |
|---|---|
| ``options`` | an options file with defaults for the other keys |
| ``train`` | an agent, ``file.py[:Class]``, which is trained with each combination, as by the command ``train`` |
| ``compare`` | a trace; beside it ``policies``, ``windows`` and further options of the command ``compare`` |
| ``reproduce`` | an experiment of the documents, e.g. ``R10``; beside it ``scale``, ``seeds`` and ``traces`` |
"""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from hdeeprm_like import limits
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.inputs import read_json, sha256
from hdeeprm_like.options import explain
from hdeeprm_like.plugins import function_at, python_files

Do: TypeAlias = Literal["launch", "compare", "train", "reproduce"]
LAUNCH, COMPARE, TRAIN, REPRODUCE = get_args(Do)
GO_ON = (TRAIN, REPRODUCE)  # tasks that continue where they were when they run again

WHO = ("policy", "pybatsim", "training")  # keys that change neither platform nor jobs; they vary fastest
LISTS = ("type_file_paths", "selection", "policies", "hidden", "factors", "load", "traces")  # in an options file, too
SHOWN = ("policy", "seed")  # columns of the table even if all tasks have one value

Content: TypeAlias = dict[str, Any]
Checked = TypeVar("Checked", bound=BaseModel)


@dataclass(frozen=True)
class Task:
    """One simulation or training.

    Attributes:
        key: a digest of everything that decides the result: options and the content of the files that they name. Tasks
        with one key, such as two random windows that begin at one place, run once and have a row each.
        do: the kind of task. content: its input, as JSON. values: varied options, by column of the table.
    """

    key: str
    do: Do
    content: Content
    values: Content


def task_of(do: Do, content: Content, values: Content, names: Any) -> Task:
    """Return a task.

    Args:
        names: JSON content with strings that may name files, which decide the result as well.
    """
    known = {name: digest for name in strings(names) if (digest := digest_of(name))}
    told = {key: value for key, value in content.items() if key != "file"}
    text = json.dumps([do, told, known], sort_keys=True)
    return Task(hashlib.sha256(text.encode()).hexdigest()[:16], do, content, values)


def strings(content: Any) -> Iterator[str]:
    """Yield all strings in JSON content, keys too."""
    if isinstance(content, dict):
        content = [*content, *content.values()]
    if isinstance(content, list):
        for value in content:
            yield from strings(value)
    elif isinstance(content, str):
        yield content


@cache
def digest_of(name: str) -> str:
    """Return the digest of the file that a string names, also as ``cost:FILE`` or ``FILE.py:Class``; empty if none."""
    behind = name.partition(":")[2]
    places = [Path(name), Path(behind), Path(behind.partition("-")[0]), *python_files(name)]
    for place in places:
        try:
            if place.is_absolute() and place.is_file():
                return sha256(place)
        except (OSError, ValueError, ResultsError):  # a name too long for a file, or with a zero byte
            continue
    return ""


def combinations(path: Path, content: Content) -> Iterator[Content]:
    """Yield all combinations of the lists in some content; combinations of one experiment are consecutive."""
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
    """Yield the places with a list instead of one value, and these lists.

    Where an options file has a list anyway, only a list of lists varies.
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


def flat(content: Content, prefix: str = "") -> Content:
    """Return nested content with dotted keys."""
    found: Content = {}
    for key, value in content.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def columns_of(tasks: Sequence[Task]) -> list[str]:
    """Return the columns in which tasks differ, and those that a table always shows."""
    names = dict.fromkeys(name for task in tasks for name in task.values)
    first = tasks[0].values if tasks else {}
    return [name for name in names if name in SHOWN or any(task.values.get(name) != first.get(name) for task in tasks)]


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


MADE_BY = {
    COMPARE: "hdeeprm_like.studies.sweep.comparisons:comparison_tasks",
    REPRODUCE: "hdeeprm_like.studies.sweep.reproductions:reproduction_tasks",
}
"""The function that makes the tasks of an object of a sweep file with such a key; `experiments` does of all others."""


def tasks_of(path: Path, entry: Content) -> Iterator[Task]:
    """Return the tasks of one object of a sweep file."""
    usual = "hdeeprm_like.studies.sweep.experiments:experiment_tasks"
    place = next((MADE_BY[key] for key in MADE_BY if key in entry), usual)
    make: Callable[[Path, Content], Iterator[Task]] = function_at(place)
    return make(path, entry)


def validated(path: Path, kind: type[Checked], content: Content) -> Checked:
    """Return one combination of options of some kind, validated.

    Raises:
        OptionsError: it cannot be used.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        raise OptionsError(f"{path}: {explain(error.errors()[0], kind)}") from None
