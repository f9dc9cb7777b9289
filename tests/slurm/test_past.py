"""What users ran survives the watch."""

import math

from test_follow import Shown, T, job

from hdeeprm_like.slurm.journal import REMEMBERED, Past, line_of
from hdeeprm_like.slurm.shown import OVER, RUNS


def test_a_follower_that_is_started_again_knows_what_users_ran(tmp_path):
    path = tmp_path / "state" / "factors.json.past"
    over = job(1, OVER, cpus=4, start=1, end=21, eligible=math.nan)
    first = Shown("sjf@ewma", past=Past(path))
    first.look(5, job(1, RUNS, cpus=4, start=1))
    first.look(25, over)
    again = Shown("sjf@ewma", past=Past(path))
    again.look(30, over)  # which Slurm still shows, and which counts once
    assert again.run_times == first.run_times == [20.0]
    assert Shown("sjf@ewma").look(30).over == []


def test_a_number_that_slurm_gives_again_is_another_job(tmp_path):
    past = Past(tmp_path / "past")
    for submit in (1, 100):
        past.append(job(7, OVER, submit=submit, start=submit + 1, end=submit + 5))
    assert [found.end for found in Past(tmp_path / "past")] == [T + 6, T + 105]


def test_a_line_that_is_cut_short_is_left_out(tmp_path):
    path = tmp_path / "past"
    past = Past(path)
    for number in (1, 2):
        past.append(job(number, OVER, start=1, end=2))
    path.write_text(path.read_text()[:-9] + "\nnull\n[]\n")
    (found,) = Past(path)
    assert (found.number, found.end) == (1, T + 2)


def test_a_long_file_is_made_shorter_and_no_job_counts_twice(tmp_path):
    path = tmp_path / "past"
    lines = [line_of(job(number, OVER, start=1, end=2)) for number in range(REMEMBERED + 1)]
    path.write_text("".join(lines * 2))
    assert len(Past(path)) == REMEMBERED
    assert path.read_text() == "".join(lines[1:])


def test_a_file_that_cannot_be_written_is_done_without(tmp_path, caplog):
    past = Past(tmp_path)  # a folder
    past.append(job(1, OVER, start=1, end=2))
    assert len(past) == 1
    assert "forgotten when the watch ends" in caplog.text
