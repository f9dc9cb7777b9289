"""Choice of the cores of a job by a placement score (`decision.score_files`): the smallest score is first.

A search computes the score once for each class of idle processors and once for each processor in use.
"""

import numpy as np

from hdeeprm_like.cluster.pstates import P0, P2, P3
from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.decision.policies.estimates import bring_estimate
from hdeeprm_like.decision.policies.history import OF_EXPECTED, History, find_siblings, trusted_log_time
from hdeeprm_like.decision.policies.knowledge import Knowledge
from hdeeprm_like.decision.policies.placing import FIXED, Placing
from hdeeprm_like.decision.policies.scores import F_PLACEMENT
from hdeeprm_like.decision.score_files import CORE_FEATURES, JOB_FEATURES
from hdeeprm_like.engine.allocation import close_choice
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.dispatch import check_names, numbered
from hdeeprm_like.engine.lifecycle import OVER
from hdeeprm_like.engine.numbers import FIRST_FIT
from hdeeprm_like.engine.processor_keys import places
from hdeeprm_like.engine.processor_search import pick, roomy_processors, take_cores
from hdeeprm_like.engine.tables import CORES, Tables

CHANGING = range(FIXED, 15)  # behind those that never change
(
    C_ASLEEP,
    C_ADDED_POWER,
    C_CONTENDED,
    C_SLOWED,
    C_BANDWIDTH_LEFT,
    C_MEMORY_LEFT,
    C_CORES_LEFT,
    C_NODE_LEFT,
    C_ELSEWHERE,
    C_LAG,
) = CHANGING
NAMED = (*tuple(CORE_FEATURES)[:FIXED], *numbered(globals(), "C_", CHANGING))
check_names("features of cores", CORE_FEATURES, NAMED, __name__)
C_COUNT, F_COUNT = len(CORE_FEATURES), len(JOB_FEATURES)
F_ONE, F_TRUSTED_LOG_TIME, F_LOG_CORES, F_MEMORY, F_BANDWIDTH, F_ON_GPUS, F_LOG_WAIT, F_FREE, F_QUEUE = range(F_COUNT)
HOUR = 3600.0  # s
MOST_SHARE = 4.0
ANY_NODE = -1


@compiled
def weigh_job(tables: Tables, history: History, placing: Placing, k: int, j: int) -> None:
    """Write what each feature of cores weighs for a waiting job now."""
    f, job, clock, mean = placing.job, tables.jobs[j], tables.clock[0], placing.mean[0]
    f[F_ONE], f[F_TRUSTED_LOG_TIME] = 1.0, 0.0
    if placing.rows[k].estimates == 1:
        find_siblings(tables, history)
        bring_estimate(tables, history, j)
        f[F_TRUSTED_LOG_TIME] = trusted_log_time(history, OF_EXPECTED, j) - np.log(HOUR)
    f[F_LOG_CORES] = np.log(job.size / float(clock.most_cores))
    f[F_MEMORY] = min(job.memory / mean.memory, MOST_SHARE) if mean.memory > 0.0 else 0.0
    f[F_BANDWIDTH] = min(job.bandwidth / mean.bandwidth, MOST_SHARE) if mean.bandwidth > 0.0 else 0.0
    f[F_ON_GPUS] = 1.0 if job.gpus > 0.0 else 0.0
    f[F_LOG_WAIT] = np.log1p(max(clock.now - job.submit, 0.0) / HOUR)
    f[F_FREE] = clock.free_cores / float(clock.most_cores)
    f[F_QUEUE] = np.log1p(float(clock.waiting)) / 3.0
    for c in range(C_COUNT):
        total = 0.0
        for i in range(F_COUNT):
            total += placing.weights[k * C_COUNT + c, i] * f[i]
        placing.weighed[c] = total


@inlined
def free_on_node(tables: Tables, n: int) -> int:
    """Return the number of free cores of a node."""
    node, free = tables.nodes[n], 0
    for p in range(node.first_processor, node.first_processor + node.processors):
        free += tables.loads[p].free
    return free


@compiled
def score_cores(tables: Tables, placing: Placing, j: int, p: int, taken: int, free: int) -> float:
    """Return the score of *taken* cores of a processor for a job, whose weights are written.

    Args:
        free: cores of its node that are free now.
    """
    wanted, slowest = placing.search[0].wanted, placing.search[0].slowest
    job, processor, load, f = tables.jobs[j], tables.processors[p], tables.loads[p], placing.cores
    node, room = tables.nodes[processor.node], tables.node_loads[processor.node]
    kind, busy, cores = placing.classes[p], load.busy + load.picked, float(processor.cores)
    for c in range(FIXED):
        f[c] = placing.fixed[kind, c]
    idle = processor.watts[P3] if busy == 0 else processor.watts[P2]
    added = taken * (processor.watts[P0] - idle) + (cores - busy - taken) * (processor.watts[P2] - idle)
    f[C_ASLEEP] = 1.0 if busy == 0 else 0.0
    f[C_ADDED_POWER] = added / (taken * placing.mean[0].watts) if placing.mean[0].watts > 0.0 else 0.0
    used = load.used_bandwidth + taken * job.bandwidth
    f[C_CONTENDED] = 1.0 if used > processor.bandwidth * OVER else 0.0
    f[C_SLOWED] = busy / cores if f[C_CONTENDED] == 1.0 and load.oversubscribed == 0 else 0.0
    f[C_BANDWIDTH_LEFT] = max(1.0 - used / processor.bandwidth, -1.0) if processor.bandwidth > 0.0 else 0.0
    f[C_MEMORY_LEFT] = (room.free_memory - taken * job.memory) / node.memory if node.memory > 0.0 else 0.0
    f[C_CORES_LEFT], f[C_NODE_LEFT] = (load.free - taken) / cores, (free - taken) / float(node.cores)
    f[C_ELSEWHERE] = (wanted - taken) / float(wanted)
    f[C_LAG] = max(np.log(slowest / processor.flops[P0]), 0.0) if slowest < np.inf else 0.0
    total = 0.0
    for c in range(C_COUNT):
        total += placing.weighed[c] * f[c]
    return total


@compiled
def most_taken(tables: Tables, placing: Placing, j: int, p: int, free: int) -> int:
    """Return how many cores of a processor a job could take, 0 where its node cannot take the job if it must.

    Args:
        free: cores of its node that are free.
    """
    job, n, search = tables.jobs[j], tables.processors[p].node, placing.search[0]
    if search.only != ANY_NODE and n != search.only:
        return 0
    node, room = tables.nodes[n], tables.node_loads[n]
    memory, gpus = room.free_memory + node.memory * ROUNDING, room.free_gpus + node.gpus * ROUNDING
    if tables.clock[0].whole == 1 and places(float(free), memory, gpus, job.memory, job.gpus) < search.wanted:
        return 0
    return int(min(places(float(tables.loads[p].free), memory, gpus, job.memory, job.gpus), float(search.wanted)))


@compiled
def try_processor(tables: Tables, placing: Placing, j: int, p: int) -> None:
    """Note a processor as the best if its score is smaller.

    Of the processors of a class on idle nodes only the first is scored: the others have the same score.
    """
    n, kind = tables.processors[p].node, placing.classes[p]
    free = free_on_node(tables, n)
    if free == tables.nodes[n].cores:
        if placing.seen[kind] == 1:
            return
        placing.seen[kind] = 1
    taken = most_taken(tables, placing, j, p, free)
    if taken < 1:
        return
    note_if_best(placing, p, taken, score_cores(tables, placing, j, p, taken, free))
    if placing.cores[C_CONTENDED] == 1.0:
        left = tables.processors[p].bandwidth * OVER - tables.loads[p].used_bandwidth
        if left >= tables.jobs[j].bandwidth > 0.0:
            fewer = int(left / tables.jobs[j].bandwidth)
            note_if_best(placing, p, fewer, score_cores(tables, placing, j, p, fewer, free))


@inlined
def note_if_best(placing: Placing, p: int, taken: int, score: float) -> None:
    """Note a processor and its cores if their score is smaller than those before."""
    search = placing.search[0]
    if score < search.least:
        search.processor, search.cores, search.least = p, taken, score


@compiled
def find_best(tables: Tables, placing: Placing, j: int) -> None:
    """Find the processor of smallest score for a job, and its cores; write them to ``Placing.search``."""
    search = placing.search[0]
    search.processor, search.cores, search.least = -1, 0, np.inf
    for kind in range(len(placing.seen)):
        placing.seen[kind] = 0
    for p in roomy_processors(tables, 0, len(tables.words)):
        if tables.loads[p].free > 0:
            try_processor(tables, placing, j, p)


@compiled
def begin_search(tables: Tables, knowledge: Knowledge, k: int, j: int) -> None:
    """Prepare to find the cores for a job by the placement score of baseline *k*."""
    search = knowledge.placing.search[0]
    search.wanted, search.slowest, search.only = tables.jobs[j].size, np.inf, ANY_NODE
    weigh_job(tables, knowledge.history, knowledge.placing, k, j)


@callback
def place_by_score(tables: Tables, knowledge: Knowledge, k: int, j: int) -> int:
    """Book the cores for a job by the placement score of baseline *k*.

    Returns:
        As in `allocation.choose_cores`.
    """
    placing, search, picks = knowledge.placing, knowledge.placing.search[0], 0
    if tables.jobs[j].size > tables.clock[0].free_cores:
        return CORES
    begin_search(tables, knowledge, k, j)
    while search.wanted > 0:
        find_best(tables, placing, j)
        p = search.processor
        if p < 0:
            break
        picks = pick(tables, picks, p)
        search.wanted -= take_cores(tables, j, p, search.cores)
        search.slowest = min(search.slowest, tables.processors[p].flops[P0])
        if tables.clock[0].whole == 1:
            search.only = tables.processors[p].node
    return int(close_choice(tables, FIRST_FIT, j, picks, search.wanted))


@callback
def see_best_cores(tables: Tables, knowledge: Knowledge, k: int, j: int) -> None:
    """Write as a feature of the order the score of the first cores that baseline *k* would take for a job now.

    It is 0 where none fit.
    """
    search = knowledge.placing.search[0]
    begin_search(tables, knowledge, k, j)
    find_best(tables, knowledge.placing, j)
    knowledge.scores.features[F_PLACEMENT] = search.least if search.processor >= 0 else 0.0
