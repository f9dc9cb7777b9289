"""Handlers of the scheduler's events; where Batsim aborts they raise a `ProtocolError`.

To handle another event, write its function and add a line to `SCHEDULER_EVENTS`.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from hdeeprm_like.batsim_server import execution, submitters
from hdeeprm_like.batsim_server.engine import Request, Script
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import Job, Profiles
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.replies import SchedulerEvent
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.batsim_server.workload import WorkloadReader
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set
from hdeeprm_like.values import whole_in

ENDED = ("COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED")
STATES = ("NOT_SUBMITTED", "SUBMITTED", "RUNNING", "REJECTED", *ENDED)


def job_of(simulation: Simulation, event: SchedulerEvent, *states: str) -> Job:
    """Return the job named by an event, which must be in one of some states."""
    return job_named(simulation, event.text("job_id"), event.where, *states)


def job_named(simulation: Simulation, identifier: str, where: str, *states: str) -> Job:
    """Return a job, which must be in one of some states."""
    job = simulation.jobs.get(identifier)
    if job is None or job.state == "NOT_SUBMITTED":
        raise ProtocolError(f"{where}: job {identifier[:60]!r} does not exist (or no longer, or not yet)")
    if states and job.state not in states:
        raise ProtocolError(f"{where}: job {identifier[:60]!r} is {job.state}, not {' or '.join(states)}")
    return job


def machines_of(simulation: Simulation, event: Fields, key: str) -> list[int]:
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
    ranks, any_size = len(job.ranks), job.profile.any_size
    if ranks != job.size and not (any_size and ranks == len(job.machines)):
        raise ProtocolError(f"{event.where}: job {job.identifier} requests {job.size} machines and got {ranks}")
    options = simulation.options
    for number in job.machines:
        machine = simulation.machines[number]
        if machine.state is not MachineState.IDLE:
            sharing = options.storage_sharing  # Batsim accepts compute hosts as storage hosts, too
            sharing = sharing and (machine.stores or options.compute_sharing)
            if not (sharing and machine.state is MachineState.COMPUTING):
                raise ProtocolError(f"{event.where}: machine {number} is {machine.state.name}, not IDLE")
        if options.energy and not machine.computes_in(machine.pstate):
            raise ProtocolError(f"{event.where}: machine {number} is in P-state {machine.pstate}, no computing one")
    if "additional_io_job" in event.data:
        raise ProtocolError(f"{event.where}: additional_io_job is not imitated")
    yield from start(simulation, job, _storage(event))


def start(simulation: Simulation, job: Job, storage: dict[str, int]) -> Script:
    """Start a job on its machines, with machines by their names in its profile."""
    job.storage, job.alloc = storage, interval_set(job.machines)
    running = simulation.start(job)
    host = simulation.machines[job.machines[0]].host.name
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
    """Kill running jobs."""
    identifiers = to_kill(simulation, event)
    if identifiers:
        simulation.killers += 1
        yield (simulation.engine.spawn, execution.kill_jobs(simulation, identifiers), simulation.master)
        yield (simulation.engine.skip,)  # to find its mailbox by name: a second job is killed before the next message


def to_kill(simulation: Simulation, event: SchedulerEvent) -> list[str]:
    """Return the jobs to be killed by an event: those that are over, or already being killed, are left alone."""
    identifiers: list[str] = []
    for identifier in event.texts("job_ids"):
        job = job_named(simulation, identifier, event.where, "RUNNING", *ENDED)
        if identifier in simulation.running and simulation.running[identifier].actor is None:
            raise ProtocolError(
                f"{event.where}: job {identifier[:60]!r} runs by CHANGE_JOB_STATE alone; nothing to kill"
            )
        if not job.kill_asked:
            job.kill_asked = True
            identifiers.append(identifier)
    return identifiers


def change_state(simulation: Simulation, event: SchedulerEvent) -> None:
    """Mark a submitted job as running, though nothing runs.

    Batsim 4.2.1 survives no other change: if a job ends in this way, it writes the job's row before it changes the
    state, and aborts because the job is not in a final state.
    """
    state = event.text("job_state")
    if state not in STATES:
        raise ProtocolError(f"{event.where}: job_state {state[:60]!r} is none of {', '.join(STATES)}")
    job = job_of(simulation, event, "SUBMITTED", "RUNNING")
    if (job.state, state) != ("SUBMITTED", "RUNNING"):
        raise ProtocolError(
            f"{event.where}: Batsim aborts where job {job.identifier}, which is {job.state}, is made {state} by this "
            "event; KILL_JOB and REJECT_JOB end jobs"
        )
    simulation.start(job)


def call_me_later(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Call the scheduler at a time."""
    wanted = event.number("timestamp")
    if wanted <= simulation.engine.now:
        raise ProtocolError(f"{event.where}: requests a call at {wanted:f}, but it is {simulation.engine.now:f}")
    simulation.waiters += 1
    waiter = submitters.report_later(simulation, wanted, lambda: ("WAITING_DONE", ""))
    yield (simulation.engine.spawn, waiter, simulation.master)


def set_resource_state(simulation: Simulation, event: SchedulerEvent) -> Script:
    """Change the P-state of machines, or switch them to sleep or wake them up."""
    numbers = machines_of(simulation, event, "resources")
    text = event.text("state")
    pstate = whole_in(text)
    if not simulation.options.energy:
        raise ProtocolError(f"{event.where}: P-states cannot change without -E")
    yield from switch(simulation, event.where, numbers, pstate, text)


def switch(simulation: Simulation, where: str, numbers: Sequence[int], pstate: int, text: str = "") -> Script:
    """Change machines to a P-state; *text* is its name in the request."""
    for number in numbers:
        _check_switch(simulation, where, number, pstate, text or str(pstate))
    yield from simulation.look_at_energy()
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
            yield from end_switch(simulation, number, pstate)
    simulation.machines.trace_states(simulation.engine.now)


def end_switch(simulation: Simulation, number: int, pstate: int) -> Generator[Request, Any, bool]:
    """Note that a machine has reached its P-state; report and return whether all that change with it have, too."""
    reached = simulation.machines.end_switch(number, pstate)
    if reached:
        yield from simulation.look_at_energy()
        simulation.machines.note_pstate(reached, pstate, simulation.engine.now)
        simulation.outbox.resources_changed(interval_set(reached), pstate, simulation.engine.now)
    return bool(reached)


def _check_switch(simulation: Simulation, where: str, number: int, pstate: int, text: str) -> None:
    machine = simulation.machines[number]
    known = machine.computes_in(pstate) or pstate in machine.sleep_pstates
    if not known:
        raise ProtocolError(f"{where}: machine {number} has no P-state {text[:20]!r} to take")
    if machine.pstate in machine.sleep_pstates:
        under_way = machine.state in (MachineState.SWITCHING_ON, MachineState.SWITCHING_OFF)
        possible = not under_way and machine.computes_in(pstate)  # asleep, also if it left and came back meanwhile
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
    need_dynamic(simulation, event)
    workload, _, number = event.text("job_id").partition("!")
    profiles = simulation.profiles.setdefault(workload, Profiles(workload))
    add_job(
        simulation, event, WorkloadReader(profiles, {}, ProtocolError).job(event.object("job"), event.where, number)
    )


def add_job(simulation: Simulation, event: SchedulerEvent, job: Job) -> None:
    """Submit a job made by the scheduler."""
    if job.identifier in simulation.jobs:
        raise ProtocolError(f"{event.where}: job {job.identifier[:60]!r} exists already")
    simulation.jobs[job.identifier] = job
    simulation.submit(job, announce=simulation.options.acknowledge_dynamic_jobs)


def register_profile(simulation: Simulation, event: SchedulerEvent) -> None:
    """Register a profile made by the scheduler."""
    need_dynamic(simulation, event)
    workload, name = event.text("workload_name"), event.text("profile_name")
    profiles = simulation.profiles.setdefault(workload, Profiles(workload))
    if name in profiles or name in profiles.gone:
        raise ProtocolError(f"{event.where}: profile {name[:60]!r} exists already, or has existed")
    reader = WorkloadReader(profiles, {}, ProtocolError)
    profiles[name] = reader.profile(name, event.object("profile"), event.where)


def need_dynamic(
    simulation: Simulation,
    event: SchedulerEvent,
    by: str = "--enable-dynamic-jobs",
    until: str = "registration_finished",
) -> None:
    """Raise if the scheduler may register nothing: it may *by* an option, *until* an event."""
    if not simulation.options.dynamic_jobs:
        raise ProtocolError(f"{event.where}: needs {by}")
    if not simulation.registering:
        raise ProtocolError(f"{event.where}: comes after {until}")


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
        need_dynamic(simulation, event)
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
