import sys

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.compare import run as comparing
from hdeeprm_like.compare.run import Comparison, compare, policies_named, windows_named
from hdeeprm_like.compare.statistics import half_width, p_values_of
from hdeeprm_like.errors import OptionsError, ResultsError

pytest.importorskip("scipy")


@pytest.fixture
def trace(tmp_path):
    rng = np.random.default_rng(3)
    submit = np.cumsum(rng.integers(0, 60, 80))
    lines = ["; MaxProcs: 8"]
    for number, time in enumerate(submit.tolist(), start=1):
        run, size = rng.integers(1, 300), rng.integers(1, 9)
        lines.append(f"{number} {time} -1 {run} {size} -1 -1 {size} {2 * run} -1 1 {number % 3} 1 -1 1 -1 -1 -1")
    path = tmp_path / "t.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def comparison(trace, policies="fcfs,sjf+easy,f1+conservative", **more):
    return Comparison(trace, policies_named(policies), **{"windows": 3, "jobs": 40, "seed": 1, **more})


def test_all_policies_run_the_same_windows_and_the_folder_holds_tables_and_pictures(trace, tmp_path):
    summary, tests = compare(comparison(trace), tmp_path / "out", progress=False)
    assert summary.policy.tolist() == ["fcfs+strict", "sjf+easy", "f1+conservative"]
    assert (summary.wait_max >= summary.wait_p95).all()
    assert ((summary.utilization > 0) & (summary.utilization <= 1)).all()
    results = pd.read_csv(tmp_path / "out" / "results.csv")
    assert results.groupby("policy").window.apply(list).tolist() == [[0, 1, 2]] * 3
    assert set(tests.test) == {"ANOVA", "Welch", "Wilcoxon"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.csv",
        "summary.csv",
        "tests.csv",
        "compare.json",
        "boxplot.png",
        "ranking.png",
    }


def test_what_is_there_is_not_run_again(trace, tmp_path, monkeypatch):
    compare(comparison(trace, "fcfs"), tmp_path / "out", progress=False)
    run = []
    whole = comparing.schedule
    monkeypatch.setattr(comparing, "schedule", lambda *given: run.append(given[2].name) or whole(*given))
    summary, _ = compare(comparison(trace, "fcfs,sjf"), tmp_path / "out", progress=False)
    assert run == ["sjf+strict"] * 3
    assert summary.policy.tolist() == ["fcfs+strict", "sjf+strict"]


def test_other_processes_give_the_same(trace, tmp_path):
    compare(comparison(trace), tmp_path / "one", processes=1, progress=False)
    compare(comparison(trace), tmp_path / "two", processes=2, progress=False)
    assert (tmp_path / "one" / "results.csv").read_text() == (tmp_path / "two" / "results.csv").read_text()


def test_a_folder_of_another_comparison_is_refused(trace, tmp_path):
    compare(comparison(trace), tmp_path / "out", progress=False)
    with pytest.raises(ResultsError, match="another seed"):
        compare(comparison(trace, seed=2), tmp_path / "out", progress=False)


def test_the_command_prints_tails_beside_the_mean(trace, tmp_path, capsys):
    line = ["compare", "--trace", str(trace), "--policies", "fcfs,sjf+easyP", "--windows", "2x30"]
    assert main([*line, "--output", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert "sjf+easyP" in told
    assert "max wait" in told


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ("fcfs,sfj", r"order 'sfj' is not known; did you mean 'sjf'\?"),
        ("fcfs,fcfs+strict", "listed twice"),
        ("agent:DIR", "agents cannot be compared yet"),
    ],
)
def test_wrong_policies_are_one_line(policies, message):
    with pytest.raises(OptionsError, match=message):
        policies_named(policies)


def test_windows_are_two_numbers():
    assert windows_named("10x1024") == (10, 1024)
    with pytest.raises(OptionsError, match="as 10x1024"):
        windows_named("10")


def test_equal_policies_do_not_differ_and_far_ones_do():
    table = pd.DataFrame(
        {
            "policy": ["a"] * 8 + ["b"] * 8 + ["c"] * 8,
            "window": [*range(8)] * 3,
            **{name: [*range(8), *range(8), *range(100, 108)] for name in ("bounded_slowdown", "wait", "utilization")},
        }
    )
    tests = p_values_of(table).set_index(["figure", "first", "second", "test"]).p
    assert tests["wait", "a", "b", "Wilcoxon"] == tests["wait", "a", "b", "Welch"] == 1.0
    assert tests["wait", "a", "c", "Wilcoxon"] == pytest.approx(2 / 2**8)  # all eight differences have one sign
    assert tests["wait", "", "", "ANOVA"] < 1e-10


def test_the_interval_of_a_mean_is_students():
    assert half_width(np.array([1.0, 2.0, 3.0])) == pytest.approx(4.303 / np.sqrt(3), rel=1e-3)
    assert np.isnan(half_width(np.array([1.0])))


def test_a_missing_scipy_is_one_line(monkeypatch, capsys, trace, tmp_path):
    monkeypatch.setitem(sys.modules, "scipy", None)
    assert main(["compare", "--trace", str(trace), "--policies", "sjf", "--output", str(tmp_path / "o")]) == 2
    assert "pip install 'hdeeprm_like[compare]'" in capsys.readouterr().err
