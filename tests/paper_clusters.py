"""Clusters and workloads of the thesis, small enough to be worked out on paper."""

from dataclasses import replace

import numpy as np
import small

from hdeeprm_like.engine.state import State
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Simulator


def cluster(processors=((0, 2, 4.0, 80.0), (0, 2, 4.4, 100.0)), memory=(32000.0,), bandwidth=32.0):
    """Processors as (node, cores, GFLOP/s, W) with one bandwidth in GB/s; the default is the learning platform."""
    of_nodes = [
        [(cores, gflops, watts, bandwidth) for node, cores, gflops, watts in processors if node == own]
        for own in range(len(memory))
    ]
    return small.platform(*zip(memory, of_nodes, strict=True))


def jobs(submit, seconds, size=1, memory=0.0, bandwidth=0.0, gflops=4.0, ran=1.0):
    """Jobs of so many requested seconds at *gflops*, which really need the share *ran* of that."""
    ids = [f"w0!{j}" for j in range(len(submit))]
    found = small.jobs(submit, seconds, size, memory, bandwidth, ids=ids)
    requested = found.requested_time * gflops * 1e9
    return replace(found, requested_ops=requested, ops=requested * np.broadcast_to(ran, len(submit)))


def learning_jobs():
    """Two jobs at once, each one core, 5 s at 4.2 GFLOP/s, 24 of the 32 GB/s of a processor (thesis 5.4)."""
    return jobs([0.0, 0.0], 5.0, memory=8000.0, bandwidth=24.0, gflops=4.2)


def started(system_of, platform=None, workload=None, **state):
    """Return the play of a workload, with the system that *system_of* makes for its state."""
    platform = platform or cluster()
    workload = workload or learning_jobs()
    state = State(platform, workload, **state)
    return Play(Simulator(state, workload), system_of(state))
