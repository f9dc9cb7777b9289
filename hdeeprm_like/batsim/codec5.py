"""Codec of Batsim 5's JSON: the handshake, reading of messages, and writing of commands.

`EVENTS` says what is heard; anything else, or an event at an impossible time, raises a `ProtocolError`. P-states count
as changed when they are requested.
"""

import json
import logging
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from hdeeprm_like.batsim.codec import AMOUNT, Submission, WireEvent, shown
from hdeeprm_like.batsim.codec4 import Codec4, Content, Handler, logged
from hdeeprm_like.batsim.machine_map import MachineMap
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim.walltime_ends import WalltimeEnds
from hdeeprm_like.cluster.pstates import SPEED_SHARE
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.batsim5_json import extra_data, profile_as_batsim4, profile_of_message
from hdeeprm_like.formats.platform_properties import SPEED
from hdeeprm_like.version import __version__

log = logging.getLogger(__name__)

JSON_FLAG = 2  # handshake flag for messages in JSON, not in binary
DECIMALS = 6  # of the times that decisions use
FEATURES = {
    "dynamic_registration": False,
    "profile_reuse": False,
    "acknowledge_dynamic_jobs": False,
    "forward_profiles_on_job_submission": True,
    "forward_profiles_on_jobs_killed": False,
    "forward_profiles_on_simulation_begins": False,  # crashes 5.0.0-rc2 if a profile has no job
}


def _begin(codec: Codec4, data: Content, listener: Conversation) -> None:
    listener.simulation_begins(codec.hosts_of(data), {}, registration=False)


def _log_kill(codec: Codec4, data: Content, listener: Conversation) -> None:
    progresses = data.get("progresses")
    for one in progresses if isinstance(progresses, list) else [data]:
        log.warning("Batsim reports a kill that was not requested: %s", shown(one))


_ignored = logged(logging.INFO, "an external event, which is ignored")
EVENTS: Mapping[str, Handler] = {
    "SimulationBeginsEvent": _begin,
    "SimulationEndsEvent": Codec4.end,
    "JobSubmittedEvent": Codec4.submit,
    "JobCompletedEvent": Codec4.complete,
    "RequestedCallEvent": Codec4.call,
    "AllStaticJobsHaveBeenSubmittedEvent": Codec4.no_more_jobs,
    "AllStaticExternalEventsHaveBeenInjectedEvent": Codec4.ignore,
    "HostsPStateChangedEvent": Codec4.ignore,
    "HostsTurnedOnOffEvent": Codec4.ignore,
    "JobsKilledEvent": _log_kill,
    "ExternalEventOccurredEvent": _ignored,
    "ProbeDataEmittedEvent": _ignored,
}


class Codec5(Codec4):
    """The codec of one conversation with Batsim 5.

    Batsim 5 reveals the duration of its own messages, 1e-10 s each. Decisions use times rounded to microseconds, as in
    Batsim 4, and answers carry these times; if they were rounded up, Batsim waits until then. Decisions wait for the
    ends of walltimes that Batsim 4 reports together (`walltime_ends`). So the schedules are the same with both.
    """

    kind, data, parts, begins = "event_type", "event", "an event_type and an event", "SimulationBeginsEvent"
    hosts, size, profile, state = "computation_hosts", "resource_request", "profile_id", "state"
    reject, execute, kill = "RejectJobEvent", "ExecuteJobEvent", "KillJobsEvent"
    pstate, call_later = "ChangeHostsPStateEvent", "CallMeLaterEvent"
    decimals = DECIMALS
    encoder = json.JSONEncoder(separators=(",", ":"))

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each type of event."""
        return EVENTS

    def __init__(self) -> None:
        """Expect a handshake."""
        self._greeted = False
        self._now = 0.0  # s, rounded
        self._ends = WalltimeEnds()

    def greet(self, raw: str | bytes) -> str | None:
        """Return the answer to the first message, a length and an unused text; None for others.

        Raises:
            ProtocolError: the first message is no handshake.
        """
        if self._greeted:
            return None
        message = raw.encode("utf-8", "surrogateescape") if isinstance(raw, str) else raw
        if len(message) < 4 or struct.unpack_from("=I", message)[0] != len(message) - 4:
            raise ProtocolError("the first message is no handshake of Batsim 5: a length and that many bytes")
        self._greeted = True
        hello = {
            "batprotocol_version": "1.0.0",
            "decision_component_name": "hdeeprm_like",
            "decision_component_version": __version__,
            "decision_component_commit": "none",
            "requested_simulation_features": FEATURES,
        }
        event = {"timestamp": 0.0, "event_type": "EDCHelloEvent", "event": hello}
        return struct.pack("=I", JSON_FLAG).decode() + json.dumps({"now": 0.0, "events": [event]})

    def parse(self, raw: str | bytes) -> Any:
        """Return the JSON of a message, which may end with a NUL byte.

        Raises:
            ProtocolError: it is not valid JSON.
        """
        return super().parse(raw.rstrip("\0") if isinstance(raw, str) else raw.rstrip(b"\0"))

    def deliver(self, message: Any, listener: Conversation) -> None:
        """Call the listener for the contents of a message.

        Raises:
            ProtocolError: the message is invalid.
        """
        super().deliver(message, listener)
        submitted: dict[str, float] = {}
        completed: list[str] = []
        for event in message["events"]:
            kind, data = event["event_type"], event.get("event", {})
            if kind == "JobSubmittedEvent" and (data["job"].get("walltime") or 0) > 0:
                submitted[data["job_id"]] = data["job"]["walltime"]
            elif kind == "JobCompletedEvent":
                completed.append(data["job_id"])
        self._now = round(message["now"], DECIMALS)
        self._ends.message(message["now"], submitted, completed)

    def awaits_ends(self) -> bool:
        """Return whether a walltime is still to end that Batsim 4 would have reported in the last message."""
        return self._ends.awaited()

    def submission_of(self, identifier: str, job: Content, data: Content) -> Submission:
        """Return a submission; its profile is named with its workload, and its times are rounded."""
        found = super().submission_of(identifier, job, data)
        profile = found.profile.removeprefix(f"{identifier.partition('!')[0]}!")
        return found._replace(profile=profile, submit=round(found.submit, DECIMALS))

    def more_of(self, job: Content, data: Content) -> tuple[Any, float, Content, str]:
        """Return the profile that came with a job, its time of submission in s, what describes its user, and where."""
        profile = data.get("profile")
        if profile is not None and not isinstance(profile, dict):
            raise ProtocolError("profile must be an object")
        forwarded = None if profile is None else profile_as_batsim4(profile_of_message(profile))
        extra, submit = extra_data(job), AMOUNT.of(data.get("submission_time"), ProtocolError, "submission_time")
        return forwarded, submit, extra, "extra_data"

    def properties_of(self, machine: Content, where: str) -> dict[str, str]:
        """Return the properties of a machine, which messages call *where*, with the speeds that Batsim sends."""
        try:
            properties = {pair["key"]: pair["value"] for pair in machine.get("properties", [])}
        except (KeyError, TypeError):
            properties = {"": None}
        if not set(map(type, [*properties, *properties.values()])) <= {str}:
            raise ProtocolError(f"{where}: properties must be keys and values, both texts")
        return properties | {SPEED: _speeds(machine, where)}

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: MachineMap, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which the embedded simulator applies them."""
        self._ends.start([identifiers[job] for job, _ in commands.starts], len(commands.rejects), self._now)
        return super().events_of(commands, identifiers, machines, finish_registration)

    def allocation(self, machines: str, places: list[int] | None) -> Content:
        """Return where a job starts: machines, and the place of each of its cores' among them; None for one each."""
        kind, how = "PredefinedExecutorPlacementStrategyWrapper", dict[str, Any](strategy="SpreadOverHostsFirst")
        if places:
            kind, how = "CustomExecutorToHostMapping", {"mapping": places}
        where = {"host_allocation": machines, "executor_placement_type": kind, "executor_placement": how}
        return {"allocation": where}

    def change(self, machines: str, pstate: int) -> Content:
        """Return a change of the P-state of machines."""
        return {"host_ids": machines, "pstate": pstate}

    def call_at(self, time: float) -> Content:
        """Return a request to be called at a time in s."""
        when = {"time": math.ceil(round(time * 1e3, 3)), "time_unit": "Millisecond"}
        return {"call_me_later_id": "hdeeprm", "when_type": "OneShot", "when": when}


def _speeds(machine: Content, where: str) -> str:
    """Return the speeds of the first P-states as text, as many as HDeepRM's machines have."""
    speeds = machine.get("computation_speed")
    if not isinstance(speeds, list) or not speeds or machine.get("pstate_count") != len(speeds):
        raise ProtocolError(f"{where}: P-states, each with its computation_speed, are needed")
    known = AMOUNT.all_of(speeds[: len(SPEED_SHARE)], ProtocolError, where, "computation_speed")
    return ", ".join(f"{speed!r}f" for speed in known)
