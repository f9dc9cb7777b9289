"""Reader of the scheduler's replies in Batsim 4's JSON: a list of checked events, or a `ProtocolError`."""

import json
from collections.abc import Callable, Collection
from functools import cache
from typing import Any, NamedTuple

from hdeeprm_like.batsim_server.fields import FIGURE, Fields
from hdeeprm_like.errors import ProtocolError, did_you_mean
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.values import shown, wrong


class SchedulerEvent(Fields):
    """One event of a reply: type, time in s and data."""

    def __init__(self, kind: str, timestamp: float, data: dict[str, Any], where: str) -> None:
        """Read an event; *where* is its place, for messages."""
        super().__init__(data, where, ProtocolError)
        self.kind, self.timestamp = kind, timestamp


class Form(NamedTuple):
    """Spelling of events in a version of Batsim.

    Attributes:
        kind, data: keys of an event's type and content.
        not_imitated: types that Batsim has and we do not support.
        read_float: reader of numbers with a fraction or an exponent.
    """

    kind: str
    data: str
    not_imitated: tuple[str, ...]
    read_float: Callable[[str], float]


BATSIM4 = Form("type", "data", (), read_number)


class Reply(NamedTuple):
    """The scheduler's decisions, in its order, and its clock at the end."""

    now: float  # s
    events: list[SchedulerEvent]


def read_reply(raw: bytes, known: Collection[str], form: Form = BATSIM4) -> Reply:
    """Return the events of a reply; its clock may lag behind the simulation's, as Batsim allows.

    Args:
        known: the types of events with a handler.
        form: their spelling.

    Raises:
        ProtocolError: the reply violates the protocol.
    """
    content = _read_json(raw, form.read_float)
    if not isinstance(content, dict):
        raise wrong(content, "an object", ProtocolError, "reply")
    if "error" in content and "now" not in content:  # sent by our own endpoint when it is stopped
        raise ProtocolError(f"the scheduler has left: {shown(content['error'])}")
    now, listed = FIGURE.of(content.get("now"), ProtocolError, "reply: now"), content.get("events")
    if not isinstance(listed, list):
        raise wrong(listed, "a list", ProtocolError, "reply: events")
    return Reply(now, [_read_event(event, number, now, known, form) for number, event in enumerate(listed)])


def _read_event(event: Any, number: int, now: float, known: Collection[str], form: Form) -> SchedulerEvent:
    where = f"reply: events[{number}]"
    if not isinstance(event, dict):
        raise wrong(event, "an object", ProtocolError, where)
    kind, timestamp, data = event.get(form.kind), event.get("timestamp"), event.get(form.data)
    if kind in form.not_imitated:
        raise ProtocolError(f"{where}: {kind} is not imitated")
    if not isinstance(kind, str) or kind not in known:
        raise ProtocolError(f"{where}: {form.kind} {shown(kind)} is not known{did_you_mean(str(kind)[:60], known)}")
    where = f"{where} {kind}"
    timestamp = FIGURE.of(timestamp, ProtocolError, where, "timestamp")
    if timestamp > now:
        raise ProtocolError(f"{where}: timestamp {timestamp:f} is after now={now:f}")
    if not isinstance(data, dict):
        raise wrong(data, "an object", ProtocolError, where, form.data)
    return SchedulerEvent(kind, timestamp, data, where)


def _refuse(constant: str) -> float:
    raise ProtocolError(f"reply: {constant} is not a number that JSON knows")


@cache
def _decoder(read_number: Callable[[str], float]) -> json.JSONDecoder:
    return json.JSONDecoder(parse_constant=_refuse, parse_float=read_number)


def _read_json(raw: bytes, read_number: Callable[[str], float]) -> Any:
    try:
        content = _decoder(read_number).decode(raw.decode("utf-8"))
        if b"\\" in raw and b"\\ud" in raw.lower():
            json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair could never be sent on
        return content
    except UnicodeEncodeError as cause:
        raise ProtocolError("reply: holds half a surrogate pair, which is no text") from cause
    except UnicodeDecodeError as cause:
        raise ProtocolError(f"reply: is not UTF-8 text (byte {cause.start})") from cause
    except json.JSONDecodeError as cause:
        raise ProtocolError(f"reply: not valid JSON at character {cause.pos}: {cause.msg}") from cause
    except RecursionError as cause:
        raise ProtocolError("reply: nested too deeply") from cause
    except ValueError as cause:
        raise ProtocolError("reply: holds a number that is too large") from cause
