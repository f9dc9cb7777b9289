"""Parts of traces, windows, other loads, and traces of jobs that were never in one."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from small import jobs

from hdeeprm_like.cluster.synthetic.jobs import with_hdeeprm_columns
from hdeeprm_like.cluster.synthetic.lublin import LUBLIN
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_reading import Reading
from hdeeprm_like.formats.swf import FIELDS, Trace, read_swf, write_swf
from hdeeprm_like.formats.swf_cuts import (
    cut,
    disjoint_begins,
    scale_gaps,
    take,
    trace_of_jobs,
    trace_of_workload,
    windows,
)
from hdeeprm_like.formats.trace_jobs import convert

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lublin() -> Trace:
    return read_swf(ROOT / "workloads" / "lublin_256_500.swf.gz")


def test_a_cut_keeps_jobs_as_they_are(lublin):
    part = cut(lublin, first=3, skip=10)
    for name in FIELDS:
        assert getattr(part, name).tolist() == getattr(lublin, name)[10:13].tolist()


def test_a_cut_in_time_comes_before_skip_and_first(lublin):
    begin, end = float(lublin.submit[100]), float(lublin.submit[200])
    part = cut(lublin, first=5, skip=2, begin=begin, end=end)
    inside = np.flatnonzero((lublin.submit >= begin) & (lublin.submit < end))
    assert part.job.tolist() == lublin.job[inside[2:7]].tolist()
    assert len(cut(lublin, begin=begin, end=end)) == len(inside)


def test_the_header_counts_the_jobs_that_are_left(lublin):
    lines = cut(lublin, first=7).header
    assert "MaxJobs: 7" in lines
    assert "MaxRecords: 7" in lines
    assert [line for line in lines if not line.startswith(("MaxJobs", "MaxRecords"))] == [
        line for line in lublin.header if not line.startswith(("MaxJobs", "MaxRecords"))
    ]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"skip": 500}, "none of 500 jobs is left: 500 are in that time and of that size"),
        ({"begin": 1e12}, "none of 500 jobs is left: 0 are in that time and of that size"),
        ({"first": 0}, "first is at least 1"),
        ({"skip": -1}, "skip at least 0"),
    ],
)
def test_a_cut_without_jobs_is_refused(lublin, limits, message):
    with pytest.raises(WorkloadError, match=message):
        cut(lublin, **limits)


def test_half_the_gaps_are_twice_the_load(lublin):
    dense = scale_gaps(lublin, 0.5)
    assert dense.submit[0] == lublin.submit[0]
    assert np.diff(dense.submit) == pytest.approx(np.diff(lublin.submit) / 2)
    assert (dense.wait == -1).all()
    assert dense.header[-1].endswith("times 0.5")
    with pytest.raises(WorkloadError, match="load: a factor of -1"):
        scale_gaps(lublin, -1)
    with pytest.raises(WorkloadError, match=r"times 1e\+300 are beyond 2\^53 s"):
        scale_gaps(lublin, 1e300)
    with pytest.raises(WorkloadError, match=r"times 1e\+308 are beyond 2\^53 s"):  # warned of an overflow
        scale_gaps(lublin, 1e308)


def test_windows_are_consecutive_jobs_and_the_seed_draws_them(lublin):
    def drawn(seed):
        return [part.job.tolist() for part in windows(lublin, 50, 20, np.random.default_rng(seed))]

    places = lublin.job.tolist()
    for window in drawn(1):
        begin = places.index(window[0])
        assert window == places[begin : begin + 50]
    assert drawn(1) == drawn(1) != drawn(2)
    assert len(next(windows(lublin, 500, 1, np.random.default_rng(0)))) == 500
    with pytest.raises(WorkloadError, match="windows of 501 jobs do not fit into 500 jobs"):
        next(windows(lublin, 501, 1, np.random.default_rng(0)))


def test_the_jobs_of_a_model_survive_being_a_trace(tmp_path):
    made = with_hdeeprm_columns(LUBLIN["both"].draw(300, np.random.default_rng(0)), np.random.default_rng(0))
    made = replace(made, memory=made.memory + 1)
    write_swf(trace_of_jobs(made), tmp_path / "made.swf.gz")
    read = read_swf(tmp_path / "made.swf.gz")
    assert read.header[3] == "MaxProcs: 128"
    assert read.header[4].startswith("Note: made by hdeeprm-like with LublinTypes(batch=Lublin(nodes=128, serial=0.29")
    assert read.queue.tolist() == made.queue.tolist()
    rng = np.random.default_rng(0)
    back = convert(read, Reading(), reference_flops=1e9, capacity=128, rng=rng, runtimes="trace")
    there = made.workload(1e9)
    assert not back.account.left_out
    assert back.submit.tolist() == (there.submit - there.submit[0]).tolist()
    for name in ("ids", "size", "requested_time", "requested_ops", "ops", "memory"):
        assert np.array_equal(getattr(back, name), getattr(there, name)), name


def test_a_job_that_its_walltime_cuts_runs_that_long_in_the_trace():
    three = jobs(seconds=[100.0, 50.0, 20.0], walltime=[60.0, np.inf, 20.0], delay=[-1.0, -1.0, 30.0])
    assert trace_of_workload(three, 1e9, "hand").run.tolist() == [60.0, 50.0, 20.0]


def test_memory_that_no_job_requests_is_unknown():
    assert set(trace_of_jobs(LUBLIN["batch"].draw(10, np.random.default_rng(0))).requested_memory.tolist()) == {-1.0}


def test_windows_that_share_no_job_are_the_middles_of_equal_parts(lublin):
    ten = take(lublin, np.arange(10))
    assert disjoint_begins(ten, 3, 2) == [1, 6]  # of jobs 0 to 4 and 5 to 9
    assert disjoint_begins(ten, 3, 3) == [0, 3, 6]
    assert disjoint_begins(ten, 3, 60) == [0, 3, 6]  # there are no more
    assert disjoint_begins(ten, 4, 1) == [3]
    assert disjoint_begins(ten, 10, 5) == [0]
    with pytest.raises(WorkloadError, match="windows of 11 jobs do not fit into 10 jobs"):
        disjoint_begins(ten, 11, 1)


@pytest.mark.parametrize("jobs", [1, 7, 50, 99])
def test_no_number_of_disjoint_windows_makes_two_share_a_job(lublin, jobs):
    for count in range(1, 500 // jobs + 1):
        begins = disjoint_begins(lublin, jobs, count)
        assert len(begins) == count
        assert begins[0] >= 0
        assert begins[-1] + jobs <= 500
        assert all(second - first >= jobs for first, second in pairwise(begins))
