"""CPU seconds beside another simulator that computes the same schedule; prints figures and fails nothing but that.

AccaSim has packages of its own, so it is asked for in an environment of its own:

    python -m venv accasim && accasim/bin/pip install accasim==1.1.3
    ACCASIM=accasim/bin/python python -m pytest -m bench -s tests/bench/bench_peers.py
"""

import gzip
import os
import re
import subprocess
from pathlib import Path

import pytest
from measuring import timed

from hdeeprm_like.api import simulate

pytestmark = pytest.mark.bench

TRACE = Path(__file__).parents[2] / "workloads" / "lublin_256.swf.gz"
CORES, JOBS = 256, 10_000
# AccaSim 1.1.3 was written for a Python in which these names were still where it looks for them.
PROGRAM = f"""
import collections, collections.abc, json, time
for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import FirstInFirstOut
from accasim.base.simulator_class import Simulator
system = {{"system_name": "pool", "start_time": 0, "equivalence": {{"processor": {{"core": 1}}}}}}
system |= {{"groups": {{"node": {{"core": {CORES}}}}}, "resources": {{"node": 1}}}}
with open("system.json", "w") as file:
    json.dump(system, file)
begin = time.process_time()
simulator = Simulator("jobs.swf", "system.json", FirstInFirstOut(FirstFit()), RESULTS_FOLDER_NAME="results",
                      pprint_output=False, benchmark_output=False, statistics_output=False)
simulator.start_simulation()
print("CPU", time.process_time() - begin)
"""


@pytest.mark.skipif("ACCASIM" not in os.environ, reason="ACCASIM names no Python that has AccaSim")
def test_first_come_first_served_beside_accasim(tmp_path):
    (tmp_path / "jobs.swf").write_bytes(gzip.decompress(TRACE.read_bytes()))
    python = Path(os.environ["ACCASIM"]).absolute()
    done = subprocess.run(
        [python, "-W", "ignore", "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    told = done.stdout + done.stderr
    theirs = [float(re.search(rf"{what}: ([\d.]+)", told)[1]) for what in ("Makespan", "waiting times", "slowdown")]
    played = [timed(lambda: simulate(CORES, TRACE, "fcfs", clock="textbook")) for _ in range(4)]  # the first compiles
    seconds, schedule = [one for one, _ in played], played[-1][1]
    ours = [schedule.figures[name] for name in ("makespan", "wait", "slowdown")]
    assert ours == pytest.approx(theirs, abs=0.005)  # of which it prints two digits
    print(f"{JOBS:,} jobs on {CORES} cores, first come, first served, reading the trace included")
    accasim = float(re.search(r"CPU ([\d.]+)", told)[1])
    print(f"AccaSim {accasim:.1f} CPU s, this {min(seconds):.3f} CPU s")
