"""Between the session and a version of Batsim's protocol: what a codec offers, and what it calls when it reads.

A codec is the only place that knows how one version of Batsim writes its messages. To speak another version, write a
module beside ``codec4`` and give it to the `Conversation`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from hdeeprm_like.cluster.partitions import NO_DEMAND, Demand
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import ProtocolError

Host: TypeAlias = tuple[str, Mapping[str, str]]  # name and properties
WireEvent: TypeAlias = tuple[str, dict[str, Any]]  # type and data

LONGEST_QUOTE = 60  # characters of what a message quotes


class Submission(NamedTuple):
    """A submitted job as it comes over the wire.

    Attributes:
        identifier: ``workload!number``.
        submit: s. size: cores. walltime: s, None without limit.
        profile: its name in the workload. forwarded: the profile itself if it came with the job, else None.
        user: a number for who submits it, -1 where the job does not tell.
        demand: what it requests on a platform with partitions.
    """

    identifier: str
    submit: float
    size: int
    walltime: float | None
    profile: str
    forwarded: Any
    user: int = -1
    demand: Demand = NO_DEMAND


class Cores(Protocol):
    """Which core is which of Batsim's machines."""

    def named(self, cores: Sequence[int]) -> str:
        """Return the machines of cores as Batsim writes them, ``0-3 6``."""
        ...

    def cores_named(self, text: object, what: str) -> list[int]:
        """Return the cores of a set of machines; *what* names the event, for messages."""
        ...


class Listener(Protocol):
    """What a codec tells the session while it reads a message."""

    begun: bool
    ended: bool

    @property
    def machines(self) -> Cores:
        """Which core is which machine; known once the simulation has begun."""
        ...

    def time_is(self, now: float) -> None:
        """Take the time of the message in s; it comes before the message's events."""
        ...

    def simulation_begins(self, hosts: Sequence[Host], profiles: Any, registration: bool) -> None:
        """Take the machines in the order of their ids, the profiles, and whether Batsim waits for dynamic jobs."""
        ...

    def simulation_ends(self) -> None:
        """Note that nothing more will happen."""
        ...

    def job_submitted(self, submission: Submission) -> None:
        """Take a job in."""
        ...

    def job_completed(self, identifier: object, outcome: object) -> None:
        """Take a running job off its cores; *outcome* is the name of its final state."""
        ...

    def cores_changed(self, cores: Sequence[int], available: bool) -> None:
        """Take cores into the pool, or out of it."""
        ...

    def called(self) -> None:
        """Note that the time has come at which a decision was requested."""
        ...

    def arrivals_over(self) -> None:
        """Note that no more jobs will be submitted."""
        ...


class Codec(Protocol):
    """How one version of Batsim writes and reads messages."""

    def greet(self, raw: str | bytes) -> str | None:
        """Return the answer to a message that only greets, None for all others."""
        ...

    def parse(self, raw: str | bytes) -> Any:
        """Return a message as it comes over the wire as plain lists and dictionaries."""
        ...

    def deliver(self, message: Any, listener: Listener) -> None:
        """Tell the listener what a message says, in the order in which it says it."""
        ...

    def events_of(
        self, commands: Commands, identifiers: Sequence[str], machines: Cores, finish_registration: bool
    ) -> list[WireEvent]:
        """Return the events that carry commands, in the order in which they take effect."""
        ...

    def format(self, now: float, events: Sequence[WireEvent]) -> str:
        """Return events as the message to send."""
        ...


def number(value: Any, what: str) -> float:
    """Return a finite number that is not negative; raise a `ProtocolError` for anything else."""
    if type(value) is float and 0.0 <= value < math.inf:  # as nearly all are
        return value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ProtocolError(f"{what} must be a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not 0.0 <= result < math.inf:
        raise ProtocolError(f"{what} must be a finite number, not below 0")
    return result


def shown(value: object) -> str:
    """Return something that came over the wire as a message can show it: short, quoted, on one line, in ASCII."""
    return ascii(value if len(str(value)) <= LONGEST_QUOTE else str(value)[:LONGEST_QUOTE])
