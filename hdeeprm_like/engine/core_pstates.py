"""P-states of cores: the ones required now, and the ones last requested from the simulator (thesis 3.1.2)."""

from typing import Any

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import entry, inlined, lowest_bit, shift_left
from hdeeprm_like.engine.cores import word_of
from hdeeprm_like.engine.joined_words import head_of, joins_words, separate
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import of_pstate, without_lowest
from hdeeprm_like.types import Ints


@inlined
def pstate_of(tables: Tables, core: int) -> int:
    """Return the P-state of a core, which follows from what it and its processor serve (thesis 3.1.2)."""
    w = word_of(tables, core)
    load = tables.loads[tables.words[w].processor]
    if tables.words[head_of(tables, w)].serving & shift_left(1, core - tables.words[w].first):
        return P1 if load.oversubscribed else P0
    return P2 if load.busy > 0 else P3


@inlined
def pstates_of(tables: Tables, p: int) -> tuple[int, int]:
    """Return the P-states of the cores of a processor: of those that serve a job, and of the others."""
    load = tables.loads[p]
    return P1 if load.oversubscribed else P0, P2 if load.busy > 0 else P3


@inlined
def put_pstate(word: Any, changed: int, pstate: int) -> None:
    """Record that cores of a word have changed to a P-state."""
    word.low = word.low | changed if pstate & 1 else word.low & ~changed
    word.high = word.high | changed if pstate & 2 else word.high & ~changed


class PstateChanges(Bundle):
    """Cores that have changed P-state; C as in ``types``.

    Attributes:
        cores, pstates: (C,).
    """

    cores: Ints
    pstates: Ints


@entry
def changed_pstates(tables: Tables, changes: PstateChanges, requested: bool) -> int:
    """Write the cores whose P-state differs from the one last requested, in any order; return their number.

    Args:
        requested: also record these states as requested, so that the next call compares with them.
    """
    found = 0
    for i in range(tables.clock[0].touched):
        first = tables.touched[i]
        for w in range(first, first + (tables.touched_words[i] if joins_words(tables) else 1)):
            if requested:
                separate(tables, w, w + 1)
            found = changed_in(tables, w, changes, found, requested)
    return found


@inlined
def changed_in(tables: Tables, w: int, changes: PstateChanges, found: int, requested: bool) -> int:
    """Do the same for one word; return how many were found so far."""
    word, first = tables.words[head_of(tables, w)], tables.words[w].first
    serving, idle = pstates_of(tables, word.processor)
    for pstate in (serving, idle):
        changed = (word.serving if pstate == serving else word.cores & ~word.serving) & ~of_pstate(word, pstate)
        if requested:
            put_pstate(word, changed, pstate)
        while changed != 0:
            changes.cores[found], changes.pstates[found] = first + lowest_bit(changed), pstate
            changed = without_lowest(changed)
            found += 1
    return found
