"""Jobs that some machine can take, and what is free on each machine (004, sections II.D and II.E).

M slots, N nodes.

| index | what | limit, see ``rows`` | unit if raw |
|---|---|---|---|
| 5 i | slot i: cores | node | |
| 5 i + 1 | slot i: memory | node | MB |
| 5 i + 2 | slot i: GPUs | node | |
| 5 i + 3 | slot i: requested time | log time | s |
| 5 i + 4 | slot i: waiting time until now | log time | s |
| 5 M + 3 n | node n: free cores | its cores | |
| 5 M + 3 n + 1 | node n: free memory | its memory | MB |
| 5 M + 3 n + 2 | node n: free GPUs | its GPUs | |

What a job asks for is for all its cores together, as a share of the most that a node has. An empty slot is all 0, and
so is what a node has none of.
"""

from hdeeprm_like.decision.observations.features import slot_names
from hdeeprm_like.decision.observations.rows import Layout, Observation, ViewRows, log_share, share
from hdeeprm_like.decision.window.rows import NONE, Window
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats

JOB = ("cores", "memory", "gpus", "requested time", "waiting time")
NODE = ("cores", "memory", "gpus")


@compiled
def write_jobs(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write what the jobs in the slots ask for."""
    rule, now = v.rule[0], t.clock[0].now
    at = 0
    for i in range(len(w.slots)):
        j = w.slots[i]
        if j == NONE:
            for feature in range(at, at + 5):
                out[feature] = 0.0
        else:
            job = t.jobs[j]
            out[at] = share(rule.raw, job.size, rule.per_node_core)
            out[at + 1] = share(rule.raw, job.size * job.memory, rule.per_node_memory)
            out[at + 2] = share(rule.raw, job.size * job.gpus, rule.per_node_gpu)
            out[at + 3] = log_share(rule.raw, job.requested_time, rule.per_log_time)
            out[at + 4] = log_share(rule.raw, now - job.submit, rule.per_log_time)
        at += 5


@compiled
def write_machines(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write the features; O(slots + nodes + processors)."""
    fill_slots(t, w)
    write_jobs(t, w, v, out)
    raw, at = v.rule[0].raw, 5 * len(w.slots)
    for n in range(len(t.nodes)):
        node, room, free = t.nodes[n], t.rooms[n], 0
        for p in range(w.first_processor[n], w.first_processor[n + 1]):
            free += t.loads[p].free
        out[at] = share(raw, free, 1.0 / node.cores)
        out[at + 1] = share(raw, room.free_memory, 1.0 / node.memory if node.memory > 0.0 else 0.0)
        out[at + 2] = share(raw, room.free_gpus, 1.0 / node.gpus if node.gpus > 0.0 else 0.0)
        at += 3


def names(layout: Layout) -> tuple[str, ...]:
    """Return the name of each feature, ``"job 0 cores"`` to ``"node 9 gpus"``."""
    nodes = (f"node {n} {what}" for n in range(layout.platform.nodes) for what in NODE)
    return (*slot_names(layout.slots, JOB), *nodes)


MACHINES = Observation(
    name="machines",
    shape=lambda layout: (len(JOB) * layout.slots + len(NODE) * layout.platform.nodes,),
    names=names,
    write=write_machines,
)
