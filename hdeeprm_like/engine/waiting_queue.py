"""The waiting jobs: a set with random access, and one heap for each job policy in use."""

from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.splitmix64 import STRIDE, share
from hdeeprm_like.engine.tables import (
    FIRST,
    HEAPS,
    LOW_MEM,
    RANDOM_JOB,
    SHORTEST,
    SMALLEST,
    WAITING,
    Rows,
    Tables,
)


@compiled
def job_key(jobs: Rows, policy: int, j: int) -> float:
    """Return what a job policy minimizes; ties go to the job submitted first (thesis table 3.2)."""
    if policy == FIRST:
        return float(j)
    if policy == SHORTEST:
        return float(jobs[j].requested_time)
    if policy == SMALLEST:
        return float(jobs[j].size)
    if policy == LOW_MEM:
        return float(jobs[j].memory)
    return float(jobs[j].bandwidth)


@compiled
def comes_before(jobs: Rows, policy: int, a: int, b: int) -> bool:
    """Tell whether job *a* is served before job *b*."""
    key_a, key_b = job_key(jobs, policy, a), job_key(jobs, policy, b)
    return key_a < key_b or (key_a == key_b and a < b)


@compiled
def push(t: Tables, policy: int, j: int) -> None:
    """Put a job into the heap of one policy."""
    heap = t.heaps[policy]
    hole = t.heap_size[policy]
    t.heap_size[policy] = hole + 1
    while hole > 0:
        parent = (hole - 1) // 2
        if not comes_before(t.jobs, policy, j, heap[parent]):
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = j


@compiled
def pop(t: Tables, policy: int) -> None:
    """Drop the job at the top of the heap of one policy."""
    heap = t.heaps[policy]
    size = t.heap_size[policy] - 1
    t.heap_size[policy] = size
    last = heap[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and comes_before(t.jobs, policy, heap[child + 1], heap[child]):
            child += 1
        if not comes_before(t.jobs, policy, heap[child], last):
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = last


@compiled
def enqueue(t: Tables, j: int) -> None:
    """Let a job wait."""
    clock = t.clock[0]
    t.jobs[j].status = WAITING
    t.jobs[j].seat = clock.waiting
    t.queue[clock.waiting] = j
    clock.waiting += 1
    for policy in range(HEAPS):
        if t.heap_size[policy] >= 0:
            push(t, policy, j)


@compiled
def dequeue(t: Tables, j: int) -> None:
    """Take a job out of the waiting set; the heaps drop it when it comes up, or with all others when none waits."""
    clock = t.clock[0]
    clock.waiting -= 1
    last = t.queue[clock.waiting]
    seat = t.jobs[j].seat
    t.queue[seat] = last
    t.jobs[last].seat = seat
    if clock.waiting == 0:
        for policy in range(HEAPS):
            t.heap_size[policy] = min(t.heap_size[policy], 0)


@compiled
def draw(t: Tables, n: int) -> int:
    """Return a uniform integer below *n* from the generator of these tables."""
    clock = t.clock[0]
    clock.random += STRIDE
    return int(share(clock.random) * n)


@compiled
def select_job(t: Tables, policy: int) -> int:
    """Return the waiting job that a policy serves next; there must be one (thesis table 3.2)."""
    if policy == RANDOM_JOB:
        return int(t.queue[draw(t, t.clock[0].waiting)])
    while t.jobs[t.heaps[policy, 0]].status != WAITING:
        pop(t, policy)
    return int(t.heaps[policy, 0])
