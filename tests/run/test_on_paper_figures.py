"""What environments side by side report of the jobs that have ended, on paper."""

import numpy as np
import pytest
from small import jobs

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.run.runs import Runs


def figures(workload):
    """Mean slowdown, bounded slowdown, wait, utilization, makespan, jobs and the time of a run on four cores."""
    runs = Runs(PRESETS["PolicySelect"], pool(4), 1, "textbook")
    runs.load(0, runs.put(0, workload), len(workload), 0.0, 0, workload.limits())
    runs.begin(np.arange(1))
    while not runs.ended[0]:
        runs.step(np.zeros(1, np.int64))
    return runs.figures[0].tolist()


def test_a_single_job_has_all_figures():
    # two of four cores for 10 s from 5 on
    assert figures(jobs(submit=[5.0], seconds=[10.0], size=[2])) == pytest.approx([1, 1, 0, 0.5, 15, 1, 15])


def test_a_short_job_that_waits_is_slowed_down_but_bounded_it_counts_as_one_of_ten_seconds():
    # all cores for 8 s from 0 and for 2 s from 8 on: wait 8 s, (8 + 2) / 2 and (8 + 2) / 10
    found = figures(jobs(submit=[0.0, 0.0], seconds=[8.0, 2.0], size=[4, 4]))
    assert found == pytest.approx([(1 + 5) / 2, 1, 4, 1, 10, 2, 10])
