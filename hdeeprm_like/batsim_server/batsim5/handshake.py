"""The first two messages: Batsim 5 sends a text; the scheduler sends its name, its wishes and the message format.

| message | bytes |
|---|---|
| from Batsim | the length of the text as a native 32-bit number, then the text |
| from the scheduler | flags as a native 32-bit number (1: binary FlatBuffers, 2: JSON), then one EDCHelloEvent |

For binary messages the user names the schema, ``batprotocol.fbs``, of the version that the scheduler was made for: it
numbers the events and fields. Everything else here is JSON, into which and out of which they are translated.
"""

import json
import logging
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from hdeeprm_like.batsim_server.batsim5.options import Options5
from hdeeprm_like.batsim_server.replies import Form, SchedulerEvent, read_reply
from hdeeprm_like.errors import ProtocolError

if TYPE_CHECKING:  # what reads the command line, too, loads this module
    from hdeeprm_like.batsim_server.server import Ask
    from hdeeprm_like.formats.flatbuffers_schema import Schema

logger = logging.getLogger("hdeeprm_like.batsim_server")

BINARY, JSON = 1, 2
NOT_IMITATED = ("TriggerProbeEvent", "ResetProbeEvent")  # on which Batsim 5 aborts
FORM = Form("event_type", "event", NOT_IMITATED, float)
FEATURES = {  # wish of the scheduler: our option that it sets
    "dynamic_registration": "dynamic_jobs",
    "profile_reuse": "profile_reuse",
    "acknowledge_dynamic_jobs": "acknowledge_dynamic_jobs",
    "forward_profiles_on_job_submission": "forward_profiles",
    "forward_profiles_on_jobs_killed": "profiles_of_killed",
    "forward_profiles_on_simulation_begins": "profiles_at_begin",
}

AskBytes: TypeAlias = Callable[[bytes], bytes]  # sends a message to the scheduler, returns its reply


def shake_hands(options: Options5, ask: AskBytes) -> tuple[Options5, "Ask"]:
    """Greet the scheduler; return the options with its wishes, and what sends it messages in its format.

    Raises:
        OptionsError: the schema of binary messages cannot be used.
        ProtocolError: its answer breaks the protocol, or it wants binary messages and there is no schema.
    """
    schema = None
    if options.schema is not None:
        from hdeeprm_like.formats.flatbuffers_schema import read_schema  # not needed for messages in JSON

        schema = read_schema(options.schema)
    text = options.init.encode(errors="replace")
    answer = ask(struct.pack("=I", len(text)) + text)
    if len(answer) < 4:
        raise ProtocolError(f"hello: has {len(answer)} bytes; 4 of flags and a message are needed")
    (flags,) = struct.unpack_from("=I", answer)
    if flags not in (BINARY, JSON):
        raise ProtocolError(f"hello: the flags are {flags}; 1 (binary) or 2 (JSON) is needed")
    if flags == BINARY and schema is None:
        raise ProtocolError(
            "hello: requests binary messages, whose fields batprotocol.fbs of your Batsim numbers; "
            "name that file by --schema, or request JSON (flags 2)"
        )
    said = _as_json(schema, answer[4:], "hello") if flags == BINARY and schema is not None else answer[4:]
    events = read_reply(said.rstrip(b"\0"), ("EDCHelloEvent",), FORM).events
    if len(events) != 1:
        raise ProtocolError(f"hello: has {len(events)} events; one EDCHelloEvent is needed")
    hello = events[0]
    name, version, _ = [hello.text(f"decision_component_{what}") for what in ("name", "version", "commit")]
    logger.info("the scheduler is %s %s", name[:60], version[:60])
    return _with_wishes(options, hello), _speaker(ask, schema if flags == BINARY else None)


def _speaker(ask: AskBytes, schema: "Schema | None") -> "Ask":
    """Return what sends a message to a scheduler that speaks binary by a schema, or JSON, and returns the reply."""
    if schema is None:
        return lambda text: ask(text.encode() + b"\0")
    from hdeeprm_like.formats.flatbuffers_message import write_message

    return lambda text: _as_json(schema, ask(write_message(schema, json.loads(text), "message")), "reply")


def _as_json(schema: "Schema", raw: bytes, where: str) -> bytes:
    from hdeeprm_like.formats.flatbuffers_message import read_message

    return json.dumps(read_message(schema, raw, where)).encode()


def _with_wishes(options: Options5, hello: SchedulerEvent) -> Options5:
    wishes = hello.object("requested_simulation_features")
    wanted: dict[str, bool] = {}
    for feature, option in FEATURES.items():
        wish = wishes.get(feature, False)
        if not isinstance(wish, bool):
            raise ProtocolError(f"{hello.where}: {feature} must be true or false")
        wanted[option] = wish
    wanted["profile_reuse"] &= wanted["dynamic_jobs"]
    return options.replaced(**wanted)
