"""What is said of a learned policy, and of a moment of its queue."""

import json

import numpy as np
import pytest
from small import jobs, platform

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.score_files import policy_of
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.explain import explain_moment, explained

EIGHT = ((1000.0, [(8, 1.0, 100.0, 10.0)]),)


@pytest.fixture
def name(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({"queue": {"log_time": 1.0, "log_cores": 0.5, "one": 2.0}}))
    return f"scored:{tmp_path / 'p.json'}"


def test_a_policy_is_told_in_formulas_stage_by_stage():
    content = {
        "queue": {"log_time": 1.0, "one": 0.0},
        "gate": {"free": 2.0},
        "keep": {"deviations": 2, "bins": 4, "most": 0.25, "widest": 0.5},
        "reservations": 3,
        "exact": {
            "queue": {"log_cores": -1.0},
            "keep": {"load": 0.5},
            "lookahead": {"candidates": [{"wait": 0.5, "backfill": False}]},
        },
    }
    text = "\n".join(explained(policy_of(content, "p.json")))
    assert text.index("-1 log_cores") < text.index("time^1 * cores^0 / (1 + wait / time)^0.5, in strict order")
    assert text.index("From the first one on that did not") < text.index("smallest score is first: +1 log_time")
    assert "not negative: +2 free" in text
    assert "the first 3 jobs that do not fit" in text
    assert "2 standard deviations more, times (1 + backlog in h)^-0, at most 25 % of the machine\n" in text
    assert "at most 0 % of the machine times (share of it that the load of late leaves idle)^0.5" in text
    assert "more than 50 % of the cores" in text
    assert "free = share of the cores that are free" in text
    assert "one = " not in text  # it weighs nothing


def test_a_moment_shows_what_each_feature_moves(name):
    # 0 runs until 10; at 1 three wait, 1 for all cores, and 2 starts on the two that are free
    workload = jobs(submit=[0, 1, 1, 1], seconds=[10, 5, 2, 8], size=[6, 8, 2, 4])
    moment = explain_moment(platform(*EIGHT), workload, baseline(name), at=1.0)
    assert (moment.now, moment.started) == (1.0, 1)
    table = moment.jobs
    assert table["job"].tolist() == ["w0!000002", "w0!000001", "w0!000003"]
    assert table["starts"].tolist() == [True, False, False]
    assert np.allclose(table["score"], np.log(np.array([2, 5, 8]) / 3600) + 0.5 * np.log(np.array([2, 8, 4]) / 8) + 2)
    assert np.allclose(table[["log_time", "log_cores"]].sum(), 0.0)  # beside the mean of these jobs
    assert table["one"].tolist() == [0.0, 0.0, 0.0]
    moved = table["log_time"] + table["log_cores"] + table["one"]
    assert np.allclose(table["score"] - table["score"].mean(), moved)


def test_what_cannot_be_explained_is_refused(name, capsys):
    workload = jobs(submit=[0], seconds=[10], size=[6])
    with pytest.raises(OptionsError, match="is no learned one"):
        explain_moment(platform(*EIGHT), workload, baseline("sjf+easy"), at=0.0)
    with pytest.raises(OptionsError, match="no two jobs wait at 5 s or later"):
        explain_moment(platform(*EIGHT), workload, baseline(name), at=5.0)
    assert main(["explain", "sjf+easy"]) == 2
    assert "is no learned policy" in capsys.readouterr().err
    assert main(["explain", "first-high_gflops"]) == 2
