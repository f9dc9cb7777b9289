"""KSU's CSV of jobs and of machines: read, written, refused, and used by an options file."""

import csv
import gzip
import json

import numpy as np
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.synthetic.ksu import KSU
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.jobs_csv import read_jobs_csv, write_jobs_csv
from hdeeprm_like.formats.machines_csv import read_machines_csv

MACHINES = "MachineName,TotalMemory,TotalCPUs,TotalGPUs\nfat,64000,8,2\nthin,1500.5,4,0\n"
JOBS = """JobName,RequestedMemory,RequestedCPUs,RequestedGPUs,RequestedDuration,ActualDuration,SubmitTime
late,100,1,1,20,10,5
b,800,4,2,60,30,0
a,0,1,0,10,10,0
"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text, newline="")
    return path


def test_machines_are_nodes_of_one_processor(tmp_path):
    platform = read_machines_csv(written(tmp_path, "ksu.csv", MACHINES))
    assert (platform.name, platform.node_types) == ("ksu", ("fat", "thin"))
    assert platform.node_memory.tolist() == [64000.0, 1500.5]
    assert platform.node_gpus.tolist() == [2.0, 0.0]
    assert platform.processor_node.tolist() == [0, 1]
    assert platform.core_processor.tolist() == [0] * 8 + [1] * 4
    assert platform.reference_flops == 1e9


def test_jobs_stand_in_the_order_of_submission_with_requests_per_core(tmp_path):
    jobs = read_jobs_csv(written(tmp_path, "jobs.csv", JOBS), reference_flops=2e9, capacity=12)
    assert (jobs.ids, jobs.capacity) == (("w0!a", "w0!b", "w0!late"), 12)
    for column, wanted in {
        **{"submit": [0.0, 0.0, 5.0], "size": [1, 4, 1], "requested_time": [10.0, 60.0, 20.0]},
        **{"memory": [0.0, 200.0, 100.0], "gpus": [0.0, 0.5, 1.0], "gpus_of_job": [0.0, 2.0, 1.0]},
        "ops": [20e9, 60e9, 20e9],
    }.items():
        assert getattr(jobs, column).tolist() == wanted, column


def test_a_generated_set_of_ksu_comes_back_from_its_csv(tmp_path):
    drawn = KSU["high-utilization"].draw(102, np.random.default_rng(3))
    write_jobs_csv(drawn, tmp_path / "set.csv")
    read = read_jobs_csv(tmp_path / "set.csv", reference_flops=1e9, capacity=256)
    row = np.array([int(name.removeprefix("w0!")) - 1 for name in read.ids])
    assert sorted(row.tolist()) == list(range(102))
    assert read.gpus_of_job.tolist() == drawn.gpus[row].tolist()
    assert sum(read.gpus > 0) == 2
    assert read.size.tolist() == drawn.size[row].tolist()
    assert read.memory == pytest.approx(drawn.memory[row])
    assert (read.ops / 1e9).tolist() == pytest.approx(drawn.run[row].tolist())
    kept = drawn.workload(1e9)
    assert sorted(kept.gpus_of_job.tolist()) == sorted(drawn.gpus.tolist())


def test_columns_may_stand_in_any_order_and_others_beside_them(tmp_path):
    text = "\ufeffTotalGPUs, TotalCPUs,Room,MachineName,TotalMemory\r\n1,2,b4,m,3\r\n\r\n"
    path = tmp_path / "m.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    platform = read_machines_csv(path)
    assert (platform.cores, platform.node_memory.tolist(), platform.node_gpus.tolist()) == (2, [3.0], [1.0])


def test_an_options_file_names_both_and_its_run_leaves_what_runs_again(tmp_path):
    written(tmp_path, "ksu.csv", MACHINES)
    written(tmp_path, "jobs.csv", JOBS + "greedy,0,1,3,1,1,1\n")
    options = {
        "seed": 1,
        "workload_file_path": "jobs.csv",
        "platform_file_path": "ksu.csv",
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": "first-high_gflops"}},
    }
    path = written(tmp_path, "options.json", json.dumps(options))
    assert main(["launch", "-q", "-o", str(path), "--output", str(tmp_path / "out")]) == 0
    run = json.loads((tmp_path / "out" / "run.json").read_text())
    assert run["rejected"] == {"w0!greedy": "more GPUs than the platform has for that many cores"}
    once, again = load_experiment(path), load_experiment(tmp_path / "out" / "options.json")
    assert again.workload.gpus.tolist() == once.workload.gpus.tolist() == [0.0, 0.5, 3.0, 1.0]
    assert again.platform.node_gpus.tolist() == [2.0, 0.0]
    # b takes both GPUs of fat for 30 s from 0 on; late came at 5 and waits for them
    rows = csv.DictReader((tmp_path / "out" / "out_jobs.csv").read_text().splitlines())
    starts = {row["job_id"]: float(row["starting_time"]) for row in rows if row["job_id"] != "greedy"}
    assert starts == pytest.approx({"a": 0.0, "b": 0.0, "late": 30.0}, abs=1e-3)
