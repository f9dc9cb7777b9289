"""The server: it reports events to the scheduler, and carries out its replies, until the end."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hdeeprm_like.batsim_server import submitters
from hdeeprm_like.batsim_server.engine import Mailbox, Script
from hdeeprm_like.batsim_server.jobs import Job, RunningJob
from hdeeprm_like.batsim_server.json_text import encode
from hdeeprm_like.batsim_server.machines import Machine, MachineState
from hdeeprm_like.batsim_server.outside_events import AVAILABLE, UNAVAILABLE, OutsideEvent
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent, read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS, end_switch
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.results.batsim_files import interval_set

logger = logging.getLogger(__name__)

Content = tuple[str, Any]  # kind and content of a message to the server
Ask = Callable[[str], bytes]  # sends a message to the scheduler, returns its reply


class Server:
    """The actor that serves one simulation; the other actors put messages into its mailbox.

    Attributes:
        scheduler_events: the handler of each event of the scheduler.
    """

    scheduler_events: Mapping[str, Callable[[Any, SchedulerEvent], Script | None]] = SCHEDULER_EVENTS

    def __init__(self, simulation: Simulation, ask: Ask) -> None:
        """Serve a simulation that has not begun; *ask* is the scheduler."""
        self.simulation = simulation
        self.ask = ask
        self.ended = False
        self._workflows = {workflow.name: Mailbox() for workflow in simulation.workflows}
        jobs, workflows, events = simulation.workloads, simulation.workflows, simulation.events
        self._to_come = {"jobs": len(jobs), "workflow": len(workflows), "events": len(events)}  # submitters not over
        self._scheduler_ready = False
        self._debugging = logger.isEnabledFor(logging.DEBUG)
        self._handlers: dict[str, Callable[[Any], Script | None]] = {  # handlers of messages from the other actors
            "SCHED_READY": self._on_ready,
            "SCHEDULER_EVENT": lambda event: self.scheduler_events[event.kind](simulation, event),
            "SUBMITTER_HELLO": lambda _: None,
            "SUBMITTER_BYE": self._on_bye,
            "JOB_SUBMITTED": self._on_submitted,
            "EVENTS": self._on_events,
            "JOB_COMPLETED": self._on_completed,
            "WAITING_DONE": self._on_waiting_done,
            "KILLING_DONE": self._on_killing_done,
            "SWITCHED": self._on_switched,
            "FROM_JOB_MSG": self._on_job_message,
        }

    def run(self) -> bool:
        """Run the whole simulation; return whether it ended rather than got stuck.

        Raises:
            ProtocolError: the scheduler sent something on which Batsim would abort.
        """
        simulation, engine = self.simulation, self.simulation.engine
        master = simulation.master
        for jobs in simulation.workloads:
            simulation.submitters.append(engine.begin(submitters.submit_jobs(simulation, jobs), master))
        for workflow in simulation.workflows:
            reports, limit = self._workflows[workflow.name], simulation.options.workflow_jobs
            engine.begin(submitters.submit_workflow(simulation, workflow, reports, limit), master)
        for events in simulation.events:
            simulation.submitters.append(engine.begin(submitters.bring_events(simulation, events), master))
        engine.begin(self._serve(), master)
        engine.run()
        return self.ended

    def _serve(self) -> Script:
        simulation, engine, outbox = self.simulation, self.simulation.engine, self.simulation.outbox
        yield from self._begin()
        while not self.ended:
            kind, content = yield (engine.get,)
            steps = self._handlers[kind](content)
            if steps is not None:
                yield from steps
            if self._scheduler_ready and not simulation.ends_sent:
                empty = not engine.server.pending
                yield (engine.skip,)  # to find its mailbox by name takes the server one more round than others
                if not empty:
                    continue
                if not outbox and self._finished():
                    yield from self._end()
                    simulation.ends_sent = True
                if outbox:
                    yield from self._send()

    def _begin(self) -> Script:
        self.simulation.outbox.add("SIMULATION_BEGINS", description(self.simulation), self.simulation.engine.now)
        yield from self._send()

    def _end(self) -> Script:
        self.simulation.outbox.simulation_ends(self.simulation.engine.now)
        yield from ()

    def _send(self) -> Script:
        self._scheduler_ready = False
        simulation = self.simulation
        text = simulation.outbox.take(simulation.engine.now)
        simulation.forget_closed()
        simulation.conversing = yield (simulation.engine.spawn, self._converse(text), simulation.master)

    def _converse(self, text: str) -> Script:
        """Send a message; deliver the events of the reply to the server one by one, each at its time."""
        engine = self.simulation.engine
        if self._debugging:
            logger.debug("to the scheduler: %s", text)
        began = time.perf_counter()
        raw = self.ask(text)
        self.simulation.scheduling_time += time.perf_counter() - began
        if self._debugging:
            logger.debug("from the scheduler: %r", raw)
        reply = self._read(raw)
        moments: list[tuple[float, Content]] = [(e.timestamp, ("SCHEDULER_EVENT", e)) for e in reply.events]
        moments.append((reply.now, ("SCHED_READY", None)))
        for date, content in moments:
            if date > engine.now:
                yield (engine.sleep, date - engine.now)
            yield (engine.put, content)

    def _read(self, raw: bytes) -> Reply:
        return read_reply(raw, self.scheduler_events)

    def _finished(self) -> bool:
        simulation = self.simulation
        busy = simulation.waiters or simulation.killers or simulation.switching or simulation.registering
        over = not (any(self._to_come.values()) or busy or simulation.running)
        return over and simulation.completed == simulation.submitted

    def _on_ready(self, _: None) -> None:
        self._scheduler_ready = True
        self.ended = self.simulation.ends_sent

    def _on_bye(self, kind: str) -> None:
        self._to_come[kind] -= 1
        if kind == "events" and not self._to_come[kind]:
            self.simulation.outbox.no_more_events(self.simulation.engine.now)
        elif kind != "events" and not (self._to_come["jobs"] or self._to_come["workflow"]):
            self.simulation.outbox.no_more_jobs(self.simulation.engine.now)

    def _on_submitted(self, jobs: Sequence[Job]) -> None:
        if self.simulation.options.only_workflows_count and self._workflows and not self._to_come["workflow"]:
            return
        for job in jobs:
            self.simulation.submit(job)

    def _on_events(self, events: Sequence[OutsideEvent]) -> None:
        now = self.simulation.engine.now
        for event in events:
            if event.kind not in (AVAILABLE, UNAVAILABLE):
                self.simulation.outbox.add("NOTIFY", event.text, now)
                continue
            for number in event.machines:
                machine = self.simulation.machines[number]
                if (event.kind == UNAVAILABLE) == (machine.state is MachineState.UNAVAILABLE):
                    raise WorkloadError(
                        f"events: machine {number} becomes {event.kind.removeprefix('machine_')} at {now:f} s, "
                        f"but it is {machine.state.name}; Batsim aborts there"
                    )
                if event.kind == UNAVAILABLE:
                    self.simulation.machines.set_state(machine, MachineState.UNAVAILABLE, now)
                else:
                    state = MachineState.COMPUTING if machine.jobs else MachineState.IDLE
                    self.simulation.machines.set_state(machine, state, now)
            if event.machines:
                self.simulation.outbox.notify(f"event_{event.kind}", now, interval_set(event.machines))

    def _on_completed(self, running: RunningJob) -> Script:
        job = running.job
        reports = self._workflows.get(job.workload)
        if reports is not None:
            yield (self.simulation.engine.skip,)  # to find the mailbox by name
            yield (self.simulation.engine.put, job.identifier, reports)
        self.simulation.outbox.job_completed(job, self.simulation.engine.now)
        if running.overdue is not None:
            self.simulation.engine.remove(running.overdue)
        self.simulation.close(job)

    def _on_waiting_done(self, call: str) -> None:
        self.simulation.waiters -= 1
        self.simulation.outbox.called(call, self.simulation.engine.now)

    def _on_killing_done(self, content: tuple[Sequence[str], dict[str, Any]]) -> None:
        identifiers, progress = content
        self.simulation.killers -= 1
        for identifier in identifiers:
            if identifier in progress:
                job = self.simulation.running[identifier].job
                self.simulation.outbox.job_completed(job, self.simulation.engine.now)
                self.simulation.close(job)
        self.simulation.outbox.jobs_killed(identifiers, progress, self.simulation.engine.now)

    def _on_switched(self, content: tuple[int, int]) -> Script:
        self.simulation.switching -= 1
        if (yield from end_switch(self.simulation, *content)):
            self.simulation.machines.trace_states(self.simulation.engine.now)

    def _on_job_message(self, content: tuple[Job, str]) -> None:
        job, message = content
        self.simulation.outbox.message_from_job(job.identifier, message, self.simulation.engine.now)


def description(simulation: Simulation) -> str:
    """Return the data of SIMULATION_BEGINS."""
    options = simulation.options
    computing = simulation.machines.computing
    resources = _resources(simulation.machines.all)
    head = encode(
        {
            "nb_resources": len(resources),
            "nb_compute_resources": computing,
            "nb_storage_resources": len(resources) - computing,
            "allow_compute_sharing": options.compute_sharing,
            "allow_storage_sharing": options.storage_sharing,
            "config": options.configuration(),
        }
    )
    paths = encode({name: str(path.absolute()) for name, path in options.named_workloads()})
    paths = paths.encode(errors="replace").decode()
    profiles = ",".join(
        f"{encode(name)}:{{{','.join(f'{encode(p.name)}:{p.text}' for p in known.values())}}}"
        for name, known in simulation.profiles.items()
    )
    return (
        f'{head[:-1]},"compute_resources":[{",".join(resources[:computing])}],'
        f'"storage_resources":[{",".join(resources[computing:])}],"workloads":{paths},"profiles":{{{profiles}}}}}'
    )


def _resources(machines: Sequence[Machine]) -> list[str]:
    """Return the JSON of each machine; properties shared by many are encoded once."""
    known: dict[tuple[int, int, str], str] = {}
    resources = []
    for machine in machines:
        host = machine.host
        key = (id(host.properties), id(host.zone_properties), machine.role)
        if key not in known:
            properties = encode(host.properties | {"role": machine.role})
            known[key] = f'"properties":{properties},"zone_properties":{encode(host.zone_properties)}'
        resources.append(f'{{"id":{machine.number},"name":{encode(host.name)},"state":"idle",{known[key]}}}')
    return resources
