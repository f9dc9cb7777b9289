"""The summary of a cluster and its queue that HDeepRM's agents see (thesis 3.2.3.1).

All features lie within [0, 1]; N nodes, P processors, C cores.

| part | features | what | kinds |
|---|---|---|---|
| memory | N | free share of each node's memory | normal, small |
| bandwidth | P | share of each processor's memory bandwidth that no job asks for | normal, small |
| cores | 3 C | of each core: speed and power now as shares of its peak, share of its job to compute | normal |
| queue | 4 x 5 | of the waiting jobs' requests: minimum, quartiles, maximum as shares of the limit | all |
| variation | 1 | change of the queue's length since the last observation | all |

The requests are time, cores, memory per core and bandwidth per core, the limit is the largest request of a single job.
The variation is 0.5 for none, 0 for the share *queue sensitivity* less, 1 for that share more, linear between.
The share still to compute is by the user's estimate: 1 - done / requested operations, at least 0; 0 on an idle core.
"""

from typing import Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.engine.bundles import bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import IDLE_CORE, WAITING, Rows, Tables, longer
from hdeeprm_like.types import Floats, Ints

Kind: TypeAlias = Literal["normal", "small", "minimal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NORMAL, SMALL, MINIMAL = 0, 1, 2

REQUESTS = ("time", "cores", "memory", "bandwidth")
STATISTICS = ("minimum", "q1", "median", "q3", "maximum")
BUSY = 1e-9  # share of a processor's bandwidth; less than that is rounding


@bundle()
class QueueColumns(NamedTuple):
    """The requests of the waiting jobs, each kind sorted, kept from one observation to the next.

    Attributes:
        counts: (3,) jobs in the columns, job rows seen so far, queue length at the last observation (-1 before).
        members: (J,) job rows in the order of submission.
        columns: (4, J) sorted requests, in the order of ``REQUESTS``.
        limits: (4,) the largest request of each kind; where it is 0, no column is kept.
    """

    counts: Ints
    members: Ints
    columns: Floats
    limits: Floats


@compiled
def requests_of(jobs: Rows, j: int) -> tuple[float, float, float, float]:
    """Return what a job asks for, in the order of ``REQUESTS``."""
    job = jobs[j]
    return float(job.requested_time), float(job.size), float(job.memory), float(job.bandwidth)


@compiled
def seat_of(column: Floats, count: int, value: float) -> int:
    """Return where the first entry that is not below *value* stands in a sorted column."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if column[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def add_job(jobs: Rows, q: QueueColumns, j: int) -> None:
    """Sort a job into the columns."""
    count, requests = q.counts[0], requests_of(jobs, j)
    q.members[count] = j
    q.counts[0] = count + 1
    for kind in range(4):
        if q.limits[kind] == 0.0:  # nobody asks for any
            continue
        column, value = q.columns[kind], requests[kind]
        seat = seat_of(column, count, value)
        for i in range(count, seat, -1):
            column[i] = column[i - 1]
        column[seat] = value


@compiled
def drop_job(jobs: Rows, q: QueueColumns, seat: int) -> None:
    """Take the member at a seat out of the columns."""
    count, requests = q.counts[0] - 1, requests_of(jobs, q.members[seat])
    q.counts[0] = count
    for i in range(seat, count):
        q.members[i] = q.members[i + 1]
    for kind in range(4):
        if q.limits[kind] == 0.0:
            continue
        column = q.columns[kind]
        for i in range(seat_of(column, count + 1, requests[kind]), count):
            column[i] = column[i + 1]


@compiled
def follow_queue(t: Tables, q: QueueColumns) -> None:
    """Bring the columns up to the queue of now: only what came or left since the last time is touched."""
    clock = t.clock[0]
    if clock.waiting == 0:
        q.counts[0], q.counts[1] = 0, clock.submitted
        return
    while q.counts[1] < clock.submitted:
        if t.jobs[q.counts[1]].status == WAITING:
            add_job(t.jobs, q, q.counts[1])
        q.counts[1] += 1
    seat = 0
    while q.counts[0] > clock.waiting:
        if t.jobs[q.members[seat]].status == WAITING:
            seat += 1
        else:
            drop_job(t.jobs, q, seat)


@compiled
def quartile(column: Floats, count: int, quarter: int) -> float:
    """Return the quartile of a sorted column as ``numpy.percentile`` does, by linear interpolation."""
    place = 0.25 * quarter * (count - 1)
    below = int(place)
    if below + 1 >= count:
        return float(column[below])
    share = place - below
    a, b = column[below], column[below + 1]
    return float(a + (b - a) * share if share < 0.5 else b - (b - a) * (1.0 - share))


@compiled
def write_queue(t: Tables, q: QueueColumns, sensitivity: float, out: Floats, at: int) -> None:
    """Write the queue's quartiles and the variation of its length; the last length becomes the present one."""
    count, last, out = q.counts[0], q.counts[2], out[at : at + 21]
    for i in range(20):
        out[i] = 0.0
    for kind in range(4 if count > 0 else 0):
        column, limit, first = q.columns[kind], q.limits[kind], 5 * kind
        if limit == 0.0:
            continue
        if column[0] == column[count - 1]:
            share = min(column[0] / limit, 1.0)
            for quarter in range(5):
                out[first + quarter] = share
        else:
            for quarter in range(5):
                out[first + quarter] = min(quartile(column, count, quarter) / limit, 1.0)
    if last < 0 or last == count:
        out[20] = 0.5
    elif last == 0:
        out[20] = 1.0
    else:
        out[20] = min(max(0.5 + 0.5 * (count - last) / last / sensitivity, 0.0), 1.0)
    q.counts[2] = count


@compiled
def share_to_compute(t: Tables, j: int) -> float:
    """Return the share of a running job's estimated operations that is still to compute."""
    job = t.jobs[j]
    if job.requested_ops <= 0.0:
        return 0.0
    done = job.done + job.speed * (t.clock[0].now - job.as_of)
    return float(max(1.0 - done / job.requested_ops, 0.0))


@compiled
def write_cores(t: Tables, out: Floats, at: int) -> None:
    """Write speed, power and share to compute of each core."""
    job, share = IDLE_CORE, 0.0
    for p in range(len(t.processors)):
        processor, load = t.processors[p], t.loads[p]
        serving = P1 if load.oversubscribed else P0
        idle = P2 if load.busy > 0 else P3
        speed = processor.flops[serving] / processor.flops[P0]
        watts = processor.watts[serving] / processor.watts[P0] if processor.watts[P0] > 0.0 else 0.0
        idle_watts = processor.watts[idle] / processor.watts[P0] if processor.watts[P0] > 0.0 else 0.0
        for core in range(processor.first_core, processor.first_core + processor.cores):
            j = t.core_job[core]
            if j == IDLE_CORE:
                out[at], out[at + 1], out[at + 2] = 0.0, idle_watts, 0.0
            else:
                if j != job:
                    job, share = j, share_to_compute(t, j)
                out[at], out[at + 1], out[at + 2] = speed, watts, share
            at += 3


@compiled
def write_summary(t: Tables, q: QueueColumns, kind: int, sensitivity: float, out: Floats) -> None:
    """Write the observation of a kind; O(what it shows), and O(what changed) for the queue."""
    at = 0
    if kind != MINIMAL:
        for n in range(len(t.nodes)):
            memory = t.nodes[n].memory
            out[at] = min(max(t.rooms[n].free_memory / memory, 0.0), 1.0) if memory > 0.0 else 0.0
            at += 1
        for p in range(len(t.processors)):
            bandwidth = t.processors[p].bandwidth
            free = 1.0 - t.loads[p].used_bandwidth / bandwidth if bandwidth > 0.0 else 0.0
            out[at] = min(free, 1.0) if free > BUSY else 0.0
            at += 1
    if kind == NORMAL:
        write_cores(t, out, at)
        at += 3 * len(t.core_job)
    follow_queue(t, q)
    write_queue(t, q, sensitivity, out, at)


def features(platform: Platform, kind: Kind) -> int:
    """Return the number of features that an observation of a kind has on a platform (thesis 3.2.3.1)."""
    hardware = platform.nodes + platform.processors if kind != "minimal" else 0
    cores = 3 * platform.cores if kind == "normal" else 0
    return hardware + cores + len(REQUESTS) * len(STATISTICS) + 1


def feature_names(platform: Platform, kind: Kind) -> tuple[str, ...]:
    """Return the name of each feature, ``"node 0 memory"`` to ``"queue variation"``."""
    names: list[str] = []
    if kind != "minimal":
        names += [f"node {n} memory" for n in range(platform.nodes)]
        names += [f"processor {p} bandwidth" for p in range(platform.processors)]
    if kind == "normal":
        names += [f"core {c} {what}" for c in range(platform.cores) for what in ("speed", "power", "left")]
    names += [f"queue {request} {statistic}" for request in REQUESTS for statistic in STATISTICS]
    return (*names, "queue variation")


def queue_columns(state: State) -> QueueColumns:
    """Return empty columns for the jobs of a state."""
    jobs, limits = len(state.tables.jobs), state.limits
    return QueueColumns(
        counts=np.array([0, 0, -1], np.int64),
        members=np.zeros(jobs, np.int32),
        columns=np.zeros((4, jobs)),
        limits=np.array([limits.time, limits.cores, limits.memory, limits.bandwidth]),
    )


def wider(q: QueueColumns, jobs: int) -> QueueColumns:
    """Return the same columns with room for so many jobs."""
    columns = np.zeros((4, jobs))
    columns[:, : q.columns.shape[1]] = q.columns
    return q._replace(members=longer(q.members, jobs), columns=columns)
