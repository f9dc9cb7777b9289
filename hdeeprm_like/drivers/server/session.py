"""The server: one simulation from its first message to its last, with whoever answers as the scheduler."""

import logging
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.drivers.server import execution, submitters
from hdeeprm_like.drivers.server.decisions import Decision, read_reply
from hdeeprm_like.drivers.server.engine import Engine, Request, Script, Work
from hdeeprm_like.drivers.server.jobs import Job, Profiles, make_job, make_profile, read_workload
from hdeeprm_like.drivers.server.machines import Machines, MachineState
from hdeeprm_like.drivers.server.options import ServerOptions
from hdeeprm_like.drivers.server.protocol import Outbox, encode
from hdeeprm_like.drivers.server.sharing import Constraint
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.results import JobRow, interval_set, parse_interval_set
from hdeeprm_like.formats.simgrid_xml import Link, read_simgrid_xml

logger = logging.getLogger(__name__)

Ask = Callable[[str], bytes]  # sends a message to the scheduler, returns its reply
MAX_ROUNDS = 3  # a look at the energy takes SimGrid one round per machine; more than this changes no order


class Session:
    """Everything that one simulation knows."""

    def __init__(self, options: ServerOptions, ask: Ask) -> None:
        """Read the platform, the workloads and the events.

        Raises:
            HDeepRMError: one of them cannot be used.
        """
        self.options = options
        self.ask = ask
        self.platform = read_simgrid_xml(options.platform)
        self.jobs: dict[str, Job] = {}
        self.profiles: dict[str, Profiles] = {}
        widest = 0
        self._workloads: list[list[Job]] = []
        for number, path in enumerate(options.workloads):
            name = f"w{number}"
            nb_res, jobs, self.profiles[name] = read_workload(path, name)
            widest = max(widest, nb_res)
            self._workloads.append(list(jobs.values()))
            self.jobs.update((job.identifier, job) for job in jobs.values())
        limit = min(filter(None, (options.mmax, widest if options.mmax_workload else 0)), default=0)
        self.machines = Machines(self.platform, options.master, limit, options.energy)
        self._events = [
            submitters.read_events(path, len(self.machines), options.forward_unknown_events) for path in options.events
        ]
        meter = self.machines.meter
        self.engine = Engine(
            self._message_work,
            meter.on_rates if meter else None,
            (lambda machines: meter.update(machines, self.engine.now)) if meter else None,
        )
        self.outbox = Outbox()
        self.runs: dict[str, execution.Run] = {}
        self.rows: list[JobRow] = []
        self.ends_sent = self.ended = False
        self.waiters = self.killers = self.switching = 0
        self.submitted = self.completed = 0
        self.joules_at_first = 0.0
        self.scheduling_time = 0.0  # s of wall clock
        self._submitters = len(self._workloads) + len(self._events)
        self._jobs_to_come, self._events_to_come = len(self._workloads), len(self._events)
        self._registering = options.dynamic_jobs
        self._scheduler_ready = False
        self._constraints: dict[Link, Constraint] = {}
        self._messages: dict[str, Work | float] = {}
        self._handlers: dict[str, Callable[[Any], Script | None]] = {
            "SCHED_READY": self._on_ready,
            "SUBMITTER_HELLO": lambda _: None,
            "SUBMITTER_BYE": self._on_bye,
            "JOB_SUBMITTED": self._on_submitted,
            "EVENTS": self._on_events,
            "JOB_COMPLETED": self._on_completed,
            "WAITING_DONE": self._on_waiting_done,
            "KILLING_DONE": self._on_killing_done,
            "SWITCHED": self._on_switched,
            "FROM_JOB_MSG": self._on_job_message,
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

    def run(self) -> bool:
        """Play the whole simulation; return whether it ended, rather than got stuck.

        Raises:
            ProtocolError: the scheduler said something that Batsim would abort on.
        """
        master = self.options.master
        for jobs in self._workloads:
            self.engine.begin(submitters.submit_jobs(self, jobs), master)
        for events in self._events:
            self.engine.begin(submitters.bring_events(self, events), master)
        self.engine.begin(self._serve(), master)
        self.engine.run()
        return self.ended

    # What the actors need --------------------------------------------------------------------------------------

    def route(self, source: str, destination: str) -> tuple[list[Constraint], float]:
        """Return the capacities between two hosts and the latency in s."""
        links, latency = self.platform.route(source, destination)
        return [self._constraint(link) for link in links], latency

    def look_at_energy(self) -> Script:
        """Let the others go first, as asking for the energy of machines does when it is not up to date."""
        meter = self.machines.meter
        rounds = min(meter.out_of_date(self.engine.now), MAX_ROUNDS) if meter else 0
        for _ in range(rounds):
            yield (self.engine.skip,)

    def note_first_submission(self) -> Script:
        """Note the energy before the first job."""
        meter = self.machines.meter
        if meter is not None and not self.submitted and not self.joules_at_first:
            yield from self.look_at_energy()
            self.joules_at_first = float(meter.total(self.engine.now))

    def set_pstate(self, machine: Any, pstate: int) -> Script:
        """Change the P-state of a machine at once."""
        machine.pstate = pstate
        self.engine.sharing.set_host_speed(machine.constraint, machine.host.speeds[pstate])
        if self.machines.meter is not None:
            self.machines.meter.set_pstate(machine.number, pstate, self.engine.now)
        yield (self.engine.skip,)

    def _constraint(self, link: Link) -> Constraint:
        found = self._constraints.get(link)
        if found is None:
            found = self._constraints[link] = Constraint(link.bandwidth, link.fatpipe)
        return found

    def _message_work(self, host: str) -> Work | float:
        """Return what one byte from a host to the master asks for; its rate alone if it shares nothing."""
        known = self._messages.get(host)
        if known is None:
            links, latency = self.platform.route(host, self.options.master)
            if len(links) == 1 and links[0].fatpipe and latency == 0.0:
                known = links[0].bandwidth
            else:
                numbers = [m.number for m in self.machines.all if m.host.name == host]
                weights = {self.machines[number].constraint: 0.0 for number in numbers}
                weights |= {self._constraint(link): 1.0 for link in links}
                known = Work(weights, numbers, latency, latency)
            self._messages[host] = known
        return known

    # The server ------------------------------------------------------------------------------------------------

    def _serve(self) -> Script:
        engine, outbox = self.engine, self.outbox
        outbox.add("SIMULATION_BEGINS", self._description(), engine.now)
        yield from self._send()
        while not self.ended:
            kind, content = yield (engine.get,)
            steps = self._handlers[kind](content)
            if steps is not None:
                yield from steps
            if self._scheduler_ready and not self.ends_sent and engine.mailbox_empty:
                if not outbox and self._finished():
                    outbox.add("SIMULATION_ENDS", "{}", engine.now)
                    self.ends_sent = True
                if outbox:
                    yield from self._send()

    def _send(self) -> Script:
        self._scheduler_ready = False
        text = self.outbox.take(self.engine.now)
        yield (self.engine.spawn, self._converse(text), self.options.master)

    def _converse(self, text: str) -> Script:
        """Send a message; bring the decisions of the reply to the server one by one, each at its time."""
        engine = self.engine
        logger.debug("to the scheduler: %s", text)
        began = time.perf_counter()
        raw = self.ask(text)
        self.scheduling_time += time.perf_counter() - began
        logger.debug("from the scheduler: %r", raw)
        reply = read_reply(raw, engine.now)
        for decision in reply.decisions:
            if decision.timestamp > engine.now:
                yield (engine.sleep, decision.timestamp - engine.now)
            yield (engine.put, (decision.kind, decision))
        if reply.now > engine.now:
            yield (engine.sleep, reply.now - engine.now)
        yield (engine.put, ("SCHED_READY", None))

    def _finished(self) -> bool:
        busy = self._submitters or self.waiters or self.killers or self.switching or self._registering
        return not busy and not self.runs and self.completed == self.submitted

    def _description(self) -> str:
        options = self.options
        resources = [
            {
                "id": machine.number,
                "name": machine.host.name,
                "state": "idle",
                "properties": {"role": "", **machine.host.properties},
                "zone_properties": machine.host.zone_properties,
            }
            for machine in self.machines.all
        ]
        head = encode(
            {
                "nb_resources": len(self.machines),
                "nb_compute_resources": len(self.machines),
                "nb_storage_resources": 0,
                "allow_compute_sharing": options.compute_sharing,
                "allow_storage_sharing": options.storage_sharing,
                "config": options.told(),
                "compute_resources": resources,
                "storage_resources": [],
                "workloads": {f"w{i}": str(Path(path).absolute()) for i, path in enumerate(options.workloads)},
            }
        )
        profiles = ",".join(
            f"{encode(name)}:{{{','.join(f'{encode(p.name)}:{p.text}' for p in known.values())}}}"
            for name, known in self.profiles.items()
        )
        return f'{head[:-1]},"profiles":{{{profiles}}}}}'

    def _on_ready(self, _: None) -> None:
        self._scheduler_ready = True
        self.ended = self.ends_sent

    def _on_bye(self, kind: str) -> None:
        self._submitters -= 1
        if kind == "jobs":
            self._jobs_to_come -= 1
            if not self._jobs_to_come:
                self.outbox.notify("no_more_static_job_to_submit", self.engine.now)
        else:
            self._events_to_come -= 1
            if not self._events_to_come:
                self.outbox.notify("no_more_external_event_to_occur", self.engine.now)

    def _on_submitted(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            self._submit(job)

    def _submit(self, job: Job, tell: bool = True) -> None:
        job.state = "SUBMITTED"
        self.submitted += 1
        if tell:
            profile = job.profile.text if self.options.forward_profiles else None
            self.outbox.job_submitted(job.identifier, job.text, profile, self.engine.now)

    def _on_events(self, events: Sequence[submitters.OutsideEvent]) -> None:
        now = self.engine.now
        for event in events:
            if event.kind not in ("machine_available", "machine_unavailable"):
                self.outbox.add("NOTIFY", event.text, now)
                continue
            for number in event.machines:
                machine = self.machines[number]
                if event.kind == "machine_unavailable":
                    self.machines.set_state(machine, MachineState.UNAVAILABLE, now)
                elif machine.state is MachineState.UNAVAILABLE:
                    state = MachineState.COMPUTING if machine.jobs else MachineState.IDLE
                    self.machines.set_state(machine, state, now)
            if event.machines:
                self.outbox.notify(f"event_{event.kind}", now, interval_set(event.machines))

    def _on_completed(self, run: execution.Run) -> None:
        job = run.job
        self.outbox.job_completed(job.identifier, job.state, job.return_code, job.alloc, self.engine.now)
        if run.overdue is not None:
            self.engine.remove(run.overdue)
        self._close(job)

    def _close(self, job: Job) -> None:
        """Write a job's row and forget the job."""
        self.completed += 1
        self.runs.pop(job.identifier, None)
        del self.jobs[job.identifier]
        ran = job.state != "REJECTED"
        self.rows.append(
            JobRow(
                job_id=job.number,
                workload=job.workload,
                profile=job.profile.name,
                submission_time=job.submit,
                size=job.size,
                walltime=job.walltime,
                success=job.state == "COMPLETED_SUCCESSFULLY",
                final_state=job.state,
                starting_time=job.start if ran else None,
                execution_time=job.run if ran else None,
                allocated=job.alloc,
                energy=job.joules,
                metadata=job.metadata,
            )
        )
        if not self.options.profile_reuse:
            self.profiles[job.workload].forget(job.profile)
        else:
            self.profiles[job.workload].users[job.profile.name] -= 1

    def _on_waiting_done(self, _: None) -> None:
        self.waiters -= 1
        self.outbox.add("REQUESTED_CALL", "{}", self.engine.now)

    def _on_killing_done(self, content: tuple[Sequence[str], dict[str, Any]]) -> None:
        identifiers, progress = content
        self.killers -= 1
        for identifier in identifiers:
            if identifier in progress:
                job = self.runs[identifier].job
                self.outbox.job_completed(identifier, job.state, job.return_code, job.alloc, self.engine.now)
                self._close(job)
        self.outbox.jobs_killed(identifiers, progress, self.engine.now)

    def _on_switched(self, content: tuple[int, int]) -> None:
        self.switching -= 1
        resources = self.machines.end_switch(*content, self.engine.now)
        if resources is not None:
            self.machines.trace_states(self.engine.now)
            self.outbox.resources_changed(resources, content[1], self.engine.now)

    def _on_job_message(self, content: tuple[Job, str]) -> None:
        job, message = content
        self.outbox.message_from_job(job.identifier, message, self.engine.now)

    # Decisions -------------------------------------------------------------------------------------------------

    def _job(self, decision: Decision, *states: str) -> Job:
        identifier = decision.text("job_id")
        job = self.jobs.get(identifier)
        if job is None or job.state == "NOT_SUBMITTED":
            raise ProtocolError(f"{decision.where}: job {identifier[:60]!r} does not exist (or no longer, or not yet)")
        if states and job.state not in states:
            raise ProtocolError(f"{decision.where}: job {identifier[:60]!r} is {job.state}, not {' or '.join(states)}")
        return job

    def _machines_of(self, decision: Decision, key: str) -> list[int]:
        def fail(what: str) -> ProtocolError:
            return ProtocolError(f"{decision.where}: {key} {what}")

        try:
            numbers = parse_interval_set(decision.text(key), below=len(self.machines), error=ProtocolError)
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
            machine = self.machines[number]
            shared = self.options.compute_sharing and machine.state is MachineState.COMPUTING
            if machine.state is not MachineState.IDLE and not shared:
                raise ProtocolError(f"{decision.where}: machine {number} is {machine.state.name}, not IDLE")
            if self.options.energy and not machine.computes_in(machine.pstate):
                raise ProtocolError(
                    f"{decision.where}: machine {number} is in P-state {machine.pstate}, no computing one"
                )
        if "storage_mapping" in decision.data or "additional_io_job" in decision.data:
            raise ProtocolError(f"{decision.where}: storage is not imitated")
        job.alloc = interval_set(job.machines)
        job.state = "RUNNING"
        run = self.runs[job.identifier] = execution.Run(job)
        host = self.machines[job.machines[0]].host.name
        run.actor = yield (self.engine.spawn, execution.run_job(self, run), host)

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
        self._close(job)

    def _kill(self, decision: Decision) -> Script:
        identifiers = decision.texts("job_ids")
        for identifier in identifiers:
            self._job(Decision("KILL_JOB", 0.0, {"job_id": identifier}, decision.where), "RUNNING", *_ENDED)
        self.killers += 1
        yield (self.engine.spawn, execution.kill_jobs(self, identifiers), self.options.master)

    def _call_me_later(self, decision: Decision) -> Script:
        wanted = decision.number("timestamp")
        if wanted <= self.engine.now:
            raise ProtocolError(f"{decision.where}: asks to be called at {wanted:f}, but it is {self.engine.now:f}")
        self.waiters += 1
        yield (self.engine.spawn, submitters.wake_later(self, wanted), self.options.master)

    def _set_resource_state(self, decision: Decision) -> Generator[Request, Any, None]:
        numbers = self._machines_of(decision, "resources")
        text = decision.text("state")
        pstate = int(text) if text.isdigit() and len(text) < 6 else -1
        if not self.options.energy:
            raise ProtocolError(f"{decision.where}: P-states cannot change without -E")
        for number in numbers:
            self._check_switch(decision.where, number, pstate, text)
        self.machines.begin_switch(numbers, pstate, self.engine.now)
        for number in numbers:
            machine = self.machines[number]
            way = "off" if pstate in machine.sleep_pstates else "on" if machine.pstate in machine.sleep_pstates else ""
            if way:
                state = MachineState.SWITCHING_OFF if way == "off" else MachineState.SWITCHING_ON
                self.machines.set_state(machine, state, self.engine.now)
                self.switching += 1
                yield (self.engine.spawn, submitters.switch_machine(self, machine, pstate, way), machine.host.name)
            else:
                yield from self.set_pstate(machine, pstate)
                resources = self.machines.end_switch(number, pstate, self.engine.now)
                if resources is not None:
                    self.outbox.resources_changed(resources, pstate, self.engine.now)
        self.machines.trace_states(self.engine.now)

    def _check_switch(self, where: str, number: int, pstate: int, text: str) -> None:
        machine = self.machines[number]
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
            meter = self.machines.meter
            if request != "consumed_energy" or meter is None:
                needed = " without -E" if request == "consumed_energy" else ""
                raise ProtocolError(f"{decision.where}: {request[:60]!r} cannot be asked for{needed}")
            yield from self.look_at_energy()
            self.outbox.energy_answer(float(meter.total(self.engine.now)), self.engine.now)

    def _register_job(self, decision: Decision) -> None:
        self._need_dynamic(decision)
        workload, _, number = decision.text("job_id").partition("!")
        profiles = self.profiles.setdefault(workload, Profiles(workload))
        job = make_job(decision.object("job"), workload, profiles, {}, decision.where, ProtocolError, number)
        if job.identifier in self.jobs or any(r.job_id == number and r.workload == workload for r in self.rows[-1:]):
            raise ProtocolError(f"{decision.where}: job {job.identifier!r} is there already")
        self.jobs[job.identifier] = job
        self._submit(job, tell=self.options.acknowledge_dynamic_jobs)

    def _register_profile(self, decision: Decision) -> None:
        self._need_dynamic(decision)
        workload, name = decision.text("workload_name"), decision.text("profile_name")
        profiles = self.profiles.setdefault(workload, Profiles(workload))
        if name in profiles:
            raise ProtocolError(f"{decision.where}: profile {name[:60]!r} is there already")
        profiles[name] = make_profile(name, decision.object("profile"), profiles, {}, decision.where, ProtocolError)

    def _need_dynamic(self, decision: Decision) -> None:
        if not self.options.dynamic_jobs:
            raise ProtocolError(f"{decision.where}: needs --enable-dynamic-jobs")
        if not self._registering:
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
            self._registering = False
        elif kind == "continue_registration" and self.options.dynamic_jobs:
            self._registering = True
        else:
            raise ProtocolError(f"{decision.where}: type {kind[:60]!r} is not known")


_ENDED = ("COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED", "COMPLETED_WALLTIME_REACHED", "COMPLETED_KILLED")
