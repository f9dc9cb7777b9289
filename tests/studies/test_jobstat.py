"""Statistics over the requests of jobs: the figures of the thesis come out of the shipped trace."""

from pathlib import Path

import numpy as np
import pytest
import small
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.job_reading import Reading
from hdeeprm_like.formats.job_rules import HDEEPRM
from hdeeprm_like.formats.swf import Trace, read_swf
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.studies.jobstat import FIELDS, TABLE, job_table, jobstat

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gaia() -> Trace:
    return read_swf(ROOT / "workloads" / "gaia.swf.gz")


def jobs(*sizes: float) -> Workload:
    return small.jobs(seconds=[60.0] * len(sizes), size=list(sizes))


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [
        ("count", 4),
        ("min", 1),
        ("max", 6),
        ("mean", 3),
        ("median", 2.5),
        ("std", 3.5**0.5),
        ("sum", 12),
        ("p0", 1),
        ("p50", 2.5),
        ("p95", 5.55),
        ("p99.9", 5.991),
        ("p100", 6),
    ],
)
def test_a_statistic_of_four_jobs_by_hand(statistic, expected):
    assert jobstat(jobs(3, 1, 2, 6), "size", statistic) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("field", "statistic", "expected"),
    [("size", "p95", 36), ("size", "median", 6), ("mem", "median", 11), ("mem", "max", 9588)],
)
def test_the_first_1000_jobs_of_gaia_give_the_figures_of_the_thesis(gaia, field, statistic, expected):
    options = {"reference_flops": 1e9, "capacity": 2280, "rng": np.random.default_rng(0)}
    first = convert(gaia, Reading(rules=HDEEPRM), skip=4, first=1000, **options)
    assert jobstat(first, field, statistic) == expected
    assert jobstat(first, "mem", "p95") < 2000  # "95% of the jobs request 2 or less GB"


@pytest.mark.parametrize(("statistic", "expected"), [("p95", 829), ("median", 72), ("max", 38_558)])
def test_all_jobs_of_gaia_give_the_figures_of_the_thesis(gaia, statistic, expected):
    assert jobstat(gaia, "mem", statistic) == expected


def test_a_trace_and_the_workload_made_of_it_agree(gaia):
    options = {"reference_flops": 1e9, "capacity": 2280, "rng": np.random.default_rng(0)}
    workload = convert(gaia, Reading(), **options)
    for field in ("req_time", "size", "submit"):
        assert jobstat(gaia, field, "mean") == jobstat(workload, field, "mean")
    assert jobstat(gaia, "mem_bw", "mean", seed=0) == jobstat(workload, "mem_bw", "mean")


def test_what_a_trace_does_not_tell_is_refused_in_one_line(gaia):
    with pytest.raises(WorkloadError, match=r"gaia\.swf\.gz: the trace has no 'mem_bw'; give a seed to draw it$"):
        jobstat(gaia, "mem_bw", "max")
    with pytest.raises(WorkloadError, match=r"gaia\.swf\.gz: the trace has no 'ops'$"):
        jobstat(gaia, "ops", "max")
    lublin = read_swf(ROOT / "workloads" / "lublin_256_500.swf.gz")
    with pytest.raises(WorkloadError, match=r"the trace has no 'mem'$"):
        jobstat(lublin, "mem", "max")
    assert jobstat(lublin, "size", "count") == 500


@pytest.mark.parametrize(
    ("field", "statistic", "message"),
    [
        ("sizes", "max", "job field 'sizes' is not known; did you mean 'size'?"),
        ("size", "medain", "statistic 'medain' is not known (percentiles are p0 to p100); did you mean 'median'?"),
        ("size", "p100.1", "percentile 'p100.1' is not possible; percentiles are p0 to p100"),
        ("size", "p-1", "statistic 'p-1' is not known"),
        ("size", "p1e1", "statistic 'p1e1' is not known"),
        ("size", "p", "statistic 'p' is not known"),
        ("size", "p²", "statistic 'p²' is not known"),
        ("size", "", "statistic '' is not known"),
    ],
)
def test_an_unknown_field_or_statistic_is_refused(field, statistic, message):
    with pytest.raises(OptionsError) as error:
        jobstat(jobs(1), field, statistic)
    assert str(error.value).startswith(message)


def test_the_table_holds_every_statistic_of_every_known_field(gaia):
    table = job_table(jobs(3, 1, 2, 6))
    assert list(table.columns) == list(FIELDS)
    assert list(table.index) == list(TABLE)
    assert table.loc["median", "size"] == 2.5
    assert list(job_table(gaia).columns) == ["req_time", "size", "mem", "submit"]
    assert list(job_table(gaia, seed=1).columns) == ["req_time", "size", "mem", "mem_bw", "submit"]


def test_the_learning_workload_is_shipped():
    learning = read_workload(ROOT / "workloads" / "learning.json", reference_flops=1e9)
    assert jobstat(learning, "mem_bw", "max") == 24
    assert jobstat(learning, "ops", "sum") == 42e9


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=30), st.floats(0, 100))
def test_percentiles_lie_between_the_extremes_and_grow(sizes, percent):
    some = jobs(*sizes)
    value = jobstat(some, "size", f"p{percent:.4f}")
    assert jobstat(some, "size", "min") <= value <= jobstat(some, "size", "max")
    assert value <= jobstat(some, "size", "p100")
    assert jobstat(some, "size", "p50") == jobstat(some, "size", "median")
