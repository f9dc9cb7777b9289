"""What an importer read, what it left out and why: nothing is lost without a line here."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

EXAMPLE = 40  # characters of a value that a report quotes


@dataclass
class Report:
    """The account of one import; records = kept + all that was dropped.

    Attributes:
        source, kind: the file, and what it was read as.
        lines: of the file. records: that these lines hold, one for each job or step of a job.
        kept: records that became jobs.
        dropped: records left out, by reason. first_dropped: the line of the first of each.
        misread: values that were not understood and are taken as unknown, by column; *examples* has one of each.
        states: of the jobs that were kept. unit: what is kept.
        notes: whatever else there is to know.
    """

    source: str
    kind: str
    lines: int = 0
    records: int = 0
    kept: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    first_dropped: dict[str, int] = field(default_factory=dict)
    misread: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)
    unit: str = "jobs"
    notes: list[str] = field(default_factory=list)

    def drop(self, reason: str, count: int = 1, line: int | None = None) -> None:
        """Count records that are left out, and remember where the first of them stands."""
        if count:
            self.dropped[reason] += count
            if line is not None:
                self.first_dropped.setdefault(reason, line)

    def misunderstood(self, column: str, text: str) -> None:
        """Count a value that is taken as unknown because it was not understood."""
        self.misread[column] += 1
        self.examples.setdefault(column, text[:EXAMPLE])

    def note(self, text: str) -> None:
        """Add a sentence, once."""
        if text not in self.notes:
            self.notes.append(text)

    def reasons(self) -> str:
        """Return what was dropped in one line: ``3 steps of jobs, 1 still running``."""
        return ", ".join(f"{count} {reason}" for reason, count in self.dropped.most_common())

    def content(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "source": self.source,
            "kind": self.kind,
            "lines": self.lines,
            "records": self.records,
            "kept": self.kept,
            "dropped": {
                reason: {"records": count, "first_line": self.first_dropped.get(reason)}
                for reason, count in self.dropped.most_common()
            },
            "not_understood": {
                column: {"values": count, "example": self.examples[column]} for column, count in self.misread.items()
            },
            "states": dict(self.states.most_common()),
            "notes": self.notes,
        }

    def text(self) -> str:
        """Return all of it for people."""
        out = [f"{self.source}: {self.kind}, {self.lines:,} lines, {self.records:,} records"]
        out.append(f"  kept {self.kept:,} {self.unit}" + _listed(self.states))
        if self.dropped:
            out.append(f"  left out {self.dropped.total():,} records")
            for reason, count in self.dropped.most_common():
                line = self.first_dropped.get(reason)
                out.append(f"    {count:,} {reason}" + (f" (the first in line {line:,})" if line else ""))
        for column, count in self.misread.items():
            out.append(f"  {column}: {count:,} values not understood, as {self.examples[column]!r}; taken as unknown")
        out += [f"  {note}" for note in self.notes]
        return "\n".join(out) + "\n"


def _listed(counts: Counter[str]) -> str:
    return f": {', '.join(f'{count:,} {name}' for name, count in counts.most_common())}" if counts else ""
