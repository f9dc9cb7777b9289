"""Default machines and jobs of the environments of presets, and presets with a paper's sizes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from hdeeprm_like.cluster.platform import Platform, core_names, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.mao import MAO, SCENARIOS
from hdeeprm_like.cluster.synthetic.models import Columns, Recipe, model_named
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.presets import PRESETS, Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.envs.windows import WorkloadOf
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.run.simulator import Clock

LIKELY = 8  # sample episodes of a model, to find its largest requests


@dataclass(frozen=True)
class Recipes:
    """Episodes drawn from a model.

    Attributes:
        recipe: of the jobs. jobs: of an episode; None if the model itself ends it. reference_flops: flop/s of the
        cores on which jobs take the model's run times.
    """

    recipe: Recipe
    jobs: int | None
    reference_flops: float

    def __call__(self, rng: np.random.Generator) -> Workload:
        """Return the jobs of an episode."""
        return self.recipe.jobs(self.jobs, rng).workload(self.reference_flops)

    @property
    def length(self) -> int:
        """Number of jobs of an episode, 0 if the model ends it."""
        return self.jobs or 0

    def limits(self) -> JobLimits:
        """Return the largest requests of some episodes, which scale observations."""
        rng = np.random.default_rng(0)
        drawn = [vars(self(rng).limits()).values() for _ in range(LIKELY)]
        return JobLimits(*map(max, zip(*drawn, strict=True)))


@dataclass(frozen=True)
class Setting:
    """Default machine and jobs of a preset.

    Attributes:
        platform: function that returns the machine. model, model_preset: of its jobs. nodes: size that the model is
        fitted to, None for the machine's cores. columns: as in options files. jobs: of an episode. parts: of the space.
    """

    platform: Callable[[], Platform]
    model: str
    model_preset: str | None = None
    nodes: int | None = None
    columns: Columns = "model"
    jobs: int | None = 100
    parts: dict[str, Any] = field(default_factory=dict)

    def workload_of(self, platform: Platform, jobs: int | None) -> WorkloadOf:
        """Return a function that draws episodes for a machine."""
        model = model_named(self.model, self.model_preset, None, self.nodes or platform.cores)
        return Recipes(Recipe(model, columns=self.columns), jobs or self.jobs, platform.reference_flops)


def machine(name: str, *nodes: tuple[float, float, tuple[tuple[int, float, float, float], ...]]) -> Platform:
    """Return a machine of one cluster.

    Args:
        nodes: each as MB of memory, GPUs, and processors as cores, GFLOP/s per core, W per core, GB/s.
    """
    processors = [(n, *figures) for n, (_, _, own) in enumerate(nodes) for figures in own]
    node, cores, gflops, watts, bandwidth = (np.array(column) for column in zip(*processors, strict=True))
    core_processor = np.repeat(np.arange(len(processors)), cores)
    return Platform(
        name=name,
        cluster_names=("cluster",),
        node_cluster=np.zeros(len(nodes), np.int64),
        node_memory=np.array([memory for memory, _, _ in nodes], np.float64),
        node_types=("node",) * len(nodes),
        processor_node=node,
        processor_bandwidth=bandwidth.astype(np.float64),
        processor_types=("processor",) * len(processors),
        processor_flops=np.array([flops_by_pstate(figure) for figure in gflops]),
        processor_watts=np.array([watts_by_pstate(figure) for figure in watts]),
        core_processor=core_processor,
        core_names=core_names(len(core_processor)),
        node_gpus=np.array([gpus for _, gpus, _ in nodes], np.float64),
    )


def heterogeneous() -> Platform:
    """Return a machine of three kinds of nodes: slow and frugal, fast and power-hungry, and with much memory."""
    return machine(
        "heterogeneous",
        (32000.0, 0, ((4, 4.0, 20.0, 32.0),)),
        (32000.0, 0, ((2, 16.0, 80.0, 48.0), (2, 12.0, 50.0, 48.0))),
        (128000.0, 0, ((4, 8.0, 35.0, 64.0),)),
    )


def with_gpus() -> Platform:
    """Return a machine of four nodes of 64 cores with different memory, two of them with 4 GPUs."""
    nodes = ((128000.0, 4), (128000.0, 4), (256000.0, 0), (64000.0, 0))
    return machine("with GPUs", *((memory, gpus, ((64, 1.0, 1.0, 1e6),)) for memory, gpus in nodes))


def deeprm() -> Platform:
    """Return ten cores and ten units of memory, the machine of Mao's jobs."""
    return machine("DeepRM", (10.0, 0, ((10, 1.0, 1.0, 1.0),)))


LUBLIN_POOL = Setting(partial(pool, 64), "lublin", "whole")
MAO_POOL = Setting(deeprm, "mao", jobs=None)
SETTINGS = {
    "HDeepRM": Setting(heterogeneous, "lublin", "whole", columns="hdeeprm"),
    "PolicySelect": LUBLIN_POOL,
    "DeepRM": replace(MAO_POOL, parts={"memory_units": 10}),
    "CompactRM": MAO_POOL,
    "SMDP": LUBLIN_POOL,
    "DeepBackfilling": LUBLIN_POOL,
    "SchedInspector": LUBLIN_POOL,
    "JobMachine": Setting(with_gpus, "ksu", nodes=64, columns="hdeeprm"),
}
"""The table of `envs.registration`."""


@dataclass(frozen=True)
class Paper:
    """A preset with the settings of a paper.

    Attributes:
        preset: its name. space: of its agent. setting: machine and jobs. clock: default clock.
    """

    preset: str
    space: Space
    setting: Setting
    clock: Clock = "batsim"


def scenario(number: int) -> Paper:
    """Return a scenario of the compact MDP: a pool of its processors, and jobs that request only these."""
    name = f"scenario-{number}"
    objectives = {OBJECTIVES["window_execution_slowdown"]: 1.0}
    space = replace(PRESETS["CompactRM"], objectives=objectives, until=float(MAO[name].steps or 0))
    return Paper("CompactRM", space, Setting(partial(pool, MAO[name].capacity), "mao", name, jobs=None))


PAPERS = {
    "SMDP-paper": Paper(
        "SMDP",
        replace(PRESETS["SMDP"], objectives={OBJECTIVES["window_execution_slowdown"]: 1.0}),
        Setting(partial(pool, 256), "lublin", "whole", jobs=256),
    ),
    "CompactRM-paper": scenario(1),
    "DeepBackfilling-paper": Paper(
        "DeepBackfilling",
        replace(PRESETS["DeepBackfilling"], placed=1000),
        Setting(partial(pool, 256), "lublin", "whole", jobs=2000),
        clock="one-by-one",
    ),
    "DeepRM-paper": Paper(
        "DeepRM",
        replace(PRESETS["DeepRM"], observation="deeprm", until=50.0),
        Setting(deeprm, "mao", "dissertation", jobs=None),
    ),
    **{f"CompactRM-paper-{number}": scenario(number) for number in range(1, len(SCENARIOS) + 1)},
}
"""Papers by the names of their ids.

| id | source | machine | jobs |
|---|---|---|---|
| SMDP-paper | 000, 5.3.1 and table 5.5 | 256 cores | 256 of Lublin's; 60 events, 128 slots |
| CompactRM-paper-1 to -10 | 003, section 5; 000, table 5.3 | 10, 38 or 64 processors | Mao's, 100 steps |
| DeepBackfilling-paper | 001, sections II.A and IV.A | 256 cores | Lublin's, one by one, until 1000 are placed |
| DeepRM-paper | 000, 5.1.1; Mao et al. | 10 cores, 10 units of memory | Mao's, 50 steps |

The rewards of the first two use execution times, as in equation 4.1 and section 4.6.3 of 000. The image of DeepRM has
the 224 columns of the network there: a colour per running job, and the time since the last arrival.
"""


def reset_options(given: Any, known: Sequence[str]) -> dict[str, Any]:
    """Return the options of ``reset(options=...)``.

    Raises:
        OptionsError: they are no mapping, or one is unknown.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionsError(f"reset: options is {given!r:.40}; a mapping is needed, with {' or '.join(known)}")
    for name in given:
        if name not in known:
            raise OptionsError(f"reset: option {name!r} is not known{did_you_mean(str(name), known)}")
    return dict(given)
