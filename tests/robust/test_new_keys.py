"""Keys of files with values that they cannot have, and policies that name what would be ignored: each is one line."""

import json
import re

import numpy as np
import pytest
from robust_inputs import machine, options, refused_launch, told
from small import jobs, platform

from hdeeprm_like.cluster.topologies import MOST_LINKS, topology_of
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.errors import OptionsError, PlatformError
from hdeeprm_like.inputs import DEEPEST, read_json
from hdeeprm_like.run.runs import Runs
from hdeeprm_like.studies.evolution.options import read_evolution

SLURM = {"nodes": [{"hosts": "n1"}], "partitions": [{"name": "all", "hosts": "n1"}]}
KEPT = {"deviations": 1, "bins": 0, "most": 1, "backlog": 2}


@pytest.mark.parametrize(
    ("slurm", "place"),
    [
        ({"preemption": {"normal": 5}}, "slurm.preemption.normal: is 5"),
        ({"preemption": {"normal": {"Preempt": 5}}}, "slurm.preemption.normal.Preempt: is 5"),
        ({"preemption": {"normal": {"PreemptMode": ["x"]}}}, "slurm.preemption.normal.PreemptMode: is a list"),
        ({"preemption": {"normal": {"Preemt": "low"}}}, "unknown key 'Preemt'; did you mean 'Preempt'?"),
        ({"qos": {"normal": "x"}}, "slurm.qos.normal: is 'x'"),
        ({"qos": {"normal": None}}, "slurm.qos.normal: is null"),
        ({"shares": {"physics": -1}}, "slurm.shares.physics: is -1"),
        ({"accounts": {"physics": ["root"]}}, "slurm.accounts.physics: is a list"),
        ({"scheduling": {"SchedulerParameters": 5}}, "slurm.scheduling.SchedulerParameters: is 5"),
        ({"scheduling": {"SchedulerParameters": {"bf_interval": 10**400}}}, "Parameters.bf_interval: is a number"),
        ({"scheduling": {"PriorityWeightTRES": [1]}}, "slurm.scheduling.PriorityWeightTRES: is a list"),
        ({"scheduling": {"PriorityWeightAge": 10**400}}, "slurm.scheduling.PriorityWeightAge: is a number of more"),
        ({"scheduling": {"PreemptType": [1]}}, "slurm.scheduling.PreemptType: is a list"),
    ],
)  # fmt: skip
def test_settings_of_a_slurm_are_checked_where_they_are_read(tmp_path, slurm, place):
    assert place in refused_launch(tmp_path, **{"machine.json": {**machine(), "slurm": SLURM | slurm}})


def test_numbers_of_sacctmgr_that_slurm_cannot_have_are_left_out(tmp_path):
    (tmp_path / "slurm.conf").write_text(
        "NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\nAccountingStorageEnforce=limits\n"
    )
    many = "9" * 5000  # digits, which int() refuses
    (tmp_path / "a.txt").write_text(f"Account|User|Share|GrpJobs\na||{many}|{many}\nb||2|3\n")
    (tmp_path / "q.txt").write_text(f"Name|Priority|GrpJobs\nhigh|{many}|{many}\nlow|1|4\n")
    words = ("--associations", tmp_path / "a.txt", "--qos", tmp_path / "q.txt", "-o", tmp_path / "p.json", "-q")
    assert told("import", "slurm-conf", tmp_path / "slurm.conf", *words) == (0, "")
    slurm = json.loads((tmp_path / "p.json").read_text())["slurm"]
    assert slurm["limits"] == {"account:b": {"GrpJobs": 3}, "qos:low": {"GrpJobs": 4}}
    assert slurm["shares"] == {"b": 2}
    assert slurm["qos"] == {"low": 1}


@pytest.mark.parametrize(
    "text",
    [
        "FAT_TREE 1;2;1000000000;1000000000",
        "FAT_TREE 1;2;1;100000000",
        "DRAGONFLY 1,1;1,1;65536,1;1",
        f"FAT_TREE 2;{'9' * 500},2;1,1;1,1",
        f"TORUS {','.join(['1'] * (MOST_LINKS + 1))}",
    ],
)
def test_a_topology_that_would_fill_the_memory_is_refused_before_it_is_made(text):
    with pytest.raises(PlatformError, match=r"more than [\d,]+ (leaves|links), the most that are possible"):
        topology_of(*text.split(" "))


def test_json_nested_deeper_than_any_file_needs_is_one_line(tmp_path):
    for levels in (DEEPEST + 1, 500, 100_000):
        text = '{"a":' * levels + "1" + "}" * levels
        assert "nested too deeply" in refused_launch(tmp_path, **{"options.json": text})
    (tmp_path / "just.json").write_text("[" * DEEPEST + "]" * DEEPEST)
    read_json(tmp_path / "just.json", OptionsError)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("fcfs-zoo:a-zoo:b", "is not of the form ORDER@TIMES+MODE@TIMES-PLACEMENT"),
        ("sjf+easy" + "-zoo:balanced" * 400, "is not of the form ORDER@TIMES+MODE@TIMES-PLACEMENT"),
        ("saf+res\ud800erve:64", r"mode 'res\ud800erve:64' is not known"),
    ],
    ids=["two placements", "many placements", "no text"],
)
def test_a_policy_has_one_placement_and_a_name_that_a_text_can_hold(tmp_path, policy, message):
    assert message in refused_launch(tmp_path, **{"options.json": options(policy=policy)})


def policy_file(folder, **content):
    (folder / "own.json").write_text(json.dumps({"queue": {"one": 1.0}, **content}))
    return baseline(f"scored:{folder / 'own.json'}")


def test_a_stage_for_exact_requests_may_weigh_the_placement_of_its_file(tmp_path):
    exact = {"queue": {"placement": 1.0}}
    assert policy_file(tmp_path, placement={"speed": -1.0}, exact=exact).learned.exact.queue.features == {"placement"}
    for wrong, message in (
        ({"exact": exact}, "the file has no such part"),
        ({"keep": {"most": 0.1, "felt": -1.0}}, "felt: a number from 0 to 10 is needed, not -1"),  # else divides by 0
    ):
        with pytest.raises(OptionsError, match=message):
            policy_file(tmp_path, **wrong)


def some_jobs(seed):
    rng = np.random.default_rng(seed)
    seconds = rng.integers(60, 6000, 10) * 1.0
    asked = seconds * rng.integers(1, 4, 10)
    return jobs(np.sort(rng.integers(0, 8000, 10)) * 1.0, seconds, rng.integers(1, 8, 10), estimate=asked)


@pytest.mark.parametrize("name", ["", "saf+conservative", "lcfs+bounded:.1"])
def test_a_policy_decides_as_if_no_episode_had_been_played_before(tmp_path, name):
    own = baseline(name) if name else policy_file(tmp_path, queue={"log_time": 1.0}, keep=KEPT)
    cluster = platform((1000.0, [(8, 1.0, 100.0, 10.0)]))

    def starts(runs, seed):
        workload = some_jobs(seed)
        runs.load(0, runs.put(0, workload), len(workload), 0.0, 5, workload.limits())
        runs.begin(np.zeros(1, np.int64))
        while not runs.over.all():
            runs.step(np.zeros(1, np.int64))
        return runs.run(0).simulation.tasks["start"][: len(workload)].tolist()

    def new():
        return Runs(Space(pairs=(own,)), cluster, 1, "textbook")

    again = new()
    found = [starts(again, seed) for seed in range(40)]
    assert found == [starts(new(), seed) for seed in range(40)]


def test_an_unknown_key_of_an_evolution_is_refused_with_the_nearest_known_one(tmp_path):
    for windows, line in (
        ({"sources": [{"modle": "lublin"}]}, "windows.sources.0.modle: is not known; did you mean 'model'?"),
        ({"sources": [{"model": "lublin", "cores": 4}], "job": 64}, "windows.job: is not known; did you mean 'jobs'?"),
    ):
        (tmp_path / "e.json").write_text(json.dumps({"seed": 1, "policy": "x.json", "windows": windows}))
        with pytest.raises(OptionsError, match=re.escape(line)):
            read_evolution(tmp_path / "e.json")
