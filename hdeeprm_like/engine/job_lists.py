"""Sorted lists of jobs: the waiting jobs by each requested order, the running ones by their ends.

A list consists of blocks of at most `BLOCK` jobs, so that an insertion or removal moves few others, and a search for
a job that fits skips blocks in which none is small enough. A block may have free entries on both sides of its jobs, so
that the first one can be removed without moving others. Within a list jobs are sorted by key; for equal keys the lower
rank comes first. A *place* in a list is a pair: the place of the block in the list, and the place in the block.
When the job at a place is removed, the next one moves there (or is at the beginning of the next block).

Insertion, removal and search take O(log n + BLOCK + n / BLOCK) with small constants; n jobs in the list.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hdeeprm_like.engine.bundles import Bundle, copy_entries
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.types import Floats, Ints, Records

BLOCK = 64  # jobs
FEW = 8  # jobs of a block up to which a linear search beats bisection, and single moves beat a block move

LIST = np.dtype(
    [
        ("order", "i4"),  # what it is sorted by, see ``job_keys``
        ("times", "i4"),  # the run times of its keys: REQUESTED, ACTUAL, or FIRST_PREDICTED for all others
        ("jobs", "i8"),  # number of jobs in the list
        ("blocks", "i8"),  # used entries of the directory
        ("made", "i8"),  # blocks used so far
    ],
    align=True,
)


class JobLists(Bundle):
    """V sorted lists; J jobs, K blocks of each list.

    Attributes:
        lists: (V,) LIST.
        directory: (V, K) the blocks of each list in order, then the used blocks that are free again.
        begins: (V, K) entry of the first job of each block. sizes: (V, K) jobs in each block.
        least: (V, K) lower bound of the cores that a job of the block requests.
        jobs, cores: (V, K * BLOCK) the jobs in the blocks, and the cores that they request.
        keys, ranks: (V, K * BLOCK) sort keys and ranks.
        key_of: (V, J) the key of each job. rank_of: (V, J) its rank.
    """

    lists: Records
    directory: Ints
    begins: Ints
    sizes: Ints
    least: Ints
    jobs: Ints
    cores: Ints
    keys: Floats
    ranks: Ints
    key_of: Floats
    rank_of: Ints


def blocks_for(jobs: int, at_once: int) -> tuple[int, int]:
    """Return how many blocks a list can use at once, and how many entries, if *jobs* jobs ever arrive.

    Each block has a job, so there are no more than the jobs that the list has *at once*.

    A block is added only when one is full, and at least half of its jobs arrived since it was added. So half a block of
    jobs has arrived for each block but the first and the last. Few jobs never fill the first one.
    """
    if jobs <= BLOCK:
        return 1, jobs
    blocks = min(2 * jobs // BLOCK + 2, at_once)
    return blocks, blocks * BLOCK


def new_job_lists(orders: tuple[tuple[int, int], ...], jobs: int, at_once: int) -> JobLists:
    """Return empty lists.

    Args:
        orders: sort order of each list, and the run times of its keys. jobs: capacity. at_once: most jobs in a list.
    """
    count, (blocks, entries) = len(orders), blocks_for(jobs, at_once)
    lists = np.zeros(count, LIST)
    lists["order"] = [order for order, _ in orders]
    lists["times"] = [times for _, times in orders]
    return JobLists(
        lists=lists,
        directory=np.zeros((count, blocks), np.int32),
        begins=np.zeros((count, blocks), np.int32),
        sizes=np.zeros((count, blocks), np.int32),
        least=np.zeros((count, blocks), np.int32),
        # written before they are read: what no job needs takes no time
        jobs=np.empty((count, entries), np.int32),
        cores=np.empty((count, entries), np.int32),
        keys=np.empty((count, entries)),
        ranks=np.empty((count, entries), np.int64),
        key_of=np.empty((count, jobs)),
        rank_of=np.empty((count, jobs), np.int64),
    )


def make_room(lists: JobLists, jobs: int) -> None:
    """Grow the lists to a capacity of *jobs* jobs."""
    blocks, entries = blocks_for(jobs, jobs)
    sizes = dict.fromkeys(("directory", "begins", "sizes", "least"), blocks) | {"key_of": jobs, "rank_of": jobs}
    for name, columns in (sizes | dict.fromkeys(("jobs", "cores", "keys", "ranks"), entries)).items():
        old = getattr(lists, name)
        grown = np.zeros((len(old), columns), old.dtype)
        grown[:, : old.shape[1]] = old
        setattr(lists, name, grown)


@inlined
def comes_before(key: float, rank: int, other_key: float, other_rank: int) -> bool:
    """Return whether one job comes before another."""
    return key < other_key or (key == other_key and rank < other_rank)


@inlined
def block_of(lists: JobLists, v: int, key: float, rank: int) -> int:
    """Return the directory place of the last block whose first job does not come after a key; 0 if none."""
    low, high = 1, lists.lists[v].blocks
    while low < high:
        middle = (low + high) >> 1
        first = lists.begins[v, lists.directory[v, middle]]
        if comes_before(key, rank, lists.keys[v, first], lists.ranks[v, first]):
            high = middle
        else:
            low = middle + 1
    return low - 1


@inlined
def entry_for(lists: JobLists, v: int, b: int, key: float, rank: int) -> int:
    """Return the entry of a block that splits it: jobs before it come before the key, jobs after it do not."""
    low, high = lists.begins[v, b], lists.begins[v, b] + lists.sizes[v, b]
    while low < high:
        middle = (low + high) >> 1
        if comes_before(lists.keys[v, middle], lists.ranks[v, middle], key, rank):
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def add_block(lists: JobLists, v: int, place: int) -> int:
    """Insert an empty block at a place of the directory; return its number."""
    row = lists.lists[v]
    b = row.made
    if row.blocks < row.made:
        b = lists.directory[v, row.blocks]
    else:
        row.made += 1
    for i in range(row.blocks, place, -1):
        lists.directory[v, i] = lists.directory[v, i - 1]
    lists.directory[v, place] = b
    lists.begins[v, b], lists.sizes[v, b], lists.least[v, b] = b * BLOCK, 0, 2**31 - 1
    row.blocks += 1
    return int(b)


@inlined
def move(lists: JobLists, v: int, source: int, target: int) -> None:
    """Copy a job with its key, rank and cores from one entry to another."""
    lists.jobs[v, target], lists.cores[v, target] = lists.jobs[v, source], lists.cores[v, source]
    lists.keys[v, target], lists.ranks[v, target] = lists.keys[v, source], lists.ranks[v, source]


@inlined
def shift(lists: JobLists, v: int, first: int, end: int, by: int) -> None:
    """Move the entries from *first* up to, not including, *end* by one place, 1 or -1."""
    count = end - first
    if count <= FEW:
        for i in range(count):
            source = end - 1 - i if by > 0 else first + i
            move(lists, v, source, source + by)
        return
    copy_entries(lists.jobs[v], first + by, lists.jobs[v], first, count)
    copy_entries(lists.cores[v], first + by, lists.cores[v], first, count)
    copy_entries(lists.keys[v], first + by, lists.keys[v], first, count)
    copy_entries(lists.ranks[v], first + by, lists.ranks[v], first, count)


@compiled
def find_least(lists: JobLists, v: int, b: int) -> None:
    """Compute the fewest cores that a job of a nonempty block requests."""
    begin = lists.begins[v, b]
    least = lists.cores[v, begin]
    for i in range(begin, begin + lists.sizes[v, b]):
        if lists.cores[v, i] < least:  # of one type, so that it compiles to SIMD instructions on eight entries
            least = lists.cores[v, i]
    lists.least[v, b] = least


@compiled
def split(lists: JobLists, v: int, place: int) -> None:
    """Move the second half of a full block into a new block after it."""
    old = lists.directory[v, place]
    new = add_block(lists, v, place + 1)
    half = BLOCK // 2
    for i in range(half):
        move(lists, v, old * BLOCK + half + i, new * BLOCK + i)
    lists.sizes[v, old], lists.sizes[v, new] = half, BLOCK - half
    find_least(lists, v, old)
    find_least(lists, v, new)


@inlined
def insert(lists: JobLists, v: int, j: int, key: float, rank: int, cores: int) -> None:
    """Insert a job into a list; fast for the common cases: at the end, or into an empty list."""
    row = lists.lists[v]
    lists.key_of[v, j], lists.rank_of[v, j] = key, rank
    at, b = 0, 0
    if row.jobs == 0:
        row.blocks, row.made = 1, 1
        lists.directory[v, 0], lists.begins[v, 0], lists.sizes[v, 0], lists.least[v, 0] = 0, 0, 1, cores
    else:
        b = lists.directory[v, row.blocks - 1]
        at = lists.begins[v, b] + lists.sizes[v, b]
        if at == b * BLOCK + BLOCK or comes_before(key, rank, lists.keys[v, at - 1], lists.ranks[v, at - 1]):
            insert_between(lists, v, j, key, rank, cores)
            return
        lists.sizes[v, b] += 1
        lists.least[v, b] = min(lists.least[v, b], cores)
    lists.jobs[v, at], lists.cores[v, at], lists.keys[v, at], lists.ranks[v, at] = j, cores, key, rank
    row.jobs += 1


@compiled
def insert_between(lists: JobLists, v: int, j: int, key: float, rank: int, cores: int) -> None:
    """Insert a job at its place into a nonempty list."""
    b = room_for(lists, v, key, rank)
    begin, size = lists.begins[v, b], lists.sizes[v, b]
    at = end = begin + size
    if size > 0 and comes_before(key, rank, lists.keys[v, end - 1], lists.ranks[v, end - 1]):
        at = entry_for(lists, v, b, key, rank)
    if begin > b * BLOCK and (end == b * BLOCK + BLOCK or at - begin < end - at):
        shift(lists, v, begin, at, -1)
        lists.begins[v, b] = begin - 1
        at -= 1
    elif at < end:
        shift(lists, v, at, end, 1)
    lists.jobs[v, at], lists.cores[v, at], lists.keys[v, at], lists.ranks[v, at] = j, cores, key, rank
    lists.sizes[v, b] = size + 1
    lists.least[v, b] = min(lists.least[v, b], cores)
    lists.lists[v].jobs += 1


@inlined
def room_for(lists: JobLists, v: int, key: float, rank: int) -> int:
    """Return the block for a key, with a free entry for it."""
    blocks = lists.lists[v].blocks
    place = 0 if blocks == 1 else block_of(lists, v, key, rank)
    b = lists.directory[v, place]
    end = lists.begins[v, b] + lists.sizes[v, b]
    return b if end < b * BLOCK + BLOCK else block_beside(lists, v, place, key, rank)


@compiled
def block_beside(lists: JobLists, v: int, place: int, key: float, rank: int) -> int:
    """Return the block for a key whose own block has no free entry at its end.

    This is a new block at the end of the list, the same block if it has free entries at its front, else half of it.
    """
    b = lists.directory[v, place]
    last = b * BLOCK + BLOCK - 1
    if place == lists.lists[v].blocks - 1 and comes_before(lists.keys[v, last], lists.ranks[v, last], key, rank):
        return add_block(lists, v, place + 1)  # lists that only grow at the end fill their blocks
    if lists.sizes[v, b] < BLOCK:
        return int(b)
    split(lists, v, place)
    return int(lists.directory[v, block_of(lists, v, key, rank)])


@inlined
def remove(lists: JobLists, v: int, j: int) -> None:
    """Remove a job from a list; fast for the common cases: the first job, or the only one."""
    row = lists.lists[v]
    row.jobs -= 1
    if row.jobs == 0:
        row.blocks = 0
        return
    b = lists.directory[v, 0]
    if lists.jobs[v, lists.begins[v, b]] == j and lists.sizes[v, b] > 1:
        lists.begins[v, b] += 1
        lists.sizes[v, b] -= 1
    else:
        remove_between(lists, v, j)


@compiled
def remove_between(lists: JobLists, v: int, j: int) -> None:
    """Remove a job from a list in which others stay; the list's count is already reduced."""
    row = lists.lists[v]
    place, b = 0, lists.directory[v, 0]
    at = lists.begins[v, b]
    if lists.jobs[v, at] != j:
        key, rank = lists.key_of[v, j], lists.rank_of[v, j]
        place = 0 if row.blocks == 1 else block_of(lists, v, key, rank)
        b = lists.directory[v, place]
        at = lists.begins[v, b]
        if lists.sizes[v, b] <= FEW:
            while lists.jobs[v, at] != j:
                at += 1
        else:
            at = entry_for(lists, v, b, key, rank)
    begin, size = lists.begins[v, b], lists.sizes[v, b] - 1
    lists.sizes[v, b] = size
    if at - begin < begin + size - at:
        shift(lists, v, begin, at, 1)
        lists.begins[v, b] = begin + 1
    elif at < begin + size:
        shift(lists, v, at + 1, begin + size + 1, -1)
    if size == 0:
        row.blocks -= 1
        for i in range(place, row.blocks):
            lists.directory[v, i] = lists.directory[v, i + 1]
        lists.directory[v, row.blocks] = b


@inlined
def job_at(lists: JobLists, v: int, place: int, i: int) -> int:
    """Return the job at a place of a list."""
    return int(lists.jobs[v, lists.begins[v, lists.directory[v, place]] + i])


@inlined
def entries_of(lists: JobLists, v: int) -> Iterator[int]:
    """Yield the entries of a list's jobs in order, for ``lists.jobs[v, i]``, ``lists.keys[v, i]`` and so on."""
    for place in range(lists.lists[v].blocks):
        b = lists.directory[v, place]
        begin = lists.begins[v, b]
        for i in range(begin, begin + lists.sizes[v, b]):  # noqa: UP028 - compiled code has no yield from
            yield i


@inlined
def jobs_of(lists: JobLists, v: int) -> Iterator[int]:
    """Yield the jobs of a list in order, while it does not change."""
    for i in entries_of(lists, v):
        yield lists.jobs[v, i]


@compiled
def next_fitting(lists: JobLists, v: int, place: int, i: int, free: int) -> tuple[int, int]:
    """Return the first place from one on whose job requests no more than *free* cores; the number of blocks if none.

    A block searched in vain is skipped from then on, until enough cores for its smallest job are free.
    """
    blocks = lists.lists[v].blocks
    while place < blocks:
        b = lists.directory[v, place]
        if lists.least[v, b] <= free:
            begin, size, whole = lists.begins[v, b], lists.sizes[v, b], i == 0
            while i < size:
                if lists.cores[v, begin + i] <= free:
                    return place, i
                i += 1
            if whole:
                find_least(lists, v, b)
        place, i = place + 1, 0
    return place, 0


@compiled
def copy_jobs(lists: JobLists, v: int, out: Ints) -> int:
    """Write the jobs of a list in order; return their number."""
    return copy_column(lists, v, lists.jobs[v], out)


@compiled
def copy_column(lists: JobLists, v: int, column: NDArray[Any], out: NDArray[Any]) -> int:
    """Write a column of a list, such as ``lists.keys[v]``, in order; return the number of jobs."""
    count = 0
    for place in range(lists.lists[v].blocks):
        b = lists.directory[v, place]
        copy_entries(out, count, column, lists.begins[v, b], lists.sizes[v, b])
        count += lists.sizes[v, b]
    return int(count)


@compiled
def entry_with(lists: JobLists, v: int, cores: int) -> tuple[int, int]:
    """Return the first entry up to which jobs request *cores* cores together, and by how much they exceed that.

    The entry is -1 if all jobs together request fewer.
    """
    for i in entries_of(lists, v):
        cores -= lists.cores[v, i]
        if cores <= 0:
            return i, -cores
    return -1, 0
