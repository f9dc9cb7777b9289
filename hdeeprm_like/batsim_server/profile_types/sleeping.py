"""The profile type ``delay``: a job that only sleeps."""

from typing import Any

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task


def read(fields: Fields, find: FindProfile) -> float:
    """Return the delay in s."""
    return fields.positive("delay")


def run(running: RunningJob, task: Task, delay: float) -> Steps:
    """Sleep."""
    return (yield from running.sleep(delay))


def progress(running: RunningJob, task: Task, delay: float) -> dict[str, Any]:
    """Return the elapsed share of the delay."""
    return {"progress": (running.engine.now - task.began) / delay}


DELAY = ProfileType("sleeps ``delay`` s", read, run, progress, silent=lambda _: True)
