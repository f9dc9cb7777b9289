"""The server: one simulation from its first message to its last, with whoever answers as the scheduler."""

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server import execution, submitters
from hdeeprm_like.batsim_server.decisions import read_reply
from hdeeprm_like.batsim_server.engine import Engine, Script, Work
from hdeeprm_like.batsim_server.jobs import Job, Profiles, read_workload
from hdeeprm_like.batsim_server.machines import Machines, MachineState
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.orders import Orders
from hdeeprm_like.batsim_server.protocol import Outbox, encode
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.formats.simgrid_xml import Link, read_simgrid_xml
from hdeeprm_like.results.batsim_files import JobRow, interval_set

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
        self.registering = options.dynamic_jobs
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
            **Orders(self).handlers,
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
        busy = self._submitters or self.waiters or self.killers or self.switching or self.registering
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
                "workloads": {f"w{i}": _path_text(path) for i, path in enumerate(options.workloads)},
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
            self.submit(job)

    def submit(self, job: Job, tell: bool = True) -> None:
        """Take a job in, and (unless *tell* is false) say so."""
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
        self.close(job)

    def close(self, job: Job) -> None:
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
            if identifier in progress and identifier in self.runs:  # the list may name a job twice
                job = self.runs[identifier].job
                self.outbox.job_completed(identifier, job.state, job.return_code, job.alloc, self.engine.now)
                self.close(job)
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


def _path_text(path: Path) -> str:
    return str(path.absolute()).encode(errors="replace").decode()
