"""Jobs that start when a trace says: predictions use what was known when they were submitted."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.tree_files import FEATURES
from hdeeprm_like.run.replay import replay

TIMES = ("requested", "actual", "tsafrir", "ewma", "expected")
FEATURE = {name: i for i, name in enumerate(FEATURES)}


def test_predictions_of_a_job_use_what_was_known_when_it_was_submitted():
    # user 0: job 0 runs from 0 to 10, job 1 waits until 10 and runs until 30; 2 comes at 30 and 3 at 31
    workload = jobs(submit=[0, 5, 30, 31], seconds=[10, 20, 8, 1], estimate=[100, 100, 100, 50], size=[2, 1, 1, 4])
    workload = replace(workload, user=np.array([0, 0, 0, 1]))
    told = replay(pool(4), workload, np.array([0.0, 10.0, 32.0, 31.0]), TIMES)
    requested, actual, tsafrir, ewma, _ = told.predicted.tolist()
    assert requested == [100, 100, 100, 50]
    assert actual == [10, 20, 8, 1]
    assert tsafrir == [100, 100, 15, 50]  # what ends at 30 is known at 30
    shares = [math.log(0.1), math.log(0.2)]
    assert ewma == pytest.approx([100, 100, 100 * math.exp(sum(shares) / 2), 50])
    first, second, third, fourth = told.features

    def of(row, *names):
        return [row[FEATURE[name]] for name in names]

    log2 = math.log(2)
    assert of(first, "user_running", "user_waiting", "user_ended") == pytest.approx([0, log2, 0])
    assert of(second, "user_running", "user_share", "sibling") == pytest.approx([log2, 0.5, math.log1p(5 / 60)])
    assert of(third, "log_last", "log_before_last", "class_ended") == pytest.approx([*shares[::-1], math.log(3)])
    assert of(third, "since_end", "user_running", "class_ratio") == pytest.approx([0, 0, sum(shares) / 2])
    assert np.isnan(of(fourth, "log_last", "log_before_last", "class_ratio", "since_end")).all()
    assert of(fourth, "log_all_cores", "log_cores") == pytest.approx([math.log(4), 0])


@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_jobs_that_end_later_change_no_prediction(seed):
    rng = np.random.default_rng(seed)
    count = 60
    seconds = rng.integers(1, 60, count).astype(np.float64)
    submit = np.sort(rng.integers(0, 200, count)).astype(np.float64)
    workload = jobs(submit=submit, seconds=seconds, estimate=rng.integers(1, 120, count), size=1, delay=seconds)
    workload = replace(workload, user=rng.integers(0, 4, count))
    start = submit + rng.integers(0, 30, count)
    moment = float(rng.integers(10, 200))
    later = replace(workload, delay=np.where(start + seconds > moment, moment - start + 500, seconds))
    told = [replay(pool(4), one, start, ("tsafrir", "ewma", "expected")) for one in (workload, later)]
    known = submit <= moment
    assert np.array_equal(told[0].predicted[:, known], told[1].predicted[:, known])
    assert np.array_equal(told[0].features[known], told[1].features[known], equal_nan=True)
