"""The cores that a job gets on a processor: the lowest free ones, or random ones."""

from hdeeprm_like.engine.compiled import compiled, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.cores import touch
from hdeeprm_like.engine.joined_words import (
    MANY,
    head_of,
    joins_words,
    last_word,
    note_room,
    run_from,
    separate,
    set_bits,
    touch_words,
)
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.waiting_queue import draw
from hdeeprm_like.engine.words import BITS, bits, stretch_at, without_lowest


@compiled
def take_lowest(tables: Tables, p: int, j: int) -> None:
    """Assign to a job the lowest free cores of a processor, as many as are booked there."""
    needed, w = tables.loads[p].picked, tables.processors[p].first_word
    while needed > 0:
        w = next_roomy(tables, w)
        if w >= len(tables.words):
            return  # never: that many are booked here
        if needed >= MANY * BITS and joins_words(tables):
            end = last_word(tables, w, needed // BITS)
            words = serve_words(tables, w, end, j) if end - w >= MANY else 0
            if words > 0:
                w, needed = w + words, needed - words * BITS
                continue
        free = free_in(tables, w)
        while free != 0 and needed > 0:
            bit = lowest_bit(free)
            cores = min(stretch_at(free, bit), needed)
            serve(tables, w, bit, cores, j)
            free &= ~bits(bit, cores)
            needed -= cores
        w += 1


@inlined
def free_in(tables: Tables, w: int) -> int:
    """Return the free cores of a word as bits."""
    return int(tables.words[w].available & ~tables.words[head_of(tables, w)].serving)


@compiled
def next_roomy(tables: Tables, w: int) -> int:
    """Return the first word from *w* on that has a free core; at least the number of words if none has."""
    place, later = w // BITS, -1 << (w % BITS)
    while place < len(tables.roomy):
        found = tables.roomy[place] & later
        if found != 0:
            return int(place * BITS + lowest_bit(found))
        place, later = place + 1, -1
    return int(place * BITS)


@compiled
def take_random(tables: Tables, p: int, j: int) -> None:
    """Assign to a job random free cores of a processor, as many as are booked there, all equally likely."""
    needed, w = tables.loads[p].picked, tables.processors[p].first_word
    left = tables.loads[p].free + needed
    while needed > 0 and w < len(tables.words):
        free = free_in(tables, w)
        while free != 0 and needed > 0:
            if draw(tables, left) < needed:
                serve(tables, w, lowest_bit(free), 1, j)
                needed -= 1
            free = without_lowest(free)
            left -= 1
        w += 1


@compiled
def draw_for_cores(tables: Tables, p: int) -> None:
    """Draw as often as `take_random` where cores have no names, so that what is drawn next is the same."""
    needed = tables.loads[p].picked
    left = tables.loads[p].free + needed
    while needed > 0:
        if draw(tables, left) < needed:
            needed -= 1
        left -= 1


@compiled
def serve(tables: Tables, w: int, bit: int, cores: int, j: int) -> None:
    """Assign neighbouring cores of a word to a job, appended to those that it has already."""
    joined = joins_words(tables)
    if joined:
        separate(tables, w, w + 1)
    word = tables.words[w]
    word.serving |= bits(bit, cores)
    word.begins |= shift_left(1, bit)
    note_room(tables, w)
    first = word.first + bit
    tables.owners[first] = j
    if joined:
        touch_words(tables, w, 1)
    else:
        touch(tables, w)
    append_stretch(tables, j, first, cores)


@inlined
def append_stretch(tables: Tables, j: int, first: int, cores: int) -> None:
    """Append neighbouring cores to those of a job."""
    job = tables.jobs[j]
    at = tables.clock[0].placed + job.stretches
    if job.stretches > 0:
        before = tables.allocation[at - 1]
        if before.first + before.cores == first:
            before.cores += cores
            return
    stretch = tables.allocation[at]
    stretch.first, stretch.cores = first, cores
    job.stretches += 1


@compiled
def serve_words(tables: Tables, w: int, end: int, j: int) -> int:
    """Assign whole words to a job, from *w* on before *end* as long as all of their cores are free.

    Returns:
        Their number.
    """
    first = w
    while w < end and tables.words[w].available == -1 and tables.words[head_of(tables, w)].serving == 0:
        w += run_from(tables, w, end)
    if w > first:
        separate(tables, first, w)
        head = first
        while head < w:
            word = tables.words[head]
            word.serving, word.begins, tables.owners[word.first] = -1, 1, j
            head += run_from(tables, head, w)
        set_bits(tables.roomy, first, w - first, False)
        touch_words(tables, first, w - first)
        append_stretch(tables, j, tables.words[first].first, (w - first) * BITS)
    return w - first
