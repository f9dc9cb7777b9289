"""The messages to the scheduler in Batsim 4's JSON: events are collected, then sent together."""

from collections.abc import Iterable, Mapping
from typing import Any

from hdeeprm_like.batsim_server.jobs import Job
from hdeeprm_like.batsim_server.json_text import encode


class Outbox:
    """The events that wait to be sent to the scheduler."""

    def __init__(self) -> None:
        """Start empty."""
        self._events: list[str] = []

    def __bool__(self) -> bool:
        """Whether there is something to send."""
        return bool(self._events)

    def take(self, now: float) -> str:
        """Return the message with all events, and forget them."""
        events, self._events = self._events, []
        return f'{{"now":{now:f},"events":[{",".join(events)}]}}'

    def add(self, kind: str, data: str, now: float) -> None:
        """Add an event whose data is JSON already."""
        self._events.append(f'{{"timestamp":{now:f},"type":"{kind}","data":{data}}}')

    def job_submitted(self, job: Job, with_profile: bool, now: float) -> None:
        """Say that a job has come."""
        tail = f',"profile":{job.profile.text}' if with_profile else ""
        self.add("JOB_SUBMITTED", f'{{"job_id":{encode(job.identifier)},"job":{job.text}{tail}}}', now)

    def job_completed(self, identifier: str, state: str, code: int, alloc: str, now: float) -> None:
        """Say that a job has ended, how, and where."""
        data = f'{{"job_id":{encode(identifier)},"job_state":"{state}","return_code":{code},"alloc":"{alloc}"}}'
        self.add("JOB_COMPLETED", data, now)

    def jobs_killed(self, identifiers: Iterable[str], progress: Mapping[str, Any], now: float) -> None:
        """Say that a kill is done, and how far each job was."""
        self.add("JOB_KILLED", encode({"job_ids": list(identifiers), "job_progress": progress}), now)

    def resources_changed(self, resources: str, pstate: int, now: float) -> None:
        """Say that machines took a P-state."""
        self.add("RESOURCE_STATE_CHANGED", f'{{"resources":"{resources}","state":"{pstate}"}}', now)

    def called(self, call: str, now: float) -> None:
        """Say that the time has come at which the scheduler wanted to be called; Batsim 4 names no *call*."""
        self.add("REQUESTED_CALL", "{}", now)

    def no_more_jobs(self, now: float) -> None:
        """Say that the workloads are over."""
        self.notify("no_more_static_job_to_submit", now)

    def no_more_events(self, now: float) -> None:
        """Say that the files of outside events are over."""
        self.notify("no_more_external_event_to_occur", now)

    def simulation_ends(self, now: float) -> None:
        """Say that nothing more will happen."""
        self.add("SIMULATION_ENDS", "{}", now)

    def notify(self, what: str, now: float, resources: str | None = None) -> None:
        """Tell something that needs no answer."""
        tail = f',"resources":"{resources}"' if resources is not None else ""
        self.add("NOTIFY", f'{{"type":"{what}"{tail}}}', now)

    def energy_answer(self, joules: float, now: float) -> None:
        """Answer how much energy was used."""
        self.add("ANSWER", f'{{"consumed_energy":{joules:f}}}', now)

    def message_from_job(self, identifier: str, message: str, now: float) -> None:
        """Hand over what a job says; *message* is JSON."""
        self.add("FROM_JOB_MSG", f'{{"job_id":{encode(identifier)},"msg":{message}}}', now)
