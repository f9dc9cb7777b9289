"""Run-time predictors of the user's own."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from on_paper import cores, starts
from small import jobs, scheduled

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.errors import OptionsError

FOUR = cores(4)
SHIPPED = Path(__file__).parents[2] / "agents" / "own_predictor.py"

LAST_TWO = """
import numpy as np

class Predictor:
    def __init__(self, state):
        pass

    def __call__(self, state, jobs):
        ended = sorted(state.completed.tolist(), key=lambda j: (state.finish_time[j], j))
        told = []
        for j in jobs:
            lasted = [state.finish_time[i] - state.start_time[i] for i in ended if state.user[i] == state.user[j]]
            told.append(np.mean(lasted[-2:]) if len(lasted) >= 2 else state.requested_time[j])
        return np.array(told)
"""


def some_jobs(count=120):
    rng = np.random.default_rng(4)
    seconds = rng.uniform(1, 60, count).round(3)
    workload = jobs(
        submit=np.sort(rng.integers(0, 900, count)),
        seconds=seconds,
        estimate=seconds + rng.uniform(0, 90, count).round(3),
        size=rng.integers(1, 5, count),
    )
    return replace(workload, user=np.arange(count) % 5)


@pytest.fixture
def own(tmp_path):
    def write(text):
        (tmp_path / "my-own.py").write_text(text)
        return f"learned:{tmp_path / 'my-own.py'}"

    return write


@pytest.mark.compiled
# takes 5 s
@pytest.mark.lane(more=r"(?!sjf@\{\}\+easy$).*")
@pytest.mark.parametrize("form", ["sjf@{}+easy", "fcfs+easysjf@{}", "saf@{}+conservative@{}"])
def test_a_predictor_in_python_does_what_the_built_in_one_does(own, form):
    workload = some_jobs()
    name = form.replace("{}", own(LAST_TWO))
    assert baseline(name).name == name
    here = scheduled(FOUR, workload, PolicyActions([baseline(name)]), "textbook").simulation.tasks["start"].tolist()
    assert here == starts(FOUR, workload, form.replace("{}", "tsafrir"))
    assert here != starts(FOUR, workload, form.replace("@{}", ""))


@pytest.mark.parametrize("told", ["jobs[:0]", "-1.0 * jobs - 1", "[None] * len(jobs)", "jobs * np.nan"])
def test_what_is_no_run_time_is_refused_in_a_line(own, told):
    text = LAST_TWO[: LAST_TWO.index("        ended")] + f"        return {told}\n"
    with pytest.raises(OptionsError, match=r"my-own\.py: seconds for each of \d+ jobs are needed"):
        scheduled(FOUR, some_jobs(), PolicyActions([baseline(f"sjf@{own(text)}+easy")]), "textbook")


def test_a_file_without_a_predictor_is_refused(own):
    with pytest.raises(OptionsError, match="has no 'Predictor'"):
        baseline(f"sjf@{own('predictor = 1')}+easy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("    pass", "cannot be made with"),
        ("    def __init__(self):\n        pass", "cannot be made with"),
        ("    def __init__(self, state):\n        pass", "cannot be called with"),
        ("    def __init__(self, state):\n        1 / 0", r"my-own\.py:3: ZeroDivisionError"),
        (
            "    def __init__(self, state):\n        pass\n    def __call__(self, state, jobs):\n        1 / 0",
            r"my-own\.py:5: ZeroDivisionError",
        ),
    ],
)
def test_a_predictor_of_another_form_is_refused_in_a_line(own, text, message):
    name = f"sjf@{own(f'class Predictor:{chr(10)}{text}')}+easy"
    with pytest.raises(OptionsError, match=message):
        scheduled(FOUR, some_jobs(9), PolicyActions([baseline(name)]), "textbook")


def test_the_shipped_one_is_compared_and_launched_and_measured(tmp_path, capsys):
    trace = SHIPPED.parents[1] / "workloads" / "ctc_sp2_500.swf.gz"
    name = f"sjf@learned:{SHIPPED}+easy"
    assert main(["compare", "--trace", str(trace), "--policies", f"sjf+easy,{name}", "--windows", "1x60",
                 "--output", str(tmp_path / "compared")]) == 0  # fmt: skip
    assert "own_predictor.py" in capsys.readouterr().out
    options = json.loads((SHIPPED.parent / "gaia-first-high_gflops.json").read_text())
    for key in ("workload_file_path", "platform_file_path"):
        options[key] = str(SHIPPED.parent / options[key])
    options["pybatsim"]["agent"] = {"type": "CLASSIC", "policy_pair": "sjf@learned:own.py+easy-high_gflops"}
    shutil.copy(SHIPPED, tmp_path / "own.py")
    where = tmp_path / "first.json"
    where.write_text(json.dumps(options | {"nb_jobs": 60}))
    assert main(["launch", "--options", str(where), "--output", str(tmp_path / "run"), "--quiet"]) == 0
    told = tmp_path / "told.json"
    assert main(["predict", str(trace), "--predictors", f"tsafrir,learned:{SHIPPED}", "--json", str(told)]) == 0
    both = json.loads(told.read_text())["predictors"]
    assert [one["predictor"] for one in both] == ["tsafrir", f"learned:{SHIPPED}"]
    assert both[0]["r2"] != both[1]["r2"]
