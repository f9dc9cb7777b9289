"""The actor of periodic calls and probes, which wakes the scheduler at the multiples of each one's period."""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

from hdeeprm_like.batsim_server.batsim5.probes import Probe
from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.engine import TIMEOUT, Request, Script
from hdeeprm_like.errors import ProtocolError

BEGIN, STOP, DIE = "BEGIN", "STOP", "DIE"  # messages of the server to this actor


Key: TypeAlias = tuple[bool, str]  # whether it is a probe, and its name: calls come first
Due: TypeAlias = tuple[str | dict[str, Any], bool]  # name of a call or data of a probe, and whether it is the last


@dataclass
class PeriodicCall:
    """A periodic call, or a probe.

    Attributes:
        name: given by the scheduler. where: place of the request, for messages.
        period: ms. left: number of further calls, None for ever.
        probe: what measures, None for a call.
    """

    name: str
    where: str
    period: int
    left: int | None
    probe: Probe | None = None

    @property
    def key(self) -> Key:
        """What identifies it."""
        return self.probe is not None, self.name


def keep_calling(simulation: Simulation5) -> Script:
    """Report to the server at each multiple of a period which calls and probes are due."""
    engine, mailbox = simulation.engine, simulation.periodic
    calls: dict[Key, PeriodicCall] = {}
    while True:
        if calls:
            date, wait = _next_date(calls, engine.now)
            received = yield (engine.get_within, mailbox, wait)
            if received == TIMEOUT:
                yield (engine.put, ("CALLS_DUE", _due(calls, date, engine.now)))
                continue
        else:
            received = yield (engine.get, mailbox)
        kind, content = received
        if kind == DIE:
            return
        if kind == BEGIN:
            _check_new(calls, content)
            calls[content.key] = content
        elif content in calls:
            yield (engine.post, ("CALL_STOPPED", content), engine.server)  # the server may be about to stop another
            del calls[content]


def to_periodic(simulation: Simulation5, message: tuple[str, Any]) -> Request:
    """Return the request that sends a message of the server to the actor of periodic calls.

    The server does not wait for its arrival where that actor itself waits for the server, to report calls of this
    moment: that would be a deadlock.
    """
    engine, mailbox = simulation.engine, simulation.periodic
    return (engine.put if mailbox.receiver is not None else engine.post), message, mailbox


def _next_date(calls: dict[Key, PeriodicCall], now: float) -> tuple[int, float]:
    """Return the next multiple of the shortest period in ms, and the s until then, rounded as in Batsim."""
    periods = [call.period for call in calls.values()]
    shortest, longest = min(periods), max(periods)
    elapsed = math.fmod(now * 1e3, longest)
    date = (int(now * 1e3) // longest) * longest + (int(elapsed) // shortest + 1) * shortest
    return date, (shortest - math.fmod(elapsed, shortest)) * 1e-3


def _due(calls: dict[Key, PeriodicCall], date: int, now: float) -> list[Due]:
    """Return the calls and probes of a date in ms by name, each with whether it is the last."""
    due: list[Due] = []
    for key in sorted(calls):
        call = calls[key]
        if date % call.period or (call.probe is not None and not call.probe.is_due()):
            continue
        due.append((call.name if call.probe is None else call.probe.data(now), call.left == 1))
        if call.left is not None:
            call.left -= 1
            if not call.left:
                del calls[key]
    return due


def _check_new(calls: dict[Key, PeriodicCall], new: PeriodicCall) -> None:
    if new.key in calls:
        kind = "call" if new.probe is None else "probe"
        raise ProtocolError(f"{new.where}: the {kind} {new.name[:60]!r} is running already")
    for call in calls.values():
        shorter, longer = sorted((call.period, new.period))
        if longer % shorter:
            raise ProtocolError(
                f"{new.where}: its period of {new.period} ms and the {call.period} ms of {call.name[:60]!r} "
                "must be multiples of each other"
            )
