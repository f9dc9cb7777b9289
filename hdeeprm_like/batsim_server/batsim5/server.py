"""The server: it reports events to the scheduler, and carries out its replies, until the end."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hdeeprm_like.batsim_server.batsim5 import periodic
from hdeeprm_like.batsim_server.batsim5.decisions import DECISIONS
from hdeeprm_like.batsim_server.batsim5.handshake import FORM
from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.json_text import encode5
from hdeeprm_like.batsim_server.machines import Machine
from hdeeprm_like.batsim_server.options import RC2
from hdeeprm_like.batsim_server.outside_events import OutsideEvent
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent, read_reply
from hdeeprm_like.batsim_server.server import Ask, Server
from hdeeprm_like.errors import ProtocolError


class Server5(Server):
    """The actor that serves one simulation; the other actors put messages into its mailbox."""

    simulation: Simulation5
    scheduler_events: Mapping[str, Callable[[Any, SchedulerEvent], Script | None]] = DECISIONS

    def __init__(self, simulation: Simulation5, ask: Ask) -> None:
        """Serve a simulation that has not begun; *ask* is the scheduler."""
        super().__init__(simulation, ask)
        self._handlers |= {
            "SCHEDULER_EVENT": self._on_scheduler_event,
            "CALLS_DUE": self._on_calls_due,
            "CALL_STOPPED": self._on_call_stopped,
        }

    def _begin(self) -> Script:
        """Prepare the first message, which is sent when the first submitter has reported."""
        simulation = self.simulation
        simulation.outbox.add("SimulationBeginsEvent", _description(simulation), simulation.engine.now)
        self._scheduler_ready = True
        yield (simulation.engine.spawn, periodic.keep_calling(simulation), simulation.master)

    def _end(self) -> Script:
        yield (self.simulation.engine.put, (periodic.DIE, None), self.simulation.periodic)
        self.simulation.outbox.simulation_ends(self.simulation.engine.now)

    def _finished(self) -> bool:
        return self.simulation.stopped or super()._finished()

    def _read(self, raw: bytes) -> Reply:
        reply = read_reply(raw.rstrip(b"\0"), self.scheduler_events, FORM)
        for before, event in zip(reply.events, reply.events[1:], strict=False):
            if event.timestamp < before.timestamp:
                raise ProtocolError(f"{event.where}: timestamp {event.timestamp:f} is before the one of the last event")
        return reply

    def _on_scheduler_event(self, event: SchedulerEvent) -> Script:
        steps = self.scheduler_events[event.kind](self.simulation, event)
        if steps is not None:
            yield from steps
        self._scheduler_ready |= self.simulation.stopped  # the rest of the reply is never delivered then

    def _on_events(self, events: Sequence[OutsideEvent]) -> None:
        for event in events:
            self.simulation.outbox.outside_event(event.text, self.simulation.engine.now)

    def _on_calls_due(self, calls: Sequence[periodic.Due]) -> None:
        for content, last in calls:
            if isinstance(content, str):
                self.simulation.outbox.called(content, self.simulation.engine.now, last)
            else:
                self.simulation.outbox.measured(content, self.simulation.engine.now)
            self.simulation.waiters -= last

    def _on_call_stopped(self, _: periodic.Key) -> None:
        self.simulation.waiters -= 1


def _description(simulation: Simulation5) -> str:
    """Return the data of SimulationBeginsEvent."""
    options = simulation.options
    profiles: list[str] = []
    if options.profiles_at_begin:
        if options.imitate == RC2 and simulation.unused:
            raise ProtocolError(
                f"hello: forward_profiles_on_simulation_begins crashes the release candidate where no job uses a "
                f"profile, as {simulation.unused[:60]!r}"
            )
        named = {name: profile.text for known in simulation.profiles.values() for name, profile in known.items()}
        profiles = [text for _, text in sorted(named.items())]
    context = {"socket_endpoint": options.socket, "export_prefix": options.export}
    computing, hosts = simulation.machines.computing, [_host(machine) for machine in simulation.machines.all]
    head = {
        "host_number": len(hosts),
        "computation_host_number": computing,
        "computation_hosts": hosts[:computing],
        "storage_host_number": len(hosts) - computing,
        "storage_hosts": hosts[computing:],
        "batsim_arguments": options.arguments,
        "batsim_execution_context_json": json.dumps(context, separators=(",", ":")),
        "workloads": _files("w", options.workloads),
    }
    tail = {
        "external_event_lists": _files("ee", options.events),
        "batsim_version": options.version,
        "batsim_commit": "",
    }
    return f'{encode5(head)[:-1]},"profiles": [{",".join(profiles)}],{encode5(tail)[1:]}'


def _host(machine: Machine) -> dict[str, Any]:
    return {
        "id": machine.number,
        "name": machine.host.name,
        "pstate": machine.pstate,
        "pstate_count": len(machine.host.speeds),
        "state": "IDLE",
        "properties": _pairs(machine.host.properties),
        "zone_properties": _pairs(machine.host.zone_properties),
        "core_count": machine.host.cores,
        "computation_speed": machine.host.speeds,
    }


def _pairs(properties: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in sorted(properties.items())]


def _files(prefix: str, paths: Sequence[Any]) -> list[dict[str, str]]:
    return [{"name": f"{prefix}{number}", "filename": str(path)} for number, path in enumerate(paths)]
