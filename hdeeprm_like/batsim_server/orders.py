"""What the server does for each decision of the scheduler; what Batsim aborts on is one `ProtocolError`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server import execution, submitters
from hdeeprm_like.batsim_server.decisions import Decision
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.jobs import Job, Profiles, make_job, make_profile
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.session import Session

_ENDED = ("COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED")


class Orders:
    """The handlers of decisions; those that take rounds of the engine are scripts."""

    def __init__(self, session: "Session") -> None:
        """Act on one session."""
        self.session = session
        self.handlers: dict[str, Callable[[Any], Script | None]] = {
            "EXECUTE_JOB": self._execute,
            "REJECT_JOB": self._reject,
            "KILL_JOB": self._kill,
            "CALL_ME_LATER": self._call_me_later,
            "SET_RESOURCE_STATE": self._set_resource_state,
            "QUERY": self._query,
            "REGISTER_JOB": self._register_job,
            "REGISTER_PROFILE": self._register_profile,
            "SET_JOB_METADATA": self._set_metadata,
            "TO_JOB_MSG": self._to_job,
            "NOTIFY": self._notified,
        }

    def _job(self, decision: Decision, *states: str) -> Job:
        identifier = decision.text("job_id")
        job = self.session.jobs.get(identifier)
        if job is None or job.state == "NOT_SUBMITTED":
            raise ProtocolError(f"{decision.where}: job {identifier[:60]!r} does not exist (or no longer, or not yet)")
        if states and job.state not in states:
            raise ProtocolError(f"{decision.where}: job {identifier[:60]!r} is {job.state}, not {' or '.join(states)}")
        return job

    def _machines_of(self, decision: Decision, key: str) -> list[int]:
        def fail(what: str) -> ProtocolError:
            return ProtocolError(f"{decision.where}: {key} {what}")

        try:
            numbers = parse_interval_set(decision.text(key), below=len(self.session.machines), error=ProtocolError)
        except ProtocolError as cause:
            raise fail(str(cause)) from None
        if not numbers:
            raise fail("names no machine")
        return numbers

    def _execute(self, decision: Decision) -> Script:
        job = self._job(decision, "SUBMITTED")
        job.machines = self._machines_of(decision, "alloc")
        job.ranks = self._ranks(decision, job)
        execution.check_startable(job, job.machines, job.ranks, decision.where)
        for number in job.machines:
            machine = self.session.machines[number]
            shared = self.session.options.compute_sharing and machine.state is MachineState.COMPUTING
            if machine.state is not MachineState.IDLE and not shared:
                raise ProtocolError(f"{decision.where}: machine {number} is {machine.state.name}, not IDLE")
            if self.session.options.energy and not machine.computes_in(machine.pstate):
                raise ProtocolError(
                    f"{decision.where}: machine {number} is in P-state {machine.pstate}, no computing one"
                )
        if "storage_mapping" in decision.data or "additional_io_job" in decision.data:
            raise ProtocolError(f"{decision.where}: storage is not imitated")
        job.alloc = interval_set(job.machines)
        job.state = "RUNNING"
        run = self.session.runs[job.identifier] = execution.Run(job)
        host = self.session.machines[job.machines[0]].host.name
        run.actor = yield (self.session.engine.spawn, execution.run_job(self.session, run), host)

    def _ranks(self, decision: Decision, job: Job) -> list[int]:
        """Return the machine of each rank: those of the allocation in order, unless a mapping says otherwise."""
        if "mapping" not in decision.data:
            return job.machines
        mapping = decision.object("mapping")
        try:
            places = {int(rank): int(place) for rank, place in mapping.items()}
        except (ValueError, TypeError):
            raise ProtocolError(f"{decision.where}: mapping must be from ranks to places in the allocation") from None
        if sorted(places) != list(range(len(places))):
            raise ProtocolError(f"{decision.where}: mapping must have the ranks 0 to {len(places) - 1}")
        if not all(0 <= place < len(job.machines) for place in places.values()):
            raise ProtocolError(f"{decision.where}: mapping must name places below {len(job.machines)}")
        return [job.machines[places[rank]] for rank in range(len(places))]

    def _reject(self, decision: Decision) -> None:
        job = self._job(decision, "SUBMITTED")
        job.state = "REJECTED"
        self.session.close(job)

    def _kill(self, decision: Decision) -> Script:
        identifiers = decision.texts("job_ids")
        for identifier in identifiers:
            self._job(Decision("KILL_JOB", 0.0, {"job_id": identifier}, decision.where), "RUNNING", *_ENDED)
        self.session.killers += 1
        yield (self.session.engine.spawn, execution.kill_jobs(self.session, identifiers), self.session.options.master)

    def _call_me_later(self, decision: Decision) -> Script:
        wanted = decision.number("timestamp")
        if wanted <= self.session.engine.now:
            raise ProtocolError(
                f"{decision.where}: asks to be called at {wanted:f}, but it is {self.session.engine.now:f}"
            )
        self.session.waiters += 1
        yield (self.session.engine.spawn, submitters.wake_later(self.session, wanted), self.session.options.master)

    def _set_resource_state(self, decision: Decision) -> Script:
        numbers = self._machines_of(decision, "resources")
        text = decision.text("state")
        pstate = int(text) if text.isdigit() and len(text) < 6 else -1
        if not self.session.options.energy:
            raise ProtocolError(f"{decision.where}: P-states cannot change without -E")
        for number in numbers:
            self._check_switch(decision.where, number, pstate, text)
        self.session.machines.begin_switch(numbers, pstate, self.session.engine.now)
        for number in numbers:
            machine = self.session.machines[number]
            way = "off" if pstate in machine.sleep_pstates else "on" if machine.pstate in machine.sleep_pstates else ""
            if way:
                state = MachineState.SWITCHING_OFF if way == "off" else MachineState.SWITCHING_ON
                self.session.machines.set_state(machine, state, self.session.engine.now)
                self.session.switching += 1
                yield (
                    self.session.engine.spawn,
                    submitters.switch_machine(self.session, machine, pstate, way),
                    machine.host.name,
                )
            else:
                yield from self.session.set_pstate(machine, pstate)
                resources = self.session.machines.end_switch(number, pstate, self.session.engine.now)
                if resources is not None:
                    self.session.outbox.resources_changed(resources, pstate, self.session.engine.now)
        self.session.machines.trace_states(self.session.engine.now)

    def _check_switch(self, where: str, number: int, pstate: int, text: str) -> None:
        machine = self.session.machines[number]
        known = machine.computes_in(pstate) or pstate in machine.sleep_pstates
        if not known:
            raise ProtocolError(f"{where}: machine {number} has no P-state {text[:20]!r} to take")
        if machine.pstate in machine.sleep_pstates:
            possible = machine.state is MachineState.SLEEPING and machine.computes_in(pstate)
        elif pstate in machine.sleep_pstates:
            possible = machine.state is MachineState.IDLE
        else:
            possible = machine.computes_in(machine.pstate)
        if not possible:
            raise ProtocolError(
                f"{where}: machine {number} is {machine.state.name} in P-state {machine.pstate}; "
                f"it cannot change to {pstate} now"
            )

    def _query(self, decision: Decision) -> Script:
        for request in decision.object("requests"):
            meter = self.session.machines.meter
            if request != "consumed_energy" or meter is None:
                needed = " without -E" if request == "consumed_energy" else ""
                raise ProtocolError(f"{decision.where}: {request[:60]!r} cannot be asked for{needed}")
            yield from self.session.look_at_energy()
            self.session.outbox.energy_answer(float(meter.total(self.session.engine.now)), self.session.engine.now)

    def _register_job(self, decision: Decision) -> None:
        self._need_dynamic(decision)
        workload, _, number = decision.text("job_id").partition("!")
        profiles = self.session.profiles.setdefault(workload, Profiles(workload))
        job = make_job(decision.object("job"), workload, profiles, {}, decision.where, ProtocolError, number)
        if job.identifier in self.session.jobs:
            raise ProtocolError(f"{decision.where}: job {job.identifier!r} is there already")
        self.session.jobs[job.identifier] = job
        self.session.submit(job, tell=self.session.options.acknowledge_dynamic_jobs)

    def _register_profile(self, decision: Decision) -> None:
        self._need_dynamic(decision)
        workload, name = decision.text("workload_name"), decision.text("profile_name")
        profiles = self.session.profiles.setdefault(workload, Profiles(workload))
        if name in profiles:
            raise ProtocolError(f"{decision.where}: profile {name[:60]!r} is there already")
        profiles[name] = make_profile(name, decision.object("profile"), profiles, {}, decision.where, ProtocolError)

    def _need_dynamic(self, decision: Decision) -> None:
        if not self.session.options.dynamic_jobs:
            raise ProtocolError(f"{decision.where}: needs --enable-dynamic-jobs")
        if not self.session.registering:
            raise ProtocolError(f"{decision.where}: comes after registration_finished")

    def _set_metadata(self, decision: Decision) -> None:
        text = decision.text("metadata")
        if '"' in text or "\n" in text or "\r" in text:
            raise ProtocolError(f"{decision.where}: metadata must not hold quotes or line ends")
        self._job(decision).metadata = text

    def _to_job(self, decision: Decision) -> None:
        self._job(decision).messages.append(decision.text("msg"))

    def _notified(self, decision: Decision) -> None:
        kind = decision.text("type")
        if kind == "registration_finished":
            self._need_dynamic(decision)
            self.session.registering = False
        elif kind == "continue_registration" and self.session.options.dynamic_jobs:
            self.session.registering = True
        else:
            raise ProtocolError(f"{decision.where}: type {kind[:60]!r} is not known")
