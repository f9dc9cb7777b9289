"""Sorted lists of jobs: the waiting jobs by each requested order, the running ones by their ends.

A list consists of blocks of at most `BLOCK` jobs, so that an insertion or removal moves few others, and a search for
a job that fits skips blocks in which none is small enough. A block may have free entries on both sides of its jobs, so
that the first one can be removed without moving others. Within a list jobs are sorted by key; for equal keys the lower
rank comes first. A *place* in a list is a pair: the place of the block in the list, and the place in the block.
When the job at a place is removed, the next one moves there (or is at the beginning of the next block).

Insertion, removal and search take O(log n + BLOCK + n / BLOCK) with small constants; n jobs in the list.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.types import Floats, Ints, Records

Sorted: TypeAlias = tuple[tuple[int, int], ...]  # for each list its order, and the run times of its keys

BLOCK = 64  # jobs
FEW = 8  # jobs of a block up to which a linear search beats bisection, and single moves beat a block move

LIST = np.dtype(
    [
        ("order", "i4"),  # what it is sorted by, see ``job_keys``
        ("times", "i4"),  # the run times of its keys: REQUESTED, ACTUAL, or FIRST_PREDICTED for all others
        ("jobs", "i8"),  # number of jobs in the list
        ("blocks", "i8"),  # number of its blocks
        ("made", "i8"),  # blocks used so far
    ],
    align=True,
)

BLOCK_ROW = np.dtype(
    [
        ("first", "i4"),  # first of its `BLOCK` entries
        ("begin", "i4"),  # entry of its first job
        ("size", "i4"),  # number of its jobs
        ("least", "i4"),  # lower bound of the cores that a job of it requests
    ],
    align=True,
)


class JobLists(Bundle):
    """V sorted lists; J jobs, K blocks of each list.

    Attributes:
        lists: (V,) LIST.
        blocks: (V, K) BLOCK_ROW, the blocks of each list in order, then those that are free again.
        jobs, cores: (V * K * BLOCK,) the jobs in the blocks of all lists, and the cores that they request.
        keys, ranks: (V * K * BLOCK,) their sort keys and ranks.
        key_of: (V, J) the key of each job. rank_of: (V, J) its rank.
    """

    lists: Records
    blocks: Records
    jobs: Ints
    cores: Ints
    keys: Floats
    ranks: Ints
    key_of: Floats
    rank_of: Ints


def blocks_for(jobs: int, at_once: int) -> int:
    """Return how many blocks a list can use at once if *jobs* jobs ever arrive.

    Each block has a job, so there are no more than the jobs that the list has *at once*.

    A block is added only when one is full, and at least half of its jobs arrived since it was added. So half a block of
    jobs has arrived for each block but the first and the last. Few jobs never fill the first one.
    """
    return 1 if jobs <= BLOCK else min(2 * jobs // BLOCK + 2, at_once)


def new_job_lists(orders: Sorted, jobs: int, at_once: int) -> JobLists:
    """Return empty lists.

    Args:
        orders: sort order of each list, and the run times of its keys. jobs: capacity. at_once: most jobs in a list.
    """
    count, blocks = len(orders), blocks_for(jobs, at_once)
    lists = np.zeros(count, LIST)
    lists["order"] = [order for order, _ in orders]
    lists["times"] = [times for _, times in orders]
    entries = count * blocks * BLOCK
    return JobLists(
        lists=lists,
        blocks=np.zeros((count, blocks), BLOCK_ROW),
        # written before they are read: what no job needs takes no time
        jobs=np.empty(entries, np.int32),
        cores=np.empty(entries, np.int32),
        keys=np.empty(entries),
        ranks=np.empty(entries, np.int64),
        key_of=np.empty((count, jobs)),
        rank_of=np.empty((count, jobs), np.int64),
    )


def make_room(lists: JobLists, jobs: int) -> None:
    """Grow the lists to a capacity of *jobs* jobs."""
    count, blocks = len(lists.lists), blocks_for(jobs, jobs)
    shapes: dict[str, tuple[int, ...]] = {"blocks": (count, blocks), "key_of": (count, jobs), "rank_of": (count, jobs)}
    for name, shape in (shapes | dict.fromkeys(("jobs", "cores", "keys", "ranks"), (count * blocks * BLOCK,))).items():
        old = getattr(lists, name)
        grown = np.zeros(shape, old.dtype)
        grown[tuple(map(slice, old.shape))] = old
        setattr(lists, name, grown)


@inlined
def comes_before(key: float, rank: int, other_key: float, other_rank: int) -> bool:
    """Return whether one job comes before another."""
    return key < other_key or (key == other_key and rank < other_rank)


@inlined
def block_of(lists: JobLists, v: int, key: float, rank: int) -> int:
    """Return the place of the last block whose first job does not come after a key; 0 if none."""
    low, high = 1, lists.lists[v].blocks
    while low < high:
        middle = (low + high) >> 1
        first = lists.blocks[v, middle].begin
        if comes_before(key, rank, lists.keys[first], lists.ranks[first]):
            high = middle
        else:
            low = middle + 1
    return low - 1


@inlined
def entry_for(lists: JobLists, low: int, high: int, key: float, rank: int) -> int:
    """Return the entry of [low, high] that splits them: jobs before it come before the key, jobs after it do not."""
    while low < high:
        middle = (low + high) >> 1
        if comes_before(lists.keys[middle], lists.ranks[middle], key, rank):
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def add_block(lists: JobLists, v: int, place: int) -> None:
    """Insert an empty block at a place."""
    row = lists.lists[v]
    first = (row.made * len(lists.lists) + v) * BLOCK  # blocks of all lists in turns, so that capacity can grow
    if row.blocks < row.made:
        first = lists.blocks[v, row.blocks].first
    else:
        row.made += 1
    for i in range(row.blocks, place, -1):
        lists.blocks[v, i] = lists.blocks[v, i - 1]
    block = lists.blocks[v, place]
    block.first, block.begin, block.size, block.least = first, first, 0, 2**31 - 1
    row.blocks += 1


@inlined
def put(lists: JobLists, at: int, j: int, key: float, rank: int, cores: int) -> None:
    """Write a job into an entry."""
    lists.jobs[at], lists.cores[at], lists.keys[at], lists.ranks[at] = j, cores, key, rank


@inlined
def move(lists: JobLists, source: int, target: int) -> None:
    """Copy a job with its key, rank and cores from one entry to another."""
    put(lists, target, lists.jobs[source], lists.keys[source], lists.ranks[source], lists.cores[source])


@inlined
def shift(lists: JobLists, first: int, end: int, by: int) -> None:
    """Move the entries from *first* up to, not including, *end* by one place, 1 or -1."""
    count = end - first
    if count <= FEW:
        for i in range(count):
            source = end - 1 - i if by > 0 else first + i
            move(lists, source, source + by)
        return
    copy_entries(lists.jobs, first + by, lists.jobs, first, count)
    copy_entries(lists.cores, first + by, lists.cores, first, count)
    copy_entries(lists.keys, first + by, lists.keys, first, count)
    copy_entries(lists.ranks, first + by, lists.ranks, first, count)


@compiled
def find_least(lists: JobLists, v: int, place: int) -> None:
    """Compute the fewest cores that a job of a nonempty block requests."""
    block = lists.blocks[v, place]
    least = lists.cores[block.begin]
    for i in range(block.begin, block.begin + block.size):
        if lists.cores[i] < least:  # of one type, so that it compiles to SIMD instructions on eight entries
            least = lists.cores[i]
    block.least = least


@compiled
def split(lists: JobLists, v: int, place: int) -> None:
    """Move the second half of a full block into a new block after it."""
    add_block(lists, v, place + 1)
    old, new = lists.blocks[v, place], lists.blocks[v, place + 1]
    half = BLOCK // 2
    for i in range(half):
        move(lists, old.first + half + i, new.first + i)
    old.size, new.size = half, BLOCK - half
    find_least(lists, v, place)
    find_least(lists, v, place + 1)


@inlined
def insert(lists: JobLists, v: int, j: int, key: float, rank: int, cores: int) -> None:
    """Insert a job into a list; fast for the common cases: at the end, or into an empty list."""
    row = lists.lists[v]
    lists.key_of[v, j], lists.rank_of[v, j] = key, rank
    at = v * BLOCK
    if row.jobs == 0:
        row.blocks, row.made = 1, 1
        block = lists.blocks[v, 0]
        block.first, block.begin, block.size, block.least = at, at, 1, cores
    else:
        block = lists.blocks[v, row.blocks - 1]
        at = block.begin + block.size
        if at == block.first + BLOCK or comes_before(key, rank, lists.keys[at - 1], lists.ranks[at - 1]):
            insert_between(lists, v, j, key, rank, cores)
            return
        block.size += 1
        block.least = min(block.least, cores)
    put(lists, at, j, key, rank, cores)
    row.jobs += 1


@compiled
def insert_between(lists: JobLists, v: int, j: int, key: float, rank: int, cores: int) -> None:
    """Insert a job at its place into a nonempty list."""
    block = lists.blocks[v, room_for(lists, v, key, rank)]
    begin, size = block.begin, block.size
    at = end = begin + size
    if size > 0 and comes_before(key, rank, lists.keys[end - 1], lists.ranks[end - 1]):
        at = entry_for(lists, begin, end, key, rank)
    if begin > block.first and (end == block.first + BLOCK or at - begin < end - at):
        shift(lists, begin, at, -1)
        block.begin = begin - 1
        at -= 1
    elif at < end:
        shift(lists, at, end, 1)
    put(lists, at, j, key, rank, cores)
    block.size = size + 1
    block.least = min(block.least, cores)
    lists.lists[v].jobs += 1


@inlined
def room_for(lists: JobLists, v: int, key: float, rank: int) -> int:
    """Return the place of the block for a key, with a free entry for it."""
    place = 0 if lists.lists[v].blocks == 1 else block_of(lists, v, key, rank)
    block = lists.blocks[v, place]
    full = block.begin + block.size == block.first + BLOCK
    return block_beside(lists, v, place, key, rank) if full else place


@compiled
def block_beside(lists: JobLists, v: int, place: int, key: float, rank: int) -> int:
    """Return the place of the block for a key whose own block has no free entry at its end.

    This is a new block at the end of the list, the same block if it has free entries at its front, else half of it.
    """
    block = lists.blocks[v, place]
    last = block.first + BLOCK - 1
    if place == lists.lists[v].blocks - 1 and comes_before(lists.keys[last], lists.ranks[last], key, rank):
        add_block(lists, v, place + 1)  # lists that only grow at the end fill their blocks
        return place + 1
    if block.size < BLOCK:
        return place
    split(lists, v, place)
    return block_of(lists, v, key, rank)


@inlined
def remove(lists: JobLists, v: int, j: int) -> None:
    """Remove a job from a list; fast for the common cases: the first job, or the only one."""
    row, block = lists.lists[v], lists.blocks[v, 0]
    row.jobs -= 1
    if row.jobs == 0:
        row.blocks = 0
    elif lists.jobs[block.begin] == j and block.size > 1:
        block.begin += 1
        block.size -= 1
    else:
        remove_between(lists, v, j)


@compiled
def remove_between(lists: JobLists, v: int, j: int) -> None:
    """Remove a job from a list in which others stay; the list's count is already reduced."""
    row, place = lists.lists[v], 0
    at = lists.blocks[v, 0].begin
    if lists.jobs[at] != j:
        key, rank = lists.key_of[v, j], lists.rank_of[v, j]
        place = 0 if row.blocks == 1 else block_of(lists, v, key, rank)
        at = lists.blocks[v, place].begin
        if lists.blocks[v, place].size <= FEW:
            while lists.jobs[at] != j:
                at += 1
        else:
            at = entry_for(lists, at, at + lists.blocks[v, place].size, key, rank)
    block = lists.blocks[v, place]
    begin, end = block.begin, block.begin + block.size
    block.size -= 1
    if at - begin < end - 1 - at:
        shift(lists, begin, at, 1)
        block.begin = begin + 1
    elif at < end - 1:
        shift(lists, at + 1, end, -1)
    if block.size == 0:
        row.blocks -= 1
        first = block.first
        for i in range(place, row.blocks):
            lists.blocks[v, i] = lists.blocks[v, i + 1]
        lists.blocks[v, row.blocks].first = first


@inlined
def job_at(lists: JobLists, v: int, place: int, i: int) -> int:
    """Return the job at a place of a list."""
    return int(lists.jobs[lists.blocks[v, place].begin + i])


@inlined
def entries_of(lists: JobLists, v: int) -> Iterator[int]:
    """Yield the entries of a list's jobs in order, for ``lists.jobs[i]``, ``lists.keys[i]`` and so on."""
    for place in range(lists.lists[v].blocks):
        begin = lists.blocks[v, place].begin
        for i in range(begin, begin + lists.blocks[v, place].size):  # noqa: UP028 - compiled code has no yield from
            yield i


@inlined
def jobs_of(lists: JobLists, v: int) -> Iterator[int]:
    """Yield the jobs of a list in order, while it does not change."""
    for i in entries_of(lists, v):
        yield lists.jobs[i]


@compiled
def next_fitting(lists: JobLists, v: int, place: int, i: int, free: int) -> tuple[int, int]:
    """Return the first place from one on whose job requests no more than *free* cores; the number of blocks if none.

    A block searched in vain is skipped from then on, until enough cores for its smallest job are free.
    """
    blocks = lists.lists[v].blocks
    while place < blocks:
        block = lists.blocks[v, place]
        if block.least <= free:
            begin, size, whole = block.begin, block.size, i == 0
            while i < size:
                if lists.cores[begin + i] <= free:
                    return place, i
                i += 1
            if whole:
                find_least(lists, v, place)
        place, i = place + 1, 0
    return place, 0


@compiled
def copy_jobs(lists: JobLists, v: int, out: Ints) -> int:
    """Write the jobs of a list in order; return their number."""
    return copy_column(lists, v, lists.jobs, out)


@compiled
def copy_column(lists: JobLists, v: int, column: NDArray[Any], out: NDArray[Any]) -> int:
    """Write a column of a list, such as ``lists.keys``, in order; return the number of jobs."""
    count = 0
    for place in range(lists.lists[v].blocks):
        block = lists.blocks[v, place]
        copy_entries(out, count, column, block.begin, block.size)
        count += block.size
    return int(count)


@compiled
def entry_with(lists: JobLists, v: int, cores: int) -> tuple[int, int]:
    """Return the first entry up to which jobs request *cores* cores together, and by how much they exceed that.

    The entry is -1 if all jobs together request fewer.
    """
    for i in entries_of(lists, v):
        cores -= lists.cores[i]
        if cores <= 0:
            return i, -cores
    return -1, 0
