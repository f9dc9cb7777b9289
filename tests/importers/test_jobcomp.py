"""Slurm's log of ended jobs: what a real Slurm 22.05 wrote, and lines that are not its own."""

import gzip

import pytest
from logs import RECORDED, written

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.account import Account
from hdeeprm_like.importers.jobcomp import read_jobcomp
from hdeeprm_like.importers.sacct import Reading

TEXT = (RECORDED / "jobcomp.txt").read_text()


def imported(folder, text=TEXT, **how):
    path = folder / "jobs.txt"
    path.write_text(text)
    trace, extra, report = written(read_jobcomp(path, Reading(**how), Account(str(path), form="jobcomp")), path)
    return trace, extra, report, {one["JobID"]: row for row, one in enumerate(extra)}


def test_a_recording_gives_the_jobs_that_were_submitted(tmp_path):
    trace, extra, report, rows = imported(tmp_path)
    assert (report.lines, report.jobs, report.used) == (22, 22, 20)
    assert report.counts("left out") == {"that ended before they began, as those cancelled while waiting": 2}
    for number in range(1, 13):  # each asked for 1 to 5 CPUs, slept for 1 to 4 s, and had a limit of 1 to 3 min
        row, job = rows[str(number)], number - 1
        assert trace.processors[row] == trace.requested_processors[row] == 1 + job % 5
        assert trace.run[row] in (1 + job % 4, 2 + job % 4)  # the clock ticks once a second
        assert trace.requested_time[row] == 60 * (1 + job % 3)
        assert extra[row]["User"] == ("root", "games", "mail")[job % 3]
        assert extra[row]["Account"] == "root"  # none is told, so the group stands in
    assert trace.status[rows["19"]] == 0  # exit 3
    assert trace.requested_memory[rows["19"]] == 280 * 1024
    assert (trace.processors[rows["20"]], trace.requested_processors[rows["20"]]) == (16, 2)  # --exclusive -N 2
    assert (trace.submit >= 0).all()
    assert ((trace.wait >= 0) & (trace.run > 0)).all()


def test_names_that_imitate_the_log_arrays_and_heterogeneous_jobs_are_told_apart(tmp_path):
    _, extra, _, rows = imported(tmp_path)  # the array is called "odd name JobState=x JobId=99"
    assert {"13_1", "13_2", "13_3", "16+0", "16+1"} <= set(rows)
    assert {extra[rows[f"13_{task}"]]["State"] for task in (1, 2, 3)} == {"COMPLETED"}


@pytest.mark.parametrize(
    ("where", "imitated"),
    [
        ("WorkDir=/home/ada ", "WorkDir=/home/a ProcCnt=100000 JobState=FAILED "),
        ("Name=wrap ", "Name=x ArrayJobId=77 ArrayTaskId=3 HetJobId=8 "),
        ("Name=wrap ", "Name=x WorkDir=/x ProcCnt=9 EligibleTime=unknown ArrayJobId=77 ArrayTaskId=3 "),
    ],
)
def test_no_name_or_folder_of_a_job_makes_another_job_of_it(tmp_path, where, imitated):
    whole = imported(tmp_path)
    forged = imported(tmp_path, TEXT.replace(where, imitated))
    assert forged[3] == whole[3]
    for name in ("processors", "status", "submit", "run"):
        assert getattr(forged[0], name).tolist() == getattr(whole[0], name).tolist()


def test_a_held_job_arrives_when_it_was_released(tmp_path):
    held = {how: imported(tmp_path, arrival=how) for how in ("eligible", "submit")}
    waits = {how: trace.wait[rows["15"]] for how, (trace, _, _, rows) in held.items()}
    assert waits["submit"] > waits["eligible"]


def test_lines_that_tell_no_job_are_counted_and_the_others_read(tmp_path):
    cut = TEXT.splitlines()[1][:120]
    trace, _, report, _ = imported(tmp_path, f"{cut}\n\nnot a job\n" + "x" * 300_000 + "\n" + TEXT)
    assert len(trace) == 20
    assert report.counts("left out")["lines without an ended job, or cut off"] >= 3
    assert report.entries["lines without an ended job, or cut off"].lines[0] == 1


def test_a_packed_log_is_imported_by_the_command(tmp_path, capsys):
    (tmp_path / "jobs.gz").write_bytes(gzip.compress(TEXT.encode()))
    words = ["import", "jobcomp", str(tmp_path / "jobs.gz"), "-o", str(tmp_path / "jobs.csv"), "--timezone", "UTC"]
    assert main(words) == 0
    assert "20 of them used: 19 COMPLETED, 1 FAILED" in capsys.readouterr().out
