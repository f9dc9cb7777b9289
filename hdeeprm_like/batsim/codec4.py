"""Codec of Batsim 4's JSON: reading of messages, and writing of commands.

| Batsim's event | call to the session |
|---|---|
| SIMULATION_BEGINS | the machines and the profiles |
| JOB_SUBMITTED, JOB_COMPLETED, REQUESTED_CALL, SIMULATION_ENDS | the same |
| NOTIFY event_machine_available (or ADD_RESOURCES) | cores join the pool |
| NOTIFY event_machine_unavailable (or REMOVE_RESOURCES) | cores leave the pool |
| NOTIFY no_more_static_job_to_submit | arrivals are over |
| RESOURCE_STATE_CHANGED | nothing: P-states count as changed when they are requested |
| JOB_KILLED, ANSWER, FROM_JOB_MSG, other NOTIFY | nothing; they are logged |

Anything else, or an event at an impossible time, raises a `ProtocolError`.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hdeeprm_like.batsim.codec import AMOUNT, Cores, Host, Listener, Submission, WireEvent, shown
from hdeeprm_like.cluster.workload import known_number
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.demands_json import demand_in
from hdeeprm_like.values import COUNT

log = logging.getLogger(__name__)

Content: TypeAlias = dict[str, Any]  # a JSON object


class Codec4:
    """The `Codec` of Batsim 4, and what Batsim 5's shares with it.

    Attributes:
        kind, data: keys of an event's type and content. parts: the same in words. begins: the first event.
        decimals: of the reported times, None for all.
    """

    kind, data, parts, begins = "type", "data", "a type and data", "SIMULATION_BEGINS"
    decimals: int | None = None

    @property
    def handlers(self) -> Mapping[str, Callable[[Content, Listener], None]]:
        """The handler of each type of event."""
        return EVENTS

    def greet(self, raw: str | bytes) -> str | None:
        """Return None: Batsim 4 has no handshake."""
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

    def deliver(self, message: Any, listener: Listener) -> None:
        """Call the listener for the contents of a message.

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
                handler(data, listener)
            except ProtocolError as cause:
                raise ProtocolError(f"{kind}: {cause}") from None

    def awaits_ends(self) -> bool:
        """Return False: what ends in one instant is in one message."""
        return False

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: Cores, finish_registration: bool
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
            events.append(("REJECT_JOB", {"job_id": identifiers[job]}))
        for job, cores in commands.starts:
            data: Content = {"job_id": identifiers[job], "alloc": machines.named(cores.tolist())}
            if places := machines.places(cores.tolist()):
                data["mapping"] = {str(rank): str(place) for rank, place in enumerate(places)}
            events.append(("EXECUTE_JOB", data))
        changed: dict[int, list[int]] = {}
        for core, pstate in commands.pstates.items():
            changed.setdefault(pstate, []).append(core)
        for pstate in sorted(changed):
            named = machines.named(changed[pstate])
            events.append(("SET_RESOURCE_STATE", {"resources": named, "state": str(pstate)}))
        if commands.kills:
            events.append(("KILL_JOB", {"job_ids": [identifiers[job] for job in commands.kills]}))
        if math.isfinite(commands.wake_at):
            events.append(("CALL_ME_LATER", {"timestamp": commands.wake_at}))
        return events

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return the message to send for some events, all at the time *now* in s."""
        if not events:
            return f'{{"now":{now!r},"events":[]}}'
        head = f'{{"timestamp":{now!r},"type":"'
        written = [f'{head}{kind}","data":{{{_inside(data)}}}}}' for kind, data in events]
        return f'{{"now":{now!r},"events":[{",".join(written)}]}}'


def _refuse(constant: str) -> float:
    raise ProtocolError(f"the message holds {constant}, which is no number that JSON knows")


_decoder = json.JSONDecoder(parse_constant=_refuse)
_quoted = json.encoder.encode_basestring_ascii


def _inside(data: Content) -> str:
    """Return the inside of an object as JSON; the keys are ours and need no escaping."""
    return ",".join(
        [f'"{key}":{_quoted(value) if type(value) is str else json.dumps(value)}' for key, value in data.items()]
    )


# -- handlers of the events


def _begin(data: Content, listener: Listener) -> None:
    config = data.get("config")
    registration = isinstance(config, dict) and config.get("dynamic-jobs-enabled") is True
    profiles = data.get("profiles", {})
    sharing = data.get("allow_compute_sharing", True) is True
    listener.simulation_begins(read_hosts(data, "compute_resources", _properties), profiles, registration, sharing)


def end(data: Content, listener: Listener) -> None:
    """Pass on the end of the simulation."""
    listener.simulation_ends()


def submits(submission_of: Callable[[str, Mapping[str, Any], Content], Submission]) -> "Handler":
    """Return the handler of a submission, whose job a function reads from its identifier, the job and the data."""

    def handler(data: Content, listener: Listener) -> None:
        identifier, job = data.get("job_id"), data.get("job")
        if not isinstance(identifier, str) or not isinstance(job, dict):
            raise ProtocolError("must have a job_id and a job")
        try:
            submission = submission_of(identifier, job, data)
        except ProtocolError as cause:
            raise ProtocolError(f"job {shown(identifier)}: {cause}") from None
        listener.job_submitted(submission)

    return handler


def _submission(identifier: str, job: Mapping[str, Any], data: Content) -> Submission:
    size, profile, walltime = job.get("res"), job.get("profile"), job.get("walltime")
    size = COUNT.of(size, ProtocolError, "res")
    if not isinstance(profile, str):
        raise ProtocolError("profile must be a name")
    walltime = None if walltime is None or walltime == -1 else AMOUNT.of(walltime, ProtocolError, "walltime")
    submit, user = AMOUNT.of(job.get("subtime"), ProtocolError, "subtime"), known_number(job.get("user"))
    demand = demand_in(job, "job", ProtocolError)
    program = known_number(job.get("program"))
    return Submission(identifier, submit, size, walltime, profile, data.get("profile"), user, demand, program)


def _complete(data: Content, listener: Listener) -> None:
    listener.job_completed(data.get("job_id"), data.get("job_state"))


def call(data: Content, listener: Listener) -> None:
    """Pass on a call whose time has come."""
    listener.called()


def _cores_changed(kind: str, available: bool) -> "Handler":
    """Return the handler of an event type that makes cores available or unavailable."""

    def handler(data: Content, listener: Listener) -> None:
        listener.cores_changed(listener.machines.cores_named(data.get("resources"), kind), available)

    return handler


def no_more_jobs(data: Content, listener: Listener) -> None:
    """Pass on that no more jobs will be submitted."""
    listener.arrivals_over()


def _notify(data: Content, listener: Listener) -> None:
    kind = data.get("type")
    handler = NOTIFICATIONS.get(kind) if isinstance(kind, str) else None
    if handler is None:
        log.info("Batsim notifies of %s", shown(kind))
    else:
        handler(data, listener)


def ignore(data: Content, listener: Listener) -> None:
    """Pass on nothing."""


def _log_kill(data: Content, listener: Listener) -> None:
    log.warning("Batsim reports a kill that was not requested: %s", shown(data))


def _log_answer(data: Content, listener: Listener) -> None:
    log.info("Batsim sends an answer to no question: %s", shown(data))


def _log_job_message(data: Content, listener: Listener) -> None:
    log.info("a job sends a message, which is ignored: %s", shown(data))


Handler: TypeAlias = Callable[[Content, Listener], None]

EVENTS: Mapping[str, Handler] = {
    "SIMULATION_BEGINS": _begin,
    "SIMULATION_ENDS": end,
    "JOB_SUBMITTED": submits(_submission),
    "JOB_COMPLETED": _complete,
    "REQUESTED_CALL": call,
    "NOTIFY": _notify,
    "ADD_RESOURCES": _cores_changed("ADD_RESOURCES", True),
    "REMOVE_RESOURCES": _cores_changed("REMOVE_RESOURCES", False),
    "RESOURCE_STATE_CHANGED": ignore,
    "JOB_KILLED": _log_kill,
    "ANSWER": _log_answer,
    "FROM_JOB_MSG": _log_job_message,
}
NOTIFICATIONS: Mapping[str, Handler] = {
    "no_more_static_job_to_submit": no_more_jobs,
    "event_machine_available": _cores_changed("event_machine_available", True),
    "event_machine_unavailable": _cores_changed("event_machine_unavailable", False),
}


def read_hosts(data: Content, key: str, properties_of: Callable[[Content, str], dict[str, str]]) -> list[Host]:
    """Return the names and properties of the machines in the order of their ids.

    Args:
        data: of the event that begins the simulation. key: of the machines in it.
        properties_of: reads the properties of a machine, which error messages call by its second argument.

    Raises:
        ProtocolError: they are malformed.
    """
    resources = data.get(key)
    if not isinstance(resources, list) or not resources:
        raise ProtocolError(f"{key} must list machines")
    hosts: list[Host] = []
    for position, machine in enumerate(resources):
        if not isinstance(machine, dict) or machine.get("id") != position or not isinstance(machine.get("name"), str):
            raise ProtocolError(f"{key}[{position}] must have that id, and a name")
        hosts.append((machine["name"], properties_of(machine, f"machine {shown(machine['name'])}")))
    if len({name for name, _ in hosts}) < len(hosts):
        raise ProtocolError("two machines have the same name")
    return hosts


def _properties(machine: Content, where: str) -> dict[str, str]:
    properties = machine.get("properties", {})
    if not isinstance(properties, dict) or not set(map(type, properties.values())) <= {str}:
        raise ProtocolError(f"{where}: properties must be texts by name")
    return properties
