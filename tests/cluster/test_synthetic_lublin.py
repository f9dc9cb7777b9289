"""The Lublin-Feitelson model: its parameters as published, its marginals those of the trace that is known of it."""

import sys
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from hdeeprm_like.cluster.synthetic.jobs import BATCH, INTERACTIVE
from hdeeprm_like.cluster.synthetic.lublin import (
    BATCH_JOBS,
    LUBLIN,
    WHOLE_LOG,
    Lublin,
    cycle_weights,
    draw_arrivals,
    draw_runs,
    draw_sizes,
)
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.swf import Trace, read_swf

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lublin_1() -> Trace:
    return read_swf(ROOT / "workloads" / "lublin_256.swf.gz")


def same_distribution(one, other):
    """Probability of a distance as large between two samples of one distribution (Kolmogorov-Smirnov, two-sided)."""
    return ks_2samp(one, other, method="asymp").pvalue


@pytest.mark.parametrize("seed", range(1, 4))
def test_lublin_2_is_a_run_of_both_types(seed):
    lublin_2 = read_swf(ROOT / "workloads" / "lublin_256_2.swf.gz")
    assert np.bincount(lublin_2.queue).tolist() == [8704, 1296]  # INTERACTIVE, BATCH
    both, whole = (LUBLIN[name].on(256).draw(10_000, np.random.default_rng(seed)) for name in ("both", "whole"))
    for drawn, far in ((both, False), (whole, True)):
        pairs = [(drawn.size, lublin_2.processors), (np.log(drawn.run), np.log(lublin_2.run))]
        pairs += [(np.diff(drawn.submit), np.diff(lublin_2.submit))]
        for one, other in pairs:
            assert (ks_2samp(one, other, method="asymp").statistic > 0.1) == far


@pytest.mark.parametrize("preset", ["whole", "batch", "both"])
def test_the_clock_of_the_published_program_falls_half_a_second_behind_with_each_job(preset):
    model = LUBLIN[preset].on(256)
    kept, drifted = (kind.draw(10_000, np.random.default_rng(5)) for kind in (model, model.drifting()))
    types = 2 if preset == "both" else 1  # each with a clock of its own
    behind = kept.submit[-1] - drifted.submit[-1]
    assert behind == pytest.approx(5000, rel=0.05) if types == 1 else 100 < behind < 5000
    assert (np.diff(drifted.submit) >= 0).all()
    assert np.array_equal(drifted.submit, np.floor(drifted.submit))


def test_arrivals_can_be_scaled_to_a_load():
    jobs = WHOLE_LOG.on(256).draw(2000, np.random.default_rng(1))
    for load in (0.5, 0.9, 1.3):
        scaled = jobs.at_load(load)
        area = (scaled.run * scaled.size).sum()
        assert area / (256 * (scaled.submit[-1] - scaled.submit[0])) == pytest.approx(load)
        assert scaled.submit[0] == jobs.submit[0]
        assert np.array_equal(scaled.run, jobs.run)
    with pytest.raises(WorkloadError, match="all jobs are submitted at one time"):
        LUBLIN["whole"].on(256).draw(1, np.random.default_rng(1)).at_load(0.9)


@pytest.mark.parametrize("seed", range(1, 6))
def test_sizes_run_times_and_gaps_are_distributed_as_in_lublin_1(lublin_1, seed):
    drawn = WHOLE_LOG.on(256).draw(10_000, np.random.default_rng(seed))
    assert same_distribution(drawn.size, lublin_1.processors) > 0.01
    assert same_distribution(np.log(drawn.run), np.log(lublin_1.run)) > 0.01
    assert same_distribution(np.diff(drawn.submit), np.diff(lublin_1.submit)) > 0.01


def test_the_stages_of_sizes_meet_where_they_do_in_lublin_1(lublin_1):
    meeting_lower = replace(WHOLE_LOG.on(256), size_medium=4.5)
    drawn = meeting_lower.draw(10_000, np.random.default_rng(1))
    assert same_distribution(drawn.size, lublin_1.processors) < 1e-6


def test_batch_is_the_default_and_has_the_published_parameters():
    assert next(iter(LUBLIN)) == "batch"
    assert Lublin() == LUBLIN["batch"] == BATCH_JOBS
    values = list(asdict(BATCH_JOBS).values())
    assert values == [
        *(128, 0.2927, 0.6686, 1.2, 5, 7, 0.875),
        *(6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986, 12),
        *(6.0415, 0.8531, 1.0519, 13, 6.1271, 5.274, BATCH, False),
    ]


@pytest.mark.parametrize("preset", ["batch", "interactive", "whole"])
def test_shares_of_serial_and_power_of_two_sizes_are_those_requested(preset):
    kind = LUBLIN[preset]
    size = draw_sizes(kind, 200_000, np.random.default_rng(0))
    others = size[size > 1]
    assert np.mean(size == 1) == pytest.approx(kind.serial, abs=0.005)
    assert np.mean(others & (others - 1) == 0) > kind.power_of_two / (1 - kind.serial) - 0.005
    assert size.max() <= 2**kind.size_high
    below = np.mean(np.log2(others) <= np.floor(kind.size_medium))
    assert below == pytest.approx(kind.size_first_stage, abs=0.15)


def test_large_jobs_run_long_more_often():
    kind = WHOLE_LOG.on(256)
    serial = draw_runs(kind, np.full(50_000, 1), np.random.default_rng(0))
    large = draw_runs(kind, np.full(50_000, 256), np.random.default_rng(0))
    assert np.mean(np.log(serial) < 7.5) == pytest.approx(0.7746, abs=0.04)
    assert np.mean(np.log(large) < 7.5) < 0.02
    assert np.exp(12) >= max(serial.max(), large.max())
    assert min(serial.min(), large.min()) >= 1


def test_the_daily_cycle_is_the_gamma_distribution_over_half_hours():
    weights = cycle_weights(BATCH_JOBS)
    assert weights.mean() == pytest.approx(1.0)
    at = np.arange(10.5, 58.5, 1e-4) + 5e-5
    density = at ** (6.1271 - 1) * np.exp(-at / 5.2740)
    share = density.reshape(48, -1).sum(axis=1)
    assert np.roll(weights, -10) == pytest.approx(share / share.mean(), rel=1e-6)
    assert np.argmax(weights) == round((6.1271 - 1) * 5.2740) - 1
    assert np.argmin(weights) in (9, 10)


def test_arrivals_follow_the_daily_cycle():
    kind = replace(BATCH_JOBS, gap_shape=4.0, gap_scale=1.0)
    submit = draw_arrivals(kind, 300_000, np.random.default_rng(0))
    assert (np.diff(submit) >= 0).all()
    whole_days = submit < submit[-1] // 86_400 * 86_400
    buckets = np.bincount((submit[whole_days] % 86_400 // 1800).astype(int), minlength=48)
    assert buckets / buckets.mean() == pytest.approx(cycle_weights(kind), abs=0.1)


def test_both_types_together_are_two_processes_of_arrivals():
    jobs = LUBLIN["both"].on(256).draw(10_000, np.random.default_rng(0))
    assert (np.diff(jobs.submit) >= 0).all()
    assert set(jobs.queue.tolist()) == {INTERACTIVE, BATCH}
    assert 0.75 < np.mean(jobs.queue == INTERACTIVE) < 0.95
    batch, interactive = jobs.run[jobs.queue == BATCH], jobs.run[jobs.queue == INTERACTIVE]
    assert np.median(batch) > 10 * np.median(interactive)


def test_the_same_seed_gives_the_same_jobs_and_another_gives_others():
    one, again, other = (BATCH_JOBS.draw(100, np.random.default_rng(seed)) for seed in (7, 7, 8))
    for name in ("submit", "run", "size"):
        assert np.array_equal(getattr(one, name), getattr(again, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


def test_on_its_own_machine_a_preset_stays_as_published():
    assert BATCH_JOBS.on(128) is BATCH_JOBS
    fitted = BATCH_JOBS.on(1024)
    assert (fitted.nodes, fitted.size_low, fitted.size_medium, fitted.size_high) == (1024, 1.2, 7.5, 10.0)


@given(st.sampled_from(sorted(LUBLIN)), st.integers(1, 5000), st.integers(1, 200), st.integers(0, 2**32))
def test_jobs_fit_any_machine(preset, nodes, count, seed):
    jobs = LUBLIN[preset].on(nodes).draw(count, np.random.default_rng(seed))
    assert len(jobs) == count
    assert jobs.capacity == nodes
    assert 1 <= jobs.size.min() <= jobs.size.max() <= nodes
    assert (np.diff(jobs.submit) >= 0).all()
    assert jobs.submit[0] >= 0
    assert (jobs.run >= 1).all()
    assert np.array_equal(jobs.requested_time, jobs.run)


def test_the_jobs_become_a_workload_in_the_order_of_batsim():
    workload = BATCH_JOBS.draw(500, np.random.default_rng(0)).workload(2e9)
    keys = list(zip(workload.submit, (name.encode() for name in workload.ids), strict=True))
    assert keys == sorted(keys)
    assert workload.capacity == 128
    assert np.array_equal(workload.ops, workload.requested_time * 2e9)


@pytest.mark.bench
def test_the_time_of_ten_thousand_jobs():
    begin = time.perf_counter()
    WHOLE_LOG.on(256).draw(10_000, np.random.default_rng(0))
    sys.stdout.write(f"\n10,000 Lublin jobs: {1000 * (time.perf_counter() - begin):.1f} ms\n")
