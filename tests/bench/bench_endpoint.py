"""CPU seconds of the endpoint on Gaia's first jobs, and of the emptiest scheduler that PyBatsim can run.

The conversation is recorded once in process; then a process of its own plays Batsim's side to each endpoint. Whole
processes of `hdeeprm-like launch` are measured too; ``BASE`` names the Python of another version of this package, which
then plays in turns with this one:

    BASE=../base/.venv/bin/python python -m pytest -m bench -s tests/bench/bench_endpoint.py
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zmq
from server_inputs import free_port

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.endpoint import Endpoint
from hdeeprm_like.batsim.pybatsim_scheduler import Scheduler
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.batsim_server import cli
from hdeeprm_like.decision.system import FirstAction
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.run_folder import write_inputs

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parent.parent.parent
ORIGINAL = 8.2  # s of Python's CPU that the original takes for these 1000 jobs
TIMES = 9  # of each, one after the other


def talk_of(experiment):
    return Conversation(
        Classic(experiment).system, FirstAction(), Codec4(), experiment.platform, experiment.workload.limits()
    )


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


@pytest.fixture(scope="module")
def experiment():
    return load_experiment(OPTIONS)


@pytest.fixture(scope="module")
def messages(experiment, tmp_path_factory):
    """Batsim's side of the conversation."""
    return recorded(experiment, tmp_path_factory.mktemp("gaia"))


def recorded(experiment, folder):
    """Return what Batsim says in a simulation, whose files are left in a folder."""
    write_inputs(experiment, folder)
    files = ["-p", folder / "platform.xml", "-w", folder / "workload.json", "-e", folder / "out"]
    options, _ = cli.read_command_line([*map(str, files), "-E"])
    talk, said = talk_of(experiment), []

    def ask(text):
        said.append(text)
        return talk.answer(text).encode()

    assert cli.play(options, ask)
    return said


def say(path, address):
    """Play Batsim: say each message when the one before is answered."""
    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.connect(address)
        for message in json.loads(Path(path).read_text()):
            socket.send_string(message)
            socket.recv()


def cpu_of(messages, folder, listeners):
    """Return the median CPU seconds of ``listen(address)`` for each, in turns, and the median ratio to the first."""
    path = folder / "messages.json"
    path.write_text(json.dumps(messages))
    seconds = []
    for turn in range(TIMES + 1):  # in the first everything is imported and compiled
        seconds.append([])
        for number, listen in enumerate(listeners):
            address = f"tcp://127.0.0.1:{28800 + turn * len(listeners) + number}"
            peer = multiprocessing.get_context("spawn").Process(target=say, args=(str(path), address), daemon=True)
            peer.start()
            begin = time.process_time()
            listen(address)
            seconds[-1].append(time.process_time() - begin)
            peer.join(20)
    found = np.array(seconds[1:])
    return np.median(found, axis=0), np.median(found / found[:, :1], axis=0)


def under_pybatsim(scheduler, address):
    """Run a scheduler in PyBatsim's own loop."""
    from batsim.batsim import Batsim

    batsim = Batsim(scheduler, address, 20000)
    batsim.start()
    batsim.network.context.term()


def test_cpu_of_the_endpoint(messages, experiment, tmp_path):
    from batsim.batsim import BatsimScheduler

    class Empty(BatsimScheduler):
        """Answers nothing."""

        def onJobSubmission(self, job):
            pass

        def onJobCompletion(self, job):
            pass

        def onMachinePStateChanged(self, nodeid, pstate):
            pass

    def ours(address):
        endpoint = Endpoint(address)
        endpoint.play(talk_of(experiment), patience=20.0)
        endpoint.close()

    recursion = sys.getrecursionlimit()
    listeners = {
        "emptiest PyBatsim scheduler": lambda address: under_pybatsim(Empty(), address),
        "our scheduler in PyBatsim's loop": lambda address: under_pybatsim(Scheduler(talk_of(experiment)), address),
        "our endpoint": ours,
    }
    medians, ratios = cpu_of(messages, tmp_path, list(listeners.values()))
    sys.setrecursionlimit(recursion)
    print(f"\n{len(messages)} messages, 1000 jobs, CPU s (medians of {TIMES} runs in turns):")
    for name, seconds, ratio in zip(listeners, medians, ratios, strict=True):
        print(
            f"{name:34} {seconds:6.3f} s  {1e6 * seconds / len(messages):6.1f} us/message  "
            f"{ratio:5.2f} x emptiest  {ORIGINAL / seconds:6.1f} x less than the original"
        )


def cpu_of_process(words, messages, folder):
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
    _, status, usage = os.wait4(begun.pid, 0)
    begun.returncode = status
    assert status == 0
    return usage.ru_utime + usage.ru_stime


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
    pythons = {"this": sys.executable, **({"base": os.environ["BASE"]} if "BASE" in os.environ else {})}
    processes = {"emptiest": [sys.executable, "-c", EMPTY, "ADDRESS"]}
    processes |= {name: [python, *launch] for name, python in pythons.items()}
    turns = []
    for _ in range(TIMES + 1):  # in the first everything is compiled
        turns.append([cpu_of_process(words, messages, tmp_path) for words in processes.values()])
    for name, column in zip(processes, zip(*turns[1:], strict=True), strict=True):
        ratio = statistics.median(seconds / turn[0] for seconds, turn in zip(column, turns[1:], strict=True))
        print(f"\n{jobs} jobs, whole process, {name}: median {statistics.median(column):.3f} s, {ratio:.2f} x emptiest")
