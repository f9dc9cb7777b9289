"""Environments by name: importing this module registers one per preset with Gymnasium.

    import gymnasium
    import hdeeprm_like.gym

    env = gymnasium.make("hdeeprm_like/SMDP-v0", head=64)
    env = gymnasium.make("hdeeprm_like/SMDP-v0", options="experiment.json")
    env = gymnasium.make("hdeeprm_like/SMDP-v0", platform=256, workload="lublin_256.swf.gz", jobs=200)
    env = gymnasium.make("hdeeprm_like/PolicySelect-v0", actions=["sjf+easy", "shortest-high_gflops"])
    envs = gymnasium.make_vec("hdeeprm_like/SMDP-v0", num_envs=64, head=64)

Without a platform and a workload, jobs are drawn from a published model for a small machine:

| presets | machine | jobs |
|---|---|---|
| HDeepRM | the 12 heterogeneous cores of `heterogeneous` | 100 of Lublin's, memory and bandwidth by HDeepRM |
| PolicySelect, SMDP, DeepBackfilling, SchedInspector | a pool of 64 cores | 100 of Lublin's |
| DeepRM, CompactRM | a pool of 10 cores with memory | Mao's, 50 time steps; the image shows memory too |
| JobMachine | 4 nodes of 64 cores, two of them with GPUs | 100 of KSU's, memory by HDeepRM |

`envs.settings.PAPERS` has ids with the sizes of the papers, such as ``hdeeprm_like/SMDP-paper-v0``.

Keywords of `make` and `make_vec`; those of the decision space override the preset:

| keyword | value |
|---|---|
| ``options`` | path of an options file with platform, jobs and decision space |
| ``platform`` | path of a platform, cores of a pool as a whole number, or a `Platform` |
| ``workload`` | path of jobs, a model (``lublin``, ``mao``, ...), a `Workload`, or a function that returns one |
| ``jobs`` | jobs of an episode, at least 1; default: twice *placed* |
| ``limits`` | a `Workload` or its ``limits()``, the largest requests, which scale observations; see below |
| ``clock`` | ``batsim``, ``textbook``, or ``one-by-one``: simultaneous arrivals come one by one |
| ``network`` | whether what jobs send takes time, on a platform with a network and Batsim's clock; see `simulate` |
| ``max_steps`` | limit at which an episode is truncated; default: 100 per job, at least 10,000, if the agent can wait |
| ``render_mode`` | ``human`` (not with `make_vec`) or ``rgb_array`` |
| ``mask`` | ``info``, or ``observation``: observations hold the mask of legal actions, see `envs.masks` |
| ``threads``, ``copy``, ``autoreset`` | of `make_vec`, see `SchedulingVectorEnv` |
| ``actions`` | ``policies``, ``jobs`` or ``machines``; names of policies in a list; a function |
| ``pairs``, ``void`` | the policy pairs of ``policies``; whether there is an action that starts no job |
| ``core_policy``, ``waiting`` | for ``jobs``; whether the agent can wait, for ``machines`` |
| ``masked`` | whether masks show what is legal, for ``jobs`` and ``machines`` |
| ``head``, ``tail`` | slots of the window at both ends of the queue, at least 0 |
| ``order`` | order of the queue that fills these slots, such as ``sjf`` |
| ``opens``, ``step`` | when the agent decides (`decision.window.window`); s of a time step |
| ``until``, ``placed`` | an episode ends after this many s, or this many placed jobs; default: with all jobs |
| ``jump`` | whether a wait lasts until something happens rather than one step |
| ``observation`` | a kind (`decision.observations.view`) or a function |
| ``horizon``, ``backlog``, ``memory_units`` | size of the observation, whole numbers |
| ``queue_sensitivity`` | for the summaries, above 0 |
| ``wait`` | whether the waits of the jobs in the slots and the clock are also shown |
| ``rates`` | whether the hour and the rates of objectives such as ``cost:tariff.csv`` are also shown |
| ``objectives``, ``objective`` | name of `decision.rewards`, ``cost:tariff.csv``, function, or several with weights |
| ``reward``, ``gamma`` | mode of `decision.rewards`; from 0 to 1 |

Observations are shares of the largest requests: those of the whole workload or model, as the command ``train`` scales
them. Of a function of the user's nothing is known beforehand, so each episode is scaled by its own jobs unless
``limits`` are given. The 36 policy pairs are numbered job policy by job policy in the order random, first, shortest,
smallest, low_mem, low_mem_bw, each with the core policies random, high_gflops, high_cores, high_mem, high_mem_bw,
low_power; ``env.unwrapped.action_names`` lists them.

Stable-Baselines3's wrappers begin the next episode in the step that ends one: make many environments with
``autoreset="SameStep"`` for it, as ``agents/sb3_vector.py`` does; Gymnasium's own wrappers expect ``NextStep``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from hdeeprm_like.cluster.links import with_network
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.synthetic.models import PRESETS as MODELS
from hdeeprm_like.cluster.workload import JobLimits, Workload
from hdeeprm_like.decision.named_parts import space_with
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.envs.ids import register
from hdeeprm_like.envs.masks import MaskPlace
from hdeeprm_like.envs.settings import PAPERS, SETTINGS, Paper, Recipes, Setting
from hdeeprm_like.envs.single import RenderMode, SchedulingEnv
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows, WorkloadOf
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.experiment import (
    VALIDATION,
    Experiment,
    episodes_of,
    load_experiment,
    space_of,
)
from hdeeprm_like.formats.any_platform import AnyPlatform, platform_from
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.jobs_in_files import jobs_and_machine, jobs_in
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.values import COUNT

from gymnasium.vector import AutoresetMode  # isort: skip

AnyWorkload: TypeAlias = Workload | str | Path | WorkloadOf

LIKELY = 8  # sample episodes of a model, to find its largest requests

ENOUGH = 2  # jobs of an episode per job to place, so that jobs keep arriving


def environment(
    preset: str = "HDeepRM",
    *,
    options: str | Path | None = None,
    platform: AnyPlatform | None = None,
    workload: AnyWorkload | None = None,
    jobs: int | None = None,
    clock: Clock | None = None,
    max_steps: int | None = None,
    render_mode: RenderMode | None = None,
    mask: MaskPlace = "info",
    network: bool = False,
    limits: JobLimits | Workload | None = None,
    **parts: Any,
) -> SchedulingEnv:
    """Return an environment from names and files; ``gymnasium.make`` calls it.

    Args:
        preset: one of `decision.presets.PRESETS`, or of `PAPERS`.
        options: an options file, by its name (`hdeeprm_like.examples`) or path: its platform, its training episodes
            and its decision space; *preset* applies if the file names none.
        platform: a `Platform`, its name or path, or the number of cores of a pool; None for the machine of the
            workload's name, a pool of as many cores as its file names, or the preset's where jobs are made.
        workload: a `Workload`, or its name or path, with random windows as episodes; the name of a model (lublin, mao,
            ksu); or any function of a generator that returns a `Workload`. On a pool the jobs of a trace run as long as
            in the trace; on other machines they are converted as in HDeepRM.
        jobs: of an episode; None for all of the workload, or 100 of a model.
        clock: of `CLOCKS`; None for ``batsim``, or that of the options file.
        mask: as for `SchedulingEnv`. network: whether what jobs send takes time, as for `hdeeprm_like.simulate`.
        limits: the largest requests, which scale observations, or a workload that has them; None for those of the
            options file, the workload or the model, and of each episode where a function makes the jobs.
        max_steps, render_mode: as for `SchedulingEnv`; by default an episode whose agent can wait is truncated as in
            `Space.most_steps`, since an agent that only waits would never end it.
        parts: fields of `Space` that override the preset's, see the table of this module.

    Raises:
        HDeepRMError: something is unknown, missing or does not fit together.
    """
    if preset not in PRESETS and preset not in PAPERS:
        raise OptionsError(f"preset {preset!r} is not known{did_you_mean(str(preset), (*PRESETS, *PAPERS))}")
    if jobs is not None:
        COUNT.of(jobs, OptionsError, "jobs")
    paper = PAPERS.get(preset) or Paper(preset, PRESETS[preset], SETTINGS[preset])
    setting = paper.setting
    length: int | None
    workload_of: WorkloadOf
    if isinstance(limits, Workload):
        limits = limits.limits()
    elif limits is not None and not isinstance(limits, JobLimits):
        raise OptionsError(f"limits is {limits!r:.80}; a Workload is needed, or its limits()")
    if options is not None:
        if platform is not None or workload is not None or jobs is not None:
            raise OptionsError(f"{options}: has platform and workload itself; leave platform, workload and jobs out")
        experiment = experiment_in(options, network)
        space = space_with(space_in(experiment, paper.preset), parts)
        exists, limits = experiment.platform, limits or experiment.workload.limits()
        workload_of = TrainingEpisodes(episodes_of(experiment)[0])
        length = experiment.options.training.fragment_jobs or len(experiment.workload)
        clock = clock or experiment.options.training.clock
    else:
        own = setting.parts if platform is None and workload is None else {}
        if platform is None and isinstance(workload, Workload | str | Path) and workload not in MODELS:
            workload, platform = jobs_and_machine(workload)
        exists = setting.platform() if platform is None else platform_from(platform)
        exists = with_network(exists) if network else exists
        space = space_with(space_with(paper.space, own), parts)
        if jobs is None and space.placed:
            jobs = ENOUGH * space.placed
        workload_of = workload_from(workload, jobs, exists, setting)
        limits, length = limits or limits_of(workload_of), length_of(workload_of)
    if max_steps is None:
        max_steps = None if length is None else space.most_steps(length)
    return SchedulingEnv(
        space,
        exists,
        workload_of,
        clock=clock or paper.clock,
        limits=limits,
        max_steps=max_steps,
        render_mode=render_mode,
        mask=mask,
    )


def environments(
    num_envs: int,
    preset: str = "HDeepRM",
    *,
    threads: int = 1,
    copy: bool = True,
    autoreset: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    **keywords: Any,
) -> SchedulingVectorEnv:
    """Return many environments that advance in one compiled call; ``gymnasium.make_vec`` calls it.

    Args:
        num_envs, threads, copy: as for `SchedulingVectorEnv`. preset, keywords: as for `environment`.
        autoreset: ``NextStep``, Gymnasium's default, which all its wrappers support; ``SameStep``, without a step for
            the beginning of an episode; or ``Disabled``: `reset` begins each episode, as TorchRL does.

    Raises:
        HDeepRMError: something is unknown, missing or does not fit together, or is a user's own Python.
    """
    one = environment(preset, **keywords)
    return SchedulingVectorEnv(
        one.space,
        one.platform,
        one.workload_of,
        num_envs,
        clock=one.clock,
        limits=one.limits,
        max_steps=one.max_steps,
        threads=threads,
        copy=copy,
        autoreset=autoreset,
        render_mode=one.render_mode,
        mask=keywords.get("mask", "info"),
    )


def experiment_in(options: str | Path, network: bool) -> Experiment:
    """Return the experiment of an options file, which itself says whether there is a network.

    Raises:
        HDeepRMError: the file cannot be used, or *network* contradicts it.
    """
    if not isinstance(options, str | Path):
        raise OptionsError(f"options is {options!r:.80}; the path of an options file is needed")
    experiment = load_experiment(existing(options, "options"))
    if network and experiment.platform.routes is None:
        raise OptionsError(f"{options}: says itself whether there is a network; leave network out")
    return experiment


def space_in(experiment: Experiment, preset: str) -> Any:
    """Return the decision space of an options file; *preset* applies if it names none.

    Raises:
        OptionsError: it names another preset.
    """
    env, folder = experiment.options.pybatsim.env, experiment.options_path.parent
    if "preset" not in env.model_fields_set:
        return space_of(env.model_copy(update={"preset": preset}), folder)
    if env.preset != preset:
        raise OptionsError(f"{experiment.options_path}: its preset is {env.preset}, not {preset}")
    return experiment.space


@dataclass(frozen=True)
class TrainingEpisodes:
    """The training episodes of an experiment, drawn by number.

    Attributes:
        jobs_of: function from number to the jobs of an episode.
    """

    jobs_of: Callable[[int], Workload]

    def __call__(self, rng: np.random.Generator) -> Workload:
        """Return the jobs of a random episode, all equally likely."""
        return self.jobs_of(int(rng.integers(VALIDATION)))


def workload_from(workload: AnyWorkload | None, jobs: int | None, platform: Platform, setting: Setting) -> WorkloadOf:
    """Return a function that draws the jobs of episodes."""
    if workload is None:
        return setting.workload_of(platform, jobs)
    if isinstance(workload, str) and workload in MODELS:
        length = None if workload == "mao" else 100
        return Setting(lambda: platform, workload, jobs=length).workload_of(platform, jobs)
    if isinstance(workload, Workload):
        return Windows(workload, jobs)
    if callable(workload):
        return workload
    if not isinstance(workload, str | Path):
        raise OptionsError(
            f"workload is {workload!r:.80}; a Workload is needed, a path, a model, or a function that makes one"
        )
    return Windows(jobs_in(existing(workload, "trace", "workload"), platform).workload, jobs)


def length_of(workload_of: WorkloadOf) -> int | None:
    """Return the number of jobs of an episode, 0 if a model ends it; None for a user's own function."""
    if isinstance(workload_of, Windows):
        return workload_of.length
    return workload_of.jobs or 0 if isinstance(workload_of, Recipes) else None


def limits_of(workload_of: WorkloadOf) -> JobLimits | None:
    """Return the largest requests that scale observations; None for a user's own function."""
    if isinstance(workload_of, Windows):
        return workload_of.workload.limits()
    if not isinstance(workload_of, Recipes):
        return None
    rng = np.random.default_rng(0)
    drawn = [workload_of(rng).limits() for _ in range(LIKELY)]
    return JobLimits(*(max(values) for values in zip(*(vars(limits).values() for limits in drawn), strict=True)))


register()
