"""The messages to the scheduler in Batsim 5's JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from hdeeprm_like.batsim_server.jobs import Job, Profile, RunningJob, Task
from hdeeprm_like.batsim_server.json_text import decimal5, encode5
from hdeeprm_like.batsim_server.outbox import Outbox

UNSIGNED = 1 << 32  # return codes are sent as unsigned 32-bit numbers


KillProgress: TypeAlias = tuple[dict[str, Any], Profile]  # progress of a killed job as in messages, and its profile


def progress_of(running: RunningJob, task: Task) -> dict[str, Any]:
    """Return the progress of a job in one profile."""
    profile = task.profile
    if task.part is None:
        share = profile.type.progress(running, task, profile.parameters)["progress"]
        report = {"profile_id": profile.name, "progress": share}
        return {"kill_progress_type": "KillProgressAtomicProfile", "kill_progress": report}
    repetition, index = divmod(task.index, len(profile.parts))
    report = {
        "profile_id": profile.name,
        "current_repetition": repetition,
        "current_task_index": index,
        "current_task_progress": progress_of(running, task.part),
    }
    return {"kill_progress_type": "KillProgressSequentialProfile", "kill_progress": report}


class Outbox5(Outbox):
    """Events to be sent to the scheduler.

    The release candidate gives some kinds of events the time of the previous event, or of the last message if there is
    none: these are added with `add_late`.
    """

    def __init__(self, stale: bool, profiles_of_killed: bool) -> None:
        """Start empty.

        Args:
            stale: whether the times of some events lag, as in the release candidate.
            profiles_of_killed: whether to send the profiles of killed jobs.
        """
        super().__init__()
        self._stale = stale
        self._profiles_of_killed = profiles_of_killed
        self._clock = 0.0

    def take(self, now: float) -> str:
        """Return the message with all events, and clear them."""
        self._clock = now
        events, self._events = self._events, []
        return f'{{"now": {decimal5(now)},"events": [{",".join(events)}]}}'

    def clear(self, now: float) -> None:
        """Clear all events."""
        self._events = []
        self._clock = now

    def add(self, kind: str, data: str, now: float) -> None:
        """Add an event with its data as JSON."""
        self._clock = now
        self._events.append(f'{{"timestamp": {decimal5(now)},"event_type": "{kind}","event": {data}}}')

    def add_late(self, kind: str, data: str, now: float) -> None:
        """Add an event of a kind for which the release candidate does not read the clock."""
        self.add(kind, data, self._clock if self._stale else now)

    def job_submitted(self, job: Job, with_profile: bool, now: float) -> None:
        """Add the arrival of a job."""
        tail = f',"profile": {job.profile.text}' if with_profile else ""
        content = f'"job_id": {encode5(job.identifier)},"job": {job.text},"submission_time": {decimal5(job.submit)}'
        self.add("JobSubmittedEvent", f"{{{content}{tail}}}", now)

    def job_completed(self, job: Job, now: float) -> None:
        """Add the end of a job and its outcome."""
        data = {"job_id": job.identifier, "state": job.state, "return_code": job.return_code % UNSIGNED}
        self.add("JobCompletedEvent", encode5(data), now)

    def jobs_killed(self, identifiers: Iterable[str], progress: Mapping[str, KillProgress], now: float) -> None:
        """Add the completion of a kill, with the progress of each job."""
        by_job = sorted(progress.items())
        progresses = encode5([{"job_id": identifier, "wrapper": report} for identifier, (report, _) in by_job])
        tail = ""
        if self._profiles_of_killed:
            named = {profile.name: profile.text for _, profile in progress.values()}
            tail = f',"profiles": [{",".join(text for _, text in sorted(named.items()))}]'
        data = f'{{"job_ids": {encode5(list(identifiers))},"progresses": {progresses}{tail}}}'
        self.add_late("JobsKilledEvent", data, now)

    def pstate_changed(self, resources: str, pstate: int, now: float) -> None:
        """Add that machines reached a P-state."""
        self.add_late("HostsPStateChangedEvent", encode5({"host_ids": resources, "pstate": pstate}), now)

    def resources_changed(self, resources: str, pstate: int, now: float) -> None:
        """Add that machines have been turned on or off."""
        self.add_late("HostsTurnedOnOffEvent", encode5({"host_ids": resources, "state": pstate}), now)

    def called(self, call: str, now: float, last: bool = False) -> None:
        """Add that the time of a call has come; *last* for the last one of a periodic call."""
        self.add("RequestedCallEvent", encode5({"call_me_later_id": call, "last_periodic_call": last}), now)

    def measured(self, data: Mapping[str, Any], now: float) -> None:
        """Add what a probe has measured."""
        self.add("ProbeDataEmittedEvent", encode5(data), now)

    def outside_event(self, data: str, now: float) -> None:
        """Add an external event, given as JSON."""
        self.add_late("ExternalEventOccurredEvent", data, now)

    def no_more_jobs(self, now: float) -> None:
        """Add the end of the workloads."""
        self.add("AllStaticJobsHaveBeenSubmittedEvent", "{}", now)

    def no_more_events(self, now: float) -> None:
        """Add the end of the files of external events."""
        self.add("AllStaticExternalEventsHaveBeenInjectedEvent", "{}", now)

    def simulation_ends(self, now: float) -> None:
        """Add the end of the simulation."""
        self.add("SimulationEndsEvent", "{}", now)
