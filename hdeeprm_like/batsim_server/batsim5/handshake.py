"""The first two messages: Batsim 5 sends a text; the scheduler sends its name, its wishes and the message format.

| message | bytes |
|---|---|
| from Batsim | the length of the text as a native 32-bit number, then the text |
| from the scheduler | flags as a native 32-bit number (1: binary FlatBuffers, 2: JSON), then one EDCHelloEvent |
"""

import logging
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from hdeeprm_like.batsim_server.options import Options5
from hdeeprm_like.batsim_server.replies import Form, read_reply
from hdeeprm_like.errors import ProtocolError

if TYPE_CHECKING:  # what reads the command line, too, loads this module
    from hdeeprm_like.batsim_server.server import Ask

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
    """Greet the scheduler; return the options with its wishes, and what sends it messages.

    Raises:
        ProtocolError: its answer breaks the protocol, or requests binary messages.
    """
    text = options.init.encode(errors="replace")
    answer = ask(struct.pack("=I", len(text)) + text)
    if len(answer) < 4:
        raise ProtocolError(f"hello: has {len(answer)} bytes; 4 of flags and a message are needed")
    (flags,) = struct.unpack_from("=I", answer)
    if flags != JSON:
        asked = "requests binary messages" if flags == BINARY else f"the flags are {flags}"
        raise ProtocolError(f"hello: {asked}; request JSON (flags {JSON})")
    events = read_reply(answer[4:].rstrip(b"\0"), ("EDCHelloEvent",), FORM).events
    if len(events) != 1:
        raise ProtocolError(f"hello: has {len(events)} events; one EDCHelloEvent is needed")
    hello = events[0]
    name, version, _ = [hello.text(f"decision_component_{what}") for what in ("name", "version", "commit")]
    logger.info("the scheduler is %s %s", name[:60], version[:60])
    wishes = hello.object("requested_simulation_features")
    wanted: dict[str, bool] = {}
    for feature, option in FEATURES.items():
        wish = wishes.get(feature, False)
        if not isinstance(wish, bool):
            raise ProtocolError(f"{hello.where}: {feature} must be true or false")
        wanted[option] = wish
    wanted["profile_reuse"] &= wanted["dynamic_jobs"]
    return options.replaced(**wanted), lambda text: ask(text.encode() + b"\0")
