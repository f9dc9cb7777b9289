"""The messages to the scheduler in Batsim 4's JSON: events are collected, then sent together."""

from collections.abc import Iterable, Mapping
from typing import Any

from hdeeprm_like.batsim_server.jobs import Job
from hdeeprm_like.batsim_server.json_text import encode


def described(job: Job, with_profile: bool) -> str:
    """Return the data of the arrival of a job, with its profile if the scheduler wants that."""
    tail = f',"profile":{job.profile.text}' if with_profile else ""
    return f'{{"job_id":{encode(job.identifier)},"job":{job.text}{tail}}}'


class Outbox:
    """Events to be sent to the scheduler."""

    def __init__(self) -> None:
        """Start empty."""
        self._events: list[str] = []

    def __bool__(self) -> bool:
        """Whether there is something to send."""
        return bool(self._events)

    def take(self, now: float) -> str:
        """Return the message with all events, and clear them."""
        return f'{{"now":{now:f},"events":[{self.listed()}]}}'

    def listed(self) -> str:
        """Return all events, with commas between them, and clear them."""
        events, self._events = self._events, []
        return ",".join(events)

    def add(self, kind: str, data: str, now: float) -> None:
        """Add an event with its data as JSON."""
        self._events.append(f'{{"timestamp":{now:f},"type":"{kind}","data":{data}}}')

    def job_submitted(self, job: Job, with_profile: bool, now: float) -> None:
        """Add the arrival of a job."""
        self.add("JOB_SUBMITTED", described(job, with_profile), now)

    def job_completed(self, job: Job, now: float) -> None:
        """Add the end of a job, its outcome and machines."""
        outcome = f'"job_state":"{job.state}","return_code":{job.return_code},"alloc":"{job.alloc}"'
        self.add("JOB_COMPLETED", f'{{"job_id":{encode(job.identifier)},{outcome}}}', now)

    def jobs_killed(self, identifiers: Iterable[str], progress: Mapping[str, Any], now: float) -> None:
        """Add the completion of a kill, with the progress of each job."""
        self.add("JOB_KILLED", encode({"job_ids": list(identifiers), "job_progress": progress}), now)

    def resources_changed(self, resources: str, pstate: int, now: float) -> None:
        """Add that machines reached a P-state."""
        self.add("RESOURCE_STATE_CHANGED", f'{{"resources":"{resources}","state":"{pstate}"}}', now)

    def called(self, call: str, now: float) -> None:
        """Add that the time of a requested call has come; Batsim 4 sends no name of the *call*."""
        self.add("REQUESTED_CALL", "{}", now)

    def no_more_jobs(self, now: float) -> None:
        """Add the end of the workloads."""
        self.notify("no_more_static_job_to_submit", now)

    def no_more_events(self, now: float) -> None:
        """Add the end of the files of external events."""
        self.notify("no_more_external_event_to_occur", now)

    def simulation_ends(self, now: float) -> None:
        """Add the end of the simulation."""
        self.add("SIMULATION_ENDS", "{}", now)

    def notify(self, what: str, now: float, resources: str | None = None) -> None:
        """Add a notification, which needs no answer."""
        tail = f',"resources":"{resources}"' if resources is not None else ""
        self.add("NOTIFY", f'{{"type":"{what}"{tail}}}', now)

    def energy_answer(self, joules: float, now: float) -> None:
        """Add the answer on the used energy."""
        self.add("ANSWER", f'{{"consumed_energy":{joules:f}}}', now)

    def message_from_job(self, identifier: str, message: str, now: float) -> None:
        """Add a message of a job; *message* is JSON."""
        self.add("FROM_JOB_MSG", f'{{"job_id":{encode(identifier)},"msg":{message}}}', now)
