"""A pool, the usual machine of the literature: identical cores and no other resource to contend for."""

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names, flops_by_pstate, watts_by_pstate


def pool(cores: int) -> Platform:
    """Return a machine of one node with *cores* identical cores of 1 GFLOP/s and 1 W, less when idle."""
    return Platform(
        name=f"pool of {cores}",
        cluster_names=("pool",),
        node_cluster=np.zeros(1, np.int64),
        node_memory=np.ones(1),
        node_types=("pool",),
        processor_node=np.zeros(1, np.int64),
        processor_bandwidth=np.ones(1),
        processor_types=("pool",),
        processor_flops=np.array([flops_by_pstate(1.0)]),
        processor_watts=np.array([watts_by_pstate(1.0)]),
        core_processor=np.zeros(cores, np.int64),
        core_names=core_names(cores),
    )
