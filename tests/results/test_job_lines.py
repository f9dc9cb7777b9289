"""Lines of jobs in compiled code: the bytes that Python writes."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hdeeprm_like.engine.digits import LARGEST, put_fixed
from hdeeprm_like.results.batsim_files import job_line
from hdeeprm_like.results.job_lines import JobColumns, job_lines, numbered, rows_of, strings_of, texts_of

OUT = np.zeros(64, np.uint8)
TIE = 2.0**-7  # 0.0078125: the seventh decimal is a five, and nothing is behind it


def fixed(number):
    return OUT[: put_fixed(OUT, 0, number)].tobytes().decode()


near_ties = st.builds(
    lambda whole, half, steps: float(np.nextafter(whole + half, np.inf) if steps > 0 else whole + half),
    st.integers(0, 2**33).map(float),
    st.integers(0, 10**6).map(lambda millionth: (millionth + 0.5) / 1e6),
    st.integers(0, 1),
)
exact_ties = st.builds(lambda whole, part: whole + part / 128.0, st.integers(0, 2**40).map(float), st.integers(0, 127))


def test_fifty_thousand_numbers_are_written_as_python_writes_them():
    draw = np.random.default_rng(1)
    any_size = draw.choice([-1.0, 1.0], 10_000) * 2.0 ** draw.uniform(-80.0, 62.0, 10_000)
    ties = draw.integers(0, 2**33, 20_000) + (draw.integers(0, 10**6, 20_000) + 0.5) / 1e6
    exact = draw.integers(0, 2**40, 20_000) + draw.integers(0, 128, 20_000) / 128.0
    numbers = [*any_size, *ties[:10_000], *np.nextafter(ties[10_000:], np.inf), *exact]
    assert [number for number in map(float, numbers) if fixed(number) != f"{number:f}"] == []


@settings(max_examples=200)
@given(st.floats(-LARGEST, LARGEST, exclude_min=True, exclude_max=True) | st.floats(-1.0, 1.0) | near_ties | exact_ties)
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


def one_job(submit, start, run):
    """A job that has ended."""
    times = np.array([[submit, -1.0, start, run, -1.0]]).T
    size, outcome = np.array([1]), np.array([1])
    return JobColumns(heads=texts_of(["0,w0,p,"]), times=times, size=size, outcome=outcome, cores=texts_of(["0"]))


@pytest.mark.parametrize(("submit", "start", "run"), [(9.3e13, 0.0, 1e-5), (0.0, 9.3e13, 1e-5), (-4e18, 4e18, 1.0)])
def test_what_follows_from_times_may_be_too_large_too(submit, start, run):
    job = one_job(submit, start, run)
    assert job_lines(job).decode() == "".join(f"{job_line(row)}\n" for row in rows_of(job))


@pytest.mark.parametrize(("largest", "name"), [(1e9, "w0"), (1e300, "w0"), (1e9, "wörk")])
@given(st.data())
def test_a_line_is_that_of_python(largest, name, data):
    times = st.floats(0, largest) | st.integers(0, 10**6).map(float)
    rows = data.draw(st.lists(st.tuples(times, times | st.just(-1.0), times, times, times | st.just(-1.0)), max_size=4))
    count = len(rows)
    columns = np.array(rows, np.float64).reshape(count, 5).T
    columns[3] = np.maximum(columns[3], 1e-5)
    jobs = JobColumns(
        heads=texts_of([f"{number},{name},p,q," for number in range(count)]),
        times=columns,
        size=np.array(data.draw(st.lists(st.integers(0, 10**7), min_size=count, max_size=count)), np.int64),
        outcome=np.array(data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), np.int64),
        cores=texts_of(["0-3 6"] * count),
    )
    assert job_lines(jobs).decode() == "".join(f"{job_line(row)}\n" for row in rows_of(jobs))


@given(st.lists(st.integers(0, 2**62) | st.sampled_from([10**power + more for power in range(18) for more in (-1, 0)])))
def test_numbers_are_written_with_all_their_digits(numbers):
    assert strings_of(numbered(np.array(numbers, np.int64), ",w0")) == [f"{number},w0" for number in numbers]
