"""External events: machines that leave and rejoin the cluster, and other events of a file for the scheduler."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hdeeprm_like.batsim_server.fields import AMOUNT, Fields
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.inputs import read_text
from hdeeprm_like.results.batsim_files import parse_interval_set

Content: TypeAlias = dict[str, Any]  # a JSON object

AVAILABLE, UNAVAILABLE = "machine_available", "machine_unavailable"
_EVENT_ORDER = {AVAILABLE: 0, UNAVAILABLE: 1}  # order of events of one time; others come after these


class OutsideEvent(NamedTuple):
    """An external event of the cluster, from an events file."""

    timestamp: float  # s
    kind: str
    machines: tuple[int, ...]
    text: str  # JSON, as sent to the scheduler


def read_events(path: Path, read_event: Callable[[Content, float, str, int], OutsideEvent]) -> list[OutsideEvent]:
    """Return the events of a file with one JSON object per line, in the order of time.

    Args:
        read_event: takes an event, its time in s, its place for messages, and the number of those before it.

    Raises:
        WorkloadError: a line is no event.
    """
    events: list[OutsideEvent] = []
    for number, line in enumerate(read_text(path, WorkloadError).splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            content = json.loads(line, parse_float=read_number)
        except (ValueError, RecursionError) as cause:
            raise WorkloadError(f"{where}: not valid JSON: {cause}") from cause
        if not isinstance(content, dict) or not isinstance(content.get("type"), str):
            raise WorkloadError(f"{where}: an event is an object with a type and a timestamp")
        time = AMOUNT.of(content.get("timestamp"), WorkloadError, where, "timestamp")
        if "\\ud" in line.lower():
            raise WorkloadError(f"{where}: holds half a surrogate pair, or a whole one that is not written as UTF-8")
        events.append(read_event(content, time, where, len(events)))
    return sorted(events, key=lambda event: (event.timestamp, _EVENT_ORDER.get(event.kind, 2)))


def event_of(content: Content, time: float, where: str, machines: int, forward_unknown: bool) -> OutsideEvent:
    """Return an event of Batsim 4.

    Raises:
        WorkloadError: it names no machines.
        OptionsError: it has an unknown type, and unknown events are not to be forwarded.
    """
    kind, text = content["type"], Fields(content, where, WorkloadError).encoded(content)
    if kind in _EVENT_ORDER:
        named = parse_interval_set(str(content.get("resources", "")), below=machines, error=WorkloadError)
        return OutsideEvent(time, kind, tuple(named), text)
    if not forward_unknown:
        raise OptionsError(f"{where}: event type {kind!r} is not known; forward it with --forward-unknown-events")
    return OutsideEvent(time, kind, (), text)
