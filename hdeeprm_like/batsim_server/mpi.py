"""Messages between the ranks of an MPI job: sends, receives, and the collective operations made of them.

A transfer starts when both sender and receiver are there. The sender of a small message continues at once, that of a
large one when it has arrived. The collectives are those of SimGrid's replays by default: ``bcast`` uses a tree,
``alltoall`` depends on the sizes, in the others one rank or each rank sends to all at once.

Source: SMPI of SimGrid 3.32, with the network of the host model ptask_L07.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from hdeeprm_like.batsim_server.clock import Action
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
        sends: whether it is the send.
        over: whether the rank that began it may continue.
        on_end: called with it when it is over, if a rank waits for it.
    """

    def __init__(self, sender: int, receiver: int, tag: Tag, size: int, sends: bool) -> None:
        """Begin the send or receive."""
        self.sender, self.receiver, self.tag, self.size, self.sends = sender, receiver, tag, size, sends
        self.over = False
        self.on_end: Callable[[Message], None] | None = None

    def end(self) -> None:
        """Wake the rank that waits for it."""
        if not self.over:
            self.over = True
            if self.on_end is not None:
                self.on_end(self)

    def meets(self, other: "Message") -> bool:
        """Whether the two are the sides of one message."""
        return self.sends != other.sends and self.sender == other.sender and self.tag == other.tag


class Communicator:
    """All ranks of one job, and the messages between them."""

    def __init__(self, engine: Engine, hosts: Sequence[str]) -> None:
        """Connect ranks on hosts given by name, one per rank."""
        self.engine = engine
        self._hosts = hosts
        self.size = len(hosts)
        self._waiting: list[list[Message]] = [[] for _ in hosts]  # for their other side, by receiver
        self._moving: set[Action] = set()

    def begin(self, actor: Actor, message: Message) -> None:
        """Request of an actor: begin to send or to receive."""
        waiting = self._waiting[message.receiver]
        other = next(filter(message.meets, waiting), None)
        if other is None:
            waiting.append(message)
        else:
            waiting.remove(other)
            self._move(*((message, other) if message.sends else (other, message)))
        if message.sends and _as_int32(message.size) < DETACHED:
            message.over = True
        self.engine.wake(actor, None)

    def wait(self, actor: Actor, messages: Iterable[Message]) -> None:
        """Request of an actor: continue when all these messages are over."""
        awaited = {message for message in messages if not message.over}

        def end(message: Message) -> None:
            awaited.remove(message)
            if not awaited:
                self.engine.wake(actor, None)

        for message in awaited:
            message.on_end = end
        if not awaited:
            self.engine.wake(actor, None)

    def close(self) -> None:
        """Stop all messages: the job is killed."""
        for action in self._moving:
            self.engine.remove(action)
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
        action = self.engine.carry(hosts[send.sender], hosts[send.receiver], send.size + ENVELOPE, arrive)
        self._moving.add(action)


def _as_int32(size: int) -> int:
    """Return a size as SimGrid compares it with the limit of small messages: as a signed 32-bit number."""
    return (size + 2**31) % 2**32 - 2**31


class Rank:
    """One rank of a job, with its operations.

    Attributes:
        number: from 0. size: the number of ranks.
        pending: operations begun and not waited for yet, by sender, receiver and tag, in order.
    """

    def __init__(self, communicator: Communicator, number: int, host: Constraint, machine: int) -> None:
        """Start on a host, which is the machine of that number."""
        self.number = number
        self.size = communicator.size
        self.pending: dict[tuple[int, int, Tag], list[Message]] = {}
        self._communicator, self._engine = communicator, communicator.engine
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

    def begin(self, other: int, tag: Tag, size: int, sends: bool) -> Script:
        """Begin to send to another rank, or to receive from it; return the message."""
        sender, receiver = (self.number, other) if sends else (other, self.number)
        message = Message(sender, receiver, tag, size, sends)
        yield (self._communicator.begin, message)
        return message

    def begin_pending(self, other: int, tag: Tag, size: int, sends: bool) -> Script:
        """Begin to send or to receive, and remember that this is to be waited for."""
        message = yield from self.begin(other, tag, size, sends)
        self.pending.setdefault((message.sender, message.receiver, tag), []).append(message)

    def wait(self, messages: Sequence[Message]) -> Script:
        """Wait until messages are over."""
        yield (self._communicator.wait, messages)

    def wait_pending(self, sender: int, receiver: int, tag: Tag) -> Script:
        """Wait for the first that was begun so, if there is one."""
        if waiting := self.pending.get((sender, receiver, tag)):
            yield from self.wait([waiting.pop(0)])

    def wait_all(self) -> Script:
        """Wait for everything begun."""
        messages = [message for waiting in self.pending.values() for message in waiting]
        self.pending.clear()
        yield from self.wait(messages)

    def perform(self, other: int, tag: Tag, size: int, sends: bool) -> Script:
        """Send, and wait as long as a sender must; or receive."""
        yield from self.wait([(yield from self.begin(other, tag, size, sends))])

    def exchange(self, sent: Mapping[int, int], received: Mapping[int, int], tag: Tag) -> Script:
        """Send bytes to other ranks and receive bytes from others, all at once."""
        messages: list[Message] = []
        for sizes, sends in ((received, False), (sent, True)):
            for other, size in sizes.items():
                if other != self.number:
                    messages.append((yield from self.begin(other, tag, size, sends)))
        yield from self.wait(messages)


# Collective operations ------------------------------------------------------------------------------------------


def barrier(me: Rank) -> Script:
    """Make all ranks report to rank 0, then rank 0 to all."""
    nothing = dict.fromkeys(range(me.size), 0)
    yield from collect(me, 0, 0, nothing, "barrier")
    yield from spread(me, 0, nothing, 0, "barrier")


def broadcast(me: Rank, root: int, size: int) -> Script:
    """Send from the root to all by a binomial tree."""
    place, bit = (me.number - root) % me.size, 1
    while bit < me.size and not place & bit:
        bit *= 2
    if bit < me.size:
        yield from me.perform((me.number - bit) % me.size, "bcast", size, False)
    while bit > 1:
        bit //= 2
        if place + bit < me.size:
            yield from me.perform((me.number + bit) % me.size, "bcast", size, True)


def reduce(me: Rank, root: int, size: int, flops: float) -> Script:
    """Send from all to the root, then compute."""
    yield from collect(me, root, size, dict.fromkeys(range(me.size), size), "reduce")
    yield from me.compute(flops)


def reduce_to_all(me: Rank, size: int, flops: float) -> Script:
    """Send from all to rank 0 and back, then compute."""
    yield from collect(me, 0, size, dict.fromkeys(range(me.size), size), "reduce")
    yield from broadcast(me, 0, size)
    yield from me.compute(flops)


def reduce_and_scatter(me: Rank, sizes: Mapping[int, int], flops: float) -> Script:
    """Send from all to rank 0, and a part back to each, then compute."""
    total = sum(sizes.values())
    yield from collect(me, 0, total, dict.fromkeys(sizes, total), "reduce")
    yield from spread(me, 0, sizes, sizes[me.number], "scatterv")
    yield from me.compute(flops)


def collect(me: Rank, root: int, sent: int, received: Mapping[int, int], tag: Tag) -> Script:
    """Send from all to the root, which receives the given size from each."""
    if me.number == root:
        yield from me.exchange({}, received, tag)
    else:
        yield from me.perform(root, tag, sent, True)


def spread(me: Rank, root: int, sent: Mapping[int, int], received: int, tag: Tag) -> Script:
    """Send from the root to all others, the given size to each."""
    if me.number == root:
        yield from me.exchange(sent, {}, tag)
    else:
        yield from me.perform(root, tag, received, False)


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
    every = range(ranks)
    return lambda me: me.exchange(dict.fromkeys(every, sent), dict.fromkeys(every, received), "alltoall")


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
