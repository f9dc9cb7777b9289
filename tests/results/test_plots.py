"""Pictures of runs: what they show, in which form, and what is said of those that cannot be drawn."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused
from test_run_page import left_run

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.results.pictures import Look, unit_of_time
from hdeeprm_like.results.plots import COLOURED_BY, PICTURES, Part, compare, draw
from hdeeprm_like.results.plots.charts import STRETCHES, binned
from hdeeprm_like.results.plots.classes import classes_of
from hdeeprm_like.results.plots.differences import start_differences
from hdeeprm_like.results.plots.job_colours import USERS, colouring_of
from hdeeprm_like.results.plots.load import busy_shares, nodes_of
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


@pytest.fixture
def figures(monkeypatch):
    """The figures of all pictures, before they are saved."""
    found = []
    monkeypatch.setattr("hdeeprm_like.results.pictures._write", lambda figure, save: found.append(figure))
    return found


@pytest.fixture
def drawn(figures):
    """What draws a picture and returns its figure."""

    def figure_of(kind, run):
        draw(kind, run, Path("unsaved.png"))
        return figures[-1]

    return figure_of


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
    for kind in PICTURES:
        for run in (LEARNED,) if kind in OF_LEARNING else (CONSOLIDATED, SPREAD, LONG, LEARNED):
            others = run != CONSOLIDATED and kind not in OF_LEARNING
            yield pytest.param(kind, run, marks=[pytest.mark.more] * others, id=f"{kind}-{run.name}")


@pytest.mark.parametrize(("kind", "run"), [*drawings()])
def test_every_kind_is_drawn_for_recorded_runs(tmp_path, kind, run):
    draw(kind, run, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(BEGINS[".png"])
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


# larger runs, other formats
@pytest.mark.lane(more=r"(?!(consolidated-\.svg)$).*")
@pytest.mark.parametrize("suffix", BEGINS)
@pytest.mark.parametrize("run", [CONSOLIDATED, SPREAD], ids=["consolidated", "spread"])
def test_a_picture_is_saved_in_three_formats_always_with_the_same_bytes_and_not_large(tmp_path, run, suffix):
    for name in ("a", "b"):
        draw("gantt", run, tmp_path / f"{name}{suffix}")
    content = (tmp_path / f"a{suffix}").read_bytes()
    assert content.startswith(BEGINS[suffix])
    assert content == (tmp_path / f"b{suffix}").read_bytes()
    assert len(content) < 500_000


def test_no_figure_stays_open():
    from matplotlib import pyplot

    assert pyplot.get_fignums() == []


def test_utilization_never_exceeds_the_machine_and_reaches_it(drawn):
    figure = drawn("utilization", LONG)
    busy = max(line.get_ydata().max() for line in figure.axes[0].lines if len(line.get_ydata()) > 2)
    assert busy == 2280


@pytest.mark.parametrize(
    ("kind", "run", "told"),
    [
        ("utilization", LONG, {"mean 58.4% of 2,280 cores"}),
        ("queue_size", LONG, {"mean 692, most 4,689"}),  # in requested cores
        ("lifecycle", LONG, {"arrived: 1,000", "started: 1,000", "completed: 1,000"}),
        ("action_preferences", LEARNED, {"first-high_mem_bw", "shortest-low_power"}),
    ],
)
def test_a_picture_tells_its_figures_in_words(kind, run, told, drawn):
    assert told <= set(texts(drawn(kind, run)))


def test_times_are_drawn_with_their_fractions(drawn):
    axes = drawn("utilization", LEARNED).axes[0]
    assert axes.lines[0].get_xdata().tolist() == [0.0, 4.772727, 5.25]
    assert axes.lines[0].get_ydata().tolist() == [2, 1, 0]
    assert axes.get_xlabel() == "time (seconds)"


def test_a_gantt_chart_has_a_box_per_stretch_of_cores_and_names_jobs_only_on_request(drawn):
    figure = drawn("gantt", LEARNED)
    assert sorted((box.get_y(), box.get_width()) for box in figure.axes[0].patches) == [(0, 5.25), (2, 4.772727)]
    assert sorted(text.get_text() for text in figure.axes[0].texts) == ["0", "1"]
    assert not drawn("gantt_no_label", LEARNED).axes[0].texts


def test_a_gantt_chart_of_many_jobs_says_how_many_are_too_small_to_name(drawn):
    figure = drawn("gantt", SPREAD)
    assert len(figure.axes[0].patches) == len(open_run(SPREAD).jobs.blocks)
    assert "0 of 100 jobs are large enough to name" in texts(figure)


def test_a_name_in_the_middle_of_a_box_takes_no_room_where_another_part_is_shown(tmp_path):
    """matplotlib warned that nothing was left for the axes, and the name stood beside them."""
    jobs = open_run(CONSOLIDATED).jobs
    longest = np.nanargmax(jobs.run)
    draw("gantt", CONSOLIDATED, tmp_path / "g.png", part=Part(jobs.start[longest], jobs.start[longest] + 1.0))


def test_jobs_are_coloured_by_what_is_asked_and_a_legend_says_so(tmp_path, figures):
    of_users = left_run(tmp_path / "run", jobs=300, cores=200)
    for by in COLOURED_BY:
        draw("gantt_no_label", of_users if by == "user" else CONSOLIDATED, tmp_path / "g.png", by=by)
    wait, size, time, user, job = figures
    assert [figure.axes[1].get_ylabel() for figure in (wait, size, time)] == ["wait", "cores", "run time"]
    names = [text.get_text() for text in user.axes[0].get_legend().get_texts()]
    assert len(names) == USERS + 1
    assert names[-1].endswith(" others")
    assert len(job.axes) == 1
    jobs = open_run(LONG).jobs
    colours = colouring_of(open_run(LONG), "wait").colours
    lightness = colours @ np.array([0.299, 0.587, 0.114])
    order = np.argsort(jobs.wait, kind="stable")
    assert lightness[order[0]] > lightness[order[len(order) // 2]] > lightness[order[-1]]


def test_a_picture_for_a_paper_has_the_size_of_a_column_and_no_title(tmp_path, figures, monkeypatch):
    for look in (Look(style="paper"), Look(), Look(title=""), Look(title="Own")):
        draw("utilization", LONG, tmp_path / "u.png", look=look)
    assert [figure.get_suptitle() for figure in figures] == ["", f"Utilization\n{LONG.name}", "", "Own"]
    monkeypatch.undo()
    line = ("visual", "utilization", "--run", LONG, "-s", tmp_path / "c.pdf", "--style", "paper")
    for own, size in ((), "0 0 252 165.6"), (("--size", "12.7x5.08cm", "--title", "Own"), "0 0 360 144"):
        printed(*line, *own)
        assert f"/MediaBox [ {size} ]".encode() in (tmp_path / "c.pdf").read_bytes()  # points, 72 an inch


@pytest.mark.parametrize("text", ["3", "0x4", "9x", "axb", "1e9x2in", "100x100", "...x.", "3x4mm"])
def test_a_size_that_is_none_is_refused_in_one_line(text):
    line = refused("visual", "gantt", "--run", LONG, "--size", text)
    assert "is no size; give 1 to 60 inches each way" in line


def test_the_busy_share_of_a_node_is_that_of_its_cores_and_of_the_time(tmp_path):
    head = (LEARNED / "out_jobs.csv").read_text().splitlines()[0].split(",")
    rows = [
        {"job_id": "0", "starting_time": "0", "finish_time": "5", "allocated_resources": "0-2"},
        {"job_id": "1", "starting_time": "2.5", "finish_time": "10", "allocated_resources": "3"},
    ]
    usual = {"workload_name": "w0", "requested_number_of_resources": "1", "submission_time": "0"}
    lines = [",".join({**usual, **row}.get(name, "0") for name in head) for row in rows]
    (tmp_path / "out_jobs.csv").write_text("\n".join([",".join(head), *lines]) + "\n")
    share = busy_shares(open_run(tmp_path), np.array([0, 0, 1, 1]), stretches=4)
    assert share.tolist() == [[1.0, 1.0, 0.0, 0.0], [0.5, 1.0, 0.5, 0.5]]


def test_busy_shares_add_up_to_the_core_time_of_the_jobs():
    run = open_run(LONG)
    node, name = nodes_of(run)
    assert name == "36 cores"  # the recording has no platform.xml
    share = busy_shares(run, node, stretches=500)
    cores = np.bincount(node)
    work = ((run.jobs.finish - run.jobs.start) * run.jobs.held)[run.jobs.ran].sum()
    assert (share.mean(axis=1) * cores).sum() * run.end == pytest.approx(work)


def test_a_difference_is_of_two_runs_of_the_same_jobs(tmp_path):
    line = ("visual", "difference", "-s", tmp_path / "d.png", "--run", CONSOLIDATED)
    printed(*line, "--run", SPREAD, "-q")
    later = start_differences(open_run(CONSOLIDATED), open_run(SPREAD))
    starts = dict(zip(open_run(CONSOLIDATED).jobs.ids, open_run(CONSOLIDATED).jobs.start, strict=True))
    spread = open_run(SPREAD).jobs
    assert later[5] == spread.start[5] - starts[spread.ids[5]]
    assert "difference takes two runs" in refused(*line)
    refused(*line, "--run", SPREAD, "--by", "wait")


def test_classes_hold_each_job_once_and_are_named_by_their_bounds(tmp_path):
    run = open_run(LONG)
    names, own = classes_of(run, "size")
    assert names == ["1 core", "2 to 8 cores", "9 to 64 cores", "65 to 512 cores"]
    sizes = run.jobs.size
    assert np.bincount(own).tolist() == [np.sum((low <= sizes) & (sizes < high)) for low, high in
                                         ((1, 2), (2, 9), (9, 65), (65, 513))]  # fmt: skip
    assert classes_of(run, "time")[0] == ["below 1 min", "1 min to 1 h", "1 h to 6 h", "from 6 h"]
    names, own = classes_of(open_run(left_run(tmp_path / "run", jobs=300, cores=200)), "user")
    assert names[-1] == "all others"
    assert np.bincount(own).tolist() == [10] * 5 + [250]


def test_the_energy_of_jobs_is_drawn_where_it_was_measured(tmp_path, drawn):
    assert any("a tenth of the jobs uses" in text for text in texts(drawn("energy_by_job", LONG)))
    text = (LEARNED / "out_jobs.csv").read_text().splitlines()
    place = text[0].split(",").index("consumed_energy")
    lines = [line.split(",") for line in text]
    for line in lines[1:]:
        line[place] = "-1.0"
    (tmp_path / "out_jobs.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    assert "no job has a measured energy" in texts(drawn("energy_by_job", tmp_path))


def test_lines_that_would_be_a_block_are_means_within_the_least_and_the_most():
    times = np.array([0.0, 1.0, 1.0, 2.0, 3.0, 4.0])
    edges, mean, least, most = binned(times, np.array([2.0, 9.0, 4.0, 0.0, 6.0, 1.0]), 2)
    assert edges.tolist() == [0.0, 2.0, 4.0]
    assert mean.tolist() == [3.0, 3.0]
    assert least.tolist() == [2.0, 0.0]
    assert most[1] == 6.0
    assert most[0] >= 4.0


def test_a_queue_that_changes_often_is_drawn_in_stretches(monkeypatch, drawn):
    monkeypatch.setattr("hdeeprm_like.results.plots.charts.MOST_STEPS", 100)
    line = drawn("queue_size", LONG).axes[0].lines[0]
    assert len(line.get_xdata()) == STRETCHES + 1


def test_bubbles_of_the_original_are_times(drawn):
    axes = drawn("core_bubbles", LONG).axes[1]
    assert axes.get_ylabel() == "failed starts so far"
    assert axes.lines[0].get_ydata()[-1] == 1085


def test_bubbles_of_ours_are_spans_that_add_up(tmp_path, drawn):
    spans = [[0.0, 3600.0], [7200.0, 18000.0]]
    run = run_with(tmp_path, {"core": [], "mem": spans, "mem_bw": {"nb_procs": 2, "procs": {}}})
    axes = drawn("mem_bubbles", run).axes[1]
    assert axes.get_ylabel() == "hours in bubbles so far"
    assert axes.lines[0].get_ydata().tolist() == [0.0, 1.0, 1.0, 4.0]
    assert "no job had to wait for cores" in texts(drawn("core_bubbles", run))


def test_bubbles_of_ours_tell_how_many_cores_idle_meanwhile(tmp_path, drawn):
    shutil.copy(LEARNED / "out_jobs.csv", tmp_path)  # two jobs on cores 0 and 1, 2 and 3, which overlap
    jobs = open_run(LEARNED).jobs
    end = float(jobs.finish.max())
    (tmp_path / "overutilizations.json").write_text(
        json.dumps({"core": [[1.0, 3.0], [4.0, end + 6.0]], "mem": [], "mem_bw": {"nb_procs": 2, "procs": {}}})
    )
    above = drawn("core_bubbles", tmp_path).axes[0]
    times, idle = above.lines[0].get_data()
    busy = ((jobs.start <= times[:, None]) & (times[:, None] < jobs.finish)) @ jobs.held
    assert above.get_ylabel() == "idle cores\nmeanwhile"
    assert np.where((times >= 1.0) & (times < 3.0) | (times >= 4.0) & (times < end + 6.0),
                    open_run(tmp_path).cores - busy, 0).tolist() == idle.tolist()  # fmt: skip
    assert idle.max() > 0


def test_bandwidth_spans_end_after_their_duration_and_open_ones_with_the_run(tmp_path, drawn):
    procs = {"1": {"state": 1, "values": [[0.0, 86400.0], [172800.0, 0]]}}
    run = run_with(tmp_path, {"core": [], "mem": [], "mem_bw": {"nb_procs": 3, "procs": procs}})
    assert open_run(run).overutilizations.bandwidth.tolist() == [[0.0, 86400.0], [172800.0, np.inf]]
    axes = drawn("mem_bw_overutilization", run).axes[0]
    boxes = [path.vertices for path in axes.collections[0].get_paths()]
    assert boxes[0][:4].tolist() == [[0, 1], [1, 1], [1, 1.9], [0, 1.9]]
    assert boxes[1][1, 0] == pytest.approx(768303.252632 / 86400)
    assert axes.get_ylim() == (0, 3)


def test_recorded_bandwidth_spans_are_all_drawn(drawn):
    axes = drawn("mem_bw_overutilization", LONG).axes[0]
    assert len(axes.collections[0].get_paths()) == len(open_run(LONG).overutilizations.bandwidth)


def test_preferences_without_options_carry_numbers(tmp_path, drawn):
    (tmp_path / "probs.json").write_text('{"probs": [[0.4], [0.6]]}')
    assert {"action 0", "action 1"} <= set(texts(drawn("action_preferences", tmp_path)))


def test_episodes_are_one_value_each(drawn):
    line = drawn("rewards", LEARNED).axes[0].lines[0]
    assert len(line.get_xdata()) == 350
    assert set(np.round(line.get_ydata(), 6)) == {6.0, 6.6, 8.4}


@pytest.mark.parametrize("kind", PICTURES)
def test_a_run_in_which_nothing_happened_is_drawn_with_a_note(tmp_path, drawn, kind):
    (tmp_path / "out_jobs.csv").write_text((SPREAD / "out_jobs.csv").read_text().splitlines()[0] + "\n")
    (tmp_path / "overutilizations.json").write_text('{"core": [], "mem": [], "mem_bw": {"nb_procs": 2, "procs": {}}}')
    (tmp_path / "out_consumed_energy.csv").write_text("time,energy,event_type,wattmin,epower\n")
    for name in ("losses.log", "rewards.log"):
        (tmp_path / name).write_text("")
    (tmp_path / "probs.json").write_text('{"probs": []}')
    shown = " ".join(texts(drawn(kind, tmp_path)))
    assert any(word in shown for word in ("no job", "no episodes", "no processor"))


def test_the_load_of_the_queue_is_drawn_below_its_length_and_left_out_where_requests_are_not_known(tmp_path, drawn):
    above, below = drawn("job_load", LONG).axes
    table = metrics_table([LONG])[LONG.name]
    assert above.lines[0].get_ydata().max() == table["queue_length_max"]
    assert below.lines[0].get_ydata().max() == pytest.approx(table["job_load_max (core s)"] / 3600)
    shutil.copy(LONG / "out_jobs.csv", tmp_path)
    assert "no workload.json gives the requested times" in texts(drawn("job_load", tmp_path))


def test_rejected_jobs_arrive_and_are_left_out_elsewhere(tmp_path, drawn):
    head, first, *_ = (SPREAD / "out_jobs.csv").read_text().splitlines()
    (tmp_path / "out_jobs.csv").write_text(f'{head}\n{first}\n4,w0,d5,2.0,99,10.0,0,REJECTED,,,,,,,,,""\n')
    assert {"arrived: 2", "started: 1"} <= set(texts(drawn("lifecycle", tmp_path)))
    assert "1 jobs that never ran are left out" in texts(drawn("queue_size", tmp_path))
    assert len(drawn("gantt", tmp_path).axes[0].patches) == 8


def test_packed_files_and_names_with_dollars_are_read_as_they_are(tmp_path, drawn):
    run = tmp_path / "a$b$_c"
    run.mkdir()
    (run / "out_jobs.csv.gz").write_bytes(gzip.compress((SPREAD / "out_jobs.csv").read_bytes()))
    assert "Utilization\na$b$_c" in texts(drawn("utilization", run))


def test_runs_are_compared_in_one_picture(tmp_path):
    compare([CONSOLIDATED, SPREAD, LONG], tmp_path / "compared.png")
    assert (tmp_path / "compared.png").stat().st_size > 20_000


WRITES = "`hdeeprm-like launch` writes it"


@pytest.mark.parametrize(
    ("kind", "how", "message"),
    [
        ("gantt", {}, f"has no out_jobs.csv; {WRITES} into the directory of its run"),
        ("core_bubbles", {}, "has no overutilizations.json; `hdeeprm-like launch`"),
        ("losses", {}, f"has no losses.log; {WRITES} when its agent learns"),
        ("gantt", {"run": LONG, "by": "colour"}, "--by: gantt is not drawn by 'colour'; it can be by wait, size"),
        ("utilization", {"run": LONG, "by": "wait"}, "utilization is not drawn by 'wait'; it can be by nothing"),
        ("gantt", {"run": GOLDEN.parent / "batsim4" / "calllater", "by": "user"}, "has no workload.json"),
        ("gant", {"run": SPREAD}, "there is no picture 'gant'; did you mean 'gantt'?"),
        ("gantt", {"run": SPREAD, "save": "picture.gif"}, "saved as .png, .svg or .pdf"),
        ("gantt", {"run": SPREAD, "save": "picture"}, "saved as .png, .svg or .pdf"),
        ("gantt", {"run": SPREAD, "save": ""}, "no display to show a picture on; use --save"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(tmp_path, kind, how, message):
    how = {"run": tmp_path, "save": "picture.png"} | how
    save = tmp_path / how.pop("save") if how["save"] else how.pop("save") or None
    with pytest.raises(HDeepRMError, match=re.escape(message)):
        draw(kind, how.pop("run"), save, **how)
    assert list(tmp_path.iterdir()) == []


SHORT = '{{"core": {}, "mem": [], "mem_bw": {{"nb_procs": 1, "procs": {{}}}}}}'


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("losses.log", "1.5\nmany\n", "losses", r"losses\.log:2: is 'many'; a number from -1e\+300 to 1e\+300"),
        ("probs.json", '{"probs": [[1], [1, 2]]}', "action_preferences", "one list of probabilities per action"),
        ("probs.json", "[]", "action_preferences", "one list of probabilities per action"),
        ("overutilizations.json", "{}", "core_bubbles", "has no overutilizations"),
        ("overutilizations.json", SHORT.format("[[1, 2, 3]]"), "core_bubbles", r"a span must be \[start, end\]"),
        ("overutilizations.json", SHORT.format('"x"'), "core_bubbles", "must be a list of times"),
    ],
)
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
