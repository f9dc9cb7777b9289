"""Codec of Batsim 4's JSON, and what that of another version shares with it: reading and writing of messages.

A codec is the only place that knows the messages of one version. `EVENTS` and `NOTIFICATIONS` say what is heard;
anything else, or an event at an impossible time, raises a `ProtocolError`. P-states count as changed when they are
requested.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hdeeprm_like.batsim.codec import AMOUNT, Submission, WireEvent, shown
from hdeeprm_like.batsim.machine_map import Host, MachineMap
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.cluster.workload import known_number
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.demands_json import demand_in
from hdeeprm_like.values import COUNT

log = logging.getLogger(__name__)

Content: TypeAlias = dict[str, Any]  # a JSON object
Handler: TypeAlias = Callable[[Any, Content, Conversation], None]
"""Called with the codec, the content of an event, and the session."""


class Codec4:
    """The codec of Batsim 4, and what others share with it.

    Attributes:
        kind, data: keys of an event's type and content. parts: the same in words. begins: the first event.
        hosts: key of the machines in it. size, profile: keys of a job. state: key of its final state.
        reject, execute, kill, pstate, call_later: the events that carry commands.
        decimals: of the reported times, None for all. encoder: of nested values.
    """

    kind, data, parts, begins, hosts = "type", "data", "a type and data", "SIMULATION_BEGINS", "compute_resources"
    size, profile, state = "res", "profile", "job_state"
    reject, execute, kill = "REJECT_JOB", "EXECUTE_JOB", "KILL_JOB"
    pstate, call_later = "SET_RESOURCE_STATE", "CALL_ME_LATER"
    decimals: int | None = None
    encoder = json.JSONEncoder()

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each type of event."""
        return EVENTS

    # -- reading

    def greet(self, raw: str | bytes) -> str | None:
        """Return the answer to a message of the handshake, None for all others."""
        return None

    def parse(self, raw: str | bytes) -> Any:
        """Return the JSON of a message.

        Raises:
            ProtocolError: it is not valid JSON.
        """
        try:
            text = (raw if isinstance(raw, str) else raw.decode()).strip(" \t\r\n")
            content, end = _decoder.raw_decode(text)
            return content if end == len(text) else _decoder.decode(text)
        except UnicodeDecodeError as cause:
            raise ProtocolError(f"the message is not UTF-8 (byte {cause.start})") from None
        except json.JSONDecodeError as cause:
            raise ProtocolError(f"the message is not valid JSON at character {cause.pos}: {cause.msg}") from None
        except RecursionError:
            raise ProtocolError("the message is nested too deeply") from None
        except ValueError:  # an integer with thousands of digits
            raise ProtocolError("the message holds a number that is too large") from None

    def deliver(self, message: Any, listener: Conversation) -> None:
        """Call the listener for the contents of a message, in their order.

        Raises:
            ProtocolError: the message is invalid.
        """
        try:
            now, events = message["now"], message["events"]
        except (KeyError, TypeError):
            raise ProtocolError("a message must be an object with now and events") from None
        if not isinstance(events, list):
            raise ProtocolError("the events of a message must be a list")
        now = AMOUNT.of(now, ProtocolError, "the now of a message")
        listener.time_is(now if self.decimals is None else round(now, self.decimals))
        for event in events:
            try:
                kind, data = event[self.kind], event.get(self.data, {})
                event["timestamp"]  # unused here, but PyBatsim relies on it
                handler = self.handlers.get(kind)
            except (KeyError, TypeError, AttributeError):
                raise ProtocolError(f"an event must be an object with a timestamp, {self.parts}") from None
            if handler is None:
                raise ProtocolError(f"events of type {shown(kind)} are not known")
            if not isinstance(data, dict):
                raise ProtocolError(f"{kind}: {self.data} must be an object")
            if listener.begun == (kind == self.begins) or listener.ended:
                raise ProtocolError(f"{kind}: comes {'again' if listener.begun else 'before the simulation begins'}")
            try:
                handler(self, data, listener)
            except ProtocolError as cause:
                raise ProtocolError(f"{kind}: {cause}") from None

    def awaits_ends(self) -> bool:
        """Return whether jobs end in this instant that the last message does not report yet."""
        return False

    # -- handlers of events

    def end(self, data: Content, listener: Conversation) -> None:
        """Pass on the end of the simulation."""
        listener.simulation_ends()

    def submit(self, data: Content, listener: Conversation) -> None:
        """Pass on a submission."""
        identifier, job = data.get("job_id"), data.get("job")
        if not isinstance(identifier, str) or not isinstance(job, dict):
            raise ProtocolError("must have a job_id and a job")
        try:
            submission = self.submission_of(identifier, job, data)
        except ProtocolError as cause:
            raise ProtocolError(f"job {shown(identifier)}: {cause}") from None
        listener.job_submitted(submission)

    def submission_of(self, identifier: str, job: Content, data: Content) -> Submission:
        """Return a submission, which is that of Batsim 4 where a version says nothing else.

        Args:
            job: the described job. data: of the event.
        """
        size, profile, walltime = job.get(self.size), job.get(self.profile), job.get("walltime")
        size = COUNT.of(size, ProtocolError, self.size)
        if not isinstance(profile, str):
            raise ProtocolError(f"{self.profile} must be a name")
        walltime = None if walltime is None or walltime == -1 else AMOUNT.of(walltime, ProtocolError, "walltime")
        forwarded, submit, more, where = self.more_of(job, data)
        demand, user = demand_in(more, where, ProtocolError), known_number(more.get("user"))
        program = known_number(more.get("program"))
        return Submission(identifier, submit, size, walltime, profile, forwarded, user, demand, program)

    def more_of(self, job: Content, data: Content) -> tuple[Any, float, Content, str]:
        """Return the profile that came with a job, its time of submission in s, what describes its user, and where."""
        return data.get("profile"), AMOUNT.of(job.get("subtime"), ProtocolError, "subtime"), job, "job"

    def complete(self, data: Content, listener: Conversation) -> None:
        """Pass on the end of a job."""
        listener.job_completed(data.get("job_id"), data.get(self.state))

    def call(self, data: Content, listener: Conversation) -> None:
        """Pass on a call whose time has come."""
        listener.called()

    def no_more_jobs(self, data: Content, listener: Conversation) -> None:
        """Pass on that no more jobs will be submitted."""
        listener.arrivals_over()

    def ignore(self, data: Content, listener: Conversation) -> None:
        """Pass on nothing."""

    def hosts_of(self, data: Content) -> list[Host]:
        """Return the names and properties of the machines, in the order of their ids, of the first event.

        Raises:
            ProtocolError: they are malformed.
        """
        key = self.hosts
        resources = data.get(key)
        if not isinstance(resources, list) or not resources:
            raise ProtocolError(f"{key} must list machines")
        hosts: list[Host] = []
        for position, machine in enumerate(resources):
            known = isinstance(machine, dict) and machine.get("id") == position
            if not known or not isinstance(machine.get("name"), str):
                raise ProtocolError(f"{key}[{position}] must have that id, and a name")
            hosts.append((machine["name"], self.properties_of(machine, f"machine {shown(machine['name'])}")))
        if len({name for name, _ in hosts}) < len(hosts):
            raise ProtocolError("two machines have the same name")
        return hosts

    def properties_of(self, machine: Content, where: str) -> dict[str, str]:
        """Return the properties of a machine, which messages call *where*."""
        properties = machine.get("properties", {})
        if not isinstance(properties, dict) or not set(map(type, properties.values())) <= {str}:
            raise ProtocolError(f"{where}: properties must be texts by name")
        return properties

    # -- writing

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: MachineMap, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which the embedded simulator applies them.

        The order is: rejections, starts, P-states 0 to 3, kills, the call.

        Args:
            identifiers: of the jobs by row.
            finish_registration: whether to state first that no dynamic jobs will be registered.
        """
        events: list[WireEvent] = []
        if finish_registration:
            events.append(("NOTIFY", {"type": "registration_finished"}))
        for job in commands.rejects:
            events.append((self.reject, {"job_id": identifiers[job]}))
        for job, started in commands.starts:
            cores = started.tolist()
            how = self.allocation(machines.named(cores), machines.places(cores))
            events.append((self.execute, {"job_id": identifiers[job], **how}))
        changed: dict[int, list[int]] = {}
        for core, pstate in commands.pstates.items():
            changed.setdefault(pstate, []).append(core)
        for pstate in sorted(changed):
            events.append((self.pstate, self.change(machines.named(changed[pstate]), pstate)))
        if commands.kills:
            events.append((self.kill, {"job_ids": [identifiers[job] for job in commands.kills]}))
        if math.isfinite(commands.wake_at):
            events.append((self.call_later, self.call_at(commands.wake_at)))
        return events

    def allocation(self, machines: str, places: list[int] | None) -> Content:
        """Return where a job starts: machines, and the place of each of its cores' among them; None for one each."""
        mapping = {str(rank): str(place) for rank, place in enumerate(places or ())}
        return {"alloc": machines, "mapping": mapping} if mapping else {"alloc": machines}

    def change(self, machines: str, pstate: int) -> Content:
        """Return a change of the P-state of machines."""
        return {"resources": machines, "state": str(pstate)}

    def call_at(self, time: float) -> Content:
        """Return a request to be called at a time in s."""
        return {"timestamp": time}

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return the message to send for some events, all at the time *now* in s."""
        if not events:
            return f'{{"now":{now!r},"events":[]}}'
        encode = self.encoder.encode
        written = []
        for kind, data in events:  # the keys are ours and need no escaping
            values = [
                f'"{key}":{_quoted(value) if type(value) is str else encode(value)}' for key, value in data.items()
            ]
            head = f'{{"timestamp":{now!r},"{self.kind}":"{kind}","{self.data}"'
            written.append(f"{head}:{{{','.join(values)}}}}}")
        return f'{{"now":{now!r},"events":[{",".join(written)}]}}'


def _refuse(constant: str) -> float:
    raise ProtocolError(f"the message holds {constant}, which is no number that JSON knows")


_decoder = json.JSONDecoder(parse_constant=_refuse)
_quoted = json.encoder.encode_basestring_ascii


def _begin(codec: "Codec4", data: Content, listener: Conversation) -> None:
    config = data.get("config")
    registration = isinstance(config, dict) and config.get("dynamic-jobs-enabled") is True
    sharing = data.get("allow_compute_sharing", True) is True
    listener.simulation_begins(codec.hosts_of(data), data.get("profiles", {}), registration, sharing)


def _cores_changed(kind: str, available: bool) -> Handler:
    """Return the handler of an event type that makes cores available or unavailable."""

    def handler(codec: "Codec4", data: Content, listener: Conversation) -> None:
        listener.cores_changed(listener.machines.cores_named(data.get("resources"), kind), available)

    return handler


def _notify(codec: "Codec4", data: Content, listener: Conversation) -> None:
    kind = data.get("type")
    handler = NOTIFICATIONS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        log.info("Batsim notifies of %s", shown(kind))
    else:
        handler(codec, data, listener)


def logged(level: int, words: str) -> Handler:
    """Return the handler of an event that is passed on to nobody, but logged behind some words."""

    def handler(codec: Codec4, data: Content, listener: Conversation) -> None:
        log.log(level, "%s: %s", words, shown(data))

    return handler


EVENTS: Mapping[str, Handler] = {
    "SIMULATION_BEGINS": _begin,
    "SIMULATION_ENDS": Codec4.end,
    "JOB_SUBMITTED": Codec4.submit,
    "JOB_COMPLETED": Codec4.complete,
    "REQUESTED_CALL": Codec4.call,
    "NOTIFY": _notify,
    "ADD_RESOURCES": _cores_changed("ADD_RESOURCES", True),
    "REMOVE_RESOURCES": _cores_changed("REMOVE_RESOURCES", False),
    "RESOURCE_STATE_CHANGED": Codec4.ignore,
    "JOB_KILLED": logged(logging.WARNING, "Batsim reports a kill that was not requested"),
    "ANSWER": logged(logging.INFO, "Batsim sends an answer to no question"),
    "FROM_JOB_MSG": logged(logging.INFO, "a job sends a message, which is ignored"),
}
NOTIFICATIONS: Mapping[str, Handler] = {
    "no_more_static_job_to_submit": Codec4.no_more_jobs,
    "event_machine_available": _cores_changed("event_machine_available", True),
    "event_machine_unavailable": _cores_changed("event_machine_unavailable", False),
}
