"""``report``: what a run left, for a browser, where the Gantt chart is dragged and searched."""

import html as markup
import json
import re
import shutil
import subprocess
import threading
import urllib.parse

import numpy as np
import pandas as pd
import pytest
from markupsafe import escape
from robust_inputs import printed, refused

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.results.pictures import picture
from hdeeprm_like.results.plots.learning import learning_curves
from hdeeprm_like.results.report import in_words, metrics_table, told_rows
from hdeeprm_like.results.run_page import facts_of, unseen_jobs, waits_by_kind
from hdeeprm_like.results.run_reader import open_runs

CHROMIUM = shutil.which("chromium")
COLUMNS = "job_id,workload_name,submission_time,requested_number_of_resources,starting_time,finish_time,"
COLUMNS += "waiting_time,execution_time,allocated_resources,success,profile,requested_time,final_state,turnaround_time"
COLUMNS += ",stretch,consumed_energy,metadata"


def left_run(folder, jobs, cores, seed=1):
    """A folder with the jobs of a run, one after the other in each fifteen cores, on two stretches of these."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    run, pause, lanes = rng.integers(60, 5000, jobs), rng.integers(0, 900, jobs), cores // 15
    free, lines = np.zeros(lanes, np.int64), [COLUMNS]
    for job in range(jobs):
        lane = job % lanes
        first, start = 15 * lane, free[lane] + pause[job]
        free[lane] = start + run[job]
        last = first + int(rng.integers(0, 9))
        text = f"{first}-{last} {first + 12}" if last > first else f"{first} {first + 12}"
        submit, size = max(start - int(rng.integers(0, 900)), 0), last - first + 2
        lines.append(
            f"{job},w0,{submit},{size},{start},{start + run[job]},{start - submit},{run[job]},{text},1,p,{run[job]},"
            f"COMPLETED_SUCCESSFULLY,{start - submit + run[job]},1,-1,"
        )
    (folder / "out_jobs.csv").write_text("\n".join(lines) + "\n")
    profile = {"p": {"type": "delay", "delay": 1, "req_time": 1}}
    jobs_json = [{"id": str(job), "profile": "p", "user": f"u{job % 30}"} for job in range(jobs)]
    (folder / "workload.json").write_text(json.dumps({"nb_res": cores, "jobs": jobs_json, "profiles": profile}))
    return folder


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A run of 300 jobs on 200 cores."""
    return left_run(tmp_path_factory.mktemp("runs") / "small", jobs=300, cores=200)


@pytest.fixture
def page_of(tmp_path):
    """What writes the page of some runs, and returns where it is."""

    def write(*folders):
        printed("report", *folders, "-o", tmp_path / "report.html", "--quiet")
        return tmp_path / "report.html"

    return write


def test_a_report_of_two_runs_begins_with_a_sentence_and_a_picture_and_needs_nothing_more(small, tmp_path, page_of):
    other = left_run(tmp_path / "other", jobs=200, cores=200, seed=2)
    text = page_of(small, other).read_text()
    begin = text[text.index("</h1>") :]
    first = ("small: the mean wait of 300 jobs is", "other: the mean wait is", "<figure>", "<table>")
    places = [begin.index(shown) for shown in first]
    assert places == sorted(places)
    (change,) = re.findall(r", (\d+) % (?:more|less) than under small;", begin)
    means = metrics_table([small, other]).loc["wait (s)"].tolist()
    assert abs(int(change) - abs(100 * (means[1] / means[0] - 1))) <= 0.5
    for shown in (
        *("bounded slowdown", ">Steady utilization (%)</abbr></td>", "In brackets: against the first run.", "By size"),
        *("Mean wait (h) by size and run time", "Users with the most core time", "<h2>Jobs of other</h2>"),
    ):
        assert shown in text
    assert not re.search(r'(src|href)="(?!data:|#)', re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL))


def test_a_report_tells_figures_as_metrics_does(small, page_of):
    text = page_of(small).read_text()
    for figure, (title, value) in zip(FIGURES.values(), told_rows(metrics_table([small])), strict=True):
        told = f'<abbr title="{escape(figure.meaning)}">{escape(title)}</abbr>'
        assert f'<tr><td>{told}</td><td class="number">{value}</td></tr>' in text
    assert "In brackets" not in text


def left_training(folder, seed, episodes, lr=0.1):
    """A folder with the logs of a training."""
    folder.mkdir()
    rewards = np.random.default_rng(seed).normal(size=episodes).tolist()
    (folder / "options.json").write_text(json.dumps({"seed": seed, "pybatsim": {"agent": {"lr": lr}}}))
    lines = [f"{number},{20 + number},{reward}" for number, reward in enumerate(rewards, start=1)]
    (folder / "progress.csv").write_text("\n".join(["episode,decisions,reward", *lines]) + "\n")
    (folder / "evaluations.csv").write_text("episode,reward,mean_slowdown\n0,-3,5\n10,-2,4\n")
    (folder / "rewards.log").write_text("".join(f"{reward}\n" for reward in rewards))
    return folder


def test_trainings_that_differ_in_their_seed_are_one_curve_with_a_band(tmp_path, monkeypatch):
    folders = [left_training(tmp_path / f"run-{seed}", seed, 300) for seed in (1, 2)]
    folders.append(left_training(tmp_path / "other", 1, 30, lr=0.2))
    drawn = []
    monkeypatch.setattr("hdeeprm_like.results.pictures._write", lambda figure, save: drawn.append(figure))
    with picture(tmp_path / "curves.svg") as figure:
        learning_curves(figure, open_runs(folders))
    reward, *others = drawn[0].axes
    assert [axes.get_title() for axes in others] == [
        "decisions of an episode",
        "reward when evaluated",
        "mean slowdown when evaluated",
    ]
    assert [line.get_label() for line in reward.lines] == ["run-1 and others, 2 seeds", "other"]
    assert len(reward.collections) == 1  # the band
    assert others[2].lines[0].get_ydata().tolist() == [5.0, 4.0]


def test_a_training_has_a_page_and_a_folder_without_jobs_or_logs_none(tmp_path, page_of):
    folder = left_training(tmp_path / "run", 1, 30)
    assert "<h2>Learning curves</h2>" in page_of(folder).read_text()
    (folder / "evaluations.csv").write_text("episode,reward\n0,no\n")
    (tmp_path / "empty").mkdir()
    for none in (folder, tmp_path / "empty"):
        refused("report", none, "-o", tmp_path / "none.html")
    assert not (tmp_path / "none.html").exists()


def test_waits_stand_by_size_and_run_time(tmp_path):
    lines = [COLUMNS]
    for job, (size, wait, lasts) in enumerate([(1, 3600, 59), (1, 7200, 59), (2, 0, 3600), (6, 1800, 90_000)]):
        start, cores = wait, f"0-{size - 1}" if size > 1 else "0"
        lines.append(
            f"{job},w0,0,{size},{start},{start + lasts},{wait},{lasts},{cores},1,p,1,COMPLETED_SUCCESSFULLY,1,1,-1,"
        )
    (tmp_path / "out_jobs.csv").write_text("\n".join(lines) + "\n")
    assert waits_by_kind(open_runs([tmp_path])[tmp_path.name]).rows == [
        ["1", "1.50", "-", "-", "-", "-"],
        ["2 to 4", "-", "-", "-", "0.00", "-"],
        ["5 to 8", "-", "-", "-", "-", "0.50"],
    ]


def test_what_a_window_does_not_show_is_told_of_agents_that_chose_from_one(tmp_path):
    folder = left_run(tmp_path / "windowed", jobs=300, cores=200)
    env = {"preset": "DeepBackfilling", "window": {"head": 1, "tail": 0}}
    (folder / "run.json").write_text(json.dumps({"options": {"pybatsim": {"env": env}}}))
    run = open_runs([folder])["windowed"]
    found = re.search(r"window of 1 slots: ([\d.]+) jobs waited outside it on average, some of them in ([\d.]+) %",
                      unseen_jobs(run))  # fmt: skip
    ticks = np.arange(run.jobs.submit.min(), run.jobs.start.max(), 1.0)
    waiting = ((run.jobs.submit[:, None] <= ticks) & (ticks < run.jobs.start[:, None])).sum(axis=0)
    assert float(found[1]) == pytest.approx(np.maximum(waiting - 1, 0).mean(), abs=0.06)
    assert float(found[2]) == pytest.approx(100 * (waiting > 1).mean(), abs=0.06)
    (folder / "run.json").write_text(json.dumps({"options": {"pybatsim": {"env": {"preset": "HDeepRM"}}}}))
    assert not unseen_jobs(open_runs([folder])["windowed"])


FOUND = re.compile(r'CONSOLE[^"]*"found ([^ "]+)"')  # in what the browser writes to stderr


def opened(page, tmp_path, script, chart=".gantt"):
    """The chart's attributes and text after a script has run in the page, in a browser without a window.

    The browser goes on until the script has written what it found: how fast the machine is does not matter.
    """
    after = page.with_name("with-script.html")
    run = (
        "<script>window.addEventListener('load', async () => {"
        f"const root = document.querySelector('{chart}'), wait = (ms) => new Promise((go) => setTimeout(go, ms));"
        "while (!root.dataset.ready) await wait(20);"
        "const canvas = root.querySelector('canvas'), told = root.querySelector('output');"
        "const at = (kind, x, y) => { const r = canvas.getBoundingClientRect(); canvas.dispatchEvent(new MouseEvent("
        "kind, {clientX: r.left + 1 + x, clientY: r.top + 1 + y, bubbles: true})); };"
        f"const found = {{}}; {script}"
        "console.log(`found ${encodeURIComponent(JSON.stringify(found))}`); });</script></body>"
    )
    after.write_text(page.read_text().replace("</body>", run))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile"]
    flags += ["--enable-logging=stderr", "--remote-debugging-port=0", "--window-size=1200,900"]
    command = [CHROMIUM, *flags, after.resolve().as_uri()]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as browser:
        late = threading.Timer(600, browser.kill)
        late.start()
        said = []
        for line in browser.stderr:
            said.append(line)
            if "CONSOLE" in line:  # what was found, or a complaint
                break
        late.cancel()
        browser.terminate()
    told = FOUND.search("".join(said))
    assert told, said
    return json.loads(urllib.parse.unquote(told[1]))


# the same with many jobs
@pytest.mark.lane(more=r"2000", slow=r"50000")
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the chart is not opened in a browser")
@pytest.mark.parametrize("jobs", [2000, 50_000])
def test_a_chart_is_small_and_can_be_zoomed_hovered_and_searched(jobs, tmp_path, page_of):
    folder = left_run(tmp_path / "large", jobs, cores=2280)
    page = page_of(folder)
    assert page.stat().st_size < 8_000_000
    found = opened(
        page,
        tmp_path,
        "found.ready = Number(root.dataset.ready); found.all = root.dataset.view;"
        "at('mousedown', 200, 100); at('mousemove', 400, 300); at('mouseup', 400, 300);"
        "found.zoomed = root.dataset.view;"
        "at('dblclick', 10, 10); found.back = root.dataset.view;"
        "const box = root.querySelector('input'); box.value = '777'; box.dispatchEvent(new Event('change'));"
        "found.searched = told.textContent; found.near = root.dataset.view;"
        "const [, , low, high] = root.dataset.view.split(' ').map(Number);"
        f"const across = ({15 * (777 % 152)} + 0.5 - low) / (high - low) * (canvas.clientHeight - 44);"
        "at('mousemove', 70 + (canvas.clientWidth - 70) / 2, across); found.hover = told.textContent;"
        "box.value = 'none'; box.dispatchEvent(new Event('change')); found.missing = told.textContent;"
        "const ways = root.querySelector('select'); ways.value = 'wait'; ways.dispatchEvent(new Event('change'));"
        "const dots = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "found.drawn = dots.reduce((sum, dot) => sum + (dot > 0), 0);",
    )
    every, zoomed, back = ([float(part) for part in found[key].split()] for key in ("all", "zoomed", "back"))
    assert every[0] == 0
    assert every[2:] == [0, 2280]
    assert back == every
    assert 0.05 * every[1] < zoomed[0] < zoomed[1] < 0.5 * every[1]
    assert 0 < zoomed[2] < zoomed[3] < 2280
    row = (folder / "out_jobs.csv").read_text().splitlines()[778].split(",")
    assert found["searched"].startswith(
        f"job 777, user {sorted(f'u{n}' for n in range(30)).index('u27')}: {row[3]} cores"
    )
    assert found["hover"] == found["searched"]
    near = [float(part) for part in found["near"].split()]
    assert near[0] <= float(row[4]) <= float(row[5]) <= near[1]
    assert found["missing"] == "no job none"
    assert found["drawn"] > 1000
    if jobs == 50_000:
        assert found["ready"] < 10_000  # ms; some 700 on an idle processor


# in a browser
@pytest.mark.more
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the scripts are not run in a browser")
def test_marks_of_time_differ_however_late_a_short_span_lies(small, tmp_path, page_of):
    day = 86400
    found = opened(
        page_of(small),
        tmp_path,
        f"found.late = timeTicks({1247 * day}, {1247 * day + 5 * 3600}, 8);"
        f"found.days = timeTicks(0, {40 * day}, 8); found.fine = timeTicks({day}, {day} + 0.8, 8);"
        f"found.moment = moment({1247 * day + 3 * 3600 + 20 * 60 + 5}, 3600);"
        f"found.coarse = moment({1247 * day + 3 * 3600}, {2000 * day});",
    )
    texts = [tick["text"] for tick in found["late"]["ticks"]]
    assert texts == ["0", "1", "2", "3", "4", "5"]
    assert found["late"]["title"] == "hours since 1247 d"
    assert [tick["text"] for tick in found["days"]["ticks"]] == ["0", "5", "10", "15", "20", "25", "30", "35", "40"]
    fine = [tick["text"] for tick in found["fine"]["ticks"]]
    assert len(set(fine)) == len(fine) > 3
    assert found["moment"] == "1247 d 3 h 20 min 5 s"
    assert found["coarse"] == "1247 d"


# in a browser
@pytest.mark.more
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the player is not opened in a browser")
def test_runs_of_the_same_jobs_are_played_beside_each_other_and_others_are_not(small, tmp_path, page_of):
    later = tmp_path / "later"
    shutil.copytree(small, later)
    lines = [line.split(",") for line in (small / "out_jobs.csv").read_text().splitlines()]
    for line in lines[1:]:
        line[4], line[5], line[6] = (str(float(line[place]) + 600) for place in (4, 5, 6))
    (later / "out_jobs.csv").write_text("\n".join(",".join(line) for line in lines) + "\n")
    found = opened(
        page_of(small, later),
        tmp_path,
        "const texts = () => [...root.querySelectorAll('output')].map((one) => one.textContent);"
        "const slider = root.querySelector('input');"
        "slider.value = 1000; slider.dispatchEvent(new Event('input')); found.end = texts();"
        "found.now = Number(root.dataset.now);"
        "slider.value = 0; slider.dispatchEvent(new Event('input')); found.begin = texts();"
        # the browser's frames are replaced by frames of known dates (ms): the first one before the click
        "const due = new Map(); let made = 0;"
        "window.requestAnimationFrame = (draws) => (due.set(++made, draws), made);"
        "window.cancelAnimationFrame = (one) => due.delete(one);"
        "const frame = (at) => { const now = [...due.values()]; due.clear(); now.forEach((draws) => draws(at)); };"
        "const click = () => root.querySelector('button').click();"
        "const shown = (at) => (frame(at), Number(root.dataset.now));"
        "click(); found.moved = [shown(-5000), shown(-3000)];"
        "click(); click(); found.due = due.size; found.moved.push(shown(7000), shown(8000));"
        "click(); found.running = root.dataset.running;",
        ".player",
    )
    waits = np.array([float(line[6]) for line in lines[1:]])
    assert found["now"] == max(float(line[5]) for line in lines[1:])
    for shown, mean in zip(found["end"], (waits.mean() - 600, waits.mean()), strict=True):
        assert float(re.search(r"mean wait so far ([\d.]+) min", shown)[1]) == pytest.approx(mean / 60, rel=6e-3)
    end = max(float(line[5]) for line in lines[1:])  # is played in 40 s
    assert found["moved"] == pytest.approx([0, end * 2 / 40, end * 2 / 40, end * 3 / 40])
    assert found["due"] == 1  # a pause between two frames leaves one series of frames
    assert found["running"] == "false"
    other = left_run(tmp_path / "other", jobs=200, cores=200, seed=2)
    assert 'class="player"' not in page_of(small, other).read_text()


def test_the_head_tells_where_a_run_is_from(small, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    record = {"options": {"pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": "first-high_gflops"}}}, "seed": 7}
    record |= {"platform": {"file": "/a/gaia.json", "nodes": 3}, "workload": {"file": "/a/jobs.swf", "jobs": 300}}
    record |= {"versions": {"hdeeprm_like": "9.8.7"}, "simulator": "embedded"}
    (folder / "run.json").write_text(json.dumps(record))
    (folder / "options.json").write_text("{}")
    found = facts_of(open_runs([folder])["run"])
    assert found.pop("date").endswith(" UTC")
    assert markup.unescape(re.sub("<.*?>", "", found.pop("command"))) == (
        f"hdeeprm-like launch --options {folder}/options.json --output again"
    )
    assert found == {
        "machine": "gaia.json, 200 cores, 3 nodes",
        "workload": "jobs.swf, 300 jobs",
        "policy": "first-high_gflops",
        "seed": 7,
        "version": "hdeeprm_like 9.8.7",
        "simulator": "embedded",
    }
    bare = facts_of(open_runs([small])["small"])
    assert (bare["machine"], bare["policy"], bare["command"]) == ("200 cores", "not recorded", "not recorded")


def test_a_sentence_has_no_share_where_the_first_run_has_no_waits():
    table = pd.DataFrame({name: [0.0] * len(FIGURES) for name in ("a", "b")}, index=list(FIGURES))
    assert "than under" not in in_words(table)[1]
