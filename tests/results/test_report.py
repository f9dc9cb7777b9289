"""Figures of runs: those that Batsim sums up, and how they are shown beside one another."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from robust_inputs import printed

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.results.report import SHORT, format_table, metrics_grid, metrics_table

GOLDEN = Path(__file__).parents[1] / "golden" / "hdeeprm"
CONSOLIDATED = GOLDEN / "fixedids_gaia100_shortest-high_gflops"
SPREAD = GOLDEN / "fixedids_gaia100_shortest-high_mem_bw"
LONG = GOLDEN / "fixedids_gaia1000_first-high_gflops"
RUNS = (CONSOLIDATED, SPREAD, LONG, GOLDEN / "learning_350")

SAME_IN_BATSIM = {
    "energy (J)": "consumed_joules",
    "makespan (s)": "makespan",
    "slowdown_max": "max_slowdown",
    "slowdown": "mean_slowdown",
    "jobs_run": "nb_jobs_finished",
    "turnaround_max (s)": "max_turnaround_time",
    "turnaround (s)": "mean_turnaround_time",
    "wait_max (s)": "max_waiting_time",
    "wait (s)": "mean_waiting_time",
}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_figures_from_the_jobs_are_those_that_batsim_summed_up(run):
    with (run / "out_schedule.csv").open() as file:
        recorded = next(csv.DictReader(file))
    ours = metrics_table([run])[run.name]
    for label, name in SAME_IN_BATSIM.items():
        assert ours[label] == pytest.approx(float(recorded[name]), rel=1e-6), label


def test_a_schedule_file_alone_gives_what_is_in_it():
    whole = metrics_table([SPREAD])[SPREAD.name]
    alone = metrics_table([SPREAD / "out_schedule.csv"])[SPREAD.name]
    absent = alone[alone.isna()].index.tolist()
    told = set(SAME_IN_BATSIM) | {"energy_delay_product (J s)"}
    assert set(alone.index) - set(absent) == told
    assert np.allclose(alone.drop(absent), whole.drop(absent), rtol=1e-6)


def test_utilization_is_the_busy_core_seconds_over_all_of_them():
    # the recorded time_computing, over 2280 cores for the recorded makespan (the first job comes at time 0)
    table = metrics_table([SPREAD])[SPREAD.name]
    with (SPREAD / "out_jobs.csv").open() as file:
        busy = sum(
            int(job["requested_number_of_resources"]) * float(job["execution_time"]) for job in csv.DictReader(file)
        )
    assert table["utilization"] == pytest.approx(busy / (2280 * 768303.252632))


def test_text_shows_readable_units_and_the_difference_to_the_first_run():
    lines = format_table(metrics_table([CONSOLIDATED, SPREAD])).splitlines()
    assert lines[:2] == [f"  1  {CONSOLIDATED.name}", f"  2  {SPREAD.name}"]
    by_name = {line[:27].strip(): line[27:].split() for line in lines[4:]}
    assert by_name["Energy (GJ)"] == ["2.814", "4.562", "(+62.1%)"]
    assert by_name["Makespan (days)"] == ["8.712", "8.892", "(+2.1%)"]
    assert by_name["Mean turnaround (hours)"] == ["26.15", "34.08", "(+30.3%)"]
    assert by_name["Max waiting (seconds)"] == ["0", "0", "(=)"]


def test_text_writes_large_differences_as_multiples_and_marks_what_is_not_known():
    text = format_table(metrics_table([CONSOLIDATED, LONG, SPREAD / "out_schedule.csv"]))
    assert "(x 8,454.2)" in text
    assert "(from 0)" in text
    assert "not known" in text
    assert "nan" not in text


def test_text_continues_below_when_there_are_many_runs():
    text = format_table(metrics_table([CONSOLIDATED] * 9))
    assert max(map(len, text.splitlines())) < 120
    assert text.count("Energy (GJ)") == 3


def test_the_short_text_has_the_tail_beside_the_mean_and_the_csv_every_figure_with_all_digits(tmp_path):
    names = [line[:27].strip() for line in printed("metrics", "--short", LONG).splitlines()[3:]]
    assert len(names) == len(SHORT) == 14
    assert {"Mean waiting (hours)", "P95 waiting (days)", "Max waiting (days)", "Utilization (%)"} <= set(names)
    printed("metrics", "-q", LONG, SPREAD, "--csv", tmp_path / "m.csv")
    told = pd.read_csv(tmp_path / "m.csv", index_col="metric")
    assert len(told) == len(FIGURES)
    pd.testing.assert_frame_equal(told, metrics_table([LONG, SPREAD]), rtol=1e-14)


def test_requests_and_users_come_from_the_workload_beside_the_run(tmp_path):
    head = (SPREAD / "out_jobs.csv").read_text().splitlines()[0]
    (tmp_path / "out_jobs.csv").write_text(
        f"{head}\n"
        '0,w0,a,0.0,2,-1.0,1,COMPLETED_SUCCESSFULLY,0.0,20.0,20.0,0.0,20.0,1.0,0-1,1.0,""\n'
        '1,w0,b,0.0,1,-1.0,1,COMPLETED_SUCCESSFULLY,20.0,20.0,40.0,20.0,40.0,2.0,0,1.0,""\n'
    )
    jobs = [{"id": 1, "profile": "b", "user": "eve"}, {"id": 0, "profile": "a", "user": "ann"}]
    content = {"nb_res": 2, "jobs": jobs, "profiles": {"a": {"req_time": 60}, "b": {"req_time": 50}}}
    (tmp_path / "workload.json").write_text(json.dumps(content))
    figures = metrics_table([tmp_path])[tmp_path.name]
    assert figures["job_load_max (core s)"] == 50  # one core for 50 s waits
    assert figures["job_load (core s)"] == 25  # for 20 s of 40 s
    assert figures["queue_length"] == 0.5
    assert figures["fairness"] == pytest.approx((1 + 2) ** 2 / (2 * (1 + 4)))
    assert figures["worst_user"] == pytest.approx(2 / 1.5)
    del jobs[0]["user"]
    (tmp_path / "workload.json").write_text(json.dumps(content))
    assert np.isnan(metrics_table([tmp_path])[tmp_path.name]["fairness"])


def test_runs_of_one_name_are_told_apart_by_where_they_are(tmp_path):
    for place in ("a", "b"):
        shutil.copytree(CONSOLIDATED, tmp_path / place / "run")
    table = metrics_table([tmp_path / "a" / "run", tmp_path / "b" / "run", SPREAD])
    assert table.columns.tolist() == ["a/run", "b/run", SPREAD.name]
    assert metrics_table([SPREAD, SPREAD]).columns.tolist() == [f"{SPREAD.name} (1)", f"{SPREAD.name} (2)"]


def test_rejected_jobs_do_not_count_in_the_means(tmp_path):
    head = (SPREAD / "out_jobs.csv").read_text().splitlines()[0]
    (tmp_path / "out_jobs.csv").write_text(
        f'{head}\n4,w0,d5,2.0,99,10.0,0,REJECTED,,,,,,,,,""\n'
        '0,w0,d5,1.0,2,-1.0,1,COMPLETED_SUCCESSFULLY,3.0,5.0,8.0,2.0,7.0,1.4,0-1,20.0,""\n'
    )
    figures = metrics_table([tmp_path])[tmp_path.name]
    assert figures["jobs_run"] == 1
    assert figures["wait (s)"] == 2.0
    assert figures["slowdown"] == pytest.approx(1.4)
    assert np.isnan(figures["energy (J)"])  # no out_schedule.csv tells it
    assert figures["utilization"] == pytest.approx(10 / 14)  # of 2 cores from 1 s to 8 s


def test_a_run_without_jobs_has_no_figures(tmp_path):
    (tmp_path / "out_jobs.csv").write_text((SPREAD / "out_jobs.csv").read_text().splitlines()[0] + "\n")
    table = metrics_table([tmp_path, SPREAD])
    assert table[tmp_path.name][["jobs_run", "starving"]].tolist() == [0, 0]
    assert table[tmp_path.name].drop(["jobs_run", "starving"]).isna().all()
    assert "nan" not in format_table(table)


def test_users_of_a_trace_are_told_apart_in_the_figures_of_its_run(tmp_path):
    lines = [f"{n} {n} -1 50 1 -1 -1 1 50 -1 1 {user} 1 -1 1 -1 -1 -1" for n, user in enumerate([5, 5, 9, 9] * 4, 1)]
    (tmp_path / "t.swf").write_text("\n".join(lines) + "\n")
    content = {"seed": 1, "policy": "first-high_gflops", "workload": {"runtimes": "trace"}}
    content |= {"platform_file_path": "learning", "workload_file_path": "t.swf"}
    (tmp_path / "o.json").write_text(json.dumps(content))
    printed("launch", "-q", "--options", tmp_path / "o.json", "--output", tmp_path / "run", "--log-level", "ERROR")
    figures = metrics_table([tmp_path / "run"])["run"]
    assert 0.5 <= figures["fairness"] <= 1
    assert 1 <= figures["worst_user"] <= 2


# other numbers of runs
@pytest.mark.lane(more=r"(?!(1)$).*")
@pytest.mark.parametrize("count", [1, 2, 12])
def test_the_grid_of_bars_is_drawn_for_any_number_of_runs(tmp_path, count):
    metrics_grid([*RUNS[:2], *[LONG / "out_schedule.csv"] * 10][:count], tmp_path / "grid.png")
    assert (tmp_path / "grid.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_wrong_with_a_run_is_said_in_one_line(tmp_path):
    (tmp_path / "aborted").mkdir()
    (tmp_path / "aborted" / "out_jobs.csv").write_text("")
    for runs, message in (
        ([tmp_path / "nowhere"], "no such run; give the directory"),
        ([tmp_path], r"has no out_schedule\.csv; `hdeeprm-like launch` writes it"),
        ([], "at least one"),
        ([SPREAD / "out_jobs.csv"], r"out_jobs\.csv: has no column 'makespan'"),
        ([tmp_path / "aborted"], "is empty; the run did not end well"),
    ):
        with pytest.raises(ResultsError, match=message):
            metrics_table(runs)
    with pytest.raises(OptionsError, match=r"\.png, \.svg or \.pdf, not \.gif"):
        metrics_grid([SPREAD], tmp_path / "grid.gif")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "0.000000,24,",
            "soon,24,",
            r"out_jobs\.csv:2: submission_time: is 'soon'; a number from -1e\+15 to 1e\+15 is needed",
        ),
        ("0.000000,24,", "7.000000,24,", r"out_jobs\.csv: job in row 0 starts before it is submitted"),
        ("2000-2002 ", "2000-many ", r"out_jobs\.csv:2: allocated_resources is '2000-many"),
        ("waiting_time", "patience", r"out_jobs\.csv: has no column 'waiting_time'; is it the out_jobs of a run\?"),
    ],
)
def test_a_damaged_table_is_refused_with_its_line(tmp_path, old, new, message):
    (tmp_path / "out_jobs.csv").write_text((SPREAD / "out_jobs.csv").read_text().replace(old, new, 1))
    with pytest.raises(ResultsError, match=message):
        metrics_table([tmp_path])
