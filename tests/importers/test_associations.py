"""Limits, shares and QOS as sacctmgr prints them, those of a real Slurm among them."""

import json
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main

RECORDED = Path(__file__).parent.parent / "golden" / "slurm" / "mechanism"
CONF = """ClusterName=small
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits
NodeName=n[1-2] CPUs=4
PartitionName=batch Nodes=ALL Default=YES QOS=part
"""
ASSOCIATIONS = """Cluster|Account|User|Partition|ParentName|Share|GrpJobs|GrpTRES|MaxJobs|MaxTRES|GrpWall
small|root||||1|||||
small|science|||root|4||cpu=20,node=3|||
small|physics|||science|2|5||3||1-00
small|physics|ada|||1||mem=10G|3|cpu=4,gres/gpu:a100=1|
small|physics|bob|debug||1|||1||
small|physics|bob|||parent|||||
small|physics|eve||
"""
QOS = """Name|Priority|GraceTime|Preempt|PreemptMode|PreemptExemptTime|GrpTRES|MaxTRESPU|MaxJobsPA|MaxWall
normal|0|00:00:00||cluster|||||
high|100|00:00:00|normal|requeue|00:05:00||cpu=6|2|1-00
part|0|00:00:00||cluster||gres/gpu=2|||
"""


def imported(folder, conf=CONF, associations=ASSOCIATIONS, qos=QOS):
    """What the platform file has of a Slurm."""
    words = ["import", "slurm-conf", str(folder / "slurm.conf"), "-o", str(folder / "p.json")]
    (folder / "slurm.conf").write_text(conf)
    for flag, text in (("associations", associations), ("qos", qos)):
        if text is not None:
            (folder / f"{flag}.txt").write_text(text)
            words += [f"--{flag}", str(folder / f"{flag}.txt")]
    return main(words), json.loads((folder / "p.json").read_text())["slurm"] if (folder / "p.json").exists() else {}


def test_limits_shares_and_priorities_are_read_and_the_rest_is_told(tmp_path, capsys):
    code, slurm = imported(tmp_path)
    assert code == 0
    assert slurm["limits"] == {
        "account:science": {"GrpTRES": "cpu=20"},
        "account:physics": {"GrpJobs": 5},
        "association:physics/ada": {"GrpTRES": "mem=10G", "MaxJobs": 3, "MaxTRES": "cpu=4"},
        "qos:high": {"MaxTRESPerUser": "cpu=6", "MaxJobsPerAccount": 2},
        "qos:part": {"GrpTRES": "gres/gpu=2"},
        "partition:batch": {"GrpTRES": "gres/gpu=2"},
    }
    assert slurm["accounts"] == {"science": "root", "physics": "science"}
    assert slurm["shares"] == {"science": 4, "physics": 2}
    assert slurm["qos"] == {"normal": 0, "high": 100, "part": 0}
    assert slurm["preemption"] == {
        "high": {"Preempt": "normal", "PreemptMode": "requeue", "PreemptExemptTime": "00:05:00"}
    }
    said = capsys.readouterr().out
    for what in (
        "1 lines of sacctmgr with more or fewer values than names",
        "node (1)",
        "grpwall (1)",
        "gres/gpu:a100 (1)",
        "associations of a user with a partition (1)",
    ):
        assert what in said


def test_limits_that_slurm_does_not_enforce_are_left_out(tmp_path, capsys):
    code, slurm = imported(tmp_path, conf=CONF.replace("associations,limits", "associations"))
    assert code == 0
    assert "limits" not in slurm
    assert slurm["qos"]["high"] == 100
    assert "AccountingStorageEnforce is associations, so Slurm enforces no limits" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"associations": QOS}, "is not what sacctmgr -P show assoc prints"),
        ({"qos": "Name Priority\nnormal 0\n"}, "is not what sacctmgr -P show qos prints"),
        ({"associations": ASSOCIATIONS.replace("small|root", "other|root").replace("small|", "mine|")}, "mine, other"),
        ({"associations": "\n \n"}, "associations.txt"),
    ],
)
def test_other_lists_are_refused_in_one_line(tmp_path, how, why, capsys):
    assert imported(tmp_path, **how)[0] == 2
    said = capsys.readouterr().err
    assert why in said
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "p.json").exists()


def test_the_associations_of_the_cluster_are_taken_from_those_of_several(tmp_path):
    other = "other|physics||||1|1||||\n"
    assert imported(tmp_path, associations=ASSOCIATIONS + other)[1]["limits"]["account:physics"] == {"GrpJobs": 5}


def test_what_a_real_slurm_prints_is_read(tmp_path):
    words = [
        word for name in ("associations", "qos") for word in (f"--{name}", str(RECORDED / "tree" / f"{name[:5]}.txt"))
    ]
    conf = str(RECORDED / "tree" / "slurm.conf")
    assert main(["import", "slurm-conf", conf, "-o", str(tmp_path / "p.json"), "--quiet", *words]) == 0
    limits = json.loads((tmp_path / "p.json").read_text())["slurm"]["limits"]
    assert limits["account:life"] == {"GrpTRES": "cpu=20"}
    assert limits["association:chemistry/lp"] == {"MaxJobs": 2, "MaxTRES": "cpu=8"}  # as those of its account
