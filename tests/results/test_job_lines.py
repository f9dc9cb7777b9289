"""Lines of jobs in compiled code: the bytes that Python writes."""

import csv
import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.digits import LARGEST, put_next
from hdeeprm_like.engine.job_texts import Intervals
from hdeeprm_like.engine.tasks import TASK
from hdeeprm_like.results import job_lines as job_lines_module
from hdeeprm_like.results.batsim_files import job_line
from hdeeprm_like.results.job_lines import (
    ids_of,
    interval_sets,
    job_lines,
    lines_of,
    names_of,
    rows_of,
    strings_of,
    texts_of,
)

TIE = 2.0**-7  # 0.0078125: the seventh decimal is a five, and nothing is behind it


class Line(Bundle):
    out: np.ndarray


LINE = Line(np.zeros(64, np.uint8))


@compiled
def put(line: Line, number: float) -> int:
    return put_next(line.out, 0, number)


def fixed(number):
    return LINE.out[: put(LINE, number) - 1].tobytes().decode()


def test_fifty_thousand_numbers_are_written_as_python_writes_them():
    draw = np.random.default_rng(1)
    any_size = draw.choice([-1.0, 1.0], 10_000) * 2.0 ** draw.uniform(-80.0, 62.0, 10_000)
    ties = draw.integers(0, 2**33, 20_000) + (draw.integers(0, 10**6, 20_000) + 0.5) / 1e6
    exact = draw.integers(0, 2**40, 20_000) + draw.integers(0, 128, 20_000) / 128.0
    numbers = [*any_size, *ties[:10_000], *np.nextafter(ties[10_000:], np.inf), *exact]
    assert [number for number in map(float, numbers) if fixed(number) != f"{number:f}"] == []


@settings(max_examples=200)
@given(st.floats(-LARGEST, LARGEST, exclude_min=True, exclude_max=True) | st.floats(-1.0, 1.0))
@example(0.0)
@example(-0.0)
@example(-1e-9)
@example(TIE)
@example(3 * TIE)
@example(5e-7)
@example(float(np.nextafter(5e-7, 0.0)))
@example(float(np.nextafter(5e-7, 1.0)))
@example(0.9999995)
@example(float(np.nextafter(1.0, 0.0)))
@example(999999999999999999.0)
@example(1e18)
@example(float(np.nextafter(LARGEST, 0.0)))
@example(5e-324)
def test_a_number_is_written_as_python_writes_it(number):
    assert fixed(number) == f"{number:f}"


def lines_with(order, names, profiles, submit, walltime, start, finish, joules, size, outcome, cores=None):
    """Lines of some jobs, which have the cores 0 to 3 and 6 unless others are given."""
    count = len(submit)
    tasks = np.zeros(count, TASK)
    tasks["start"], tasks["finish"], tasks["joules"], tasks["outcome"] = start, finish, joules, outcome
    if cores is None:
        cores = Intervals(np.arange(count + 1) * 2, np.array([0, 6] * count), np.array([3, 6] * count))
    asked = np.array(submit, np.float64), np.array(walltime, np.float64), np.array(size, np.int64)
    return lines_of(np.array(order), (names_of(names, ids=True), names_of(profiles)), asked, tasks, cores)


def written(lines, energy=True):
    return b"".join(bytes(part) for part in job_lines(lines, energy)).decode()


def in_python(lines, energy=True):
    return "".join(f"{job_line(row)}\n" for row in rows_of(lines, energy))


def test_the_line_of_a_job_has_its_names_times_and_cores():
    lines = lines_with([0], ["w0!7"], ["p"], [1.0], [np.inf], [2.0], [6.0], [30.0], [5], [1])
    times = "1.000000,5,-1.000000,1,COMPLETED_SUCCESSFULLY,2.000000,4.000000,6.000000,1.000000,5.000000,1.250000"
    assert written(lines) == f'7,w0,p,{times},0-3 6,30.000000,""\n'
    assert written(lines, energy=False) == f'7,w0,p,{times},0-3 6,-1.000000,""\n'


def test_a_rejected_job_has_no_times_and_is_written_by_compiled_code(monkeypatch):
    monkeypatch.setattr(job_lines_module, "job_line", lambda row: "written by Python")
    lines = lines_with([0], ["w0!7"], ["p"], [1.0], [60.0], [np.nan], [np.nan], [0.0], [5], [0])
    assert written(lines) == '7,w0,p,1.000000,5,60.000000,0,REJECTED,,,,,,,,,""\n'


@pytest.mark.parametrize(
    ("submit", "start", "finish"), [(9.3e13, 0.0, 1e-5), (0.0, 9.3e13, 9.3e13), (-4e18, 4e18, 4.1e18), (0.0, 0.0, 1e19)]
)
def test_numbers_that_are_too_large_for_compiled_code_are_written_by_python_between_others(submit, start, finish):
    lines = lines_with(
        [0, 1, 2], ["w0!0", "w0!1", "w0!2"], ["p"] * 3, [0.0, submit, 1.0], [1.0, np.inf, 1e300], [0.0, start, 2.0],
        [1.0, finish, 3.0], [0.0] * 3, [5] * 3, [1] * 3
    )  # fmt: skip
    assert written(lines) == in_python(lines)


@pytest.mark.parametrize("at_once", [0, 1 << 17])
@pytest.mark.parametrize(("largest", "workload"), [(1e9, "w0"), (1e300, "w0"), (1e9, "wörk"), (1e9, "two\nlines")])
@given(data=st.data())
def test_a_line_is_that_of_python(at_once, largest, workload, data):
    times = st.floats(0, largest) | st.integers(0, 10**6).map(float)
    job = st.tuples(times, times | st.just(np.inf), times, times, times, st.integers(0, 10**17), st.integers(0, 3))
    rows = data.draw(st.lists(job, max_size=4))
    order = data.draw(st.permutations(range(len(rows))))
    names = [f"{workload}!{'long' * number}{number}" for number in range(len(rows))]
    profiles = [f"p,q{'!' * number}" for number in range(len(rows))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job_lines_module, "AT_ONCE", at_once)
        lines = lines_with(order, names, profiles, *np.array(rows, np.object_).reshape(-1, 7).T)
    assert written(lines) == in_python(lines)
    assert written(lines, energy=False) == in_python(lines, energy=False)


def test_cores_of_a_job_may_be_none_one_or_many():
    first, last = np.array([0, 5, 100_000_000]), np.array([0, 7, 123_456_789])
    cores = Intervals(np.array([0, 0, 3]), first, last)
    assert interval_sets(cores) == ["", "0 5-7 100000000-123456789"]


@given(st.lists(st.integers(0, 2**62) | st.sampled_from([10**power + more for power in range(18) for more in (-1, 0)])))
def test_numbers_are_written_with_all_their_digits(numbers):
    ids = ids_of("w0", np.array(numbers, np.int64))
    assert strings_of(ids, range(len(numbers))) == [f"w0!{number}" for number in numbers]


def test_texts_are_found_again_whatever_they_hold():
    for texts in ([], [""], ["", ""], ["a", "", "bc"], ["line\nend", "ö", "\0"]):
        assert strings_of(texts_of(texts), range(len(texts))) == texts


ODD = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0!"), min_size=1, max_size=12)


@settings(max_examples=30)
@given(st.lists(ODD | st.sampled_from(["a,b", "a\nb", '"', '"a"', 'a"b,c', "\r"]), min_size=1, max_size=5, unique=True))
def test_names_that_a_reader_of_csv_would_split_are_quoted(names):
    count = len(names)
    tasks = np.zeros(count, TASK)
    cores = Intervals(np.zeros(count + 1, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    ids, asked = names_of([f"w0!{name}" for name in names], ids=True), (np.zeros(count), np.full(count, np.inf))
    lines = lines_of(np.arange(count), (ids, names_of(names)), (*asked, np.ones(count, np.int64)), tasks, cores)
    text = b"".join(bytes(part) for part in job_lines(lines)).decode()
    assert [(row[0], row[2]) for row in csv.reader(io.StringIO(text, newline=""))] == [(name, name) for name in names]
    assert [(row.job_id, row.profile) for row in rows_of(lines)] == [(name, name) for name in names]
    assert "".join(f"{job_line(row)}\n" for row in rows_of(lines)) == text
