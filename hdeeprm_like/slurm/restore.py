"""Putting the site factors of jobs back to 0: at the end of a watch, and after one that ended without doing so."""

import re
import time
from collections.abc import Callable

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm.commands import ContactLost, Denied, Slurm
from hdeeprm_like.slurm.factors import FactorFile
from hdeeprm_like.slurm.shown import OVER

GONE = re.compile(r"invalid job id|already (finished|complet)", re.IGNORECASE)
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # s between two attempts


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
