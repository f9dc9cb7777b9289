"""The actor of periodic calls, which wakes the scheduler at the multiples of each call's period."""

import math
from dataclasses import dataclass
from typing import Any

from hdeeprm_like.batsim_server.batsim5.simulation import Simulation5
from hdeeprm_like.batsim_server.engine import TIMEOUT, Script
from hdeeprm_like.errors import ProtocolError

BEGIN, STOP, DIE = "BEGIN", "STOP", "DIE"  # messages of the server to this actor


@dataclass
class PeriodicCall:
    """A periodic call.

    Attributes:
        name: given by the scheduler. where: place of the request, for messages.
        period: ms. left: number of further calls, None for ever.
    """

    name: str
    where: str
    period: int
    left: int | None


def keep_calling(simulation: Simulation5) -> Script:
    """Report to the server at each multiple of a period which calls are due."""
    engine, mailbox = simulation.engine, simulation.periodic
    calls: dict[str, PeriodicCall] = {}
    while True:
        if calls:
            date, wait = _next_date(calls, engine.now)
            received = yield (engine.get_within, mailbox, wait)
            if received == TIMEOUT:
                yield (engine.put, ("CALLS_DUE", _due(calls, date)))
                continue
        else:
            received = yield (engine.get, mailbox)
        kind, content = received
        if kind == DIE:
            return
        if kind == BEGIN:
            _check_new(calls, content)
            calls[content.name] = content
        elif content in calls:
            yield (engine.put, ("CALL_STOPPED", content))
            del calls[content]


def _next_date(calls: dict[str, PeriodicCall], now: float) -> tuple[int, float]:
    """Return the next multiple of the shortest period in ms, and the s until then, rounded as in Batsim."""
    periods = [call.period for call in calls.values()]
    shortest, longest = min(periods), max(periods)
    elapsed = math.fmod(now * 1e3, longest)
    date = (int(now * 1e3) // longest) * longest + (int(elapsed) // shortest + 1) * shortest
    return date, (shortest - math.fmod(elapsed, shortest)) * 1e-3


def _due(calls: dict[str, PeriodicCall], date: int) -> list[tuple[str, bool]]:
    """Return the calls of a date in ms by name, each with whether it is the last."""
    due: list[tuple[str, bool]] = []
    for name in sorted(calls):
        call = calls[name]
        if date % call.period:
            continue
        due.append((name, call.left == 1))
        if call.left is not None:
            call.left -= 1
            if not call.left:
                del calls[name]
    return due


def _check_new(calls: dict[str, Any], new: PeriodicCall) -> None:
    if new.name in calls:
        raise ProtocolError(f"{new.where}: the call {new.name[:60]!r} is running already")
    for call in calls.values():
        shorter, longer = sorted((call.period, new.period))
        if longer % shorter:
            raise ProtocolError(
                f"{new.where}: its period of {new.period} ms and the {call.period} ms of {call.name[:60]!r} "
                "must be multiples of each other"
            )
