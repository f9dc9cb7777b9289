"""The lines of an MPI trace, as in SimGrid's replays: ``RANK OPERATION ARGUMENTS...``.

To support another operation, write the reader of its arguments and add a line to `OPERATIONS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hdeeprm_like.batsim_server import mpi
from hdeeprm_like.batsim_server.engine import Script
from hdeeprm_like.batsim_server.mpi import Rank
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

Step = tuple[Callable[..., Script], tuple[Any, ...]]  # what a rank does, and the arguments after itself


class Operation(NamedTuple):
    """An operation of a trace.

    Attributes:
        script: what a rank does, given the arguments that *read* returns.
        words: how many words a line has after the operation at least, besides *each* of every rank.
        form: describes these words.
    """

    script: Callable[..., Script]
    read: Callable[["Line"], tuple[Any, ...]]
    words: int = 0
    form: str = ""
    each: int = 0


class Line:
    """The arguments of one line, checked as they are read; a `ValueError` describes a mistake."""

    def __init__(self, words: Sequence[str], ranks: int, element: int) -> None:
        """Keep the words after the operation; *element* is the size in bytes of an element without a type."""
        self.words = words
        self.ranks = ranks
        self.element = element

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
        return Whole(0, end - 1).in_text(self.words[position], ValueError, what)

    def size(self, count: int, kind: int) -> int:
        """Return the bytes of elements, from the positions of their number and of their type."""
        return self.count(count) * self.type(kind)

    def sizes(self, first: int, kind: int) -> dict[int, int]:
        """Return the bytes of the elements of each rank, whose numbers begin at position *first*."""
        return {rank: self.size(first + rank, kind) for rank in range(self.ranks)}

    def each(self, size: int) -> dict[int, int]:
        """Return the same size for each rank."""
        return dict.fromkeys(range(self.ranks), size)


def _sending(line: Line) -> tuple[int, int, int, bool]:
    return line.rank(0), int(line.words[1]), line.size(2, 3), True


def _receiving(line: Line) -> tuple[int, int, int, bool]:
    if line.count(2) == 0:
        raise ValueError("a receive needs a number of elements; a query of the number is not replayed")
    return line.rank(0), int(line.words[1]), line.size(2, 3), False


def _all_to_all(line: Line) -> tuple[Callable[[Rank], Script]]:
    sent, received = line.size(0, 2), line.size(1, 3)
    if sent > received:
        raise ValueError(f"{sent} bytes are sent to those who take {received}")
    return (mpi.all_to_all(line.ranks, sent, received),)


def _all_to_all_sizes(line: Line) -> tuple[Any, ...]:
    ranks = line.ranks
    typed = len(line.words) > 2 * ranks + 3
    sent = line.sizes(1, 2 * ranks + 2 if typed else NOWHERE)
    received = line.sizes(ranks + 2, 2 * ranks + 3 if typed else NOWHERE)
    return sent, received, "alltoallv"


def _waiting(line: Line) -> tuple[int, int, int]:
    return line.rank(0), line.rank(1), int(line.words[2])


def _gather(line: Line) -> tuple[Any, ...]:
    return line.rank(2), line.size(0, 3), line.each(line.size(1, 4)), "gather"


def _gather_to_all(line: Line) -> tuple[Any, ...]:
    return line.each(line.size(0, 2)), line.each(line.size(1, 3)), "allgather"


def _scatter(line: Line) -> tuple[Any, ...]:
    return line.rank(2), line.each(line.size(0, 3)), line.size(1, 4), "scatter"


def _gather_sizes(line: Line) -> tuple[Any, ...]:
    ranks = line.ranks
    return line.rank(ranks + 1), line.size(0, ranks + 2), line.sizes(1, ranks + 3), "gatherv"


def _gather_sizes_to_all(line: Line) -> tuple[Any, ...]:
    ranks = line.ranks
    typed = len(line.words) > 2 * ranks + 1 or ranks + 1 < len(line.words) <= ranks + 3  # otherwise these are offsets
    sent = line.size(0, ranks + 1 if typed else NOWHERE)
    return line.each(sent), line.sizes(1, ranks + 2 if typed else NOWHERE), "allgatherv"


def _scatter_sizes(line: Line) -> tuple[Any, ...]:
    ranks = line.ranks
    typed = len(line.words) > ranks + 3
    sent, root = line.sizes(0, ranks + 2 if typed else NOWHERE), line.rank(ranks + 1)
    return root, sent, line.size(ranks, ranks + 3 if typed else NOWHERE), "scatterv"


def _reduce_and_scatter(line: Line) -> tuple[Any, ...]:
    sizes = line.sizes(0, line.ranks + 1)
    if len(set(sizes.values())) > 1:
        raise ValueError("reducescatter with another size for each rank goes another way, which is not replayed")
    return sizes, line.number(line.ranks)


_NOTHING = Operation(lambda me: iter(()), lambda line: ())  # type: ignore[arg-type,return-value]
_ONE, _PAIR = "a rank, a tag and a number of elements", "a number of elements to send and to receive"
_REDUCED, _SIZES = "a number of elements and of flops", "a number of elements to send and those from each rank"
_SCATTERED = "the elements to each rank and a number of those to receive"
_BOTH = "the size of a buffer and the elements to each rank, then the same for those received"
OPERATIONS: Mapping[str, Operation] = {
    **dict.fromkeys(("init", "finalize", "comm_size", "comm_split", "comm_dup", "location"), _NOTHING),
    "compute": Operation(Rank.compute, lambda line: (line.number(0),), 1, "a number of flops"),
    "sleep": Operation(Rank.sleep, lambda line: (line.number(0),), 1, "a time in s"),
    "send": Operation(Rank.perform, _sending, 3, _ONE),
    "isend": Operation(Rank.begin_pending, _sending, 3, _ONE),
    "recv": Operation(Rank.perform, _receiving, 3, _ONE),
    "irecv": Operation(Rank.begin_pending, _receiving, 3, _ONE),
    "wait": Operation(Rank.wait_pending, _waiting, 3, "a sender, a receiver and a tag"),
    "waitall": Operation(Rank.wait_all, lambda line: ()),
    "barrier": Operation(mpi.barrier, lambda line: ()),
    "bcast": Operation(mpi.broadcast, lambda line: (line.rank(1), line.size(0, 2)), 1, "a number of elements"),
    "reduce": Operation(mpi.reduce, lambda line: (line.rank(2), line.size(0, 3), line.number(1)), 2, _REDUCED),
    "allreduce": Operation(mpi.reduce_to_all, lambda line: (line.size(0, 2), line.number(1)), 2, _REDUCED),
    "alltoall": Operation(lambda me, step: step(me), _all_to_all, 2, _PAIR),
    "alltoallv": Operation(Rank.exchange, _all_to_all_sizes, 2, _BOTH, 2),
    "gather": Operation(mpi.collect, _gather, 2, _PAIR),
    "gatherv": Operation(mpi.collect, _gather_sizes, 1, _SIZES, 1),
    "allgather": Operation(Rank.exchange, _gather_to_all, 2, _PAIR),
    "allgatherv": Operation(Rank.exchange, _gather_sizes_to_all, 1, _SIZES, 1),
    "scatter": Operation(mpi.spread, _scatter, 2, _PAIR),
    "scatterv": Operation(mpi.spread, _scatter_sizes, 1, _SCATTERED, 1),
    "reducescatter": Operation(
        mpi.reduce_and_scatter, _reduce_and_scatter, 1, "the elements of each rank and a number of flops", 1
    ),
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
        operation, line = OPERATIONS[name], Line(words[1:], ranks, element)
        try:
            if len(line.words) < operation.words + operation.each * ranks:
                raise ValueError(f"needs {operation.form}")
            steps.append((operation.script, operation.read(line)))
        except ValueError as cause:
            raise WorkloadError(f"{where}: {cause}") from cause
    return steps


def replay(me: Rank, steps: Sequence[Step]) -> Script:
    """Execute the steps, then wait for everything begun."""
    for script, arguments in steps:
        yield from script(me, *arguments)
    yield from me.wait_all()
