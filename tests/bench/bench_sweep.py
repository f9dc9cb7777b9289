"""What a sweep costs beside a bare loop over the same 10,000 simulations of 1024 jobs, in CPU time of all processes.

Both run at the same time, so that other work on the machine slows both. ``HDEEPRM_LIKE_BENCH_WINDOWS=200x1024`` takes
fewer windows. With ``HDEEPRM_LIKE_BENCH_SWEEP=slurm`` a real Slurm of one node with one core is started here, and
chunks are of ``HDEEPRM_LIKE_BENCH_CHUNK`` s.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "slurm"))
from real_slurm import RealSlurm, missing

pytestmark = pytest.mark.bench

TRACE = Path(__file__).parents[2] / "workloads" / "lublin_256.swf.gz"
POLICIES = ["fcfs", "fcfs+easy", "sjf+easy", "saf+easy", "f1+easy"]
WINDOWS = os.environ.get("HDEEPRM_LIKE_BENCH_WINDOWS", "2000x1024")
ENGINE = os.environ.get("HDEEPRM_LIKE_BENCH_SWEEP", "local")
CHUNK = os.environ.get("HDEEPRM_LIKE_BENCH_CHUNK", "180")
TICKS = os.sysconf("SC_CLK_TCK")  # of the CPU clock in a second
EVERY = 0.2  # s between two looks at the processes, which is what is missed of each at most
LOOP = """
import sys
from pathlib import Path
from hdeeprm_like.cluster.schedule import figures
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.decision.compared_policies import policies_named
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


def begun(*words, env=None):
    """A process of this Python."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, *map(str, words)], env=env, **quiet)


def processes():
    """Parent, command line and CPU s of each process of this computer."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            command = path.with_name("cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has just ended
            continue
        found[int(path.parent.name)] = int(fields[1]), command, (int(fields[11]) + int(fields[12])) / TICKS
    return found


def spent(*roots, named="?"):
    """CPU s of some processes until they end, each with all that it and its own have begun."""
    return [sum(tree.values()) for tree in watched(*roots, named=named)]


def watched(*roots, named="?"):
    """CPU s of each process that some processes and their own begin, until these end.

    With the last one counts what has *named* in its command line, as what daemons begin for it.
    """
    seconds = [{root.pid: 0.0} for root in roots]
    before = {pid: cpu for pid, (_, command, cpu) in processes().items() if named in command}
    while any(root.poll() is None for root in roots):
        there = processes()
        seconds[-1] |= {pid: 0.0 for pid, (_, command, _) in there.items() if named in command}
        for tree in seconds:
            while new := {pid for pid, (parent, _, _) in there.items() if parent in tree and pid not in tree}:
                tree |= dict.fromkeys(new, 0.0)
            tree |= {pid: cpu - before.get(pid, 0.0) for pid, (_, _, cpu) in there.items() if pid in tree}
        time.sleep(EVERY)
    assert not any(root.returncode for root in roots)
    return seconds


@contextlib.contextmanager
def environment():
    """The environment of a sweep, and what the command lines of the daemons have in them that it needs."""
    if ENGINE != "slurm":
        yield os.environ, "?"
        return
    if missing():
        pytest.skip(missing())
    with RealSlurm(nodes=1, cpus=1) as slurm:
        yield slurm.environment, str(slurm.folder)


def test_a_sweep_beside_a_bare_loop(tmp_path):
    with environment() as (env, named):
        folder = Path(named) / "sweep" if ENGINE == "slurm" else tmp_path
        folder.mkdir(exist_ok=True)
        file = folder / "sweep.json"
        file.write_text(json.dumps({"compare": str(TRACE), "policies": POLICIES, "windows": WINDOWS}), encoding="utf-8")
        how = ("--workers", "1", "--engine", ENGINE, "--chunk", CHUNK, "-q")
        began = time.perf_counter()
        loop = begun("-c", LOOP, TRACE, ",".join(POLICIES), WINDOWS)
        sweep = begun("-m", "hdeeprm_like", "sweep", file, "--output", folder / "out", *how, env=env)
        bare, many = spent(loop, sweep, named=named)
        seconds = time.perf_counter() - began
        jobs = len(list((folder / "out" / "slurm").glob("*_result.pkl")))
        shutil.rmtree(folder / "out")
    more = 100 * (many / bare - 1)
    print(f"\n{WINDOWS} under {len(POLICIES)} policies: loop {bare:.1f} CPU s, {ENGINE} {many:.1f}, {more:.1f} % more")
    if jobs:
        print(
            f"chunks of {CHUNK} s: {jobs} jobs, {(many - bare) / jobs:.2f} CPU s more for each; {seconds:.0f} s in all"
        )


@pytest.mark.skipif(ENGINE != "local", reason="the processors of this computer only")
def test_a_second_worker(tmp_path):
    """The wall time tells the speed-up on an idle machine; on a busy one the CPU s of who works longest do."""
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps({"compare": str(TRACE), "policies": POLICIES, "windows": WINDOWS}), encoding="utf-8")
    print()
    walls, longest = [], []
    for workers in (1, 2):
        began, out = time.perf_counter(), tmp_path / str(workers)
        command = begun("-m", "hdeeprm_like", "sweep", file, "--output", out, "--workers", workers, "-q")
        (tree,) = watched(command)
        walls.append(time.perf_counter() - began)
        own = tree.pop(command.pid)
        longest.append(own + max(tree.values()))
        told = " and ".join(f"{cpu:.1f}" for cpu in sorted(tree.values())[-workers:])
        load = os.getloadavg()[0]
        print(f"{workers} workers: {walls[-1]:.1f} s; CPU s: command {own:.1f}, workers {told}; load {load:.1f}")
    print(f"speed-up {walls[0] / walls[1]:.2f} by wall, {longest[0] / longest[1]:.2f} by command and longest worker")
