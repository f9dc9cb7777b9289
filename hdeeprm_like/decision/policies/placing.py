"""Weights of learned placements, and what of the platform their search reads (see `placement_scores`)."""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.score_files import CORE_FEATURES, JOB_FEATURES
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import WIDTH, Tables
from hdeeprm_like.types import Floats, Ints, Records

CORE = {name: number for number, name in enumerate(CORE_FEATURES)}
JOB = {name: number for number, name in enumerate(JOB_FEATURES)}
FIXED = 5  # the first so many features of cores never change: those of a class of processors
SEVERAL = -1  # in place of a class, for processors of several

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


class Placing(Bundle, shared=("rows", "mean", "weights", "classes", "fixed", "uniform", "whole")):
    """The placement scores of K baselines; C features of cores, F of jobs, P processors, G groups, L classes.

    Processors are of one class if all that never changes about them is equal.

    Attributes:
        rows: (K,) PLACEMENT. mean: (1,) MEAN. weights: (K * C, F).
        classes: (P,) class of each processor. fixed: (L, FIXED) features of cores that never change.
        uniform: (G, WIDTH) the class of the processors at a place of ``Tables.tree`` if all are of one class and nodes
            lie entirely within or without, else SEVERAL. whole: (G, WIDTH) cores at that place.
        job: (F,) scratch: features of a job. weighed: (C,) scratch: what features of cores weigh for it.
        cores: (C,) scratch: features of cores. seen: (L,) scratch: 1 if an idle processor of the class was scored.
        search: (1,) SEARCH.
    """

    rows: Records
    mean: Records
    weights: Floats
    classes: Ints
    fixed: Floats
    uniform: Ints
    whole: Ints
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
    mean, groups = np.zeros(1, MEAN), 0
    classes: Ints = np.zeros(0, np.int64)
    fixed: Floats = np.zeros((0, FIXED))
    if state is not None and any(placement is not None for placement in placements):
        platform, groups = state.platform, int(state.tables.levels[-1]) + 1
        classes, fixed = classes_of(platform)
        mean["watts"] = np.average(platform.processor_watts[:, 0], weights=platform.processor_cores)
        mean["memory"] = np.sum(platform.node_memory) / platform.cores
        mean["bandwidth"] = np.sum(platform.processor_bandwidth) / platform.cores
    uniform, whole = np.full((groups, WIDTH), SEVERAL), np.zeros((groups, WIDTH), np.int64)
    if state is not None and groups:
        write_groups(state.tables, classes, state.platform.processor_cores, uniform, whole)
    return Placing(
        rows=rows,
        mean=mean,
        weights=weights,
        classes=classes,
        fixed=fixed,
        uniform=uniform,
        whole=whole,
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


def write_groups(tables: Tables, classes: Ints, cores: Ints, uniform: Ints, whole: Ints) -> None:
    """Write the class and the cores of the processors at each place of ``Tables.tree``."""
    nodes, count, width = tables.processors["node"], len(classes), 1
    for first in tables.levels.tolist():
        for place in range(-(-count // width)):
            begin, end = place * width, min((place + 1) * width, count)
            group, i = first + place // WIDTH, place % WIDTH
            whole[group, i] = cores[begin:end].sum()
            cut = (begin > 0 and nodes[begin] == nodes[begin - 1]) or (end < count and nodes[end] == nodes[end - 1])
            if not cut and (classes[begin:end] == classes[begin]).all():
                uniform[group, i] = classes[begin]
        width *= WIDTH
