"""R01: Gaia's nodes as the shipped platform has them, and what its jobs ask for."""

from collections import Counter

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.open import load_trace
from hdeeprm_like.studies.jobstat import jobstat
from hdeeprm_like.studies.reproduction.place import Findings, Place

TYPES = (  # ours, in the order of table 5.1
    "Bullx B500-0",
    "Bullx B505-0",
    "Bullx B505-1",
    "Bullx S6030",
    "Dell R820",
    "Dell R720",
    "Bullx B500-1",
    "Delta D88x-M8-BI",
    "SGI UV-2000",
)
GB, GIGA = 1000.0, 1e9  # MB, flop/s


def measure(place: Place) -> Findings:
    """Return what the platform and the jobs are."""
    experiment = load_experiment(place.options("gaia"))
    platform, first = experiment.platform, experiment.workload
    everything = load_experiment(place.options("gaia", nb_jobs=None)).workload
    place.options("gaia")  # the file stays as the report shows it
    found = Findings(
        {
            "nodes": platform.nodes,
            "processors": platform.processors,
            "cores": platform.cores,
            **{f"type{row}": described(platform, name) for row, name in enumerate(TYPES)},
            "jobs": len(load_trace(place.example("workloads/gaia.swf.gz"))),
            "size_median": jobstat(first, "size", "median"),
            "size_p95": jobstat(first, "size", "p95"),
            **memories("", first),
            **memories("all_", everything),
        }
    )
    found.values["mem_p95"] /= GB
    return found


def memories(prefix: str, jobs: Workload) -> dict[str, float]:
    """Return quantiles of the memory per core, the largest in GB, the others in MB."""
    median, high, most = (jobstat(jobs, "mem", statistic) for statistic in ("median", "p95", "max"))
    return {f"{prefix}mem_median": median, f"{prefix}mem_p95": high, f"{prefix}mem_max": most / GB}


def described(platform: Platform, name: str) -> str:
    """Return a type of nodes in the words of table 5.1."""
    nodes = np.flatnonzero([own == name for own in platform.node_types])
    own = np.flatnonzero(platform.processor_node == nodes[0])
    cores = Counter(platform.core_processor.tolist())[int(own[0])]
    speed, bandwidth = platform.processor_flops[own[0], 0] / GIGA, platform.processor_bandwidth[own[0]]
    memory = platform.node_memory[nodes[0]] / GB
    return f"{len(nodes)} x {memory:g} GB, {len(own)} x {cores} cores, {speed:.10g} GFLOP/s, {bandwidth:.10g} GB/s"
