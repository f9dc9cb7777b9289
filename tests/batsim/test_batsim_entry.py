"""PyBatsim's own launcher runs our scheduler, with HDeepRM's options, as it runs anybody's."""

import csv
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from batsim_talk import FOUR, assert_same_schedule, message, talk, write_inputs
from server_inputs import free_port
from small import jobs, run

from hdeeprm_like import simulate
from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.cli.main import main
from hdeeprm_like.entry import PYBATSIM
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.formats.workload_json_writer import write_workload
from hdeeprm_like.learning.checkpoint import read_checkpoint

LAUNCHER = Path(sys.executable).with_name("pybatsim")
JOBS = jobs(
    submit=[0.0, 0.0, 1.0, 2.0, 2.5, 9.0],
    seconds=[3.0, 1.0, 2.0, 5.0, 1.0, 1.0],
    size=[2, 1, 4, 3, 1, 5],
    memory=[0.0, 10.0, 0.0, 0.0, 300.0, 0.0],
    bandwidth=[0.0, 3.0, 0.0, 6.0, 3.0, 0.0],
)


class Started(subprocess.Popen):
    """A process that does not outlive its test."""

    def __exit__(self, *what):
        self.kill()
        super().__exit__(*what)


def pybatsim(folder, options, *more):
    """PyBatsim's launcher with our file, in a folder."""
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    words = [LAUNCHER, PYBATSIM, "-s", endpoint, "-t", "300000", "-v", "error", "-o", json.dumps(options), *more]
    started = Started(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return started, endpoint


def played(folder, options, *words, inputs=".", status=0, more=()):
    """Play the inputs of a folder with PyBatsim's launcher and our server; return what the first said."""
    scheduler, endpoint = pybatsim(folder, options, *more)
    files = ["-p", f"{folder}/{inputs}/platform.xml", "-w", f"{folder}/{inputs}/workload.json", "-e", f"{folder}/out"]
    with scheduler:
        assert server.main([*files, "-q", "-s", endpoint, "--timeout", "300", *words]) == status
        output, _ = scheduler.communicate(timeout=300)
    assert scheduler.returncode == status, output
    return output


def counters(output):
    """The counters above 0 in what PyBatsim's launcher prints at its end."""
    line = next(line for line in output.splitlines() if line.startswith("Job submitted"))
    found = {name: int(count) for name, count in re.findall(r"(\w+):? (\d+)", line)}
    return {name: count for name, count in found.items() if count}


PLAIN = """<platform version="4.1"><zone id="z" routing="Full"><host id="master_host" speed="1Gf"/>
<host id="one" speed="1Gf" core="2"/><host id="two" speed="2Gf"/>
<link id="l" bandwidth="1GBps" latency="7us"/><route src="master_host" dst="one"><link_ctn id="l"/></route>
</zone></platform>"""


# starts PyBatsim
@pytest.mark.more
def test_pybatsim_plays_a_users_own_platform_as_it_is(tmp_path):
    (tmp_path / "platform.xml").write_text(PLAIN)
    known = read_platform_xml(tmp_path / "platform.xml")
    write_workload(replace(JOBS, size=JOBS.size.clip(max=3), capacity=3), tmp_path / "workload.json")
    options = {"seed": 5, "platform_file_path": "platform.xml", "policy": "sjf+easy"}
    played(tmp_path, options, "--enable-compute-sharing")
    workload = read_workload(tmp_path / "workload.json", reference_flops=known.reference_flops)
    schedule = simulate(known, workload, "sjf+easy", seed=5)
    rows = csv.DictReader((tmp_path / "out_jobs.csv").read_text().splitlines())
    starts = {f"w0!{row['job_id']}": float(row["starting_time"]) for row in rows}
    assert [starts[name] for name in workload.ids] == pytest.approx(schedule.start.tolist(), abs=1e-6)


# starts PyBatsim; one of each stays
@pytest.mark.lane(more=r"True")
@pytest.mark.parametrize("whole", [True, False])
def test_pybatsim_runs_us_with_the_options_that_users_know(whole, tmp_path):
    section = {"seed": 5, "agent": {"type": "CLASSIC", "policy_pair": "smallest-low_power"}}
    options = {"seed": 5, "platform_file_path": "platform.xml", "pybatsim": section} if whole else section
    write_inputs(FOUR, JOBS, tmp_path)
    output = played(tmp_path, options, "-E")
    assert counters(output) == {"submitted": 6, "scheduled": 5, "rejected": 1, "success": 5, "complete": 5}
    known = read_platform_xml(tmp_path / "platform.xml")
    workload = read_workload(tmp_path / "workload.json", reference_flops=known.reference_flops)
    assert_same_schedule(run(known, workload, ("smallest", "low_power")), tmp_path / "out_jobs.csv")
    spans = json.loads((tmp_path / "overutilizations.json").read_text())
    assert spans["mem_bw"]["nb_procs"] == 2


def test_pybatsim_asks_a_learning_agent_which_learns(tmp_path):
    agents = Path(__file__).parents[2] / "agents"
    how = ["--options", str(agents / "reinforce.json"), "--agent", str(agents / "reinforce.py"), "-q"]
    assert main(["launch", *how, "--output", str(tmp_path / "here"), "-om", str(tmp_path / "here.pt")]) == 0
    options = {"options": str(agents / "reinforce.json"), "agent": str(agents / "reinforce.py")}
    options |= {"output_model": "there.pt", "log_decisions": True}
    played(tmp_path, options, "-E", inputs="here")
    for name in ("rewards.log", "losses.log", "probs.json"):
        assert (tmp_path / name).read_text() == (tmp_path / "here" / name).read_text()
    weights = [read_checkpoint(tmp_path / f"{place}.pt")["parameters"] for place in ("here", "there")]
    assert all(torch.equal(value, weights[1][name]) for name, value in weights[0].items())
    assert json.loads((tmp_path / "decisions.jsonl").read_text())["reward"] == float(
        (tmp_path / "rewards.log").read_text()
    )


# starts PyBatsim; one of each stays
@pytest.mark.lane(more=r"options[1-5]-.*")
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"agent": {"policy_pair": "shortest-high_gflop"}}, "did you mean 'high_gflops'?"),
        ({"agent": {}}, "a CLASSIC agent follows one policy pair"),
        ({"pybatsim": {}, "seed": 1, "seeds": 1}, "seeds: is not known; did you mean 'seed'?"),
        ({"agent": {"type": "LEARNING"}}, 'a LEARNING agent is named as {"options": "EXP.json", "agent": "FILE.py"}'),
        ({"options": "exp.json"}, "options and agent: paths are needed"),
        ({"options": "exp.json", "agents": "a.py"}, "agents: is not known; did you mean 'agent'?"),
    ],
)
def test_wrong_options_are_one_line(options, problem, tmp_path):
    scheduler, _ = pybatsim(tmp_path, options)
    with scheduler:
        said, _ = scheduler.communicate(timeout=300)
    assert scheduler.returncode == 1
    assert problem in said
    assert "Traceback" not in said


# starts PyBatsim
@pytest.mark.more
def test_nonsense_is_one_line_and_the_end(tmp_path):
    import zmq

    scheduler, endpoint = pybatsim(tmp_path, {"agent": {"policy_pair": "first-low_power"}})
    with scheduler, zmq.Context() as context, context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.LINGER, 0)
        batsim.connect(endpoint)
        batsim.send(b"\xff\xfe")
        said, _ = scheduler.communicate(timeout=300)
    assert scheduler.returncode == 1
    assert said.splitlines()[-1] == "hdeeprm-like: the message is not UTF-8 (byte 0)"


# starts PyBatsim
@pytest.mark.more
def test_pybatsims_validating_machine_is_refused(tmp_path):
    write_inputs(FOUR, JOBS, tmp_path)
    said = played(tmp_path, {"agent": {"policy_pair": "first-low_power"}}, "-E", status=1, more=["-p"])
    assert "hdeeprm-like: pybatsim --protect keeps messages from schedulers; run without it" in said.splitlines()


def test_the_module_prints_where_the_file_is():
    done = subprocess.run([sys.executable, "-m", "hdeeprm_like.entry"], capture_output=True, text=True)
    assert Path(done.stdout.strip()) == PYBATSIM
    assert PYBATSIM.is_file()
    assert talk().answer(message(0.0)) == '{"now":0.0,"events":[]}'
