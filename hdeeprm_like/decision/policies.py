"""The classic policies: which job next, on which cores (thesis 3.2.3.2, table 3.2).

A policy pair is applied head of line: the selected job is started until the selected job does not fit.
"""

from hdeeprm_like.cluster.kernels import counts_cores, has_room, lacking_beside_cores, start_job
from hdeeprm_like.cluster.queue import draw, select_job
from hdeeprm_like.cluster.tables import (
    CORES,
    FIRST,
    IDLE_CORE,
    LOW_MEM,
    LOW_MEM_BW,
    NOTHING,
    RANDOM_JOB,
    SHORTEST,
    SMALLEST,
    Tables,
)
from hdeeprm_like.compiled import compiled
from hdeeprm_like.decision.baselines import BEST_FIT, FIRST_FIT, PACKINGS
from hdeeprm_like.decision.packing import packed_processor

RANDOM_CORE, HIGH_GFLOPS, HIGH_CORES, HIGH_MEM, HIGH_MEM_BW, LOW_POWER = 0, 1, 2, 3, 4, 5

JOB_POLICIES = {
    "random": RANDOM_JOB,
    "first": FIRST,
    "shortest": SHORTEST,
    "smallest": SMALLEST,
    "low_mem": LOW_MEM,
    "low_mem_bw": LOW_MEM_BW,
}
CORE_POLICIES = {
    "random": RANDOM_CORE,
    "high_gflops": HIGH_GFLOPS,
    "high_cores": HIGH_CORES,
    "high_mem": HIGH_MEM,
    "high_mem_bw": HIGH_MEM_BW,
    "low_power": LOW_POWER,
}
PLACEMENTS = CORE_POLICIES | {"first_fit": FIRST_FIT} | PACKINGS  # what baselines know besides


@compiled
def processor_key(t: Tables, policy: int, p: int) -> float:
    """Return what a core policy maximizes; ties go to the lowest core number, that is to the lowest processor.

    Peak figures for ``high_gflops`` and ``low_power``; what is left now for the others.
    """
    processor = t.processors[p]
    if policy == HIGH_GFLOPS:
        return float(processor.flops[0])
    if policy == HIGH_CORES:
        return float(processor.free)
    if policy == HIGH_MEM:
        return float(t.nodes[processor.node].free_memory)
    if policy == HIGH_MEM_BW:
        return float(processor.bandwidth - processor.used_bandwidth)
    if policy == FIRST_FIT:
        return 0.0
    return float(-processor.watts[0])


@compiled
def best_processor(t: Tables, policy: int, memory: float, gpus: float, beside: int) -> int:
    """Return the processor whose core a policy takes next, -1 if none has a free core with MB and GPUs on its node.

    *beside* (a processor or -1) is left out; with ``high_mem`` its whole node is, because it loses memory with it.
    """
    best, best_key = -1, 0.0
    for p in range(len(t.processors)):
        processor = t.processors[p]
        if processor.free == 0 or p == beside or not has_room(t, processor.node, memory, gpus):
            continue
        if beside >= 0 and policy == HIGH_MEM and processor.node == t.processors[beside].node:
            continue
        key = processor_key(t, policy, p)
        if best < 0 or key > best_key:
            best, best_key = p, key
    return best


@compiled
def random_processor(t: Tables, memory: float, gpus: float) -> int:
    """Return the processor of a core drawn from the free ones with MB and GPUs on their node, -1 if there is none."""
    eligible = 0
    for p in range(len(t.processors)):
        if t.processors[p].free > 0 and has_room(t, t.processors[p].node, memory, gpus):
            eligible += t.processors[p].free
    if eligible == 0:
        return -1
    left = draw(t, eligible)
    for p in range(len(t.processors)):
        if t.processors[p].free > 0 and has_room(t, t.processors[p].node, memory, gpus):
            left -= t.processors[p].free
            if left < 0:
                return p
    return -1


@compiled
def book(t: Tables, p: int, cores: int, j: int) -> None:
    """Take cores for a job, and memory, GPUs and bandwidth for each, from a processor and its node."""
    job, processor = t.jobs[j], t.processors[p]
    processor.free -= cores
    processor.used_bandwidth += cores * job.bandwidth
    processor.picked += cores
    t.nodes[processor.node].free_memory -= cores * job.memory
    if job.gpus > 0.0:
        t.nodes[processor.node].free_gpus -= cores * job.gpus


@compiled
def give_back(t: Tables, p: int) -> None:
    """Undo what was booked on a processor for a job that does not fit, without a rounding error."""
    processor = t.processors[p]
    processor.free += processor.picked
    processor.used_bandwidth = processor.bandwidth_before
    t.nodes[processor.node].free_memory = processor.memory_before
    t.nodes[processor.node].free_gpus = processor.gpus_before


@compiled
def take_cores(t: Tables, policy: int, j: int, p: int, wanted: int) -> int:
    """Book cores of one processor for a job while no other processor beats it; return how many."""
    job = t.jobs[j]
    processor = t.processors[p]
    if policy == RANDOM_CORE:
        wanted = 1
    rival, rival_key = -1, 0.0
    if policy in (HIGH_CORES, HIGH_MEM, HIGH_MEM_BW) and wanted > 1:
        rival = best_processor(t, policy, job.memory, job.gpus, p)
        rival_key = processor_key(t, policy, rival) if rival >= 0 else 0.0
    taken = 0
    if rival < 0 and job.memory <= 0.0 and job.gpus <= 0.0 and job.bandwidth <= 0.0:  # each core finds the same
        taken = min(wanted, processor.free)
        book(t, p, taken, j)
        wanted = taken
    while taken < wanted and processor.free > 0 and has_room(t, processor.node, job.memory, job.gpus):
        if taken > 0 and rival >= 0:
            key = processor_key(t, policy, p)
            if key < rival_key or (key == rival_key and rival < p):
                break
        book(t, p, 1, j)
        taken += 1
    return taken


@compiled
def choose_cores(t: Tables, policy: int, j: int) -> int:
    """Book the cores that a policy takes for a job, one after the other as each changes what the next finds.

    Returns:
        NOTHING and the cores in ``allocation[placed : placed + size]``, or what the job lacks (CORES, MEMORY or
        GPUS) and nothing booked.
    """
    clock = t.clock[0]
    job = t.jobs[j]
    if job.size > clock.free_cores:
        return CORES
    picks, wanted, p = 0, job.size, -1
    while wanted > 0:
        if policy == RANDOM_CORE:
            p = random_processor(t, job.memory, job.gpus)
        elif policy >= BEST_FIT:
            p = packed_processor(t, policy, j, wanted, p)
        else:
            p = best_processor(t, policy, job.memory, job.gpus, -1)
        if p < 0:
            break
        processor = t.processors[p]
        if processor.picked == 0:
            processor.bandwidth_before = processor.used_bandwidth
            processor.memory_before = t.nodes[processor.node].free_memory
            processor.gpus_before = t.nodes[processor.node].free_gpus
            t.picks[picks] = p
            picks += 1
        wanted -= take_cores(t, policy, j, p, wanted)
    lacks = NOTHING
    if wanted == 0:
        write_allocation(t, policy, j, picks)
    else:
        lacks = lacking_beside_cores(t, j, wanted)
    for i in range(picks - 1, -1, -1):  # backwards, so that a node gets back what it had at its first processor
        processor = t.processors[t.picks[i]]
        if wanted > 0:
            give_back(t, t.picks[i])
        processor.picked = 0
    return lacks


@compiled
def write_allocation(t: Tables, policy: int, j: int, picks: int) -> None:
    """Give a job the cores booked on the picked processors: the lowest free ones, or any with the random policy."""
    if counts_cores(t):
        return
    at = t.clock[0].placed
    for i in range(picks):
        processor = t.processors[t.picks[i]]
        needed = processor.picked
        left = processor.free + needed
        core = processor.first_core
        while needed > 0:
            if t.core_job[core] == IDLE_CORE and t.core_available[core]:
                if policy != RANDOM_CORE or draw(t, left) < needed:
                    t.allocation[at] = core
                    t.core_job[core] = j
                    at += 1
                    needed -= 1
                left -= 1
            core += 1


@compiled
def apply_pair(t: Tables, job_policy: int, core_policy: int) -> int:
    """Start jobs by a policy pair until the selected one does not fit; return how many started (thesis 3.2.3.2)."""
    clock = t.clock[0]
    clock.blocked = NOTHING
    started = 0
    while clock.waiting > 0:
        j = select_job(t, job_policy)
        clock.decisions += 1
        lacks = choose_cores(t, core_policy, j)
        if lacks != NOTHING:
            clock.blocked, clock.blocked_job = lacks, j
            break
        start_job(t, j)
        started += 1
    return started
