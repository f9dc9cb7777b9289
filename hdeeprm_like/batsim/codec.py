"""The interface between a session and a version of Batsim's protocol: `Codec`, and the `Listener` that it calls.

A codec is the only place that knows the message format of one version of Batsim. To support another version, write a
module beside ``codec4`` and pass it to the `Conversation`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.values import UTMOST, Number

Host: TypeAlias = tuple[str, Mapping[str, str]]  # name and properties
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


class Cores(Protocol):
    """Mapping between cores and Batsim's machines."""

    def named(self, cores: Sequence[int]) -> str:
        """Return the machines of cores in Batsim's notation, ``0-3 6``."""
        ...

    def places(self, cores: Sequence[int]) -> list[int] | None:
        """Return the place of each core's machine among those named; None if each core has a machine of its own."""
        ...

    def cores_named(self, text: object, what: str) -> list[int]:
        """Return the cores of a set of machines; *what* names the event, for error messages."""
        ...


class Listener(Protocol):
    """Interface of the session that a codec calls while it reads a message."""

    begun: bool
    ended: bool

    @property
    def machines(self) -> Cores:
        """Mapping between cores and machines; known once the simulation has begun."""
        ...

    def time_is(self, now: float) -> None:
        """Receive the time of the message in s; called before the message's events."""
        ...

    def simulation_begins(self, hosts: Sequence[Host], profiles: Any, registration: bool, sharing: bool = True) -> None:
        """Receive the machines in the order of their ids, the profiles, and what Batsim does and allows.

        Args:
            registration: whether it waits for dynamic jobs. sharing: whether several jobs may have one machine.
        """
        ...

    def simulation_ends(self) -> None:
        """Receive the end of the simulation."""
        ...

    def job_submitted(self, submission: Submission) -> None:
        """Receive a submitted job."""
        ...

    def job_completed(self, identifier: object, outcome: object) -> None:
        """Receive the end of a running job; *outcome* is the name of its final state."""
        ...

    def cores_changed(self, cores: Sequence[int], available: bool) -> None:
        """Receive that cores became available or unavailable."""
        ...

    def called(self) -> None:
        """Receive a requested call whose time has come."""
        ...

    def arrivals_over(self) -> None:
        """Receive that no more jobs will be submitted."""
        ...


class Codec(Protocol):
    """Reader and writer of the messages of one version of Batsim."""

    def greet(self, raw: str | bytes) -> str | None:
        """Return the answer to a message of the handshake, None for all others."""
        ...

    def parse(self, raw: str | bytes) -> Any:
        """Parse a received message into plain lists and dictionaries."""
        ...

    def deliver(self, message: Any, listener: Listener) -> None:
        """Call the listener for the contents of a message, in their order."""
        ...

    def awaits_ends(self) -> bool:
        """Return whether jobs end in this instant that the last message does not report yet."""
        ...

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: Cores, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which they take effect."""
        ...

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return the message to send for some events."""
        ...


def shown(value: object) -> str:
    """Return a received value for an error message: short, quoted, on one line, in ASCII."""
    return ascii(value if len(str(value)) <= LONGEST_QUOTE else str(value)[:LONGEST_QUOTE])
