"""Single cores: which serve jobs, which are available, and which may have changed P-state in this instant."""

from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.processor_index import counts_cores, rank
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import BITS, MANY, bits, highest_bit, stretch_at
from hdeeprm_like.types import Ints


@inlined
def word_of(tables: Tables, core: int) -> int:
    """Return the word that a core is in."""
    processor = tables.processors[tables.core_processor[core]]
    return int(processor.first_word + (core - processor.first_core) // BITS)


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


@inlined
def touch(tables: Tables, w: int) -> None:
    """Record that the cores of a word may have changed P-state in this instant."""
    if tables.words[w].many:
        touch_words(tables, w, 1)
    elif not tables.words[w].touched:
        tables.words[w].touched = 1
        add_span(tables, w, 1)


@inlined
def add_span(tables: Tables, w: int, words: int) -> None:
    """Append neighbouring words of one processor to those touched in this instant."""
    clock = tables.clock[0]
    span = tables.touched[clock.touched]
    span.first, span.words = w, words
    clock.touched += 1


@compiled
def touch_words(tables: Tables, w: int, words: int) -> None:
    """Record the same of neighbouring words of a processor of many."""
    end = w + words
    while w < end:
        count = min(end - w, BITS - w % BITS)
        new = bits(w % BITS, count) & ~tables.touching[w // BITS]
        tables.touching[w // BITS] |= new
        while new != 0:
            bit = lowest_bit(new)
            many = stretch_at(new, bit)
            new &= ~bits(bit, many)
            add_span(tables, w - w % BITS + bit, many)
        w += count


@inlined
def forget_span(tables: Tables, i: int) -> None:
    """Forget that some of the touched words are."""
    word = tables.words[tables.touched[i].first]
    if word.many:
        set_bits(tables.touching, tables.touched[i].first, tables.touched[i].words, False)
    else:
        word.touched = 0


@compiled
def forget_touched(tables: Tables) -> None:
    """Clear the list of touched words."""
    clock = tables.clock[0]
    for i in range(clock.touched):
        forget_span(tables, i)
    clock.touched = 0


# --- runs of equal words


@inlined
def repeats(tables: Tables, w: int) -> bool:
    """Return whether a word equals the one before, so that its own entry is outdated."""
    return bool(tables.repeats[w // BITS] & shift_left(1, w % BITS) != 0)


@inlined
def head_of(tables: Tables, w: int) -> int:
    """Return the word to read in place of a word: the first of its run."""
    return first_of_run(tables, w) if tables.words[w].many and repeats(tables, w) else w


@compiled
def first_of_run(tables: Tables, w: int) -> int:
    """Return the first word of the run of a word."""
    while True:
        heads = ~tables.repeats[w // BITS] & bits(0, w % BITS + 1)
        if heads != 0:
            return int(w - w % BITS + highest_bit(heads))
        w -= w % BITS + 1


@compiled
def separate(tables: Tables, w: int) -> None:
    """Make a word the first of a run, its own entry up to date."""
    if not repeats(tables, w):
        return
    head, word = tables.words[first_of_run(tables, w)], tables.words[w]
    word.serving, word.begins, word.low, word.high = head.serving, head.begins, head.low, head.high
    tables.owners[word.first] = tables.owners[head.first]
    tables.repeats[w // BITS] &= ~shift_left(1, w % BITS)


@inlined
def begin_change(tables: Tables, w: int, end: int) -> None:
    """Prepare a change of words, all before *end* alike: only the first words of their runs are to be written."""
    if tables.words[w].many:
        separate(tables, w)
        separate(tables, end)


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


@inlined
def begin_stretch(tables: Tables, place: int) -> tuple[int, int, int]:
    """Return the first core of a stretch of the allocation, its number of cores, and its first processor."""
    stretch = tables.allocation[place]
    return stretch.first, stretch.cores, tables.core_processor[stretch.first]


@inlined
def cores_from(tables: Tables, p: int, core: int) -> int:
    """Return the number of cores of a processor from *core* on."""
    return int(tables.processors[p].first_core + tables.processors[p].cores - core)


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
    while left > 0:
        if bit == 0 and left >= MANY * BITS:
            end = last_word(tables, w, left // BITS)
            words = release_words(tables, w, end) if end - w >= MANY else 0
            if words > 0:
                w, left, available = w + words, left - words * BITS, available + words * BITS
                continue
        begin_change(tables, w, w + 1)
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
def release_words(tables: Tables, w: int, end: int) -> int:
    """Take whole words from their job, from *w* on before *end* as long as all of their cores are available.

    Returns:
        Their number.
    """
    first = w
    while w < end and tables.words[w].available == -1:
        w += run_from(tables, w, end)
    begin_change(tables, first, w)
    head = first
    while head < w:
        word = tables.words[head]
        word.serving, word.begins = 0, 0
        head += run_from(tables, head, w)
    set_bits(tables.roomy, first, w - first, True)
    touch_words(tables, first, w - first)
    return w - first


@compiled
def touch_all(tables: Tables, p: int) -> None:
    """Record that all cores of a processor may have changed P-state in this instant."""
    if counts_cores(tables):
        return
    processor = tables.processors[p]
    if processor.words >= MANY:
        touch_words(tables, processor.first_word, processor.words)
        return
    for w in range(processor.first_word, processor.first_word + processor.words):
        touch(tables, w)


@compiled
def set_available(tables: Tables, core: int, available: bool) -> None:
    """Withdraw a core or return it to service; a job that runs on it continues (Batsim's machine events)."""
    w = word_of(tables, core)
    begin_change(tables, w, w + 1)
    word, load = tables.words[w], tables.loads[tables.words[w].processor]
    bit = shift_left(1, core - word.first)
    if (word.available & bit != 0) == available:
        return
    word.available ^= bit
    if word.serving & bit == 0:
        change = 1 if available else -1
        load.free += change
        note_room(tables, w)
        rank(tables, word.processor)
        tables.clock[0].free_cores += change
