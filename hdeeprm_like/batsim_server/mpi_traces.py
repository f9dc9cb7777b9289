"""The lines of an MPI trace, as in SimGrid's replays: ``RANK OPERATION ARGUMENTS...``.

To support another operation, write the reader of its arguments and add a line to `OPERATIONS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from hdeeprm_like.batsim_server import mpi
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.mpi import Message, Rank
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.values import INT_MOST, UTMOST, Number, Whole

FLOPS = Number(0.0, UTMOST)
ELEMENTS = Number(0.0, INT_MOST, noun="number of elements")  # SimGrid counts them in signed 32 bits
TYPES = (8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8)
"""The bytes of an element by the number of its type: 0 double, 1 int, 2 char, 3 short, 4 long, 5 float, 6 byte, ..."""
BYTE, DOUBLE = TYPES[6], TYPES[0]
NOWHERE = 2**31  # a position beyond the words of any line
NOT_REPLAYED = {
    "test": "how often a program looks whether a message is there depends on the run that was recorded",
}

Step = Callable[[Rank], Script]


@cache
def numbers_below(end: int) -> Whole:
    """Return the kind of the numbers from 0 on below an end."""
    return Whole(0, end - 1)


class Line:
    """The arguments of one line, checked as they are read; a `ValueError` describes a mistake."""

    def __init__(self, words: Sequence[str], ranks: int, element: int) -> None:
        """Keep the words after the operation; *element* is the size in bytes of an element without a type."""
        self.words = words
        self.ranks = ranks
        self.element = element

    def need(self, count: int, form: str) -> None:
        """Require *count* words; *form* describes them."""
        if len(self.words) < count:
            raise ValueError(f"needs {form}")

    def number(self, position: int, kind: Number = FLOPS) -> float:
        """Return a number of a kind, nonnegative flops unless another is named."""
        return kind.in_text(self.words[position], ValueError, f"word {position + 1}")

    def count(self, position: int) -> int:
        """Return a number of elements."""
        return int(self.number(position, ELEMENTS))

    def rank(self, position: int) -> int:
        """Return the number of a rank; 0 if missing."""
        return self._number_below(self.ranks, position, "rank") if position < len(self.words) else 0

    def type(self, position: int) -> int:
        """Return the size of an element in bytes, by the number of its type."""
        return TYPES[self._number_below(len(TYPES), position, "type")] if position < len(self.words) else self.element

    def _number_below(self, end: int, position: int, what: str) -> int:
        return numbers_below(end).in_text(self.words[position], ValueError, what)

    def size(self, count: int, kind: int) -> int:
        """Return the bytes of elements, from the positions of their number and of their type."""
        return self.count(count) * self.type(kind)

    def sizes(self, first: int, kind: int) -> dict[int, int]:
        """Return the bytes of the elements of each rank, whose numbers begin at position *first*."""
        return {rank: self.size(first + rank, kind) for rank in range(self.ranks)}


def _nothing(line: Line) -> Step:
    return lambda me: iter(())  # type: ignore[return-value]


def _compute(line: Line) -> Step:
    line.need(1, "a number of flops")
    flops = line.number(0)
    return lambda me: me.compute(flops)


def _sleep(line: Line) -> Step:
    line.need(1, "a time in s")
    seconds = line.number(0)
    return lambda me: me.sleep(seconds)


def _send(line: Line) -> Step:
    line.need(3, "a rank, a tag and a number of elements")
    to, tag, size = line.rank(0), int(line.words[1]), line.size(2, 3)
    return lambda me: me.send(to, tag, size)


def _receive(line: Line) -> Step:
    source, tag, size = _receiving(line)
    return lambda me: me.receive(source, tag, size)


def _receiving(line: Line) -> tuple[int, int, int]:
    line.need(3, "a rank, a tag and a number of elements")
    if line.count(2) == 0:
        raise ValueError("a receive needs a number of elements; a query of the number is not replayed")
    return line.rank(0), int(line.words[1]), line.size(2, 3)


def _begin_send(line: Line) -> Step:
    line.need(3, "a rank, a tag and a number of elements")
    to, tag, size = line.rank(0), int(line.words[1]), line.size(2, 3)

    def step(me: Rank) -> Script:
        _remember(me, (yield from me.begin_send(to, tag, size)))

    return step


def _begin_receive(line: Line) -> Step:
    source, tag, size = _receiving(line)

    def step(me: Rank) -> Script:
        _remember(me, (yield from me.begin_receive(source, tag, size)))

    return step


def _remember(me: Rank, message: Message) -> None:
    me.pending.setdefault((message.sender, message.receiver, message.tag), []).append(message)


def _wait(line: Line) -> Step:
    line.need(3, "a sender, a receiver and a tag")
    key = (line.rank(0), line.rank(1), int(line.words[2]))

    def step(me: Rank) -> Script:
        waiting = me.pending.get(key)
        if waiting:
            yield from me.wait([waiting.pop(0)])

    return step


def wait_all(me: Rank) -> Script:
    """Wait for everything begun."""
    messages = [message for waiting in me.pending.values() for message in waiting]
    me.pending.clear()
    yield from me.wait(messages)


def _broadcast(line: Line) -> Step:
    line.need(1, "a number of elements")
    size, root = line.size(0, 2), line.rank(1)
    return lambda me: mpi.broadcast(me, root, size)


def _reduce(line: Line) -> Step:
    line.need(2, "a number of elements and of flops")
    size, flops, root = line.size(0, 3), line.number(1), line.rank(2)

    def step(me: Rank) -> Script:
        yield from mpi.reduce(me, root, size)
        yield from me.compute(flops)

    return step


def _reduce_to_all(line: Line) -> Step:
    line.need(2, "a number of elements and of flops")
    size, flops = line.size(0, 2), line.number(1)

    def step(me: Rank) -> Script:
        yield from mpi.reduce(me, 0, size)
        yield from mpi.broadcast(me, 0, size)
        yield from me.compute(flops)

    return step


def _all_to_all(line: Line) -> Step:
    line.need(2, "a number of elements to send and to receive")
    sent, received = line.size(0, 2), line.size(1, 3)
    if sent > received:
        raise ValueError(f"{sent} bytes are sent to those who take {received}")
    return mpi.all_to_all(line.ranks, sent, received)


def _all_to_all_sizes(line: Line) -> Step:
    ranks = line.ranks
    line.need(2 * ranks + 2, "the size of a buffer and the elements to each rank, then the same for those received")
    typed = len(line.words) > 2 * ranks + 3
    sent = line.sizes(1, 2 * ranks + 2 if typed else NOWHERE)
    received = line.sizes(ranks + 2, 2 * ranks + 3 if typed else NOWHERE)
    return lambda me: mpi.everybody(me, sent, received, "alltoallv")


def _gather(line: Line) -> Step:
    line.need(2, "a number of elements to send and to receive")
    sent, received, root = line.size(0, 3), line.size(1, 4), line.rank(2)
    return lambda me: mpi.collect(me, root, sent, me.others(received), "gather")


def _gather_sizes(line: Line) -> Step:
    ranks = line.ranks
    line.need(ranks + 1, "a number of elements to send and those from each rank")
    sent, received, root = line.size(0, ranks + 2), line.sizes(1, ranks + 3), line.rank(ranks + 1)
    return lambda me: mpi.collect(me, root, sent, received, "gatherv")


def _gather_to_all(line: Line) -> Step:
    line.need(2, "a number of elements to send and to receive")
    sent, received = line.size(0, 2), line.size(1, 3)
    return lambda me: mpi.everybody(me, me.others(sent), me.others(received), "allgather")


def _gather_sizes_to_all(line: Line) -> Step:
    ranks = line.ranks
    line.need(ranks + 1, "a number of elements to send and those from each rank")
    typed = len(line.words) > 2 * ranks + 1 or ranks + 1 < len(line.words) <= ranks + 3  # otherwise these are offsets
    sent = line.size(0, ranks + 1 if typed else NOWHERE)
    received = line.sizes(1, ranks + 2 if typed else NOWHERE)
    return lambda me: mpi.everybody(me, me.others(sent), received, "allgatherv")


def _scatter(line: Line) -> Step:
    line.need(2, "a number of elements to send and to receive")
    sent, received, root = line.size(0, 3), line.size(1, 4), line.rank(2)
    return lambda me: mpi.spread(me, root, me.others(sent), received, "scatter")


def _scatter_sizes(line: Line) -> Step:
    ranks = line.ranks
    line.need(ranks + 1, "the elements to each rank and a number of those to receive")
    typed = len(line.words) > ranks + 3
    sent, root = line.sizes(0, ranks + 2 if typed else NOWHERE), line.rank(ranks + 1)
    received = line.size(ranks, ranks + 3 if typed else NOWHERE)
    return lambda me: mpi.spread(me, root, sent, received, "scatterv")


def _reduce_and_scatter(line: Line) -> Step:
    ranks = line.ranks
    line.need(ranks + 1, "the elements of each rank and a number of flops")
    sizes, flops = line.sizes(0, ranks + 1), line.number(ranks)
    if len(set(sizes.values())) > 1:
        raise ValueError("reducescatter with another size for each rank goes another way, which is not replayed")

    def step(me: Rank) -> Script:
        yield from mpi.reduce(me, 0, sum(sizes.values()))
        yield from mpi.spread(me, 0, sizes, sizes[me.number], "scatterv")
        yield from me.compute(flops)

    return step


OPERATIONS: Mapping[str, Callable[[Line], Step]] = {
    "init": _nothing,
    "finalize": _nothing,
    "comm_size": _nothing,
    "comm_split": _nothing,
    "comm_dup": _nothing,
    "location": _nothing,
    "compute": _compute,
    "sleep": _sleep,
    "send": _send,
    "isend": _begin_send,
    "recv": _receive,
    "irecv": _begin_receive,
    "wait": _wait,
    "waitall": lambda line: wait_all,
    "barrier": lambda line: mpi.barrier,
    "bcast": _broadcast,
    "reduce": _reduce,
    "allreduce": _reduce_to_all,
    "alltoall": _all_to_all,
    "alltoallv": _all_to_all_sizes,
    "gather": _gather,
    "gatherv": _gather_sizes,
    "allgather": _gather_to_all,
    "allgatherv": _gather_sizes_to_all,
    "scatter": _scatter,
    "scatterv": _scatter_sizes,
    "reducescatter": _reduce_and_scatter,
}


def lines_of(path: Path, rank: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the place of each line of a rank in the file of a trace, and its words after the rank."""
    for number, line in enumerate(read_text(path, WorkloadError).splitlines(), start=1):
        words = line.split()
        if words and words[0] == str(rank):
            yield f"{path}:{number}: {line[:60]!r}", words[1:]


def read_trace(path: Path, rank: int, ranks: int) -> list[Step]:
    """Return the steps of a rank of an MPI job.

    Raises:
        WorkloadError: a line is not supported.
    """
    steps: list[Step] = []
    element = BYTE
    for where, words in lines_of(path, rank):
        name = words[0] if words else ""
        if name not in OPERATIONS:
            why = NOT_REPLAYED.get(name, f"the operations are {', '.join(OPERATIONS)}")
            raise WorkloadError(f"{where}: {name or 'nothing'} is not replayed: {why}")
        if name == "init":
            element = DOUBLE if len(words) > 1 else BYTE
        try:
            steps.append(OPERATIONS[name](Line(words[1:], ranks, element)))
        except ValueError as cause:
            raise WorkloadError(f"{where}: {cause}") from cause
    return steps


def replay(me: Rank, steps: Sequence[Step]) -> Script:
    """Execute the steps, then wait for everything begun."""
    for step in steps:
        yield from step(me)
    yield from wait_all(me)
