"""The profile types ``send`` and ``recv``: messages between a job and the scheduler."""

import re
from typing import Any, NamedTuple

from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import FindProfile, ProfileType, RunningJob, Steps, Task, part_done
from hdeeprm_like.errors import ProtocolError, WorkloadError


class Sending(NamedTuple):
    """A message to the scheduler, and the s that a job sleeps after it."""

    message: str  # JSON
    sleep: float


class Receiving(NamedTuple):
    """A wait for a message from the scheduler.

    Attributes:
        poll: s between two checks for a message.
        pattern: regular expression for the whole message.
        success, failure, timeout: the profile to run then, "" for none.
    """

    poll: float
    pattern: re.Pattern[str]
    success: str
    failure: str
    timeout: str


def read_send(fields: Fields, find: FindProfile) -> Sending:
    """Return the message as JSON, and the sleep."""
    return Sending(fields.encoded(fields.object("msg")), fields.positive("sleeptime", default=1e-7))


def read_recv(fields: Fields, find: FindProfile) -> Receiving:
    """Return the awaited pattern and the profiles that follow, which are looked up at run time."""
    poll = fields.positive("polltime", default=0.005)
    regex = fields.data.get("regex", ".*")
    try:
        pattern = re.compile(str(regex))
    except (re.error, RecursionError, OverflowError) as cause:
        raise fields.refusal(f"regex {str(regex)[:60]!r} is not one: {cause}") from cause
    success, failure, timeout = (str(fields.data.get(key, "")) for key in ("success", "failure", "timeout"))
    return Receiving(poll, pattern, success, failure, timeout)


def run_send(running: RunningJob, task: Task, sending: Sending) -> Steps:
    """Send a message, then sleep."""
    yield (running.engine.put, ("FROM_JOB_MSG", (running.job, sending.message)))
    return (yield from running.sleep(sending.sleep))


def run_recv(running: RunningJob, task: Task, receiving: Receiving) -> Steps:
    """Wait for a message (not at all if there is a profile for that case), then run the profile that follows."""
    job = running.job
    if not job.messages and not receiving.timeout:
        while not job.messages:
            if code := (yield from running.sleep(receiving.poll)):
                return code
    following = receiving.timeout
    if job.messages:
        matches = receiving.pattern.fullmatch(job.messages.pop(0))
        following = receiving.success if matches else receiving.failure
    if not following:
        return 0
    found = running.profiles.get(following)
    if found is None:
        raise WorkloadError(f"job {job.identifier}: profile {task.profile.name!r} needs {following!r}, which is gone")
    return (yield from running.perform_part(task, found))


def progress_of_recv(running: RunningJob, task: Task, receiving: Receiving) -> dict[str, Any]:
    """Return that of a job that waits.

    Raises:
        ProtocolError: it waits no longer.
    """
    if task.part is not None:
        name, after = task.profile.name, task.part.profile.name
        raise ProtocolError(f"job {running.job.identifier} is killed in {after!r} after {name!r}; Batsim aborts there")
    return part_done(running, task, receiving)


SEND = ProfileType("sends ``msg`` to the scheduler, then sleeps ``sleeptime`` s", read_send, run_send)
RECV = ProfileType(
    "waits for a message: runs ``success``, ``failure`` or ``timeout``", read_recv, run_recv, progress_of_recv
)
