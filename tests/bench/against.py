"""Compare the speed with that of another version: `make bench-against REF=62f3f59`, in some 20 minutes.

Each case runs at both versions in turns, each time in a process of its own, after one that compiles. What counts is CPU
time, of which single figures vary by 40 % on a busy machine, so printed is the median of the ratios of neighbouring
runs: 1.10 means that this version does 10 % more in a second than the other one.
"""

import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "against"  # worktrees, machine code and the long trace; kept, so that a second run is short
ENVS = 64
SECONDS = 0.3  # CPU s of one measurement; a process makes ROUNDS of them, the best counts
ROUNDS = 6
COPIES, STRETCH = 20, 1.3  # of Lublin-1 in the long trace: 200,000 jobs, submitted more slowly, at a load of .6


def found(name: str, *modules: str) -> Any:
    """Return what is called so in the first module that there is: versions have it in different places."""
    for module in modules:
        try:
            return getattr(import_module(f"hdeeprm_like.{module}"), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise SystemExit(f"no {name} in {' nor '.join(modules)}")


# --- vector environments


def environment(space: Any, platform: Any, workload: Any, jobs: int | None, clock: str) -> Any:
    """Return many environments in one, whose episodes are windows of a workload."""
    vector = found("SchedulingVectorEnv", "envs.vector", "drivers.vector")
    windows = found("Windows", "envs.windows", "envs.single", "drivers.env")(workload, jobs)
    return vector(space, platform, windows, ENVS, clock=clock, limits=workload.limits(), copy=False)


def pairs(path: str, jobs: int | None, clock: str) -> Any:
    """Return environments of an experiment whose actions are pairs of policies, with the minimal observation."""
    own = Path(str(import_module("hdeeprm_like").__file__)).parents[1]  # each version has the options that it knows
    experiment = found("load_experiment", "experiment")(own / path)
    space = replace(experiment.space, observation="minimal")
    return environment(space, experiment.platform, experiment.workload, jobs, clock)


def slots(name: str, clock: str, **changes: Any) -> Any:
    """Return environments of a published space on windows of Lublin-1."""
    import numpy as np

    space = replace(found("PRESETS", "decision.presets", "decision.spaces")[name], **changes)
    trace = found("read_swf", "formats.swf")(ROOT / "workloads" / "lublin_256.swf.gz")
    how = {"reference_flops": 1e9, "capacity": 256, "runtimes": "trace", "rng": np.random.default_rng(0)}
    convert = found("convert", "formats.trace_jobs", "formats.swf")
    try:
        jobs = convert(trace, found("Reading", "formats.job_reading")(256, missing_memory=0.0), **how)
    except SystemExit:  # until November 28, 2026
        jobs, _ = convert(trace, missing_memory=0.0, **how)
    jobs = replace(jobs, size=np.minimum(jobs.size, 256), bandwidth=np.zeros(len(jobs)))
    return environment(space, found("pool", "cluster.pool", "compare.windows")(256), jobs, 256, clock)


def decisions(env: Any) -> float:
    """Return decisions per CPU second under random legal actions, the drawing of which does not count."""
    import numpy as np

    rng = np.random.default_rng(1)
    env.reset(seed=1)
    best = 0.0
    for _ in range(ROUNDS):
        steps, spent = 0, 0.0
        while spent < SECONDS:
            masks = env.action_masks()
            actions = (masks * rng.random(masks.shape)).argmax(1)
            begin = time.thread_time()
            env.step(actions)
            spent += time.thread_time() - begin
            steps += 1
        best = max(best, steps * ENVS / spent)
    return best


# --- a whole trace


def whole_trace() -> Path:
    """Return a long trace with requested times, which is written if it is not there."""
    path = FOLDER / "trace.swf"
    if not path.exists():
        lines = gzip.decompress((ROOT / "workloads" / "lublin_256.swf.gz").read_bytes()).decode().splitlines()
        jobs = [line.split() for line in lines if not line.startswith(";")]
        span = int(int(jobs[-1][1]) * STRETCH) + 60
        made = ["; MaxProcs: 256"]
        for copy in range(COPIES):
            for number, job in enumerate(jobs, copy * len(jobs) + 1):
                submit = int(int(job[1]) * STRETCH) + copy * span
                made.append(" ".join([str(number), str(submit), *job[2:8], str(2 * int(job[3])), *job[9:]]))
        path.write_text("\n".join(made) + "\n")
    return path


def simulator_of(policy: str, jobs: Any) -> Iterator[int]:
    """Return a simulation of a window of a trace on cores that are counted, before it begins."""
    machine = found("pool", "cluster.pool", "compare.windows")(256)
    state_of = found("State", "engine.state", "cluster.state")
    baseline = found("baseline", "decision.names", "decision.baselines")(policy)
    try:
        actions = found("PolicyActions", "decision.actions")([baseline])
        state = state_of(machine, jobs.workload, log=False, named=False, needs=actions.needs, epoch=jobs.epoch)
        simulator = found("Simulator", "run.simulator")(state, jobs.workload, "textbook")
        return found("run_policy", "run.to_end")(simulator, actions)  # type: ignore[no-any-return]
    except (SystemExit, TypeError):  # until November 22, 2026
        state = state_of(machine, jobs.workload, policies=(), log=False, named=False)
        plan = found("new_plan", "decision.heuristics")(state, baseline, epoch=jobs.epoch)
        return found("Textbook", "drivers.textbook")(state, jobs.workload).run(plan)  # type: ignore[no-any-return]


def jobs_per_second(policy: str) -> float:
    """Return jobs per CPU second of a simulation of the whole trace, the best of some."""
    trace = found("read_swf", "formats.swf")(whole_trace())
    try:
        trace = found("jobs_of", "formats.job_reading")(trace, found("Reading", "formats.job_reading")())
    except SystemExit:  # until November 28, 2026
        trace = found("usable", "formats.windows", "compare.windows")(trace)
    jobs = found("window", "formats.windows", "compare.windows")(trace, 256)
    list(simulator_of(policy, jobs))  # compiles
    spent: list[float] = []
    while sum(spent) < ROUNDS * SECONDS:
        run = simulator_of(policy, jobs)
        begin = time.process_time()
        assert list(run)[-1] == len(jobs.workload)
        spent.append(time.process_time() - begin)
    return len(jobs.workload) / min(spent)


CASES: dict[str, Callable[[], float]] = {
    "learning example, textbook": lambda: decisions(pairs("agents/reinforce.json", None, "textbook")),
    "learning example, Batsim's clock": lambda: decisions(pairs("agents/reinforce.json", None, "batsim")),
    "Gaia pairs, textbook": lambda: decisions(pairs("agents/gaia-first-high_gflops.json", 200, "textbook")),
    "Gaia pairs, Batsim's clock": lambda: decisions(pairs("agents/gaia-first-high_gflops.json", 200, "batsim")),
    "window of 128, textbook": lambda: decisions(slots("CompactRM", "textbook", head=128, step=0.0)),
    "window of 128, Batsim's clock": lambda: decisions(slots("CompactRM", "batsim", head=128, step=0.0)),
    "SMDP, textbook": lambda: decisions(slots("SMDP", "textbook")),
    "SMDP, Batsim's clock": lambda: decisions(slots("SMDP", "batsim")),
    "whole trace, fcfs": lambda: jobs_per_second("fcfs+strict"),
    "whole trace, fcfs+easy": lambda: jobs_per_second("fcfs+easy"),
    "whole trace, fcfs+conservative": lambda: jobs_per_second("fcfs+conservative"),
}


# --- both versions in turns


@contextmanager
def worktree(ref: str) -> Iterator[Path]:
    """Check a version out, below a folder named after its commit, for as long as this lasts."""
    git = ["git", "-C", str(ROOT)]
    commit = subprocess.check_output([*git, "rev-parse", "--short=12", f"{ref}^{{commit}}"], text=True).strip()
    place = FOLDER / commit
    if not place.exists():
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(place), commit], check=True)
    try:
        yield place
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", str(place)], check=True)


def measure(version: Path, case: str) -> float:
    """Return the figure of a case at a version, found in a process of its own."""
    code = FOLDER / f"code-{version.name}"
    kept = {
        "HDEEPRM_LIKE_CACHE": str(code),
        "NUMBA_CACHE_DIR": str(code),
        "HDEEPRM_LIKE_QUIET": "1",
    }  # older versions' too
    environ = os.environ | {"PYTHONPATH": str(version)} | kept
    command = [sys.executable, "-W", "ignore", __file__, "--case", case]
    said = subprocess.run(command, env=environ, cwd=FOLDER, check=True, text=True, stdout=subprocess.PIPE).stdout
    return float(json.loads(said.splitlines()[-1]))


def main() -> None:
    """Print a row for each case, or the figure of one case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ref", nargs="?", default="62f3f59", help="the version to compare with, as git names it")
    parser.add_argument("--pairs", type=int, default=5, help="of runs, by default 5")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        # an editable installation would find in this version what the other one does not have
        sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in getattr(finder, "__name__", "")]
        print(json.dumps(CASES[options.case]()))
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    whole_trace()
    print(f"{'':34} {options.ref[:12]:>12} {'now':>12}  ratio (lowest to highest of {options.pairs})")
    with worktree(options.ref) as old:
        for case in [name for name in CASES if options.only in name]:
            for version in (old, ROOT):
                measure(version, case)  # compiles
            runs = [(measure(old, case), measure(ROOT, case)) for _ in range(options.pairs)]
            ratios = sorted(new / before for before, new in runs)
            before, new = (statistics.median(column) for column in zip(*runs, strict=True))
            spread = f"{statistics.median(ratios):5.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            print(f"{case:34} {before:12,.0f} {new:12,.0f}  {spread}", flush=True)


if __name__ == "__main__":
    main()
