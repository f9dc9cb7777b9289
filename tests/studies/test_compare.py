import json
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from robust_inputs import printed, refused

import hdeeprm_like as hl
from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import FIGURES, figures
from hdeeprm_like.decision.compared_policies import policies_named
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.errors import OptionsError, ResultsError, WorkloadError
from hdeeprm_like.experiment import load_platform
from hdeeprm_like.studies.compare import run as comparing
from hdeeprm_like.studies.compare import table as tables
from hdeeprm_like.studies.compare.figures import USUAL, title_of, with_tails
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.studies.compare.page import write_comparison_page
from hdeeprm_like.studies.compare.sampling import Windows, windows_named
from hdeeprm_like.studies.compare.significance import one_sample
from hdeeprm_like.studies.compare.statistics import p_values_of
from hdeeprm_like.studies.compare.windows import schedule, schedules

AGENTS = Path(__file__).parents[2] / "agents"
ORDER = list(FIGURES).index
LEARNING = AGENTS.parent / "platforms" / "learning.json"


def written(path, jobs, largest, estimate, memory=-1, head=(), seed=3):
    """A trace of random jobs of three users, of up to so many cores, that request *estimate* times their run time."""
    rng = np.random.default_rng(seed)
    lines = list(head)
    for number, time in enumerate(np.cumsum(rng.integers(0, 60, jobs)).tolist(), start=1):
        run, size = rng.integers(1, 300), rng.integers(1, largest + 1)
        asked = f"{memory} {size} {estimate * run} -1 1 {number % 3}"
        lines.append(f"{number} {time} -1 {run} {size} -1 {asked} 1 -1 1 -1 -1 -1")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def trace(tmp_path):
    """80 jobs of up to 8 cores."""
    return written(tmp_path / "t.swf", 80, largest=8, estimate=2, head=["; MaxProcs: 8"])


@pytest.fixture
def narrow_trace(tmp_path):
    """60 jobs of less than the 4 cores of `LEARNING`, 10 MB each."""
    return written(tmp_path / "narrow.swf", 60, largest=3, estimate=1, memory=10_000, seed=4)


def line_of(trace, policies, windows, output, *more):
    """The words of a comparison."""
    return ["compare", "--trace", trace, "--policies", policies, "--windows", windows, "--output", output, *more]


def comparison(trace, policies="fcfs,sjf+easy,f1+conservative", **more):
    return Comparison(trace, policies_named(policies), **{"windows": Windows(3, 40), "seed": 1, **more})


def compare(asked, output, processes=None):
    """The summary and the tests of a comparison."""
    found = tables.compare(asked, output, processes)
    return found, found.tests


def test_all_policies_run_the_same_windows_and_the_folder_holds_tables(trace, tmp_path):
    summary, tests = compare(comparison(trace), tmp_path / "out")
    assert summary.policy.tolist() == ["fcfs+strict", "sjf+easy", "f1+conservative"]
    assert (summary.wait_max >= summary.wait_p95).all()
    assert ((summary.utilization > 0) & (summary.utilization <= 1)).all()
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert results.groupby("policy").window.apply(list).tolist() == [[0, 1, 2]] * 3
    assert set(tests.test) == {"Friedman", "Wilcoxon"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.csv",
        "summary.csv",
        "tests.csv",
        "compare.json",
    }


def test_pictures_are_drawn_where_they_are_asked_for_also_of_a_comparison_that_is_over(trace, tmp_path):
    line = line_of(trace, "fcfs,sjf", "2x20", tmp_path / "out")
    assert f"tables in {tmp_path / 'out'}\n" in printed(*line)
    assert not list((tmp_path / "out").glob("*.png"))
    results = (tmp_path / "out" / "results.csv").read_bytes()
    assert f"tables and pictures in {tmp_path / 'out'}\n" in printed(*line, "--pictures")
    for name in ("boxplot.png", "ranking.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "results.csv").read_bytes() == results


@pytest.mark.parametrize("figures", [("wait",), ("energy", "utilization", "wait_p95")])
def test_the_figures_that_are_named_are_those_of_table_tests_page_and_pictures(figures, narrow_trace, tmp_path):
    line = line_of(narrow_trace, "sjf,fcfs", "2x20", tmp_path / "out", "--report", "--platform", LEARNING)
    said = printed(*line, "--figures", ",".join(figures), "--pictures", "--format", "svg", "--style", "paper")
    page, titles = (tmp_path / "out" / "report.html").read_text(), [title_of(name) for name in figures]
    assert all(title in said.splitlines()[0] for title in titles)
    assert pd.read_csv(tmp_path / "out" / "tests.csv").figure.unique().tolist() == list(figures)
    summary = pd.read_csv(tmp_path / "out" / "summary.csv")
    assert [name.removesuffix("_p") for name in summary.columns if name.endswith("_p")] == sorted(figures, key=ORDER)
    drawn = (tmp_path / "out" / "boxplot.svg").read_text()
    for name in FIGURES:
        panel = title_of(name)[0].upper() + title_of(name)[1:]
        assert (f"<!-- {panel}" in drawn) == (name in with_tails(figures)), name
        assert (f"<td>{title_of(name)}</td><td>" in page) == (name in figures), name
        assert f"against {summary.reference[0]}, which has the lowest mean {titles[0]}:" in said


def test_pictures_keep_their_style_and_formats_when_they_are_drawn_again_of_what_was_compared_last(trace, tmp_path):
    contents = []

    def sizes(*more):
        assert main([*line, *more]) == 0
        contents.append([path.read_bytes() for path in sorted((tmp_path / "out").glob("*.svg"))])
        paths = sorted((tmp_path / "out").glob("boxplot.*"))
        return {path.suffix: re.search(r'width="([\d.]+)pt"', path.read_text())[1] for path in paths}

    line = ["compare", "-q", "--trace", str(trace), "--windows", "2x20", "--output", str(tmp_path / "out")]
    drawn = sizes("--policies", "fcfs,sjf", "--pictures", "--style", "paper", "--format", "svg")
    assert drawn == {".svg": "518.4"}  # points: 7.2 inches
    assert sizes("--policies", "fcfs,saf") == drawn
    assert all(one != other for one, other in zip(*contents, strict=True))
    assert sizes("--policies", "fcfs,saf", "--pictures", "--style", "screen", "--format", "svg") == {".svg": "1080"}


def test_python_draws_the_same_pictures_and_a_notebook_shows_what_the_command_prints(trace, tmp_path):
    line = line_of(trace, "fcfs,sjf", "2x20", tmp_path / "command", "--figures", "wait")
    said = printed(*line, "--pictures", "--format", "svg,pdf", "--style", "paper")
    how = {"figures": ["wait"], "pictures": ["svg", "pdf"], "style": "paper", "output": tmp_path / "python"}
    found = hl.compare(trace, ["fcfs", "sjf"], "2x20", **how)
    for path in (tmp_path / "command").iterdir():
        assert (tmp_path / "python" / path.name).read_bytes() == path.read_bytes(), path.name
    cells = re.findall(r"<t[dh]>([^<]*)</t", found._repr_html_())
    assert cells
    assert all(cell in said for cell in cells)
    assert list(found[["policy", "wait"]].columns) == ["policy", "wait"]
    assert "Against" not in found[["policy", "wait"]]._repr_html_()  # what is taken from it is a usual table


@pytest.fixture
def run(monkeypatch):
    """The policies whose windows are run, each as often as windows."""
    names, whole = [], comparing.schedules

    def noted(*given):
        names.extend([given[2].name] * len(given[1]))
        return whole(*given)

    monkeypatch.setattr(comparing, "schedules", noted)
    return names


def test_what_is_there_is_not_run_again(trace, tmp_path, run):
    compare(comparison(trace, "fcfs"), tmp_path / "out")
    run.clear()
    summary, _ = compare(comparison(trace, "fcfs,sjf"), tmp_path / "out")
    assert run == ["sjf+strict"] * 3
    assert summary.policy.tolist() == ["fcfs+strict", "sjf+strict"]


# starts workers, which load everything; a grid of `test_sweep` does so
@pytest.mark.more
def test_other_processes_give_the_same(trace, tmp_path):
    compare(comparison(trace), tmp_path / "one", processes=1)
    compare(comparison(trace), tmp_path / "two", processes=2)
    assert (tmp_path / "one" / "results.csv").read_text() == (tmp_path / "two" / "results.csv").read_text()


def test_the_command_prints_tails_beside_the_mean(trace, tmp_path):
    line = line_of(trace, "fcfs,sjf+easyP", "2x30", tmp_path / "out")
    said = printed(*line)
    assert "sjf+easyP" in said
    assert said.splitlines()[0].split()[10:13] == ["waiting", "p95", "max"]
    assert "Max job load" not in said
    assert "Max job load" in printed(*line, "--all")


def test_every_figure_is_a_column_and_a_pool_has_no_energy_that_anybody_measured(trace, tmp_path):
    compare(comparison(trace), tmp_path / "out")
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert results.columns.tolist() == ["policy", "window", *FIGURES]
    energy = ["energy", "energy_delay_product"]
    assert results[energy].isna().all().all()
    assert not results.drop(columns=energy).isna().any().any()


def test_a_platform_gives_watts_speeds_and_memory(narrow_trace, tmp_path):
    asked = comparison(narrow_trace, "fcfs,sjf+greedy", platform=LEARNING)
    compare(asked, tmp_path / "out")
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    machine = load_platform(LEARNING)
    assert (results.energy > machine.processor_watts[:, 3].min() * results.makespan).all()
    with pytest.raises(ResultsError, match=r"another (cores|platform)"):
        compare(comparison(narrow_trace, "fcfs", cores=4), tmp_path / "out")
    narrow_trace.write_text(narrow_trace.read_text().replace(" 10000 ", f" {10**12} "))
    with pytest.raises(WorkloadError, match=r"job 0 of the window that begins at .* was never run by fcfs\+strict"):
        compare(comparison(narrow_trace, "fcfs", platform=LEARNING), tmp_path / "none")


def trained(folder, selection, observation="minimal", episodes=3):
    """The folder of a training, of few episodes: what it does is not the point."""
    content = json.loads((AGENTS / "reinforce.json").read_text())
    for key in ("workload_file_path", "platform_file_path"):
        content[key] = str((AGENTS / content[key]).resolve())
    content["pybatsim"]["env"] |= {"actions": {"selection": selection}, "observation": observation}
    folder.mkdir()
    options = folder / "experiment.json"
    options.write_text(json.dumps(content))
    line = ["train", "-q", "--options", str(options), "--agent", str(AGENTS / "reinforce.py")]
    assert main([*line, "--output", str(folder / "training"), "--episodes", str(episodes)]) == 0
    return folder / "training"


# takes 8 s
@pytest.mark.more
@pytest.mark.parametrize("clock", ["textbook", "batsim"])
@pytest.mark.parametrize(("job_policy", "same"), [("first", "fcfs+strict"), ("shortest", "sjf+strict")])
def test_an_agent_that_can_do_one_thing_only_does_what_the_baseline_does(trace, tmp_path, job_policy, same, clock):
    folder = trained(tmp_path / "agent", [{job_policy: ["high_gflops"]}])
    compare(comparison(trace, f"{same},agent:{folder}", clock=clock), tmp_path / "out")
    results = pd.read_csv(tmp_path / "out" / "results.csv").set_index(["policy", "window"])
    pd.testing.assert_frame_equal(results.loc[same], results.loc[f"agent:{folder}"])


def test_windows_played_side_by_side_are_those_played_alone(trace, tmp_path):
    folder = trained(tmp_path / "agent", [{"first": ["high_gflops"], "smallest": ["high_gflops"]}])
    inputs = inputs_of(comparison(trace, f"agent:{folder}", windows=windows_named("disjoint:4x20")))
    (agent,) = inputs.comparison.policies
    windows = [inputs.window(number) for number in range(4)]
    together = schedules(inputs.machine, windows, agent)
    alone = [schedule(inputs.machine, window, agent) for window in windows]
    assert [one.start.tolist() for one in together] == [one.start.tolist() for one in alone]
    assert len({tuple(one.start) for one in together}) == 4


# takes 2 s
@pytest.mark.more
def test_an_agent_is_run_again_only_when_it_has_learned_more(trace, tmp_path, run):
    folder = trained(tmp_path / "agent", [{"first": ["high_gflops"], "smallest": ["high_gflops"]}])
    asked = comparison(trace, f"fcfs,agent:{folder}")
    compare(asked, tmp_path / "out")
    run.clear()
    compare(comparison(trace, "fcfs,sjf"), tmp_path / "out")
    compare(comparison(trace, "sjf"), tmp_path / "out")
    assert set(run) == {"sjf+strict"}
    (folder / "best.pt").unlink(missing_ok=True)
    assert main(["train", "-q", "--resume", str(folder), "--episodes", "6", "--trust"]) == 0
    run.clear()
    compare(asked, tmp_path / "out")
    assert run.count(f"agent:{folder}") == 3


def test_a_learned_policy_is_run_again_only_when_its_file_has_changed(trace, tmp_path):
    path = tmp_path / "p.json"
    name, results = f"scored:{path}", tmp_path / "out" / "results.csv"

    def found(weight):
        path.write_text(f'{{"queue": {{"log_time": {weight}}}}}')
        compare(comparison(trace, f"sjf+easy,ljf+easy,{name}"), tmp_path / "out")
        return pd.read_csv(results).set_index(["policy", "window"])

    first, second = found(1.0), found(-1.0)
    pd.testing.assert_frame_equal(first.loc[name], first.loc["sjf+easy"])
    pd.testing.assert_frame_equal(second.loc[name], second.loc["ljf+easy"])
    assert not first.loc["sjf+easy"].equals(first.loc["ljf+easy"])


def test_an_agent_that_has_learned_more_is_read_again(tmp_path):
    from hdeeprm_like.decision.agent_names import Trained
    from hdeeprm_like.launch.trained import restored

    folder = trained(tmp_path / "agent", [{"first": ["high_gflops"], "smallest": ["high_gflops"]}])
    before = restored(Trained(folder))
    assert restored(Trained(folder)) is before
    (folder / "best.pt").unlink(missing_ok=True)
    assert main(["train", "-q", "--resume", str(folder), "--episodes", "6", "--trust"]) == 0
    old, new = (learner.agent.state_dict() for learner in (before, restored(Trained(folder))))
    assert any(not old[name].equal(new[name]) for name in old)


def test_an_agent_that_sees_its_machine_is_refused_on_another_with_both_shapes(trace, tmp_path):
    folder = trained(tmp_path / "agent", [{"first": ["high_gflops", "low_power"]}], observation="normal")
    line = refused(*line_of(trace, f"fcfs,agent:{folder}", "2x30", tmp_path / "out", "--trust"))
    own, there = (Space().sample(one).observer.shape[0] for one in (load_platform(LEARNING), pool(8)))
    assert f"on 4 cores to see {own} numbers and do 2 actions" in line
    assert f"on the 8 of the windows it would see {there} numbers and do 2 actions" in line
    assert not (tmp_path / "out" / "results.csv").exists()


def test_equal_policies_do_not_differ_and_far_ones_do():
    table = [
        {"policy": policy, "window": window, **dict.fromkeys(USUAL, least + window)}
        for policy, least in (("a", 0.0), ("b", 0.0), ("c", 100.0))
        for window in range(8)
    ]
    tests = pd.DataFrame(p_values_of(table, parametric=True)).set_index(["figure", "first", "second", "test"]).p
    assert tests["wait", "a", "b", "Wilcoxon"] == tests["wait", "a", "b", "Welch"] == 1.0
    assert tests["wait", "a", "c", "Wilcoxon"] == pytest.approx(2 / 2**8)  # all eight differences have one sign
    assert tests["wait", "", "", "ANOVA"] < 1e-10
    assert tests["wait", "a", "b", "paired t"] == 1.0
    assert tests["wait", "a", "c", "paired t"] == 0.0  # the same difference in every window


def test_the_one_sample_t_test_is_that_of_scipy_and_is_printed(trace, tmp_path):
    from scipy.stats import ttest_1samp

    samples = np.random.default_rng(4).normal(size=(3, 9))
    assert one_sample(samples, 0.3) == pytest.approx(ttest_1samp(samples, 0.3, axis=1).pvalue)
    line = line_of(trace, "fcfs,sjf", "3x40", tmp_path / "out", "--published", "bounded_slowdown=3,utilization=0.5")
    assert "p of Student's one-sample t-test" in printed(*line)
    rows = pd.read_csv(tmp_path / "out" / "tests.csv").query("test == 'one-sample t'")
    assert rows[["figure", "first"]].to_numpy().tolist() == [
        [figure, policy] for figure in ("bounded_slowdown", "utilization") for policy in ("fcfs+strict", "sjf+strict")
    ]
    own = pd.read_csv(tmp_path / "out" / "results.csv").groupby("policy", sort=False).utilization
    assert rows.p.to_numpy()[2:] == pytest.approx([ttest_1samp(values, 0.5).pvalue for _, values in own])


NINE = LEARNING.with_name("nine_machines.csv")


@pytest.fixture
def days(tmp_path):
    """A folder of two days of jobs with memory, and GPUs for some, that each fit one of the nine machines."""
    folder = tmp_path / "days"
    for seed in (1, 2):
        made = ["generate", "ksu", "--set", "nodes=48", "--jobs", "60", "--hdeeprm", "--seed", str(seed), "-q"]
        assert main([*made, "-o", str(folder / f"day-{seed}.csv")]) == 0
    return folder


# takes 2 s
@pytest.mark.more
def test_days_with_gpus_are_compared_whole_on_one_machine_as_they_are_launched(days, tmp_path):
    line = ["compare", "--trace", days, "--platform", NINE, "--whole", "--clock", "batsim", "--report"]
    said = printed(*line, "--policies", "fcfs,bfbp", "--output", tmp_path / "out")
    assert "mean over 2 workloads of 60 jobs, on average" in said
    assert "2 workloads of up to 60 jobs of days on" in (tmp_path / "out" / "report.html").read_text()
    results = pd.read_csv(tmp_path / "out" / "results.csv").set_index(["policy", "window"])
    assert (results.jobs_run == 60).all()
    assert pd.read_csv(days / "day-2.csv").RequestedGPUs.sum() > 0
    content = {"seed": 1, "platform_file_path": str(NINE), "workload_file_path": str(days / "day-2.csv")}
    (tmp_path / "bfbp.json").write_text(json.dumps({**content, "policy": "bfbp", "whole": True}))
    printed("launch", "--options", tmp_path / "bfbp.json", "--output", tmp_path / "run", "-q")
    launched = pd.read_csv(tmp_path / "run" / "out_jobs.csv")
    assert launched.waiting_time.mean() == pytest.approx(results.wait["fcfs+packing", 1])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "a workload names no machine; add --platform FILE or --cores N"),
        (["--cores", "64", "--windows", "2x10"], "workloads are simulated whole"),
        (["--cores", "64", "--policies", "actual"], "a workload does not record waits"),
        (["--cores", "8"], "requests 48 cores; the platform has 8"),
        (["--platform", NINE.with_name("pool_64.csv")], "and 1 GPUs"),
        (["--platform", NINE, "--trace", NINE.parents[1] / "docker"], "holds no workload; names that end in"),
    ],
)
def test_days_that_cannot_be_compared_are_one_line(days, tmp_path, more, message):
    line = ["compare", "--trace", days, "--policies", "fcfs", "--output", tmp_path / "out"]
    assert message in refused(*line, *more)


def test_a_named_reference_is_that_of_all_rows(trace, tmp_path):
    summary, _ = compare(comparison(trace, reference="fcfs"), tmp_path / "out")
    assert set(summary.reference) == {"fcfs+strict"}


def test_anova_stays_behind_an_option(trace, tmp_path):
    _, tests = compare(comparison(trace, tests="anova"), tmp_path / "out")
    assert set(tests.test) == {"Friedman", "Wilcoxon", "ANOVA", "Welch", "paired t"}


@pytest.fixture
def recorded(tmp_path):
    """Three jobs on 4 cores: one core after 5 s for 10 s, four at once for 20 s, two after 30 s for 10 s."""
    lines = ["; MaxProcs: 4"]
    for number, submit, wait, run, size in ((1, 0, 5, 10, 1), (2, 20, 0, 20, 4), (3, 20, 30, 10, 2)):
        lines.append(f"{number} {submit} {wait} {run} {size} -1 -1 {size} {run} -1 1 -1 -1 -1 -1 -1 -1 -1")
    path = tmp_path / "recorded.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_actual_schedule_is_the_one_that_the_trace_records(recorded, tmp_path):
    asked = comparison(recorded, "fcfs,actual", windows=windows_named("all"))
    summary, _ = compare(asked, tmp_path / "out")
    actual = summary.set_index("policy").loc["actual"]
    assert actual.wait == pytest.approx((5 + 0 + 30) / 3)
    assert actual.wait_max == 30.0
    assert actual.utilization == pytest.approx((10 * 1 + 20 * 4 + 10 * 2) / (60 * 4))
    assert actual.area_weighted_response_time == pytest.approx((10 * 15 + 80 * 20 + 20 * 40) / 110)
    assert np.isnan(actual.energy)
    again, _ = compare(asked, tmp_path / "out")
    pd.testing.assert_frame_equal(again, summary)


def test_more_busy_cores_in_the_record_than_there_are_are_all_of_them(recorded, tmp_path, caplog):
    recorded.write_text(recorded.read_text().replace("3 20 30 10 2", "3 20 10 10 2"))
    compare(comparison(recorded, "actual", windows=windows_named("all")), tmp_path / "out")
    assert "records up to 6 busy cores of 4" in caplog.text
    assert pd.read_csv(tmp_path / "out" / "results.csv").utilization.tolist() == [(10 * 1 + 20 * 4) / (40 * 4)]


def test_the_actual_schedule_leaves_out_a_job_whose_wait_is_unknown_and_says_so(recorded, tmp_path, caplog):
    recorded.write_text(recorded.read_text().replace("3 20 30 10 2", "3 20 -1 10 2"))
    asked = comparison(recorded, "fcfs,actual", windows=windows_named("all"))
    summary, _ = compare(asked, tmp_path / "out")
    assert summary.set_index("policy").wait.loc["actual"] == pytest.approx((5 + 0) / 2)
    assert "of 1 of the 3 jobs of the windows, first of job 3; the policy actual leaves them out" in caplog.text
    assert summary.set_index("policy").wait.loc["fcfs+strict"] == pytest.approx((0 + 0 + 20) / 3)  # of all jobs


def test_a_job_without_a_run_time_is_in_no_schedule(recorded, tmp_path):
    recorded.write_text(recorded.read_text().replace("3 20 30 10 2", "3 20 30 -1 2"))
    asked = comparison(recorded, "fcfs,actual", windows=windows_named("all"))
    summary, _ = compare(asked, tmp_path / "out")
    assert summary.jobs_run.tolist() == [2, 2]


def test_the_actual_schedule_needs_a_job_in_each_window_and_the_traces_machine(recorded, tmp_path):
    recorded.write_text(recorded.read_text().replace("3 20 30 10 2", "3 20 -1 10 2"))
    with pytest.raises(WorkloadError, match=r"of 1 of the 3 jobs of the windows, first of job 3.* some in each window"):
        compare(comparison(recorded, "actual", windows=Windows(3, 1, "disjoint")), tmp_path / "out")
    with pytest.raises(OptionsError, match=r"actual: ran on the trace's own machine; compare it without --platform"):
        compare(
            comparison(recorded, "actual", windows=Windows(1, 2, "disjoint"), platform=LEARNING), tmp_path / "three"
        )


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [({}, {"seed": 2}, "seed"), ({"jobs_by": "id"}, {}, "jobs_by"), ({}, {"cores": 9}, "cores")],
)
def test_a_folder_of_another_comparison_is_refused(trace, tmp_path, first, second, told):
    compare(comparison(trace, **first), tmp_path / "out")
    with pytest.raises(ResultsError, match=f"another {told}"):
        compare(comparison(trace, **second), tmp_path / "out")


def test_other_windows_are_another_comparison_whatever_names_them(trace, tmp_path):
    first = comparison(trace, windows=windows_named("disjoint:2x30"))
    compare(first, tmp_path / "out")
    listed = tmp_path / "offsets.csv"
    listed.write_text("start_index\n5\n45\n")  # the same: the middles of 0 to 39 and of 40 to 79
    compare(comparison(trace, windows=windows_named("2x30", listed)), tmp_path / "out")
    with pytest.raises(ResultsError, match="another begins"):
        compare(comparison(trace, windows=windows_named("disjoint:1x30")), tmp_path / "out")


def test_an_interrupted_comparison_goes_on_where_it_stopped(trace, tmp_path, monkeypatch):
    asked = comparison(trace, "fcfs,sjf", windows=windows_named("disjoint:4x20"))
    whole, run = comparing.schedules, []

    def interrupted(*given):
        run.append(given[2].name)
        if len(run) == 6:
            raise KeyboardInterrupt
        return whole(*given)

    monkeypatch.setattr(comparing, "schedules", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare(asked, tmp_path / "out")
    assert len(pd.read_csv(tmp_path / "out" / "results.csv")) == 4
    compare(asked, tmp_path / "out")
    assert len(run) == 6 + 4
    compare(asked, tmp_path / "whole")
    for name in ("results.csv", "summary.csv", "tests.csv", "compare.json"):
        assert (tmp_path / "out" / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_the_command_compares_with_a_reference_over_windows_that_share_no_job(trace, tmp_path):
    line = line_of(trace, "fcfs,sjf+easy,saf+easy", "disjoint:4x20", tmp_path / "out")
    said = printed(*line, "--reference", "fcfs", "--tests", "anova")
    for title in ("bounded slowdown", "p95", "waiting", "max", "area-weighted response", "utilization"):
        assert title in said.splitlines()[0]
    assert "against fcfs+strict:\n" in said
    assert "by Holm's method over pairs with the reference" in said
    assert "p of Friedman's test over all policies: bounded slowdown" in said
    assert "mean over 4 windows of 20 jobs" in said
    assert "which has the lowest mean bounded slowdown:\n" in printed(*line)


def test_a_comparison_is_a_page_that_needs_nothing_beside_it(trace, tmp_path):
    line = line_of(trace, "fcfs,sjf+easy,saf+easy", "disjoint:4x20", tmp_path / "out")
    printed(*line, "--published", "bounded_slowdown=3", "--report", "-q")
    text = (tmp_path / "out" / "report.html").read_text()
    for shown in ("4 windows of 20 jobs of t.swf on 8 cores", "Against ", "Friedman", "one-sample t", "<td>sjf+easy"):
        assert shown in text
    assert text.count("data:image/png") == 2
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    printed("report", tmp_path / "out", "-o", tmp_path / "again.html", "-q")
    assert (tmp_path / "again.html").read_text() == text
    refused("report", tmp_path / "out", tmp_path, "-o", tmp_path / "two.html")
    (tmp_path / "out" / "summary.csv").unlink()
    assert "has no summary.csv" in refused("report", tmp_path / "out", "-o", tmp_path / "less.html")


def test_the_page_of_a_comparison_has_a_dash_for_each_energy_that_is_not_known(recorded, tmp_path):
    """A pool of cores has no measured power, and a trace no energy: neither is an error of the page."""
    compare(comparison(recorded, "fcfs,actual", windows=windows_named("all")), tmp_path / "out")
    write_comparison_page(tmp_path / "out", tmp_path / "page.html")
    cells = re.findall(r"<td[^>]*>(?:<abbr[^>]*>)?([^<]*)", (tmp_path / "page.html").read_text())

    def shown(figure):
        place = cells.index(figure)
        return cells[place + 1 : place + 3]

    assert shown("energy (J)") == shown("energy_delay_product (J s)") == ["-", "-"]
    assert shown("makespan (s)") == ["50", "60"]
    assert "nan" not in cells


def test_the_command_takes_the_whole_trace_as_one_window(trace, tmp_path):
    said = printed(*line_of(trace, "fcfs,sjf+easy", "all", tmp_path / "out"))
    assert "one window of 80 jobs, which gives no intervals" in said
    assert "nan" not in said


PUBLISHED = "published: wait: is '{}'; a number from -1e+12 to 1e+12 is needed"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("--windows disjoint:x", "two numbers are needed"),
        ("--windows disjoint:3x90", "windows of 90 jobs do not fit into 80 jobs"),
        ("--windows 1x10 --offsets nowhere.csv", "nowhere.csv: no such file"),
        ("--reference sfj", "did you mean 'sjf'"),
        ("--reference saf+easy", "saf+easy is none of the policies that are compared: fcfs+str"),
        ("--jobs-by size", "--jobs-by"),
        ("--policies actual", "t.swf: has no waiting time (field 3) of 80 of the 80 jobs"),
        ("--policies fcfs,sfj", "order 'sfj' is not known; did you mean 'sjf'?"),
        ("--policies fcfs,sjf+esay", "did you mean 'easy'"),
        ("--policies fcfs,shortest-high_gflop", "'high_gflop' is no core policy; did you mean 'high_gflops'"),
        ("--policies fcfs,own.py:longest", "own.py: no such file"),
        ("--policies fcfs,fcfs+strict", "listed twice"),
        ("--policies fcfs,agent:", "the folder of a training is missing, e.g. agent:runs/training"),
        ("--policies fcfs,agent:.", "has no run.json; `hdeeprm-like train --output"),
        ("--policies agent:a,agent:a", "agent:a is listed twice"),
        ("--published wiat=3", "did you mean 'wait'"),
        ("--published wait", PUBLISHED.format("")),
        ("--published wait=inf", PUBLISHED.format("inf")),
        (f"--platform {LEARNING} --cores 4", "learning.json sets the cores; omit one of the two"),
        ("--figures wai", "figures: 'wai' is not known; did you mean 'wait'?"),
        ("--figures wait,wait", "figures: wait is listed twice"),
        ("--pictures --format jpg", "'jpg' is not known; pictures are png, svg, pdf"),
        ("--pictures --style papr", "'papr' is not known; did you mean 'paper'?"),
    ],
)
def test_what_cannot_be_compared_is_one_line_and_status_2(trace, tmp_path, monkeypatch, more, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(*line_of(trace, "fcfs", "all", "out"), *more.split())


def test_a_trace_that_does_not_tell_its_machine_is_refused(trace, tmp_path):
    trace.write_text(trace.read_text().replace("; MaxProcs: 8\n", ""))
    line = line_of(trace, "fcfs", "all", tmp_path / "out")
    assert "t.swf: its header has no number of processors (MaxProcs); give --cores" in refused(*line)
    printed(*line, "--cores", "8")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"pictures": ["png"]}, "compare: pictures need output, the folder to draw them into"),
        ({"pictures": ["jpg"], "output": "out"}, "a picture is saved as .png, .svg or .pdf, not .jpg"),
        ({"pictures": ["png"], "output": "out", "style": "papr"}, "did you mean 'paper'"),
    ],
)
def test_python_needs_a_folder_a_format_and_a_style_for_pictures_before_it_compares(
    trace, tmp_path, monkeypatch, how, message
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OptionsError, match=re.escape(message)):
        hl.compare(trace, ["fcfs"], "2x20", **how)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("clock", ["textbook", "one-by-one"])
def test_a_long_window_simulated_in_parts_gives_the_same_figures_as_all_jobs_at_once(trace, monkeypatch, clock):
    asked = comparison(trace, "fcfs,sjf+easy,wfp3+easy,f1+conservative", windows=windows_named("all"), clock=clock)
    inputs = inputs_of(asked)
    runs = []
    for long in (81, 80):  # above the 80 jobs of the window, and not above
        monkeypatch.setattr("hdeeprm_like.studies.compare.windows.LONG", long)
        monkeypatch.setattr("hdeeprm_like.studies.compare.windows.PART", 7)
        runs.append([figures(schedule(inputs.machine, inputs.window(0), p, clock)) for p in asked.policies])
    assert repr(runs[0]) == repr(runs[1])  # bit for bit, and no number where there is none


def test_a_job_that_a_power_cap_never_lets_run_is_named_in_a_long_window_too(trace, monkeypatch):
    monkeypatch.setattr("hdeeprm_like.studies.compare.windows.LONG", 1)
    inputs = inputs_of(comparison(trace, "fcfs", windows=windows_named("all")))
    machine = replace(inputs.machine, power_cap=7.5 * float(inputs.machine.processor_watts[0, 0]))
    with pytest.raises(
        WorkloadError, match=r"job 6 of the window .* was never run by fcfs\+strict on pool of 8: it requests 8 cores"
    ):
        schedule(machine, inputs.window(0), policies_named("fcfs")[0])


# a long trace, two seconds
@pytest.mark.more
def test_a_comparison_of_a_whole_trace_takes_few_bytes_for_each_job(tmp_path, monkeypatch):
    """The columns of the trace and of the window, start and finish, and what the figures need, once."""
    monkeypatch.setattr("hdeeprm_like.studies.compare.windows.PART", 2000)
    peaks = []
    for jobs in (50_000, 60_000, 120_000):  # the first loads the code
        lines = [
            f"{n} {n * 40} -1 {n * 79 % 100 if n > 1 else 0} 1 -1 -1 1 120 -1 1 1 1 -1 1 -1 -1 -1"
            for n in range(1, jobs + 1)
        ]
        (tmp_path / "long.swf").write_text("\n".join(["; MaxProcs: 4", *lines, ""]))
        asked = comparison(tmp_path / "long.swf", "fcfs,sjf+easy", windows=windows_named("all"))
        tracemalloc.start()
        compare(asked, tmp_path / str(jobs))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[2] - peaks[1]) / 60_000 < 360  # bytes for each more job


@pytest.mark.parametrize("policy", ["shortest-high_gflops", "random-random"])
def test_the_pairs_of_the_thesis_are_compared_by_name(policy, tmp_path):
    found = hl.compare("ctc-sp2", [policy, "sjf+easy"], "disjoint:2x50", output=tmp_path)
    assert list(found["policy"]) == [policy, "sjf+easy"]
    window = json.loads((tmp_path / "compare.json").read_text())["begins"]
    assert len(window) == 2
    alone = hl.compare("ctc-sp2", [policy], "disjoint:2x50")
    assert alone["wait"].tolist() == found["wait"][:1].tolist()


def test_a_job_policy_of_ones_own_is_compared_by_its_file():
    own = Path(__file__).parents[2] / "agents" / "own_parts.py"
    found = hl.compare("ctc-sp2", [f"{own}:longest", f"{own}:longest-low_power", "sjf+easy"], "disjoint:2x50")
    assert found["wait"][0] == found["wait"][1] > found["wait"][2]  # cores of a pool are alike
