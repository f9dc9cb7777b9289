"""The cores of a cluster in words of 64 bits, and the cores of a job in stretches of neighbours.

So a job costs by its stretches and the words that these lie in, and not by its cores. Each processor begins a word of
its own, whose bits are its cores from the lowest on; words are signed because numba makes floats of unsigned ones that
meet signed ones.
"""

from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.compiled import inlined, lowest_bit, shift_left, zeros_above
from hdeeprm_like.types import Bools, Ints, Records

BITS = 64

WORD = np.dtype(
    [
        ("cores", "i8"),  # bits: that there are
        ("serving", "i8"),  # bits: that serve a job
        ("available", "i8"),  # bits: that are not withdrawn by an external event
        ("begins", "i8"),  # bits: at which the cores of a job begin in this word; Tables.owners tells of which one
        ("low", "i8"),  # bits: the lower and ...
        ("high", "i8"),  # ... the higher digit of the P-state that was last asked of the simulator
        ("first", "i4"),  # core
        ("processor", "i4"),
        ("touched", "i8"),  # 1 when it is in Tables.touched
    ],
    align=True,
)

STRETCH = np.dtype([("first", "i4"), ("cores", "i4")], align=True)  # neighbours, from the first on


def new_words(platform: Platform) -> Records:
    """Return (W,) WORD of an idle platform in the deepest sleep, those of one processor after those of another."""
    cores = platform.processor_cores
    counts = words_of(cores)
    processor = np.repeat(np.arange(platform.processors), counts)
    place = np.arange(len(processor)) - np.repeat(np.cumsum(counts) - counts, counts)  # of the word in its processor
    words = np.zeros(len(processor), WORD)
    words["processor"] = processor
    words["first"] = (np.cumsum(cores) - cores)[processor] + BITS * place
    there = np.minimum(cores[processor] - BITS * place, BITS)
    words["cores"] = np.where(there == BITS, -1, (1 << np.minimum(there, BITS - 1)) - 1)
    for name in ("available", "low", "high"):
        words[name] = words["cores"]
    return words


def words_of(cores: Ints) -> Ints:
    """Return how many words so many cores of a processor take."""
    return -(-cores // BITS)


def of_cores(words: Records, name: str) -> Bools:
    """Return (C,) a bit of each core, for Python."""
    return unpacked(words[name])[unpacked(words["cores"])]


def unpacked(bits: Ints) -> Bools:
    """Return the bits of words, the lowest of each first."""
    return np.unpackbits(np.ascontiguousarray(bits).view(np.uint8), bitorder="little").astype(np.bool_)


def cores_in(stretches: Records) -> Ints:
    """Return the cores of stretches, as they are in the allocation, in ascending order."""
    if len(stretches) == 0:
        return np.zeros(0, np.int64)
    return np.concatenate([np.arange(first, first + cores) for first, cores in sorted(stretches.tolist())])


@inlined
def highest_bit(word: int) -> int:
    """Return the number of the highest bit that is set, -1 for none."""
    return int(BITS - 1 - zeros_above(word))


@inlined
def bits(first: int, count: int) -> int:
    """Return a word in which so many bits are set, from one on."""
    return -1 if count == BITS else (shift_left(~shift_left(-1, count), first))


@inlined
def stretch_at(word: int, first: int) -> int:
    """Return how many bits are set from one on that is."""
    return int(min(lowest_bit(~(word >> first)), BITS - first))


@inlined
def of_pstate(word: Any, pstate: int) -> int:
    """Return the bits of the cores of which a P-state was asked last."""
    low = word.low if pstate & 1 else ~word.low
    high = word.high if pstate & 2 else ~word.high
    return int(low & high & word.cores)


@inlined
def common_pstate(word: Any, cores: int) -> int:
    """Return the P-state that was asked last of all of some cores of a word, given as bits; -1 if they differ."""
    low, high = word.low & cores, word.high & cores
    if (low != 0 and low != cores) or (high != 0 and high != cores):
        return -1
    return (1 if low != 0 else 0) + (2 if high != 0 else 0)
