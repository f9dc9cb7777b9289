"""The engine on Slurm: calls are the elements of job arrays, by submitit."""

import getpass
import hashlib
import logging
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import submitit

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.sweep.engine import NO_WORD, Call, Engine, Lost, Outcome, Where

log = logging.getLogger(__name__)

TICK = 2.0  # s between two reads of the queue of a small sweep; large ones read less often
MOST_TICK = 30.0
GRACE = 20.0  # s until a file from a node is visible here
TOLD = 5  # last lines of a job's errors
USUAL = {"timeout_min": 60, "mem_gb": 2, "cpus_per_task": 1}


@contextmanager
def slurm(where: Where) -> Iterator[Engine]:
    """Open the queue of a cluster; wait first for jobs of an earlier sweep of the same folder.

    An interruption leaves the jobs in the queue: they continue, and so does the next sweep of the folder.

    Raises:
        OptionsError: Slurm does not answer, or a parameter of its jobs is not known.
    """
    left = queued_jobs(where.folder)
    if left:
        log.warning("%d jobs of an earlier sweep are in the queue; waiting for them", len(left))
    while queued_jobs(where.folder):
        time.sleep(TICK)
    yield Slurm(where)


class Slurm:
    """Job arrays; ``squeue`` shows which elements still run, because not every Slurm has accounting."""

    def __init__(self, where: Where) -> None:
        self.workers: int | None = None
        self._folder = where.folder
        self._size = largest_array()
        self._at_once = where.workers or self._size
        self._jobs: dict[str, tuple[int, submitit.Job[Any]]] = {}
        self._executor = submitit.AutoExecutor(folder=where.folder.absolute() / "slurm", cluster="slurm")
        own = {
            key if key in USUAL or key.startswith("slurm_") else f"slurm_{key}": value
            for key, value in where.parameters.items()
        }
        try:
            self._executor.update_parameters(name=job_name(where.folder), **USUAL | own)
        except (ValueError, NameError, TypeError, AssertionError) as error:
            raise OptionsError(f"--slurm: {' '.join(str(error).split())[:300]}") from None

    def submit(self, function: Callable[..., Any], calls: Sequence[Call]) -> None:
        """Put calls into the queue, in arrays of at most the size that Slurm allows."""
        for first in range(0, len(calls), self._size):
            some = calls[first : first + self._size]
            self._executor.update_parameters(slurm_array_parallelism=min(len(some), self._at_once))
            try:
                jobs = self._executor.map_array(function, *zip(*some, strict=True))
            except (submitit.core.utils.FailedJobError, subprocess.CalledProcessError) as error:
                raise OptionsError(f"Slurm takes no jobs: {' '.join(str(error).split())[-300:]}") from None
            self._jobs |= {str(job.job_id): (first + n, job) for n, job in enumerate(jobs)}

    def results(self) -> Iterator[Outcome | None]:
        """Yield the outcome of each call, as jobs leave the queue."""
        gone: dict[str, float] = {}
        tick = min(MOST_TICK, TICK + len(self._jobs) / 1000.0)
        while self._jobs:
            time.sleep(tick)
            queued = queued_jobs(self._folder)
            for name in [name for name in self._jobs if name not in queued]:
                number, job = self._jobs[name]
                since = gone.setdefault(name, time.monotonic())
                if job.paths.result_pickle.exists():
                    yield number, value_of(job)
                elif time.monotonic() - since > GRACE:
                    yield number, Lost(last_lines(job) or NO_WORD)
                else:
                    continue
                del self._jobs[name]
            yield None


def value_of(job: "submitit.Job[Any]") -> Any:
    """Return the value of a job's function, or `Lost` if it has failed; its file exists, so no query is needed."""
    error = job.exception()
    return job.result() if error is None else Lost(last_lines(job) or str(error))


def last_lines(job: "submitit.Job[Any]") -> str:
    """Return the last lines of a job's errors; empty if it has written none."""
    try:
        return "\n".join((job.stderr() or "").splitlines()[-TOLD:])
    except OSError:
        return ""


def job_name(folder: Path) -> str:
    """Return the name of the jobs of a sweep, by which any process can find them."""
    return f"sweep-{hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]}"


def queued_jobs(folder: Path) -> set[str]:
    """Return the numbers of a sweep's jobs that wait or run, as ``17_3`` for elements of arrays."""
    return set(asked("squeue", "-h", "-r", "-u", getpass.getuser(), "-n", job_name(folder), "-o", "%i").split())


def cancel_jobs(folder: Path) -> int:
    """Cancel a sweep's jobs; return how many there were."""
    found = queued_jobs(folder)
    if found:
        asked("scancel", "-u", getpass.getuser(), "-n", job_name(folder))
    return len(found)


def largest_array() -> int:
    """Return the largest size of a job array here."""
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", asked("scontrol", "show", "config"), re.MULTILINE)
    return max(1, int(match[1]) if match else 1001)


def asked(*command: str) -> str:
    """Return the output of one of Slurm's programs.

    Raises:
        OptionsError: it is not installed, or reports an error.
    """
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    except FileNotFoundError:
        raise OptionsError(f"Slurm: there is no {command[0]} here; run this on a login node of the cluster") from None
    except subprocess.TimeoutExpired:
        raise OptionsError(f"Slurm: {command[0]} does not answer") from None
    except subprocess.CalledProcessError as error:
        raise OptionsError(f"Slurm: {command[0]}: {' '.join(error.stderr.split())[:200]}") from None
