"""What Slurm shows of jobs and nodes, in all the forms of its versions from 21.08 to 25.

| version | numbers of ``squeue --json`` | states | ``sinfo --json`` |
|---|---|---|---|
| 21.08, 22.05 | ``5``, null where not set | ``"PENDING"`` | each node alone |
| 23.02 | ``5`` for times, else ``{"set": true, "infinite": false, "number": 5}`` | ``"PENDING"`` | groups |
| 23.11 and later | ``{"set": ..., "infinite": ..., "number": 5}`` for times as well | ``["PENDING", ...]`` | the same |

This is the JSON of slurmrestd. Programs are read as text, with times in seconds since 1970: all jobs as lines of
``squeue``, some by ``scontrol show job``, nodes by ``scontrol show nodes``.
"""

import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.importers.fields import MINUTE, time_limit
from hdeeprm_like.importers.machine import expand
from hdeeprm_like.importers.scontrol import AWAY, UNSET
from hdeeprm_like.values import EXACT_MOST, Number

WAITS, RUNS, OVER = "waits", "runs", "over"
OVER_STATES = {
    *("COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE"),
    *("OUT_OF_MEMORY", "REVOKED", "LAUNCH_FAILED", "RECONFIG_FAIL", "POWER_UP_FAIL"),
}
PHASES = {  # of the states that a job has one of, then of the flags that older versions show in their place
    **{"PENDING": WAITS, "RUNNING": RUNS, "SUSPENDED": RUNS},
    **dict.fromkeys(OVER_STATES, OVER),
    **dict.fromkeys(("REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"), WAITS),
    **dict.fromkeys(("CONFIGURING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"), RUNS),
    "COMPLETING": OVER,
}
UNLIMITED = 365 * 86400.0  # s that a job without a limit counts as asking for: Slurm plans no further
EXACT = Number(0.0, EXACT_MOST)
JOB_BEGINS = re.compile(r"^JobId=(\d+)", re.MULTILINE)
NODE_BEGINS = re.compile(r"^NodeName=", re.MULTILINE)


class Job(NamedTuple):
    """A job as Slurm shows it; times are s since 1970, nan where there is none.

    Attributes:
        number: that Slurm changes it by. phase: WAITS, RUNS or OVER. ran: whether one that is over ever ran.
        user: its name. partitions: that it may run in.
        cpus: allocated or requested. limit: longest run time in s.
        submit, eligible, start, end: when; those to come are Slurm's guesses.
        priority: 0 for one that is held, -1 where it is not shown. reason: why it waits.
        array: the number of the array that it is a task of, whose factor it has when it begins; 0 or its own for none.
    """

    number: int
    phase: str
    ran: bool
    user: str
    partitions: tuple[str, ...]
    cpus: int
    limit: float
    submit: float
    eligible: float
    start: float
    end: float
    priority: int
    reason: str
    array: int = 0


class Node(NamedTuple):
    """A node: its CPUs, whether jobs may start there, and its partitions."""

    cpus: int
    serves: bool
    partitions: tuple[str, ...]


def content_of(text: str, key: str, program: str) -> list[dict[str, Any]]:
    """Return the objects that a program's JSON lists under a key.

    Raises:
        ProtocolError: it is no JSON, is cut short, reports an error, or has no such list.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{program}: not valid JSON: {str(error)[:80]}") from None
    found = content.get(key) if isinstance(content, dict) else None
    if isinstance(found, dict):  # the first versions numbered them
        found = list(found.values())
    if not isinstance(found, list):
        raise ProtocolError(f"{program}: its JSON lists no {key}")
    if not found and content.get("errors"):
        raise ProtocolError(f"{program}: {str(content['errors'])[:80]}")
    return [one for one in found if isinstance(one, dict)]


def number(value: Any) -> float:
    """Return a number of Slurm's JSON in any of its forms; inf for no limit, nan where it is not set."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return math.inf
        return number(value.get("number")) if value.get("set", True) else math.nan
    if isinstance(value, str):
        return _number_in(value)
    return float(value) if EXACT.holds(value) and value not in UNSET else math.nan


@lru_cache(maxsize=4096)
def _number_in(text: str) -> float:
    found = EXACT.in_text_or(text, math.nan)
    return math.nan if found in UNSET else float(found)


def moment(value: Any) -> float:
    """Return a time in s since 1970; nan for 0, which stands for none."""
    found = number(value)
    return found if 0 < found < math.inf else math.nan


def words(value: Any) -> tuple[str, ...]:
    """Return what may be one text, several with commas between, or a list."""
    if isinstance(value, str):
        return _words_in(value)
    return (
        tuple(word for one in value if isinstance(one, str) and (word := one.strip()))
        if isinstance(value, list)
        else ()
    )


@lru_cache(maxsize=1024)
def _words_in(text: str) -> tuple[str, ...]:
    return words(text.split(","))


def limit_of(value: Any) -> float:
    """Return the s of a time limit, whose bare numbers are minutes; nan where it is none."""
    return _limit_in(value) if isinstance(value, str) else number(value) * MINUTE


@lru_cache(maxsize=1024)
def _limit_in(text: str) -> float:
    try:
        return time_limit(text)
    except ValueError:
        return math.nan


class Column(NamedTuple):
    """Something that Slurm shows of a job.

    Attributes:
        json, listed, text: its name in ``squeue --json``, in ``squeue -O`` and in ``scontrol show job``.
        read: what reads its value in all of these forms.
    """

    json: str
    listed: str
    text: str
    read: Callable[[Any], Any]


COLUMNS = (  # in the order of `_job`
    Column("job_id", "JobID", "JobId", number),
    Column("job_state", "State", "JobState", words),
    Column("user_name", "UserName", "UserId", lambda user: str(user or "")),
    Column("partition", "Partition", "Partition", words),
    Column("cpus", "NumCPUs", "NumCPUs", number),
    Column("time_limit", "TimeLimit", "TimeLimit", limit_of),
    Column("submit_time", "SubmitTime", "SubmitTime", moment),
    Column("eligible_time", "EligibleTime", "EligibleTime", moment),
    Column("start_time", "StartTime", "StartTime", moment),
    Column("end_time", "EndTime", "EndTime", moment),
    Column("priority", "PriorityLong", "Priority", number),
    Column("state_reason", "Reason", "Reason", lambda reason: reason if isinstance(reason, str) else ""),
    Column("array_job_id", "ArrayJobID", "ArrayJobId", number),
)
JOB_FIELDS = ":|,".join(column.listed for column in COLUMNS) + ":"  # of squeue: what a watch needs to know of a job


def phase_of(states: Iterable[str]) -> str:
    """Return the phase of a job by its states and flags; empty where none of them is known."""
    known = {state.upper() for state in states}
    return next((phase for state, phase in PHASES.items() if state in known), "")


def jobs_of_json(text: str) -> list[Job]:
    """Return the jobs that ``squeue --json`` shows, but those without a number, a state or a time of submission.

    Raises:
        ProtocolError: it shows nothing that could be read.
    """
    listed = content_of(text, "jobs", "squeue")
    by_key = ({**one, "user_name": one.get("user_name") or one.get("user_id")} for one in listed)
    jobs = _jobs([[one.get(column.json) for column in COLUMNS] for one in by_key])
    if listed and not jobs:
        raise ProtocolError(f"squeue: none of {len(listed)} jobs is of a form that is known")
    return jobs


def _jobs(shown: Sequence[Sequence[Any]]) -> list[Job]:
    """Return the jobs of what is shown in the order of `COLUMNS`, but those that lack what is needed."""
    columns = (map(column.read, values) for column, values in zip(COLUMNS, zip(*shown, strict=True), strict=False))
    return [job for told in zip(*columns, strict=True) if (job := _job(*told)) is not None]


def _job(number: float, states: tuple[str, ...], *told: Any) -> Job | None:
    """Return a job with all required values, else None; the arguments are in the order of `COLUMNS`."""
    user, partitions, cpus, limit, submit, eligible, start, end, priority, reason, array = told
    phase = phase_of(states)
    if not phase or not 0 < number < math.inf or math.isnan(submit):
        return None
    return Job(
        number=int(number),
        phase=phase,
        ran=end > start or (end == start and "COMPLETED" in states),
        user=user,
        partitions=partitions,
        cpus=int(cpus) if 1 <= cpus < EXACT_MOST else 1,
        limit=limit if 0 < limit < UNLIMITED else UNLIMITED,
        submit=submit,
        eligible=eligible,
        start=start,
        end=end,
        priority=int(priority) if priority < math.inf else -1,
        reason=reason,
        array=int(array) if 0 < array < math.inf else 0,
    )


def jobs_of_text(text: str) -> list[Job]:
    """Return the jobs that ``scontrol show job`` prints, with times in seconds since 1970.

    A user chooses the name of a job, so the line that holds it is not looked at, and of other lines the first that has
    a field.

    Raises:
        ProtocolError: it prints nothing that could be read.
    """
    parts = [block.partition("\n") for block in _blocks(text, JOB_BEGINS)]
    jobs = _jobs([_told_in_text(first, rest) for first, _, rest in parts])
    if not jobs and (parts or "No jobs in the system" not in text):
        raise ProtocolError(f"scontrol: shows no job of a form that is known: {text[:60]!r}")
    return jobs


def _told_in_text(first: str, rest: str) -> list[str]:
    fields = {name: value for word in reversed(rest.split()) for name, _, value in [word.partition("=")]}
    ours = first.partition(" JobName=")[0]
    fields |= {name: _field(ours, name) for name in ("JobId", "ArrayJobId")}
    fields |= {name: fields.get(name, "").partition(sign)[0] for name, sign in (("UserId", "("), ("NumCPUs", "-"))}
    return [fields.get(column.text, "") for column in COLUMNS]


def jobs_of_fields(text: str) -> list[Job]:
    """Return the jobs that ``squeue`` lists in lines of `JOB_FIELDS`, with times in seconds since 1970.

    Raises:
        ProtocolError: a line is of no such form.
    """
    found = [line.split("|") for line in text.splitlines()]
    for fields in found:
        if len(fields) != len(COLUMNS):
            raise ProtocolError(f"squeue: {'|'.join(fields)[:60]!r} is no line of {JOB_FIELDS}")
    return _jobs(found)


def _blocks(text: str, begin: re.Pattern[str]) -> list[str]:
    """Return what scontrol prints of each job or node."""
    begins = [match.start() for match in begin.finditer(text)]
    return [text[here:there] for here, there in itertools.pairwise([*begins, len(text)])]


def _field(block: str, name: str) -> str:
    match = re.search(rf"(?:^|\s){name}=(\S*)", block)
    return match[1] if match else ""


def nodes_of_json(text: str) -> dict[str, Node]:
    """Return the nodes that ``sinfo --json`` shows.

    Newer versions show groups of nodes that are alike, one for each partition; a group has the total CPUs of its nodes.

    Raises:
        ProtocolError: it shows nothing that could be read.
    """
    if '"sinfo"' not in text:
        return _checked(_single_nodes(content_of(text, "nodes", "sinfo")), "sinfo")
    return _checked(_groups_of_nodes(content_of(text, "sinfo", "sinfo")), "sinfo")


def _single_nodes(listed: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Node]]:
    for told in listed:
        flags = (*words(told.get("state")), *words(told.get("state_flags")))
        yield str(told.get("name") or ""), _node(number(told.get("cpus")), flags, words(told.get("partitions")))


def _groups_of_nodes(listed: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Node]]:
    for told in listed:
        names = [host for word in words(_at(told, "nodes", "nodes")) for host in expand(word, "sinfo")]
        flags = words(_at(told, "node", "state"))
        cpus = number(_at(told, "cpus", "total"))
        node = _node(cpus / max(len(names), 1), flags, words(_at(told, "partition", "name")))
        yield from ((name, node) for name in names)


def nodes_of_text(text: str) -> dict[str, Node]:
    """Return the nodes that ``scontrol show nodes`` prints.

    Raises:
        ProtocolError: it prints nothing that could be read.
    """
    found = []
    for block in _blocks(text, NODE_BEGINS):
        flags = words(_field(block, "State").replace("+", ",").replace("*", ",NOT_RESPONDING"))
        cpus = number(_field(block, "CPUEfctv") or _field(block, "CPUTot"))
        found.append((_field(block, "NodeName"), _node(cpus, flags, words(_field(block, "Partitions")))))
    return _checked(found, "scontrol")


def _node(cpus: float, flags: Iterable[str], partitions: tuple[str, ...]) -> Node:
    away = any(word in flag.upper() for flag in flags for word in AWAY)
    return Node(int(cpus) if 0 < cpus < EXACT_MOST else 0, not away, partitions)


def _checked(nodes: Iterable[tuple[str, Node]], program: str) -> dict[str, Node]:
    """Return nodes by name, each with all its partitions."""
    found: dict[str, Node] = {}
    for name, node in nodes:
        if name and node.cpus:
            before = found.get(name, node)
            found[name] = before._replace(partitions=tuple(dict.fromkeys(before.partitions + node.partitions)))
    if not found:
        raise ProtocolError(f"{program}: shows no nodes of a form that is known")
    return found


def _at(told: dict[str, Any], *keys: str) -> Any:
    value: Any = told
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
