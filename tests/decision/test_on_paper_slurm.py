"""When Slurm's main scheduler looks: dates worked out on paper, for jobs that all need one core."""

import pytest
from on_paper import in_all, of_users
from small import cluster, jobs, run_baseline

NO_OTHER_LOOKS = {"batch_sched_delay": 0.0, "sched_interval": 1000.0, "bf_interval": 1000.0}


def starts(submit, seconds, cores, parameters=(), **settings):
    """Start times of jobs under first come, first served, where backfill looks first after an hour."""
    settings |= {"SchedulerParameters": {**NO_OTHER_LOOKS, **dict(parameters)}, "backfill_phase": 3600.0}
    simulator = run_baseline(cluster(settings, cores), in_all(jobs(submit, seconds)), "fcfs+slurm:0")
    return simulator.simulation.tasks["start"].tolist()


@pytest.mark.parametrize(("gap", "expected"), [(0.0, [0, 1, 3, 40]), (20.0, [0, 20, 20, 40])])
def test_two_passes_are_as_far_apart_as_the_least_interval_says(gap, expected):
    # it looks each second if it is asked to; what comes at 1 and at 2.5 waits for the pass at 20, and the next is at 40
    found = starts([0, 1, 2.5, 40], 100.0, 4, {"sched_min_interval": gap * 1e6})
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(("most", "expected"), [(0, [0, 0, 0, 7, 9]), (1, [0, 7, 9, 100, 107]), (2, [0, 0, 7, 7, 9])])
def test_a_pass_starts_no_more_jobs_than_it_may(most, expected):
    # it looks when jobs come or end, and cores are free for all; 0 is no limit
    assert starts([0, 0, 0, 7, 9], 100.0, 8, {"sched_max_job_start": most}) == pytest.approx(expected)


@pytest.mark.parametrize(("more", "expected"), [({}, [0, 11, 16]), ({"Epilog": "/clean"}, [0, 10.5, 15.5])])
def test_the_end_of_an_epilog_asks_for_a_pass_at_once_and_another_end_for_one_at_the_next_second(more, expected):
    assert starts([0, 1, 1], [10.5, 5, 5], 1, **more) == pytest.approx(expected)


@pytest.mark.parametrize(("enforced", "expected"), [("", [0, 100, 350, 400]), ("limits", [0, 100, 400, 350])])
def test_what_a_job_used_before_its_end_counts_at_once_where_limits_are_enforced(enforced, expected):
    # 0 and 2 are of one user; priorities are computed each 300 s, when 0 has long ended
    settings = {"PriorityWeightFairshare": 1e5, "SchedulerParameters": {"bf_interval": 5.0}}
    workload = of_users(in_all(jobs([0, 1, 2, 3], [100, 250, 50, 50])), [0, 2, 0, 1])
    there = cluster(settings | {"AccountingStorageEnforce": enforced})
    assert run_baseline(there, workload, "multifactor+slurm").simulation.tasks["start"].tolist() == expected
