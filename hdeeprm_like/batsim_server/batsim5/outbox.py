"""The messages to the scheduler in Batsim 5's JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hdeeprm_like.batsim_server.batsim5.json_text import decimal, encode
from hdeeprm_like.batsim_server.jobs import Job, Profile, RunningJob, Task
from hdeeprm_like.batsim_server.outbox import Outbox

UNSIGNED = 1 << 32  # return codes are told as 32-bit numbers without a sign


@dataclass(frozen=True)
class KillProgress:
    """How far a killed job was, as messages tell it, and its profile."""

    told: dict[str, Any]
    profile: Profile


def kill_progress(running: RunningJob) -> KillProgress:
    """Return how far a job is."""
    return KillProgress(_progress_of(running, running.task), running.job.profile)


def _progress_of(running: RunningJob, task: Task) -> dict[str, Any]:
    profile = task.profile
    if task.part is None:
        share = profile.type.progress(running, task, profile.parameters)["progress"]
        told = {"profile_id": profile.name, "progress": share}
        return {"kill_progress_type": "KillProgressAtomicProfile", "kill_progress": told}
    repetition, index = divmod(task.index, len(profile.parts))
    told = {
        "profile_id": profile.name,
        "current_repetition": repetition,
        "current_task_index": index,
        "current_task_progress": _progress_of(running, task.part),
    }
    return {"kill_progress_type": "KillProgressSequentialProfile", "kill_progress": told}


class Outbox5(Outbox):
    """The events that wait to be sent to the scheduler.

    The release candidate gives some kinds of events the time of the event before them, or of the last message where
    there is none: they are added with `add_late`.
    """

    def __init__(self, stale: bool, profiles_of_killed: bool) -> None:
        """Start empty.

        Args:
            stale: whether the times of some events are late, as in the release candidate.
            profiles_of_killed: whether the profiles of killed jobs are told.
        """
        super().__init__()
        self._stale = stale
        self._profiles_of_killed = profiles_of_killed
        self._clock = 0.0

    def take(self, now: float) -> str:
        """Return the message with all events, and forget them."""
        self._clock = now
        events, self._events = self._events, []
        return f'{{"now": {decimal(now)},"events": [{",".join(events)}]}}'

    def clear(self, now: float) -> None:
        """Forget all events."""
        self._events = []
        self._clock = now

    def add(self, kind: str, data: str, now: float) -> None:
        """Add an event whose data is JSON already."""
        self._clock = now
        self._events.append(f'{{"timestamp": {decimal(now)},"event_type": "{kind}","event": {data}}}')

    def add_late(self, kind: str, data: str, now: float) -> None:
        """Add an event of a kind for which the release candidate does not look at the clock."""
        self.add(kind, data, self._clock if self._stale else now)

    def job_submitted(self, job: Job, with_profile: bool, now: float) -> None:
        """Say that a job has come."""
        tail = f',"profile": {job.profile.text}' if with_profile else ""
        content = f'"job_id": {encode(job.identifier)},"job": {job.text},"submission_time": {decimal(job.submit)}'
        self.add("JobSubmittedEvent", f"{{{content}{tail}}}", now)

    def job_completed(self, identifier: str, state: str, code: int, alloc: str, now: float) -> None:
        """Say that a job has ended and how."""
        data = {"job_id": identifier, "state": state, "return_code": code % UNSIGNED}
        self.add("JobCompletedEvent", encode(data), now)

    def jobs_killed(self, identifiers: Iterable[str], progress: Mapping[str, KillProgress], now: float) -> None:
        """Say that a kill is done, and how far each job was."""
        by_job = sorted(progress.items())
        progresses = encode([{"job_id": identifier, "wrapper": one.told} for identifier, one in by_job])
        tail = ""
        if self._profiles_of_killed:
            named = {one.profile.name: one.profile.text for one in progress.values()}
            tail = f',"profiles": [{",".join(text for _, text in sorted(named.items()))}]'
        data = f'{{"job_ids": {encode(list(identifiers))},"progresses": {progresses}{tail}}}'
        self.add_late("JobsKilledEvent", data, now)

    def pstate_changed(self, resources: str, pstate: int, now: float) -> None:
        """Say that machines took a P-state."""
        self.add_late("HostsPStateChangedEvent", encode({"host_ids": resources, "pstate": pstate}), now)

    def resources_changed(self, resources: str, pstate: int, now: float) -> None:
        """Say that machines have been turned on or off."""
        self.add_late("HostsTurnedOnOffEvent", encode({"host_ids": resources, "state": pstate}), now)

    def called(self, call: str, now: float, last: bool = False) -> None:
        """Say that the time of a call has come; *last* of a periodic one."""
        self.add("RequestedCallEvent", encode({"call_me_later_id": call, "last_periodic_call": last}), now)

    def outside_event(self, data: str, now: float) -> None:
        """Hand over an outside event, which is JSON already."""
        self.add_late("ExternalEventOccurredEvent", data, now)

    def no_more_jobs(self, now: float) -> None:
        """Say that the workloads are over."""
        self.add("AllStaticJobsHaveBeenSubmittedEvent", "{}", now)

    def no_more_events(self, now: float) -> None:
        """Say that the files of outside events are over."""
        self.add("AllStaticExternalEventsHaveBeenInjectedEvent", "{}", now)

    def simulation_ends(self, now: float) -> None:
        """Say that nothing more will happen."""
        self.add("SimulationEndsEvent", "{}", now)
