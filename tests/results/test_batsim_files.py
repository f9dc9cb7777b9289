"""The files are those of Batsim 4.2.1, character by character where no wall clock is involved."""

from pathlib import Path

import pytest
from calls import calls_of
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.errors import ProtocolError, ResultsError
from hdeeprm_like.results.batsim_files import (
    JobRow,
    ended_of,
    interval_set,
    job_line,
    parse_interval_set,
    summary_of_ended,
    write_consumed_energy,
    write_jobs,
    write_machine_states,
    write_pstate_changes,
    write_schedule,
)

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim4"


def row(number, submit, start, run, **changes):
    done = {"success": True, "final_state": "COMPLETED_SUCCESSFULLY", "allocated": "0", "energy": -1.0}
    return JobRow(str(number), "w0", "p", submit, 1, -1.0, **done | changes, starting_time=start, execution_time=run)


def rejected(number, submit):
    return row(number, submit, None, None, success=False, final_state="REJECTED", allocated="")


def summary(rows, **changes):
    zero = {"consumed_joules": 0.0, "machine_seconds": {}, "switches": (0, 0)}
    return summary_of_ended(ended_of(rows), machines=4, wall_clock=(0.0, 0.0), **zero | changes)


def test_a_finished_job_is_written_as_batsim_did():
    golden = (GOLDEN / "calllater" / "out_jobs.csv").read_text().splitlines()
    ours = JobRow("5", "w0", "ht", 5.0, 8, 100.0, True, "COMPLETED_SUCCESSFULLY", 65 / 6, 2.5, "0-5 13-14", 2100.0)
    assert job_line(ours) == golden[5]


def test_a_rejected_job_leaves_its_times_empty():
    golden = (GOLDEN / "killreject_zero" / "out_jobs.csv").read_text().splitlines()
    assert job_line(JobRow("4", "w0", "d5", 2.0, 99, 10.0, False, "REJECTED", None, None, "", -1.0)) == golden[1]


def test_a_run_of_no_time_is_written_as_ten_microseconds():
    assert "0.000000,0.000010,0.000010,0.000000,0.000010,1.000000" in job_line(row(1, 0.0, 0.0, 0.0))


def test_metadata_stand_between_quotes():
    assert job_line(row(1, 0.0, 0.0, 1.0, metadata="a, b")).endswith(',"a, b"')


def test_the_summary_of_no_job_at_all_is_batsims(tmp_path):
    golden = (GOLDEN / "empty_workload" / "out_schedule.csv").read_text().splitlines()
    write_schedule(tmp_path / "s.csv", summary([]) | {"nb_computing_machines": 16})
    names, values = (line.split(",") for line in (tmp_path / "s.csv").read_text().splitlines())
    ignored = {"scheduling_time", "simulation_time"}
    assert names == golden[0].split(",")
    assert [v for n, v in zip(names, values, strict=True) if n not in ignored] == [
        v for n, v in zip(names, golden[1].split(","), strict=True) if n not in ignored
    ]


def test_means_divide_by_rejected_jobs_too():
    figures = summary([row(1, 0.0, 2.0, 4.0), rejected(2, 1.0)])
    assert figures["mean_waiting_time"] == 1.0
    assert figures["mean_turnaround_time"] == 3.0
    assert figures["mean_slowdown"] == 0.75
    assert figures["max_slowdown"] == 1.5
    assert figures["makespan"] == 6.0
    assert figures["success_rate"] == 0.5
    assert (figures["nb_jobs"], figures["nb_jobs_finished"], figures["nb_jobs_rejected"]) == (2, 1, 1)


def test_every_finished_job_without_success_counts_as_killed():
    failed = row(1, 0.0, 0.0, 4.0, success=False, final_state="COMPLETED_FAILED")
    assert summary([failed, rejected(2, 0.0)])["nb_jobs_killed"] == 1


def test_states_and_pstates_have_six_digits_and_energy_six_decimals(tmp_path):
    write_machine_states(tmp_path / "m.csv", [(2e-10, 0, 0, 0, 16, 0), (14.20165, 0, 0, 0, 0, 16)])
    write_pstate_changes(tmp_path / "p.csv", [(0.0, "0-15", 0), (1234567.0, "0 3", -1)])
    write_consumed_energy(tmp_path / "e.csv", [(0.5, 280.0, "s", 720.0, 560.0), (0.5, 280.0, "p", 80.0, None)])
    assert (tmp_path / "m.csv").read_text().splitlines()[1:] == ["2e-10,0,0,0,16,0", "14.2017,0,0,0,0,16"]
    assert (tmp_path / "p.csv").read_text().splitlines()[1:] == ["0,0-15,0", "1.23457e+06,0 3,-1"]
    assert (tmp_path / "e.csv").read_text().splitlines()[1:] == [
        "0.500000,280.000000,s,720.000000,560.000000",
        "0.500000,280.000000,p,80.000000,NA",
    ]


def test_fifty_two_thousand_jobs_are_written_fast(tmp_path):
    """With one call for each, which takes some 4 us; a writer of CSV takes several."""
    rows = [row(number, number * 1.1, number * 1.2, 33.3, allocated="0-3 6") for number in range(52_000)]
    assert calls_of(lambda: write_jobs(tmp_path / "jobs.csv", rows)) < 60_000


def test_a_file_that_cannot_be_written_is_one_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ResultsError):
        write_jobs(tmp_path / "file" / "jobs.csv", [])


def test_rows_that_break_off_leave_no_file(tmp_path):
    def broken():
        yield row(1, 0.0, 0.0, 1.0)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_jobs(tmp_path / "jobs.csv", broken())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ids", "text"), [([], ""), ([3], "3"), ([0, 1], "0-1"), ([6, 2, 0, 1, 2, 3], "0-3 6"), (range(16), "0-15")]
)
def test_interval_sets_are_sorted_and_short(ids, text):
    assert interval_set(ids) == text


@given(st.sets(st.integers(0, 60)))
def test_an_interval_set_reads_back(ids):
    assert parse_interval_set(interval_set(ids)) == sorted(ids)


@pytest.mark.parametrize("text", ["a", "1-", "-1", "3-1", "1,2", "0-99", "0-99999999999999999999999", "²"])
def test_what_is_no_interval_set_is_refused(text):
    with pytest.raises(ProtocolError, match="interval"):
        parse_interval_set(text, below=50, error=ProtocolError)


def test_the_first_number_that_is_too_large_for_a_set_is_refused():
    assert parse_interval_set("0-6", below=7) == list(range(7))
    for text in ("7", "0-7"):
        with pytest.raises(ResultsError, match="below 7"):
            parse_interval_set(text, below=7)
