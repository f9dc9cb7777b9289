"""The jobs that are over, on disk, so that a watch that is started again knows what the users ran before.

The file has a JSON object for each job, one a line, in the order in which they ended. A line that is cut short, as a
crash leaves it, is left out.
"""

import json
import logging
import math
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.slurm.shown import OVER, Job

log = logging.getLogger(__name__)

REMEMBERED = 20_000  # ended jobs that a new state gets
TIMES = ("submit", "eligible", "start", "end")


class Past:
    """The last jobs that are over.

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
