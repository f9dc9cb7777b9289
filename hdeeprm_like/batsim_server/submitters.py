"""The actors beside the server: they submit jobs, deliver external events, wake the scheduler, and switch machines."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server.engine import Mailbox, Script
from hdeeprm_like.batsim_server.execution import run_job
from hdeeprm_like.batsim_server.jobs import Job
from hdeeprm_like.batsim_server.machines import Machine, MachineState
from hdeeprm_like.batsim_server.outside_events import OutsideEvent
from hdeeprm_like.batsim_server.sharing import Work
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.batsim_server.workload import WorkloadReader
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.batsim_numbers import read_number

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.workflows import Task, Workflow

SHORTEST_WAIT = 1e-5  # s, shortest CALL_ME_LATER
MORE_WALLTIME = 10.0  # s, walltime of a workflow's task beyond its run time


def submit_jobs(simulation: Simulation, jobs: Sequence[Job]) -> Script:
    """Submit the jobs of one workload, those of one time together."""
    waiting = sorted(jobs, key=lambda job: (job.submit, job.identifier))
    yield from _one_by_one(simulation, [(job.submit, job) for job in waiting], "JOB_SUBMITTED", "jobs")


def submit_workflow(simulation: Simulation, workflow: "Workflow", reports: Mailbox, limit: int) -> Script:
    """Submit the tasks of a workflow, each when its predecessors are over.

    Args:
        reports: mailbox for the server's reports of ended jobs. limit: most jobs at a time; 0 or less for any number.
    """
    engine = simulation.engine
    yield (engine.put, ("SUBMITTER_HELLO", None))
    if workflow.start > engine.now:
        yield (engine.sleep, workflow.start - engine.now)
    ready = [task for _, task in sorted(workflow.tasks.items()) if not task.parents]
    submitted: dict[str, Task] = {}
    number = 0
    while ready or submitted:
        while ready and (limit <= 0 or len(submitted) < limit):
            task = ready.pop(0)
            job = _job_of(simulation, workflow.name, task, str(number))
            number += 1
            submitted[job.identifier] = task
            yield (engine.put, ("JOB_SUBMITTED", [job]))
        identifier = yield (engine.get, reports)
        for child in (children := submitted.pop(identifier).children):
            child.over_before += 1
        ready += [child for child in children if child.over_before == child.parents]
    yield (engine.put, ("SUBMITTER_BYE", "workflow"))


def _job_of(simulation: Simulation, workload: str, task: "Task", number: str) -> Job:
    """Return the job of a task, registered in the simulation; its times are rounded to six decimals, as in Batsim."""
    profiles = simulation.profiles[workload]
    name = f"{workload}_{task.identifier}"
    reader = WorkloadReader(profiles, {name: {"type": "delay", "delay": task.seconds}}, WorkloadError)
    description = {
        "id": f"{workload}!{number}",
        "subtime": read_number(f"{simulation.engine.now:f}"),
        "walltime": read_number(f"{task.seconds + MORE_WALLTIME:f}"),
        "res": 1,
        "profile": name,
    }
    job = reader.job(description, f"workflow {workload}")
    simulation.jobs[job.identifier] = job
    return job


def bring_events(simulation: Simulation, events: Sequence[OutsideEvent]) -> Script:
    """Deliver the events of one file, those of one time together."""
    yield from _one_by_one(simulation, [(event.timestamp, event) for event in events], "EVENTS", "events")


def _one_by_one(simulation: Simulation, items: Sequence[tuple[float, Any]], kind: str, what: str) -> Script:
    engine = simulation.engine
    yield (engine.put, ("SUBMITTER_HELLO", None))
    reached = engine.now  # as in Batsim, not read again after sending, which delays the next date by that time
    batch: list[Any] = []
    for time, item in items:
        if time > reached:
            if batch:
                yield (engine.put, (kind, batch))
                batch = []
            yield (engine.sleep, time - reached)
            reached = engine.now
        if kind == "JOB_SUBMITTED":
            yield from simulation.note_first_submission()
        batch.append(item)
    if batch:
        yield (engine.put, (kind, batch))
    yield (engine.put, ("SUBMITTER_BYE", what))


def start_all(simulation: Simulation) -> bool:
    """Start every job at once on as many of the first machines as it requests, until all are over; return True.

    Raises:
        WorkloadError: a job requests more machines than there are.
    """
    engine, machines = simulation.engine, simulation.machines
    for jobs in simulation.workloads:
        for job in reversed(jobs):  # order of a small table of jobs in Batsim
            if job.size > len(machines):
                raise WorkloadError(f"job {job.identifier}: requests {job.size} machines, there are {len(machines)}")
            job.machines = job.ranks = list(range(job.size))
            engine.begin(run_job(simulation, simulation.start(job), report=False), machines[0].host.name)
    engine.run()
    return True


def report_later(simulation: Simulation, time: float, message: Callable[[], tuple[str, Any]]) -> Script:
    """Put a message to the server, which is made when a time has come, unless the simulation has ended."""
    engine = simulation.engine
    if engine.now < time:
        yield (engine.sleep, max(time - engine.now, SHORTEST_WAIT))
    if simulation.ends_sent:
        simulation.waiters -= 1
    else:
        yield (engine.put, message())


def switch_machine(simulation: Simulation, machine: Machine, pstate: int, way: str) -> Script:
    """Switch a machine to sleep (``off``) or back (``on``) through the P-state in which that takes its time."""
    engine = simulation.engine
    sleeping = pstate if way == "off" else machine.pstate
    through = machine.sleep_pstates[sleeping][0 if way == "off" else 1]
    yield from simulation.set_pstate(machine, through)
    work = Work({machine.constraint: 1.0}, (machine.number,))  # 1 flop at the P-state's speed
    action = yield (engine.start, work)
    yield (engine.wait, action, -1.0)
    yield from simulation.set_pstate(machine, pstate)
    state = MachineState.SLEEPING if way == "off" else MachineState.IDLE
    simulation.machines.set_state(machine, state, engine.now)
    yield (engine.put, ("SWITCHED", (machine.number, pstate)))
