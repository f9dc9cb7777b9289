"""EASY's promise: with exact estimates the head of the queue starts no later than it was reserved for."""

import numpy as np
import pytest
from small import jobs, platform, step_baseline

from hdeeprm_like import simulate
from hdeeprm_like.decision.names import PLACEMENTS

CLOCKS = ("textbook", "batsim", "one-by-one")
MESSAGE = 1e-6  # s that messages between Batsim and the scheduler may take in all; all else is whole seconds
MODES = ("easy", "easyfcfs", "easysjf")
NAMES = [f"fcfs+{mode}-{placement}" for mode in MODES for placement in PLACEMENTS]


def first_fit_of(simulator, cluster, workload, j, moment, one_by_one):
    """When a job that is the head from *moment* on fits, by the ends of the jobs that run then.

    What comes at one moment is seen *one_by_one* or together; if one by one, others may have started before this job
    was the head.
    """
    tasks, state = simulator.simulation.tasks, simulator.state
    node_of = cluster.processor_node[cluster.core_processor]
    running = [
        i
        for i in range(len(workload))
        if tasks["start"][i] <= moment < tasks["finish"][i] and (tasks["start"][i] < moment or i < j or one_by_one)
    ]
    for end in sorted({moment, *(float(tasks["finish"][i]) for i in running)}):
        cores = np.bincount(node_of, minlength=cluster.nodes).astype(float)
        memory, gpus = cluster.node_memory.astype(float), cluster.node_gpus.astype(float)
        for i in running:
            if tasks["finish"][i] > end:
                held = np.bincount(node_of[state.cores_of(i)], minlength=cluster.nodes)
                cores -= held
                memory = memory - held * workload.memory[i]
                gpus = gpus - held * workload.gpus[i]
        room = cores
        for left, asked in ((memory, workload.memory[j]), (gpus, workload.gpus[j])):
            if asked > 0:
                room = np.minimum(room, np.floor(left / asked + 1e-9))
        if room.sum() >= workload.size[j]:
            return end
    return np.inf


def late_heads(simulator, cluster, workload, clock):
    """Jobs of a run under FCFS that started after what was reserved for them when they became the head."""
    start = simulator.simulation.tasks["start"]
    found = []
    for j in range(1, len(workload)):
        moment = max(workload.submit[j], start[:j].max())
        if start[j] > moment + MESSAGE:
            promised = first_fit_of(simulator, cluster, workload, j, moment, clock == "one-by-one")
            found += [j] if start[j] > promised + MESSAGE else []
    return found


def world(seed):
    rng = np.random.default_rng(seed)
    nodes, count = int(rng.integers(1, 4)), int(rng.integers(3, 14))
    described = [(float(rng.integers(4, 12)), [(int(rng.integers(1, 5)), 1.0, 100.0, 1e6)]) for _ in range(nodes)]
    cluster = platform(*described, gpus=rng.integers(0, 4, nodes).tolist())
    size = rng.integers(1, 1 + max(1, cluster.cores // 2), count)
    workload = jobs(
        submit=np.sort(rng.integers(0, 12, count)),
        seconds=rng.integers(1, 9, count).astype(float),
        size=size,
        memory=np.where(rng.random(count) < 0.4, rng.integers(1, 5, count), 0).astype(float),
        gpus=np.where(rng.random(count) < 0.4, rng.integers(1, 3, count), 0).tolist(),
    )
    return cluster, workload


def held(run, worlds, names, clocks=CLOCKS[:1]):
    waited = 0
    for number, seed in enumerate(worlds):
        cluster, workload = world(seed)
        name, clock = names[number // len(clocks) % len(names)], clocks[number % len(clocks)]
        simulator = run(cluster, workload, name, clock)
        keep = ~np.isnan(simulator.simulation.tasks["start"])
        if not keep.all():
            continue  # a job that no set of nodes could hold was rejected
        assert late_heads(simulator, cluster, workload, clock) == [], f"world {seed}, {name}, {clock}"
        waited += int((simulator.simulation.tasks["start"] > workload.submit).sum())
    return waited


def test_a_job_that_takes_the_gpus_node_does_not_delay_the_head():
    cluster = platform((1000.0, [(3, 1.0, 100.0, 1e6)]), (1000.0, [(1, 1.0, 100.0, 1e6)]), gpus=[2, 0])
    workload = jobs(submit=[0, 1, 2], seconds=[3.0, 7.0, 4.0], size=[2, 3, 1], gpus=[0, 1, 0])
    assert step_baseline(cluster, workload, "fcfs+easy").simulation.tasks["start"].tolist() == [0, 3, 3]


# takes 1 s
@pytest.mark.more
def test_no_head_starts_later_than_promised():
    assert held(step_baseline, range(150), ["fcfs+easy"], CLOCKS) > 100


CHUNKS, WORLDS = 10, 500  # with all placements, modes and clocks, which `make test-all` runs


# thousands of runs
@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_no_head_starts_later_than_promised_with_any_mode_placement_and_clock(chunk):
    assert held(step_baseline, range(chunk * WORLDS, (chunk + 1) * WORLDS), NAMES, CLOCKS) > 500


@pytest.mark.parametrize("clock", CLOCKS[1:])
def test_a_job_that_ends_at_this_very_moment_is_not_taken_to_run_on(clock):
    # at 9 jobs 0 and 1 end and 3 comes: if one of them were taken to run on, 3 could start for its second before 2
    four = platform((1000.0, [(4, 1.0, 100.0, 1e6)]))
    workload = jobs(submit=[0, 2, 3, 9], seconds=[9.0, 7.0, 5.0, 1.0], size=[2, 1, 4, 1])
    start = step_baseline(four, workload, "fcfs+easy", clock).simulation.tasks["start"]
    assert np.rint(start).tolist() == [0, 2, 9, 14]


def test_jobs_backfilled_in_one_instant_use_up_the_spare_cores_together():
    # of the four cores two are free at 0 s; at 100 s the head takes three, so that one is spare for longer jobs
    schedule = simulate(4, jobs([0, 1, 2, 2], [100, 10, 500, 500], [2, 3, 1, 1]), "fcfs+easy", clock="textbook")
    assert schedule.start.tolist() == [0.0, 100.0, 2.0, 110.0]
