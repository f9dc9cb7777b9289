"""What Batsim 5 leaves behind is read as what Batsim 4 does; the server's own files are compared in its golden test."""

import json
import shutil
from pathlib import Path

import pytest

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.results import batsim5_files, plots
from hdeeprm_like.results.batsim_files import JobRow, ended_of, summary_of_ended
from hdeeprm_like.results.report import label, metrics_table
from hdeeprm_like.results.run_reader import open_run

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim5"


@pytest.mark.parametrize("folder", [GOLDEN / "call", GOLDEN / "call" / "out"])
def test_the_figures_of_a_run_of_batsim_5_are_those_that_it_wrote(folder):
    theirs = json.loads((GOLDEN / "call" / "out" / "schedule.json").read_text())
    table = metrics_table([folder]).iloc[:, 0]
    told = {name: figure.batsim for name, figure in FIGURES.items() if figure.batsim}
    assert len(told) == 9
    for name, column in told.items():
        assert table[label(name)] == pytest.approx(theirs[column], rel=1e-6), name
    assert open_run(folder).cores == 16


def test_a_schedule_alone_tells_what_it_holds(tmp_path):
    path = tmp_path / "schedule.json"
    shutil.copy(GOLDEN / "kill" / "out" / "schedule.json", path)
    run = open_run(path)
    assert run.name == tmp_path.name
    assert run.schedule["nb_jobs_killed"] == 7
    assert run.schedule["batsim_version"] != run.schedule["batsim_version"]  # no number
    path.write_text('{"now": 1}')
    with pytest.raises(ResultsError, match="has no 'makespan'"):
        metrics_table([path])


def test_a_run_of_batsim_5_is_drawn(tmp_path):
    plots.draw("gantt", GOLDEN / "firstfit_wl20_net", tmp_path / "gantt.svg")
    plots.compare([GOLDEN / "call", GOLDEN / "kill"], tmp_path / "both.svg")
    assert (tmp_path / "both.svg").stat().st_size > 1000 < (tmp_path / "gantt.svg").stat().st_size


def test_a_folder_without_results_says_so(tmp_path):
    with pytest.raises(ResultsError, match=r"has no out_jobs.csv"):
        open_run(tmp_path).jobs  # noqa: B018


def test_the_makespan_of_batsim_5_begins_with_the_first_submission(tmp_path):
    row = JobRow("1", "w0", "w0!p", 5.0, 1, -1.0, True, "COMPLETED_SUCCESSFULLY", 7.0, 3.0, "0", 4.0)
    zero = {"consumed_joules": 0.0, "machine_seconds": {}, "switches": (0, 0)}
    for rows, makespan, mean in (([row], 5.0, 2.0), ([], 0.0, None)):
        summary = summary_of_ended(ended_of(rows), machines=1, wall_clock=(0.0, 0.0), **zero)
        batsim5_files.write_schedule(tmp_path / "schedule.json", summary, rows, "v5")
        written = json.loads((tmp_path / "schedule.json").read_text())
        assert (written["makespan"], written["mean_waiting_time"], written["batsim_version"]) == (makespan, mean, "v5")
        assert "scheduling_time" not in written
