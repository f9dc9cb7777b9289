"""Clusters as slurm.conf and scontrol tell them, made into platforms."""

import json

import pytest
from logs import RECORDED, imported, log

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.jobs_csv import read_jobs_csv
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.formats.trace_jobs import memory_of
from hdeeprm_like.importers.machine import gpus_of, write_platform
from hdeeprm_like.importers.sacct import Reading, read_sacct
from hdeeprm_like.importers.scontrol import read_scontrol
from hdeeprm_like.importers.slurm_conf import read_slurm_conf
from hdeeprm_like.importers.trace_files import write_trace


def conf(folder, text, name="slurm.conf"):
    path = folder / name
    path.write_text(text)
    report = Account(str(path), form="slurm.conf")
    return read_slurm_conf(path, report), report


def platform(machine, report, folder):
    path = folder / "platform.json"
    write_platform(machine, path, report)
    return load_platform(path), json.loads(path.read_text())["slurm"]


def one(text, folder):
    """The only kind of node in a configuration."""
    machine, _ = conf(folder, text)
    (node,) = set(machine.nodes.values())
    return node


# -- a real Slurm 22.05


def test_the_recorded_configuration_is_the_machine_that_the_running_slurm_showed(tmp_path):
    report = Account("conf", form="slurm.conf")
    written = read_slurm_conf(RECORDED / "slurm.conf", report)
    shown = read_scontrol([RECORDED / f"{name}.txt" for name in ("nodes", "partitions", "config")], report)
    as_json = read_scontrol([RECORDED / "nodes.json"], report)
    assert written.nodes == shown.nodes == as_json.nodes
    assert written.name == shown.name == "mendel"
    told = ("MaxTime", "DefaultTime", "PriorityTier", "DefMemPerCPU")
    for ours, theirs in zip(written.partitions, shown.partitions, strict=True):
        assert (ours.name, set(ours.nodes)) == (theirs.name, set(theirs.nodes))
        assert [ours.settings[key] for key in told] == [theirs.settings[key] for key in told]
    weights = [key for key in written.scheduling if key.startswith("PriorityWeight") and "Fairshare" not in key]
    assert len(weights) == 5
    for key in (*weights, "SchedulerParameters", "PriorityMaxAge", "PriorityDecayHalfLife", "SchedulerType"):
        assert written.scheduling[key] == shown.scheduling[key], key
    assert {one.name: set(one.nodes) for one in as_json.partitions} == {
        one.name: set(one.nodes) for one in written.partitions
    }


def test_the_recorded_configuration_is_a_platform(tmp_path, caplog):
    report = Account("conf", form="slurm.conf")
    found, slurm = platform(read_slurm_conf(RECORDED / "slurm.conf", report), report, tmp_path)
    assert (found.cores, found.nodes, found.processors) == (96, 8, 12)
    assert found.node_memory.tolist() == [4096] * 4 + [16384] * 2 + [32768] * 2  # MB of 1000 KB
    assert found.node_gpus.tolist() == [0] * 6 + [4, 2]
    assert [one["hosts"] for one in slurm["nodes"]] == ["n[1-4]", "n[5-6]", "g1", "g2"]
    assert slurm["nodes"][3]["features"] == ["skylake", "gpu"]
    assert slurm["nodes"][1]["weight"] == 20
    assert [one["name"] for one in slurm["partitions"]] == ["batch", "gpu", "low", "urgent"]
    gpu = {"MaxTime": 86400.0, "PriorityTier": 20, "DefMemPerCPU": 1000}
    assert slurm["partitions"][1] | gpu == slurm["partitions"][1]
    assert slurm["partitions"][2]["MaxTime"] is None
    assert slurm["scheduling"]["SchedulerParameters"]["bf_window"] == 2880
    assert slurm["scheduling"]["PriorityWeightTRES"] == {"CPU": 100, "GRES/gpu": 300}
    assert not caplog.text
    assert found.partitions.names == ("batch", "gpu", "low", "urgent")


def test_one_line_for_each_node_reads_the_same(tmp_path):
    blocks = (RECORDED / "nodes.txt").read_text().strip().split("\n\n")
    lines = tmp_path / "nodes.txt"
    lines.write_text("".join(" ".join(block.split()) + "\n" for block in blocks))
    report = Account("x", form="y")
    assert read_scontrol([lines], report).nodes == read_scontrol([RECORDED / "nodes.txt"], report).nodes


# -- slurm.conf


def test_defaults_hold_for_the_lines_behind_them_and_change_key_by_key(tmp_path):
    machine, _ = conf(
        tmp_path,
        """
        nodename=DEFAULT Sockets=2 CoresPerSocket=8 RealMemory=1000 Feature=old
        NodeName=a1
        NodeName=DEFAULT RealMemory=2000
        NodeName=a2
        NodeName=a3 CoresPerSocket=4 Feature=new,fast Weight=7
        PartitionName=DEFAULT MaxTime=60 PriorityTier=3
        PartitionName=all Nodes=ALL
        PartitionName=one Nodes=a2 MaxTime=1-12 Default=YES
        """,
    )
    assert [(node.cpus, node.memory) for node in machine.nodes.values()] == [(16, 1000), (16, 2000), (8, 2000)]
    assert machine.nodes["a3"].features == ("new", "fast")
    assert machine.nodes["a3"].weight == 7
    everything, one = machine.partitions
    assert everything.nodes == ("a1", "a2", "a3")
    assert (everything.settings["MaxTime"], everything.settings["PriorityTier"]) == (3600, 3)
    assert (one.nodes, one.settings["MaxTime"], one.settings["PriorityTier"]) == (("a2",), 129600, 3)


@pytest.mark.parametrize(
    ("hosts", "names"),
    [
        ("n[1-4,7]", ["n1", "n2", "n3", "n4", "n7"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("r[0-1]n[1-2]", ["r0n1", "r0n2", "r1n1", "r1n2"]),
        ("a[1-2],b3", ["a1", "a2", "b3"]),
        ("login", ["login"]),
    ],
)
def test_hostlists(tmp_path, hosts, names):
    assert list(conf(tmp_path, f"NodeName={hosts} CPUs=2")[0].nodes) == names


@pytest.mark.parametrize(
    ("settings", "cpus", "sockets"),
    [
        ("CPUs=8", 8, 8),
        ("Procs=8", 8, 8),
        ("Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", 72, 2),
        ("CPUs=36 Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", 36, 2),  # cores only
        ("CPUs=99 Sockets=2 CoresPerSocket=18 ThreadsPerCore=2", 72, 2),
        ("Boards=1 SocketsPerBoard=4 CoresPerSocket=8", 32, 4),
        ("CPUs=64 CoresPerSocket=16 ThreadsPerCore=2", 64, 2),
        ("Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=2", 28, 2),
        ("Sockets=2 CoresPerSocket=8 CpuSpecList=0-1,4", 13, 2),
        ("", 1, 1),
    ],
)
def test_cpus_of_a_node(tmp_path, settings, cpus, sockets):
    node = one(f"NodeName=n1 {settings}", tmp_path)
    assert (node.cpus, node.sockets) == (cpus, sockets)


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        *(("gpu:4", 4), ("gpu:a100:4", 4), ("gpu", 1), ("gpu:a100:4(S:0-1),gpu:t4:2", 6), ("gpu:v100:2(S:0,2)", 2)),
        *(("craynetwork:4", 0), ("gpu:a100:3,nvme:1", 3), ("(null)", 0), ("", 0), ("gpu:1g.5gb:7", 7)),
    ],
)
def test_gpus_of_gres(gres, gpus):
    assert gpus_of(gres) == gpus


@pytest.mark.parametrize(
    ("parameters", "note"),
    [
        ("=x", "SchedulerParameters: '=x' has no name and is left out; write bf_interval=30"),
        ("bf_interval=soon", "SchedulerParameters: bf_interval=soon: a number is needed; Slurm's default counts"),
        ("bf_interval", "SchedulerParameters: bf_interval=True: a number is needed; Slurm's default counts"),
        ("bf_interval=7,defer,bf_continue", "SchedulerParameters: kept, but not modelled: bf_continue, defer"),
        ("bf_interval=7", ""),
    ],
)
def test_parameters_of_the_scheduler_that_have_no_effect_are_named(tmp_path, parameters, note):
    _, report = conf(tmp_path, f"NodeName=n1 CPUs=2\nSchedulerParameters={parameters}\n")
    assert list(report.counts("noted")) == ([note] if note else [])


def test_comments_continued_lines_and_quotes_and_memory_that_is_kept_for_the_system(tmp_path):
    nodes = 'NodeName="n[1-2]" \\\n  CPUs=4 \\\n  RealMemory=8000 MemSpecLimit=500\n'
    machine, _ = conf(tmp_path, f"# all\nClusterName=mars # the red one\n{nodes}")
    assert machine.name == "mars"
    assert [(node.cpus, node.memory) for node in machine.nodes.values()] == [(4, 7500)] * 2


def test_included_files_are_read_also_from_beside(tmp_path):
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-3] CPUs=4\n")
    machine, report = conf(tmp_path, "Include /etc/slurm/nodes.conf\ninclude gone.conf\nPartitionName=p Nodes=ALL\n")
    assert len(machine.nodes) == 3
    assert machine.partitions[0].nodes == ("n1", "n2", "n3")
    assert "includes gone.conf, which is not here" in report.text()


def test_node_sets(tmp_path):
    machine, _ = conf(
        tmp_path,
        """NodeName=n[1-2] CPUs=1 Feature=big
        NodeName=n[3-4] CPUs=1
        NodeSet=large Feature=big
        NodeSet=listed Nodes=n4
        PartitionName=p Nodes=large,listed
        """,
    )
    assert machine.partitions[0].nodes == ("n1", "n2", "n4")


def test_nodes_that_do_not_exist_yet_are_left_out_and_told(tmp_path):
    machine, report = conf(
        tmp_path, "NodeName=n[1-2] CPUs=1\nNodeName=n[3-9] CPUs=1 State=FUTURE\nPartitionName=p Nodes=n[1-9]"
    )
    assert list(machine.nodes) == ["n1", "n2"]
    assert report.counts("left out") == {"nodes of State=FUTURE, which do not exist yet": 7}
    assert "7 nodes are not defined, as 'n3'" in report.text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ClusterName=x\nInclude nodes.conf\n", r"names no nodes; includes nodes.conf"),
        (
            "ClusterName=x\nMaxNodeCount=100\nNodeSet=ns1 Feature=f1\n",
            r"names no nodes; they register themselves, so import scontrol reads them",
        ),
        (
            "ClusterName=x\nNodeName=n[1-2] CPUs=4 Feature\n",
            r"slurm.conf:2: 'Feature' has no '=', so Slurm would not start with it$",
        ),
    ],
)
def test_a_configuration_that_is_no_platform_is_refused(tmp_path, text, said):
    with pytest.raises(PlatformError, match=said):
        platform(*conf(tmp_path, text), tmp_path)


# -- scontrol --json as newer versions print it


def number(value, is_set=True):
    return {"set": is_set, "infinite": False, "number": value}


NEW = {
    "nodes": [
        {
            **{"name": f"c{number}", "sockets": 2, "cores": 4, "threads": 2, "cpus": 16, "effective_cpus": 14},
            **{"real_memory": 8000, "gres": "gpu:a100:2(S:0)", "features": ["x", "y"], "state": ["IDLE", "DRAIN"]},
            **{"weight": 3, "partitions": ["main"]},
        }
        for number in (1, 2)
    ]
}
PARTITIONS = {
    "partitions": [
        {
            "name": "main",
            "nodes": {"configured": "c[1-2]", "total": 2},
            "maximums": {"time": number(120), "nodes": {"set": False, "infinite": True}},
            "defaults": {"time": number(0, is_set=False), "partition_memory_per_cpu": {"set": True, "number": 500}},
            "priority": {"job_factor": 2, "tier": 9},
            "partition": {"state": ["UP"]},
        }
    ]
}


def test_the_json_of_a_newer_slurm(tmp_path):
    nodes, partitions = tmp_path / "nodes.json", tmp_path / "partitions.json"
    nodes.write_text(json.dumps(NEW))
    partitions.write_text(json.dumps(PARTITIONS))
    report = Account("x", form="y")
    machine = read_scontrol([nodes, partitions], report)
    node = machine.nodes["c1"]
    assert (node.cpus, node.memory, node.gpus, node.features, node.weight) == (14, 8000, 2, ("x", "y"), 3)
    (main,) = machine.partitions
    assert main.nodes == ("c1", "c2")
    told = {"MaxTime": 7200, "DefaultTime": None, "PriorityTier": 9, "PriorityJobFactor": 2, "DefMemPerCPU": 500}
    assert {key: main.settings[key] for key in told} == told
    assert "2 nodes were down, drained" in report.text()
    assert platform(machine, report, tmp_path)[0].cores == 28


def test_a_node_of_a_platform_holds_the_jobs_that_it_held(tmp_path):
    """All 36 CPUs of a node and all of its 187000 MB fit, and no MB more, whichever file the jobs are in."""
    found, _ = platform(*conf(tmp_path, "NodeName=n1 CPUs=36 RealMemory=187000\n"), tmp_path)
    row = {"NCPUS": "36", "ReqCPUS": "36", "ReqMem": "187000M", "NNodes": "1"}
    path = log(tmp_path, row)
    trace, _, _ = imported(path)
    needed = 36 * memory_of(trace, None)[0]
    assert found.node_memory[0] - 36 < needed <= found.node_memory[0]
    store = read_sacct(path, Reading(), Account("x", form="y"))
    write_trace(store, tmp_path / "jobs.csv", None)
    workload = read_jobs_csv(tmp_path / "jobs.csv", reference_flops=1e9)
    assert workload.memory[0] * 36 == needed


@pytest.mark.parametrize(
    ("lines", "weight"),
    [
        ("AccountingStorageType=accounting_storage/slurmdbd", 1000),
        ("AccountingStorageType=accounting_storage/none", 0),
        ("SlurmctldHost=head", 0),  # a whole file that names no storage has none
        ("SlurmctldHost=head\nAccountingStorageEnforce=limits", 1000),
        ("", 1000),  # some lines of a file
    ],
)
def test_weights_that_slurm_ignores_without_its_database_are_ignored(lines, weight, tmp_path):
    text = f"{lines}\nPriorityWeightAge=1000\nPriorityWeightJobSize=500\nNodeName=n1 CPUs=4\n"
    machine, report = conf(tmp_path, text)
    assert machine.scheduling["PriorityWeightAge"] == weight
    assert machine.scheduling["PriorityWeightJobSize"] == 500
    assert any("PriorityWeightAge" in note for note in report.counts("noted")) == (weight == 0)
