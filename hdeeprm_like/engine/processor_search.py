"""Search of the processor of a job's next cores: in the tree of `processor_index`, or one by one if there are few."""

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import HIGH_MEM
from hdeeprm_like.engine.processor_index import has_tree, hide
from hdeeprm_like.engine.processor_keys import node_fits, processor_key
from hdeeprm_like.engine.processor_tree_search import best_in_tree, processor_in_tree
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.waiting_queue import draw

NONE = -1
ALL = 1 << 62  # larger than any number of cores


@compiled
def best_processor(tables: Tables, policy: int, memory: float, gpus: float) -> int:
    """Return the processor of a policy's next core, -1 if none has a free core with this memory (MB) and GPUs."""
    if has_tree(tables):
        return best_in_tree(tables, policy, memory, gpus)
    return best_of_few(tables, policy, memory, gpus, NONE)


@compiled
def rival_of(tables: Tables, policy: int, memory: float, gpus: float, p: int) -> int:
    """Return the same without processor *p*, with ``high_mem`` without its node; the caller must rank *p* afterwards.

    With that policy all processors of a node lose memory together.
    """
    if has_tree(tables):
        hide(tables, policy, p)
        return best_in_tree(tables, policy, memory, gpus)
    return best_of_few(tables, policy, memory, gpus, p)


@compiled
def best_of_few(tables: Tables, policy: int, memory: float, gpus: float, hidden: int) -> int:
    """Return the best processor besides a hidden one, by looking at all of them."""
    best, wanted = NONE, -np.inf
    node = tables.processors[hidden].node if hidden >= 0 and policy == HIGH_MEM else NONE
    for p in range(len(tables.loads)):
        n = tables.processors[p].node
        if p == hidden or n == node or tables.loads[p].free == 0 or not node_fits(tables, n, memory, gpus):
            continue
        key = processor_key(tables, policy, p)
        if key > wanted:
            best, wanted = p, key
    return best


@inlined
def processor_of(tables: Tables, memory: float, gpus: float, core: int) -> tuple[int, int]:
    """Find one of the free cores with this memory (MB) and GPUs on their nodes.

    Returns:
        As `processor_in_tree`.
    """
    if has_tree(tables):
        return processor_in_tree(tables, memory, gpus, core)
    before = 0
    for p in range(len(tables.loads)):
        free = tables.loads[p].free
        if free > 0 and node_fits(tables, tables.processors[p].node, memory, gpus):
            if before + free > core:
                return p, before
            before += free
    return NONE, before


@compiled
def lowest_processor(tables: Tables, memory: float, gpus: float) -> int:
    """Return the first processor that has a free core with this memory (MB) and GPUs on its node, -1 if none."""
    p, _ = processor_of(tables, memory, gpus, 0)
    return p


@compiled
def random_processor(tables: Tables, memory: float, gpus: float) -> int:
    """Return the processor of a random free core with this memory (MB) and GPUs on its node, -1 if there is none."""
    _, eligible = processor_of(tables, memory, gpus, ALL)
    if eligible == 0:
        return NONE
    p, _ = processor_of(tables, memory, gpus, draw(tables, eligible))
    return p
