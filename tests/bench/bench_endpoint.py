"""CPU seconds of a whole launch with Batsim on Gaia's first jobs, and of the emptiest scheduler that PyBatsim can run.

The conversation is recorded once in process; then this process plays Batsim's side to each. ``BASE`` names the Python
of another version of this package, which then plays in turns with this one:

    BASE=../base/.venv/bin/python python -m pytest -m bench -s tests/bench/bench_endpoint.py
"""

import json
import subprocess
import sys

import pytest
import zmq
from measuring import ROOT, ended, in_turns, pythons
from server_inputs import free_port

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim_server import cli
from hdeeprm_like.decision.system import FirstAction
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.run_folder import write_inputs

pytestmark = pytest.mark.bench

TIMES = 9  # of each, one after the other
OPTIONS = ROOT / "agents" / "gaia-first-high_gflops.json"
EMPTY = """
import sys
from batsim.batsim import Batsim, BatsimScheduler
class Empty(BatsimScheduler):
    def onJobSubmission(self, job): pass
    def onJobCompletion(self, job): pass
    def onMachinePStateChanged(self, nodeid, pstate): pass
batsim = Batsim(Empty(), sys.argv[1], 20000)
batsim.start()
batsim.network.context.term()
"""


def recorded(experiment, folder):
    """Return what Batsim says in a simulation, whose files are left in a folder."""
    write_inputs(experiment, folder)
    files = ["-p", folder / "platform.xml", "-w", folder / "workload.json", "-e", folder / "out"]
    options, _ = cli.read_command_line([*map(str, files), "-E"])
    limits = experiment.workload.limits()
    talk = Conversation(Classic(experiment).system, FirstAction(), Codec4(), experiment.platform, limits)
    said = []

    def ask(text):
        said.append(text)
        return talk.answer(text).encode()

    assert cli.play(options, ask)
    return said


def cpu_of(words, messages, folder):
    """Return the CPU seconds of a process at the end of *words*' address that answers the messages."""
    address = f"tcp://127.0.0.1:{free_port()}"
    begun = subprocess.Popen([word.replace("ADDRESS", address) for word in words], cwd=folder)
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.connect(address)
        for message in messages:
            socket.send_string(message)
            socket.recv()
    if (folder / "run").exists():  # Batsim's last file, which a launch waits for
        (folder / "run" / "out_schedule.csv").write_bytes((folder / "out_schedule.csv").read_bytes())
    return ended(begun)


@pytest.mark.parametrize("jobs", [200, 1000])
def test_cpu_of_a_whole_launch(jobs, tmp_path):
    (tmp_path / "options.txt").write_text(json.dumps(json.loads(OPTIONS.read_text()) | {
        "nb_jobs": jobs,
        "workload_file_path": str(ROOT / "workloads" / "gaia.swf.gz"),
        "platform_file_path": str(ROOT / "platforms" / "gaia.json"),
    }))  # fmt: skip
    messages = recorded(load_experiment(tmp_path / "options.txt"), tmp_path)
    launch = ["-m", "hdeeprm_like", "launch", "--options", "options.txt", "--output", "run", "--overwrite", "-q"]
    launch += ["--simulator", "batsim", "--socket", "ADDRESS"]
    processes = {"emptiest": [sys.executable, "-c", EMPTY, "ADDRESS"]}
    processes |= {name: [python, *launch] for name, python in pythons().items()}
    what = f"{jobs} jobs, {len(messages)} messages, whole process"
    in_turns(what, processes, TIMES, lambda words: cpu_of(words, messages, tmp_path), "emptiest")
