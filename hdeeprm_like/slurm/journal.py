"""The files of a watch: its log with the reasons of what was decided, and the jobs that are over."""

import json
import logging
import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_end, read_text
from hdeeprm_like.slurm.shown import OVER, Job

TAIL = 1 << 20  # bytes of a log that its summary looks at
MOST_REASONS = 6  # reasons shown for a job, the heaviest
log = logging.getLogger(__name__)

REMEMBERED = 20_000  # ended jobs that a new state gets
TIMES = ("submit", "eligible", "start", "end")


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


class Past:
    """The last jobs that are over, so that a watch that is started again knows what the users ran before.

    The file has a JSON object for each job, one a line, in the order in which they ended. A line that is cut short, as
    a crash leaves it, is left out.

    Attributes:
        path: of the file, None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read the file, if there is one; it is made shorter if it has become long."""
        self.path = path
        self._jobs: deque[Job] = deque(maxlen=REMEMBERED)
        if path is None:
            return
        try:
            lines = read_text(path, ResultsError, errors="replace").splitlines() if path.exists() else []
            found = {(job.number, job.submit): job for line in lines if (job := job_of(line)) is not None}
            self._jobs.extend(found.values())  # two watches may have written the same jobs
            if len(lines) > 2 * REMEMBERED:
                fresh = path.with_name(path.name + ".new")
                fresh.write_text("".join(map(line_of, self._jobs)), encoding="utf-8")
                fresh.replace(path)
        except ResultsError as error:
            self._give_up(str(error))
        except OSError as error:
            self._give_up(f"{path}: {error.strerror or error}")

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)

    def append(self, job: Job) -> None:
        """Remember a job that is over."""
        self._jobs.append(job)
        if self.path is not None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(line_of(job))
            except OSError as error:
                self._give_up(f"{self.path}: {error.strerror or error}")

    def _give_up(self, why: str) -> None:
        """Go on without the file: a watch does without the past rather than not at all."""
        log.warning("%s; what users ran is forgotten when the watch ends", why)
        self.path = None


def line_of(job: Job) -> str:
    """Return a job as a line; unknown times are null."""
    told = job._asdict()
    return json.dumps(told | {name: None if math.isnan(told[name]) else told[name] for name in TIMES}) + "\n"


def job_of(line: str) -> Job | None:
    """Return the job of a line; None if it is none."""
    try:
        told = json.loads(line)
        found: dict[str, Any] = {name: math.nan if told[name] is None else float(told[name]) for name in TIMES}
        found |= {name: int(told[name]) for name in ("number", "cpus", "priority", "array")}
        found |= {"user": str(told["user"]), "reason": str(told["reason"]), "limit": float(told["limit"])}
        job = Job(phase=OVER, ran=True, partitions=tuple(map(str, told["partitions"])), **found)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
    return job if math.isfinite(job.limit) and math.isfinite(job.start) and math.isfinite(job.end) else None
