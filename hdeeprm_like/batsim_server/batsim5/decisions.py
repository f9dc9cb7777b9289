"""Handlers of the events of a Batsim 5 scheduler; where Batsim aborts they raise a `ProtocolError`.

To handle another event, write its function and add a line to `DECISIONS`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from hdeeprm_like.batsim_server import execution, submitters
from hdeeprm_like.batsim_server.batsim5.periodic import BEGIN, STOP, PeriodicCall, to_periodic
from hdeeprm_like.batsim_server.batsim5.probes import measure_later, read_probe
from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.batsim5.workload import WorkloadReader5, job_from_message, profile_from_message
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.jobs import Job, Profiles
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.options import RC2
from hdeeprm_like.batsim_server.replies import SchedulerEvent
from hdeeprm_like.batsim_server.scheduler_events import (
    add_job,
    job_of,
    machines_of,
    need_dynamic,
    reject,
    start,
    switch,
    to_kill,
)
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set
from hdeeprm_like.values import Whole, shown, wrong

MILLISECONDS = {"Second": 1000, "Millisecond": 1}  # in each unit of time
LONGEST_PERIOD = 10**15  # ms


def execute(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Start a job on machines."""
    job = job_of(simulation, event, "SUBMITTED")
    allocation = event.inside("allocation")
    if event.data.get("profile_allocation_override"):
        raise ProtocolError(f"{event.where}: profile_allocation_override is not imitated")
    job.machines = machines_of(simulation, allocation, "host_allocation")
    job.ranks = _ranks(simulation, allocation, job)
    where = allocation.where
    for number in job.machines:
        machine = simulation.machines[number]
        if machine.state not in (MachineState.IDLE, MachineState.COMPUTING):
            raise ProtocolError(f"{where}: machine {number} is {machine.state.name}, and computes no jobs now")
        if simulation.options.energy and not machine.computes_in(machine.pstate):
            raise ProtocolError(f"{where}: machine {number} is in P-state {machine.pstate}, no computing one")
    yield from start(simulation, job, _storage(event))


def _storage(event: SchedulerEvent) -> dict[str, int]:
    """Return the machines that the scheduler maps to the names of storage hosts."""
    places, found = event.data.get("storage_placement") or [], {}
    if not isinstance(places, list):
        raise wrong(places, "a list of storage_name and host_id", ProtocolError, event.where, "storage_placement")
    for at, place in enumerate(places):
        where = f"{event.where}: storage_placement[{at}]"
        if not isinstance(place, dict):
            raise wrong(place, "a storage_name and a host_id", ProtocolError, where)
        entry = Fields(place, where, ProtocolError)
        found[entry.text("storage_name")] = _whole(entry, "host_id", 0)
    return found


def _ranks(simulation: Simulation5, allocation: Fields, job: Job) -> list[int]:
    """Return the machine of each rank, by the placement."""
    kind, placement = allocation.text("executor_placement_type"), allocation.object("executor_placement")
    where, count = allocation.where, len(job.machines)
    if kind == "PredefinedExecutorPlacementStrategyWrapper":
        strategy = placement.get("strategy", "SpreadOverHostsFirst")
        if strategy not in ("SpreadOverHostsFirst", "FillOneHostCoresFirst"):
            raise ProtocolError(f"{where}: strategy {shown(strategy)} is not known")
        filled = strategy == "FillOneHostCoresFirst"
        cores = [simulation.machines[number].host.cores if filled else 1 for number in job.machines]
        turn = [number for number, ranks in zip(job.machines, cores, strict=True) for _ in range(ranks)]
        return [turn[rank % len(turn)] for rank in range(job.size)]
    if kind != "CustomExecutorToHostMapping":
        raise ProtocolError(f"{where}: executor_placement_type {shown(kind)} is not known")
    places = placement.get("mapping")
    if not isinstance(places, list) or not places or not all(type(place) is int for place in places):
        raise ProtocolError(f"{where}: mapping must be a list of places in the allocation")
    if not all(0 <= place < count for place in places):
        raise ProtocolError(f"{where}: mapping must name places below {count}")
    if job.profile.hosts not in (None, len(places)):
        raise ProtocolError(f"{where}: mapping has {len(places)} places; the profile is for {job.profile.hosts} hosts")
    return [job.machines[place] for place in places]


def kill(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Kill running jobs."""
    simulation.killers += 1
    killing = execution.kill_jobs(simulation, to_kill(simulation, event))
    killer = yield (simulation.engine.spawn, killing, simulation.master)
    simulation.killing = [*(actor for actor in simulation.killing if actor.alive), killer]


def call_me_later(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Call the scheduler at a time, or periodically."""
    name = event.text("call_me_later_id")
    found = _trigger(event, "when", name)
    simulation.waiters += 1
    if isinstance(found, PeriodicCall):
        yield to_periodic(simulation, (BEGIN, found))
    else:
        waiter = submitters.report_later(simulation, found, lambda: ("WAITING_DONE", name))
        yield (simulation.engine.spawn, waiter, simulation.master)


def create_probe(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Measure hosts periodically, or once."""
    probe = read_probe(simulation, event)
    policy = event.inside("measurement_triggering_policy")
    found = _trigger(policy, "temporal_trigger", probe.name)
    simulation.waiters += 1
    if isinstance(found, PeriodicCall):
        yield to_periodic(simulation, (BEGIN, replace(found, probe=probe)))
    elif simulation.options.imitate == RC2:
        raise ProtocolError(f"{policy.where}: temporal_trigger_type is OneShot; Batsim 5 only has Periodic")
    else:
        yield (simulation.engine.spawn, measure_later(simulation, found, probe), simulation.master)


def stop_probe(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """End a periodic probe."""
    yield to_periodic(simulation, (STOP, (True, event.text("probe_id"))))


def _trigger(event: Fields, key: str, name: str) -> PeriodicCall | float:
    """Return the periodic call of an event's trigger, or the time in s of one that comes once."""
    kind = event.text(f"{key}_type")
    when = event.inside(key)
    unit = when.data.get("time_unit", "Second")
    if not isinstance(unit, str) or unit not in MILLISECONDS:
        raise wrong(unit, "Second or Millisecond", ProtocolError, when.where, "time_unit")
    if kind == "Periodic":
        return _periodic(when, name, MILLISECONDS[unit])
    if kind != "OneShot":
        raise wrong(kind, "OneShot or Periodic", ProtocolError, event.where, f"{key}_type")
    time = _whole(when, "time", 0)
    return time / 1e3 if unit == "Millisecond" else float(time)


def _periodic(when: Fields, name: str, unit: int) -> PeriodicCall:
    if _whole(when, "offset", 0) != 0:
        raise ProtocolError(f"{when.where}: offset must be 0, as in Batsim")
    mode, left = when.text("mode_type"), None
    if mode == "FinitePeriodNumber":
        left = _whole(when.inside("mode"), "nb_periods", 1)
    elif mode != "Infinite":
        raise wrong(mode, "FinitePeriodNumber or Infinite", ProtocolError, when.where, "mode_type")
    return PeriodicCall(name, when.where, _whole(when, "period", 1) * unit, left)


def _whole(event: Fields, key: str, least: int) -> int:
    value = event.data.get(key, 0)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Whole(least, LONGEST_PERIOD).of(value, ProtocolError, event.where, key)


def stop_calling(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """End a periodic call."""
    yield to_periodic(simulation, (STOP, (False, event.text("call_me_later_id"))))


def change_pstate(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Change the P-state of machines from one computing state to another."""
    numbers, pstate = machines_of(simulation, event, "host_ids"), _whole(event, "pstate", 0)
    for number in numbers:
        machine = simulation.machines[number]
        if not (machine.computes_in(pstate) and machine.computes_in(machine.pstate)):
            raise ProtocolError(f"{event.where}: machine {number} cannot go from P-state {machine.pstate} to {pstate}")
    simulation.machines.note_pstate(numbers, pstate, simulation.engine.now)
    for number in numbers:
        yield from simulation.set_pstate(simulation.machines[number], pstate)
    simulation.outbox.pstate_changed(interval_set(numbers), pstate, simulation.engine.now)


def turn_on_off(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """Switch machines to a sleep state, or wake them; not recorded from Batsim 5, so done as in Batsim 4."""
    numbers, pstate = machines_of(simulation, event, "host_ids"), _whole(event, "state", 0)
    for number in numbers:
        machine = simulation.machines[number]
        if machine.computes_in(machine.pstate) and machine.computes_in(pstate):
            raise ProtocolError(
                f"{event.where}: machine {number} computes in P-state {machine.pstate} and in {pstate}; "
                "use ChangeHostsPStateEvent"
            )
    yield from switch(simulation, event.where, numbers, pstate)


def register_job(simulation: Simulation5, event: SchedulerEvent) -> None:
    """Register a job made by the scheduler."""
    workload, number = _new_name(simulation, event, event.text("job_id"))
    add_job(simulation, event, job_from_message(event, _reader(simulation, workload), number, simulation.engine.now))


def register_profile(simulation: Simulation5, event: SchedulerEvent) -> None:
    """Register a profile made by the scheduler."""
    identifier = event.inside("profile").text("id")
    workload, _ = _new_name(simulation, event, identifier)
    reader = _reader(simulation, workload)
    if identifier in reader.profiles or identifier in reader.profiles.gone:
        raise ProtocolError(f"{event.where}: profile {identifier[:60]!r} exists already, or has existed")
    reader.profiles[identifier] = profile_from_message(event, reader)


def _new_name(simulation: Simulation5, event: SchedulerEvent, name: str) -> tuple[str, str]:
    """Return the workload and the name in it of a registration, if that is allowed now."""
    need_dynamic(simulation, event, "dynamic_registration in the hello", "FinishRegistrationEvent")
    workload, _, number = name.partition("!")
    if not workload or not number:
        raise ProtocolError(f"{event.where}: {name[:60]!r} must be a workload, '!' and a name")
    return workload, number


def _reader(simulation: Simulation5, workload: str) -> WorkloadReader5:
    profiles = simulation.profiles.setdefault(workload, Profiles(workload))
    return WorkloadReader5(profiles, {}, ProtocolError, others=simulation.profiles)


def finish_registration(simulation: Simulation5, event: SchedulerEvent) -> None:
    """Accept no more jobs from the scheduler."""
    simulation.registering = False


def force_stop(simulation: Simulation5, event: SchedulerEvent) -> Script:
    """End the simulation as it is; the release candidate fails when parallel tasks run."""
    tasks = [running.task.innermost().action for running in simulation.running.values()]
    if simulation.options.imitate == RC2 and any(tasks):
        raise ProtocolError(f"{event.where}: parallel tasks run, on which the release candidate aborts")
    yield from simulation.stop()


Decision = Callable[[Simulation5, SchedulerEvent], Script | None]

DECISIONS: Mapping[str, Decision] = {
    "ExecuteJobEvent": execute,
    "RejectJobEvent": reject,
    "KillJobsEvent": kill,
    "CallMeLaterEvent": call_me_later,
    "StopCallMeLaterEvent": stop_calling,
    "CreateProbeEvent": create_probe,
    "StopProbeEvent": stop_probe,
    "ChangeHostsPStateEvent": change_pstate,
    "TurnOnOffHostsEvent": turn_on_off,
    "RegisterJobEvent": register_job,
    "RegisterProfileEvent": register_profile,
    "FinishRegistrationEvent": finish_registration,
    "ForceSimulationStopEvent": force_stop,
}
