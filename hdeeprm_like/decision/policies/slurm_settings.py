"""What the settings of a platform mean for a simulated Slurm; those that it does not have get Slurm's defaults."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import no_demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.engine.node_sets import NodeSets
from hdeeprm_like.types import Floats, Records

END_LATENCY = "end_latency"  # setting of a platform: s, part of each run time, that nodes need when a job has ended
TICK = "tick"  # setting of a platform: s between two looks of Slurm's main scheduler, a bit more than the 1 s it sleeps
NONE = -np.inf  # for no least value
PARAMETERS: dict[str, tuple[str, float, float, float]] = {  # scheduler parameter, Slurm's default, least value, unit
    "interval": ("bf_interval", 30.0, 1.0, 1.0),
    "window": ("bf_window", 1440.0, NONE, 60.0),
    "resolution": ("bf_resolution", 60.0, 1.0, 1.0),
    "most": ("bf_max_job_test", 500, NONE, 1),
    "most_of_user": ("bf_max_job_user", 0, NONE, 1),  # 0 for no limit, as of the next ones
    "most_filled": ("bf_max_job_start", 0, NONE, 1),
    "most_starts": ("sched_max_job_start", 0, NONE, 1),
    "wider": ("bf_window_linear", 0.0, NONE, 1.0),  # 0 if spans double
    "delay": ("batch_sched_delay", 3.0, NONE, 1.0),
    "full": ("sched_interval", 60.0, 1.0, 1.0),
    "gap": ("sched_min_interval", 2.0, 0.0, 1e-6),
    "depth": ("default_queue_depth", 100, NONE, 1),
}
SETTINGS: dict[str, tuple[str, float, float, float]] = {  # the same of settings; the first two move on in a run
    "next_full": ("first_full", 0.0, NONE, 1.0),  # s, next full look of the main scheduler
    "next_backfill": ("backfill_phase", 0.0, NONE, 1.0),  # s, earliest next backfill pass, or whole seconds later
    "main_phase": ("main_phase", 0.0, NONE, 1.0),  # s, phase of the main scheduler's looks at whole seconds
    "age": ("PriorityWeightAge", 0.0, NONE, 1.0),
    "max_age": ("PriorityMaxAge", 7 * 86400.0, 1.0, 1.0),
    "fair": ("PriorityWeightFairshare", 0.0, NONE, 1.0),
    "half_life": ("PriorityDecayHalfLife", 7 * 86400.0, NONE, 1.0),  # infinite for no decay
    "period": ("PriorityCalcPeriod", 300.0, 1.0, 1.0),
    "tick": (TICK, 1.0, NONE, 1.0),
    "linger": (END_LATENCY, 0.0, 0.0, 1.0),
    "wait": ("CompleteWait", 0.0, NONE, 1.0),
}
OF_SETTINGS = [  # columns of SLURM, whole numbers where the default is one; times are in s
    (column, "i8" if isinstance(usual, int) else "f8") for column, (_, usual, *_) in (PARAMETERS | SETTINGS).items()
]


def write_settings(params: Records, settings: Mapping[str, Any]) -> None:
    """Write what is constant in a run.

    Args:
        params: (1,) SLURM of `node_rows`.
    """
    parameters: Mapping[str, Any] = settings.get("SchedulerParameters") or {}
    for columns, given in ((PARAMETERS, parameters), (SETTINGS, settings)):
        for column, (key, usual, least, unit) in columns.items():
            params[column] = max(number(given.get(key), usual), least) * unit
    params["linear"] = str(settings.get("SelectType", "")).lower().endswith("linear")
    enforced = str(settings.get("AccountingStorageEnforce", "")).lower()
    params["limits"] = any(word in enforced for word in ("limits", "safe", "all"))
    if params["half_life"] <= 0:
        params["half_life"] = np.inf  # no decay
    params["next_period"] = number(settings.get("first_calc"), float(params["period"][0]))
    params["as_of"] = params["next_period"] - params["period"]
    deferred = any(str(name).startswith("defer") for name in parameters)
    params["at_once"] = bool(settings.get("Epilog")) and not deferred


def number(value: object, otherwise: float) -> float:
    """Return a setting as a number, or *otherwise* if it is none."""
    return float(value) if isinstance(value, int | float) else otherwise


def fixed_priorities(platform: Platform, jobs: Workload, sets: NodeSets, settings: Mapping[str, Any]) -> Floats:
    """Return (J,) the part of the priorities of jobs that does not change with time."""
    partitions, demands = platform.partitions, jobs.demands or no_demands(len(jobs))
    assert partitions is not None

    def weight(name: str) -> float:
        return number(settings.get(f"PriorityWeight{name}"), 0.0)

    nodes = np.maximum(demands.nodes, 1)
    size = (nodes / platform.nodes + jobs.size / platform.cores) / 2.0
    if str(settings.get("PriorityFavorSmall", "NO")).upper() == "YES":
        size = ((platform.nodes - nodes) / platform.nodes + (platform.cores - jobs.size) / platform.cores) / 2.0
    part = partitions.factors / max(float(partitions.factors.max()), 1.0)
    of_job = sets.demands["partition"]
    ranks: Mapping[str, Any] = settings.get("qos") or {}
    most = max([number(value, 0.0) for value in ranks.values()], default=0.0)
    quality = np.array([number(ranks.get(name), 0.0) / most if most > 0 else 0.0 for name in demands.qos])
    fixed = weight("JobSize") * size + weight("Partition") * part[of_job] + weight("QOS") * quality
    total: Floats = fixed + tres(platform, jobs, sets, settings.get("PriorityWeightTRES") or {}) - demands.nice
    return total


def tres(platform: Platform, jobs: Workload, sets: NodeSets, weights: Mapping[str, Any]) -> Floats:
    """Return (J,) the term of PriorityWeightTRES: weights times the share of what the job's partition has."""
    members = sets.partition_nodes.astype(np.float64)
    cores = np.bincount(platform.processor_node, platform.processor_cores, platform.nodes)
    has = {"cpu": members @ cores, "mem": members @ platform.node_memory, "gres/gpu": members @ platform.node_gpus}
    each = sets.demands["gpus"]
    gpus = np.where(each > 0, each * np.maximum(sets.demands["nodes"], 1), jobs.gpus_of_job)
    asks = {"cpu": jobs.size, "mem": jobs.memory * jobs.size, "gres/gpu": gpus}
    total = np.zeros(len(jobs))
    for name, weight in weights.items():
        key = name.lower()
        if key in has:
            there = has[key][sets.demands["partition"]]
            total += number(weight, 0.0) * np.where(there > 0, asks[key] / np.maximum(there, 1e-300), 0.0)
    return total
