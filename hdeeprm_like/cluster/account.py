"""The account of what is read: what was left out, changed or guessed, by reason, with counts and first lines.

All that reads jobs or machines counts in one: traces, complete workloads, and importers of logs and configurations.
"""

import logging
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from hdeeprm_like.types import Bools, Ints

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["left out", "changed", "guessed", "noted"]
KINDS: tuple[Kind, ...] = ("left out", "changed", "guessed", "noted")

EXAMPLE = 40  # characters of a value that an account quotes
FIRST_LINES = 5  # that an account names for each reason
MATTERS = 0.01  # share of the jobs or of the core seconds beyond which an account is a warning


@dataclass
class Entry:
    """The jobs of one reason; *lines* has the first of them, *core_seconds* what they took, 0 where unknown.

    *example* is a value that was not understood.
    """

    kind: Kind
    reason: str
    jobs: int = 0
    core_seconds: float = 0.0
    lines: list[int] = field(default_factory=list)
    example: str = ""

    def __str__(self) -> str:
        first = f" (the first in line {self.lines[0]:,})" if self.lines else ""
        return f"{self.told}{first}"

    @property
    def told(self) -> str:
        """The number and the reason in words."""
        like = f", as {self.example!r}" if self.example else ""
        return f"{f'{self.jobs:,} ' if self.jobs else ''}{self.reason}{like}"


@dataclass
class Account:
    """What became of the lines of a source of jobs, or of a machine.

    Attributes:
        source: its file. jobs: lines of jobs in it. core_seconds: that these took.
        entries: by reason, or by the column of values that were not understood.
        form, lines: of a source that is imported: what it was read as, and lines of the file.
        unit: what *jobs* counts. states: of the jobs that are used, in words of the log.
    """

    source: str
    jobs: int = 0
    core_seconds: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)
    form: str = ""
    lines: int = 0
    unit: str = "lines of jobs"
    states: Counter[str] = field(default_factory=Counter)

    def add(
        self, kind: Kind, reason: str, rows: Bools | None = None, lines: Ints | None = None, area: Any = None
    ) -> None:
        """Count some jobs.

        Args:
            reason: reads on from their number: ``"larger than the machine"``; a whole sentence for what is no job's.
            rows: (J,) which jobs. lines, area: (J,) lines of all jobs, and core seconds; None where unknown.
        """
        found = np.zeros(0, np.int64) if rows is None else np.flatnonzero(rows)
        if rows is not None and not len(found):
            return
        entry = self.entries.setdefault(reason, Entry(kind, reason))
        entry.jobs += len(found)
        entry.core_seconds += 0.0 if area is None else float(area[found].sum())
        if lines is not None:
            entry.lines += lines[found[: FIRST_LINES - len(entry.lines)]].tolist()

    def leave_out(self, reason: str, jobs: int = 1, line: int | None = None) -> None:
        """Count jobs that are left out, the first of them in a line."""
        if jobs:
            self.add("left out", reason, np.ones(jobs, np.bool_))
            entry = self.entries[reason]
            entry.lines += [line] if line is not None and len(entry.lines) < FIRST_LINES else []

    def note(self, text: str) -> None:
        """Add a sentence."""
        self.add("noted", text)

    def misunderstood(self, column: str, text: str, times: int = 1) -> None:
        """Count values of a column that are taken as unknown because they were not understood."""
        reason = f"values of {column} that were not understood and are unknown"
        self.entries.setdefault(column, Entry("changed", reason, example=text[:EXAMPLE])).jobs += times

    def counts(self, kind: Kind) -> Counter[str]:
        """Return the number of jobs by reason."""
        return Counter({one.reason: one.jobs for one in self.of(kind)})

    def of(self, kind: Kind) -> list[Entry]:
        """Return the entries of a kind, the most frequent first."""
        return sorted((one for one in self.entries.values() if one.kind == kind), key=lambda one: -one.jobs)

    def why(self) -> str:
        """Return what was left out in words."""
        return "; ".join(map(str, self.of("left out")))

    @property
    def used(self) -> int:
        """The number of lines that gave a job."""
        return self.jobs - self.left_out

    @property
    def left_out(self) -> int:
        """The number of lines that gave no job."""
        return sum(one.jobs for one in self.of("left out"))

    @property
    def matters(self) -> bool:
        """Whether anything is guessed, or more than `MATTERS` of the jobs or core seconds left out or changed."""
        touched = [*self.of("left out"), *self.of("changed")]
        jobs, area = sum(one.jobs for one in touched), sum(one.core_seconds for one in touched)
        return bool(self.of("guessed")) or jobs > MATTERS * self.jobs or area > MATTERS * self.core_seconds

    def line(self) -> str:
        """Return what was left out, changed and guessed in one line."""
        found = [f"{kind}: {'; '.join(map(str, some))}" for kind in KINDS[:3] if (some := self.of(kind))]
        return "; ".join([f"{self.used:,} of {self.jobs:,} jobs are used", *found])

    def say(self) -> None:
        """Log the account in one line, once for a source: a warning if it matters, else information."""
        if any(one.kind != "noted" for one in self.entries.values()):
            _say(f"{self.source}: {self.line()}", logging.WARNING if self.matters else logging.INFO)

    def text(self) -> str:
        """Return all of it for people."""
        form = f"{self.form}, {self.lines:,} lines, " if self.form else ""
        states = f": {', '.join(f'{jobs:,} {name}' for name, jobs in self.states.most_common())}" if self.states else ""
        out = [f"{self.source}: {form}{self.jobs:,} {self.unit}, {self.used:,} of them used{states}"]
        for kind in KINDS:
            for one in self.of(kind):
                share = one.core_seconds / self.core_seconds if self.core_seconds else 0.0
                took = f", {share:.2%} of the core seconds" if share else ""
                lines = f"; lines {', '.join(map(str, one.lines))}" if one.lines else ""
                more = ", ..." if one.jobs > len(one.lines) > 0 else ""
                out.append(f"  {kind}: {one.told}{took}{lines}{more}")
        return "\n".join(out) + "\n"

    def content(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        found = {
            kind.replace(" ", "_"): {
                one.reason: {"jobs": one.jobs, "core_seconds": one.core_seconds, "first_lines": one.lines}
                for one in self.of(kind)
            }
            for kind in KINDS
        }
        imported = {"form": self.form, "lines": self.lines, "states": dict(self.states.most_common())}
        numbers = {"summary": self.line(), "jobs": self.jobs, "core_seconds": self.core_seconds}
        return numbers | found | (imported if self.form else {})


@cache
def _say(line: str, level: int) -> None:
    log.log(level, "%s", line)
