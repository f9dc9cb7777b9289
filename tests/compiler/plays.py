"""Small random worlds of every kind of run as text, the same wherever the same happens; run in a process of its own.

The worlds follow from ``HDEEPRM_LIKE_SEED``, as all random worlds of the tests do. Sums of observations begin
with ``~``: numpy's logarithms of 32 bits, which plain Python has, may differ from those of C in the last one.
"""

import os
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np

import hdeeprm_like.gym  # noqa: F401
from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.compiler.exemplars import CLOCKS, SPACES, with_partitions
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.names import JOB_POLICIES, MODES, PLACEMENTS
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.any_platform import platform_from
from hdeeprm_like.run.python_loop import Play, Steps
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Simulator

SEED = zlib.crc32(os.environ["HDEEPRM_LIKE_SEED"].encode())
SLURM, WATCHED = "multifactor+slurm", ("sjf+slurm", "saf@ewma+slurm", "zoo:balanced+slurm")
PLAIN = [f"sjf+{mode}" for mode in MODES if mode not in ("scored", "slurm")] + ["wfp3+easy"]
PLACED = f"scored:{Path(__file__).parents[2] / 'agents' / 'zoo' / 'evolution' / 'begin-placed.json'}"
USERS = ["saf@ewma+easy", "multifactor+conservative", "zoo:balanced", "fcfs+easysjf@tsafrir"]


def world(count, cores, partitions=False):
    """Jobs of random sizes and lengths."""
    rng = np.random.default_rng(SEED)
    seconds = rng.integers(1, 50, count).astype(float)
    return Workload(
        ids=tuple(f"w0!{number}" for number in range(count)),
        profiles=("p",) * count,
        submit=np.sort(rng.integers(0, 60, count).astype(float)),
        size=rng.integers(1, cores + 1, count),
        requested_time=seconds + rng.integers(0, 20, count),
        requested_ops=seconds * 1e9,
        ops=seconds * 1e9,
        delay=seconds.copy(),
        capacity=cores,
        user=rng.integers(0, 3, count),
        demands=demands_of([Demand("all")] * count) if partitions else None,
    )


def scheduled(machine, jobs, name, clock):
    """The finished simulation of jobs under a policy."""
    actions = PolicyActions([policy_named(name)])
    return run_to_end(State(machine, jobs, log=False, needs=actions.needs), actions, clock)


def policies():
    """Schedules of every mode, pair, placement and clock."""
    for clock in CLOCKS:
        for cores in (3, 64, 100):
            pairs = [f"{job}-high_gflops" for job in JOB_POLICIES] + [
                f"sjf+easy-{placement}" for placement in PLACEMENTS
            ]
            for name in (*PLAIN, *USERS, *pairs):
                done = scheduled(pool(cores), world(12, cores), name, clock)
                yield f"{clock} {cores} {name} {done.simulation.tasks['start'].tolist()}"
        jobs = world(12, 60)
        rates = replace(
            jobs, ops=jobs.ops * 50, delay=jobs.delay * 0.0 - 1.0, bandwidth=jobs.size % 5 + 1.0, memory=jobs.size * 9.0
        )
        for name in (PLACED, f"sjf+easy-{PLACED}"):
            done = scheduled(platform_from("mixed-gpus"), rates, name, clock)
            cores = [done.state.cores_of(j).tolist() for j in range(12)]
            yield f"{clock} placed {name[:8]} {done.simulation.tasks['start'].tolist()} {cores}"
        for name in (*PLAIN, *USERS, SLURM, *WATCHED, "fcfs+slurm:0"):
            jobs = world(8, 2, partitions=True)
            done = scheduled(with_partitions(), jobs, name, clock)
            yield f"{clock} partitions {name} {done.simulation.tasks['start'].tolist()}"


def spaces():
    """What is seen and rewarded in the first steps of every space, alone and side by side."""
    for clock in CLOCKS:
        for name, space in (SPACES | PRESETS).items():
            jobs = world(12, 4)
            state = space.state(pool(4), jobs, log=False)
            play = Play(Simulator(state, jobs, clock), space.system(state))
            steps = Steps(play)
            going, seen = steps.begin(), []
            while going and len(seen) < 20:
                observed, reward, now, going = steps(int(np.flatnonzero(steps.mask)[len(seen) % 2 % steps.mask.sum()]))
                seen.append((f"~{observed.sum()}", reward, now))
            runs = Runs(space, pool(4), 2, clock)
            for place in range(2):
                runs.load(place, runs.put(place, jobs), len(jobs), 0.0, place, jobs.limits())
            runs.begin(np.arange(2))
            for _ in range(10):
                runs.step(runs.masks.argmax(axis=1))
                seen.append((f"~{runs.observations.sum()}", *runs.rewards.tolist(), *runs.now.tolist()))
            yield f"{clock} {name} {seen}"


def calls():
    """The end of an episode whose many instants all request a call at its end."""
    space = replace(PRESETS["CompactRM"], until=70.0)
    for clock in CLOCKS:
        jobs = replace(world(80, 1), submit=np.linspace(0.0, 40.0, 80))
        state = space.state(pool(80), jobs, log=False)
        steps = Steps(Play(Simulator(state, jobs, clock), space.system(state)))
        going, count = steps.begin(), 0
        while going:
            *_, now, going = steps(int(steps.mask.argmax()))
            count += 1
        yield f"{clock} until 70 s: {count} decisions, {now} s"


def environments():
    """What Gymnasium's environments show first, alone and side by side, whose episodes are drawn by seed."""
    for clock in CLOCKS:
        words = {"platform": 4, "workload": world(40, 4), "jobs": 20, "clock": clock}
        for name in ("PolicySelect", "SMDP"):
            alone = gymnasium.make(f"hdeeprm_like/{name}-v0", **words)
            beside = gymnasium.make_vec(f"hdeeprm_like/{name}-v0", num_envs=2, **words)
            seen = alone.reset(seed=3)[0], *beside.reset(seed=3)[0]
            beside.step(beside.action_space.sample() * 0)
            yield f"{name}, {clock}: {[f'~{one.sum()}' for one in seen]}"


if __name__ == "__main__":
    for line in (*policies(), *spaces(), *calls(), *environments()):
        sys.stdout.write(line + "\n")
    loaded = [name for name in ("numba", "llvmlite", "scipy") if sys.modules.get(name)]
    sys.stdout.write(f"loaded: {loaded}\n")
