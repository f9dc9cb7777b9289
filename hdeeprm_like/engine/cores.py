"""Single cores: which serve jobs, which are available, and which may have changed P-state in this instant."""

from collections.abc import Iterator
from typing import Any

from hdeeprm_like.engine.compiled import compiled, count_bits, entry, inlined, shift_left
from hdeeprm_like.engine.joined_words import (
    forget_joined,
    joins_words,
    note_room,
    release_joined,
    separate,
    touch_words,
)
from hdeeprm_like.engine.processor_keys import raise_keys
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import BITS, bits


@inlined
def word_of(tables: Tables, core: int) -> int:
    """Return the word that a core is in."""
    processor = tables.processors[tables.core_processor[core]]
    return int(processor.first_word + (core - processor.first_core) // BITS)


@inlined
def begin_words(tables: Tables, stretch: Any) -> tuple[int, int, int]:
    """Return the word and the bit at which a stretch begins, and its number of cores."""
    w = word_of(tables, stretch.first)
    return w, stretch.first - tables.words[w].first, stretch.cores


@inlined
def touch(tables: Tables, w: int) -> None:
    """Record that the cores of a word may have changed P-state in this instant."""
    if tables.words[w].touched:
        return
    tables.words[w].touched = 1
    clock = tables.clock[0]
    tables.touched[clock.touched] = w
    clock.touched += 1


@compiled
def forget_touched(tables: Tables) -> None:
    """Clear the list of touched words."""
    if joins_words(tables):
        forget_joined(tables)
        return
    clock = tables.clock[0]
    for i in range(clock.touched):
        tables.words[tables.touched[i]].touched = 0
    clock.touched = 0


@inlined
def cores_of(tables: Tables, begin: int, j: int) -> Iterator[tuple[int, int, int]]:
    """Yield each processor of a job, the first of its neighbouring cores there, and their number.

    Args:
        begin: place of its first stretch in the allocation.
    """
    for place in range(begin, begin + tables.jobs[j].stretches):
        first, left = tables.allocation[place].first, tables.allocation[place].cores
        p = tables.core_processor[first]
        while left > 0 and p < len(tables.processors):
            count = min(left, tables.processors[p].first_core + tables.processors[p].cores - first)
            yield p, first, count
            first, left, p = first + count, left - count, p + 1


@compiled
def available_in(tables: Tables, first: int, cores: int) -> int:
    """Return how many of some neighbouring cores are available."""
    w, left, available = word_of(tables, first), cores, 0
    bit = first - tables.words[w].first
    while left > 0:
        count = min(left, count_bits(tables.words[w].cores) - bit)
        available += count_bits(bits(bit, count) & tables.words[w].available)
        w, bit, left = w + 1, 0, left - count
    return available


@compiled
def release(tables: Tables, first: int, cores: int) -> int:
    """Take neighbouring cores from their job; return how many of them are available."""
    w, left, available = word_of(tables, first), cores, 0
    bit = first - tables.words[w].first
    if joins_words(tables):
        return release_joined(tables, w, bit, cores)
    while left > 0:
        word = tables.words[w]
        count = min(left, count_bits(word.cores) - bit)
        freed = bits(bit, count)
        word.serving &= ~freed
        word.begins &= ~freed
        available += count_bits(freed & word.available)
        note_room(tables, w)
        touch(tables, w)
        w, bit, left = w + 1, 0, left - count
    return available


@compiled
def touch_all(tables: Tables, p: int) -> None:
    """Record that all cores of a processor may have changed P-state in this instant."""
    processor = tables.processors[p]
    if joins_words(tables):
        touch_words(tables, processor.first_word, processor.words)
        return
    for w in range(processor.first_word, processor.first_word + processor.words):
        touch(tables, w)


@entry
def set_available(tables: Tables, core: int, available: bool) -> None:
    """Withdraw a core or return it to service; a job that runs on it continues (Batsim's machine events)."""
    w = word_of(tables, core)
    if joins_words(tables):
        separate(tables, w, w + 1)
    word, load = tables.words[w], tables.loads[tables.words[w].processor]
    bit = shift_left(1, core - word.first)
    if (word.available & bit != 0) == available:
        return
    word.available ^= bit
    if word.serving & bit == 0:
        change = 1 if available else -1
        load.free += change
        note_room(tables, w)
        raise_keys(tables, word.processor)
        tables.clock[0].free_cores += change
