"""``launch --socket`` and PyBatsim's launcher with a Batsim started separately: no side waits for ever."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import zmq
from server_inputs import free_port
from test_batsim_entry import LAUNCHER
from test_launch_batsim import experiment_file, record, wait_until

from hdeeprm_like.entry import PYBATSIM
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch import with_batsim
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.peers import peer_of
from hdeeprm_like.launch.with_batsim import claim, first_record, prepare

OURS = [sys.executable, "-m", "hdeeprm_like"]


def launch_words(folder, port, timeout):
    words = ["launch", "-q", "-o", str(folder / "exp.json"), "--output", str(folder / "out"), "--simulator", "batsim"]
    return [*OURS, *words, "--socket", str(port), "--timeout", str(timeout)]


def batsim_words(folder, port, *more):
    files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/workload.json", "-e", f"{folder}/out"]
    return [*OURS, "batsim", "-E", "-q", "-s", f"tcp://127.0.0.1:{port}", *files, *more]


def started(stack, words, folder):
    process = stack.enter_context(subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True))
    stack.callback(process.kill)
    return process


# waits
@pytest.mark.more
def test_a_batsim_that_never_comes_is_waited_for_as_long_as_the_timeout_says(tmp_path):
    experiment_file(tmp_path)
    done = subprocess.run(launch_words(tmp_path, free_port(), 0.5), capture_output=True, text=True, timeout=300)
    assert done.returncode == 1
    assert "Batsim has said nothing for 0.5 s" in done.stderr
    assert record(tmp_path / "out")["status"] == "incomplete"


def test_a_batsim_that_sends_before_we_are_ready_is_answered_too(tmp_path, monkeypatch):
    experiment, port = load_experiment(experiment_file(tmp_path)), free_port()
    with zmq.Context() as context, context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.LINGER, 0)
        batsim.connect(f"tcp://127.0.0.1:{port}")
        batsim.send(b"{}")

        def stopped_while_it_writes(*_):
            wait_until(lambda: connected(port))
            os.kill(os.getpid(), signal.SIGTERM)

        monkeypatch.setattr(with_batsim, "write_inputs", stopped_while_it_writes)
        run = with_batsim.launch_batsim(
            Classic(experiment),
            tmp_path / "out",
            peer_of("batsim", tmp_path, socket=str(port), timeout=300),
            progress=False,
        )
        assert batsim.poll(300_000)
        assert json.loads(batsim.recv()) == {"error": "stopped by SIGTERM"}
    assert (run["status"], run["problem"]) == ("incomplete", "stopped by SIGTERM")
    assert record(tmp_path / "out") == run


def interrupt_once(folder, words, number, victim, delay):
    """Start our side and a Batsim by hand, send a signal to one of them some s after Batsim's start; both must end.

    Args:
        words: the command line of our side by its folder and its port.
    """
    port, out = free_port(), folder / "out"
    killed = number == signal.SIGKILL
    # who is stopped by a signal that can be caught says so, and the other needs no timeout to end
    patience = ("--timeout", "2") if killed else ()
    with ExitStack() as stack:
        ours = started(stack, words(folder, port), folder)
        wait_until(lambda: (out / "workload.json").exists() and (out / "platform.xml").exists())
        batsim = started(stack, batsim_words(out, port, *patience), folder)
        if not killed:  # a peer that has not connected yet cannot be informed
            wait_until(lambda: connected(port))
        time.sleep(delay)
        (ours if victim == "endpoint" else batsim).send_signal(number)
        ends = [process.communicate(timeout=300)[1] for process in (ours, batsim)]
    assert not any("Traceback" in text for text in ends), ends
    return ours.returncode, batsim.returncode, ends


def connected(port):
    """Whether a peer has connected to a port of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def moments(tries, seed):
    dice = random.Random(seed)
    return [dice.uniform(0.0, 2.0) for _ in range(tries)]


HOW = [
    (signal.SIGTERM, "endpoint"),
    (signal.SIGINT, "endpoint"),
    (signal.SIGKILL, "endpoint"),
    (signal.SIGKILL, "batsim"),
]


def interrupt_launch(folder, number, victim, delays):
    experiment_file(folder, jobs=400)
    for delay in delays:
        patience = 3 if victim == "batsim" else 60
        ours, batsim, ends = interrupt_once(folder, lambda f, p: launch_words(f, p, patience), number, victim, delay)  # noqa: B023
        run = record(folder / "out")
        if run["status"] == "complete":  # the next launch would not replace it
            shutil.rmtree(folder / "out")
        # a signal may still come while a process ends whose run is already complete
        assert ours == (0 if run["status"] == "complete" else 1) or ours == -number, ends
        assert ours != 0 or run["status"] == "complete", ends
        assert batsim == 0 or number == signal.SIGKILL or "the scheduler has left: 'stopped by SIG" in ends[1], ends


# another signal
@pytest.mark.lane(more=r"15-0\.3")
@pytest.mark.parametrize(("number", "delay"), [(signal.SIGTERM, 0.3), (signal.SIGINT, 0.0)])
def test_a_batsim_by_hand_ends_when_we_are_stopped(number, delay, tmp_path):
    interrupt_launch(tmp_path, number, "endpoint", [delay])


@pytest.mark.slow
@pytest.mark.parametrize(("number", "victim"), HOW)
def test_either_side_is_stopped_at_twenty_moments_and_the_other_ends(number, victim, tmp_path):
    interrupt_launch(tmp_path, number, victim, moments(20, seed=int(number)))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_batsim_by_hand_ends_when_we_are_stopped_while_machine_code_is_made(number, tmp_path, monkeypatch):
    dice = random.Random(int(number))
    for nth in range(5):  # LLVM calls Python there, and what Python raises is lost
        monkeypatch.setenv("HDEEPRM_LIKE_CACHE", str(tmp_path / f"cache-{nth}"))
        interrupt_launch(tmp_path, number, "endpoint", [dice.uniform(0.3, 10.0)])


# another signal
@pytest.mark.lane(more=r"1")
@pytest.mark.parametrize("tries", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_under_pybatsims_launcher_batsim_ends_when_we_are_stopped(tries, tmp_path):
    experiment_file(tmp_path, jobs=400)
    experiment, peer = load_experiment(tmp_path / "exp.json"), peer_of("batsim", tmp_path, socket="1", timeout=1)
    claim(tmp_path / "out", first_record(Classic(experiment), peer, runs=1))
    prepare(experiment, tmp_path / "out", peer)
    options = json.dumps({"seed": 1, "agent": {"policy_pair": "first-low_power"}})

    def words(folder, port):
        endpoint = f"tcp://127.0.0.1:{port}"
        return [str(LAUNCHER), str(PYBATSIM), "-s", endpoint, "-t", "300000", "-v", "error", "-o", options]

    for delay in [0.3, *moments(tries - 1, seed=1)]:
        _, batsim, ends = interrupt_once(tmp_path, words, signal.SIGTERM, "endpoint", delay)
        assert batsim == 0 or "the scheduler has left: 'stopped by SIGTERM'" in ends[1], ends
