"""What a sweep costs beside a bare loop over the same 10,000 simulations of 1024 jobs, in CPU time of all processes.

Both run at the same time, so that other work on the machine slows both. ``HDEEPRM_LIKE_BENCH_SWEEP=ray`` takes
another engine; with ``slurm`` the jobs are no children of the command, so only what it writes itself is counted.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

TRACE = Path(__file__).parents[2] / "workloads" / "lublin_256.swf.gz"
POLICIES = ["fcfs", "fcfs+easy", "sjf+easy", "saf+easy", "f1+easy"]
WINDOWS = os.environ.get("HDEEPRM_LIKE_BENCH_WINDOWS", "2000x1024")
ENGINE = os.environ.get("HDEEPRM_LIKE_BENCH_SWEEP", "local")
TOLD = """
import resource
spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print("CPU", *(round(one.ru_utime + one.ru_stime, 2) for one in spent))
"""
LOOP = f"""
import sys
from pathlib import Path
from hdeeprm_like.cluster.schedule import figures
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.studies.compare.policies import policies_named
from hdeeprm_like.studies.compare.sampling import windows_named
from hdeeprm_like.studies.compare.windows import schedule
policies, windows = policies_named({",".join(POLICIES)!r}), windows_named(sys.argv[1], None)
comparison = Comparison(Path({str(TRACE)!r}), policies, windows, seed=1)
inputs = inputs_of(comparison)
for number in range(inputs.count):
    window = inputs.window(number)
    for policy in comparison.policies:
        figures(schedule(inputs.machine, window, policy, comparison.clock))
{TOLD}
"""
SWEEP = f"""
import sys
from hdeeprm_like.cli.main import main
if __name__ == "__main__":
    main(["sweep", sys.argv[1], "--output", sys.argv[2], "--workers", "1", "--engine", sys.argv[3], "-q"])
{TOLD.replace(chr(10), chr(10) + "    ")}
"""


def begun(folder, name, code, *words):
    """A process that runs some code from a file, as processes that it begins look for it there."""
    path = folder / f"{name}.py"
    path.write_text(code)
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    return subprocess.Popen([sys.executable, path, *map(str, words)], **quiet)


def seconds(process):
    """CPU s of a process itself and of those that it has begun."""
    told = process.communicate()[0].split("CPU ")[-1].split()
    return [float(one) for one in told]


def test_a_sweep_beside_a_bare_loop(tmp_path):
    (tmp_path / "sweep.json").write_text(
        json.dumps({"compare": str(TRACE), "policies": POLICIES, "windows": WINDOWS}), encoding="utf-8"
    )
    for turn in range(3):
        loop = begun(tmp_path, "loop", LOOP, WINDOWS)
        sweep = begun(tmp_path, "many", SWEEP, tmp_path / "sweep.json", tmp_path / f"out-{turn}", ENGINE)
        bare, (own, others) = sum(seconds(loop)), seconds(sweep)
        print(
            f"\n{WINDOWS} x {len(POLICIES)}: loop {bare:.1f} CPU s, sweep by {ENGINE} {own:.2f} + {others:.1f}", end=""
        )
        print(f", {100 * ((own + others) / bare - 1):.1f} % more", end="")
