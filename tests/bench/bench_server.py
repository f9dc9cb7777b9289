"""CPU seconds of `hdeeprm-like batsim` as a whole process: jobs that sleep or compute, first come, first served.

The scheduler is a process of its own, whose CPU time is not counted. ``BASE`` names the Python of another version of
this package, which then plays in turns with this one:

    BASE=../base/.venv/bin/python python -m pytest -m bench -s tests/bench/bench_server.py

Where g++ and Debian's libsimgrid-dev, libzmq3-dev and rapidjson-dev are installed, ``bare_server.cpp`` plays, too:
Batsim's actors on SimGrid itself and no more, so that Batsim costs at least that. Debian's SimGrid loads ns-3 as well.
"""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from measuring import ended, in_turns, pythons
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


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """The bare server as a program, None where it cannot be built."""
    program = tmp_path_factory.mktemp("bare") / "bare_server"
    source = Path(__file__).with_name("bare_server.cpp")
    words = ["g++", "-O2", "-std=c++17", source, "-o", program, "-lsimgrid", "-lzmq"]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("\nbare_server.cpp cannot be built: g++, libsimgrid-dev, libzmq3-dev or rapidjson-dev is missing")
        return None
    return program


def cpu_of(program, folder):
    """Return the CPU seconds of one simulation, by a Python with this package or by the bare server."""
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = subprocess.Popen([sys.executable, "-c", SCHEDULER, address])
    words = ["-m", "hdeeprm_like", "batsim", "-p", "p.xml", "-w", "w.json", "-s", address, "-q"]
    if isinstance(program, Path):
        words = ["p.xml", "w.json", address, "rows.csv", "--log=root.thresh:error"]
    server = subprocess.Popen([program, *words], cwd=folder)
    seconds = ended(server)
    scheduler.wait(20)
    return seconds


@pytest.mark.parametrize(("jobs", "times"), [(1, 15), (250, 11), (1000, 7), (10_000, 3), (100_000, 1)])
def test_cpu_of_the_server(jobs, times, bare, tmp_path):
    write_inputs(tmp_path, jobs)
    programs = pythons() | ({"bare server on SimGrid": bare} if bare else {})
    first = "bare server on SimGrid" if bare else "this"
    in_turns(f"{jobs:,} jobs", programs, times, lambda program: cpu_of(program, tmp_path), first)
