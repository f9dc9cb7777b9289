"""What a sweep costs beside a bare loop over the same 10,000 simulations of 1024 jobs, in CPU time of all processes.

Both run at the same time, so that other work on the machine slows both. ``HDEEPRM_LIKE_BENCH_SWEEP=ray`` takes that
engine in place of the local one, ``HDEEPRM_LIKE_BENCH_WINDOWS=200x1024`` fewer windows.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

TRACE = Path(__file__).parents[2] / "workloads" / "lublin_256.swf.gz"
POLICIES = ["fcfs", "fcfs+easy", "sjf+easy", "saf+easy", "f1+easy"]
WINDOWS = os.environ.get("HDEEPRM_LIKE_BENCH_WINDOWS", "2000x1024")
ENGINE = os.environ.get("HDEEPRM_LIKE_BENCH_SWEEP", "local")
TICKS = os.sysconf("SC_CLK_TCK")  # of the CPU clock in a second
EVERY = 0.2  # s between two looks at the processes, which is what is missed of each at most
LOOP = """
import sys
from pathlib import Path
from hdeeprm_like.cluster.schedule import figures
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.studies.compare.policies import policies_named
from hdeeprm_like.studies.compare.sampling import windows_named
from hdeeprm_like.studies.compare.windows import schedule
trace, policies, windows = sys.argv[1:]
comparison = Comparison(Path(trace), policies_named(policies), windows_named(windows, None), seed=1)
inputs = inputs_of(comparison)
for number in range(inputs.count):
    window = inputs.window(number)
    for policy in comparison.policies:
        figures(schedule(inputs.machine, window, policy, comparison.clock))
"""


def begun(*words):
    """A process of this Python."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, *map(str, words)], **quiet)


def processes():
    """Parent and CPU s of each process of this computer."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        found[int(path.parent.name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / TICKS
    return found


def spent(*roots):
    """CPU s of some processes until they end, each with all that it and its own have begun."""
    seconds = [{root.pid: 0.0} for root in roots]
    while any(root.poll() is None for root in roots):
        there = processes()
        for tree in seconds:
            while new := {pid for pid, (parent, _) in there.items() if parent in tree and pid not in tree}:
                tree |= dict.fromkeys(new, 0.0)
            tree |= {pid: cpu for pid, (_, cpu) in there.items() if pid in tree}
        time.sleep(EVERY)
    assert not any(root.returncode for root in roots)
    return [sum(tree.values()) for tree in seconds]


def test_a_sweep_beside_a_bare_loop(tmp_path):
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({"compare": str(TRACE), "policies": POLICIES, "windows": WINDOWS}), encoding="utf-8")
    loop = begun("-c", LOOP, TRACE, ",".join(POLICIES), WINDOWS)
    how = ("--workers", "1", "--engine", ENGINE, "-q")
    sweep = begun("-m", "hdeeprm_like", "sweep", file, "--output", tmp_path / "out", *how)
    bare, many = spent(loop, sweep)
    more = 100 * (many / bare - 1)
    print(f"\n{WINDOWS} under {len(POLICIES)} policies: loop {bare:.1f} CPU s, {ENGINE} {many:.1f}, {more:.1f} % more")
