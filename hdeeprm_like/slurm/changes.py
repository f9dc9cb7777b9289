"""What has changed since the last look, so that a queue that stays as it is costs nothing to read.

``squeue`` and ``sinfo`` print a line for each job and node, with the columns that change when anything does that a
watch needs to know. Only jobs whose line is new are looked at, and only those with a change that counts are read in
full. A line whose priority alone has changed, or whose reason is another one of `USUAL`, is such a change no more.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm.shown import Job, Node

JOB_COLUMNS = "%A|%Q|%T %F %C %V %l %u %P|%r"  # number, priority, what must be read again if it changes, reason
NODE_COLUMNS = "%N|%c|%T|%R"
USUAL = {"None", "Priority", "Resources"}  # reasons of jobs that wait for nothing but nodes
FEW = 0.05  # share of the jobs up to which they are read one by one
SERVES = {"idle", "mixed", "allocated", "completing", "planned", "reserved", "blocked"}  # states that differ in load

ReadJobs = Callable[[Sequence[int] | None], list[Job]]  # some jobs by their numbers, or all


class Seen(NamedTuple):
    """A job, and of its line what must be read again if it changes, and the reason."""

    columns: str
    reason: str
    job: Job


class JobChanges:
    """The jobs of the last look, by their lines."""

    def __init__(self) -> None:
        self._of_line: dict[str, Seen] = {}
        self._of_number: dict[int, Seen] = {}

    def jobs(self, text: str, read: ReadJobs) -> list[Job]:
        """Return all jobs that ``squeue`` lists; those that are as they were are the same objects.

        Args:
            text: lines of `JOB_COLUMNS`. read: reads jobs in full. Jobs that it does not find are left out.

        Raises:
            ProtocolError: a line is of no such form.
        """
        lines = text.splitlines()
        found: dict[str, Seen] = {}
        missing: dict[str, tuple[int, str, str]] = {}
        for line in lines:
            if line in self._of_line:
                found[line] = self._of_line[line]
                continue
            number, priority, columns, reason = fields_of(line)
            seen = self._of_number.get(number)
            if seen is not None and is_minor(seen, priority, columns, reason):
                found[line] = Seen(columns, reason, seen.job._replace(priority=priority, reason=reason))
            else:
                missing[line] = number, columns, reason
        if missing:
            numbers = [number for number, *_ in missing.values()]
            few = len(numbers) <= FEW * len(lines) + 1
            of_number = {job.number: job for job in read(numbers if few else None)}
            for line, (number, columns, reason) in missing.items():
                if number in of_number:
                    found[line] = Seen(columns, reason, of_number[number])
        self._of_line = found
        self._of_number = {seen.job.number: seen for seen in found.values()}
        return [seen.job for seen in found.values()]


def fields_of(line: str) -> tuple[int, int, str, str]:
    """Return what a line of `JOB_COLUMNS` says.

    Raises:
        ProtocolError: it is of no such form.
    """
    try:
        number, priority, columns, reason = line.split("|", 3)
        return int(number), int(priority), columns, reason
    except ValueError:
        raise ProtocolError(f"squeue: {line[:60]!r} is no line of {JOB_COLUMNS}") from None


def is_minor(seen: Seen, priority: int, columns: str, reason: str) -> bool:
    """Return whether a job may start as before, and only its place in Slurm's own order may have changed."""
    if columns != seen.columns or (priority == 0) != (seen.job.priority == 0):
        return False
    return reason == seen.reason or (reason in USUAL and seen.reason in USUAL)


class NodeChanges:
    """The nodes of the last look."""

    def __init__(self) -> None:
        self._lines: frozenset[str] = frozenset()
        self._nodes: dict[str, Node] = {}

    def nodes(self, text: str, read: Callable[[], dict[str, Node]]) -> dict[str, Node]:
        """Return all nodes; they are read only if more has changed than how busy they are.

        Args:
            text: lines of `NODE_COLUMNS`.
        """
        lines = frozenset(_without_load(line) for line in text.splitlines())
        if lines != self._lines or not self._nodes:
            self._nodes = read()
            self._lines = lines
        return self._nodes


def _without_load(line: str) -> str:
    name, _, rest = line.partition("|")
    cpus, _, rest = rest.partition("|")
    state, _, partition = rest.partition("|")
    return f"{name}|{cpus}|{'' if state in SERVES else state}|{partition}"
