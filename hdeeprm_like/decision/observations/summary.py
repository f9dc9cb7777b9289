"""The summary of a cluster and its queue, the observation of HDeepRM's agents (thesis 3.2.3.1).

All features lie within [0, 1]; N nodes, P processors, C cores.

| part | features | what | kinds |
|---|---|---|---|
| memory | N | free share of each node's memory | normal, small |
| bandwidth | P | share of each processor's memory bandwidth that no job requests | normal, small |
| cores | 3 C | per core: speed and power now as shares of its peak, share of its job left to compute | normal |
| queue | 4 x 5 | waiting jobs' requests: minimum, quartiles, maximum as shares of the limit | all |
| variation | 1 | change of the queue's length since the last observation | all |

The requests are time, cores, memory per core and bandwidth per core; the limit is the largest request of a single job.
The variation is 0.5 for no change, 0 for the share *queue sensitivity* less, 1 for that share more, linear between.
The share left to compute is by the user's estimate: 1 - done / requested operations, at least 0; 0 on an idle core.
"""

from collections.abc import Callable

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3
from hdeeprm_like.decision.layout import NODE, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, shift_left
from hdeeprm_like.engine.joined_words import head_of
from hdeeprm_like.engine.numbers import FIRST, LOW_MEM, LOW_MEM_BW, SHORTEST, SMALLEST
from hdeeprm_like.engine.tables import IDLE_CORE, Tables
from hdeeprm_like.engine.waiting_queue import sort_keys
from hdeeprm_like.types import Floats, Records

REQUESTS = ("time", "cores", "memory", "bandwidth")
STATISTICS = ("minimum", "q1", "median", "q3", "maximum")
SCATTERED = -1  # instead of an entry
BUSY = 1e-9  # share of a processor's bandwidth; less than that is rounding


@compiled
def requests_of(jobs: Records, j: int) -> tuple[float, float, float, float]:
    """Return the requests of a job, in the order of ``REQUESTS``."""
    job = jobs[j]
    return float(job.requested_time), float(job.size), float(job.memory), float(job.bandwidth)


@compiled
def nth_key(tables: Tables, v: int, n: int) -> float:
    """Return the sort key of job number *n* of a list of waiting jobs, from 0 on."""
    waiting, place = tables.waiting, 0
    while n >= waiting.blocks[v, place].size:
        n -= waiting.blocks[v, place].size
        place += 1
    return float(waiting.keys[waiting.blocks[v, place].begin + n])


@inlined
def begin_of_keys(tables: Tables, v: int, order: int) -> int:
    """Return the entry from which on a list has the keys of all waiting jobs, SCATTERED if in several blocks."""
    waiting = tables.waiting
    if v >= tables.clock[0].sorted:
        return sort_keys(tables, v, order)
    return int(waiting.blocks[v, 0].begin) if waiting.lists[v].blocks == 1 else SCATTERED


@inlined
def key_number(tables: Tables, v: int, begin: int, n: int) -> float:
    """Return key number *n* of a list, see `begin_of_keys`."""
    return float(tables.waiting.keys[begin + n]) if begin != SCATTERED else nth_key(tables, v, n)


@compiled
def quartile(tables: Tables, v: int, begin: int, quarter: int) -> float:
    """Return a quartile of the keys of a list as ``numpy.percentile`` does, by linear interpolation."""
    count = tables.clock[0].waiting
    place = 0.25 * quarter * (count - 1)
    below = int(place)
    if below + 1 >= count:
        return key_number(tables, v, begin, below)
    share = place - below
    a, b = key_number(tables, v, begin, below), key_number(tables, v, begin, below + 1)
    return float(a + (b - a) * share if share < 0.5 else b - (b - a) * (1.0 - share))


NONE_YET = -1.0  # before the first observation, in place of the number of waiting jobs at the last one


@compiled
def write_queue(tables: Tables, view: ViewArrays, out: Floats, at: int) -> None:
    """Write the queue's quartiles and the variation of its length, and store the present length as the last one."""
    params, count = view.params[0], tables.clock[0].waiting
    for i in range(at, at + 20):
        out[i] = 0.0
    for kind in range(4 if count > 0 else 0):
        limit, first, v = view.limits[kind], at + 5 * kind, tables.list_of[FIRST + 1 + kind]
        if limit == 0.0:  # no job requests any
            continue
        begin = begin_of_keys(tables, v, FIRST + 1 + kind)
        least = key_number(tables, v, begin, 0)
        if least == key_number(tables, v, begin, count - 1):
            share = min(least / limit, 1.0)
            for quarter in range(5):
                out[first + quarter] = share
        else:
            for quarter in range(5):
                out[first + quarter] = min(quartile(tables, v, begin, quarter) / limit, 1.0)
    before = view.memory[0]  # waiting jobs at the last observation, NONE_YET before
    if before < 0.0 or before == count:
        out[at + 20] = 0.5
    elif before == 0.0:
        out[at + 20] = 1.0
    else:
        change = 0.5 + 0.5 * (count - before) / before / params.sensitivity
        out[at + 20] = min(max(change, 0.0), 1.0)
    view.memory[0] = count


@compiled
def share_to_compute(tables: Tables, j: int) -> float:
    """Return the share of a running job's estimated operations left to compute."""
    job = tables.jobs[j]
    if job.requested_ops <= 0.0:
        return 0.0
    done = job.done + job.speed * (tables.clock[0].now - job.as_of)
    return float(max(1.0 - done / job.requested_ops, 0.0))


@compiled
def write_cores(tables: Tables, out: Floats, at: int) -> None:
    """Write speed, power and share left to compute for each core."""
    job, share = IDLE_CORE, 0.0
    for p in range(len(tables.processors)):
        processor, load = tables.processors[p], tables.loads[p]
        serving = P1 if load.oversubscribed else P0
        idle = P2 if load.busy > 0 else P3
        speed = processor.flops[serving] / processor.flops[P0]
        watts = processor.watts[serving] / processor.watts[P0] if processor.watts[P0] > 0.0 else 0.0
        idle_watts = processor.watts[idle] / processor.watts[P0] if processor.watts[P0] > 0.0 else 0.0
        for w in range(processor.first_word, processor.first_word + processor.words):
            word = tables.words[head_of(tables, w)]
            for bit in range(count_bits(word.cores)):
                if word.begins & shift_left(1, bit) and tables.owners[word.first + bit] != job:
                    job = tables.owners[word.first + bit]
                    share = share_to_compute(tables, job)
                if word.serving & shift_left(1, bit):
                    out[at], out[at + 1], out[at + 2] = speed, watts, share
                else:
                    out[at], out[at + 1], out[at + 2] = 0.0, idle_watts, 0.0
                at += 3


@inlined
def write_hardware(tables: Tables, out: Floats) -> int:
    """Write the free shares of memory and bandwidth; return the number of these features."""
    at = 0
    for n in range(len(tables.nodes)):
        memory = tables.nodes[n].memory
        out[at] = min(max(tables.node_loads[n].free_memory / memory, 0.0), 1.0) if memory > 0.0 else 0.0
        at += 1
    for p in range(len(tables.processors)):
        bandwidth = tables.processors[p].bandwidth
        free = 1.0 - tables.loads[p].used_bandwidth / bandwidth if bandwidth > 0.0 else 0.0
        out[at] = min(free, 1.0) if free > BUSY else 0.0
        at += 1
    return at


@compiled
def write_normal(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write all parts; O(processors + cores)."""
    at = write_hardware(tables, out)
    write_cores(tables, out, at)
    write_queue(tables, view, out, at + 3 * len(tables.owners))


@compiled
def write_small(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write all parts except the cores; O(processors)."""
    write_queue(tables, view, out, write_hardware(tables, out))


@compiled
def write_minimal(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features of the queue."""
    write_queue(tables, view, out, 0)


def blocks(sizes: Sizes, hardware: bool, cores: bool) -> tuple[Block, ...]:
    """Return the column blocks, ``"node 0 memory"`` to ``"queue variation"`` (thesis 3.2.3.1)."""
    platform, found = sizes.platform, list[Block]()
    if hardware:
        found += [Block(NODE, platform.nodes, ("memory",)), Block("processor", platform.processors, ("bandwidth",))]
    if cores:
        found.append(Block("core", platform.cores, ("speed", "power", "left")))
    queue = (f"queue {request} {statistic}" for request in REQUESTS for statistic in STATISTICS)
    return (*found, Block("", 1, (*queue, "queue variation")))


def summary(kind: str, write: Callable[[Tables, Window, ViewArrays, Floats], None]) -> Observation:
    """Return one of the three kinds of summary."""
    return Observation(
        name=kind,
        blocks=lambda sizes: blocks(sizes, kind != "minimal", kind == "normal"),
        write=write,
        memory=(NONE_YET,),
        orders=(SHORTEST, SMALLEST, LOW_MEM, LOW_MEM_BW),
        lists=False,
        shows_cores=kind == "normal",
    )


NORMAL = summary("normal", write_normal)
SMALL = summary("small", write_small)
MINIMAL = summary("minimal", write_minimal)
