"""The one table of figures: adding a figure to it is all that `metrics` and `compare` need to show it."""

import csv

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.schedule import FIGURES, QUANTITIES, Figure, Schedule, figures


@pytest.fixture
def longest_run(monkeypatch):
    """A figure of our own: the run time of the longest job in s."""
    monkeypatch.setitem(FIGURES, "longest_run", Figure("Longest run", "s", lambda schedule: schedule.run_time.max()))


@pytest.fixture
def trace(tmp_path):
    lines = [f"{job} {job} -1 {100 + job} 1 -1 -1 1 300 -1 1 {job % 3} 1 -1 1 -1 -1 -1" for job in range(1, 41)]
    path = tmp_path / "t.swf"
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.usefixtures("longest_run")
def test_an_added_figure_is_a_column_of_compare(trace, tmp_path, capsys):
    line = ["compare", "--trace", str(trace), "--policies", "fcfs", "--windows", "2x40", "--all"]
    assert main([*line, "--output", str(tmp_path / "out")]) == 0
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert results.longest_run.tolist() == [140.0, 140.0]
    assert pd.read_csv(tmp_path / "out" / "summary.csv").longest_run.tolist() == [140.0]
    assert "Longest run (minutes)" in capsys.readouterr().out


@pytest.mark.usefixtures("longest_run")
def test_an_added_figure_is_a_row_of_metrics(tmp_path, capsys):
    header = "job_id,workload_name,submission_time,requested_number_of_resources,success,starting_time,"
    header += "execution_time,finish_time,waiting_time,turnaround_time,stretch,allocated_resources,consumed_energy"
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "out_jobs.csv").write_text(f"{header}\n1,w0,0,1,1,0,50,50,0,50,1,0,-1\n")
    assert main(["metrics", str(tmp_path / "run"), "--csv", str(tmp_path / "m.csv")]) == 0
    assert "Longest run (seconds)" in capsys.readouterr().out
    rows = {row["metric"]: row["run"] for row in csv.DictReader((tmp_path / "m.csv").read_text().splitlines())}
    assert float(rows["longest_run (s)"]) == 50.0


def test_the_worst_of_several_schedules_counts_for_maxima_and_the_mean_for_all_others():
    worst = {name for name, figure in FIGURES.items() if figure.worst_of}
    assert worst == {name for name in FIGURES if name.endswith("_max")}


def test_every_quantity_of_jobs_has_four_figures():
    for name in QUANTITIES:
        assert {name, f"{name}_median", f"{name}_p95", f"{name}_max"} <= set(FIGURES)


def test_what_is_unknown_is_nan():
    times = np.array([0.0, 1.0])
    found = figures(Schedule(times, times, times + 20.0, np.array([1, 1]), 2))
    unknown = {"energy", "energy_delay_product", "job_load", "job_load_max", "fairness", "worst_user"}
    assert {name for name, value in found.items() if np.isnan(value)} == unknown
