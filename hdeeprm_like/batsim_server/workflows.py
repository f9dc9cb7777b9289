"""Workflows: tasks of a DAX file that become jobs when their predecessors have ended (``-W`` and ``--WS``).

Batsim reads from a DAX only ``id`` and ``runtime`` (s) of each ``job``, and the ``parent`` tasks of each ``child``. A
task becomes a job on one machine that sleeps for its run time, with 10 s more as walltime.

Source: Batsim 4.2's workflow submitter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.inputs import read_document
from hdeeprm_like.values import Number

RUNTIME = Number(0.0, 1e15, above=True, noun="number of seconds")


@dataclass
class Task:
    """A task: its sleep in s, its successors, and the number of predecessors that it waits for."""

    identifier: str
    seconds: float
    children: list["Task"] = field(default_factory=list)
    parents: int = 0
    over_before: int = 0


@dataclass(frozen=True)
class Workflow:
    """A workflow: its name (``wf0``, or ``wfc0`` with a start time), its start in s, its tasks by identifier."""

    name: str
    start: float
    tasks: Mapping[str, Task]


def read_workflow(path: Path, name: str, start: float = 0.0) -> Workflow:
    """Return the workflow of a DAX file.

    Raises:
        WorkloadError: the file is no XML, or an edge refers to a missing task.
    """
    try:
        root = fromstring(read_document(path, WorkloadError), forbid_dtd=False, forbid_entities=True)
    except (ParseError, DefusedXmlException, ValueError, RecursionError) as cause:
        raise WorkloadError(f"{path}: not valid XML: {cause}") from cause
    tag = root.tag.rpartition("}")[2]
    if tag != "adag":
        raise WorkloadError(f"{path}: the root is <{tag[:40]}>, not <adag>")
    space = root.tag[: -len(tag)]
    tasks: dict[str, Task] = {}
    for element in root.iterfind(f"{space}job"):
        identifier = element.get("id", "")
        tasks[identifier] = Task(identifier, _seconds(element, path))
    for element in root.iterfind(f"{space}child"):
        for parent in element.iterfind(f"{space}parent"):
            before, after = _task(tasks, parent, path), _task(tasks, element, path)
            before.children.append(after)
            after.parents += 1
    return Workflow(name, start, tasks)


def _seconds(element: Any, path: Path) -> float:
    where = f"{path}: job {element.get('id', '')[:40]!r}: runtime"
    return RUNTIME.in_text(element.get("runtime", "0"), WorkloadError, where)


def _task(tasks: Mapping[str, Task], element: Any, path: Path) -> Task:
    name = element.get("ref", "")
    if name not in tasks:
        raise WorkloadError(f"{path}: <{element.tag.rpartition('}')[2]} ref={name[:40]!r}>: there is no such job")
    return tasks[name]
