"""Handlers of the scheduler's events; where Batsim aborts they raise a `ProtocolError`.

To handle another event, write its function and add a line to `SCHEDULER_EVENTS`.
"""

from collections.abc import Callable, Mapping, Sequence

from hdeeprm_like.batsim_server import execution, submitters
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.jobs import Job, Profiles
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.replies import SchedulerEvent
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.batsim_server.workload import WorkloadReader
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set

ENDED = ("COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED")
STATES = ("NOT_SUBMITTED", "SUBMITTED", "RUNNING", "REJECTED", *ENDED)


def job_of(simulation: Simulation, event: SchedulerEvent, *states: str) -> Job:
    """Return the job named by an event, which must be in one of some states."""
    identifier = event.text("job_id")
    job = simulation.jobs.get(identifier)
    if job is None or job.state == "NOT_SUBMITTED":
        raise ProtocolError(f"{event.where}: job {identifier[:60]!r} does not exist (or no longer, or not yet)")
    if states and job.state not in states:
        raise ProtocolError(f"{event.where}: job {identifier[:60]!r} is {job.state}, not {' or '.join(states)}")
    return job


def machines_of(simulation: Simulation, event: SchedulerEvent, key: str) -> list[int]:
    """Return the machines named by an event, at least one."""
    text = event.text(key)
    try:
        numbers = parse_interval_set(text, below=len(simulation.machines.all), error=ProtocolError)
    except ProtocolError as cause:
        raise ProtocolError(f"{event.where}: {key} {cause}") from None
    if not numbers:
        raise ProtocolError(f"{event.where}: {key} names no machine")
    return numbers


def execute(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Start a job on machines."""
    job = job_of(simulation, event, "SUBMITTED")
    job.machines = machines_of(simulation, event, "alloc")
    job.ranks = _ranks(event, job)
    execution.check_startable(job, job.machines, job.ranks, event.where)
    options, machines, idle = simulation.options, simulation.machines.all, MachineState.IDLE
    for number in job.machines:
        machine = machines[number]
        if machine.state is not idle:
            sharing = options.storage_sharing  # Batsim accepts compute hosts as storage hosts, too
            sharing = sharing and (machine.stores or options.compute_sharing)
            if not (sharing and machine.state is MachineState.COMPUTING):
                raise ProtocolError(f"{event.where}: machine {number} is {machine.state.name}, not IDLE")
        if options.energy and not machine.computes_in(machine.pstate):
            raise ProtocolError(f"{event.where}: machine {number} is in P-state {machine.pstate}, no computing one")
    if "additional_io_job" in event.data:
        raise ProtocolError(f"{event.where}: additional_io_job is not imitated")
    job.storage = _storage(event)
    job.alloc = interval_set(job.machines)
    running = simulation.start(job)
    host = machines[job.machines[0]].host.name
    running.actor = yield (simulation.engine.spawn, execution.run_job(simulation, running), host)


def _ranks(event: SchedulerEvent, job: Job) -> list[int]:
    """Return the machine of each rank: those of the allocation in order, unless there is a mapping."""
    if "mapping" not in event.data:
        return job.machines
    mapping = event.object("mapping")
    try:
        places = {int(rank): int(place) for rank, place in mapping.items()}
    except (ValueError, TypeError):
        raise ProtocolError(f"{event.where}: mapping must be from ranks to places in the allocation") from None
    if sorted(places) != list(range(len(places))):
        raise ProtocolError(f"{event.where}: mapping must have the ranks 0 to {len(places) - 1}")
    if not all(0 <= place < len(job.machines) for place in places.values()):
        raise ProtocolError(f"{event.where}: mapping must name places below {len(job.machines)}")
    return [job.machines[places[rank]] for rank in range(len(places))]


def _storage(event: SchedulerEvent) -> dict[str, int]:
    """Return the machines that the scheduler maps to the names of storage hosts."""
    if "storage_mapping" not in event.data:
        return {}
    mapping = event.object("storage_mapping")
    if not all(isinstance(number, int) and not isinstance(number, bool) for number in mapping.values()):
        raise ProtocolError(f"{event.where}: storage_mapping must be from names to numbers of machines")
    return mapping


def reject(simulation: Simulation, event: SchedulerEvent) -> None:
    """Reject a job."""
    job = job_of(simulation, event, "SUBMITTED")
    job.state = "REJECTED"
    simulation.close(job)


def kill(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Kill running jobs; jobs that are over, or already being killed, are left alone."""
    identifiers: list[str] = []
    for identifier in event.texts("job_ids"):
        job = job_of(
            simulation, SchedulerEvent("KILL_JOB", 0.0, {"job_id": identifier}, event.where), "RUNNING", *ENDED
        )
        if identifier in simulation.running and simulation.running[identifier].actor is None:
            raise ProtocolError(
                f"{event.where}: job {identifier[:60]!r} runs by CHANGE_JOB_STATE alone; nothing to kill"
            )
        if not job.kill_asked:
            job.kill_asked = True
            identifiers.append(identifier)
    if identifiers:
        simulation.killers += 1
        yield (simulation.engine.spawn, execution.kill_jobs(simulation, identifiers), simulation.master)


def change_state(simulation: Simulation, event: SchedulerEvent) -> None:
    """Mark a submitted job as running, though nothing runs.

    Batsim 4.2.1 survives no other change: if a job ends in this way, it writes the job's row before it changes the
    state, and aborts because the job is not in a final state.
    """
    state = event.text("job_state")
    if state not in STATES:
        raise ProtocolError(f"{event.where}: job_state {state[:60]!r} is none of {', '.join(STATES)}")
    job = job_of(simulation, event, "SUBMITTED", "RUNNING")
    possible = ENDED if job.state == "RUNNING" else ("RUNNING", "REJECTED")
    if state not in possible:
        raise ProtocolError(
            f"{event.where}: job {job.identifier} is {job.state} and can become {' or '.join(possible)}, not {state}"
        )
    if state != "RUNNING":
        raise ProtocolError(
            f"{event.where}: Batsim aborts where a job is made {state} by this event; KILL_JOB and REJECT_JOB end jobs"
        )
    simulation.start(job)


def call_me_later(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Call the scheduler at a time."""
    wanted = event.number("timestamp")
    if wanted <= simulation.engine.now:
        raise ProtocolError(f"{event.where}: requests a call at {wanted:f}, but it is {simulation.engine.now:f}")
    simulation.waiters += 1
    yield (simulation.engine.spawn, submitters.wake_later(simulation, wanted), simulation.master)


def set_resource_state(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Change the P-state of machines, or switch them to sleep or wake them up."""
    numbers = machines_of(simulation, event, "resources")
    text = event.text("state")
    pstate = int(text) if text.isdigit() and len(text) < 6 else -1
    if not simulation.options.energy:
        raise ProtocolError(f"{event.where}: P-states cannot change without -E")
    yield from switch(simulation, event.where, numbers, pstate, text)


def switch(simulation: Simulation, where: str, numbers: Sequence[int], pstate: int, text: str = "") -> Script:
    """Change machines to a P-state; *text* is its name in the request."""
    for number in numbers:
        _check_switch(simulation, where, number, pstate, text or str(pstate))
    simulation.machines.begin_switch(numbers, pstate, simulation.engine.now)
    for number in numbers:
        machine = simulation.machines[number]
        way = "off" if pstate in machine.sleep_pstates else "on" if machine.pstate in machine.sleep_pstates else ""
        if way:
            state = MachineState.SWITCHING_OFF if way == "off" else MachineState.SWITCHING_ON
            simulation.machines.set_state(machine, state, simulation.engine.now)
            simulation.switching += 1
            yield (
                simulation.engine.spawn,
                submitters.switch_machine(simulation, machine, pstate, way),
                machine.host.name,
            )
        else:
            yield from simulation.set_pstate(machine, pstate)
            resources = simulation.machines.end_switch(number, pstate, simulation.engine.now)
            if resources is not None:
                simulation.outbox.resources_changed(resources, pstate, simulation.engine.now)
    simulation.machines.trace_states(simulation.engine.now)


def _check_switch(simulation: Simulation, where: str, number: int, pstate: int, text: str) -> None:
    machine = simulation.machines[number]
    known = machine.computes_in(pstate) or pstate in machine.sleep_pstates
    if not known:
        raise ProtocolError(f"{where}: machine {number} has no P-state {text[:20]!r} to take")
    if machine.pstate in machine.sleep_pstates:
        asleep = machine.state in (MachineState.SLEEPING, MachineState.UNAVAILABLE)
        possible = asleep and machine.computes_in(pstate)
    elif pstate in machine.sleep_pstates:
        awake = machine.state in (MachineState.IDLE, MachineState.COMPUTING, MachineState.UNAVAILABLE)
        possible = awake and not machine.jobs
    else:
        possible = machine.computes_in(machine.pstate)
    if not possible:
        raise ProtocolError(
            f"{where}: machine {number} is {machine.state.name} in P-state {machine.pstate}; "
            f"it cannot change to {pstate} now"
        )


def query(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Answer how much energy was used."""
    for request in event.object("requests"):
        meter = simulation.machines.meter
        if request != "consumed_energy" or meter is None:
            needed = " without -E" if request == "consumed_energy" else ""
            raise ProtocolError(f"{event.where}: {request[:60]!r} cannot be queried{needed}")
        yield from simulation.look_at_energy()
        simulation.outbox.energy_answer(meter.total(simulation.engine.now), simulation.engine.now)


def register_job(simulation: Simulation, event: SchedulerEvent) -> None:
    """Register a job made by the scheduler."""
    _need_dynamic(simulation, event)
    workload, _, number = event.text("job_id").partition("!")
    profiles = simulation.profiles.setdefault(workload, Profiles(workload))
    job = WorkloadReader(profiles, {}, ProtocolError).job(event.object("job"), event.where, number)
    if job.identifier in simulation.jobs:
        raise ProtocolError(f"{event.where}: job {job.identifier!r} exists already")
    simulation.jobs[job.identifier] = job
    simulation.submit(job, announce=simulation.options.acknowledge_dynamic_jobs)


def register_profile(simulation: Simulation, event: SchedulerEvent) -> None:
    """Register a profile made by the scheduler."""
    _need_dynamic(simulation, event)
    workload, name = event.text("workload_name"), event.text("profile_name")
    profiles = simulation.profiles.setdefault(workload, Profiles(workload))
    if name in profiles:
        raise ProtocolError(f"{event.where}: profile {name[:60]!r} exists already")
    reader = WorkloadReader(profiles, {}, ProtocolError)
    profiles[name] = reader.profile(name, event.object("profile"), event.where)


def _need_dynamic(simulation: Simulation, event: SchedulerEvent) -> None:
    if not simulation.options.dynamic_jobs:
        raise ProtocolError(f"{event.where}: needs --enable-dynamic-jobs")
    if not simulation.registering:
        raise ProtocolError(f"{event.where}: comes after registration_finished")


def set_metadata(simulation: Simulation, event: SchedulerEvent) -> None:
    """Store a text for the row of a job."""
    text = event.text("metadata")
    if '"' in text or "\n" in text or "\r" in text:
        raise ProtocolError(f"{event.where}: metadata must not hold quotes or line ends")
    job_of(simulation, event).metadata = text


def to_job(simulation: Simulation, event: SchedulerEvent) -> None:
    """Deliver a message that a job may wait for."""
    job_of(simulation, event).messages.append(event.text("msg"))


def notified(simulation: Simulation, event: SchedulerEvent) -> None:
    """Record whether the scheduler will register more jobs."""
    kind = event.text("type")
    if kind == "registration_finished":
        _need_dynamic(simulation, event)
        simulation.registering = False
    elif kind == "continue_registration" and simulation.options.dynamic_jobs:
        simulation.registering = True
    else:
        raise ProtocolError(f"{event.where}: type {kind[:60]!r} is not known")


SCHEDULER_EVENTS: Mapping[str, Callable[[Simulation, SchedulerEvent], Script | None]] = {  # scripts take simulated time
    "EXECUTE_JOB": execute,
    "REJECT_JOB": reject,
    "KILL_JOB": kill,
    "CHANGE_JOB_STATE": change_state,
    "CALL_ME_LATER": call_me_later,
    "SET_RESOURCE_STATE": set_resource_state,
    "QUERY": query,
    "REGISTER_JOB": register_job,
    "REGISTER_PROFILE": register_profile,
    "SET_JOB_METADATA": set_metadata,
    "TO_JOB_MSG": to_job,
    "NOTIFY": notified,
}
