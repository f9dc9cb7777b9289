"""Partitions under every driver: files, `simulate`, `launch`, `compare`, environments and the wire."""

import json
import re
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from batsim_talk import jobs_of, play_on_server, talk
from small import jobs, parted

import hdeeprm_like as hdrm
import hdeeprm_like.gym
from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError, ProtocolError, WorkloadError
from hdeeprm_like.formats.open import load_platform, load_workload, write
from hdeeprm_like.launch.run_folder import NO_NODES, rejected_jobs

STARTS = {"1": 0.0, "2": 100.0, "3": 100.0, "4": 3.0, "5": 3.0}  # on paper, first come first served with EASY


def asking(exclusive=False):
    """Five jobs: the second must have both fast nodes and waits for the first, the third waits behind it."""
    demands = [
        Demand("fast"),
        Demand("fast", nodes=2, account="physics"),
        Demand("fast"),
        Demand(constraint="ib"),
        Demand(exclusive=exclusive, nice=3.0),
    ]
    plain = jobs(submit=[0.0, 1.0, 2.0, 3.0, 3.0], seconds=[100.0, 100.0, 100.0, 10.0, 10.0], size=[4, 5, 3, 2, 2])
    ids = tuple(f"w0!{number}" for number in range(1, 6))
    return replace(plain, ids=ids, demands=demands_of(demands))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with platform and jobs, once with a job of whole nodes and once without."""
    folder = tmp_path_factory.mktemp("partitions")
    for name in ("platform.json", "platform.xml"):
        write(parted(), folder / name, "platform")
    write(asking(), folder / "workload.json", "workload")
    write(asking(exclusive=True), folder / "whole.json", "workload")
    options = {
        "seed": 1,
        "platform_file_path": "platform.json",
        "workload_file_path": "whole.json",
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": "fcfs+easy"}},
    }
    (folder / "options.json").write_text(json.dumps(options))
    return folder


def test_files_hold_partitions_and_what_jobs_request(files):
    for name in ("platform.json", "platform.xml"):
        found, meant = load_platform(files / name).partitions, parted().partitions
        assert (found.names, found.features, found.default) == (meant.names, meant.features, meant.default)
        for column in ("nodes", "tiers", "factors", "exclusive", "weights"):
            assert (getattr(found, column) == getattr(meant, column)).all()
    found = load_workload(files / "whole.json", reference_flops=1e9)
    assert list(found.demands.each()) == list(asking(exclusive=True).demands.each())


def test_the_files_of_the_docs_are_read(tmp_path):
    page = (Path(__file__).parent.parent / "docs" / "reference" / "partitions.md").read_text()
    machine, workload = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for name, text in (("platform.json", machine), ("workload.json", workload)):
        (tmp_path / name).write_text(text)
    found = hdrm.load_workload(tmp_path / "workload.json", tmp_path / "platform.json")
    rows = State(load_platform(tmp_path / "platform.json"), found, log=False).tables.node_sets.demands
    assert rows["partition"].tolist() == [1, 0, 0]
    assert rows["exclusive"].tolist() == [0, 0, 1]
    assert (rows["nodes"].tolist(), rows["task"].tolist()) == ([0, 2, 0], [1, 2, 1])


def test_jobs_run_on_the_nodes_of_their_partition(files, tmp_path):
    for options, output in ((files / "options.json", "first"), (tmp_path / "first" / "options.json", "again")):
        assert main(["launch", "--options", str(options), "--output", str(tmp_path / output)]) == 0
    rows = jobs_of(tmp_path / "first" / "out_jobs.csv")
    assert rows == jobs_of(tmp_path / "again" / "out_jobs.csv")
    assert {name: float(rows[f"w0!{name}"]["starting_time"]) for name in STARTS} == STARTS
    cores = {name: rows[f"w0!{name}"]["allocated_resources"] for name in STARTS}
    assert cores["1"] == "8-11"
    assert cores["2"].startswith("8-")
    assert cores["4"] == "0-1"
    assert cores["5"] == "4-7"


def test_a_job_that_no_node_of_its_partition_serves_is_rejected_with_the_reason(files, tmp_path):
    content = json.loads((files / "workload.json").read_text())
    (tmp_path / "workload.json").write_text(json.dumps(content | {"jobs": [*content["jobs"], {
        **content["jobs"][0], "id": 6, "constraint": "ib"}]}))  # fmt: skip
    found = hdrm.simulate(files / "platform.json", tmp_path / "workload.json", "fcfs+easy")
    assert found.not_run == ("w0!6",)
    assert rejected_jobs(found.simulator.state, found.workload.ids) == {"w0!6": NO_NODES}


def test_gpus_are_taken_on_each_node():
    machine = replace(parted(), node_gpus=np.array([2.0, 2.0, 2.0, 0.0]))
    demands = [Demand(nodes=2, gpus_per_node=2.0), Demand(gpus_per_node=2.0), Demand(gpus_per_node=1.0), Demand()]
    asked = jobs(submit=[0.0, 1.0, 2.0, 3.0], seconds=[100.0, 10.0, 10.0, 10.0], size=[3, 1, 1, 4])
    found = hdrm.simulate(machine, replace(asked, demands=demands_of(demands)), "fcfs+easy", clock="textbook")
    assert found.start.tolist() == [0.0, 1.0, 11.0, 3.0]
    assert found.simulator.state.node_free_gpus.tolist() == [2.0, 2.0, 2.0, 0.0]


def test_agents_that_choose_nodes_are_shown_those_of_the_partition(files):
    state = State(parted(), asking(), whole=False, log=False)
    assert state.tables.node_sets.members[state.tables.node_sets.demands["set"][0]].tolist() == [0, 0, 1, 1]
    with pytest.raises(OptionsError, match="requests 2 nodes, but one must take all"):
        State(parted(), asking(), whole=True, log=False)


def test_what_cannot_be_had_is_refused_in_one_line(files, tmp_path):
    with pytest.raises(WorkloadError, match=r"job 1: requests partition 'fast'; the platform has no partitions"):
        hdrm.simulate(16, files / "workload.json", "fcfs")
    content = json.loads((files / "workload.json").read_text())
    path = tmp_path / "wrong.json"
    for change, told in (
        ({"partition": "fsat"}, r"wrong.json: partition 'fsat': the platform has none; did you mean 'fast'"),
        ({"nodes": 0}, r"jobs\[0\].nodes: is 0; a whole number from 1 to 2,147,483,647 is needed"),
        ({"exclusive": 1}, r"jobs\[0\].exclusive: is 1; true or false is needed"),
    ):
        path.write_text(json.dumps(content | {"jobs": [content["jobs"][0] | change, *content["jobs"][1:]]}))
        with pytest.raises(WorkloadError, match=told):
            hdrm.simulate(files / "platform.json", path, "fcfs")
    where = {"platform": files / "platform.json", "workload": files / "workload.json"}
    with pytest.raises(OptionsError, match=r"multifactor\+slurm: ranks the jobs of each episode beforehand"):
        gymnasium.make_vec("hdeeprm_like/PolicySelect-v0", 2, **where, actions=["multifactor+slurm"])


def test_batsim_gives_no_whole_nodes(files, tmp_path):
    for name in ("platform.xml", "whole.json"):
        (tmp_path / name.replace("whole", "workload")).write_text((files / name).read_text())
    ours = talk(parted(), baseline("fcfs+easy"))
    with pytest.raises(ProtocolError, match="gets whole nodes; Batsim gives no more cores than requested"):
        play_on_server(ours, tmp_path)


def test_a_trace_and_its_words_beside_it_request_partitions(files, tmp_path):
    line = "{0} {1} 0 100 4 -1 -1 4 100 -1 1 -1 -1 -1 -1 1 -1 -1"
    (tmp_path / "jobs.swf").write_text("; Partition: 1 fast\n" + "\n".join(line.format(i, i) for i in range(1, 4)))
    for words in (None, "Job,Partition\n1,fast\n2,fast\n3,fast\n"):
        if words:
            (tmp_path / "jobs.extra.csv").write_text(words)
        found = hdrm.load_workload(tmp_path / "jobs.swf", files / "platform.json")
        assert found.demands.partition == ("fast",) * 3
    (tmp_path / "jobs.extra.csv").write_text("Job,Partition\n1,fast\n2,all\n3,fast\n")
    assert hdrm.load_workload(tmp_path / "jobs.swf", files / "platform.json").demands.partition[1] == "all"
    assert hdrm.load_workload(tmp_path / "jobs.swf", 16).demands is None
