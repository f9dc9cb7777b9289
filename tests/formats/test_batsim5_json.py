"""Workloads of Batsim 5 hold the same jobs as those of Batsim 4, under other names."""

import json

import pytest

from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.batsim5_json import as_batsim4, as_batsim5, extra_data
from hdeeprm_like.formats.workload_json import read_workload

FOUR = {
    "nb_res": 8,
    "jobs": [
        {"id": 1, "subtime": 0, "res": 2, "profile": "p", "walltime": 60, "user": 3, "program": 8},
        {"id": 2, "subtime": 1, "res": 1, "profile": "d", "extra_data": {"why": "test"}},
    ],
    "profiles": {
        "p": {
            **{"type": "parallel_homogeneous", "cpu": 1e9, "com": 0},
            **{"req_time": 10, "req_ops": 2e9, "mem": 5, "gpus": 2},
        },
        "d": {"type": "delay", "delay": 7, "ret": 1},
        "s": {"type": "composed", "seq": ["p", "d"], "repeat": 2},
        "t": {"type": "parallel_homogeneous_total", "cpu": 4e9, "com": 0},
        "v": {"type": "parallel", "cpu": [1, 2], "com": [0, 0, 0, 0]},
    },
}


def test_profiles_are_renamed_and_what_batsim_does_not_know_is_extra_data():
    five = as_batsim5(FOUR, "w.json")
    known = {"id": 1, "subtime": 0, "res": 2, "profile": "p", "walltime": 60}
    assert five["jobs"][0] == known | {"extra_data": {"user": 3, "program": 8}}
    assert five["jobs"][1] == FOUR["jobs"][1]
    assert five["profiles"]["p"] == {
        "type": "ParallelTaskHomogeneousProfile",
        "cpu": 1e9,
        "com": 0,
        "extra_data": {"req_time": 10, "req_ops": 2e9, "mem": 5, "gpus": 2},
    }
    assert five["profiles"]["t"]["generation_strategy"] == "DefinedAmountsSpreadUniformly"
    assert {name: profile["type"] for name, profile in five["profiles"].items()} == {
        "p": "ParallelTaskHomogeneousProfile",
        "d": "DelayProfile",
        "s": "SequentialCompositionProfile",
        "t": "ParallelTaskHomogeneousProfile",
        "v": "ParallelTaskProfile",
    }


def test_the_way_back_keeps_every_figure():
    back = as_batsim4(as_batsim5(FOUR, "w.json"))
    pairs = [*zip(FOUR["jobs"], back["jobs"], strict=True)]
    pairs += [(FOUR["profiles"][name], back["profiles"][name]) for name in FOUR["profiles"]]
    for before, after in pairs:
        assert {key: after[key] for key in before} == before
    assert as_batsim4(FOUR) is FOUR


def test_a_workload_of_batsim_5_is_read_as_the_same_columns(tmp_path):
    content = {**FOUR, "profiles": {name: FOUR["profiles"][name] for name in ("p", "d")}}
    (tmp_path / "four.json").write_text(json.dumps(content))
    (tmp_path / "five.json").write_text(json.dumps(as_batsim5(content, "four.json")))
    four, five = (read_workload(tmp_path / f"{name}.json", reference_flops=1e9) for name in ("four", "five"))
    assert five.ids == four.ids
    times = "requested_time", "requested_ops", "ops", "delay"
    for column in ("submit", "size", *times, "memory", "gpus", "user", "program"):
        assert getattr(five, column).tolist() == getattr(four, column).tolist(), column


@pytest.mark.parametrize(
    ("profile", "hint"),
    [
        ({"type": "smpi"}, "'p': Batsim 5 has no profiles of type 'smpi'"),
        ({"type": "parallel_homogeneous_total", "cpu": 1, "com": 5}, "share out com otherwise"),
    ],
)
def test_what_batsim_5_does_not_have_is_refused(profile, hint):
    with pytest.raises(WorkloadError, match=hint):
        as_batsim5({**FOUR, "profiles": {"p": profile}}, "w.json")


@pytest.mark.parametrize(
    ("extra", "found"),
    [('{"a": 1}', {"a": 1}), ({"a": 1}, {"a": 1}), ("text", {}), ("[1]", {}), (3, {}), (None, {}), ("[" * 9999, {})],
)
def test_extra_data_is_an_object_or_its_text(extra, found):
    assert extra_data({"extra_data": extra}) == found
