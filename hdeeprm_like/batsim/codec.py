"""What a session needs of a version of Batsim's protocol, a `Codec`, and what it receives of it, a `Submission`.

To support another version, write a module beside ``codec4`` and pass it to the `Conversation`.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from hdeeprm_like.batsim.machine_map import MachineMap
from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.values import UTMOST, Number

WireEvent: TypeAlias = tuple[str, dict[str, Any]]  # type and data

AMOUNT = Number(0.0, UTMOST)
LONGEST_QUOTE = 60  # most characters that an error message quotes


class Submission(NamedTuple):
    """A submitted job as received from Batsim.

    Attributes:
        identifier: ``workload!number``.
        submit: s. size: cores. walltime: s, None without limit.
        profile: its name in the workload. forwarded: the profile itself if it came with the job, else None.
        user: number of the submitting user, -1 if unknown.
        demand: its requests on a platform with partitions.
        program: number of its executable or job name, -1 if unknown.
    """

    identifier: str
    submit: float
    size: int
    walltime: float | None
    profile: str
    forwarded: Any
    user: int = -1
    demand: Demand = NO_DEMAND
    program: int = -1


class Codec(Protocol):
    """Reader and writer of the messages of one version of Batsim; `codec4` describes its methods."""

    def greet(self, raw: str | bytes) -> str | None:
        """Return the answer to a message of the handshake, None for all others."""

    def parse(self, raw: str | bytes) -> Any:
        """Parse a received message into plain lists and dictionaries."""

    def deliver(self, message: Any, listener: Any, /) -> None:
        """Call a `Conversation` for the contents of a message, in their order."""

    def awaits_ends(self) -> bool:
        """Return whether jobs end in this instant that the last message does not report yet."""

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: MachineMap, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which they take effect."""

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return the message to send for some events."""


def shown(value: object) -> str:
    """Return a received value for an error message: short, quoted, on one line, in ASCII."""
    return ascii(value if len(str(value)) <= LONGEST_QUOTE else str(value)[:LONGEST_QUOTE])
