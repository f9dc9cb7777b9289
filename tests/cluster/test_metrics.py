import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.schedule import FIGURES, Schedule, figures
from hdeeprm_like.errors import WorkloadError


def floats(*values):
    return np.array(values, dtype=np.float64)


# Three jobs on 4 cores: submitted at 2, 2, 4; started at 2, 7, 12; finished at 7, 12, 22.
SUBMIT, START, FINISH, SIZE = floats(2, 2, 4), floats(2, 7, 12), floats(7, 12, 22), np.array([4, 2, 1])


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (metrics.wait(SUBMIT, START), [0.0, 5.0, 8.0]),
        (metrics.turnaround(SUBMIT, FINISH), [5.0, 10.0, 18.0]),
        (metrics.slowdown(floats(0, 5, 8), floats(5, 5, 10)), [1.0, 2.0, 1.8]),
        # a short job counts as ten seconds long, and no bounded slowdown is below one
        (metrics.bounded_slowdown(floats(99, 9, 0, 90), floats(1, 1, 1, 30)), [10.0, 1.0, 1.0, 4.0]),
        (metrics.bounded_slowdown(floats(50), floats(0)), [5.0]),
        # 90 s of waiting and 30 s of running on 1, 2 and 8 cores; a job of 1 s counts as 10 s long
        (
            metrics.per_processor_slowdown(floats(90, 90, 90, 99), floats(30, 30, 30, 1), np.array([1, 2, 8, 2])),
            [4.0, 2.0, 1.0, 5.0],
        ),
        (metrics.distribution(floats(*range(1, 21), 100)), [310 / 21, 11.0, 20.0, 100.0]),
        (metrics.throughput(SUBMIT, FINISH), 3 / 20),
        (metrics.makespan(FINISH), 22.0),  # from time 0 on
        (metrics.utilization(SUBMIT, START, FINISH, SIZE, cores=4), 40 / 80),  # 5 s x 4, 5 s x 2, 10 s x 1 of 20 s x 4
        (metrics.energy_delay_product(3.0, 4.0), 12.0),
        ([metrics.jain(floats(*values)) for values in ((3, 3, 3), (0, 0, 0, 7), (1, 3))], [1.0, 0.25, 16 / 20]),
        (metrics.jain(floats()), np.nan),
        (metrics.starving(floats(0, 100, 101), patience=100.0), 1),
        (metrics.starving(floats(2 * 86400, 2 * 86400 + 1)), 1),
        (metrics.load(START, FINISH, SIZE)[0], [2.0, 7.0, 12.0, 22.0]),
        (metrics.load(START, FINISH, SIZE)[1], [4, 2, 1, 0]),  # cores that one job takes over from another count once
        (metrics.by_user(floats(1, 5, 3, 7), np.array([42, 7, 42, 7])), [6.0, 2.0]),  # of user 7, of user 42
        (metrics.largest_over_mean(floats(6, 2)), 1.5),
        (metrics.largest_over_mean(floats()), np.nan),
    ],
)
def test_a_metric_by_hand(found, wanted):
    assert np.array(found).tolist() == pytest.approx(wanted, rel=1e-12, nan_ok=True)


def test_the_area_weighted_response_time_counts_a_job_by_the_core_seconds_it_held():
    # turnarounds of 5, 10 and 18 s; 4 * 5, 2 * 5 and 1 * 10 core s
    found = metrics.area_weighted_response_time(SUBMIT, FINISH, SIZE, FINISH - START)
    assert found == (20 * 5 + 10 * 10 + 10 * 18) / 40
    assert figures(Schedule(SUBMIT, START, FINISH, SIZE, 4))["area_weighted_response_time"] == found
    assert np.isnan(metrics.area_weighted_response_time(SUBMIT, START, SIZE, np.zeros(3)))
    assert np.isnan(metrics.area_weighted_response_time(*[np.zeros(0)] * 4))


def test_where_a_log_has_more_busy_cores_than_there_are_all_are_busy():
    # 3 and 2 cores from 0 to 10 s, on a machine of 4; then 2 cores until 20 s
    submit, start, finish, size = floats(0, 0), floats(0, 0), floats(10, 20), np.array([3, 2])
    with pytest.raises(WorkloadError, match="5 cores are busy at once"):
        metrics.utilization(submit, start, finish, size, 4)
    assert metrics.recorded_utilization(submit, start, finish, size, 4) == (4 * 10 + 2 * 10) / (4 * 20)
    assert figures(Schedule(submit, start, finish, size, 4, recorded=True))["utilization"] == 60 / 80
    simulated = SUBMIT, START, FINISH, SIZE, 4
    assert metrics.recorded_utilization(*simulated) == metrics.utilization(*simulated)
    assert np.isnan(metrics.recorded_utilization(*[np.zeros(0)] * 4, cores=4))


def test_steady_utilization_leaves_out_how_the_machine_fills_and_drains():
    # One core, a submission every 10 s: 0, 10, ..., 100; a tenth of them is before 10 s, nine tenths before 90 s. The
    # core is busy from 20 s to 50 s and from 80 s to 200 s; between 10 s and 90 s that is 30 s and 10 s of 80 s.
    submit = np.arange(0.0, 101.0, 10.0)
    start, finish = np.full(11, 300.0), np.full(11, 300.0)
    start[:2], finish[:2] = (20.0, 80.0), (50.0, 200.0)
    size = np.ones(11, np.int64)
    assert metrics.steady_utilization(submit, start, finish, size, cores=1) == pytest.approx(40 / 80)


def test_rlschedulers_utilization_ends_with_the_last_start_and_may_exceed_one():
    submit, start, run = floats(0, 0), floats(0, 10), floats(10, 90)
    found = metrics.utilization_to_last_start(submit, start, run, np.array([1, 2]), cores=2)
    assert found == (10 * 1 + 90 * 2) / (10 * 2)
    assert np.isnan(metrics.utilization_to_last_start(submit, submit, run, np.array([1, 2]), cores=2))
    assert np.isnan(metrics.utilization_to_last_start(*[np.zeros(0)] * 4, cores=2))


def test_queue_length_and_job_load_over_time():
    # the second job waits from 2 s to 7 s, the third from 4 s to 12 s; the first does not wait
    times, jobs = metrics.queue_length(SUBMIT, START)
    assert dict(zip(times.tolist(), jobs.tolist(), strict=True)) == {2.0: 1, 4.0: 2, 7.0: 1, 12.0: 0}
    times, load = metrics.job_load(SUBMIT, START, SIZE, floats(60, 30, 20))
    assert dict(zip(times.tolist(), load.tolist(), strict=True)) == {2.0: 60.0, 4.0: 80.0, 7.0: 20.0, 12.0: 0.0}
    # 60 core s for 2 s, 80 for 3 s, 20 for 5 s; of the 20 s until the last finish
    assert metrics.time_average(times, load, 22.0) == pytest.approx((120 + 240 + 100) / 20)
    assert np.isnan(metrics.time_average(times[:1], load[:1], 2.0))


def test_figures_of_no_jobs_are_not_a_number():
    none = floats()
    assert np.isnan([metrics.mean(none), metrics.largest(none), metrics.makespan(none)]).all()
    assert np.isnan(metrics.utilization(none, none, none, none.astype(int), cores=4))
    assert [len(part) for part in metrics.load(none, none, none.astype(int))] == [0, 0]


def test_all_figures_of_a_schedule_are_those_of_the_functions():
    schedule = Schedule(SUBMIT, START, FINISH, SIZE, 4, requested_time=floats(60, 30, 20), user=SIZE, energy=5.0)
    found = figures(schedule)
    assert list(found) == list(FIGURES)
    wanted = {
        **{"wait": 13 / 3, "wait_median": 5.0, "wait_p95": 7.7, "wait_max": 8.0, "slowdown_max": 2.0},
        **{"turnaround": 11.0, "utilization": 0.5, "throughput": 3600 * 3 / 20, "job_load_max": 80.0, "jobs_run": 3.0},
        **{"queue_length": 13 / 20, "energy": 5.0, "energy_delay_product": 110.0},  # the first by Little's law
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


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
