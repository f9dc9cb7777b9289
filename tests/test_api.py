"""What ``import hdeeprm_like`` offers: simulating, comparing and reading files from Python."""

import csv
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from robust_inputs import printed
from small import jobs, platform

import hdeeprm_like
import hdeeprm_like.gym
from hdeeprm_like import (
    PRESETS,
    HDeepRMError,
    OptionsError,
    WorkloadError,
    compare,
    load_experiment,
    load_platform,
    load_workload,
    simulate,
)
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.engine.state import State
from hdeeprm_like.envs.single import SchedulingEnv
from hdeeprm_like.experiment import Overrides
from hdeeprm_like.experiment import load_experiment as load_with
from hdeeprm_like.launch.drivers import Classic

ROOT = Path(__file__).parent.parent
LEARNING = ROOT / "platforms" / "learning.json"
LUBLIN = ROOT / "workloads" / "lublin_256_500.swf.gz"
CLUSTER = platform((1000.0, [(4, 1.0, 100.0, 10.0)]), (500.0, [(2, 2.0, 80.0, 10.0), (2, 1.0, 50.0, 5.0)]))
CLOCKS = ("batsim", "textbook")


def random_jobs(count=40, seed=3):
    """Jobs that wait for cores and memory of the cluster of this module."""
    rng = np.random.default_rng(seed)
    seconds = rng.integers(1, 30, count)
    return jobs(
        np.sort(rng.integers(0, 60, count)),
        seconds,
        rng.integers(1, 5, count),
        memory=rng.integers(0, 200, count),
        estimate=seconds + rng.integers(0, 20, count),
    )


@pytest.mark.parametrize("clock", CLOCKS)
def test_shortest_first_starts_the_short_job_and_makes_the_long_one_wait(clock):
    schedule = simulate(platform(), jobs(seconds=[30, 10]), "shortest-high_gflops", clock)
    assert np.round(schedule.start, 5).tolist() == [10.0, 0.0]
    assert np.round(schedule.finish, 5).tolist() == [40.0, 10.0]
    assert schedule.job == ("w0!000000", "w0!000001")
    assert schedule.figures["wait"] == pytest.approx(5.0, abs=1e-4)


def test_a_decision_after_each_event_starts_the_first_of_two_jobs_that_come_at_once():
    schedule = simulate(platform(), jobs(seconds=[30, 10]), "shortest-high_gflops", "one-by-one")
    assert schedule.start.tolist() == [0.0, 30.0]


def test_backfilling_starts_the_short_job_beside_the_long_one():
    waiting = jobs([0, 1, 2], seconds=[10, 10, 5], size=[1, 2, 1])
    starts = {
        name: simulate(2, waiting, name, clock="textbook").start.tolist() for name in ("fcfs+strict", "fcfs+easy")
    }
    assert starts == {"fcfs+strict": [0.0, 10.0, 20.0], "fcfs+easy": [0.0, 10.0, 2.0]}


def test_a_job_that_no_node_can_hold_is_listed_apart():
    schedule = simulate(CLUSTER, jobs(seconds=[5, 5], memory=[0.0, 5000.0], ids=["w0!a", "w0!b"]), "sjf+easy")
    assert (schedule.job, schedule.not_run) == (("w0!a",), ("w0!b",))
    assert "1 job (1 more never ran) by sjf+easy on 8 cores" in repr(schedule)


def test_the_table_has_a_row_for_each_job_and_the_figures_a_name_for_each_value():
    schedule = simulate(1, jobs(seconds=[10, 20]), "fcfs", clock="textbook")
    table = schedule.to_pandas()
    assert table["wait"].tolist() == [0.0, 10.0]
    assert table["finish"].tolist() == [10.0, 30.0]
    assert "user" not in table
    assert list(schedule.figures) == list(FIGURES)
    assert schedule.figures["makespan"] == 30.0
    assert repr(schedule) == "Schedule of 2 jobs by fcfs on 1 cores: makespan 30 s, mean bounded slowdown 1.25"


@pytest.mark.parametrize(("machine", "clock"), [(4, "textbook"), (CLUSTER, "batsim")])
def test_a_trace_tells_its_users(machine, clock, tmp_path):
    """The last two jobs of the file come the other way round, and take their users with them."""
    path = tmp_path / "t.swf"
    submitted = [(0, 1), (2, 1), (1, 0)]  # s, user
    path.write_text(
        "".join(f"{job} {s} -1 9 2 -1 -1 2 9 -1 1 {user} 1 -1 1 -1 -1 -1\n" for job, (s, user) in enumerate(submitted))
    )
    for workload in (path, load_workload(path, machine)):
        schedule = simulate(machine, workload, "multifactor+easy", clock)
        assert schedule.to_pandas()["user"].tolist() == [1, 0, 1]
        assert not np.isnan(schedule.figures["fairness"])


@pytest.mark.parametrize("clock", CLOCKS)
def test_what_is_saved_can_be_drawn_and_measured(clock, tmp_path):
    schedule = simulate(CLUSTER, random_jobs(), "sjf+easy", clock)
    schedule.save(tmp_path / "run")
    with (tmp_path / "run" / "out_jobs.csv").open() as file:
        rows = {row["job_id"]: row for row in csv.DictReader(file)}
    for job, start, finish in zip(schedule.job, schedule.start, schedule.finish, strict=True):
        row = rows[job.removeprefix("w0!")]
        assert float(row["starting_time"]) == pytest.approx(start, abs=1e-6)
        assert float(row["finish_time"]) == pytest.approx(finish, abs=1e-6)
        assert (row["consumed_energy"] == "-1.000000") == (clock == "textbook")
    assert "Makespan" in printed("metrics", tmp_path / "run", "--csv", tmp_path / "figures.csv")
    schedule.gantt(tmp_path / "gantt.png")
    assert (tmp_path / "gantt.png").read_bytes().startswith(b"\x89PNG")


def test_a_gantt_chart_is_drawn_on_axes_or_inline_and_no_window_opens(monkeypatch):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda *args, **more: pytest.fail("a window"))
    schedule = simulate(2, jobs(seconds=[10, 20]), "fcfs", clock="textbook")
    figure, (upper, lower) = pyplot.subplots(2)
    assert schedule.gantt(ax=lower) is lower
    assert (len(upper.patches), len(lower.patches) > 0) == (0, True)
    inline = schedule.gantt()
    assert pyplot.fignum_exists(inline.figure.number)  # which is what a notebook shows
    assert inline.figure is not figure
    with pytest.raises(OptionsError, match="gantt: takes save or ax"):
        schedule.gantt("x.png", ax=lower)
    pyplot.close("all")


def test_what_the_interface_returns_is_a_line_in_a_terminal_and_a_table_in_a_notebook():
    schedule = simulate("gaia", load_workload("lublin-1-500", "gaia"), "fcfs+easy", clock="textbook")
    few = simulate(1, jobs(seconds=[10]), "fcfs", clock="textbook")
    none = load_workload("lublin-1-500").take(slice(0))
    for one in (
        schedule,
        few,
        *(found.workload for found in (schedule, few)),
        none,
        load_platform("frontier"),
        CLUSTER,
    ):
        assert len(repr(one)) < 150
        assert "\n" not in repr(one)
        assert repr(one) in one._repr_html_().replace("&#x27;", "'")
    assert len(repr(load_experiment("gaia"))) < 4000  # most of them of its options
    assert repr(load_platform("two-kinds")) == "Platform two_kinds: 6 nodes, 12 processors, 320 cores"
    page = load_platform("two-kinds")._repr_html_()
    assert "<td>fast</td><td>2</td><td>32</td><td>hot</td><td>64</td><td>192</td><td>0</td>" in page
    assert "<td>P95 waiting</td><td>" in schedule._repr_html_()


def test_a_workload_is_a_table_with_a_row_for_each_job():
    workload = jobs(submit=[0, 5], seconds=[10, 20], size=[1, 3])
    table = workload.to_pandas()
    assert table["job"].tolist() == list(workload.ids)
    for name in ("submit", "size", "requested_time", "memory", "bandwidth", "gpus", "user"):
        assert table[name].tolist() == getattr(workload, name).tolist()


def test_what_is_saved_is_what_launch_writes(tmp_path):
    """The job, the schedule and the machines of `launch`, but for the two columns of wall clock."""
    options = options_file(tmp_path, "shortest-high_gflops")
    printed("launch", "--options", options, "--output", tmp_path / "launched", "-q")
    found = load_experiment(options)
    simulate(found.platform, found.workload, "shortest-high_gflops").save(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "launched").iterdir()} - {"makespans.log", "options.json", "run.json"}
    assert {path.name for path in (tmp_path / "saved").iterdir()} == names
    for name in names - {"out_schedule.csv", "platform.xml"}:
        assert (tmp_path / "saved" / name).read_bytes() == (tmp_path / "launched" / name).read_bytes()


def options_file(folder, policy):
    """An experiment on the learning platform with the jobs of a model."""
    content = {
        "seed": 4,
        "nb_jobs": 50,
        "platform_file_path": str(LEARNING),
        "workload": {"model": "lublin", "columns": "hdeeprm"},
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": policy}},
    }
    path = folder / "options.json"
    path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("policy", ["random-random", "shortest-high_gflops", "sjf+easy", "multifactor+easy"])
def test_simulate_and_launch_start_every_job_at_the_same_time(policy, tmp_path):
    found = load_with(options_file(tmp_path, policy), Overrides())
    if policy == "multifactor+easy":  # which shares between users
        found = replace(found, workload=replace(found.workload, user=np.arange(50) % 3))
    simulator, _ = Classic(found).play(progress=False)
    schedule = simulate(found.platform, found.workload, policy, seed=4)
    assert schedule.start.tolist() == simulator.simulation.tasks["start"].tolist()
    assert schedule.finish.tolist() == simulator.simulation.tasks["finish"].tolist()


def test_on_a_pool_users_share_fairly():
    two = replace(jobs(submit=np.zeros(8), seconds=10.0, size=2), user=np.array([0, 0, 0, 0, 1, 1, 1, 1]))
    first = simulate(4, two, "multifactor", "textbook").start.tolist()
    assert first[:4] != [0.0, 0.0, 10.0, 10.0]  # as for jobs of one user
    one = replace(two, user=np.zeros(8, np.int64))
    assert simulate(4, one, "multifactor", "textbook").start.tolist()[:4] == [0.0, 0.0, 10.0, 10.0]


POLICIES = ["sjf+easy", "f1+conservative", "shortest-high_gflops"]


@pytest.mark.parametrize("clock", CLOCKS)
@pytest.mark.parametrize("policy", ["shortest-high_gflops", "sjf+easy"])
def test_simulate_and_an_environment_that_takes_only_that_action_start_every_job_at_the_same_time(policy, clock):
    """The other actions are there and never taken, so that this and other tests need the same machine code."""
    workload = random_jobs()
    env = gymnasium.make(
        "hdeeprm_like/PolicySelect-v0", actions=POLICIES, platform=CLUSTER, workload=workload, clock=clock
    )
    env.reset(seed=0)
    over = False
    while not over:
        _, _, over, _, _ = env.step(POLICIES.index(policy))
    tasks = env.unwrapped.play.simulator.simulation.tasks
    schedule = simulate(CLUSTER, workload, policy, clock)
    assert len(set(schedule.start.tolist())) > 10  # they do wait
    assert schedule.start.tolist() == tasks["start"].tolist()


def test_compare_ranks_policies_and_keeps_nothing_unless_asked(tmp_path):
    asked = (LUBLIN, ["fcfs", "sjf+easy"], "2x50")
    summary = compare(*asked, seed=2)
    assert sorted(summary["policy"]) == ["fcfs+strict", "sjf+easy"]
    kept = compare(*asked, seed=2, output=tmp_path / "kept")
    assert kept.equals(summary)
    assert (tmp_path / "kept" / "results.csv").exists()
    assert not compare(*asked, seed=2, platform=128 * 4).equals(summary)


def test_compare_takes_windows_and_a_reference_as_the_command_does(tmp_path):
    summary = compare(LUBLIN, ["fcfs", "sjf+easy"], "disjoint:4x100", reference="fcfs", jobs_by="id")
    assert set(summary["reference"]) == {"fcfs+strict"}
    assert set(summary["windows"]) == {4}
    offsets = tmp_path / "offsets.csv"
    offsets.write_text("start_index\n12\n137\n262\n387\n")  # the middles of four times 125 jobs
    listed = compare(LUBLIN, ["fcfs", "sjf+easy"], "4x100", offsets=offsets, reference="fcfs", jobs_by="id")
    assert listed.equals(summary)


@pytest.mark.parametrize("policy", ["f1+conservative", "shortest-high_gflops"])
def test_simulate_and_compare_agree_on_the_whole_trace(policy):
    schedule = simulate(256, LUBLIN, policy, clock="textbook")
    summary = compare(LUBLIN, [policy], "1x500", platform=256)
    assert compare(LUBLIN, [policy], "all", platform=256).equals(summary)
    for name in ("bounded_slowdown", "wait"):
        assert summary[name].iloc[0] == pytest.approx(schedule.figures[name], rel=1e-12)


def test_files_are_read_by_text_or_path():
    assert load_platform(str(LEARNING)).cores == load_platform(LEARNING).cores == 4
    assert len(load_workload(LUBLIN, 256)) == 500
    assert len(load_workload(str(LUBLIN), platform=load_platform(ROOT / "platforms" / "gaia.json"))) > 0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: simulate(4, jobs(), "sjf+eazy"), OptionsError, "did you mean 'easy'"),
        (lambda: simulate(4, jobs(), "shortst-high_gflops"), OptionsError, "did you mean 'shortest'"),
        (lambda: simulate(4, jobs(), "fcfs", clock="batsin"), OptionsError, "did you mean 'batsim'"),
        (lambda: simulate(4, jobs(), "agent:"), OptionsError, "folder of a training"),
        (lambda: simulate(0, jobs(), "fcfs"), OptionsError, "pool of 0 cores"),
        (lambda: simulate(4, "nowhere.swf", "fcfs"), WorkloadError, "nowhere.swf"),
        (lambda: simulate(4, jobs(size=8), "fcfs"), WorkloadError, "none of 1 jobs"),
        (lambda: compare(LUBLIN, ["fcfs"], "2by50"), OptionsError, "2by50"),
        (lambda: compare(LUBLIN, ["fcfs", "fcfs"], "2x50"), OptionsError, "twice"),
        (lambda: compare(LUBLIN, ["fcfs"], "2x50", reference="sjf"), OptionsError, "none of the policies"),
        (lambda: compare(LUBLIN, ["fcfs"], "2x50", offsets="nowhere.csv"), WorkloadError, "nowhere.csv"),
        (lambda: compare(LUBLIN, ["fcfs"], "2x50", platform=0), OptionsError, "pool of 0 cores"),
        (lambda: compare(LUBLIN, ["fcfs"], "2x50", platform=-4), OptionsError, "pool of -4 cores"),
    ],
)
def test_bad_input_gives_one_line_that_says_what_is_right(call, error, message):
    with pytest.raises(error, match=message) as raised:
        call()
    assert "\n" not in str(raised.value)
    assert issubclass(error, HDeepRMError)


def test_every_name_of_the_package_is_there_and_has_a_docstring():
    for name in hdeeprm_like.__all__:
        found = getattr(hdeeprm_like, name)
        own = inspect.isclass(found) or inspect.isroutine(found)
        text = found.__doc__ if own else hdeeprm_like.__doc__
        assert text, name
        assert own or name in text
        if name == "Schedule":
            public = [vars(found)[one] for one in vars(found) if not one.startswith("_")]
            assert all(one.__doc__ for one in public)
    assert set(hdeeprm_like.__all__) <= set(dir(hdeeprm_like))
    assert hdeeprm_like.PRESETS is PRESETS
    with pytest.raises(AttributeError, match="simulat"):
        _ = hdeeprm_like.simulat


def shown_docstrings():
    """Each docstring that docs/reference/api.md shows, by the name of what it describes."""
    modules = [import_module(f"hdeeprm_like.{name}") for name in ("api", "simulated", "errors", "learning.agents")]
    own = [
        one for module in modules for one in vars(module).values() if getattr(one, "__module__", 0) == module.__name__
    ]
    checks = [getattr(hdeeprm_like, name) for name in ("check_policy", "check_agent", "check_platform", "load_agent")]
    for one in (*modules, *own, *checks, SchedulingEnv, State):
        yield one.__name__, inspect.getdoc(one) or ""
        for base in one.__mro__ if inspect.isclass(one) else ():
            for name, part in vars(base).items() if base.__module__.startswith("hdeeprm_like") else ():
                if not name.startswith("_"):
                    yield f"{base.__name__}.{name}", inspect.getdoc(part) or ""


def entries(docstring):
    """The lines of a docstring that begin an entry of a section of names, and those that continue one."""
    inside = False
    for line in docstring.splitlines():
        if re.fullmatch(r"(Args|Attributes|Raises):", line):
            inside = True
        elif line and not line.startswith(" "):
            inside = False
        elif inside and line:
            yield line


def run_together(docstring):
    """The lines of a docstring of which sphinx would make one entry of several names, or an entry of no name."""
    return [
        line
        for line in entries(docstring)
        if re.search(r"\. [A-Za-z_]+: ", line) or not re.match(r"    (    |[*]*\w+: )", line)
    ]


def test_a_docstring_of_the_reference_has_one_name_a_line():
    found = {name: run_together(text) for name, text in shown_docstrings()}
    assert len(found) > 60
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert run_together(
        "Run.\n\nArgs:\n    a, b: s.\n    c: m. d: J.\n    e: long\n    line.\n    f: so\n        on."
    ) == [
        "    a, b: s.",
        "    c: m. d: J.",
        "    line.",
    ]


def test_importing_the_package_takes_no_time():
    """For it loads no module that Python has not loaded to begin with, but some small ones of Python's own."""
    code = "import sys; before = set(sys.modules); import hdeeprm_like; print(*set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})  # fmt: skip
    loaded = done.stdout.split()
    assert {name for name in loaded if name.startswith("hdeeprm_like")} == {"hdeeprm_like", "hdeeprm_like.version"}
    assert len(loaded) < 40


@pytest.mark.parametrize("policy", ["random-random", "random-high_gflops", "sjf+easy-random", "wfp3+conservative"])
def test_equal_cores_have_names_when_they_are_asked_for_and_the_schedule_stays(policy):
    dice = np.random.default_rng(7)
    workload = jobs(np.sort(dice.integers(0, 300, 200)), dice.integers(1, 90, 200), dice.integers(1, 9, 200))
    schedule = hdeeprm_like.simulate(16, workload, policy, clock="textbook", seed=3)
    named = schedule.simulator
    assert named is schedule.simulator
    assert named.state.named
    tasks = named.simulation.tasks
    assert (tasks["start"].tolist(), tasks["finish"].tolist()) == (schedule.start.tolist(), schedule.finish.tolist())
