"""Text columns of importers: in ``jobs.extra.csv`` beside a trace, or in their CSV of jobs."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from hdeeprm_like.cluster.partitions import Demands, no_demands
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_header import names_in
from hdeeprm_like.inputs import read_text
from hdeeprm_like.types import Floats
from hdeeprm_like.values import FINITE

Words: TypeAlias = Mapping[str, Sequence[str]]  # columns of texts by name, (J,) each, empty if unknown

WORDS = ("Partition", "Constraints", "Account", "QOS", "User")
GPUS, NODES = "GPUs", "Nodes"  # GPUs of the whole job, and number of its nodes


def words_of_trace(trace: Trace) -> dict[str, list[str]]:
    """Return the columns `WORDS` of the jobs of a trace, and `GPUS` and `NODES` if known.

    They come from ``jobs.extra.csv``; if missing there, from the numbers of the trace and their names in its header.

    Raises:
        WorkloadError: the file beside the trace cannot be used.
    """
    more = _beside(trace)
    words = {name: more.get(name) or [""] * len(trace) for name in WORDS}
    numbers = {"User": trace.user, "Account": trace.group, "Partition": trace.partition}
    for name, column in numbers.items():
        if not any(words[name]):
            names = names_in(trace.header, "Group" if name == "Account" else name)
            words[name] = [names.get(value, str(value)) if value >= 0 else "" for value in column.tolist()]
    return words | {name: more[name] for name in (GPUS, NODES) if name in more}


def demands_from_words(words: Words, jobs: int) -> Demands:
    """Return the requests of jobs by the texts of their log.

    GPUs are assumed to be requested per node, as with ``--gres``, if the log has the number of nodes of a job.
    """
    nothing = ("",) * jobs

    def texts(name: str) -> tuple[str, ...]:
        return tuple(words.get(name, nothing))

    return replace(
        no_demands(jobs),
        partition=texts("Partition"),
        constraint=texts("Constraints"),
        account=texts("Account"),
        qos=texts("QOS"),
        gpus_per_node=gpus_by_node(words, jobs),
    )


def gpus_by_node(words: Words, jobs: int) -> Floats:
    """Return (J,) GPUs per node, 0 if not in the log."""
    if GPUS not in words or NODES not in words:
        return np.zeros(jobs)
    gpus, nodes = numbers_in(words[GPUS]), numbers_in(words[NODES])
    return np.where(nodes >= 1.0, gpus / np.maximum(nodes, 1.0), 0.0)


def numbers_in(texts: Sequence[str], otherwise: float = 0.0) -> Floats:
    """Return numbers, and *otherwise* for empty texts.

    Raises:
        WorkloadError: a text is no number.
    """
    where = "the columns beside the log"
    return np.array([FINITE.in_text(text, WorkloadError, where) if text else otherwise for text in texts])


def demands_of_trace(trace: Trace) -> Demands:
    """Return the requests of the jobs of a trace besides cores and memory.

    Raises:
        WorkloadError: the file beside the trace cannot be used.
    """
    return demands_from_words(words_of_trace(trace), len(trace))


def _beside(trace: Trace) -> dict[str, list[str]]:
    """Return the columns of ``jobs.extra.csv`` for the jobs of a trace, if the file exists."""
    path = trace.path
    name = path.name.removesuffix(".swf.gz" if path.name.endswith(".swf.gz") else ".swf")
    beside = [path.with_name(f"{name}.extra.csv{packed}") for packed in ("", ".gz")]
    file = next((one for one in beside if one.is_file()), None)
    if file is None:
        return {}
    columns = _read_beside(file, file.stat().st_mtime_ns)
    if "Job" not in columns:
        raise WorkloadError(f"{file}: column 'Job' is missing; the file that hdeeprm-like import writes is needed")
    rows = {number: row for row, number in enumerate(columns["Job"])}
    try:
        chosen = [rows[str(number)] for number in trace.job.tolist()]
    except KeyError as missing:
        raise WorkloadError(f"{file}: job {missing.args[0]} of {path.name} is not in it") from None
    return {name: [column[row] for row in chosen] for name, column in columns.items() if name != "Job"}


@lru_cache(maxsize=2)
def _read_beside(file: Path, changed: int) -> dict[str, list[str]]:
    """Return the columns of a file beside a trace, cached for the windows of the trace."""
    return words_of_csv(file, "Job")


def words_of_csv(path: Path, *more: str) -> dict[str, list[str]]:
    """Return `WORDS` of the jobs of a CSV, and further columns, in the order of the file; missing ones are left out.

    Raises:
        WorkloadError: it cannot be read.
    """
    names = (*WORDS, GPUS, NODES, *more)
    lines = csv.reader(io.StringIO(read_text(path, WorkloadError), newline=""))
    head = next(lines, [])
    places = {name: head.index(name) for name in names if name in head}
    found: dict[str, list[str]] = {name: [] for name in places}
    for line in lines:
        if not line:
            continue
        if len(line) != len(head):
            raise WorkloadError(f"{path}:{lines.line_num}: has {len(line)} values; the line of names has {len(head)}")
        for name, place in places.items():
            found[name].append(line[place])
    return found
