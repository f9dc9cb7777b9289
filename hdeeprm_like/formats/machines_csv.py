"""KSU's CSV of machines: memory, cores and GPUs of each.

The file has no speed, power or memory bandwidth. Each machine becomes a node with one processor whose cores compute
1 GFLOP/s and draw 1 W, so that the energy in J equals core seconds, and with ample bandwidth.
Source: Hutchison et al., "Scheduling for high performance computing with reinforcement learning", II.D.
"""

from pathlib import Path

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.csv_rows import read_rows
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.platform_json import MOST_CORES
from hdeeprm_like.values import Number

COLUMNS = ("MachineName", "TotalMemory", "TotalCPUs", "TotalGPUs")  # memory in MB
MEGABYTES = Number(0.0, above=True, noun="number of MB")

GFLOPS, WATTS = 1.0, 1.0  # of a core
BANDWIDTH = 1000.0  # GB/s per core, more than jobs request
PROCESSOR = "unknown"  # type of the processors


def read_machines_csv(path: Path) -> Platform:
    """Return the platform of such a file: one cluster, one node per machine, named as its type.

    Args:
        path: plain or ``.gz``; its columns may be in any order, others are ignored.

    Raises:
        PlatformError: the file is invalid; the message names file, line and remedy.
    """
    rows = read_rows(path, COLUMNS, PlatformError)
    memory = np.array([row.number("TotalMemory", MEGABYTES) for row in rows])
    cores = np.array([row.count("TotalCPUs") for row in rows])
    if cores.sum() > MOST_CORES:
        raise PlatformError(f"{path}: TotalCPUs: {cores.sum():,} cores in all; at most {MOST_CORES:,} are allowed")
    machines = len(rows)
    name = path.name.split(".")[0]
    return Platform(
        name=name,
        cluster_names=(name or "machines",),
        node_cluster=np.zeros(machines, np.int64),
        node_memory=memory,
        node_types=tuple(row.name("MachineName") for row in rows),
        processor_node=np.arange(machines),
        processor_bandwidth=BANDWIDTH * cores,
        processor_types=(PROCESSOR,) * machines,
        processor_flops=np.tile(flops_by_pstate(GFLOPS), (machines, 1)),
        processor_watts=np.tile(watts_by_pstate(WATTS), (machines, 1)),
        core_processor=np.repeat(np.arange(machines), cores),
        core_names=core_names(int(cores.sum())),
        node_gpus=np.array([row.number("TotalGPUs") for row in rows]),
    )
