"""CPU seconds of `hdeeprm-like batsim` as a whole process: jobs that sleep or compute, first come, first served.

The scheduler is a process of its own, whose CPU time is not counted. ``BASE`` names the Python of another version of
this package, which then plays in turns with this one:

    BASE=../base/.venv/bin/python python -m pytest -m bench -s tests/bench/bench_server.py
"""

import json
import os
import random
import statistics
import subprocess
import sys

import pytest
from server_inputs import HEAD, free_port

pytestmark = pytest.mark.bench

MACHINES = 128
SCHEDULER = f"""
import heapq, json, sys, zmq
from collections import deque
with zmq.Context() as context, context.socket(zmq.REP) as socket:
    socket.bind(sys.argv[1])
    free, waiting, held, ended = list(range({MACHINES})), deque(), {{}}, False
    while not ended:
        message, events = json.loads(socket.recv()), []
        for event in message["events"]:
            data = event["data"]
            if event["type"] == "JOB_SUBMITTED":
                waiting.append((data["job_id"], data["job"]["res"]))
            elif event["type"] == "JOB_COMPLETED":
                for machine in held.pop(data["job_id"]):
                    heapq.heappush(free, machine)
            ended |= event["type"] == "SIMULATION_ENDS"
        while waiting and waiting[0][1] <= len(free):
            name, size = waiting.popleft()
            held[name] = [heapq.heappop(free) for _ in range(size)]
            data = {{"job_id": name, "alloc": " ".join(map(str, held[name]))}}
            events.append({{"timestamp": message["now"], "type": "EXECUTE_JOB", "data": data}})
        socket.send(json.dumps({{"now": message["now"], "events": events}}).encode())
"""


def write_inputs(folder, jobs):
    """128 machines without a network, and jobs of 20 delays and 20 computations that keep half of them busy."""
    dice, time, listed = random.Random(jobs), 0.0, []
    hosts = "".join(f'<host id="h{i}" speed="1e9"/>' for i in range(MACHINES))
    (folder / "p.xml").write_text(
        f'{HEAD}<zone id="z" routing="Full">{hosts}<host id="master_host" speed="1e9"/></zone></platform>'
    )
    profiles = {f"d{k}": {"type": "delay", "delay": 10.0 + 37.25 * k} for k in range(20)}
    for k in range(20):
        profiles[f"c{k}"] = {"type": "parallel_homogeneous", "cpu": 1e9 * (10.0 + 33.1 * k), "com": 0}
    for number in range(jobs):
        time += dice.expovariate(1 / 50.0)
        job = {
            "id": number,
            "subtime": round(time, 3),
            "walltime": 10000.0,
            "res": dice.choice([1, 1, 2, 4, 8, 16, 32]),
        }
        listed.append(job | {"profile": f"{dice.choice('dc')}{dice.randrange(20)}"})
    (folder / "w.json").write_text(json.dumps({"nb_res": MACHINES, "jobs": listed, "profiles": profiles}))


def cpu_of(python, folder):
    """Return the CPU seconds of one simulation."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER, address])
    words = ["-m", "hdeeprm_like", "batsim", "-p", "p.xml", "-w", "w.json", "-s", address, "-q"]
    server = subprocess.Popen([python, *words], cwd=folder)
    _, status, usage = os.wait4(server.pid, 0)
    server.returncode = status
    scheduler.wait(20)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize(("jobs", "times"), [(1, 15), (250, 11), (1000, 7), (10_000, 3), (100_000, 1)])
def test_cpu_of_the_server(jobs, times, tmp_path):
    write_inputs(tmp_path, jobs)
    pythons = [sys.executable, *filter(None, [os.environ.get("BASE")])]
    turns = [[cpu_of(python, tmp_path) for python in pythons] for _ in range(times)]
    text = ", ".join(
        f"{name} least {min(column):.3f} s, median {statistics.median(column):.3f} s"
        for name, column in zip(("this", "base"), zip(*turns, strict=True), strict=False)
    )
    if len(pythons) > 1:
        text += f", this / base {statistics.median(turn[0] / turn[1] for turn in turns):.3f}"
    print(f"\n{jobs:,} jobs: {text}")
