"""Which windows of a trace are compared."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.studies.compare.sampling import Windows, places_of, windows_named

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lublin():
    return read_jobs(ROOT / "workloads" / "lublin_256.swf.gz", Reading())


@pytest.fixture
def hundred(lublin):
    """Return 100 jobs, numbered from 1."""
    return take(lublin, np.arange(100))


@pytest.fixture
def offsets(tmp_path):
    """Return what writes a list of windows."""

    def write(*lines):
        path = tmp_path / "offsets.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.mark.parametrize(
    ("text", "windows"),
    [
        (None, Windows(10, 1024, "random")),
        ("4x512", Windows(4, 512, "random")),
        ("disjoint:60", Windows(60, 1024, "disjoint")),
        ("disjoint:60x512", Windows(60, 512, "disjoint")),
        ("all", Windows(1, None, "all")),
    ],
)
def test_windows_have_names(text, windows):
    assert windows_named(text) == windows


@pytest.mark.parametrize("text", ["10", "0x4", "10x", "disjoint", "disjoint:", "disjoint:0", "disjoint:3x0", "All"])
def test_other_names_are_refused_with_those_that_are_right(text):
    with pytest.raises(OptionsError, match=r"e.g. 10x1024 or disjoint:60x1024, or all"):
        windows_named(text)


@pytest.mark.parametrize("text", ["all", "disjoint:60", "disjoint:6x5", "10"])
def test_listed_windows_are_neither_all_nor_disjoint(text):
    with pytest.raises(OptionsError, match="with offsets two numbers are needed"):
        windows_named(text, Path("offsets.csv"))


def test_all_of_a_trace_is_one_window(hundred, caplog):
    assert places_of(windows_named("all"), hundred, seed=1) == ([0], 100)
    assert not caplog.records


def test_disjoint_windows_are_spread_evenly_whatever_the_seed(hundred, caplog):
    found = places_of(windows_named("disjoint:4x10"), hundred, seed=1)
    assert found == places_of(windows_named("disjoint:4x10"), hundred, seed=2) == ([7, 32, 57, 82], 10)
    assert not caplog.records


def test_a_trace_that_is_too_short_gives_the_windows_it_has_and_one_line_says_so(hundred, caplog):
    assert places_of(windows_named("disjoint:60x45"), hundred, seed=1) == ([2, 52], 45)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "the 100 jobs make 2 windows of 45 jobs, all are used; 60 were requested" in said


def test_windows_that_share_jobs_are_called_no_independent_samples(hundred, caplog):
    begins, _ = places_of(windows_named("10x30"), hundred, seed=1)
    assert len(begins) == 10
    (said,) = [record.getMessage() for record in caplog.records]
    assert "some windows share jobs" in said
    assert "disjoint:3x30 share none" in said


def test_a_list_says_where_windows_begin(hundred, offsets):
    path = offsets("window,start_index", "0,50", "1,0", "2,90")
    assert places_of(windows_named("2x10", path), hundred, seed=1) == ([50, 0], 10)
    assert places_of(windows_named("3x10", path), hundred, seed=1) == ([50, 0, 90], 10)


def test_rlschedulers_list_is_taken_whole(lublin):
    path = ROOT / "tests" / "golden" / "windows" / "offsets_lublin1.csv"
    begins, jobs = places_of(windows_named(None, path), lublin, seed=1)
    listed = pd.read_csv(path)
    assert begins == listed.start_index.tolist()
    assert lublin.job[begins].tolist() == listed.first_job_id.tolist()
    assert jobs == 1024


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("start", "5"), r"offsets\.csv:1: column 'start_index' is missing"),
        (("start_index", "5.5"), r"offsets\.csv:2: start_index: is '5\.5'; a whole number from 0"),
        (("start_index", "-5"), r"offsets\.csv:2: start_index: is '-5'; a whole number from 0"),
        (("start_index", "5", "5"), r"offsets\.csv:3: start_index: '5' is there already"),
        (("start_index", "91"), r"offsets\.csv:2: start_index: no 10 jobs follow from 91 on; .* has 100 usable ones"),
        (
            ("start_index,first_job_id", "5,6", "7,7"),
            r":3: first_job_id: is '7'; usable job 7 of .* has the number 8",
        ),
        (("start_index",), r"offsets\.csv: has no rows"),
    ],
)
def test_a_list_that_is_wrong_or_of_another_trace_is_refused(hundred, offsets, lines, message):
    path = offsets(*lines)
    with pytest.raises(WorkloadError, match=message):
        places_of(Windows(None, 10, "offsets", path), hundred, seed=1)


def test_a_list_that_is_too_short_is_refused(hundred, offsets):
    path = offsets("start_index", "5", "7")
    with pytest.raises(WorkloadError, match=r"offsets\.csv: lists 2 windows; 3 were requested"):
        places_of(windows_named("3x10", path), hundred, seed=1)
