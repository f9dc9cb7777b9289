import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.cluster import metrics
from hdeeprm_like.errors import WorkloadError


def floats(*values):
    return np.array(values, dtype=np.float64)


# Three jobs on 4 cores: submitted at 2, 2, 4; started at 2, 7, 12; finished at 7, 12, 22.
SUBMIT, START, FINISH, SIZE = floats(2, 2, 4), floats(2, 7, 12), floats(7, 12, 22), np.array([4, 2, 1])


def test_waiting_is_from_submission_to_start():
    assert metrics.wait(SUBMIT, START).tolist() == [0.0, 5.0, 8.0]


def test_turnaround_is_from_submission_to_finish():
    assert metrics.turnaround(SUBMIT, FINISH).tolist() == [5.0, 10.0, 18.0]


def test_slowdown_is_turnaround_over_run_time():
    assert metrics.slowdown(floats(0, 5, 8), floats(5, 5, 10)).tolist() == [1.0, 2.0, 1.8]


def test_bounded_slowdown_counts_a_short_job_as_ten_seconds_long_and_is_never_below_one():
    wait, run = floats(99, 9, 0, 90), floats(1, 1, 1, 30)
    assert metrics.bounded_slowdown(wait, run).tolist() == [10.0, 1.0, 1.0, 4.0]


def test_bounded_slowdown_of_a_job_without_run_time_is_finite():
    assert metrics.bounded_slowdown(floats(50), floats(0)).tolist() == [5.0]


def test_makespan_counts_from_time_zero_and_not_from_the_first_submission():
    assert metrics.makespan(FINISH) == 22.0


def test_utilization_counts_from_the_first_submission_to_the_last_finish():
    # (5 s x 4 + 5 s x 2 + 10 s x 1) of 20 s x 4 cores
    assert metrics.utilization(SUBMIT, START, FINISH, SIZE, cores=4) == pytest.approx(40 / 80)


def test_energy_delay_product_is_in_joule_seconds():
    assert metrics.energy_delay_product(3.0, 4.0) == 12.0


def test_figures_of_no_jobs_are_not_a_number():
    none = floats()
    assert np.isnan([metrics.mean(none), metrics.largest(none), metrics.makespan(none)]).all()
    assert np.isnan(metrics.utilization(none, none, none, none.astype(int), cores=4))
    assert [len(part) for part in metrics.load(none, none, none.astype(int))] == [0, 0]


def test_load_does_not_count_cores_twice_when_one_job_takes_them_over_from_another():
    times, busy = metrics.load(START, FINISH, SIZE)
    assert times.tolist() == [2.0, 7.0, 12.0, 22.0]
    assert busy.tolist() == [4, 2, 1, 0]


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e6), st.integers(1, 500)), max_size=30))
def test_the_integral_of_the_load_is_the_sum_of_the_core_seconds(jobs):
    begin, length, amount = (np.array([job[k] for job in jobs], dtype=float) for k in range(3))
    times, held = metrics.load(begin, begin + length, amount.astype(int))
    assert np.sum(np.diff(times) * held[:-1]) == pytest.approx(
        np.sum((begin + length - begin) * amount), rel=1e-6, abs=1e-3
    )
    assert (held >= 0).all()
    assert not len(held) or held[-1] == 0


@pytest.mark.parametrize(
    ("impossible", "message"),
    [
        (lambda: metrics.wait(floats(0, 5), floats(0, 4)), "row 1 starts before it is submitted: 4 s, 5 s"),
        (lambda: metrics.turnaround(floats(5), floats(4)), "finishes before"),
        (lambda: metrics.slowdown(floats(-1), floats(1)), "waits less than no time"),
        (lambda: metrics.slowdown(floats(1), floats(0)), "no run time"),
        (lambda: metrics.slowdown(floats(np.nan), floats(1)), "waits less"),
        (lambda: metrics.bounded_slowdown(floats(1), floats(-1)), "runs less than no time"),
        (lambda: metrics.bounded_slowdown(floats(1), floats(1), threshold=0.0), "must be positive"),
        (lambda: metrics.makespan(floats(-1)), "before time 0"),
        (
            lambda: metrics.utilization(SUBMIT, START, FINISH, SIZE, cores=3),
            "4 cores are busy at once; the machine has 3",
        ),
        (lambda: metrics.utilization(SUBMIT, START, START - 1, SIZE, cores=4), "finishes before it starts"),
        (lambda: metrics.energy_delay_product(-1.0, 1.0), "negative"),
    ],
)
def test_impossible_input_is_refused_in_words(impossible, message):
    with pytest.raises(WorkloadError, match=message):
        impossible()
