"""The processors that the cores of a job come from, for the core policies of the thesis and for the lowest ones.

Peak values need a walk over the processors in their order, as none gets room while a job takes cores (`take_in_order`).
For what is free now (`take_best`) and random cores (`take_at_random`) neighbouring processors are in groups. Each
function notes the picked processors in the order of their first cores.
"""

from collections.abc import Iterator

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.numbers import HIGH_CORES, HIGH_GFLOPS, HIGH_MEM, HIGH_MEM_BW, LOW_POWER
from hdeeprm_like.engine.processor_keys import node_fits, outdate, processor_key
from hdeeprm_like.engine.serving_cores import next_roomy
from hdeeprm_like.engine.tables import COUNTED, SHIFT, Tables
from hdeeprm_like.engine.waiting_queue import draw


@inlined
def book(tables: Tables, p: int, cores: int, j: int) -> None:
    """Take cores for a job from a processor, and memory, GPUs and bandwidth for each from its node.

    The caller must `outdate` the processor afterwards.
    """
    job, load, room = tables.jobs[j], tables.loads[p], tables.node_loads[tables.processors[p].node]
    load.free -= cores
    load.used_bandwidth += cores * job.bandwidth
    load.picked += cores
    room.free_memory -= cores * job.memory
    if job.gpus > 0.0:
        room.free_gpus -= cores * job.gpus


@compiled
def take_cores(tables: Tables, j: int, p: int, wanted: int) -> int:
    """Book cores of one processor for a job while it has capacity; return the number booked."""
    job, load, n = tables.jobs[j], tables.loads[p], tables.processors[p].node
    if job.memory <= 0.0 and job.gpus <= 0.0 and job.bandwidth <= 0.0:  # every core sees the same state
        taken = min(wanted, load.free)
        book(tables, p, taken, j)
    else:
        taken = 0
        while taken < wanted and load.free > 0 and node_fits(tables, n, job.memory, job.gpus):
            book(tables, p, 1, j)
            taken += 1
    outdate(tables, p)
    return int(taken)


@inlined
def pick(tables: Tables, picks: int, p: int) -> int:
    """Pick a processor, if it is not yet: record what is free before any core is booked; return how many are picked."""
    if tables.loads[p].picked > 0:
        return picks
    noted, room = tables.picks[picks], tables.node_loads[tables.processors[p].node]
    noted.processor, noted.used_bandwidth = p, tables.loads[p].used_bandwidth
    noted.free_memory, noted.free_gpus = room.free_memory, room.free_gpus
    return picks + 1


@inlined
def has_core(tables: Tables, p: int, j: int) -> bool:
    """Return whether a processor has a free core, and its node memory and GPUs for it."""
    job = tables.jobs[j]
    return bool(tables.loads[p].free > 0 and node_fits(tables, tables.processors[p].node, job.memory, job.gpus))


@inlined
def roomy_processors(tables: Tables, w: int, end: int) -> Iterator[int]:
    """Yield the processors with free cores among those of the words from *w* on, before *end*."""
    w = next_roomy(tables, w)
    while w < end:
        p = tables.words[w].processor
        yield p
        w = next_roomy(tables, tables.processors[p].first_word + tables.processors[p].words)


@compiled
def take_in_order(tables: Tables, policy: int, j: int) -> tuple[int, int]:
    """Book cores by peak speed or power, or of the lowest processors; return the picked ones and the cores missing."""
    picks, wanted = 0, tables.jobs[j].size
    walk = 0 if policy == HIGH_GFLOPS else 1 if policy == LOW_POWER else 2
    for s in range(tables.walks[walk], tables.walks[walk + 1]):
        for p in roomy_processors(tables, tables.spans[s].first, tables.spans[s].end):
            if has_core(tables, p, j):
                picks = pick(tables, picks, p)
                wanted -= take_cores(tables, j, p, wanted)
                if wanted == 0:
                    return picks, 0
    return picks, wanted


# --- by what is free now, and at random: `Tables.groups`, of which what is outdated is renewed when it is read


@inlined
def best_of(tables: Tables, policy: int, g: int, j: int) -> int:
    """Return the best processor of a group with a free core, and with room for a job unless *j* is -1; -1 if none."""
    best, wanted = -1, -np.inf
    for p in range(g << SHIFT, min((g + 1) << SHIFT, len(tables.loads))):
        if tables.loads[p].free > 0 and (j < 0 or has_core(tables, p, j)):
            key = processor_key(tables, policy, p)
            if key > wanted:
                best, wanted = p, key
    return best


@compiled
def best_with_room(tables: Tables, policy: int, g: int, j: int) -> int:
    """Return the best processor of a group with a core for a job."""
    return best_of(tables, policy, g, j)


@compiled
def renew(tables: Tables, policy: int, g: int) -> None:
    """Find the best processor of a group again."""
    group, ranking = tables.groups[g], policy - HIGH_CORES
    if policy == HIGH_CORES:  # one line each, so that the policy is a constant at compile time
        p = best_of(tables, HIGH_CORES, g, -1)
    elif policy == HIGH_MEM:
        p = best_of(tables, HIGH_MEM, g, -1)
    else:
        p = best_of(tables, HIGH_MEM_BW, g, -1)
    group.best[ranking], group.key[ranking] = p, processor_key(tables, policy, p) if p >= 0 else -np.inf
    group.outdated &= ~(1 << ranking)


@inlined
def best_key_in(tables: Tables, policy: int, g: int, j: int) -> tuple[int, float]:
    """Return the processor of a group for the next core of a job, -1 if none has one, and its key."""
    group, ranking = tables.groups[g], policy - HIGH_CORES
    if group.outdated & (1 << ranking):
        renew(tables, policy, g)
    p, key = group.best[ranking], group.key[ranking]
    if p >= 0 and not has_core(tables, p, j):
        p = best_with_room(tables, policy, g, j)
        key = processor_key(tables, policy, p) if p >= 0 else -np.inf
    return p, key


@compiled
def best_groups(tables: Tables, policy: int, j: int) -> tuple[int, int, float]:
    """Return the group for the next core of a job, -1 for none, the next best one, and the key there."""
    best, other, most, rival, ranking = -1, -1, -np.inf, -np.inf, policy - HIGH_CORES
    for g in range(len(tables.groups)):
        if tables.groups[g].key[ranking] > rival:
            _, key = best_key_in(tables, policy, g, j)
            if key > most:
                best, most, other, rival = g, key, best, most
            elif key > rival:
                other, rival = g, key
    return best, other, rival


@compiled
def take_best(tables: Tables, policy: int, j: int) -> tuple[int, int]:
    """Book one core after the other by what is free now; return the picked processors and the cores missing."""
    job, picks = tables.jobs[j], 0
    stays = (policy == HIGH_MEM and job.memory <= 0.0) or (policy == HIGH_MEM_BW and job.bandwidth <= 0.0)
    wanted = job.size
    while wanted > 0:
        g, other, rival = best_groups(tables, policy, j)
        if g < 0:
            break
        while wanted > 0:
            p, key = best_key_in(tables, policy, g, j)
            if p < 0 or key < rival or (key == rival and other < g):
                break
            picks = pick(tables, picks, p)
            wanted -= take_cores(tables, j, p, wanted if stays else 1)
    return picks, wanted


@compiled
def count_cores(tables: Tables, g: int) -> None:
    """Count the free cores of a group again."""
    group, cores, least = tables.groups[g], 0, np.inf
    for p in range(g << SHIFT, min((g + 1) << SHIFT, len(tables.loads))):
        cores += tables.loads[p].free
        least = min(least, tables.node_loads[tables.processors[p].node].free_memory)
    group.cores, group.least = cores, least
    group.outdated &= ~COUNTED


@compiled
def cores_with_room(tables: Tables, g: int, j: int) -> int:
    """Return how many free cores of a group have memory and GPUs for a job, by a look at each processor."""
    cores = 0
    for p in range(g << SHIFT, min((g + 1) << SHIFT, len(tables.loads))):
        cores += tables.loads[p].free if has_core(tables, p, j) else 0
    return cores


@compiled
def count_eligible(tables: Tables, j: int) -> int:
    """Write how many free cores of each group have memory and GPUs for a job; return their number."""
    job, eligible = tables.jobs[j], 0
    for g in range(len(tables.groups)):
        group = tables.groups[g]
        if group.outdated & COUNTED:
            count_cores(tables, g)
        alike = group.cores == 0 or (job.gpus <= 0.0 and group.least >= job.memory)
        group.eligible = group.cores if alike else cores_with_room(tables, g, j)
        eligible += group.eligible
    return int(eligible)


@compiled
def take_at_random(tables: Tables, j: int) -> tuple[int, int]:
    """Book random cores, one after the other; return the picked processors and the cores missing."""
    job, picks, eligible = tables.jobs[j], 0, count_eligible(tables, j)
    wanted = job.size
    while wanted > 0 and eligible > 0:
        core, g = draw(tables, eligible), 0
        while core >= tables.groups[g].eligible:
            core, g = core - tables.groups[g].eligible, g + 1
        p = g << SHIFT
        while not has_core(tables, p, j) or core >= tables.loads[p].free:
            core, p = core - (tables.loads[p].free if has_core(tables, p, j) else 0), p + 1
        picks = pick(tables, picks, p)
        wanted -= take_cores(tables, j, p, 1)
        tables.groups[g].eligible -= 1
        eligible -= 1
        if not node_fits(tables, tables.processors[p].node, job.memory, job.gpus):
            eligible = count_eligible(tables, j)
    return picks, wanted
