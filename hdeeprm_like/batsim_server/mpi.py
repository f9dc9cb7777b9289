"""Messages between the ranks of an MPI job: sends, receives, and the collective operations made of them.

A transfer starts when both sender and receiver are there. The sender of a small message continues at once, that of a
large one when it has arrived. The collectives are those of SimGrid's replays by default: ``bcast`` uses a tree,
``alltoall`` depends on the sizes, in the others one rank or each rank sends to all at once.

Source: SMPI of SimGrid 3.32, with the network of the host model ptask_L07.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from hdeeprm_like.batsim_server.countdowns import Action
from hdeeprm_like.batsim_server.engine import Actor, Engine, Script
from hdeeprm_like.batsim_server.sharing import Constraint, Work
from hdeeprm_like.errors import WorkloadError

ENVELOPE = 16  # bytes, overhead of every message
DETACHED = 65536  # bytes; the sender of a smaller message continues at once
Tag = int | str

WAYS_OF_ALL_TO_ALL = (  # ranks below; block bytes from, to below: in rounds; from, to below: in pairs
    (3, 0, 0, inf, inf),
    (8, 0, 0, 2**19, 2**20),
    (16, 0, 0, inf, inf),
    (32, 4, 512, inf, inf),
    (64, 0, 512, inf, inf),
    (128, 0, 1024, 2**18, inf),
    (256, 0, 1024, 2**18, inf),
    (512, 0, 1024, 2**15, inf),
    (1024, 0, 512, 2**18, inf),
    (2048, 0, 512, inf, inf),
    (4096, 0, 1024, inf, inf),
    (inf, 0, 2048, inf, inf),
)


class Message:
    """One side of a message: a send or a receive.

    Attributes:
        size: bytes without the envelope; for a receive the largest size that it accepts.
        over: whether the rank that began it may continue.
        on_end: called when it is over, if a rank waits for it.
    """

    __slots__ = ("on_end", "over", "receiver", "sender", "size", "tag")

    def __init__(self, sender: int, receiver: int, tag: Tag, size: int) -> None:
        """Begin the send or receive."""
        self.sender, self.receiver, self.tag, self.size = sender, receiver, tag, size
        self.over = False
        self.on_end: Callable[[], None] | None = None

    def end(self) -> None:
        """Wake the rank that waits for it."""
        if not self.over:
            self.over = True
            if self.on_end is not None:
                self.on_end()

    def meets(self, other: "Message") -> bool:
        """Whether the two are the sides of one message."""
        return self.sender == other.sender and self.tag == other.tag


class Communicator:
    """All ranks of one job, and the messages between them."""

    def __init__(self, engine: Engine, hosts: Sequence[str]) -> None:
        """Connect ranks on hosts given by name, one per rank."""
        self._engine = engine
        self._hosts = hosts
        self.size = len(hosts)
        self._sends: list[list[Message]] = [[] for _ in hosts]  # unmatched sends to each rank
        self._receives: list[list[Message]] = [[] for _ in hosts]  # unmatched receives of each rank
        self._moving: set[Action] = set()

    def send(self, actor: Actor, message: Message) -> None:
        """Request of an actor: begin to send."""
        receive = _taken(self._receives[message.receiver], message)
        if receive is None:
            self._sends[message.receiver].append(message)
        else:
            self._move(message, receive)
        if _as_int32(message.size) < DETACHED:
            message.over = True
        self._engine.wake(actor, None)

    def receive(self, actor: Actor, message: Message) -> None:
        """Request of an actor: begin to receive."""
        send = _taken(self._sends[message.receiver], message)
        if send is None:
            self._receives[message.receiver].append(message)
        else:
            self._move(send, message)
        self._engine.wake(actor, None)

    def wait(self, actor: Actor, messages: Iterable[Message]) -> None:
        """Request of an actor: continue when all these messages are over."""
        awaited = {message for message in messages if not message.over}

        def one_less(message: Message) -> Callable[[], None]:
            def end() -> None:
                awaited.discard(message)
                if not awaited:
                    self._engine.wake(actor, None)

            return end

        for message in awaited:
            message.on_end = one_less(message)
        if not awaited:
            self._engine.wake(actor, None)

    def close(self) -> None:
        """Stop all messages: the job is killed."""
        for action in self._moving:
            self._engine.remove(action)
        self._moving.clear()

    def _move(self, send: Message, receive: Message) -> None:
        def arrive() -> None:
            self._moving.discard(action)
            send.end()
            receive.end()

        if send.size > receive.size:
            raise WorkloadError(
                f"an MPI replay: rank {receive.receiver} takes {receive.size} bytes from rank {send.sender}, which "
                f"sends it {send.size} ({send.tag})"
            )
        hosts = self._hosts
        action = self._engine.carry(hosts[send.sender], hosts[send.receiver], send.size + ENVELOPE, arrive)
        self._moving.add(action)


def _taken(waiting: list[Message], message: Message) -> Message | None:
    """Remove and return the first waiting one that is the other side of a message; None if there is none."""
    for position, other in enumerate(waiting):
        if other.meets(message):
            return waiting.pop(position)
    return None


def _as_int32(size: int) -> int:
    """Return a size as SimGrid compares it with the limit of small messages: as a signed 32-bit number."""
    return (size + 2**31) % 2**32 - 2**31


class Rank:
    """One rank of a job, with its operations.

    Attributes:
        number: from 0. size: the number of ranks.
        pending: operations begun and not waited for yet, by sender, receiver and tag, in order.
    """

    def __init__(self, communicator: Communicator, engine: Engine, number: int, host: Constraint, machine: int) -> None:
        """Start on a host, which is the machine of that number."""
        self.number = number
        self.size = communicator.size
        self.pending: dict[tuple[int, int, Tag], list[Message]] = {}
        self._communicator = communicator
        self._engine = engine
        self._host = host
        self._machine = machine

    def compute(self, flops: float) -> Script:
        """Compute on one core of the host."""
        action = yield (self._engine.start, Work({self._host: flops}, (self._machine,)))
        yield (self._engine.wait, action, -1.0)

    def sleep(self, seconds: float) -> Script:
        """Sleep for some seconds."""
        if seconds > 0.0:
            yield (self._engine.sleep, seconds)

    def begin_send(self, to: int, tag: Tag, size: int) -> Script:
        """Begin to send; return the message."""
        message = Message(self.number, to, tag, size)
        yield (self._communicator.send, message)
        return message

    def begin_receive(self, source: int, tag: Tag, size: int) -> Script:
        """Begin to receive; return the message."""
        message = Message(source, self.number, tag, size)
        yield (self._communicator.receive, message)
        return message

    def wait(self, messages: Sequence[Message]) -> Script:
        """Wait until messages are over."""
        yield (self._communicator.wait, messages)

    def send(self, to: int, tag: Tag, size: int) -> Script:
        """Send, and wait as long as a sender must."""
        yield from self.wait([(yield from self.begin_send(to, tag, size))])

    def receive(self, source: int, tag: Tag, size: int) -> Script:
        """Receive."""
        yield from self.wait([(yield from self.begin_receive(source, tag, size))])

    def exchange(self, sent: Mapping[int, int], received: Mapping[int, int], tag: Tag) -> Script:
        """Send bytes to some ranks and receive bytes from others, all at once."""
        messages: list[Message] = []
        for source, size in received.items():
            messages.append((yield from self.begin_receive(source, tag, size)))
        for to, size in sent.items():
            messages.append((yield from self.begin_send(to, tag, size)))
        yield from self.wait(messages)

    def others(self, size: int) -> dict[int, int]:
        """Return all ranks but this one, each with the same size."""
        return {rank: size for rank in range(self.size) if rank != self.number}


# Collective operations ------------------------------------------------------------------------------------------


def barrier(me: Rank) -> Script:
    """Make all ranks report to rank 0, then rank 0 to all."""
    yield from collect(me, 0, 0, me.others(0), "barrier")
    yield from spread(me, 0, me.others(0), 0, "barrier")


def broadcast(me: Rank, root: int, size: int) -> Script:
    """Send from the root to all by a binomial tree."""
    place, bit = (me.number - root) % me.size, 1
    while bit < me.size and not place & bit:
        bit *= 2
    if bit < me.size:
        yield from me.receive((me.number - bit) % me.size, "bcast", size)
    while bit > 1:
        bit //= 2
        if place + bit < me.size:
            yield from me.send((me.number + bit) % me.size, "bcast", size)


def reduce(me: Rank, root: int, size: int) -> Script:
    """Send from all to the root."""
    yield from collect(me, root, size, me.others(size), "reduce")


def collect(me: Rank, root: int, sent: int, received: Mapping[int, int], tag: Tag) -> Script:
    """Send from all to the root, which receives the given size from each."""
    if me.number == root:
        yield from me.exchange({}, without(received, root), tag)
    else:
        yield from me.send(root, tag, sent)


def spread(me: Rank, root: int, sent: Mapping[int, int], received: int, tag: Tag) -> Script:
    """Send from the root to all others, the given size to each."""
    if me.number == root:
        yield from me.exchange(without(sent, root), {}, tag)
    else:
        yield from me.receive(root, tag, received)


def everybody(me: Rank, sent: Mapping[int, int], received: Mapping[int, int], tag: Tag) -> Script:
    """Send from each to all others, all at once."""
    yield from me.exchange(without(sent, me.number), without(received, me.number), tag)


def without(sizes: Mapping[int, int], rank: int) -> dict[int, int]:
    """Return the sizes of all ranks but one."""
    return {other: size for other, size in sizes.items() if other != rank}


def all_to_all(ranks: int, sent: int, received: int) -> Callable[[Rank], Script]:
    """Send a block from each rank to each: at once, in pairs, or (Bruck's algorithm) in rounds of doubled distance.

    Raises:
        ValueError: SimGrid would use pairs, which needs a power of two.
    """
    line = next(line for line in WAYS_OF_ALL_TO_ALL if ranks < line[0])
    if line[1] <= sent < line[2]:
        return lambda me: _in_rounds(me, sent)
    if line[3] <= sent < line[4]:
        if ranks & (ranks - 1):
            raise ValueError(
                f"SimGrid cannot do alltoall with blocks of {sent} bytes among {ranks} ranks (no power of 2)"
            )
        return lambda me: _in_pairs(me, sent, received)
    return lambda me: everybody(me, me.others(sent), me.others(received), "alltoall")


def _in_pairs(me: Rank, sent: int, received: int) -> Script:
    for step in range(1, me.size):
        yield from me.exchange({me.number ^ step: sent}, {me.number ^ step: received}, "alltoall")


def _in_rounds(me: Rank, block: int) -> Script:
    distance = 1
    while distance < me.size:
        size = block * sum(1 for number in range(me.size) if number & distance)
        to, source = (me.number + distance) % me.size, (me.number - distance) % me.size
        yield from me.exchange({to: size}, {source: size}, "alltoall")
        distance *= 2
