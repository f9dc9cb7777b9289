"""The actors that run a job from start to end, and those that kill jobs."""

from collections.abc import Sequence
from typing import Any

from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.jobs import KILLED, RunningJob
from hdeeprm_like.batsim_server.simulation import Simulation

SHORTEST_RUN = 1e-5  # s


def run_job(simulation: Simulation, running: RunningJob, report: bool = True) -> Script:
    """Run a job from start to end, then report to the server, if there is one to *report* to."""
    engine, job = simulation.engine, running.job
    job.start = engine.now
    meter = simulation.machines.meter
    if meter is not None:
        yield from simulation.look_at_energy()
        meter.total(engine.now)
        running.joules_before = meter.of(job.machines)
        simulation.machines.trace_energy("s", engine.now)
    simulation.machines.begin_job(job.identifier, job.machines, engine.now)
    code = yield from running.perform(running.task)
    if code == KILLED:
        yield from end_job(simulation, running)
        return
    job.return_code = code
    if code == 0:
        job.state = "COMPLETED_SUCCESSFULLY"
    elif code > 0:
        job.state = "COMPLETED_FAILED"
    else:
        job.state = "COMPLETED_WALLTIME_REACHED"
    yield from end_job(simulation, running)
    if report:
        yield (engine.put, ("JOB_COMPLETED", running))
    elif running.overdue is not None:
        engine.remove(running.overdue)


def end_job(simulation: Simulation, running: RunningJob) -> Script:
    """Release a job's machines and record its run time and energy."""
    job, now = running.job, simulation.engine.now
    simulation.machines.end_job(job.identifier, job.machines, now)
    job.run = (now - job.start) or SHORTEST_RUN
    meter = simulation.machines.meter
    if meter is not None:
        yield from simulation.look_at_energy()
        meter.total(now)
        job.joules = meter.of(job.machines) - running.joules_before
        simulation.machines.trace_energy("e", now)


def kill_jobs(simulation: Simulation, identifiers: Sequence[str]) -> Script:
    """Kill those jobs that still run, then report to the server."""
    engine = simulation.engine
    progress: dict[str, Any] = {}
    for identifier in identifiers:
        running = simulation.running.get(identifier)
        if running is None or running.job.state != "RUNNING":
            continue
        progress[identifier] = simulation.progress_of(running)
        assert running.actor is not None
        running.job.state = "COMPLETED_KILLED"
        if running.task.innermost().action is not None:
            yield (engine.skip,)  # SimGrid reads the progress of a parallel task in a kernel call
            running.job.return_code = KILLED
            yield (engine.cancel, running.actor)  # the job's actor does the rest
        else:
            running.job.return_code = -1
            yield (engine.kill, running.actor)
            yield from running.kill_helpers()
            yield from end_job(simulation, running)
    yield (engine.put, ("KILLING_DONE", (identifiers, progress)))
