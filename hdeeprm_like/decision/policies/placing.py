"""Weights of learned placements, and what of the platform their search reads (see `placement_scores`)."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.score_files import CORE_FEATURES, JOB_FEATURES
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Floats, Ints, Records

CORE = {name: number for number, name in enumerate(CORE_FEATURES)}
JOB = {name: number for number, name in enumerate(JOB_FEATURES)}
FIXED = 5  # the first so many features of cores never change: those of a class of processors

PLACEMENT = np.dtype([("estimates", "i8")], align=True)  # 1 if the score uses the run time
SEARCH = np.dtype(
    [
        ("wanted", "i8"),  # cores still to find for the job
        ("slowest", "f8"),  # flop/s of the slowest core found before, infinite for none
        ("only", "i8"),  # the node that the cores must be on, -1 for any
        ("processor", "i8"),  # the best one so far, -1 for none,
        ("cores", "i8"),  # how many of its cores,
        ("least", "f8"),  # and their score
    ],
    align=True,
)
MEAN = np.dtype([("watts", "f8"), ("memory", "f8"), ("bandwidth", "f8")], align=True)  # W, MB, GB/s of the mean core


class Placing(Bundle, shared=("rows", "mean", "weights", "classes", "fixed")):
    """The placement scores of K baselines; C features of cores, F of jobs, P processors, L classes.

    Processors are of one class if all that never changes about them is equal.

    Attributes:
        rows: (K,) PLACEMENT. mean: (1,) MEAN. weights: (K * C, F).
        classes: (P,) class of each processor. fixed: (L, FIXED) features of cores that never change.
        job: (F,) scratch: features of a job. weighed: (C,) scratch: what features of cores weigh for it.
        cores: (C,) scratch: features of cores. seen: (L,) scratch: 1 if an idle processor of the class was scored.
        search: (1,) SEARCH.
    """

    rows: Records
    mean: Records
    weights: Floats
    classes: Ints
    fixed: Floats
    job: Floats
    weighed: Floats
    cores: Floats
    seen: Ints
    search: Records


def new_placing(state: State | None, baselines: Sequence[Baseline]) -> Placing:
    """Return the placement scores of some baselines; None for no state only without baselines."""
    placements = [baseline.placement_score for baseline in baselines]
    rows, weights = np.zeros(len(placements), PLACEMENT), np.zeros((len(placements) * len(CORE), len(JOB)))
    for k, placement in enumerate(placements):
        if placement is not None:
            rows[k]["estimates"] = "trusted_log_time" in placement.looks
            for cores, job, weight in placement.weights:
                weights[k * len(CORE) + CORE[cores], JOB[job]] = weight
    mean = np.zeros(1, MEAN)
    classes: Ints = np.zeros(0, np.int64)
    fixed: Floats = np.zeros((0, FIXED))
    if state is not None and any(placement is not None for placement in placements):
        platform = state.platform
        classes, fixed = classes_of(platform)
        mean["watts"] = np.average(platform.processor_watts[:, 0], weights=platform.processor_cores)
        mean["memory"] = np.sum(platform.node_memory) / platform.cores
        mean["bandwidth"] = np.sum(platform.processor_bandwidth) / platform.cores
    return Placing(
        rows=rows,
        mean=mean,
        weights=weights,
        classes=classes,
        fixed=fixed,
        job=np.zeros(len(JOB)),
        weighed=np.zeros(len(CORE)),
        cores=np.zeros(len(CORE)),
        seen=np.zeros(len(fixed), np.int64),
        search=np.zeros(1, SEARCH),
    )


def log_ratio(values: Floats, weights: Ints) -> Floats:
    """Return ln of values beside their weighted mean; 0 where there is nothing to compare."""
    mean = float(np.average(values, weights=weights))
    found: Floats = np.log(np.maximum(values / mean if mean > 0.0 else np.ones_like(values), 1e-6))
    return found


def classes_of(platform: Platform) -> tuple[Ints, Floats]:
    """Return (P,) the class of each processor, and (L, FIXED) the features of each class that never change."""
    cores, node = platform.processor_cores, platform.processor_node
    of_node = np.bincount(node, cores, platform.nodes)
    alike = np.column_stack(
        [
            platform.processor_flops,
            platform.processor_watts,
            platform.processor_bandwidth,
            cores,
            platform.node_memory[node],
            platform.node_gpus[node],
            of_node[node],
        ]
    )
    _, first, classes = np.unique(alike, axis=0, return_index=True, return_inverse=True)
    features = np.column_stack(
        [
            log_ratio(platform.processor_flops[:, 0], cores),
            log_ratio(platform.processor_watts[:, 0], cores),
            log_ratio(platform.processor_bandwidth / cores, cores),
            log_ratio(platform.node_memory[node] / of_node[node], cores),
            (platform.node_gpus[node] > 0.0).astype(np.float64),
        ]
    )
    return classes.reshape(-1).astype(np.int64), np.ascontiguousarray(features[first])
