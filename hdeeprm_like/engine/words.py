"""The cores of a cluster as words of 64 bits, and the cores of a job as stretches of neighbouring cores.

So the cost of a job depends on its stretches and their words, not on its number of cores; where a processor has many
words, equal ones are joined, see `joined_words`. Each processor begins at a new word, whose bits are its cores from the
lowest on; words are signed because numba makes floats of expressions that mix unsigned with signed integers.
"""

from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.compiled import inlined, lowest_bit, shift_left, zeros_above
from hdeeprm_like.types import Bools, Ints, Records

BITS = 64
LARGE = 64  # words of a processor from which on equal ones are joined; for fewer that takes longer

WORD = np.dtype(
    [
        ("cores", "i8"),  # bits: cores that exist
        ("serving", "i8"),  # bits: cores that serve a job
        ("available", "i8"),  # bits: cores not withdrawn by an external event
        ("begins", "i8"),  # bits: cores at which the cores of a job begin in this word; Tables.owners has the job
        ("low", "i8"),  # bits: the low and ...
        ("high", "i8"),  # ... the high bit of the P-state last requested from the simulator
        ("first", "i4"),  # first core
        ("processor", "i4"),
        ("touched", "i8"),  # 1 if the word is in Tables.touched
    ],
    align=True,
)

STRETCH = np.dtype([("first", "i4"), ("cores", "i4")], align=True)  # neighbouring cores, from the first on


def new_words(platform: Platform) -> Records:
    """Return (W,) WORD of an idle platform in the deepest sleep state, processor after processor."""
    cores = platform.processor_cores
    counts = words_of(cores)
    processor = np.repeat(np.arange(platform.processors), counts)
    place = np.arange(len(processor)) - np.repeat(np.cumsum(counts) - counts, counts)  # word in its processor
    words = np.zeros(len(processor), WORD)
    words["processor"] = processor
    words["first"] = (np.cumsum(cores) - cores)[processor] + BITS * place
    there = np.minimum(cores[processor] - BITS * place, BITS)
    words["cores"] = np.where(there == BITS, -1, (1 << np.minimum(there, BITS - 1)) - 1)
    for name in ("available", "low", "high"):
        words[name] = words["cores"]
    return words


def words_of(cores: Ints) -> Ints:
    """Return how many words *cores* cores of a processor take."""
    return -(-cores // BITS)


def of_cores(words: Records, name: str) -> Bools:
    """Return (C,) one bit field of every core, for Python."""
    return unpacked(words[name])[unpacked(words["cores"])]


def unpacked(bits: Ints) -> Bools:
    """Return the bits of words, lowest first."""
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), bitorder="little").astype(np.bool_)


def cores_in(stretches: Records) -> Ints:
    """Return the cores of stretches of an allocation, in ascending order."""
    if len(stretches) == 0:
        return np.zeros(0, np.int64)
    return np.concatenate([np.arange(first, first + cores) for first, cores in sorted(stretches.tolist())])


@inlined
def highest_bit(word: int) -> int:
    """Return the number of the highest set bit, -1 for none."""
    return int(BITS - 1 - zeros_above(word))


@inlined
def bits(first: int, count: int) -> int:
    """Return a word with *count* set bits from *first* on."""
    return -1 if count == BITS else (shift_left(~shift_left(-1, count), first))


@inlined
def without_lowest(word: int) -> int:
    """Return a word without its lowest set bit; the shift by nothing wraps in plain Python, too, at the highest bit."""
    return word & shift_left(word - 1, 0)


@inlined
def stretch_at(word: int, first: int) -> int:
    """Return how many consecutive bits are set from *first* on; that one must be set."""
    return int(min(lowest_bit(~(word >> first)), BITS - first))


@inlined
def of_pstate(word: Any, pstate: int) -> int:
    """Return the bits of the cores whose last requested P-state is this one."""
    low = word.low if pstate & 1 else ~word.low
    high = word.high if pstate & 2 else ~word.high
    return int(low & high & word.cores)


@inlined
def common_pstate(word: Any, cores: int) -> int:
    """Return the last requested P-state of some cores of a word, given as bits; -1 if they differ."""
    low, high = word.low & cores, word.high & cores
    if (low != 0 and low != cores) or (high != 0 and high != cores):
        return -1
    return (1 if low != 0 else 0) + (2 if high != 0 else 0)
