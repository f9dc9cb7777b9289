"""How time and memory grow with jobs, cores and the queue, and a week of Frontier; one process for each line."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from measuring import ROOT, in_a_process, peak, timed

import hdeeprm_like as hl
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.models import Recipe, model_named
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.compared_policies import policies_named
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.swf import swf_parts, write_swf, write_swf_parts
from hdeeprm_like.formats.swf_cuts import trace_of_workload
from hdeeprm_like.results.run_log import Record
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.streamed import Stream
from hdeeprm_like.studies.compare.inputs import Comparison
from hdeeprm_like.studies.compare.run import run_comparison
from hdeeprm_like.studies.compare.sampling import windows_named
from hdeeprm_like.studies.stream import Streaming, stream

pytestmark = pytest.mark.bench

PLATFORMS = ROOT / "platforms"
WEEK = 7 * 86400.0  # s
ESTIMATES = 2.0  # requested times to run times
LOAD = 0.85
WHOLE_SECONDS = ("submit", "run", "requested_time")  # of a trace that tells no fractions


def jobs_of(platform, count, unit=1, span=None, load=LOAD, users=0, cores=None, faster=1, **parameters):
    """Jobs of Lublin's model in units of so many cores, at a load; their run times are scaled where a span is given.

    Of so many users, 0 for none that are known; of a machine of so many cores, those of the platform if None is said,
    and submitted so many times as fast.
    """
    cores = cores or platform.cores
    model = model_named("lublin", parameters=parameters, nodes=cores // unit)
    jobs = Recipe(model).jobs(count, np.random.default_rng(1))
    jobs = replace(jobs, size=jobs.size * unit, capacity=cores)
    if span is None:
        jobs = jobs.at_load(load)
    else:
        submit = (jobs.submit - jobs.submit[0]) * (span / (jobs.submit[-1] - jobs.submit[0]))
        jobs = replace(jobs, submit=submit)
        jobs = replace(jobs, run=jobs.run * (load / jobs.load))
    jobs = replace(jobs, submit=jobs.submit / faster, requested_time=jobs.run * ESTIMATES)
    found = jobs.workload(platform.reference_flops)
    return replace(found, user=np.random.default_rng(2).integers(0, users, count)) if users else found


def simulated(name, count, policy, clock, log, options, folder=None):
    """Seconds of CPU of a simulation, and of writing out_jobs.csv where a folder is given; megabytes of the process."""
    loading, platform = timed(lambda: pool(name) if isinstance(name, int) else hl.load_platform(PLATFORMS / name))
    actions, seconds, writing = PolicyActions([policy_named(policy)]), 0.0, 0.0
    for jobs in (5, count):  # the first ones load the code
        workload = jobs_of(platform, jobs, **options)
        seconds, ended = timed(
            lambda one=workload: run_to_end(State(platform, one, log=log, needs=actions.needs), actions, clock)
        )
        if folder is not None:
            record = Record(ended, workload)
            writing, _ = timed(lambda one=record: one.write_jobs(Path(folder) / "out_jobs.csv"))
    return {"loading": loading, "seconds": seconds, "writing": writing, "megabytes": peak()}


def tell(what, *arguments):
    found = in_a_process(simulated, *arguments)
    count, seconds = arguments[1], found["seconds"] + found["writing"]
    print(
        f"{what:56} {count:9,} jobs {found['seconds']:7.3f} CPU s, writing {found['writing']:6.3f} "
        f"{count / seconds:11,.0f} jobs/s {found['megabytes']:6.0f} MB, platform read in {found['loading']:.2f} s"
    )


@pytest.mark.parametrize("cores", [100, 1_000, 10_000, 100_000, 163_840, 1_000_000])
def test_cores(cores, tmp_path):
    print()
    tell(f"{cores:,} cores, Batsim's clock, FCFS", cores, 100_000, "fcfs+strict", "batsim", True, {}, str(tmp_path))


@pytest.mark.parametrize("faster", [1, 640])
def test_small_jobs_on_a_large_machine(faster, tmp_path):
    print()
    what = f"163,840 cores, jobs of 256 cores, {faster} times as fast, FCFS"
    options = {"cores": 256, "faster": faster}
    tell(what, 163_840, 100_000, "fcfs+strict", "batsim", True, options, str(tmp_path))


@pytest.mark.parametrize("count", [1_000, 10_000, 100_000, 1_000_000])
def test_jobs(count):
    print()
    tell("256 cores, Batsim's clock, EASY", 256, count, "fcfs+easy", "batsim", False, {})
    tell("256 cores, textbook's clock, FCFS", 256, count, "fcfs+strict", "textbook", False, {})


AT_ONCE = 100_000  # jobs that a longer stream repeats


def shifted(workload, copies):
    """Yield the same jobs again and again, each time after the last ones were submitted."""
    for copy in range(copies):
        yield replace(workload, submit=workload.submit + copy * (workload.submit[-1] + 60.0))


def streamed(count, policy, folder):
    """Seconds of CPU to simulate so many jobs that come in parts; to read them from a trace; to do both and write."""
    copies = -(-count // AT_ONCE)
    base = jobs_of(pool(256), count // copies, load=0.6)

    def played(jobs, times):
        return sum(map(len, Stream(pool(256), shifted(jobs, times), policy_named(policy)).ended()))

    assert played(jobs_of(pool(256), 5), 2) == 10  # loads the code
    simulating, ended = timed(lambda: played(base, copies))
    assert ended == count
    path = Path(folder) / "trace.swf.gz"
    traces = (trace_of_workload(part, 1e9, "a model") for part in shifted(base, copies))
    whole = (replace(trace, **{name: np.ceil(getattr(trace, name)) for name in WHOLE_SECONDS}) for trace in traces)
    write_swf_parts(("MaxProcs: 256",), whole, path)
    reading, read = timed(lambda: sum(map(len, swf_parts(path, endless=True))))
    assert read == count
    return {"simulating": simulating, "reading": reading}


def streamed_whole(folder, policy):
    """Seconds of CPU of the whole command, and megabytes of the process."""
    for output in ("first", "out"):  # the first loads the code
        asked = Streaming(Path(folder) / "trace.swf.gz", policy, Path(folder) / output)
        seconds, _ = timed(lambda one=asked: stream(one, progress=False))
    return {"seconds": seconds, "megabytes": peak()}


@pytest.mark.parametrize("policy", ["fcfs", "fcfs+easy"])
@pytest.mark.parametrize("count", [100_000, 1_000_000, 10_000_000])
def test_streamed_jobs(count, policy, tmp_path):
    found = in_a_process(streamed, count, policy, str(tmp_path))
    found |= in_a_process(streamed_whole, str(tmp_path), policy)
    print(
        f"\n256 cores, streamed, {policy:10} {count:11,} jobs: simulated {count / found['simulating']:10,.0f} jobs/s, "
        f"read from .gz {count / found['reading']:10,.0f} lines/s, read, simulated and written "
        f"{count / found['seconds']:9,.0f} jobs/s, {found['megabytes']:5.0f} MB"
    )


def compared(folder, policies):
    """Seconds of CPU of a comparison of policies on the whole trace, and megabytes of the process."""
    asked = Comparison(Path(folder) / "trace.swf.gz", policies_named(policies), windows_named("all"), seed=1)
    seconds, _ = timed(lambda: run_comparison(asked, Path(folder) / policies, progress=False))
    return {"seconds": seconds, "megabytes": peak()}


@pytest.mark.parametrize("policies", ["fcfs", "fcfs,sjf+easy", "fcfs,f1+conservative"])
def test_a_comparison_of_a_whole_trace(policies, tmp_path):
    """A process before the one that is looked at has compiled the code, which takes memory of its own."""
    for jobs in (60_000, 1_000_000):
        shutil.rmtree(tmp_path / policies, ignore_errors=True)
        write_swf(trace_of_workload(jobs_of(pool(256), jobs, load=0.6), 1e9, "a model"), tmp_path / "trace.swf.gz")
        found = in_a_process(compared, str(tmp_path), policies)
    told = f"{found['seconds']:6.1f} s, {found['megabytes']:5.0f} MB"
    print(f"\n256 cores, compared, {jobs:,} jobs, {policies:22} {told}")


@pytest.mark.parametrize("users", [1, 10, 100, 1_000, 10_000])
def test_users(users):
    what = f"\n256 cores, {users:,} users, textbook's clock, fair shares and EASY"
    tell(what, 256, 20_000, "multifactor+easy", "textbook", False, {"users": users})


@pytest.mark.parametrize("load", [0.7, 0.9, 1.1, 2.0, 10.0])
def test_queue(load):
    what = f"\n256 cores at load {load:g}, textbook's clock, EASY"
    tell(what, 256, 100_000, "fcfs+easy", "textbook", False, {"load": load})


@pytest.mark.parametrize("name", ["frontier.json", "lumi.json"])
def test_a_week_of_a_large_machine(name, tmp_path):
    """100,000 jobs in a week, most of them of a few nodes."""
    options = {"unit": 64, "span": WEEK, "size_medium": 6.0, "size_first_stage": 0.97}
    week = (name, 100_000, "fcfs+easy")
    tell(f"\n{name}, a week, EASY, textbook's clock", *week, "textbook", False, options)
    tell(f"{name}, a week, EASY, Batsim's clock, energy", *week, "batsim", True, options, str(tmp_path))
