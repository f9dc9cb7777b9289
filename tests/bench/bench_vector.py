"""Decisions per second of many environments in one, with random legal actions drawn in compiled code."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.engine.bundles import at_address
from hdeeprm_like.engine.compiled import direct, released
from hdeeprm_like.engine.splitmix64 import draw_below
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.job_reading import Reading
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.run.batch import Batch
from hdeeprm_like.run.loop import look
from hdeeprm_like.types import Bools, Ints

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parent.parent.parent
SIZES = (1, 8, 64, 512)
SECONDS = 0.3  # CPU s of a measurement; the best of ten counts, as other work on the machine makes most slower
WINDOW = replace(PRESETS["CompactRM"], head=128, step=0.0)


def lublin(cores=256):
    """The jobs of Lublin-1, on machines of other sizes with the same share of the cores for each."""
    trace = read_swf(ROOT / "workloads" / "lublin_256.swf.gz")
    rng = np.random.default_rng(0)
    jobs = convert(trace, Reading(256), reference_flops=1e9, capacity=256, rng=rng, runtimes="trace")
    return replace(
        jobs,
        size=jobs.size * (cores // 256) if cores > 256 else np.minimum(jobs.size, cores),
        bandwidth=np.zeros(len(jobs)),
    )


@released
def look_again(batch: Batch, count: int) -> None:
    """Write what is to be seen and which actions are legal once more."""
    for i in range(count):
        run = at_address(batch.first, batch.runs[i])
        look(run, run.observation, batch.masks[i])


@released
def draw_legal(masks: Bools, states: NDArray[np.uint64], actions: Ints) -> None:
    """Draw an action of each row of (B, A) masks, all legal ones equally likely; *states* as of ``splitmix64``."""
    for i in range(len(masks)):
        legal = 0
        for action in range(masks.shape[1]):
            legal += masks[i, action]
        left = draw_below(states, i, legal)
        if legal == masks.shape[1]:
            actions[i] = left
            continue
        for action in range(masks.shape[1]):
            left -= masks[i, action]
            if left < 0:
                actions[i] = action
                break


def rate(env, thread=True, repeat=10):
    """Decisions per second, and the shares of time for drawing actions, and for observations and masks."""
    clock = time.thread_time if thread else time.perf_counter
    states, actions = np.arange(env.num_envs, dtype=np.uint64), np.zeros(env.num_envs, np.int64)
    env.reset(seed=1)
    best, at_once = 0.0, max(1, 1000 // env.num_envs)
    for _ in range(repeat):
        steps, drawing, began = 0, 0.0, clock()
        while clock() - began < SECONDS:
            for _ in range(at_once):
                before = clock()
                draw_legal(env.action_masks(), states, actions)
                drawing += clock() - before
                env.step(actions)
                steps += 1
        spent = clock() - began
        if steps * env.num_envs / spent > best:
            best, policy, step = steps * env.num_envs / spent, drawing / spent, spent / steps
    batch = env.runs._batch
    looking = direct(look_again, batch, 0)
    least = min(timed(clock, looking, batch, env.num_envs, at_once) for _ in range(10))
    return best, policy, least / step


def timed(clock, function, batch, count, times):
    """Seconds of a call."""
    began = clock()
    for _ in range(times):
        function(batch, count)
    return (clock() - began) / times


def tell(what, env, thread=True, wanted=None):
    found, policy, seen = rate(env, thread)
    ratio = f" {found / wanted:5.2f} of the {wanted:9,} wanted;" if wanted else ""
    shares = f"simulation {1 - policy - seen:4.0%}, observation {seen:4.0%}, policy {policy:4.0%}"
    print(f"{what:46} {env.num_envs:4} envs {found:11,.0f} decisions/s;{ratio} {shares}", flush=True)


def environment(space, envs, workload, platform, threads=1, jobs=256, clock="textbook"):
    windows = Windows(workload, jobs)
    limits = workload.limits()
    how = {"clock": clock, "limits": limits, "threads": threads, "copy": False}
    return SchedulingVectorEnv(space, platform, windows, envs, **how)


@pytest.mark.parametrize(
    ("name", "space", "wanted"),
    [("window of 128, compact", WINDOW, 500_000), ("SMDP, 60 events", PRESETS["SMDP"], 200_000)],
)
def test_windows_on_lublin(name, space, wanted):
    print()
    jobs = lublin()
    for envs in SIZES:
        tell(name, environment(space, envs, jobs, pool(256)), wanted=wanted)
    tell(f"{name}, Batsim's clock", environment(space, 64, jobs, pool(256), clock="batsim"))
    for threads in (1, 2):
        env = environment(space, 512, jobs, pool(256), threads=threads)
        tell(f"{name}, {threads} threads, wall clock", env, thread=False)
        env.close()


@pytest.mark.parametrize(
    ("path", "jobs", "wanted"),
    [("agents/gaia-first-high_gflops.json", 200, 100_000), ("agents/reinforce.json", None, 1_000_000)],
)
def test_policy_pairs(path, jobs, wanted):
    print()
    experiment = load_experiment(ROOT / path)
    space = replace(experiment.space, observation="minimal")
    for clock in ("batsim", "textbook"):
        for envs in SIZES:
            env = environment(space, envs, experiment.workload, experiment.platform, jobs=jobs, clock=clock)
            tell(f"{Path(path).stem}, {clock}", env, wanted=wanted)


def test_cores():
    print()
    for cores in (128, 1024, 16_384, 163_840):
        jobs = lublin(cores)
        tell(f"window of 128, {cores:,} cores", environment(WINDOW, 64, jobs, pool(cores)))


def test_queue_length():
    print()
    jobs = lublin()
    for queue in (10, 100, 1000, 9999):
        crowd = replace(jobs, submit=np.zeros(len(jobs)))
        tell(f"window of 128, {queue:,} jobs waiting", environment(WINDOW, 16, crowd, pool(256), jobs=queue))
