"""Simulate a window of a trace under a policy: baselines, trained agents, and the recorded schedule."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import Paired, Policy, Recorded
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.engine.job_rows import countable
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.streamed import Stream, parts_of, streams
from hdeeprm_like.types import Bools

LONG = 50_000  # jobs from which a window is simulated in parts, to save memory
PART = 20_000  # jobs


def schedules(
    machine: Platform, windows: Sequence[Window], policy: Policy, clock: Clock = "textbook", whole: bool = False
) -> list[Schedule]:
    """Return the schedules of a policy on some windows; see `schedule`. Agents play them in parallel."""
    if not isinstance(policy, Trained):
        return [schedule(machine, window, policy, clock, whole) for window in windows]
    from hdeeprm_like.launch.trained import play_windows

    simulators = play_windows(policy, machine, [window.workload for window in windows], clock)
    return [finished(*found, machine, policy) for found in zip(simulators, windows, strict=True)]


def schedule(
    machine: Platform, window: Window, policy: Policy, clock: Clock = "textbook", whole: bool = False
) -> Schedule:
    """Return the schedule of a policy on a window.

    Args:
        clock: ``"textbook"``: one decision for all events of one time; ``"one-by-one"``: RLScheduler's, a decision
        after each event; ``"batsim"``: the embedded simulator's.
        whole: whether baselines place each job on a single node.

    Raises:
        OptionsError: a trained agent does not fit the machine.
        WorkloadError: a job never ran, or the trace records no job.
    """
    if isinstance(policy, Recorded):
        return recorded(machine, window)
    if isinstance(policy, Trained):
        return schedules(machine, [window], policy, clock)[0]
    jobs, actions = window.workload, policy.pair if isinstance(policy, Paired) else policy
    if (
        len(jobs) >= LONG
        and isinstance(policy, Baseline)
        and not whole
        and countable(machine, jobs)
        and streams(policy, clock)
    ):
        return in_parts(machine, window, policy, clock)
    named, policies = clock == "batsim" or not countable(machine, jobs), PolicyActions([actions])
    state = State(machine, jobs, log=False, whole=whole, named=named, needs=policies.needs, epoch=window.epoch)
    return finished(run_to_end(state, policies, clock), window, machine, policy)


def in_parts(machine: Platform, window: Window, policy: Baseline, clock: Clock) -> Schedule:
    """Return the schedule of all jobs, simulated in parts; besides the window, memory holds waiting and running jobs.

    Raises:
        WorkloadError: a job never ran.
    """
    jobs = window.workload
    stream = Stream(machine, parts_of(jobs, PART), policy, clock, epoch=window.epoch)
    start, finish = np.full(len(jobs), np.nan), np.full(len(jobs), np.nan)
    for ended in stream.ended():
        start[ended["number"]], finish[ended["number"]] = ended["start"], ended["finish"]
    check_all_ran(np.isfinite(finish), window, machine, policy)
    return Schedule(
        jobs.submit,
        start,
        finish,
        jobs.size,
        machine.cores,
        requested_time=jobs.requested_time,
        user=jobs.user if (jobs.user >= 0).any() else None,
        energy=stream.simulator.state.joules,
    )


def finished(simulator: Simulator, window: Window, machine: Platform, policy: Policy) -> Schedule:
    """Return the schedule of a finished simulation.

    Raises:
        WorkloadError: a job never ran.
    """
    check_all_ran(jobs_that_ran(simulator), window, machine, policy)
    return schedule_of(simulator, window.workload)


def check_all_ran(ran: Bools, window: Window, machine: Platform, policy: Policy) -> None:
    """Refuse a schedule in which a job of a window never ran.

    Raises:
        WorkloadError: a job never ran.
    """
    jobs = window.workload
    if not ran.all():
        job = int(np.argmin(ran))
        request, gpus = f"{jobs.size[job]} cores with {jobs.memory[job]:g} MB each", float(jobs.gpus_of_job[job])
        if gpus > 0.0:
            request += f" and {gpus:g} GPUs"
        if machine.power_cap < np.inf:
            request += f"; a power cap of {machine.power_cap:g} W leaves {machine.usable_cores} cores"
        raise WorkloadError(
            f"job {job} of the window that begins at {window.epoch:g} s was never run by {policy.name} on "
            f"{machine.name}: it requests {request}"
        )


def recorded(machine: Platform, window: Window) -> Schedule:
    """Return the recorded schedule of a window, of the jobs that the trace records; its energy is unknown.

    Raises:
        WorkloadError: the trace has no job's wait and run time.
    """
    jobs, wait, known = window.workload, window.wait, window.recorded
    if wait is None or known is None or not known.any():
        raise WorkloadError(f"the window that begins at {window.epoch:g} s: no job's wait (field 3) and run are known")
    start = (jobs.submit + wait)[known]
    return Schedule(
        jobs.submit[known],
        start,
        start + jobs.delay[known],
        jobs.size[known],
        machine.cores,
        requested_time=jobs.requested_time[known],
        user=jobs.user[known] if (jobs.user >= 0).any() else None,
        recorded=True,
    )
