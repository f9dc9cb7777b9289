"""The site factors of the jobs of a real Slurm, and the file that remembers which are set."""

import contextlib
import fcntl
import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from hdeeprm_like.decision.policies.factors import new_factors, want_factors
from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.slurm.commands import ContactLost, Denied, Slurm
from hdeeprm_like.slurm.shown import OVER

GONE = re.compile(r"invalid job id|already (finished|complet)", re.IGNORECASE)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # s between two attempts


def wanted_factors(order: Sequence[int], current: Mapping[int, int], most: int, depth: int) -> dict[int, int]:
    """Return the factors, from 1 to *most*, of the first *depth* jobs of an order, in that order; 0 for all others.

    Args:
        order: jobs, the first one first. current: factors that jobs have; 0 for those that are not named.
    """
    factors, places = new_factors(len(order), depth), np.arange(len(order))
    factors.site[:] = [current.get(job, 0) for job in order]
    want_factors(factors, places, len(order), most)
    return dict(zip(order, factors.wanted.tolist(), strict=True))


class FactorFile:
    """The factors that may be set, on disk before they are: after a crash nothing is forgotten.

    Attributes:
        path: of the file. factors: by job.
    """

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one.

        Raises:
            OptionsError: it cannot be read, or is none of ours.
        """
        self.path = path
        self.factors: dict[int, int] = {}
        if not path.exists():
            return
        content = read_json(path, OptionsError)
        try:
            self.factors = {int(job): int(factor) for job, factor in content["factors"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            raise OptionsError(f"{path}: is no file of factors; remove it, and run: slurm restore --all") from None

    def write(self, factors: Mapping[int, int]) -> None:
        """Replace the content; it is on disk when this returns.

        Raises:
            OptionsError: it cannot be written.
        """
        known = {job: factor for job, factor in factors.items() if factor != 0}
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("w", encoding="utf-8") as file:
                json.dump({"version": 1, "factors": known}, file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise OptionsError(f"{self.path}: cannot be written: {error.strerror or error}") from None
        self.factors = known

    @contextmanager
    def locked(self, patience: bool = False) -> Iterator[None]:
        """Be the only one who sets factors.

        Args:
            patience: whether to wait for another one to end.

        Raises:
            OptionsError: another process does.
        """
        path = self.path.with_name(self.path.name + ".lock")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+", encoding="utf-8")
        except OSError as error:
            raise OptionsError(f"{path}: cannot be written: {error.strerror or error}") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if patience else fcntl.LOCK_NB))
            except OSError:
                file.seek(0)
                process = file.read(20) or "?"
                raise OptionsError(f"{self.path}: process {process} sets or restores factors; stop it first") from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield
            with contextlib.suppress(OSError):
                file.truncate(0)

    def holder(self) -> str:
        """Return the number of the process that sets factors; empty if none does."""
        path = self.path.with_name(self.path.name + ".lock")
        try:
            with path.open("r", encoding="utf-8") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return ""
        except BlockingIOError:
            return read_text(path, OptionsError) or "?"
        except OSError:
            return ""


def put_back(slurm: Slurm, file: FactorFile, every: bool = False) -> int:
    """Set to 0 the factors of all jobs in the file that Slurm still has; return how many these are.

    What could not be set stays in the file.

    Args:
        every: whether to do so with all jobs that wait or run, whatever the file says.

    Raises:
        ProtocolError: Slurm does not answer, or does not permit this.
    """
    if not file.factors and not every:
        return 0
    try:
        alive = {job.number for job in slurm.jobs() if job.phase != OVER}
    except ContactLost:
        raise
    except ProtocolError:  # its output cannot be read, but it may still accept changes
        if every:
            raise
        alive = set(file.factors)
    jobs = sorted(alive if every else alive & set(file.factors))
    refused = slurm.set_factors(dict.fromkeys(jobs, 0))
    left = {job: file.factors.get(job, 1) for job, why in refused.items() if not GONE.search(why)}
    file.write(left)
    if left:
        job, why = next((job, refused[job]) for job in left)
        raise ProtocolError(f"the factors of {len(left)} jobs are not back at 0: job {job}: {why}")
    return len(jobs)


def put_back_in_time(
    slurm: Slurm,
    file: FactorFile,
    patience: float,
    every: bool = False,
    failed: Callable[[ProtocolError], None] = lambda error: None,
) -> int:
    """Do the same, again and again for some s until it works.

    Args:
        failed: called with each failed attempt.

    Raises:
        ProtocolError: it did not.
    """
    deadline, pause = time.monotonic() + patience, FIRST_PAUSE
    while True:
        try:
            return put_back(slurm, file, every)
        except Denied:
            raise
        except ProtocolError as error:
            failed(error)
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
