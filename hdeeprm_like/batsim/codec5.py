"""Codec of Batsim 5's JSON: the handshake, reading of messages, and writing of commands.

| Batsim's event | call to the session |
|---|---|
| SimulationBeginsEvent | the machines with their speeds |
| JobSubmittedEvent, JobCompletedEvent, RequestedCallEvent, SimulationEndsEvent | the same |
| AllStaticJobsHaveBeenSubmittedEvent | arrivals are over |
| HostsPStateChangedEvent, HostsTurnedOnOffEvent | nothing: P-states count as changed when they are requested |
| JobsKilledEvent, external events, probes | nothing; they are logged |

Anything else, or an event at an impossible time, raises a `ProtocolError`.
"""

import json
import logging
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hdeeprm_like.batsim.codec import AMOUNT, Cores, Listener, Submission, WireEvent, shown
from hdeeprm_like.batsim.codec4 import Codec4, Content, Handler, call, end, ignore, no_more_jobs, read_hosts, submits
from hdeeprm_like.batsim.walltime_ends import WalltimeEnds
from hdeeprm_like.cluster.pstates import SPEED_SHARE
from hdeeprm_like.cluster.workload import known_number
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.formats.batsim5_json import extra_data, profile_as_batsim4, profile_of_message
from hdeeprm_like.formats.demands_json import demand_in
from hdeeprm_like.formats.platform_properties import SPEED
from hdeeprm_like.values import COUNT
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


class Codec5(Codec4):
    """The `Codec` of one conversation with Batsim 5.

    Batsim 5 reveals the duration of its own messages, 1e-10 s each. Decisions use times rounded to microseconds, as in
    Batsim 4, and answers carry these times; if they were rounded up, Batsim waits until then. Decisions wait for the
    ends of walltimes that Batsim 4 reports together (`walltime_ends`). So the schedules are the same with both.
    """

    kind, data, parts, begins = "event_type", "event", "an event_type and an event", "SimulationBeginsEvent"
    decimals = DECIMALS

    @property
    def handlers(self) -> Mapping[str, Callable[[Content, Listener], None]]:
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

    def deliver(self, message: Any, listener: Listener) -> None:
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

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: Cores, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which the embedded simulator applies them."""
        self._ends.start([identifiers[job] for job, _ in commands.starts], len(commands.rejects), self._now)
        events: list[WireEvent] = []
        for job in commands.rejects:
            events.append(("RejectJobEvent", {"job_id": identifiers[job]}))
        for job, cores in commands.starts:
            allocation: Content = {
                "host_allocation": machines.named(cores.tolist()),
                "executor_placement_type": "PredefinedExecutorPlacementStrategyWrapper",
                "executor_placement": {"strategy": "SpreadOverHostsFirst"},
            }
            if places := machines.places(cores.tolist()):
                kind = "CustomExecutorToHostMapping"
                allocation |= {"executor_placement_type": kind, "executor_placement": {"mapping": places}}
            events.append(("ExecuteJobEvent", {"job_id": identifiers[job], "allocation": allocation}))
        for pstate in sorted(set(commands.pstates.values())):
            changed = [core for core, wanted in commands.pstates.items() if wanted == pstate]
            events.append(("ChangeHostsPStateEvent", {"host_ids": machines.named(changed), "pstate": pstate}))
        if commands.kills:
            events.append(("KillJobsEvent", {"job_ids": [identifiers[job] for job in commands.kills]}))
        if math.isfinite(commands.wake_at):
            when = {"time": math.ceil(round(commands.wake_at * 1e3, 3)), "time_unit": "Millisecond"}
            call = {"call_me_later_id": "hdeeprm", "when_type": "OneShot", "when": when}
            events.append(("CallMeLaterEvent", call))
        return events

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return the message to send for some events, all at the time *now* in s."""
        listed = [{"timestamp": now, "event_type": kind, "event": data} for kind, data in events]
        return json.dumps({"now": now, "events": listed}, separators=(",", ":"))


# -- handlers of the events


def _begin(data: Content, listener: Listener) -> None:
    listener.simulation_begins(read_hosts(data, "computation_hosts", _properties), {}, registration=False)


def _submission(identifier: str, job: Mapping[str, Any], data: Content) -> Submission:
    size, profile, walltime = job.get("resource_request"), job.get("profile_id"), job.get("walltime")
    size = COUNT.of(size, ProtocolError, "resource_request")
    if not isinstance(profile, str):
        raise ProtocolError("profile_id must be a name")
    walltime = None if walltime is None or walltime == -1 else AMOUNT.of(walltime, ProtocolError, "walltime")
    described = data.get("profile")
    if described is not None and not isinstance(described, dict):
        raise ProtocolError("profile must be an object")
    forwarded = None if described is None else profile_as_batsim4(profile_of_message(described))
    extra, submit = extra_data(job), AMOUNT.of(data.get("submission_time"), ProtocolError, "submission_time")
    user, demand = known_number(extra.get("user")), demand_in(extra, "extra_data", ProtocolError)
    name = profile.removeprefix(f"{identifier.partition('!')[0]}!")
    known = user, demand, known_number(extra.get("program"))
    return Submission(identifier, round(submit, DECIMALS), size, walltime, name, forwarded, *known)


def _complete(data: Content, listener: Listener) -> None:
    listener.job_completed(data.get("job_id"), data.get("state"))


def _log_kill(data: Content, listener: Listener) -> None:
    progresses = data.get("progresses")
    for one in progresses if isinstance(progresses, list) else [data]:
        log.warning("Batsim reports a kill that was not requested: %s", shown(one))


def _log_external(data: Content, listener: Listener) -> None:
    log.info("an external event, which is ignored: %s", shown(data))


EVENTS: Mapping[str, Handler] = {
    "SimulationBeginsEvent": _begin,
    "SimulationEndsEvent": end,
    "JobSubmittedEvent": submits(_submission),
    "JobCompletedEvent": _complete,
    "RequestedCallEvent": call,
    "AllStaticJobsHaveBeenSubmittedEvent": no_more_jobs,
    "AllStaticExternalEventsHaveBeenInjectedEvent": ignore,
    "HostsPStateChangedEvent": ignore,
    "HostsTurnedOnOffEvent": ignore,
    "JobsKilledEvent": _log_kill,
    "ExternalEventOccurredEvent": _log_external,
    "ProbeDataEmittedEvent": _log_external,
}


def _properties(machine: Content, where: str) -> dict[str, str]:
    """Return the properties of a machine, with the speeds that Batsim sends."""
    try:
        properties = {pair["key"]: pair["value"] for pair in machine.get("properties", [])}
    except (KeyError, TypeError):
        properties = {"": None}
    if not set(map(type, [*properties, *properties.values()])) <= {str}:
        raise ProtocolError(f"{where}: properties must be keys and values, both texts")
    return properties | {SPEED: _speeds(machine, where)}


def _speeds(machine: Content, where: str) -> str:
    """Return the speeds of the first P-states as text, as many as HDeepRM's machines have."""
    speeds = machine.get("computation_speed")
    if not isinstance(speeds, list) or not speeds or machine.get("pstate_count") != len(speeds):
        raise ProtocolError(f"{where}: P-states, each with its computation_speed, are needed")
    known = AMOUNT.all_of(speeds[: len(SPEED_SHARE)], ProtocolError, where, "computation_speed")
    return ", ".join(f"{speed!r}f" for speed in known)
