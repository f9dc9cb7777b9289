"""How time and memory grow with jobs, cores and the queue, and a week of Frontier; one process for each line."""

import multiprocessing
import resource
import shutil
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

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

PLATFORMS = Path(__file__).parents[2] / "platforms"
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
    begin = time.process_time()
    platform = pool(name) if isinstance(name, int) else hl.load_platform(PLATFORMS / name)
    loading = time.process_time() - begin
    workload = jobs_of(platform, count, **options)
    actions = PolicyActions([policy_named(policy)])
    few = jobs_of(platform, 5, **options)
    ended = run_to_end(State(platform, few, log=log, needs=actions.needs), actions, clock)  # loads the code
    if folder is not None:
        Record(ended, few).write_jobs(Path(folder) / "out_jobs.csv")
    begin = time.process_time()
    simulator = run_to_end(State(platform, workload, log=log, needs=actions.needs), actions, clock)
    seconds, writing = time.process_time() - begin, 0.0
    if folder is not None:
        begin = time.process_time()
        Record(simulator, workload).write_jobs(Path(folder) / "out_jobs.csv")
        writing = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"loading": loading, "seconds": seconds, "writing": writing, "megabytes": peak}


def tell(what, *arguments):
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        found = workers.apply(simulated, arguments)
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
    run_of = Stream(pool(256), shifted(jobs_of(pool(256), 5), 2), policy_named(policy))
    assert sum(map(len, run_of.ended())) == 10  # loads the code
    begin = time.process_time()
    ended = sum(map(len, Stream(pool(256), shifted(base, copies), policy_named(policy)).ended()))
    simulating = time.process_time() - begin
    assert ended == count
    path = Path(folder) / "trace.swf.gz"
    traces = (trace_of_workload(part, 1e9, "a model") for part in shifted(base, copies))
    whole = (replace(trace, **{name: np.ceil(getattr(trace, name)) for name in WHOLE_SECONDS}) for trace in traces)
    write_swf_parts(("MaxProcs: 256",), whole, path)
    begin = time.process_time()
    assert sum(map(len, swf_parts(path, endless=True))) == count
    reading = time.process_time() - begin
    return {"simulating": simulating, "reading": reading}


def streamed_whole(folder, policy):
    """Seconds of CPU of the whole command, and megabytes of the process."""
    stream(Streaming(Path(folder) / "trace.swf.gz", policy, Path(folder) / "first"), progress=False)
    begin = time.process_time()
    stream(Streaming(Path(folder) / "trace.swf.gz", policy, Path(folder) / "out"), progress=False)
    seconds = time.process_time() - begin
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": seconds, "megabytes": int(peak.split()[1]) / 1024}


def in_a_process(function, *arguments):
    """What a function returns in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.apply(function, arguments)


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
    begin = time.process_time()
    run_comparison(asked, Path(folder) / policies, progress=False)
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return {"seconds": time.process_time() - begin, "megabytes": int(peak.split()[1]) / 1024}


@pytest.mark.parametrize("policies", ["fcfs", "fcfs,sjf+easy", "fcfs,f1+conservative"])
def test_a_comparison_of_a_whole_trace(policies, tmp_path):
    """A process before the one that is looked at has compiled the code, which takes memory of its own."""
    write_swf(trace_of_workload(jobs_of(pool(256), 60_000, load=0.6), 1e9, "a model"), tmp_path / "trace.swf.gz")
    in_a_process(compared, str(tmp_path), policies)
    shutil.rmtree(tmp_path / policies)
    write_swf(trace_of_workload(jobs_of(pool(256), 1_000_000, load=0.6), 1e9, "a model"), tmp_path / "trace.swf.gz")
    found = in_a_process(compared, str(tmp_path), policies)
    print(
        f"\n256 cores, compared, 1,000,000 jobs, {policies:22} {found['seconds']:6.1f} s, {found['megabytes']:5.0f} MB"
    )


@pytest.mark.parametrize("users", [1, 10, 100, 1_000, 10_000])
def test_users(users):
    print()
    tell(
        f"256 cores, {users:,} users, textbook's clock, fair shares and EASY",
        256,
        20_000,
        "multifactor+easy",
        "textbook",
        False,
        {"users": users},
    )


@pytest.mark.parametrize("load", [0.7, 0.9, 1.1, 2.0, 10.0])
def test_queue(load):
    print()
    tell(
        f"256 cores at load {load:g}, textbook's clock, EASY",
        256,
        100_000,
        "fcfs+easy",
        "textbook",
        False,
        {"load": load},
    )


@pytest.mark.parametrize("name", ["frontier.json", "lumi.json"])
def test_a_week_of_a_large_machine(name, tmp_path):
    """100,000 jobs in a week, most of them of a few nodes."""
    print()
    options = {"unit": 64, "span": WEEK, "size_medium": 6.0, "size_first_stage": 0.97}
    tell(f"{name}, a week, EASY, textbook's clock", name, 100_000, "fcfs+easy", "textbook", False, options)
    tell(
        f"{name}, a week, EASY, Batsim's clock, energy",
        name,
        100_000,
        "fcfs+easy",
        "batsim",
        True,
        options,
        str(tmp_path),
    )
