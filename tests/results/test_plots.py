import gzip
import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.results.pictures import unit_of_time
from hdeeprm_like.results.plots import KINDS, Plot, compare, draw
from hdeeprm_like.results.report import metrics_table
from hdeeprm_like.results.run_reader import open_run

GOLDEN = Path(__file__).parents[1] / "golden" / "hdeeprm"
CONSOLIDATED = GOLDEN / "fixedids_gaia100_shortest-high_gflops"
SPREAD = GOLDEN / "fixedids_gaia100_shortest-high_mem_bw"
LONG = GOLDEN / "fixedids_gaia1000_first-high_gflops"
LEARNED = GOLDEN / "learning_350"
OF_LEARNING = ("losses", "rewards", "action_preferences")
BEGINS = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


@pytest.fixture(autouse=True)
def without_display(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")


def drawn(monkeypatch, kind, run):
    """Return the figure of a picture before it is saved."""
    figures = []
    monkeypatch.setattr("hdeeprm_like.results.pictures._write", lambda figure, save: figures.append(figure))
    draw(kind, run, Path("unsaved.png"))
    return figures[0]


def texts(figure):
    figure.canvas.draw()
    return [text.get_text() for text in figure.findobj(match=lambda part: hasattr(part, "get_text"))]


def run_with(folder, overutilizations):
    for name in ("out_jobs.csv", "out_schedule.csv"):
        shutil.copy(SPREAD / name, folder)
    (folder / "overutilizations.json").write_text(json.dumps(overutilizations))
    return folder


def drawings():
    """Yield each kind of picture with each run that it can be drawn of; one run for each kind stays."""
    for kind in KINDS:
        for run in (LEARNED,) if kind in OF_LEARNING else (SPREAD, LONG, LEARNED):
            others = run != SPREAD and kind not in OF_LEARNING
            yield pytest.param(kind, run, marks=[pytest.mark.more] * others, id=f"{kind}-{run.name}")


@pytest.mark.parametrize(("kind", "run"), [*drawings()])
def test_every_kind_is_drawn_for_recorded_runs(tmp_path, kind, run):
    draw(kind, run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(BEGINS[".png"])
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


# larger runs, other formats
@pytest.mark.lane(more=r"(?!(\.svg)$).*")
@pytest.mark.parametrize("suffix", BEGINS)
def test_a_picture_is_saved_in_three_formats_always_with_the_same_bytes_and_not_large(tmp_path, suffix):
    for name in ("a", "b"):
        draw("gantt", SPREAD, tmp_path / f"{name}{suffix}")
    content = (tmp_path / f"a{suffix}").read_bytes()
    assert content.startswith(BEGINS[suffix])
    assert content == (tmp_path / f"b{suffix}").read_bytes()
    assert len(content) < 500_000


def test_no_figure_stays_open():
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []


def test_utilization_never_exceeds_the_machine_and_reaches_it(monkeypatch):
    figure = drawn(monkeypatch, "utilization", LONG)
    busy = max(line.get_ydata().max() for line in figure.axes[0].lines if len(line.get_ydata()) > 2)
    assert busy == 2280
    assert "mean 58.4% of 2,280 cores" in texts(figure)


def test_the_queue_is_in_requested_cores(monkeypatch):
    assert "mean 692, most 4,689" in texts(drawn(monkeypatch, "queue_size", LONG))


def test_times_are_drawn_with_their_fractions(monkeypatch):
    axes = drawn(monkeypatch, "utilization", LEARNED).axes[0]
    assert axes.lines[0].get_xdata().tolist() == [0.0, 4.772727, 5.25]
    assert axes.lines[0].get_ydata().tolist() == [2, 1, 0]
    assert axes.get_xlabel() == "time (seconds)"


def test_a_life_cycle_has_three_stages_with_all_jobs(monkeypatch):
    shown = texts(drawn(monkeypatch, "lifecycle", LONG))
    assert {"arrived: 1,000", "started: 1,000", "completed: 1,000"} <= set(shown)


def test_a_gantt_chart_has_a_box_per_stretch_of_cores_and_names_jobs_only_on_request(monkeypatch):
    figure = drawn(monkeypatch, "gantt", LEARNED)
    assert sorted((box.get_y(), box.get_width()) for box in figure.axes[0].patches) == [(0, 5.25), (2, 4.772727)]
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["0", "1"]
    assert not drawn(monkeypatch, "gantt_no_label", LEARNED).axes[0].texts


def test_a_gantt_chart_of_many_jobs_says_how_many_are_too_small_to_name(monkeypatch):
    figure = drawn(monkeypatch, "gantt", SPREAD)
    assert len(figure.axes[0].patches) == len(open_run(SPREAD).jobs.blocks)
    assert "0 of 100 jobs are large enough to name" in texts(figure)


def test_a_name_in_the_middle_of_a_box_takes_no_room_where_another_part_is_shown(tmp_path):
    """matplotlib warned that nothing was left for the axes, and the name stood beside them."""
    jobs = open_run(CONSOLIDATED).jobs
    longest = np.nanargmax(jobs.run)
    draw("gantt", CONSOLIDATED, tmp_path / "g.png", span=(jobs.start[longest], jobs.start[longest] + 1.0))


def test_bubbles_of_the_original_are_times(monkeypatch):
    axes = drawn(monkeypatch, "core_bubbles", LONG).axes[1]
    assert axes.get_ylabel() == "failed starts so far"
    assert axes.lines[0].get_ydata()[-1] == 1085


def test_bubbles_of_ours_are_spans_that_add_up(tmp_path, monkeypatch):
    spans = [[0.0, 3600.0], [7200.0, 18000.0]]
    run = run_with(tmp_path, {"core": [], "mem": spans, "mem_bw": {"nb_procs": 2, "procs": {}}})
    axes = drawn(monkeypatch, "mem_bubbles", run).axes[1]
    assert axes.get_ylabel() == "hours in bubbles so far"
    assert axes.lines[0].get_ydata().tolist() == [0.0, 1.0, 1.0, 4.0]
    assert "no job had to wait for cores" in texts(drawn(monkeypatch, "core_bubbles", run))


def test_bubbles_of_ours_tell_how_many_cores_idle_meanwhile(tmp_path, monkeypatch):
    shutil.copy(LEARNED / "out_jobs.csv", tmp_path)  # two jobs on cores 0 and 1, 2 and 3, which overlap
    jobs = open_run(LEARNED).jobs
    end = float(jobs.finish.max())
    (tmp_path / "overutilizations.json").write_text(
        json.dumps({"core": [[1.0, 3.0], [4.0, end + 6.0]], "mem": [], "mem_bw": {"nb_procs": 2, "procs": {}}})
    )
    above = drawn(monkeypatch, "core_bubbles", tmp_path).axes[0]
    times, idle = above.lines[0].get_data()
    busy = ((jobs.start <= times[:, None]) & (times[:, None] < jobs.finish)) @ jobs.held
    assert above.get_ylabel() == "idle cores\nmeanwhile"
    assert np.where((times >= 1.0) & (times < 3.0) | (times >= 4.0) & (times < end + 6.0),
                    open_run(tmp_path).cores - busy, 0).tolist() == idle.tolist()  # fmt: skip
    assert idle.max() > 0


def test_bandwidth_spans_end_after_their_duration_and_open_ones_with_the_run(tmp_path, monkeypatch):
    procs = {"1": {"state": 1, "values": [[0.0, 86400.0], [172800.0, 0]]}}
    run = run_with(tmp_path, {"core": [], "mem": [], "mem_bw": {"nb_procs": 3, "procs": procs}})
    assert open_run(run).overutilizations.bandwidth.tolist() == [[0.0, 86400.0], [172800.0, np.inf]]
    axes = drawn(monkeypatch, "mem_bw_overutilization", run).axes[0]
    boxes = [path.vertices for path in axes.collections[0].get_paths()]
    assert boxes[0][:4].tolist() == [[0, 1], [1, 1], [1, 1.9], [0, 1.9]]
    assert boxes[1][1, 0] == pytest.approx(768303.252632 / 86400)
    assert axes.get_ylim() == (0, 3)


def test_recorded_bandwidth_spans_are_all_drawn(monkeypatch):
    axes = drawn(monkeypatch, "mem_bw_overutilization", LONG).axes[0]
    assert len(axes.collections[0].get_paths()) == len(open_run(LONG).overutilizations.bandwidth)


def test_preferences_carry_the_names_of_the_actions(monkeypatch):
    names = texts(drawn(monkeypatch, "action_preferences", LEARNED))
    assert {"first-high_mem_bw", "shortest-low_power"} <= set(names)


def test_preferences_without_options_carry_numbers(tmp_path, monkeypatch):
    (tmp_path / "probs.json").write_text('{"probs": [[0.4], [0.6]]}')
    assert {"action 0", "action 1"} <= set(texts(drawn(monkeypatch, "action_preferences", tmp_path)))


def test_episodes_are_one_value_each(monkeypatch):
    line = drawn(monkeypatch, "rewards", LEARNED).axes[0].lines[0]
    assert len(line.get_xdata()) == 350
    assert set(np.round(line.get_ydata(), 6)) == {6.0, 6.6, 8.4}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_which_nothing_happened_is_drawn_with_a_note(tmp_path, monkeypatch, kind):
    (tmp_path / "out_jobs.csv").write_text((SPREAD / "out_jobs.csv").read_text().splitlines()[0] + "\n")
    (tmp_path / "overutilizations.json").write_text('{"core": [], "mem": [], "mem_bw": {"nb_procs": 2, "procs": {}}}')
    (tmp_path / "out_consumed_energy.csv").write_text("time,energy,event_type,wattmin,epower\n")
    for name in ("losses.log", "rewards.log"):
        (tmp_path / name).write_text("")
    (tmp_path / "probs.json").write_text('{"probs": []}')
    shown = " ".join(texts(drawn(monkeypatch, kind, tmp_path)))
    assert any(word in shown for word in ("no job", "no episodes", "no processor"))


def test_the_load_of_the_queue_is_drawn_below_its_length_and_left_out_where_requests_are_not_known(
    tmp_path, monkeypatch
):
    above, below = drawn(monkeypatch, "job_load", LONG).axes
    table = metrics_table([LONG])[LONG.name]
    assert above.lines[0].get_ydata().max() == table["queue_length_max"]
    assert below.lines[0].get_ydata().max() == pytest.approx(table["job_load_max (core s)"] / 3600)
    shutil.copy(LONG / "out_jobs.csv", tmp_path)
    assert "no workload.json tells the requested times" in texts(drawn(monkeypatch, "job_load", tmp_path))


def test_rejected_jobs_arrive_and_are_left_out_elsewhere(tmp_path, monkeypatch):
    head, first, *_ = (SPREAD / "out_jobs.csv").read_text().splitlines()
    (tmp_path / "out_jobs.csv").write_text(f'{head}\n{first}\n4,w0,d5,2.0,99,10.0,0,REJECTED,,,,,,,,,""\n')
    assert {"arrived: 2", "started: 1"} <= set(texts(drawn(monkeypatch, "lifecycle", tmp_path)))
    assert "1 jobs that never ran are left out" in texts(drawn(monkeypatch, "queue_size", tmp_path))
    assert len(drawn(monkeypatch, "gantt", tmp_path).axes[0].patches) == 8


def test_packed_files_and_names_with_dollars_are_read_as_they_are(tmp_path, monkeypatch):
    run = tmp_path / "a$b$_c"
    run.mkdir()
    (run / "out_jobs.csv.gz").write_bytes(gzip.compress((SPREAD / "out_jobs.csv").read_bytes()))
    assert "Utilization\na$b$_c" in texts(drawn(monkeypatch, "utilization", run))


def test_runs_are_compared_in_one_picture(tmp_path):
    compare([CONSOLIDATED, SPREAD, LONG], tmp_path / "compared.png")
    assert (tmp_path / "compared.png").stat().st_size > 20_000


def test_an_unknown_kind_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(OptionsError, match=r"there is no picture 'gant'; did you mean 'gantt'\?"):
        draw("gant", SPREAD, tmp_path / "picture.png")


@pytest.mark.parametrize("name", ["picture.gif", "picture"])
def test_an_unknown_format_is_answered_with_the_three(tmp_path, name):
    with pytest.raises(OptionsError, match=r"saved as \.png, \.svg or \.pdf"):
        draw("gantt", SPREAD, tmp_path / name)


def test_without_display_a_file_is_asked_for():
    with pytest.raises(ResultsError, match="no display to show a picture on; use --save"):
        draw("gantt", SPREAD)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("gantt", r"has no out_jobs\.csv; `hdeeprm-like launch` writes it into the directory of its run"),
        ("core_bubbles", r"has no overutilizations\.json; `hdeeprm-like launch`"),
        ("losses", r"has no losses\.log; `hdeeprm-like launch` writes it when its agent learns"),
    ],
)
def test_a_missing_file_is_named_with_the_command_that_makes_it(tmp_path, kind, message):
    with pytest.raises(ResultsError, match=message):
        draw(kind, tmp_path, tmp_path / "picture.png")
    assert not (tmp_path / "picture.png").exists()


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("losses.log", "1.5\nmany\n", "losses", r"losses\.log:2 is 'many'; it must be a number"),
        ("probs.json", '{"probs": [[1], [1, 2]]}', "action_preferences", "one list of probabilities per action"),
        ("probs.json", "[]", "action_preferences", "one list of probabilities per action"),
        ("overutilizations.json", "{}", "core_bubbles", "does not tell the overutilizations"),
        ("overutilizations.json", '{"core": [[1, 2, 3]], "mem": [], "mem_bw": {"nb_procs": 1, "procs": {}}}',
         "core_bubbles", r"a span must be \[start, end\]"),
        ("overutilizations.json", '{"core": "x", "mem": [], "mem_bw": {"nb_procs": 1, "procs": {}}}',
         "core_bubbles", "must be a list of times"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_in_one_line(tmp_path, name, content, kind, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ResultsError, match=message):
        draw(kind, tmp_path, tmp_path / "picture.png")


@pytest.mark.parametrize(
    ("longest", "unit"), [(5.25, "seconds"), (150.0, "minutes"), (7200.0, "hours"), (1.6e6, "days")]
)
def test_the_unit_of_time_suits_the_longest(longest, unit):
    assert unit_of_time(longest)[1] == unit


# larger runs, other formats
@pytest.mark.more
def test_evalys_warns_nobody(tmp_path):
    code = "import sys, pathlib, hdeeprm_like.results.plots as v; v.draw('gantt', *map(pathlib.Path, sys.argv[1:]))"
    command = [sys.executable, "-W", "error", "-c", code, str(SPREAD), str(tmp_path / "gantt.png")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_an_added_picture_is_drawn_and_listed(tmp_path, monkeypatch, capsys):
    (tmp_path / "own_picture.py").write_text(
        "def draw(figure, run):\n    figure.subplots().set_ylabel(str(run.cores))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(KINDS, "own", Plot("A picture of our own", "own_picture:draw", ("out_jobs.csv",)))
    figure = drawn(monkeypatch, "own", SPREAD)
    assert "A picture of our own" in texts(figure)[0] + figure.get_suptitle()
    with pytest.raises(SystemExit):
        main(["visual", "--help"])
    assert "own" in capsys.readouterr().out.replace(",", " ").replace(";", " ").split()


def test_every_picture_of_the_table_has_its_function():
    for plot in KINDS.values():
        module, _, name = plot.draw.partition(":")
        assert callable(getattr(importlib.import_module(module), name))
