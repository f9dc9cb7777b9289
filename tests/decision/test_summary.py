"""The summary that HDeepRM's agents see."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_clusters import cluster, jobs, started

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.observations.arrays import Sizes, ViewOptions
from hdeeprm_like.decision.observations.summary import begin_of_keys, quartile
from hdeeprm_like.decision.observations.view import OBSERVATIONS, View
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.numbers import REQUESTED, SHORTEST
from hdeeprm_like.engine.state import Instant, Needs, State

KINDS = ("normal", "small", "minimal")


def summary(state, kind="normal", sensitivity=0.05):
    """The observer of a run, which needs no slots."""
    return View(state, JobWindow(state), kind, ViewOptions(queue_sensitivity=sensitivity))


def test_the_kinds_have_the_sizes_of_the_thesis():
    platform = cluster()  # 1 node, 2 processors, 4 cores
    assert features(platform, "normal") == 1 + 2 + 3 * 4 + 5 * 4 + 1
    assert features(platform, "small") == 1 + 2 + 5 * 4 + 1
    assert features(platform, "minimal") == 5 * 4 + 1
    for kind in KINDS:
        assert len(feature_names(platform, kind)) == features(platform, kind)


def features(platform, kind):
    """How many columns an observation of a kind has."""
    return OBSERVATIONS[kind].shape(Sizes(platform, 0, ViewOptions()))[0]


def feature_names(platform, kind):
    return OBSERVATIONS[kind].names(Sizes(platform, 0, ViewOptions()))


def test_a_normal_observation_with_numbers_by_hand():
    # 24 GB/s per core oversubscribe a processor of 32 GB/s with two jobs on it: its cores run at 75 % of 4 GFLOP/s.
    # After 2 s the first job (40 Gflop by the estimate) has computed 6, the second (80) as well.
    workload = jobs([0.0, 0.0, 2.0], [10.0, 20.0, 40.0], size=[1, 1, 3], memory=8000.0, bandwidth=24.0)
    state = State(cluster(), workload)
    observe = summary(state, "normal", 0.5)
    state.receive(Instant(0.0, [], 2, False))
    seen = dict(zip(feature_names(state.platform, "normal"), observe(state), strict=True))
    assert seen["core 0 power"] == pytest.approx(0.05)
    assert seen["queue time median"] == pytest.approx(15 / 40)
    PolicyActions([("first", "low_power")]).apply(0, state)
    state.receive(Instant(2.0, [], 1, True))
    seen = dict(zip(feature_names(state.platform, "normal"), observe(state).tolist(), strict=True))
    assert seen["node 0 memory"] == pytest.approx(0.5)
    assert seen["processor 0 bandwidth"] == 0.0  # requested 48 of 32 GB/s
    assert seen["processor 1 bandwidth"] == 1.0
    assert seen["core 0 speed"] == pytest.approx(0.75)
    assert seen["core 0 power"] == pytest.approx(1.0)
    assert seen["core 0 left"] == pytest.approx(1 - 6 / 40)
    assert seen["core 1 left"] == pytest.approx(1 - 6 / 80)
    assert [seen[f"core 2 {what}"] for what in ("speed", "power", "left")] == pytest.approx([0.0, 0.05, 0.0])
    for statistic in ("minimum", "q1", "median", "q3", "maximum"):
        assert seen[f"queue time {statistic}"] == 1.0
    assert seen["queue variation"] == pytest.approx(0.0)  # 2 waited, 1 waits: -50 %, the sensitivity


@pytest.mark.parametrize(("now", "ran", "left"), [(4.0, 0.5, 0.6), (30.0, 4.0, 0.0)])
def test_the_share_to_compute_follows_the_estimate_of_10_s_and_not_the_truth(now, ran, left):
    state = State(cluster(), jobs([0.0, now], 10.0, ran=ran))
    state.receive(Instant(0.0, [], 1, False))
    PolicyActions([("first", "low_power")]).apply(0, state)
    state.receive(Instant(now, [], 1, True))
    seen = dict(zip(feature_names(state.platform, "normal"), summary(state)(state), strict=True))
    assert seen["core 0 left"] == pytest.approx(left)


def test_where_no_job_waits_no_times_and_requests_are_shown():
    state = State(cluster(), jobs([0.0], [5.0], memory=9.0, bandwidth=2.0))
    state.receive(Instant(0.0, [], 1, True))
    PolicyActions([("first", "low_power")]).apply(0, state)
    assert summary(state, "minimal")(state)[:20].tolist() == [0.0] * 20


def test_no_more_than_all_bandwidth_is_free_whatever_rounding_leaves():
    # 2 ** 60 + 3.7 is 2 ** 60: when these two have ended, -3.7 of the 32 GB/s are in use
    platform = cluster(((0, 4, 4.0, 80.0),))
    state = State(platform, jobs([0.0] * 3, [5.0, 5.0, 90.0], bandwidth=[2.0**60, 3.7, 0.0]))
    state.receive(Instant(0.0, [], 3, True))
    PolicyActions([("first", "low_power")]).apply(0, state)
    observe = summary(state, "small")
    state.receive(Instant(5.0, [0, 1], 0, True))
    assert state.tables.loads["used_bandwidth"] < 0.0
    assert dict(zip(feature_names(platform, "small"), observe(state), strict=True))["processor 0 bandwidth"] == 1.0


@pytest.mark.parametrize(
    ("before", "now", "sensitivity", "expected"),
    [(10, 10, 0.2, 0.5), (10, 11, 0.2, 0.75), (10, 12, 0.2, 1.0), (10, 15, 0.2, 1.0), (10, 11, 0.1, 1.0)],
)
def test_the_variation_of_the_queue_fills_the_scale_at_the_sensitivity(before, now, sensitivity, expected):
    state = State(cluster(), jobs([0.0] * before + [1.0] * (now - before), 5.0))
    observe = summary(state, "minimal", sensitivity)
    state.receive(Instant(0.0, [], before, False))
    assert observe(state)[-1] == 0.5  # nothing to compare with
    state.receive(Instant(1.0, [], now - before, True))
    assert observe(state)[-1] == pytest.approx(expected)


@given(st.lists(st.floats(0.0, 1e6), min_size=1, max_size=90), st.booleans())
def test_quartiles_are_those_of_numpy(values, searched):
    order = ((SHORTEST, REQUESTED),)
    needs = Needs(searched=order) if searched else Needs(order)
    state = State(cluster(), jobs([0.0] * len(values), values), needs=needs)
    state.receive(Instant(0.0, [], len(values), True))
    begin = begin_of_keys(state.tables, 0, SHORTEST)
    for quarter in range(5):
        seen = quartile(state.tables, 0, begin, quarter)
        assert seen == pytest.approx(np.percentile(values, 25 * quarter), rel=1e-12)


class Checked:
    """Observer that compares what is kept with what numpy finds in the whole queue."""

    def __init__(self, state, kind):
        self.inner = summary(state, kind, 0.1)
        self.shape = self.inner.shape

    def __call__(self, state):
        seen = self.inner(state)
        rows = state.tables.jobs[state.waiting]
        limits = state.limits
        columns = [
            (rows["requested_time"], limits.time),
            (rows["size"], limits.cores),
            (rows["memory"], limits.memory),
            (rows["bandwidth"], limits.bandwidth),
        ]
        expected = [np.percentile(column / limit, [0, 25, 50, 75, 100]) for column, limit in columns]
        np.testing.assert_allclose(seen[-21:-1], np.concatenate(expected), rtol=1e-6)
        assert seen.dtype == np.float32
        assert ((seen >= 0.0) & (seen <= 1.0)).all()
        if len(seen) > 24:
            self.check_cores(seen, state)
        return seen

    def check_cores(self, seen, state):
        t, platform = state.tables, state.platform
        left = seen[platform.nodes + platform.processors : -21].reshape(-1, 3)[:, 2]
        for core, job in enumerate(state.core_job):
            row = t.jobs[job]
            done = row["done"] + row["speed"] * (state.now - row["as_of"])
            assert left[core] == pytest.approx(0.0 if job < 0 else max(1 - done / row["requested_ops"], 0.0), abs=1e-6)


# many worlds, two seconds
@pytest.mark.more
@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.booleans())
def test_every_feature_stays_within_its_range_and_the_kept_columns_equal_the_queue(seed, kind, void):
    rng = np.random.default_rng(seed)
    count = 30
    workload = jobs(
        np.sort(rng.integers(0, 40, count)),
        rng.integers(1, 30, count),
        size=rng.integers(1, 5, count),
        memory=rng.integers(1, 12, count) * 1000.0,
        bandwidth=rng.integers(1, 24, count),
        ran=rng.uniform(0.1, 1.5, count),
    )
    play = started(
        lambda state: DecisionSystem(state, PolicyActions(void=void), Checked(state, kind)),
        workload=workload,
        seed=seed,
    )
    while play.advance():
        _, mask = play.observe()
        play.act(int(rng.choice(np.flatnonzero(mask))))
    assert play.simulator.unfinished == 0
