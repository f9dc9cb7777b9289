"""What a placement that looks at the network gains: one fat tree and one dragonfly, printed as a table.

    python docs/topology_study.py

64 nodes of one core of 1 Gflop/s, behind links of 10 Gbit/s and 1 us, run 300 jobs under FCFS with EASY backfilling,
twenty times with other jobs. Sizes are powers of 2 up to 32, lengths lognormal (median 10 min), and submissions a
Poisson process that requests 70 % of the cores. Each core sends equally much to each other core of its job; its own
link needs 80 % of the job's length for that. So a job whose messages meet no other ones is not slowed down at all.
"""

import sys

import numpy as np
from scipy.special import stdtrit

from hdeeprm_like import simulate
from hdeeprm_like.cluster.platform import Network, Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.types import Floats

NODES, JOBS, SEEDS = 64, 300, 20
GIGA, WIRE = 1e9, 1.25e9  # flop/s of a core, bytes/s of its link
LOAD, SENDING = 0.7, 0.8  # shares of the cores that are requested, and of a job's length that its messages take
TOPOLOGIES = {
    "fat tree": "FAT_TREE 2;8,8;1,4;1,1",  # eight switches of eight nodes, with four links up each
    "dragonfly": "DRAGONFLY 4,1;2,1;4,1;2",  # four groups of two chassis of four routers with two nodes each
}
BESIDE = "first_fit"  # with which the others are compared, workload by workload
PLACEMENTS = ("compact", "first_fit", "random", "spread")


def machine(topology: str) -> Platform:
    """Return the nodes, connected by a topology."""
    each, core = np.zeros(NODES, np.int64), np.arange(NODES)
    return Platform(
        name=topology,
        cluster_names=("nodes",),
        node_cluster=each,
        node_memory=np.ones(NODES),
        node_types=("node",) * NODES,
        processor_node=core,
        processor_bandwidth=np.ones(NODES),
        processor_types=("core",) * NODES,
        processor_flops=np.array([flops_by_pstate(1.0)] * NODES),
        processor_watts=np.array([watts_by_pstate(1.0)] * NODES),
        core_processor=core,
        core_names=core_names(NODES),
        network=Network(("10Gbps",), ("1us",), "10Gbps", "0us"),
        topology=topology,
    )


def jobs(seed: int) -> Workload:
    """Return jobs that compute and send."""
    dice = np.random.default_rng(seed)
    size = 2 ** dice.integers(0, 6, JOBS)
    length = np.round(dice.lognormal(np.log(600.0), 1.0, JOBS), 3)
    submit = np.round(np.cumsum(dice.exponential((size * length).mean() / (LOAD * NODES), JOBS)), 3)
    sent = np.where(size > 1, np.round(SENDING * length * WIRE / np.maximum(size - 1, 1)), 0.0)
    return Workload(
        ids=tuple(f"w0!{j:05}" for j in range(JOBS)),
        profiles=tuple(f"p{j}" for j in range(JOBS)),
        submit=submit,
        size=size,
        requested_time=2.0 * length,
        requested_ops=2.0 * length * GIGA,
        ops=length * GIGA,
        capacity=NODES,
        bytes=sent,
    )


def figures(topology: str, placement: str) -> Floats:
    """Return (SEEDS, 3) of a placement: run time over length, bounded slowdown, makespan in h."""
    found = []
    for seed in range(SEEDS):
        given = jobs(seed)
        played = simulate(machine(topology), given, f"fcfs+easy-{placement}", network=True)
        longer = played.run_time / (given.ops / GIGA)
        found.append((longer.mean(), played.figures["bounded_slowdown"], played.figures["makespan"] / 3600.0))
    return np.array(found)


def interval(differences: Floats) -> str:
    """Return the mean of paired differences and its 95 % interval by Student's t."""
    mean, error = differences.mean(), differences.std(ddof=1) / len(differences) ** 0.5
    half = float(stdtrit(len(differences) - 1, 0.975)) * error
    return f"{mean:+.2f} [{mean - half:+.2f}, {mean + half:+.2f}]"


def table() -> str:
    """Return the table of the documentation."""
    lines = [
        f"| network | placement | run time / length | beside `{BESIDE}` | bounded slowdown | beside `{BESIDE}` | "
        f"makespan, h | beside `{BESIDE}` |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, topology in TOPOLOGIES.items():
        found = {placement: figures(topology, placement) for placement in PLACEMENTS}
        for placement, values in found.items():
            cells = [name, f"`{placement}`"]
            for column, digits in enumerate((3, 2, 2)):
                differences = (values - found[BESIDE])[:, column]
                cells.append(f"{values[:, column].mean():.{digits}f}")
                cells.append("" if placement == BESIDE else interval(differences))
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
