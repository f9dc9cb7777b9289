"""Windows of traces: in what order the jobs come, and what stands in for requested times that a trace lacks."""

import logging

import numpy as np
import pytest

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.formats.job_reading import Reading, jobs_of
from hdeeprm_like.formats.swf import FIELDS, read_swf
from hdeeprm_like.formats.swf_cuts import jobs_of_trace
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.formats.windows import window
from hdeeprm_like.jobs_in_files import jobs_in

PERFECT = "the run time replaces it, a perfect estimate"


@pytest.fixture
def trace(tmp_path):
    """Return what makes a trace out of jobs, each a dict of its fields."""

    def make(*jobs):
        known = {"processors": 1, "submit": 0}
        lines = [
            " ".join(str((known | {"job": number} | job).get(name, -1)) for name in FIELDS)
            for number, job in enumerate(jobs, start=1)
        ]
        path = tmp_path / "some.swf"
        path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
        return read_swf(path)

    return make


def read(trace):
    """Return the jobs of a trace for a pool."""
    return jobs_of(trace, Reading(memory=False))


def requested(trace):
    """Return the requested times that are taken, and what the account says about them."""
    found = read(trace)
    return found.requested_time.tolist(), [str(one) for one in found.account.entries.values()]


def test_jobs_of_one_time_are_in_the_order_of_the_file_or_of_their_numbers(trace):
    given = trace(
        {"job": 8, "submit": 5, "run": 80}, {"job": 3, "submit": 5, "run": 30}, {"job": 9, "submit": 1, "run": 90}
    )
    assert window(read(given), 4).workload.delay.tolist() == [90.0, 80.0, 30.0]
    assert window(read(given), 4, jobs_by="id").workload.delay.tolist() == [90.0, 30.0, 80.0]


def test_waiting_times_follow_the_jobs(trace):
    given = trace({"submit": 5, "run": 10, "wait": 7}, {"submit": 0, "run": 10, "wait": -1})
    assert window(read(given), 4).wait.tolist() == [-1.0, 7.0]


def walltimes(odd, short=60):
    """A hundred jobs that ask in field 6 for an hour or two, the first *odd* of them for less than they run."""
    return [{"run": 100 + i, "cpu_time": short if i < odd else 3600 * (1 + i % 2)} for i in range(100)]


RUNS = [100.0 + i for i in range(100)]
IN_6 = "requested times are in field 6 and not in field 9: "
FEW = IN_6 + "it holds 2 different times and is below the run time or unknown for %d of 100 jobs"
PERFECT_FIRST = f"without a requested time (field 9): {PERFECT} (the first in line"


@pytest.mark.parametrize(
    ("jobs", "wanted", "said"),
    [
        ([{"run": 10, "requested_time": 5, "cpu_time": 20}], [5], []),
        ([{"run": 10}, {"run": 20, "requested_time": 0}], [10, 20], [f"2 {PERFECT_FIRST} 2)"]),
        ([{"run": 10, "cpu_time": 15}, {"run": 20, "requested_time": 30}], [10, 30], [f"1 {PERFECT_FIRST} 2)"]),
        # nowhere below the run time, so a request; below it or missing, a CPU time
        (
            [{"run": 10, "cpu_time": 60}, {"run": 20, "cpu_time": 20}],
            [60, 20],
            [IN_6 + "it is nowhere below the run time"],
        ),
        ([{"run": 10, "cpu_time": 60}, {"run": 20, "cpu_time": 19}], [10, 20], [f"2 {PERFECT_FIRST} 2)"]),
        ([{"run": 10, "cpu_time": 60}, {"run": 20, "cpu_time": -1}], [10, 20], [f"2 {PERFECT_FIRST} 2)"]),
        # round, although some jobs outlive it; too many do; unknown for one
        (walltimes(odd=5), [60.0] * 5 + [7200.0, 3600.0] * 47 + [7200.0], [FEW % 5]),
        (walltimes(odd=6), RUNS, [f"100 {PERFECT_FIRST} 2)"]),
        (walltimes(odd=1, short=-1), [100.0] + [7200.0, 3600.0] * 49 + [7200.0], [FEW % 1, f"1 {PERFECT_FIRST} 2)"]),
        # not round
        (
            [{"run": 100 + i, "cpu_time": 200 + i % 6 if i else 60} for i in range(100)],
            RUNS,
            [f"100 {PERFECT_FIRST} 2)"],
        ),
    ],
)
def test_requested_times_are_in_field_9_else_in_field_6_else_the_run_times(trace, jobs, wanted, said):
    assert requested(trace(*jobs)) == (wanted, said)


def test_a_conversion_and_a_model_of_a_trace_read_the_same_requests(trace):
    given = trace(*walltimes(odd=5))
    assert jobs_of_trace(read(given)).requested_time[5:7].tolist() == [7200.0, 3600.0]
    workload = convert(given, Reading(), reference_flops=1e9, capacity=4, rng=np.random.default_rng(1))
    assert sorted(workload.requested_time.tolist()) == [60.0] * 5 + [3600.0] * 47 + [7200.0] * 48
    assert "field 6" in workload.account.line()


def test_a_run_on_a_pool_takes_the_same_requested_times(trace, caplog):
    path = trace({"run": 10, "cpu_time": 60}).path
    with caplog.at_level(logging.WARNING):
        assert jobs_in(path, pool(4)).workload.requested_time.tolist() == [60.0]
    assert "requested times are in field 6" in caplog.text
