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
    BEST_FIT,
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
from hdeeprm_like.engine.processor_index import rank, rank_picks
from hdeeprm_like.engine.processor_keys import PROCESSOR_KEYS, counts_cores, node_fits, processor_key
from hdeeprm_like.engine.processor_search import best_processor, lowest_processor, random_processor, rival_of
from hdeeprm_like.engine.serving_cores import draw_for_cores, next_roomy, take_lowest, take_random
from hdeeprm_like.engine.tables import CORES, NOTHING, Tables
from hdeeprm_like.types import Ints

check_numbers(
    "placements",
    PLACEMENTS,
    {RANDOM_CORE, FIRST_FIT, COMPACT, SPREAD, *PROCESSOR_KEYS, *SHARES},
    "engine.processor_keys.PROCESSOR_KEYS or engine.packing.SHARES",
)


@inlined
def book(tables: Tables, p: int, cores: int, j: int) -> None:
    """Take cores for a job from a processor, and memory, GPUs and bandwidth for each from its node.

    The caller must rank the processor again afterwards.
    """
    job, load, room = tables.jobs[j], tables.loads[p], tables.node_loads[tables.processors[p].node]
    load.free -= cores
    load.used_bandwidth += cores * job.bandwidth
    load.picked += cores
    room.free_memory -= cores * job.memory
    if job.gpus > 0.0:
        room.free_gpus -= cores * job.gpus


@compiled
def note_before(tables: Tables, pick: int, p: int) -> None:
    """Pick a processor: record what is free on it before any core is booked."""
    noted, room = tables.picks[pick], tables.node_loads[tables.processors[p].node]
    noted.processor, noted.used_bandwidth = p, tables.loads[p].used_bandwidth
    noted.free_memory, noted.free_gpus = room.free_memory, room.free_gpus


@compiled
def give_back(tables: Tables, pick: int) -> None:
    """Undo the booking on a processor for a job that does not fit, without a rounding error."""
    noted = tables.picks[pick]
    p = noted.processor
    load, room = tables.loads[p], tables.node_loads[tables.processors[p].node]
    load.free += load.picked
    load.used_bandwidth = noted.used_bandwidth
    room.free_memory, room.free_gpus = noted.free_memory, noted.free_gpus
    rank(tables, p)


@compiled
def next_processor(tables: Tables, policy: int, j: int, wanted: int, last: int, rival: int) -> int:
    """Return the processor that the next cores of a job come from, -1 if none has capacity for one.

    Args:
        last: the processor that the previous cores came from, -1 for none. rival: the best other one at that time, -1
        for none; it has not become worse, so it is next as long as it has capacity.
    """
    job = tables.jobs[j]
    if policy == RANDOM_CORE:
        return random_processor(tables, job.memory, job.gpus)
    if counts_cores(tables):
        return 0
    if policy == FIRST_FIT:
        return lowest_processor(tables, job.memory, job.gpus)
    if policy >= COMPACT:
        return neighbour(tables, policy, j, wanted, last)
    if policy >= BEST_FIT:
        return packed_processor(tables, policy, j, wanted, last)
    if rival >= 0 and node_fits(tables, tables.processors[rival].node, job.memory, job.gpus):
        full = tables.loads[last].free == 0
        if policy != HIGH_MEM or not full:  # otherwise another processor of that node may be as good
            return rival
    return best_processor(tables, policy, job.memory, job.gpus)


@compiled
def next_alike(tables: Tables, policy: int, j: int, p: int) -> int:
    """Return the processor after one that is full or lacks memory, for policies that look at peak speed or power.

    No other was better when that one was chosen, and those before it have no more room now, so the next with free cores
    follows if it is as good and has memory for the job.

    Returns:
        -1 if another processor may come first.
    """
    processor = tables.processors[p]
    w = next_roomy(tables, processor.first_word + processor.words)
    if w >= len(tables.words):
        return -1
    q = tables.words[w].processor
    alike = policy == FIRST_FIT or processor_key(tables, policy, q) == processor_key(tables, policy, p)
    job = tables.jobs[j]
    fits = tables.loads[q].free > 0 and node_fits(tables, tables.processors[q].node, job.memory, job.gpus)
    return int(q if alike and fits else -1)


@compiled
def take_cores(tables: Tables, policy: int, j: int, p: int, rival: int, wanted: int) -> int:
    """Book cores of one processor for a job while it has capacity and its rival is no better; return the number booked.

    The caller must rank the processor again afterwards.

    Args:
        rival: the best other processor, -1 if there is none or none can become better.
    """
    job, load, n = tables.jobs[j], tables.loads[p], tables.processors[p].node
    rival_key = processor_key(tables, policy, rival) if rival >= 0 else 0.0
    taken = 0
    if rival < 0 and job.memory <= 0.0 and job.gpus <= 0.0 and job.bandwidth <= 0.0:  # every core sees the same state
        taken = min(wanted, load.free)
        book(tables, p, taken, j)
        wanted = taken
    while taken < wanted and load.free > 0 and node_fits(tables, n, job.memory, job.gpus):
        if taken > 0 and rival >= 0:
            key = processor_key(tables, policy, p)
            if key < rival_key or (key == rival_key and rival < p):
                break
        book(tables, p, 1, j)
        taken += 1
    return taken


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
                note_before(tables, picks, p)
                picks += 1
                book(tables, p, taken, j)
                rank(tables, p)
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
        rank(tables, 0)
        return NOTHING
    return choose_by_policy(tables, policy, j)


@compiled
def choose_by_policy(tables: Tables, policy: int, j: int) -> int:
    """Book the cores that a policy chooses for a job, one after the other as each changes what the next one finds.

    Returns:
        As in `choose_cores`.
    """
    job = tables.jobs[j]
    if len(tables.processors) == 1 and RANDOM_CORE < policy < BEST_FIT:
        note_before(tables, 0, 0)
        return int(close_choice(tables, policy, j, 1, job.size - take_cores(tables, policy, j, 0, -1, job.size)))
    picks, ranked, wanted, p, rival = 0, 0, job.size, -1, -1
    in_order = policy in (HIGH_GFLOPS, LOW_POWER, FIRST_FIT)
    while wanted > 0:
        alike = next_alike(tables, policy, j, p) if in_order and p >= 0 else -1
        if alike < 0:
            rank_picks(tables, ranked, picks)
            ranked = picks
        p = alike if alike >= 0 else next_processor(tables, policy, j, wanted, p, rival)
        if p < 0:
            break
        if tables.loads[p].picked == 0:
            note_before(tables, picks, p)
            picks += 1
        rival = -1
        if policy in (HIGH_CORES, HIGH_MEM, HIGH_MEM_BW) and wanted > 1 and not counts_cores(tables):
            rival = rival_of(tables, policy, job.memory, job.gpus, p)  # booking cores ranks it again
        wanted -= take_cores(tables, policy, j, p, rival, 1 if policy in (RANDOM_CORE, SPREAD) else wanted)
        if not in_order:
            rank(tables, p)
            ranked = picks
    rank_picks(tables, ranked, picks)
    return int(close_choice(tables, policy, j, picks, wanted))


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
    for pick in range(picks - 1, -1, -1):
        give_back(tables, pick)
        tables.loads[tables.picks[pick].processor].picked = 0


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
