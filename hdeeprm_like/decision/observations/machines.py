"""Jobs that fit on one machine, and free capacity of each machine (004, sections II.D and II.E).

M slots, N nodes.

| index | what | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| 5 i | slot i: cores | node | |
| 5 i + 1 | slot i: memory | node | MB |
| 5 i + 2 | slot i: GPUs | node | |
| 5 i + 3 | slot i: requested time | log time | s |
| 5 i + 4 | slot i: waiting time until now | log time | s |
| 5 M + 3 n | node n: free cores | its cores | |
| 5 M + 3 n + 1 | node n: free memory | its memory | MB |
| 5 M + 3 n + 2 | node n: free GPUs | its GPUs | |

The request of a job is for all its cores together, as a share of the largest node's capacity. An empty slot is all 0,
and so is a resource that a node lacks.
"""

from hdeeprm_like.decision.layout import JOB, NODE, Block
from hdeeprm_like.decision.observations.arrays import Observation, Sizes, ViewArrays, log_share, share
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

OF_JOB = ("cores", "memory", "gpus", "requested time", "waiting time")
OF_NODE = ("cores", "memory", "gpus")


@compiled
def write_jobs(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the requests of the jobs in the slots."""
    params, now = view.params[0], tables.clock[0].now
    at = 0
    for i in range(len(window.slots)):
        j = window.slots[i]
        if j == NONE:
            for feature in range(at, at + 5):
                out[feature] = 0.0
        else:
            job = tables.jobs[j]
            out[at] = share(params.raw, job.size, params.per_node_core)
            out[at + 1] = share(params.raw, job.size * job.memory, params.per_node_memory)
            out[at + 2] = share(params.raw, job.size * job.gpus, params.per_node_gpu)
            out[at + 3] = log_share(params.raw, job.requested_time, params.per_log_time)
            out[at + 4] = log_share(params.raw, now - job.submit, params.per_log_time)
        at += 5


@compiled
def write_machines(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write the features; O(slots + nodes + processors)."""
    fill_slots(tables, window)
    write_jobs(tables, window, view, out)
    raw, at = view.params[0].raw, 5 * len(window.slots)
    for n in range(len(tables.nodes)):
        node, room, free = tables.nodes[n], tables.node_loads[n], 0
        for p in range(window.first_processor[n], window.first_processor[n + 1]):
            free += tables.loads[p].free
        out[at] = share(raw, free, 1.0 / node.cores)
        out[at + 1] = share(raw, room.free_memory, 1.0 / node.memory if node.memory > 0.0 else 0.0)
        out[at + 2] = share(raw, room.free_gpus, 1.0 / node.gpus if node.gpus > 0.0 else 0.0)
        at += 3


def blocks(sizes: Sizes) -> tuple[Block, ...]:
    """Return the column blocks, ``"job 0 cores"`` to ``"node 9 gpus"``."""
    return Block(JOB, sizes.slots, OF_JOB), Block(NODE, sizes.platform.nodes, OF_NODE)


MACHINES = Observation(
    name="machines",
    blocks=blocks,
    write=write_machines,
    shows_waits=True,
)
