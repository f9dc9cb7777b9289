"""Reservations of whole nodes, each for a span of time: which nodes have none between two dates, and when one ends.

Nodes are bits, 64 of them in a word. Baselines on platforms with partitions make such reservations again at each pass
over the queue (`node_plans`); guaranteed starts keep them (`guaranteed_nodes`).
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined, shift_left
from hdeeprm_like.types import Floats, Ints


class NodeSpans(Bundle):
    """Reservations of whole nodes in some of R rows; W words of 64 nodes.

    Attributes:
        count: (1,) reservations. by_end: (R,) their rows, by their ends. begins, ends: (R,) s. nodes: (R, W) bits.
        anywhere: (R,) 1 where it is of cores anywhere, so that another such one may be beside it.
        bits: (W,) scratch: some nodes.
    """

    count: Ints
    by_end: Ints
    begins: Floats
    ends: Floats
    nodes: Ints
    anywhere: Ints
    bits: Ints


def new_spans(most: int, words: int) -> NodeSpans:
    """Return no reservations, with capacity for *most*."""
    return NodeSpans(
        count=np.zeros(1, np.int64),
        by_end=np.zeros(most, np.int64),
        begins=np.zeros(most),
        ends=np.zeros(most),
        nodes=np.zeros((most, words), np.int64),
        anywhere=np.zeros(most, np.int64),
        bits=np.zeros(words, np.int64),
    )


@inlined
def has_node(spans: NodeSpans, n: int) -> bool:
    """Return whether a node is among those in ``NodeSpans.bits``."""
    return bool((spans.bits[n >> 6] >> (n & 63)) & 1 == 1)


@inlined
def write_picked(spans: NodeSpans, picked: Ints) -> None:
    """Write to ``NodeSpans.bits`` the nodes on which cores are picked."""
    for w in range(len(spans.bits)):
        spans.bits[w] = 0
    for n in range(len(picked)):
        if picked[n] > 0:
            spans.bits[n >> 6] |= shift_left(1, n & 63)


@compiled
def keep_nodes(spans: NodeSpans, row: int, picked: Ints) -> None:
    """Give the reservation of a row the nodes on which cores are picked."""
    write_picked(spans, picked)
    copy_entries(spans.nodes[row], 0, spans.bits, 0, len(spans.bits))
    spans.anywhere[row] = 0


@inlined
def first_to_end(spans: NodeSpans, time: float) -> int:
    """Return the place in ``by_end`` of the first reservation that ends after a time, their number if none does."""
    low, high = 0, spans.count[0]
    while low < high:
        middle = (low + high) // 2
        if spans.ends[spans.by_end[middle]] > time:
            high = middle
        else:
            low = middle + 1
    return int(low)


@inlined
def next_end(spans: NodeSpans, time: float) -> float:
    """Return when the next reservation ends after a time; infinite if none does."""
    place = first_to_end(spans, time)
    return float(spans.ends[spans.by_end[place]]) if place < spans.count[0] else np.inf


@compiled
def reserve_span(spans: NodeSpans, row: int, begin: float, end: float) -> None:
    """Reserve the nodes of a row for a span of time."""
    place = spans.count[0]
    spans.count[0] += 1
    spans.begins[row], spans.ends[row] = begin, end
    while place > 0 and spans.ends[spans.by_end[place - 1]] > end:
        spans.by_end[place] = spans.by_end[place - 1]
        place -= 1
    spans.by_end[place] = row


@compiled
def drop_span(spans: NodeSpans, row: int) -> None:
    """Drop the reservation of a row."""
    spans.count[0] -= 1
    place = 0
    while spans.by_end[place] != row:
        place += 1
    for later in range(place, spans.count[0]):
        spans.by_end[later] = spans.by_end[later + 1]


@compiled
def leave_reserved(spans: NodeSpans, begin: float, end: float, row: int) -> None:
    """Remove from ``NodeSpans.bits`` the nodes that are reserved at any time between two dates.

    Args:
        row: a reservation that does not count, -1 for none.
    """
    for place in range(first_to_end(spans, begin), spans.count[0]):
        r = spans.by_end[place]
        if r == row or spans.begins[r] >= end:
            continue
        if spans.anywhere[r] == 1 and row >= 0 and spans.anywhere[row] == 1:
            continue
        for w in range(len(spans.bits)):
            spans.bits[w] &= ~spans.nodes[r, w]


@compiled
def are_reserved(spans: NodeSpans, begin: float, end: float) -> bool:
    """Return whether a node in ``NodeSpans.bits`` is reserved at any time between two dates."""
    for place in range(first_to_end(spans, begin), spans.count[0]):
        r = spans.by_end[place]
        if spans.begins[r] < end:
            for w in range(len(spans.bits)):
                if spans.nodes[r, w] & spans.bits[w] != 0:
                    return True
    return False
