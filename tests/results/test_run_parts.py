"""A part of a run in a picture, and the warning where runs had other jobs."""

import numpy as np
import pytest
from robust_inputs import printed, refused, told
from test_run_page import left_run

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results.plots.job_colours import HUES, colours_apart, many_colours
from hdeeprm_like.results.plots.shortages import BINS, shares
from hdeeprm_like.results.run_parts import part_of
from hdeeprm_like.results.run_reader import RunJobs, open_run


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 300 jobs by 30 users on 200 cores."""
    return left_run(tmp_path_factory.mktemp("runs") / "run", jobs=300, cores=200)


def test_a_part_holds_the_jobs_of_a_user_that_are_there_in_a_span_on_their_cores(run):
    whole = open_run(run)
    part = part_of(whole, 5000.0, 20_000.0, "u7").jobs
    all_jobs = zip(whole.jobs.ids, whole.jobs.submit, whole.jobs.start, whole.jobs.finish, strict=True)
    expected = [
        (job, start)
        for job, submit, start, finish in all_jobs
        if int(job.partition("!")[2]) % 30 == 7 and submit <= 20_000 and finish >= 5000
    ]  # fmt: skip
    assert 0 < len(expected) < 10
    assert list(zip(part.ids, part.start, strict=True)) == expected
    held = dict(zip(whole.jobs.ids, whole.jobs.held, strict=True))
    assert part.held.tolist() == [held[job] for job in part.ids]
    with pytest.raises(ResultsError, match="none of its 300 jobs"):
        part_of(whole, 0.0, 1e9, "nobody")


def test_a_picture_of_a_part_is_another_one(run, tmp_path):
    draw = ("visual", "lifecycle", "--run", run, "--save")
    printed(*draw, tmp_path / "all.svg")
    printed(*draw, tmp_path / "part.svg", "--from", "1000", "--to", "9000", "--user", "u3")
    assert (tmp_path / "all.svg").read_bytes() != (tmp_path / "part.svg").read_bytes()
    refused(*draw, tmp_path / "x.svg", "--from", "5", "--to", "4")


def test_runs_of_other_jobs_are_not_compared_without_a_word(run, tmp_path):
    same = left_run(tmp_path / "same", jobs=300, cores=200, seed=5)  # other times, the same workload.json
    other = left_run(tmp_path / "other", jobs=299, cores=200)
    assert told("metrics", run, same) == (0, "")
    warning = "hdeeprm-like: other: not the jobs of run, so differences are not the policies' alone\n"
    assert told("metrics", run, other) == (0, warning)


def test_what_share_of_each_stretch_spans_fill():
    edges, share = shares(np.array([3.0, 0.0]), np.array([4.5, 1.0]), end=float(BINS))
    assert edges[:3].tolist() == [0.0, 1.0, 2.0]
    assert share[:6].tolist() == [1.0, 0.0, 0.0, 1.0, 0.5, 0.0]


def test_neighbouring_colours_are_far_apart():
    colours = np.array(many_colours())
    assert len(colours) == HUES
    for step in (1, 2, 3):
        assert np.abs(colours - np.roll(colours, step, axis=0)).max(axis=1).min() > 0.15


def test_boxes_of_a_gantt_chart_that_touch_have_other_colours():
    blocks = np.array([[0, 0, 3], [1, 4, 7], [2, 0, 1], [2, 6, 7], [3, 2, 5], [4, 0, 7]])
    start = np.array([0.0, 0.0, 5.0, 5.0, 9.0])
    nothing = np.zeros(5)
    jobs = RunJobs(tuple("abcde"), np.array([4, 4, 4, 4, 8]), nothing, start, start + 4.0, nothing, nothing, blocks)
    colours = colours_apart(jobs, cores=8)
    assert all(colours[a] != colours[b] for a, b in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)))


def test_where_all_colours_are_taken_the_rarest_is_taken_again():
    alone = np.arange(HUES + 3)
    blocks = np.array([[row, row, row] for row in alone] + [[HUES + 3, 0, HUES + 2]])
    start = np.append(alone.astype(float), 1e3)
    nothing = np.zeros(HUES + 4)
    ids = tuple(map(str, range(HUES + 4)))
    jobs = RunJobs(ids, np.ones(HUES + 4, int), nothing, start, start + 1e2, nothing, nothing, blocks)
    colours = colours_apart(jobs, cores=HUES + 3)
    assert np.all(colours[1:-1] != colours[:-2])
    assert np.count_nonzero(colours[:-1] == colours[-1]) == 1 < np.bincount(colours[:-1]).max()
