"""The log of a watch: one JSON object a line, with the reasons of what was decided."""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_end

TAIL = 1 << 20  # bytes of a log that its summary looks at
MOST_REASONS = 6  # reasons shown for a job, the heaviest


class Journal:
    """Appends to a file, or writes to standard output; reopened each time, so that it can be rotated."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lines: list[str] = []

    def add(self, event: str, **told: Any) -> None:
        """Add a line: ``{"time": s since 1970, "event": ..., ...}``; it is written by `write`."""
        self._lines.append(json.dumps({"time": round(time.time(), 3), "event": event} | told))

    def write(self) -> None:
        """Write the lines that were added.

        Raises:
            ResultsError: the file cannot be written.
        """
        text, self._lines = "".join(f"{line}\n" for line in self._lines), []
        if self.path is None:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ResultsError(f"{self.path}: cannot be written: {error.strerror or error}") from None


def reasons(because: dict[str, Any], i: int) -> dict[str, float]:
    """Return what moves the score of job *i* most, rounded, the heaviest first."""
    moved = sorted(((name, float(column[i])) for name, column in because.items()), key=lambda pair: -abs(pair[1]))
    return {name: round(value, 4) for name, value in moved[:MOST_REASONS] if value}


def summary(path: Path) -> list[str]:
    """Summarize the end of a log in sentences.

    Raises:
        ResultsError: it cannot be read.
    """
    lines = read_end(path, TAIL, ResultsError).splitlines()
    events = []
    for line in lines:
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):  # the first line may be cut
            continue
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    counts = Counter(event["event"] for event in events)
    told = []
    if looks := [event for event in events if event["event"] == "look"]:
        last = looks[-1]
        told.append(
            f"last look {time.time() - last['time']:.0f} s ago: {last['waiting']} jobs wait, {last['running']} run, "
            f"{last['behind']} changes are still to be made"
        )
    if problems := [event for event in events if event["event"] in ("lost", "failed")]:
        told.append(f"last problem {time.time() - problems[-1]['time']:.0f} s ago: {problems[-1]['why']}")
    if starts := [event for event in events if event["event"] == "started" and event.get("place")]:
        first = sum(event["place"] == 1 for event in starts)
        places = sum(event["place"] for event in starts) / len(starts)
        told.append(
            f"of the last {len(starts)} jobs that Slurm started the policy had {first} in the first place; "
            f"their mean place was {places:.1f}"
        )
    told.append("events: " + (", ".join(f"{count} {name}" for name, count in counts.most_common()) or "none"))
    return told
