"""Steps per second of CPU time, and so per core, of one environment with random legal actions, resets included."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.windows import window
from hdeeprm_like.gym import environment

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parent.parent.parent
SECONDS = 2.0  # of CPU time for each figure


def lublin():
    """Window of 128 slots and minimal observations on Lublin-1, episodes of 1000 jobs."""
    workload = window(read_jobs(ROOT / "workloads" / "lublin_256.swf.gz", Reading(memory=False)), 256).workload
    space = replace(PRESETS["SMDP"], observation="minimal", step=0.0)
    return SchedulingEnv(space, pool(256), Windows(workload, 1000), limits=workload.limits())


def gaia():
    """All policy pairs and minimal observations on Gaia, episodes of 1000 jobs."""
    experiment = load_experiment(ROOT / "agents" / "gaia-first-high_gflops.json")
    workload = experiment.workload
    space = replace(PRESETS["HDeepRM"], observation="minimal")
    return SchedulingEnv(space, experiment.platform, Windows(workload), limits=workload.limits())


def steps_per_second(env):
    """Random legal actions for some time, after some that load the machine code."""
    rng = np.random.default_rng(1)
    env.reset(seed=1)
    play_some(env, rng.random(500))
    steps, begin = 0, time.process_time()
    while time.process_time() - begin < SECONDS:
        play_some(env, rng.random(2000))
        steps += 2000
    return steps / (time.process_time() - begin)


def play_some(env, draws):
    """Take a random legal action for each number from 0 to 1."""
    for draw in draws:
        legal = env.action_masks().nonzero()[0]
        _, _, over, cut, _ = env.step(legal[int(draw * len(legal))])
        if over or cut:
            env.reset()


def test_steps_per_second():
    cases = {
        "Lublin-1, 256 cores, window 128, minimal": lublin,
        "Gaia, 2280 cores, 36 policy pairs, minimal": gaia,
        **{f"{preset}, built-in jobs": lambda preset=preset: environment(preset) for preset in PRESETS},
        "SMDP, Lublin-1": lambda: environment(
            "SMDP", platform=256, workload=ROOT / "workloads" / "lublin_256.swf.gz", jobs=1000
        ),
    }
    print()
    for name, make in cases.items():
        print(f"{name:45} {steps_per_second(make()):10,.0f} steps/s")
