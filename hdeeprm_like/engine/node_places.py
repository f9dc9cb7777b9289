"""Which nodes a job gets where a platform has partitions: those of its set with room, light ones first.

What a job finds on the nodes is in columns of cores, MB and GPUs, so that the same functions place jobs now and in a
plan of the future. As Slurm does, a job that one node can take goes to the fullest such node of the lightest weight;
others take all that nodes have, in the order of these. Placing looks at all nodes: O(N).
"""

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.processor_index import places
from hdeeprm_like.engine.tables import Tables


@compiled
def look_at_nodes(tables: Tables) -> None:
    """Write what is free on each node now."""
    sets = tables.node_sets
    for n in range(len(tables.nodes)):
        node, left, free = tables.nodes[n], tables.node_loads[n], 0
        for p in range(node.first_processor, node.first_processor + node.processors):
            free += tables.loads[p].free
        sets.cores[n] = free
        sets.memory[n] = left.free_memory + node.memory * ROUNDING
        sets.gpus[n] = left.free_gpus + node.gpus * ROUNDING


@inlined
def allow_set(tables: Tables, j: int) -> None:
    """Let a job run on all nodes of its set."""
    sets = tables.node_sets
    s = sets.demands[j].set
    for n in range(len(tables.nodes)):
        sets.allowed[n] = sets.members[s, n]


@inlined
def room_on(tables: Tables, n: int, j: int) -> int:
    """Return how many cores of a node a job can have by what is free there, in whole tasks."""
    sets, job, demand = tables.node_sets, tables.jobs[j], tables.node_sets.demands[j]
    cores = sets.cores[n]
    if demand.exclusive == 1:
        if cores < tables.nodes[n].cores:
            return 0
        needed = max(min(float(cores), float(demand.asked) / max(demand.nodes, 1)), 1.0)
        fits = places(float(cores), sets.memory[n], sets.gpus[n], job.memory, job.gpus) >= min(needed, float(cores))
        return int(cores) if fits else 0
    room = int(places(float(cores), sets.memory[n], sets.gpus[n], job.memory, job.gpus))
    return room - room % demand.task


@compiled
def pick_nodes(tables: Tables, j: int) -> bool:
    """Pick nodes for a job among the allowed ones, by what is free on them; False if there is no room for it.

    The cores that it gets are in ``NodeSets.picked``.
    """
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    total, count = 0, 0
    for n in range(len(tables.nodes)):
        sets.picked[n] = sets.room[n] = 0
        if sets.allowed[n] == 1:
            room = room_on(tables, n, j)
            sets.room[n] = room
            total += room
            count += room > 0
    if total < demand.asked or count < demand.nodes:
        return False
    if demand.exclusive == 1:
        return pick_whole(tables, j)
    if demand.nodes > 0:
        return pick_number(tables, j, demand.nodes)
    return pick_any(tables, j)


@compiled
def pick_whole(tables: Tables, j: int) -> bool:
    """Pick whole nodes, in order, until there are enough of them and of cores."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    left, nodes = demand.asked, max(demand.nodes, 1)
    for i in range(len(tables.nodes)):
        n = sets.order[i]
        if sets.room[n] > 0 and (left > 0 or nodes > 0):
            sets.picked[n] = sets.room[n]
            left -= sets.room[n]
            nodes -= 1
    return bool(left <= 0 and nodes <= 0)


@compiled
def pick_any(tables: Tables, j: int) -> bool:
    """Pick the node that fits best if one can take the job, else all that nodes have, in order."""
    sets, left, best = tables.node_sets, tables.node_sets.demands[j].asked, -1
    for i in range(len(tables.nodes)):
        n = sets.order[i]
        if best >= 0 and sets.rank[n] > sets.rank[best]:
            break
        if sets.room[n] >= left and (best < 0 or sets.room[n] < sets.room[best]):
            best = n
    if best >= 0:
        sets.picked[best] = left
        return True
    for i in range(len(tables.nodes)):
        n = sets.order[i]
        taken = min(left, sets.room[n])
        sets.picked[n] = taken
        left -= taken
        if left == 0:
            return True
    return False


@compiled
def pick_number(tables: Tables, j: int, nodes: int) -> bool:
    """Pick so many nodes: those that can take an equal share, in order; else those with most room."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    share = (demand.asked + nodes - 1) // nodes
    share += (demand.task - share % demand.task) % demand.task
    count, left = 0, demand.asked
    for i in range(len(tables.nodes)):
        count += sets.room[sets.order[i]] >= share
    for _ in range(nodes):
        best = -1
        for i in range(len(tables.nodes)):
            n = sets.order[i]
            if sets.picked[n] > 0 or sets.room[n] == 0:
                continue
            if count >= nodes and sets.room[n] >= share:
                best = n
                break
            if count < nodes and (best < 0 or sets.room[n] > sets.room[best]):
                best = n
        if best < 0:
            return False
        nodes -= 1
        taken = min(left - nodes * demand.task, share if count >= nodes + 1 else sets.room[best])
        sets.picked[best] = max(taken, 1)
        left -= sets.picked[best]
    return bool(left <= 0)


@inlined
def may_run_on(tables: Tables, j: int, n: int) -> bool:
    """Tell whether a node belongs to the set of a job."""
    return bool(tables.node_sets.members[tables.node_sets.demands[j].set, n] == 1)


@compiled
def has_nodes(tables: Tables, j: int) -> bool:
    """Tell whether the nodes of a job's set have room for it now."""
    look_at_nodes(tables)
    allow_set(tables, j)
    return pick_nodes(tables, j)


@compiled
def has_nodes_when_idle(tables: Tables, j: int) -> bool:
    """Tell whether the nodes of a job's set have room for it when nothing runs."""
    sets = tables.node_sets
    for n in range(len(tables.nodes)):
        node = tables.nodes[n]
        sets.cores[n] = node.cores
        sets.memory[n], sets.gpus[n] = node.memory * (1.0 + ROUNDING), node.gpus * (1.0 + ROUNDING)
    allow_set(tables, j)
    return pick_nodes(tables, j)


@inlined
def note_holds(tables: Tables, j: int) -> None:
    """Write down which nodes a job gets, and how many cores of each."""
    sets = tables.node_sets
    demand, at = sets.demands[j], sets.holds[0]
    demand.first_hold = at
    for n in range(len(tables.nodes)):
        if sets.picked[n] > 0:
            sets.hold_node[at], sets.hold_cores[at] = n, sets.picked[n]
            at += 1
    demand.held = at - demand.first_hold
    sets.holds[0] = at
