"""Choice of the cores of a job: a core policy takes one core after the other, as each changes what the next one finds.

The core policies are those of the thesis (table 3.2), the lowest processors with free cores, and the packings.
"""

from hdeeprm_like.engine.called_on_nodes import call_choose
from hdeeprm_like.engine.compiled import callback, compiled, entry, inlined
from hdeeprm_like.engine.cores import cores_of, release
from hdeeprm_like.engine.dispatch import check_numbers
from hdeeprm_like.engine.lifecycle import lacking_beside_cores
from hdeeprm_like.engine.neighbours import neighbour
from hdeeprm_like.engine.node_places import book_gpus, has_nodes, note_holds
from hdeeprm_like.engine.numbers import (
    COMPACT,
    FIRST_FIT,
    HIGH_CORES,
    HIGH_GFLOPS,
    HIGH_MEM,
    HIGH_MEM_BW,
    LOW_POWER,
    PLACEMENTS,
    RANDOM_CORE,
    SPREAD,
)
from hdeeprm_like.engine.packing import SHARES, packed_processor
from hdeeprm_like.engine.processor_keys import PROCESSOR_KEYS, counts_cores, outdate, raise_keys
from hdeeprm_like.engine.processor_search import book, pick, take_at_random, take_best, take_cores, take_in_order
from hdeeprm_like.engine.serving_cores import draw_for_cores, take_lowest, take_random
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables
from hdeeprm_like.types import Ints

check_numbers(
    "placements",
    PLACEMENTS,
    {RANDOM_CORE, FIRST_FIT, COMPACT, SPREAD, *PROCESSOR_KEYS, *SHARES},
    "engine.processor_keys.PROCESSOR_KEYS or engine.packing.SHARES",
)


@compiled
def give_back(tables: Tables, pick: int) -> None:
    """Undo the booking on a processor for a job that does not fit, without a rounding error."""
    noted = tables.picks[pick]
    p = noted.processor
    load, room = tables.loads[p], tables.node_loads[tables.processors[p].node]
    load.free += load.picked
    load.used_bandwidth = noted.used_bandwidth
    room.free_memory, room.free_gpus = noted.free_memory, noted.free_gpus
    raise_keys(tables, p)


@entry
@inlined
def choose_cores(tables: Tables, policy: int, j: int) -> int:
    """Book the cores for a job.

    Returns:
        NOTHING with the cores in ``allocation[placed : placed + stretches]``, or what the job lacks (CORES, MEMORY or
        GPUS) with nothing booked.
    """
    if tables.clock[0].partitioned:
        return call_choose(tables, policy, j)
    return choose_anywhere(tables, policy, j)


@callback
def choose_on_nodes(tables: Tables, policy: int, j: int) -> int:
    """Book cores on the nodes of a job's set, whatever the core policy; a job of whole nodes gets all of their cores.

    Returns:
        As in `choose_cores`.
    """
    if not has_nodes(tables, j):
        return CORES
    book_picked(tables, j)
    return NOTHING


@compiled
def book_picked(tables: Tables, j: int) -> None:
    """Book the cores in ``NodeSets.picked`` for a job."""
    size = 0
    for n in range(len(tables.nodes)):
        size += tables.node_sets.picked[n]
    tables.jobs[j].size = size
    note_holds(tables, j)
    book_gpus(tables, j)
    book_on(tables, tables.node_sets.picked, j)


@compiled
def book_on(tables: Tables, cores: Ints, j: int) -> bool:
    """Book the lowest free cores of some nodes for a job; return whether that many are free.

    Args:
        cores: (N,) cores to book on each node.
    """
    picks, missing = 0, 0
    for n in range(len(tables.nodes)):
        node, left = tables.nodes[n], cores[n]
        for p in range(node.first_processor, node.first_processor + node.processors):
            if left <= 0:
                break
            taken = min(left, tables.loads[p].free)
            if taken > 0:
                picks = pick(tables, picks, p)
                book(tables, p, taken, j)
                outdate(tables, p)
                left -= taken
        missing += max(left, 0)
    write_allocation(tables, FIRST_FIT, j, picks)
    for i in range(picks):
        tables.loads[tables.picks[i].processor].picked = 0
    return bool(missing == 0)


@inlined
def choose_anywhere(tables: Tables, policy: int, j: int) -> int:
    """Book the cores that a policy chooses for a job.

    Returns:
        As in `choose_cores`.
    """
    size = tables.jobs[j].size
    if size > tables.clock[0].free_cores:
        return CORES
    if counts_cores(tables) and policy != RANDOM_CORE:  # the random policy still draws
        tables.loads[0].free -= size
        outdate(tables, 0)
        return NOTHING
    return choose_by_policy(tables, policy, j)


@compiled
def choose_by_policy(tables: Tables, policy: int, j: int) -> int:
    """Book the cores that a policy chooses for a job, one after the other as each changes what the next one finds.

    Returns:
        As in `choose_cores`.
    """
    if policy == RANDOM_CORE:
        picks, wanted = take_at_random(tables, j)
    elif policy in (HIGH_CORES, HIGH_MEM, HIGH_MEM_BW):
        picks, wanted = take_best(tables, policy, j)
    elif policy in (HIGH_GFLOPS, LOW_POWER, FIRST_FIT):
        picks, wanted = take_in_order(tables, policy, j)
    else:
        picks, wanted = take_by_node(tables, policy, j)
    return int(close_choice(tables, policy, j, picks, wanted))


@compiled
def take_by_node(tables: Tables, policy: int, j: int) -> tuple[int, int]:
    """Book cores by a packing or by the network; return the picked processors and the cores missing."""
    picks, wanted, p = 0, tables.jobs[j].size, -1
    while wanted > 0:
        if policy >= COMPACT:
            p = neighbour(tables, policy, j, wanted, p)
        else:
            p = packed_processor(tables, policy, j, wanted, p)
        if p < 0:
            break
        picks = pick(tables, picks, p)
        wanted -= take_cores(tables, j, p, 1 if policy == SPREAD else wanted)
    return picks, wanted


@compiled
def close_choice(tables: Tables, policy: int, j: int, picks: int, wanted: int) -> int:
    """Assign the booked cores to a job, or undo the booking if cores are still *wanted*.

    Args:
        picks: processors with booked cores, in ``Tables.picks``.

    Returns:
        As in `choose_cores`.
    """
    lacks = NOTHING
    if wanted == 0:
        write_allocation(tables, policy, j, picks)
    else:
        lacks = lacking_beside_cores(tables, j, wanted)
    for i in range(picks - 1, -1, -1):  # backwards, so that a node ends with the values recorded at its first processor
        if wanted > 0:
            give_back(tables, i)
        tables.loads[tables.picks[i].processor].picked = 0
    return lacks


@compiled
def return_cores(tables: Tables, j: int) -> None:
    """Undo the booking that `choose_cores` has just made for a job that will not start after all."""
    picks, begin, last = 0, tables.clock[0].placed, -1
    for p, first, count in cores_of(tables, begin, j):
        release(tables, first, count)
        tables.loads[p].picked += count
        if p != last:
            picks, last = picks + 1, p
    for i in range(picks - 1, -1, -1):
        give_back(tables, i)
        tables.loads[tables.picks[i].processor].picked = 0


@compiled
def write_allocation(tables: Tables, policy: int, j: int, picks: int) -> None:
    """Assign to a job the cores booked on the picked processors: the lowest free ones, or random ones."""
    if counts_cores(tables):
        if policy == RANDOM_CORE:
            draw_for_cores(tables, 0)
        return
    tables.jobs[j].stretches = 0
    for i in range(picks):
        p = tables.picks[i].processor
        if policy == RANDOM_CORE:
            take_random(tables, p, j)
        else:
            take_lowest(tables, p, j)
