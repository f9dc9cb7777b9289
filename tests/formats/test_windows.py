"""Windows of traces: in what order the jobs come, and what stands in for requested times that a trace lacks."""

import logging

import numpy as np
import pytest

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.formats.requested_times import with_requested_times
from hdeeprm_like.formats.swf import FIELDS, read_swf
from hdeeprm_like.formats.swf_cuts import jobs_of_trace
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.formats.windows import usable, window
from hdeeprm_like.jobs_in_files import jobs_in


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


def requested(trace, caplog):
    """Return the requested times that are taken, and what is said about them."""
    found = with_requested_times(trace).requested_time.tolist()
    return found, [record.getMessage().partition(": ")[2] for record in caplog.records]


def test_jobs_of_one_time_are_in_the_order_of_the_file_or_of_their_numbers(trace):
    given = trace(
        {"job": 8, "submit": 5, "run": 80}, {"job": 3, "submit": 5, "run": 30}, {"job": 9, "submit": 1, "run": 90}
    )
    assert window(given, 4).workload.delay.tolist() == [90.0, 80.0, 30.0]
    assert window(given, 4, jobs_by="id").workload.delay.tolist() == [90.0, 30.0, 80.0]


def test_waiting_times_follow_the_jobs(trace):
    given = trace({"submit": 5, "run": 10, "wait": 7}, {"submit": 0, "run": 10, "wait": -1})
    assert window(given, 4).wait.tolist() == [-1.0, 7.0]


def test_requested_times_that_are_there_are_taken_silently(trace, caplog):
    given = trace({"run": 10, "requested_time": 5, "cpu_time": 20})
    assert requested(given, caplog) == ([5.0], [])


def test_run_times_stand_in_for_requested_times_and_one_line_says_so(trace, caplog):
    found, said = requested(trace({"run": 10}, {"run": 20, "requested_time": 0}), caplog)
    assert found == [10.0, 20.0]
    assert said == ["has no requested times (field 9); the run times replace them, which makes these estimates perfect"]


def test_some_missing_requested_times_are_counted(trace, caplog):
    found, said = requested(trace({"run": 10, "cpu_time": 15}, {"run": 20, "requested_time": 30}), caplog)
    assert found == [10.0, 30.0]
    assert len(said) == 1
    assert "(field 9) for 1 of 2 jobs; the run times replace them" in said[0]


def test_field_6_is_the_request_where_it_is_never_below_the_run_time(trace, caplog):
    found, said = requested(trace({"run": 10, "cpu_time": 60}, {"run": 20, "cpu_time": 20}), caplog)
    assert found == [60.0, 20.0]
    assert said == ["has no requested times (field 9); taken from field 6, which is nowhere below the run time"]


@pytest.mark.parametrize("cpu_time", [19, -1])
def test_field_6_is_a_cpu_time_where_one_is_below_the_run_time_or_missing(trace, caplog, cpu_time):
    found, said = requested(trace({"run": 10, "cpu_time": 60}, {"run": 20, "cpu_time": cpu_time}), caplog)
    assert found == [10.0, 20.0]
    assert "the run times replace them" in said[0]


def walltimes(trace, odd):
    """A hundred jobs that ask in field 6 for an hour or two, the first *odd* of them for less than they run."""
    return trace(*({"run": 100 + i, "cpu_time": 60 if i < odd else 3600 * (1 + i % 2)} for i in range(100)))


def test_field_6_is_the_request_where_it_is_round_although_some_jobs_outlive_it(trace, caplog):
    found, said = requested(walltimes(trace, odd=5), caplog)
    assert found == [60.0] * 5 + [7200.0, 3600.0] * 47 + [7200.0]
    assert said == [
        "has no requested times (field 9); taken from field 6, which holds 2 different times and is below the run "
        "time or unknown for 5 of 100 jobs"
    ]


def test_field_6_is_a_cpu_time_where_too_many_jobs_outlive_it_or_it_is_not_round(trace, caplog):
    found, _ = requested(walltimes(trace, odd=6), caplog)
    assert found == [100.0 + i for i in range(100)]
    jobs = [{"run": 100 + i, "cpu_time": 60 if i == 0 else 200 + i % 6} for i in range(100)]
    found, said = requested(trace(*jobs), caplog)
    assert found == [100.0 + i for i in range(100)]
    assert "the run times replace them" in said[-1]


def test_the_run_time_stands_in_for_a_request_that_neither_field_has(trace, caplog):
    given = trace(*({"run": 100 + i, "cpu_time": 3600 if i else -1} for i in range(100)))
    found, said = requested(given, caplog)
    assert found == [100.0] + [3600.0] * 99
    assert "unknown for 1 of 100 jobs" in said[0]


def test_who_converts_a_trace_or_draws_from_it_reads_the_same_requests(trace, caplog):
    given = walltimes(trace, odd=5)
    assert jobs_of_trace(given).requested_time[5:7].tolist() == [7200.0, 3600.0]
    workload, _ = convert(given, reference_flops=1e9, capacity=4, rng=np.random.default_rng(1), missing_memory=0.0)
    assert sorted(workload.requested_time.tolist()) == [60.0] * 5 + [3600.0] * 47 + [7200.0] * 48
    assert caplog.text.count("taken from field 6") == 2


def test_a_run_on_a_pool_takes_the_same_requested_times(trace, caplog):
    path = trace({"run": 10, "cpu_time": 60}).path
    with caplog.at_level(logging.WARNING):
        assert jobs_in(path, pool(4)).workload.requested_time.tolist() == [60.0]
    assert "taken from field 6" in caplog.text
    assert len(usable(read_swf(path))) == 1
