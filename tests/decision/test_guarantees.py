"""Guaranteed starts, the mode `bounded`: no job starts later than it was promised as it came, whatever the order wants.

The theorem of `docs/notebook/bounded.md` is played in small worlds of every kind: cores, memory, GPUs, nodes that take
jobs whole, a power cap, partitions; with exact requests and with requests that are upper bounds, on each clock.
"""

import json

import numpy as np
import pytest
from on_paper import cores
from small import Stepper, jobs
from small_worlds import CLOCKS, CONSTRAINTS, PARTITIONED, SLOW, built, draw

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.bundles import bundle_in
from hdeeprm_like.engine.state import State

H = 3600.0
MESSAGE = 1e-3  # s that Batsim's messages may take in all


def played(cluster, workload, names, clock="textbook", whole=False, choose=lambda instant: 0):
    """Starts of jobs, and what the first of some policies has promised them."""
    actions = PolicyActions([baseline(name) for name in names])
    state = State(cluster, workload, needs=actions.needs, whole=whole, log=False)
    simulator = Stepper(state, workload, clock)
    while (instant := simulator.next_instant()) is not None:
        state.receive(instant)
        actions.apply(choose(instant), state)
        simulator.apply(state.drain())
    rows = state.tables.jobs[: len(workload)]
    if not actions.baselines[0].mode.bound:
        return rows["start"].copy(), None
    return rows["start"].copy(), bundle_in(actions._plans[1].guarantees, 0).jobs["promised"][: len(workload)]


@pytest.mark.parametrize(
    ("mode", "last", "promise", "expected"),
    [
        ("bounded", 10, 27, [0, 20, 0, 10, 30]),  # 4 would be in the way of 1; at 20, when 3 ends, 1 starts
        ("bounded", 8, 27, [0, 27, 0, 10, 19]),  # what ends before a reservation begins is not in its way
        ("bounded:2", 10, 42, [0, 29, 0, 10, 19]),  # twice the time that all work takes, and half a day
        ("greedy", 10, None, [0, 29, 0, 10, 19]),
    ],
)
def test_a_job_that_the_order_would_starve_starts_by_its_guarantee(mode, last, promise, expected):
    # two cores; 1 needs both, and lcfs serves whatever comes later first. All the work takes 15 h as 1 comes, so it is
    # promised hour 27. At hour 19 comes 4, for *last* h
    workload = jobs([0, 0, 0, 9 * H, 19 * H], [10 * H] * 4 + [last * H], [1, 2, 1, 1, 1])
    starts, promised = played(cores(2), workload, [f"lcfs+{mode}"], "one-by-one")
    assert promise is None or promised[1] == promise * H
    assert (starts / H).tolist() == expected


def test_a_job_is_due_the_sooner_the_less_others_have_used_of_their_requests():
    # 0 has used a tenth of its request when 2 comes, which needs both cores: it is promised ten times 31 h, but due as
    # soon as 1 is, which came before, after 15 h of work and half a day. At hour 28 comes 4, which would delay it
    seconds = [1 * H, 20 * H, 10 * H, 30 * H, 30 * H]
    workload = jobs(
        [0, 0, 2 * H, 12 * H, 28 * H], seconds, [1, 1, 2, 1, 1], estimate=[10 * H, *seconds[1:]], delay=seconds
    )
    starts, promised = played(cores(2), workload, ["lcfs+bounded"], "one-by-one")
    assert promised[2] == (2 + (19 + 12) / 0.1) * H
    assert starts.tolist() == [0, 0, 42 * H, 12 * H, 52 * H]


def test_due_jobs_go_first_also_behind_one_that_does_not_fit_yet():
    # three cores, of which 1 has two until hour 42; 0 has used a tenth of its request, so 3 and 4 are due as 2 ends at
    # hour 32. 3 needs all cores; 4 has the free one before 5, which lcfs prefers and is not due
    seconds = [1 * H, 40 * H, 30 * H, 5 * H, 5 * H, 5 * H]
    submit, asked = [0, 2 * H, 2 * H, 3 * H, 4 * H, 30 * H], [10 * H, *seconds[1:]]
    workload = jobs(submit, seconds, [1, 2, 1, 3, 1, 1], estimate=asked, delay=seconds)
    starts, _ = played(cores(3), workload, ["lcfs+bounded"], "one-by-one")
    assert starts.tolist() == [0, 2 * H, 2 * H, 42 * H, 32 * H, 37 * H]


def test_a_reservation_is_kept_also_where_nothing_else_happens_at_its_time(tmp_path):
    # of 8 cores 2 run for 100 h, and 2 are kept for short jobs such as came before, so the last one waits for its 6
    keep = {"queue": {"one": 1.0}, "keep": {"deviations": 0, "bins": 1, "most": 0.5}}
    (tmp_path / "keep.json").write_text(json.dumps(keep))
    workload = jobs([*range(0, 600, 10), 600, 601], [10] * 60 + [100 * H, 1000], [2] * 61 + [6])
    name = f"scored:{tmp_path / 'keep.json'}"
    starts, promised = played(cores(8), workload, [f"{name}+bounded"], "one-by-one")
    assert 12 * H < starts[-1] == promised[-1] < 100 * H
    assert played(cores(8), workload, [name], "one-by-one")[0][-1] == 600 + 100 * H


def test_a_job_that_outruns_its_request_moves_reservations_but_no_job_waits_for_ever():
    workload = jobs(
        submit=[0, 0, 0, 1, 2], seconds=[90 * H, 1 * H, 5 * H, 1 * H, 1 * H], estimate=[1 * H] * 5, size=[2, 1, 2, 1, 1]
    )
    starts, _ = played(cores(2), workload, ["lcfs+bounded:0.1"])
    assert starts.min() >= 0.0
    assert starts[2] < 93 * H


def test_what_another_policy_has_started_counts_in_a_guarantee():
    # the other policy starts 0 on both cores; at hour 1 it has 9 h to run, and 1 needs both for an hour: 10 h and 12 h
    workload = jobs([0, H], [10 * H, H], 2)
    names = ["lcfs+bounded", "lcfs+greedy"]
    starts, promised = played(cores(2), workload, names, choose=lambda instant: int(instant.now == 0.0))
    assert promised[1] == 23 * H
    assert starts.tolist() == [0, 10 * H]


@pytest.mark.parametrize("seed", range(20))
def test_what_other_policies_start_breaks_no_plan_beyond_repair(seed):
    world = bounded_world(seed, ("cores", "memory", "whole")[seed % 3], "textbook", "saf+bounded:0.5")
    rng = np.random.default_rng(seed)
    cluster, workload = built(world)
    names = [world.name, "lcfs+greedy", "ljf+bounded"]
    starts, promised = played(cluster, workload, names, whole=world.whole, choose=lambda instant: rng.integers(3))
    rejected = np.isnan(starts)
    assert np.isnan(promised[rejected]).all()


def bounded_world(seed, constraint, clock, name):
    """A world whose jobs run no longer than requested: they share no bandwidth, and no core is slower than another."""
    world, rng = draw("easy", clock, constraint, seed), np.random.default_rng(seed)
    exact = rng.random() < 0.3
    rows = [
        (row[0] * SLOW, row[1] * SLOW, (row[1] if exact else max(row[1], row[2])) * SLOW, *row[3:5], 0.0, *row[6:])
        for row in world.jobs
    ]
    return world._replace(name=name, jobs=tuple(rows))


def held(constraint, seeds, orders=("saf", "sjf", "ljf", "lcfs", "laf", "fcfs", "xfactor", "f1", "wfp3")):
    """Play worlds; no job may start after what it was promised. Return how many had to wait."""
    waited = 0
    for seed in seeds:
        name = f"{orders[seed % len(orders)]}+bounded:{('0.1', '1', '0.5')[seed // 7 % 3]}"
        world = bounded_world(seed, constraint, CLOCKS[seed % 3], name)
        cluster, workload = built(world)
        starts, promised = played(cluster, workload, [name], world.clock, world.whole)
        late = ~(starts <= promised + MESSAGE) & ~np.isnan(promised)
        assert not late.any(), (world, starts, promised)
        assert (np.isnan(starts) == np.isnan(promised)).all()
        waited += int((starts > workload.submit + 1.0).sum())
    return waited


@pytest.mark.parametrize("constraint", [*CONSTRAINTS, *PARTITIONED])
def test_no_job_starts_after_its_guarantee(constraint):
    assert held(constraint, range(60)) > 20


def test_nor_does_one_of_a_learned_policy():
    assert held("cores", range(30), ("zoo:balanced", "zoo:slowdown")) > 10
    assert held("all", range(30), ("zoo:balanced", "zoo:slowdown")) > 10


@pytest.mark.parametrize(
    ("name", "bound"),
    [("saf+easy", 0), ("zoo:balanced", 0), ("zoo:balanced+bounded:3", 3), ("zoo:steady", 1.1), ("zoo:steady+slurm", 0)],
)
def test_names_and_files_say_what_is_guaranteed(name, bound):
    assert baseline(name).mode.bound == bound
    assert baseline("zoo:balanced+bounded").mode.name == baseline("zoo:steady").mode.name == "scored"


def test_the_longest_backlog_of_the_past_counts_on():
    # one job fills both cores for 100 h; as the next two come 200 h later nothing else waits or runs: the second may
    # wait for 100 h less what 200 h of 90 days have taken from them, and for half a day
    workload = jobs(submit=[0, 300 * H, 300 * H], seconds=[100 * H, H, H], size=[2, 2, 2])
    _, promised = played(cores(2), workload, ["lcfs+bounded"], "textbook")
    longest = 100 * np.exp(-300 / (90 * 24)) + 12
    assert promised[1] == pytest.approx((300 + longest) * H)
