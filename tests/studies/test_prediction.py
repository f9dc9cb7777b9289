"""The command ``predict``: figures on paper, training on the past alone, refusals in one line."""

import json
import math
from importlib.util import find_spec

import numpy as np
import pytest
from robust_inputs import printed, refused

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.prediction import training
from hdeeprm_like.studies.prediction.report import Accuracy, accuracy, read_recording

needs_sklearn = pytest.mark.skipif(find_spec("sklearn") is None, reason="scikit-learn is missing: nothing is trained")


@pytest.fixture
def write_trace(tmp_path):
    """What writes a trace of four users, each with a share of the request that narrow jobs run.

    The last half runs *late* times as long.
    """

    def write(late=1.0, jobs=400):
        rng, path = np.random.default_rng(3), tmp_path / "t.swf"
        submit = np.cumsum(rng.integers(0, 60, jobs))
        lines = ["; MaxProcs: 8"]
        for number, time in enumerate(submit.tolist(), start=1):
            user, request = rng.integers(4), rng.integers(600, 3600)
            wait, size = rng.integers(0, 100), rng.integers(1, 9)
            run = request * (0.9, 0.3, 0.1, 0.05)[user] * rng.uniform(0.8, 1.1) * (0.1 if size > 4 else 1.0)
            run = max(int(run * (late if number > jobs / 2 else 1.0)), 1)
            lines.append(f"{number} {time} {wait} {run} {size} -1 -1 {size} {request} -1 1 {user} 1 -1 1 -1 -1 -1")
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def trace(write_trace):
    """Such a trace of 400 jobs."""
    return write_trace()


def test_the_figures_of_a_predictor_on_paper():
    run, predicted = np.array([10.0, 20.0, 40.0]), np.array([10.0, 40.0, 20.0])
    log2 = math.log(2)
    variance = 2 * log2**2 / 3  # of ln 10, ln 20 and ln 40
    expected = Accuracy("p", 1 - (2 * log2**2 / 3) / variance, 0.0, math.sqrt(2 / 3) * log2, 1 / 3, 3.5 / 3, 2 / 3)
    found = accuracy("p", run, predicted)
    assert vars(found) == pytest.approx(vars(expected), abs=1e-12)
    assert accuracy("p", np.full(3, 5.0), predicted).r2 is None
    assert accuracy("p", np.full(14, 60.0), np.full(14, 50.0)).r2 is None  # whose variance is 1e-30, not 0


def test_a_table_and_a_file_tell_how_well_the_last_part_is_predicted(trace, tmp_path):
    words = ("--split", 0.4, "--json", tmp_path / "f.json", "--predictors", "requested,tsafrir,actual")
    lines = printed("predict", trace, *words).splitlines()
    assert lines[0] == f"{trace}: the last 240 jobs on 8 cores; 160 before them are past"
    assert [line.split()[0] for line in lines[1:]] == ["predictor", "requested", "tsafrir", "actual"]
    content = json.loads((tmp_path / "f.json").read_text())
    assert (content["cores"], content["past"], content["jobs"]) == (8, 160, 240)
    requested, tsafrir, actual = content["predictors"]
    assert requested["underestimates"] < 0.2 < tsafrir["underestimates"]
    assert requested["r2"] < tsafrir["r2"] < actual["r2"] == 1.0
    assert (actual["rms_log_error"], actual["mean_ratio"], actual["accuracy"]) == (0, 1, 1)


def test_the_wait_of_the_trace_decides_what_is_known_when(trace):
    recording = read_recording(trace, 0.5)
    assert (recording.start >= recording.window.workload.submit).all()
    assert (recording.start > recording.window.workload.submit).any()
    header, *lines = trace.read_text().splitlines()
    fields = [line.split() for line in lines]
    trace.write_text("\n".join([header, *(" ".join([*one[:2], "-1", *one[3:]]) for one in fields)]))
    assert np.array_equal(read_recording(trace, 0.5).start, recording.window.workload.submit)


@needs_sklearn
def test_a_trained_predictor_tells_more_than_the_others_and_decides(trace, tmp_path):
    trees = tmp_path / "my-trees.json"
    said = printed("predict", trace, "--train", trees, "--json", tmp_path / "f.json")
    assert said.splitlines()[-1].startswith(f"learned:{trees} ")
    found = {one["predictor"]: one["r2"] for one in json.loads((tmp_path / "f.json").read_text())["predictors"]}
    assert found[f"learned:{trees}"] == max(found.values()) > 0.5
    made_by = json.loads(trees.read_text())["made_by"]
    assert (made_by["trace"], made_by["jobs"], made_by["cores"]) == ("t.swf", [0, 200], 8)


@needs_sklearn
def test_a_higher_quantile_is_exceeded_less_often(trace, tmp_path):
    under = []
    for quantile in (0.2, 0.9):
        words = ("--train", tmp_path / f"{quantile}.json", "--quantile", quantile, "--predictors", "requested")
        printed("predict", trace, *words, "--json", tmp_path / "f.json", "--quiet")
        under.append(json.loads((tmp_path / "f.json").read_text())["predictors"][1]["underestimates"])
    assert under[0] > 0.5 > under[1]


@needs_sklearn
def test_training_knows_nothing_of_what_comes_after_the_past(write_trace, tmp_path):
    files = []
    for late in (1.0, 7.0):
        training.train(read_recording(write_trace(late), 0.5), tmp_path / "m.json")
        files.append((tmp_path / "m.json").read_bytes())
    assert files[0] == files[1]


def test_without_scikit_learn_a_line_says_what_to_install(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    line = "hdeeprm-like: --train: needs scikit-learn; install it with: pip install 'hdeeprm_like[learn]'"
    assert refused("predict", trace, "--train", tmp_path / "m.json") == line


SHARE = "a number above 0 and below 1 is needed"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--predictors tsafir", "'tsafir' is not known; did you mean 'tsafrir'?"),
        ("--predictors learned:none.json", "none.json: cannot be read: No such file"),
        ("--predictors learned:none.txt", "write learned:FILE.json"),
        ("--quantile 0.5", "--quantile: needs --train FILE.json"),
        ("--split 0.001", "--split: 0.001 of 400 jobs leaves no past job"),
        ("--cores 4", "requests 8 processors, the machine has 4"),
        ("--split 1", SHARE),
        ("--split half", SHARE),
        ("--quantile 0 --train m.json", SHARE),
        pytest.param("--train m.json --split 0.1", "50 are needed to learn from", marks=needs_sklearn),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(trace, tmp_path, monkeypatch, flags, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused("predict", trace, *flags.split())
    assert not (tmp_path / "m.json").exists()


@needs_sklearn
@pytest.mark.parametrize("name", ["trees.txt", "a,b.json", "a.json-b.json"])
def test_a_file_that_no_baseline_could_name_is_refused(tmp_path, name):
    with pytest.raises(OptionsError, match=r"a name that ends in \.json is needed"):
        training.check_training(tmp_path / name, None)
