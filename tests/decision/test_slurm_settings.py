"""What each setting of a Slurm means for the simulated one, and what holds where it is not set."""

import numpy as np
import pytest
from small import cluster, jobs

from hdeeprm_like.decision.policies.node_rows import SLURM
from hdeeprm_like.decision.policies.slurm_settings import fixed_priorities, write_settings
from hdeeprm_like.engine.state import State

DAY = 86400.0
DEFAULTS = {  # of slurm.conf(5); what the platform of a simulated Slurm adds is 0
    **{"interval": 30, "window": 1440 * 60, "resolution": 60, "most": 500, "most_of_user": 0, "delay": 3, "full": 60},
    **{"next_full": 0, "main_phase": 0, "next_backfill": 0, "linear": 0, "wider": 0, "depth": 100},
    **{"age": 0, "max_age": 7 * DAY, "fair": 0, "limits": 0, "half_life": 7 * DAY, "period": 300, "next_period": 300},
    **{"as_of": 0, "tick": 1, "linger": 0, "wait": 0, "at_once": 0, "gap": 2e-6, "most_starts": 0, "most_filled": 0},
}


def written(settings):
    """What is not 0 of a row with some settings."""
    params = np.zeros(1, SLURM)
    write_settings(params, settings)
    return {name: params[name][0] for name in SLURM.names if params[name][0] != 0}


def test_what_is_not_set_is_as_slurm_says():
    assert written({}) == {name: value for name, value in DEFAULTS.items() if value}


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ({"SchedulerParameters": {"bf_interval": 7}}, {"interval": 7}),
        ({"SchedulerParameters": {"bf_interval": 0}}, {"interval": 1}),
        ({"SchedulerParameters": {"bf_window": 5}}, {"window": 300}),
        ({"SchedulerParameters": {"bf_resolution": 0}}, {"resolution": 1}),
        ({"SchedulerParameters": {"bf_max_job_test": 9, "bf_max_job_user": 3}}, {"most": 9, "most_of_user": 3}),
        ({"SchedulerParameters": {"bf_max_job_start": 4}}, {"most_filled": 4}),
        ({"SchedulerParameters": {"sched_max_job_start": 5}}, {"most_starts": 5}),
        ({"SchedulerParameters": {"bf_window_linear": 8}}, {"wider": 8}),
        ({"SchedulerParameters": {"batch_sched_delay": 0, "sched_interval": 0}}, {"delay": 0, "full": 1}),
        ({"SchedulerParameters": {"default_queue_depth": 20}}, {"depth": 20}),
        ({"SchedulerParameters": {"sched_min_interval": 4e6}}, {"gap": 4}),
        ({"SchedulerParameters": {"sched_min_interval": -1}}, {"gap": 0}),
        ({"first_full": 11.5, "main_phase": 0.25, "backfill_phase": 8.5},
         {"next_full": 11.5, "main_phase": 0.25, "next_backfill": 8.5}),
        ({"SelectType": "select/linear"}, {"linear": 1}),
        ({"PriorityWeightAge": 10, "PriorityMaxAge": 0}, {"age": 10, "max_age": 1}),
        ({"PriorityWeightFairshare": 20}, {"fair": 20}),
        ({"AccountingStorageEnforce": "associations,qos"}, {}),
        ({"AccountingStorageEnforce": "associations,limits"}, {"limits": 1}),
        ({"AccountingStorageEnforce": "safe"}, {"limits": 1}),
        ({"AccountingStorageEnforce": "ALL"}, {"limits": 1}),
        ({"PriorityDecayHalfLife": 0}, {"half_life": np.inf}),
        ({"PriorityDecayHalfLife": 60}, {"half_life": 60}),
        ({"PriorityCalcPeriod": 60}, {"period": 60, "next_period": 60}),
        ({"PriorityCalcPeriod": 0, "first_calc": 20}, {"period": 1, "next_period": 20, "as_of": 19}),
        ({"tick": 1.004, "end_latency": -1}, {"tick": 1.004}),
        ({"end_latency": 0.5, "CompleteWait": 8}, {"linger": 0.5, "wait": 8}),
        ({"Epilog": "/clean"}, {"at_once": 1}),
        ({"Epilog": "/clean", "SchedulerParameters": {"defer_batch": True}}, {}),
    ],
)  # fmt: skip
def test_a_setting_changes_this_and_nothing_else(settings, changed):
    expected = DEFAULTS | changed
    assert written(settings) == pytest.approx({name: value for name, value in expected.items() if value})


# of two jobs, of one core and of three, on a node of four
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [0, 0]),
        ({"PriorityWeightJobSize": 80}, [80 * (1 + 0.25) / 2, 80 * (1 + 0.75) / 2]),
        ({"PriorityWeightJobSize": 80, "PriorityFavorSmall": "YES"}, [80 * 0.75 / 2, 80 * 0.25 / 2]),
        ({"PriorityWeightPartition": 7}, [7, 7]),
        ({"PriorityWeightTRES": {"cpu": 8, "mem": 10}}, [2 + 10 * 0.1, 6 + 10 * 0.3]),
    ],
)
def test_the_constant_part_of_a_priority_is_weight_times_share(settings, expected):
    platform, workload = cluster(settings, 4), jobs(size=[1, 3], memory=100.0)
    sets = State(platform, workload).tables.node_sets
    assert fixed_priorities(platform, workload, sets, settings) == pytest.approx(expected)
