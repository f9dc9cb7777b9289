"""Clusters and workloads small enough to be worked out on paper."""

import numpy as np

from hdeeprm_like.cluster.platform import Platform, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.state import State
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Simulator


def cluster(processors=((0, 2, 4.0, 80.0), (0, 2, 4.4, 100.0)), memory=(32000.0,), bandwidth=32.0):
    """Processors as (node, cores, GFLOP/s, W) with one bandwidth in GB/s; the default is the learning platform."""
    nodes, cores, gflops, watts = zip(*processors, strict=True)
    core_processor = np.repeat(np.arange(len(processors)), cores)
    return Platform(
        name="paper",
        cluster_names=("c",),
        node_cluster=np.zeros(len(memory), np.int64),
        node_memory=np.array(memory),
        node_types=("n",) * len(memory),
        processor_node=np.array(nodes),
        processor_bandwidth=np.full(len(processors), bandwidth),
        processor_types=("p",) * len(processors),
        processor_flops=np.array([flops_by_pstate(g) for g in gflops]),
        processor_watts=np.array([watts_by_pstate(w) for w in watts]),
        core_processor=core_processor,
        core_names=tuple(f"cor_{core}" for core in range(len(core_processor))),
    )


def jobs(submit, seconds, size=1, memory=0.0, bandwidth=0.0, gflops=4.0, ran=1.0):
    """Jobs of so many requested seconds at *gflops*, which really need the share *ran* of that."""
    count = len(submit)

    def column(value):
        return np.broadcast_to(np.asarray(value, np.float64), (count,)).copy()

    time = column(seconds)
    return Workload(
        ids=tuple(f"w0!{j}" for j in range(count)),
        profiles=("p",) * count,
        submit=column(submit),
        size=column(size).astype(np.int64),
        requested_time=time,
        requested_ops=time * gflops * 1e9,
        ops=time * gflops * 1e9 * column(ran),
        memory=column(memory),
        bandwidth=column(bandwidth),
        capacity=4,
    )


def learning_jobs():
    """Two jobs at once, each one core, 5 s at 4.2 GFLOP/s, 24 of the 32 GB/s of a processor (thesis 5.4)."""
    return jobs([0.0, 0.0], 5.0, memory=8000.0, bandwidth=24.0, gflops=4.2)


def started(system_of, platform=None, workload=None, **state):
    """Return the play of a workload, with the system that *system_of* makes for its state."""
    platform = platform or cluster()
    workload = workload or learning_jobs()
    state = State(platform, workload, **state)
    return Play(Simulator(state, workload), system_of(state))
