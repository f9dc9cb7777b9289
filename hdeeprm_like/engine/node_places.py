"""Choice of the nodes of a job on a platform with partitions: nodes of its set with free capacity, light ones first.

Free cores, MB and GPUs of the nodes are columns, so that the same functions place jobs now and in a plan of the
future. As in Slurm, a job that fits on one node goes to the fullest such node of the lightest weight; other jobs fill
one node after the other. Placing scans all nodes: O(N), unless the job requests a number of nodes and the first nodes
found lack cores.
"""

from hdeeprm_like.cluster.workload import ROUNDING
from hdeeprm_like.engine.compiled import callback, compiled, inlined
from hdeeprm_like.engine.processor_keys import places
from hdeeprm_like.engine.tables import Tables


@compiled
def look_at_nodes(tables: Tables) -> None:
    """Write what is free on each node now."""
    for n in range(len(tables.nodes)):
        look_at_node(tables, n)


@inlined
def look_at_node(tables: Tables, n: int) -> None:
    """Write what is free on a node now."""
    sets, node, left, free = tables.node_sets, tables.nodes[n], tables.node_loads[n], 0
    for p in range(node.first_processor, node.first_processor + node.processors):
        free += tables.loads[p].free
    sets.cores[n] = free
    sets.memory[n] = left.free_memory + node.memory * ROUNDING
    sets.gpus[n] = left.free_gpus + node.gpus * ROUNDING


@inlined
def allow_set(tables: Tables, j: int) -> None:
    """Allow a job on all nodes of its set."""
    sets = tables.node_sets
    s = sets.demands[j].set
    for n in range(len(tables.nodes)):
        sets.allowed[n] = sets.members[s, n]


@inlined
def room_on(tables: Tables, n: int, j: int) -> int:
    """Return how many cores of a node a job can get by what is free there, in whole tasks."""
    sets, job, demand = tables.node_sets, tables.jobs[j], tables.node_sets.demands[j]
    cores = sets.cores[n]
    if cores == 0 or demand.gpus > sets.gpus[n]:
        return 0
    if demand.exclusive == 1:
        if cores < tables.nodes[n].cores:
            return 0
        needed = max(min(float(cores), float(demand.asked) / max(demand.nodes, 1)), 1.0)
        fits = places(float(cores), sets.memory[n], sets.gpus[n], job.memory, job.gpus) >= min(needed, float(cores))
        return int(cores) if fits else 0
    room = int(places(float(cores), sets.memory[n], sets.gpus[n], job.memory, job.gpus))
    if demand.gpus > 0.0 and demand.nodes == 1:
        room = min(room, demand.asked)  # as Slurm does, so that the first node beats the fullest
    return int(room if demand.task == 1 else room - room % demand.task)


@inlined
def requests_only_cores(tables: Tables, j: int) -> bool:
    """Return whether every free core suits a job, whatever else is free on its node."""
    job, demand = tables.jobs[j], tables.node_sets.demands[j]
    alone = job.memory <= 0.0 and job.gpus <= 0.0 and demand.gpus <= 0.0
    return bool(alone and demand.task == 1 and demand.exclusive == 0)


@compiled
def pick_nodes(tables: Tables, j: int) -> bool:
    """Pick nodes for a job among the allowed ones, by what is free on them; return False if it does not fit.

    The cores that it gets are in ``NodeSets.picked``.
    """
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    total, count, cores_alone = 0, 0, requests_only_cores(tables, j)
    for n in range(len(tables.nodes)):
        sets.picked[n] = sets.room[n] = 0
        if sets.allowed[n] == 1:
            room = sets.cores[n] if cores_alone else room_on(tables, n, j)
            sets.room[n] = room
            total += room
            count += room > 0
    if total < demand.asked or count < demand.nodes:
        return False
    if pick_runs(tables, j) or pick_larger(tables, j):
        if demand.exclusive == 0:
            spread(tables, j)
        return True
    return False


@compiled
def best_run(tables: Tables, left: int, nodes: int) -> tuple[int, int]:
    """Return the first and the last node of the run that best serves what is left of a job, -1 if there is none.

    A run is a sequence of nodes with consecutive numbers and one weight that all have free capacity. The lightest runs
    come first, then those that suffice, smallest first; of those that do not suffice the largest comes first.

    Args:
        left: cores. nodes: least number of nodes.
    """
    sets, best, best_last, best_total, best_suffices = tables.node_sets, -1, -1, 0, False
    n = 0
    while n < len(tables.nodes):
        if sets.room[n] == 0 or sets.picked[n] > 0:
            n += 1
            continue
        first, total = n, 0
        while n < len(tables.nodes) and sets.room[n] > 0 and sets.picked[n] == 0 and sets.rank[n] == sets.rank[first]:
            total += sets.room[n]
            n += 1
        suffices = total >= left and n - first >= nodes
        better = best < 0 or sets.rank[first] < sets.rank[best]
        if best >= 0 and sets.rank[first] == sets.rank[best]:
            better = (not best_suffices or total < best_total) if suffices else total > best_total
            better = better and (suffices or not best_suffices)
        if better:
            best, best_last, best_total, best_suffices = first, n - 1, total, suffices
    return best, best_last


@inlined
def most_nodes(tables: Tables, j: int) -> int:
    """Return the most nodes that a job may run on: as many as it requests, else one per task."""
    demand = tables.node_sets.demands[j]
    return int(demand.nodes if demand.nodes > 0 else max(demand.asked // demand.task, 1))


@compiled
def pick_runs(tables: Tables, j: int) -> bool:
    """Pick nodes from one run after the other until there are enough nodes and cores.

    If one node of the run suffices, the fullest such node is picked. Otherwise each node gives all it has, except one
    core for each node still to come, and the last node gives the rest.
    """
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    left, most = demand.asked, most_nodes(tables, j)
    nodes = max(demand.nodes, 1)
    while most > 0:
        first, last = best_run(tables, left, nodes)
        if first < 0:
            return False
        single = -1
        if nodes <= 1:
            for n in range(first, last + 1):
                if sets.room[n] >= left and (single < 0 or sets.room[n] < sets.room[single]):
                    single = n
        for n in range(first, last + 1):
            over = most == 0 or (left <= 0 and nodes <= 0) or (single >= 0 and n != single)
            if not over and (most > 1 or sets.room[n] >= left):
                taken = sets.room[n]
                if demand.exclusive == 0:
                    taken = min(taken, max(left - max(nodes - 1, 0), demand.task))
                sets.picked[n] = taken
                left, nodes, most = left - taken, nodes - 1, most - 1
            sets.room[n] = 0
        if left <= 0 and nodes <= 0:
            return True
    return False


@compiled
def pick_larger(tables: Tables, j: int) -> bool:
    """Pick nodes without those of least capacity, excluded from one core up, until the rest suffices.

    At least as many nodes are left as the job requests.
    """
    demand, least, left = tables.node_sets.demands[j], 0, -1
    nodes = max(demand.nodes, 1)
    while left != nodes:
        least = find_rooms(tables, j, least, nodes)
        left = 0
        for n in range(len(tables.nodes)):
            left += tables.node_sets.room[n] > 0
        if least == 0 or left < nodes:
            return False
        if pick_runs(tables, j):
            return True
    return False


@compiled
def find_rooms(tables: Tables, j: int, least: int, nodes: int) -> int:
    """Return the smallest capacity above *least* of the allowed nodes, and exclude nodes with no more than that.

    Args:
        nodes: least number of nodes to leave.
    """
    sets, smallest, count = tables.node_sets, 0, 0
    for n in range(len(tables.nodes)):
        sets.picked[n] = 0
        sets.room[n] = room_on(tables, n, j) if sets.allowed[n] == 1 else 0
        if sets.room[n] > least:
            smallest = sets.room[n] if smallest == 0 else min(smallest, sets.room[n])
        count += sets.room[n] > 0
    for n in range(len(tables.nodes)):
        if 0 < sets.room[n] <= smallest and count > nodes:
            sets.room[n] = 0
            count -= 1
    return int(smallest)


@compiled
def spread(tables: Tables, j: int) -> None:
    """Distribute the tasks of a job over the picked nodes, one to each in turn."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    left, turn = demand.asked, 0
    for n in range(len(tables.nodes)):
        if sets.picked[n] > 0:
            sets.room[n], sets.picked[n] = sets.picked[n], 0
        else:
            sets.room[n] = 0
    while left > 0:
        rest, count = 0, 0  # of the nodes in the next turn: the least capacity left on one, and their number
        for n in range(len(tables.nodes)):
            if sets.room[n] >= turn + demand.task:
                rest = min(rest, sets.room[n] - turn) if count > 0 else sets.room[n] - turn
                count += 1
        if count == 0 or left < demand.task * count:
            break
        turns = min(rest // demand.task, left // (demand.task * count))  # rounds in which each of them gets one task
        for n in range(len(tables.nodes)):
            if sets.room[n] >= turn + demand.task:
                sets.picked[n] += turns * demand.task
        turn += turns * demand.task
        left -= turns * demand.task * count
    for n in range(len(tables.nodes)):
        if left > 0 and sets.room[n] >= turn + demand.task:
            taken = min(demand.task, left)
            sets.picked[n] += taken
            left -= taken


@callback
def node_has_room(tables: Tables, n: int, j: int) -> int:
    """Return 1 if a node is in a job's set and can take all of its cores now; whole-node jobs need an idle node."""
    demand = tables.node_sets.demands[j]
    if tables.node_sets.members[demand.set, n] == 0 or demand.nodes > 1:
        return 0
    look_at_node(tables, n)
    return int(room_on(tables, n, j) >= demand.asked)


@compiled
def pick_node(tables: Tables, n: int, j: int) -> None:
    """Pick one node that fits all cores of a job."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    for other in range(len(tables.nodes)):
        sets.picked[other] = 0
    sets.picked[n] = tables.nodes[n].cores if demand.exclusive == 1 else demand.asked


@callback
def has_nodes(tables: Tables, j: int) -> int:
    """Return 1 if a job fits on the nodes of its set now, else 0."""
    look_at_nodes(tables)
    allow_set(tables, j)
    return int(pick_nodes(tables, j))


@compiled
def as_idle(tables: Tables) -> None:
    """Write what is on each node when nothing runs."""
    sets = tables.node_sets
    for n in range(len(tables.nodes)):
        node = tables.nodes[n]
        sets.cores[n] = node.cores
        sets.memory[n], sets.gpus[n] = node.memory * (1.0 + ROUNDING), node.gpus * (1.0 + ROUNDING)


@compiled
def has_nodes_when_idle(tables: Tables, j: int) -> bool:
    """Return whether a job fits on the nodes of its set when nothing runs."""
    as_idle(tables)
    allow_set(tables, j)
    return pick_nodes(tables, j)


@inlined
def book_gpus(tables: Tables, j: int) -> None:
    """Take the GPUs that a job holds on each of the picked nodes."""
    sets, gpus = tables.node_sets, tables.node_sets.demands[j].gpus
    if gpus > 0.0:
        for n in range(len(tables.nodes)):
            if sets.picked[n] > 0:
                tables.node_loads[n].free_gpus -= gpus


@callback
def release_gpus(tables: Tables, j: int) -> None:
    """Release the GPUs that a job held on each of its nodes; those of an idle node are all free already."""
    sets, demand = tables.node_sets, tables.node_sets.demands[j]
    if demand.gpus > 0.0:
        for i in range(demand.first_hold, demand.first_hold + demand.held):
            if tables.node_loads[sets.hold_node[i]].busy > 0:
                tables.node_loads[sets.hold_node[i]].free_gpus += demand.gpus


@inlined
def note_holds(tables: Tables, j: int) -> None:
    """Record which nodes a job gets, and how many cores of each."""
    sets = tables.node_sets
    demand, at = sets.demands[j], sets.holds[0]
    demand.first_hold = at
    for n in range(len(tables.nodes)):
        if sets.picked[n] > 0:
            sets.hold_node[at], sets.hold_cores[at] = n, sets.picked[n]
            at += 1
    demand.held = at - demand.first_hold
    sets.holds[0] = at
