"""What users say: exact, with normal errors, in round values, by HDeepRM's histogram."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import jobs

from hdeeprm_like.cluster.synthetic.estimates import (
    ACCURACY,
    ACCURACY_STEPS,
    Accuracy,
    Exact,
    Gaussian,
    estimate_jobs,
    estimate_workload,
)
from hdeeprm_like.cluster.synthetic.lublin import WHOLE_LOG
from hdeeprm_like.cluster.synthetic.tsafrir import (
    HEAD,
    Tsafrir,
    distinct_estimates,
    number_of_values,
    popularity,
    shared_out,
)
from hdeeprm_like.errors import WorkloadError

runs = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=200).map(np.array)
seeds = st.integers(0, 2**32)


def rng(seed=0):
    return np.random.default_rng(seed)


@given(runs, seeds, st.floats(0, 5))
def test_one_sided_errors_stay_on_their_side(run, seed, nu):
    over = Gaussian(nu, "over")(run, rng(seed))
    under = Gaussian(nu, "under")(run, rng(seed))
    assert (over >= run).all()
    assert (under <= np.maximum(run, 1.0)).all()
    assert min(over.min(), under.min()) >= 1.0


@pytest.mark.parametrize("nu", [0.5, 2.0])
def test_the_error_is_normal_with_nu_run_times_of_deviation(nu):
    run = np.full(200_000, 1e6)
    error = Gaussian(nu, "over")(run, rng()) / 1e6 - 1
    assert error.mean() == pytest.approx(nu * np.sqrt(2 / np.pi), rel=0.01)
    both = Gaussian(0.1, "both")(run, rng()) / 1e6 - 1
    assert both.mean() == pytest.approx(0, abs=0.001)
    assert both.std() == pytest.approx(0.1, rel=0.01)


def test_without_error_estimates_are_exact_and_at_least_a_second():
    run = np.array([0.5, 1.0, 70.0])
    assert Gaussian(0.0)(run, rng()).tolist() == [1.0, 1.0, 70.0]
    assert Exact()(run, rng()).tolist() == run.tolist()


def test_accuracies_are_those_of_hdeeprm_s_histogram():
    run = np.full(200_000, 1e6)
    accuracy = run / Accuracy()(run, rng())
    shares = np.bincount(np.round(accuracy * 20).astype(int) - 1, minlength=25) / len(run)
    assert np.abs(shares - ACCURACY).max() < 0.005
    assert (accuracy > 1 + 1e-9).mean() == pytest.approx(ACCURACY[ACCURACY_STEPS > 1.01].sum(), abs=0.005)
    assert (Accuracy(overrun=False)(run, rng()) >= run).all()


@given(runs, seeds, st.floats(1, 3))
def test_modal_estimates_lie_between_run_time_and_maximum(run, seed, room):
    maximum = float(run.max() * room)
    estimates = Tsafrir(maximum)(run, rng(seed))
    assert (estimates >= run).all()
    assert estimates.max() <= maximum
    assert np.array_equal(estimates, Tsafrir(maximum)(run, rng(seed)))


def test_without_a_maximum_the_next_whole_hour_is_taken():
    assert Tsafrir()(np.array([7201.0]), rng()).tolist() == [10_800.0]
    assert Tsafrir()(np.array([5.0]), rng()).tolist() == [3600.0]
    assert Tsafrir()(np.array([]), rng()).tolist() == []
    # and where long estimates are too few the maximum stands in
    assert set(Tsafrir(7200.0)(np.full(1000, 7000.0), rng()).tolist()) == {7200.0}


def test_a_job_longer_than_the_maximum_is_named():
    with pytest.raises(WorkloadError, match="tsafrir: maximum: is 60 s; the longest job runs 61 s"):
        Tsafrir(60.0)(np.array([5.0, 61.0]), rng())


def test_twenty_values_carry_89_percent_and_the_maximum_is_the_most_popular():
    run = WHOLE_LOG.on(256).draw(10_000, rng()).run
    estimates = Tsafrir(64 * 3600.0)(run, rng(1))
    values, counts = np.unique(estimates, return_counts=True)
    order = np.argsort(-counts)
    assert len(values) == number_of_values(10_000) == 101
    assert counts[order[:HEAD]].sum() / 10_000 == pytest.approx(0.89, abs=0.002)
    assert counts[order[0]] / 10_000 == pytest.approx(0.2173, abs=0.001)
    assert values[order[0]] == 64 * 3600
    assert counts[order[1]] / 10_000 == pytest.approx(0.1031, abs=0.001)


def test_the_shares_are_those_of_the_paper():
    share = popularity(265)
    assert share.sum() == pytest.approx(1.0)
    assert share[:HEAD].sum() == pytest.approx(0.89)
    assert share[1] == pytest.approx((14.0491 * np.exp(-0.177531 * 2) + 0.462513) / 100)
    assert share[21] / share[42] == pytest.approx((22 / 43) ** -2.267)
    assert (np.diff(share) < 0).all()


@given(st.integers(1, 20_000), st.floats(1, 1e6), seeds)
def test_the_different_estimates_are_different_and_end_at_the_maximum(count, maximum, seed):
    values = distinct_estimates(count, maximum, rng(seed))
    assert len(set(values.tolist())) == len(values) <= max(number_of_values(count), 1)
    assert values[0] == values.max() == maximum
    assert values.min() > 0


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=30), st.integers(0, 1000))
def test_sharing_out_loses_no_job(weights, count):
    shares = np.array(weights) / sum(weights)
    counts = shared_out(shares, count)
    assert counts.sum() == count
    assert np.abs(counts - shares * count).max() < 1 + 1e-9


def test_estimates_of_a_model_s_jobs_leave_all_else_alone():
    drawn = WHOLE_LOG.draw(100, rng())
    told = estimate_jobs(drawn, Tsafrir(), rng())
    assert (told.requested_time >= drawn.run).all()
    assert np.array_equal(told.run, drawn.run)
    assert np.array_equal(told.submit, drawn.submit)


def test_estimates_of_a_workload_change_requests_and_nothing_else():
    workload = jobs(seconds=[10.0, 500.0, 30.0], estimate=[20.0, 500.0, 60.0], delay=[-1.0, -1.0, 45.0])
    exact = estimate_workload(workload, Exact(), rng())
    assert exact.requested_time.tolist() == [10.0, 500.0, 45.0]
    assert exact.requested_ops.tolist() == [10e9, 500e9, 45e9]
    for name in ("ids", "submit", "size", "ops", "delay", "memory", "bandwidth", "walltime"):
        assert np.array_equal(getattr(exact, name), getattr(workload, name))


@given(runs, seeds, st.floats(1e6, 1e13))
def test_no_job_of_a_workload_overruns_a_modal_estimate_by_rounding(run, seed, flops):
    workload = WHOLE_LOG.draw(len(run), rng(seed)).workload(flops)
    told = estimate_workload(replace(workload, ops=run * flops), Tsafrir(), rng(seed))
    assert (told.requested_ops >= told.ops).all()


def test_a_job_without_a_speed_is_named():
    workload = replace(jobs(seconds=[10.0, 20.0]), requested_time=np.array([10.0, 0.0]))
    with pytest.raises(WorkloadError, match="job w0!000001: has no requested time or no operations"):
        estimate_workload(workload, Exact(), rng())
