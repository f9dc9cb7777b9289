"""Keys of files with values that they cannot have, and policies that name what would be ignored: each is one line."""

import json

import numpy as np
import pytest
from robust_inputs import machine, options, refused, told, write_inputs
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
    folder = write_inputs(tmp_path, **{"machine.json": {**machine(), "slurm": SLURM | slurm}})
    assert place in refused("launch", "--options", folder / "options.json", "--output", folder / "out")


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
        folder = write_inputs(tmp_path / str(levels), **{"options.json": '{"a":' * levels + "1" + "}" * levels})
        assert "nested too deeply" in refused(
            "launch", "--options", folder / "options.json", "--output", folder / "out"
        )
    (tmp_path / "just.json").write_text("[" * DEEPEST + "]" * DEEPEST)
    read_json(tmp_path / "just.json", OptionsError)


def test_a_policy_has_one_placement_however_many_are_written(tmp_path):
    for name in ("fcfs-zoo:a-zoo:b", "sjf+easy" + "-zoo:balanced" * 2000):
        folder = write_inputs(tmp_path / str(len(name)), **{"options.json": options(policy=name)})
        line = refused("launch", "--options", folder / "options.json", "--output", folder / "out")
        assert "is not of the form ORDER@TIMES+MODE@TIMES-PLACEMENT" in line


def test_a_name_that_no_text_can_hold_is_one_line(tmp_path):
    folder = write_inputs(tmp_path, **{"options.json": options(policy="saf+res\ud800erve:64")})
    line = refused("launch", "--options", folder / "options.json", "--output", folder / "out")
    assert r"mode 'res\ud800erve:64' is not known" in line


def policy_file(folder, **content):
    (folder / "own.json").write_text(json.dumps({"queue": {"one": 1.0}, **content}))
    return baseline(f"scored:{folder / 'own.json'}")


def test_a_stage_for_exact_requests_may_weigh_the_placement_of_its_file(tmp_path):
    exact = {"queue": {"placement": 1.0}}
    assert policy_file(tmp_path, placement={"speed": -1.0}, exact=exact).learned.exact.queue.features == {"placement"}
    with pytest.raises(OptionsError, match="the file has no such part"):
        policy_file(tmp_path, exact=exact)


def test_what_a_policy_would_divide_by_nothing_is_refused(tmp_path):
    with pytest.raises(OptionsError, match="felt: a number from 0 to 10 is needed, not -1"):
        policy_file(tmp_path, keep={"most": 0.1, "felt": -1.0})


def some_jobs(seed):
    rng = np.random.default_rng(seed)
    seconds = rng.integers(60, 6000, 10) * 1.0
    asked = seconds * rng.integers(1, 4, 10)
    return jobs(np.sort(rng.integers(0, 8000, 10)) * 1.0, seconds, rng.integers(1, 8, 10), estimate=asked)


def test_cores_are_kept_as_if_no_episode_had_been_played_before(tmp_path):
    own = policy_file(tmp_path, queue={"log_time": 1.0}, keep=KEPT)
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


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            {"windows": {"sources": [{"modle": "lublin"}]}},
            "windows.sources.0.modle: is not known; did you mean 'model'?",
        ),
        ({"windows": {"job": 64}}, "windows.job: is not known; did you mean 'jobs'?"),
    ],
)
def test_an_unknown_key_of_an_evolution_is_refused_with_the_nearest_known_one(tmp_path, content, line):
    known = {"seed": 1, "policy": "x.json", "windows": {"sources": [{"model": "lublin", "cores": 4}]}}
    known["windows"] |= content["windows"]
    (tmp_path / "e.json").write_text(json.dumps(known))
    with pytest.raises(OptionsError) as refusal:
        read_evolution(tmp_path / "e.json")
    assert line in str(refusal.value)
