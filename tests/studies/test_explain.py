"""What is said of a learned policy, and of a moment of its queue."""

import json

import numpy as np
import pytest
from robust_inputs import printed, refused
from small import jobs, platform

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
        "backfill": {"free": 2.0},
        "keep": {"deviations": 2, "bins": 4, "most": 0.25, "widest": 0.5},
        "exact": {
            "queue": {"log_cores": -1.0},
            "keep": {"load": 0.5},
        },
    }
    text = "\n".join(explained(policy_of(content, "p.json")))
    assert text.index("-1 log_cores") < text.index("Otherwise:") < text.index("smallest score is first: +1 log_time")
    assert "Behind the head of the queue the smallest is first of: +2 free" in text
    assert "First come short requests\n" in text
    assert "Up to 25 % of the cores stay free for jobs at least 7.4 times shorter than the one that would start" in text
    assert "as many as these usually use, and 2 standard deviations more\n" in text
    assert "multiplied by (share of the machine that the load of late leaves idle)^0.5" in text
    assert "No job is guaranteed a start" in text
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


def test_it_is_said_what_is_guaranteed_and_when_cores_are_kept():
    content = {"queue": {"expected_log_time": 1.0, "log_wait_hours": -2.0}, "keep": {"most": 0.1, "felt": 1}}
    text = "\n".join(explained(policy_of(content, "p.json"), bound=2.0))
    assert "First come jobs that have waited long, then jobs usually short\n" in text
    assert "No job waits longer than 12 h plus 2 times the time that the machine needs for all waiting work" in text
    assert "Only so far as jobs have waited of late" in text


def test_a_moment_says_why_a_job_does_not_start(name):
    # 0 runs until 10 on 6 of 8 cores; at 1 job 2 starts on the other two, for which 1 and 3 are too wide
    workload = jobs(submit=[0, 1, 1, 1], seconds=[10, 5, 2, 8], size=[6, 8, 1, 1])
    moment = explain_moment(platform(*EIGHT), workload, baseline(f"{name}+bounded"), at=1.0)
    assert moment.free == 0
    reasons = dict(zip(moment.jobs["job"], moment.jobs["why"], strict=True))
    assert reasons["w0!000001"] == "8 cores are not free"
    assert reasons["w0!000002"] == "starts"
    assert (moment.jobs["guaranteed"] > 43200).all()
    waiting = jobs(submit=[0, 1, 1], seconds=[10, 5, 20], size=[6, 8, 1])
    late = explain_moment(platform(*EIGHT), waiting, baseline(name), at=1.0)
    assert dict(zip(late.jobs["job"], late.jobs["why"], strict=True))["w0!000002"] == "would delay the first"
    assert late.free == 2


def test_jobs_are_named_as_the_trace_names_them(tmp_path, name):
    line = "{} {} -1 {} 4 -1 -1 4 {} -1 1 1 -1 -1 -1 -1 -1 -1\n"
    rows = [line.format(number, t, run, run) for number, t, run in ((70, 0, 50), (71, 5, 20), (72, 5, 10))]
    (tmp_path / "t.swf").write_text("; MaxProcs: 4\n" + "".join(rows))
    out = printed("explain", name, "--trace", tmp_path / "t.swf", "--at", "5")
    for shown in ("then 0 of 4 cores are free", " 71 ", " 72 ", "4 cores are not free"):
        assert shown in out


def test_what_cannot_be_explained_is_refused(name):
    workload = jobs(submit=[0], seconds=[10], size=[6])
    for policy, message in (("sjf+easy", "is no learned policy"), (name, "no two jobs wait at 5 s or later")):
        with pytest.raises(OptionsError, match=message):
            explain_moment(platform(*EIGHT), workload, baseline(policy), at=5.0)
    assert "is no learned policy" in refused("explain", "sjf+easy")
    refused("explain", "first-high_gflops")


def test_a_placement_is_explained_in_words():
    placement = {"speed": -1.0, "gpus": 0.5, "power*log_cores": 2.0, "contended*bandwidth_share": 0.1, "asleep": 0.0}
    lines = list(explained(policy_of({"queue": {"log_time": 1.0}, "placement": placement}, "p.json")))
    assert "  A job gets first fast cores, then nodes without GPUs" in lines
    assert "  Jobs of few cores: cores that draw much" in lines  # ln(share) is negative: the score falls with the power
    assert "  Jobs that request much bandwidth: processors with bandwidth for it" in lines
    assert any("+2 power*log_cores -1 speed +0.5 gpus" in line for line in lines)
    assert "    power = ln(peak W of a core / that of the mean core)" in lines
    assert not any(line.startswith("    asleep") for line in lines)
