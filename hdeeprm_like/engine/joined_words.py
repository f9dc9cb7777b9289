"""Equal words of one processor joined, on machines with processors of many words.

Neighbouring words of equal cores, such as those of one job, are a run: `Tables.repeats` marks all but the first of it,
whose entry counts for all. So starting and ending a job takes as long for ten thousand cores as for a few. On machines
whose processors have few words that costs more than it saves; there each word stands for itself (`cores`).
"""

from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import BITS, bits, highest_bit, stretch_at
from hdeeprm_like.types import Ints

MANY = 4  # words from which on it pays to look whether they are equal


@inlined
def joins_words(tables: Tables) -> bool:
    """Return whether equal words are joined on this machine."""
    return len(tables.repeats) > 0


@inlined
def repeats(tables: Tables, w: int) -> bool:
    """Return whether a word equals the one before, so that its own entry is outdated."""
    return joins_words(tables) and tables.repeats[w // BITS] & shift_left(1, w % BITS) != 0


@inlined
def head_of(tables: Tables, w: int) -> int:
    """Return the word to read in place of a word: the first of its run."""
    return first_of_run(tables, w) if repeats(tables, w) else w


@compiled
def first_of_run(tables: Tables, w: int) -> int:
    """Return the first word of the run of a word."""
    while True:
        heads = ~tables.repeats[w // BITS] & bits(0, w % BITS + 1)
        if heads != 0:
            return int(w - w % BITS + highest_bit(heads))
        w -= w % BITS + 1


@inlined
def separate(tables: Tables, w: int, end: int) -> None:
    """Prepare a change of words before *end*, all alike: from now on the first words of their runs may be written."""
    if repeats(tables, w):
        begin_run(tables, w)
    if repeats(tables, end):
        begin_run(tables, end)


@compiled
def begin_run(tables: Tables, w: int) -> None:
    """Make a word the first of a run, its own entry up to date."""
    head, word = tables.words[first_of_run(tables, w)], tables.words[w]
    word.serving, word.begins, word.low, word.high = head.serving, head.begins, head.low, head.high
    tables.owners[word.first] = tables.owners[head.first]
    tables.repeats[w // BITS] &= ~shift_left(1, w % BITS)


@compiled
def run_from(tables: Tables, w: int, end: int) -> int:
    """Return how many words from *w* on, before *end*, are equal; they are one run from now on."""
    one, other = tables.words[head_of(tables, w)], w + 1
    while other < end:
        known = min(lowest_bit(~(tables.repeats[other // BITS] >> (other % BITS))), BITS - other % BITS)
        if known > 0:
            other += known
            continue
        word = tables.words[other]
        states = (word.serving ^ one.serving) | (word.low ^ one.low) | (word.high ^ one.high)
        if states | (word.cores ^ one.cores) | (word.available ^ one.available) | (word.begins ^ one.begins):
            break
        if word.begins != 0 and (word.begins != 1 or tables.owners[word.first] != tables.owners[one.first]):
            break
        tables.repeats[other // BITS] |= shift_left(1, other % BITS)
        other += 1
    return int(min(other, end) - w)


@inlined
def last_word(tables: Tables, w: int, words: int) -> int:
    """Return the end of so many words from *w* on, or of those of its processor if they are fewer."""
    processor = tables.processors[tables.words[w].processor]
    return int(min(w + words, processor.first_word + processor.words))


# --- touched words


@inlined
def set_bits(column: Ints, first: int, count: int, value: bool) -> None:
    """Set neighbouring bits of a column of words."""
    end = first + count
    while first < end:
        changed = bits(first % BITS, min(end - first, BITS - first % BITS))
        if value:
            column[first // BITS] |= changed
        else:
            column[first // BITS] &= ~changed
        first += BITS - first % BITS


@compiled
def touch_words(tables: Tables, w: int, words: int) -> None:
    """Record that the cores of neighbouring words of a processor may have changed P-state in this instant."""
    end = w + words
    while w < end:
        count = min(end - w, BITS - w % BITS)
        new = bits(w % BITS, count) & ~tables.touching[w // BITS]
        tables.touching[w // BITS] |= new
        while new != 0:
            bit = lowest_bit(new)
            many = stretch_at(new, bit)
            new &= ~bits(bit, many)
            add_touched(tables, w - w % BITS + bit, many)
        w += count


@inlined
def add_touched(tables: Tables, w: int, words: int) -> None:
    """Append neighbouring words to the touched ones, merged with the entry before if they continue it."""
    clock = tables.clock[0]
    if clock.touched > 0:
        before = clock.touched - 1
        end = tables.touched[before] + tables.touched_words[before]
        if end == w and tables.words[end - 1].processor == tables.words[w].processor:
            tables.touched_words[before] += words
            return
    tables.touched[clock.touched], tables.touched_words[clock.touched] = w, words
    clock.touched += 1


@compiled
def forget_joined(tables: Tables) -> None:
    """Clear the list of touched words."""
    clock = tables.clock[0]
    for i in range(clock.touched):
        set_bits(tables.touching, tables.touched[i], tables.touched_words[i], False)
    clock.touched = 0


# --- cores that jobs leave


@compiled
def note_room(tables: Tables, w: int) -> None:
    """Update whether a word has a free core."""
    word = tables.words[w]
    bit = shift_left(1, w % BITS)
    if word.available & ~word.serving:
        tables.roomy[w // BITS] |= bit
    else:
        tables.roomy[w // BITS] &= ~bit


@compiled
def release_joined(tables: Tables, w: int, bit: int, cores: int) -> int:
    """Take neighbouring cores, from a bit of a word on, from their job; return how many of them are available."""
    left, available, first = cores, 0, w
    while left > 0:
        if bit == 0 and left >= MANY * BITS:
            end = last_word(tables, w, left // BITS)
            words = release_words(tables, w, end) if end - w >= MANY else 0
            if words > 0:
                w, left, available = w + words, left - words * BITS, available + words * BITS
                continue
        separate(tables, w, w + 1)
        word = tables.words[w]
        count = min(left, count_bits(word.cores) - bit)
        freed = bits(bit, count)
        word.serving &= ~freed
        word.begins &= ~freed
        available += count_bits(freed & word.available)
        note_room(tables, w)
        w, bit, left = w + 1, 0, left - count
    touch_words(tables, first, w - first)
    return available


@compiled
def release_words(tables: Tables, w: int, end: int) -> int:
    """Take whole words from their job, from *w* on before *end* as long as all of their cores are available.

    Returns:
        Their number.
    """
    first = w
    while w < end and tables.words[w].available == -1:
        w += run_from(tables, w, end)
    separate(tables, first, w)
    head = first
    while head < w:
        word = tables.words[head]
        word.serving, word.begins = 0, 0
        head += run_from(tables, head, w)
    set_bits(tables.roomy, first, w - first, True)
    return w - first
