"""A trace with every oddity of logs means the same jobs to every command, one by one, and gives the same account."""

import csv
import json
import logging
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused

import hdeeprm_like as hl
from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.compared_policies import policies_named
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.experiment import Overrides, load_experiment
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.job_rules import HDEEPRM, RLSCHEDULER
from hdeeprm_like.formats.open import load_workload
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.studies.compare.sampling import windows_named
from hdeeprm_like.studies.evolution.windows import trace_of
from hdeeprm_like.studies.jobstat import job_table, jobs_in
from hdeeprm_like.studies.prediction.report import read_recording
from hdeeprm_like.studies.whatif.inputs import load_log

CORES = 8
TRACE = """\
; Version: 2.2
; max procs = 8 (of 2 nodes)
; MaxNodes: 2
1 100 0 60 2 -1 -1 2 90 1000 1 1 1 1 -1 -1 -1 -1
2 105 -1 -1 -1 -1 -1 4 90 1000 5 1 1 1 -1 -1 -1 -1
3 106 7 0 0 -1 -1 4 90 1000 5 1 1 1 -1 -1 -1 -1
4 107 0 0 3 -1 -1 3 90 1000 1 1 1 1 -1 -1 -1 -1
5 108 0 40 6 -1 -1 2 90 1000 1 1 1 1 -1 -1 -1 -1
6 109 0 30 2 -1 -1 4 90 1000 1 1 1 1 -1 -1 -1 -1

7 110 5 50 8 -1 -1 8 90 1000 1 1 1 1 -1 -1 -1 -1
7 110 5 20 8 -1 -1 8 90 1000 2 1 1 1 -1 -1 -1 -1
7 -1 10 15 8 -1 -1 8 90 1000 2 1 1 1 -1 -1 -1 -1
7 -1 3 15 8 -1 -1 8 90 1000 3 1 1 1 -1 -1 -1 -1
8 111 5 20 4 -1 -1 4 90 1000 2 1 1 1 -1 -1 -1 -1
8 -1 10 15 4 -1 -1 4 90 1000 4 1 1 1 -1 -1 -1 -1
; a comment
9 112 0 25 1 -1 -1 1 90 1000 2 1 1 1 -1 -1 -1 -1
10 113 0 -1 1 -1 -1 1 90 1000 1 1 1 1 -1 -1 -1 -1
11 114 0 10 -1 -1 -1 5 90 1000 1 1 1 1 -1 -1 -1 -1
12 115 0 10 -1 -1 -1 -1 90 1000 1 1 1 1 -1 -1 -1 -1
13 -1 0 10 1 -1 -1 1 90 1000 1 1 1 1 -1 -1 -1 -1
14 116 0 12 1 -1 -1 1 -1 -1 1 1 1 1 -1 -1 -1 -1
"""
JOBS = [  # submission, cores, run time, requested time
    *[(0, 2, 60, 90), (7, 3, 0, 90), (8, 6, 40, 90), (9, 2, 30, 90), (10, 8, 50, 90), (11, 4, 35, 90)],
    *[(12, 1, 25, 90), (14, 5, 10, 90), (16, 1, 12, 12)],
]
LARGE = "15 117 0 5 9 -1 -1 9 90 1000 1 1 1 1 -1 -1 -1 -1\n"
LEFT_OUT = {
    "that never ran, as those cancelled while they waited": [5, 6],
    "parts of jobs that another line has as a whole (status 2, 3, 4)": [12, 13, 14, 16],
    "without a run time (field 4)": [19],
    "without a number of processors (fields 5 and 8)": [21],
    "without a time of submission (field 2)": [22],
}
POOL = "MachineName,TotalMemory,TotalCPUs,TotalGPUs\npool,1000000,8,0\n"


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "odd.swf"
    path.write_text(TRACE)
    return path


def of_workload(jobs, flops=1e9):
    """Return what a workload has of each job, in its order."""
    run = np.where(jobs.delay >= 0.0, jobs.delay, jobs.ops / flops)
    return list(zip(jobs.submit.tolist(), jobs.size.tolist(), run.tolist(), jobs.requested_time.tolist(), strict=True))


def compared(trace):
    options = {"windows": windows_named("all"), "seed": 1}
    return inputs_of(Comparison(trace, policies_named("fcfs"), **options)).window(0).workload


def streamed(trace):
    folder = trace.parent / "streamed"
    hl.stream(trace, "fcfs+easy", folder)
    with open(folder / "out_jobs.csv") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["job_id"].rpartition("!")[2]))
    columns = ("submission_time", "requested_number_of_resources", "execution_time")
    return [tuple(float(row[name]) for name in columns) for row in rows]


def experiment(trace, name, platform, **more):
    """An experiment on the trace, as its options file of some name."""
    content = {"seed": 1, "platform_file_path": platform, "workload_file_path": trace.name, **more}
    path = trace.parent / name
    path.write_text(json.dumps(content | {"workload": {"runtimes": "trace"}}))
    return path


def launched(trace):
    (trace.parent / "pool.csv").write_text(POOL)
    found = load_experiment(experiment(trace, "exp.json", "pool.csv", policy="fcfs"), Overrides())
    return of_workload(found.workload, found.platform.reference_flops)


def converted(trace):
    printed("convert", "-q", trace, trace.parent / "w.json")
    return load_workload(trace.parent / "w.json", reference_flops=1e9)


def in_gymnasium(trace):
    registration = pytest.importorskip("hdeeprm_like.envs.registration")
    return registration.environment("SMDP", platform=CORES, workload=trace).workload_of.workload


def trained(trace, folder):
    """Train an agent for two episodes."""
    section = {
        "env": {"actions": {"policies": ["fcfs", "sjf"]}, "objective": "makespan"},
        "agent": {"type": "LEARNING", "run": "train", "gamma": 1.0, "hidden": 2, "lr": 0.001},
    }
    path = experiment(trace, "train.json", CORES, pybatsim=section, training={"episodes": 2, "envs": 1})
    printed("train", "-q", "--options", path, "--output", folder, "--agent", "reinforce")


def jobs_of_training(trace):
    trained(trace, trace.parent / "training")
    return load_workload(trace.parent / "training" / "workload.json", reference_flops=1e9)


def evolved(trace):
    jobs = trace_of(trace, 0.0, 1.0)
    return list(zip(jobs.submit - 100, jobs.processors, jobs.run, jobs.requested_time, strict=True))


def cut_again(trace):
    printed("cut", "-q", trace, "-o", trace.parent / "cut.swf")
    return compared(trace.parent / "cut.swf")


READERS = {
    "load_workload": lambda trace: hl.load_workload(trace, CORES),
    "compare": compared,
    "stream": streamed,
    "predict": lambda trace: read_recording(trace, 0.5).window.workload,
    "whatif": lambda trace: load_log(trace, pool(CORES)).jobs,
    "convert": converted,
    "launch": launched,
    "gymnasium": in_gymnasium,
    "train": jobs_of_training,
    "train --method evolution": evolved,
    "cut": cut_again,
}


@pytest.mark.parametrize("verb", READERS)
def test_every_command_plays_the_same_jobs_one_by_one(trace, verb):
    found = READERS[verb](trace)
    found = of_workload(found) if isinstance(found, hl.Workload) else [tuple(map(float, one)) for one in found]
    wanted = [job[: len(found[0])] for job in JOBS]
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=2e-5)  # Batsim writes 1e-5 s for none


def test_the_statistics_are_those_of_the_same_jobs(trace):
    table = job_table(jobs_in(trace))
    assert table.loc["count", "size"] == len(JOBS)
    assert table.loc["sum", "size"] == sum(size for _, size, _, _ in JOBS)
    assert table.loc["sum", "req_time"] == sum(requested for *_, requested in JOBS)
    assert table.loc["count", "mem"] == len(JOBS) - 1  # one is not known


def test_the_account_has_each_reason_with_its_lines(trace):
    account = hl.load_workload(trace, CORES).account
    assert {one.reason: one.lines for one in account.of("left out")} == LEFT_OUT
    assert account.jobs - account.left_out == len(JOBS)
    changed = {one.reason: one.jobs for one in account.of("changed")}
    assert changed == {"without a requested time (field 9): the run time replaces it, a perfect estimate": 1}
    assert [one.jobs for one in account.of("noted")] == [2]  # that got more, or less, than they requested


def test_the_account_is_in_every_result(trace):
    folder = trace.parent / "results"

    def left_out(name, *inside):
        content = json.loads((folder / name).read_text())
        for part in inside:
            content = content[part]
        return content["account"]["left_out"]

    words = ("--policies", "fcfs", "--windows", "all", "--output", folder, "--report")
    printed("compare", "-q", "--trace", trace, *words)
    written = left_out("compare.json")
    assert {reason: entry["first_lines"] for reason, entry in written.items()} == LEFT_OUT
    assert "that never ran" in (folder / "report.html").read_text()
    launched(trace)
    printed("launch", "-q", "--options", trace.parent / "exp.json", "--output", folder / "run")
    assert left_out("run/run.json", "workload") == written
    assert hl.stream(trace, "fcfs", folder / "stream")["jobs_run"] == len(JOBS)
    assert left_out("stream/figures.json") == written
    printed("whatif", "-q", "--jobs", trace, "--now", "fcfs", "--cores", "8", "-o", folder / "whatif")
    assert "that never ran" in (folder / "whatif" / "report.html").read_text()
    assert left_out("whatif/whatif.json") == written
    printed("predict", "-q", trace, "--json", folder / "predicted.json")
    assert left_out("predicted.json") == written
    trained(trace, folder / "training")
    assert left_out("training/run.json", "workload") == written
    told = printed("jobstat", trace)
    assert all(reason in told for reason in LEFT_OUT)


def test_the_account_is_one_line_and_a_warning_where_it_matters(trace, caplog):
    with caplog.at_level(logging.INFO, "hdeeprm_like"):
        compared(trace)
        compared(trace)
    (record,) = [one for one in caplog.records if "left out" in one.getMessage()]
    assert record.levelname == "WARNING"
    assert "\n" not in record.getMessage()
    assert record.getMessage().startswith(f"{trace}: 9 of 18 jobs are used; left out: 4 parts of jobs")


@pytest.mark.parametrize(("rare", "level"), [(1, "INFO"), (2, "WARNING")])
def test_one_job_of_a_hundred_is_no_warning(tmp_path, caplog, rare, level):
    plain = [f"{number} {number} 0 10 1 -1 -1 1 20 -1 1 1 1 1 -1 -1 -1 -1" for number in range(100)]
    never = ["7 99 -1 -1 -1 -1 -1 1 20 -1 5 1 1 1 -1 -1 -1 -1"] * rare
    path = tmp_path / "rare.swf"
    path.write_text("; MaxProcs: 8\n" + "\n".join([*plain, *never]) + "\n")
    with caplog.at_level(logging.INFO, "hdeeprm_like"):
        assert len(read_jobs(path, Reading())) == 100
    assert [one.levelname for one in caplog.records] == [level]


def test_a_job_larger_than_the_machine_names_what_to_do_or_is_left_out_on_request(trace):
    trace.write_text(TRACE + LARGE)
    message = r"job 15 requests 9 processors, the machine has 8 by 'max procs: 8 \(of 2 nodes\)'; give --cores .* or "
    with pytest.raises(WorkloadError, match=message + "--leave-out-larger to do without the 1 larger jobs"):
        compared(trace)
    jobs = hl.load_workload(trace, CORES, leave_out_larger=True)
    assert of_workload(jobs) == [tuple(map(float, job)) for job in JOBS]
    assert [one.lines for one in jobs.account.of("left out") if "larger" in one.reason] == [[24]]
    assert hl.load_workload(trace, 9).size.max() == 9
    small = trace.parent / "small.swf"
    printed("cut", "-q", trace, "--larger-than", "8", "-o", small)
    assert of_workload(compared(small)) == of_workload(jobs)
    launched(small)
    output = trace.parent / "output"
    for words in (
        ("compare", "--trace", trace, "--policies", "fcfs", "--windows", "all", "--output", output / "compare"),
        ("stream", "--trace", trace, "--policy", "fcfs", "--output", output / "stream"),
        ("whatif", "--jobs", trace, "--cores", "8", "--output", output / "whatif"),
        ("predict", trace),
        ("convert", trace, trace.parent / "w.json"),
        ("explain", "zoo:balanced", "--trace", trace),
    ):
        assert "--leave-out-larger" in refused(*words, "-q"), words
        printed(*words, "-q", "--leave-out-larger")
    words = ("launch", "--options", trace.parent / "exp.json", "--trace", trace, "--output", output / "launch")
    printed(*words, "-q", "--leave-out-larger")  # an experiment leaves them out


@pytest.mark.parametrize("machine", [320, "two-kinds"])
def test_a_larger_job_is_an_error_in_python_on_a_pool_and_on_nodes_alike(tmp_path, machine):
    trace = tmp_path / "large.swf"
    job = "{0} {0} 0 60 {1} -1 -1 {1} 90 -1 1 1 1 1 -1 -1 -1 -1\n".format
    trace.write_text("; MaxProcs: 1000\n" + job(1, 2) + job(2, 321) + job(3, 4))
    for more in ({}, {"jobs": 2}):
        with pytest.raises(WorkloadError, match=r"321 .* 320"):
            hl.load_workload(trace, machine, **more)
    first = hl.load_workload(trace, machine, jobs=1)
    assert (first.size.tolist(), first.account.jobs) == ([2], 1)  # the account is that of the lines up to the last job
    jobs = hl.load_workload(trace, machine, leave_out_larger=True)
    assert jobs.size.tolist() == [2, 4]
    assert jobs.account.left_out == 1
    first = hl.load_workload(trace, machine, jobs=2, leave_out_larger=True)
    assert (first.size.tolist(), first.account.jobs, first.account.left_out) == ([2, 4], 3, 1)


@pytest.mark.parametrize(
    ("rules", "jobs"),
    [
        (
            RLSCHEDULER,
            [1, 2, 5, 6, 7, 7, 8, 9, 10, 11, 14],
        ),  # not those of 0 s; unknown ones run 10 s
        (HDEEPRM, [1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11]),  # all with a request; 14 has no memory
    ],
)
def test_the_papers_own_readings_are_rules_of_the_same_function(trace, rules, jobs):
    found = read_jobs(trace, Reading(rules=rules))
    assert found.job.tolist() == jobs
    if rules is RLSCHEDULER:
        assert found.run[1] == 10.0
        assert found.processors.tolist()[2:4] == [6, 4]
    else:
        assert found.processors.tolist()[4:6] == [2, 4]


def test_an_account_adds_up(trace):
    account = Account("x", 10, 100.0)
    rows = np.arange(10) < 3
    account.add("left out", "odd", rows, np.arange(1, 11), np.full(10, 10.0))
    account.add("left out", "odd", rows, np.arange(11, 21), np.full(10, 10.0))
    (entry,) = account.of("left out")
    assert (entry.jobs, entry.core_seconds, entry.lines) == (6, 60.0, [1, 2, 3, 11, 12])
    assert account.content()["left_out"] == {"odd": {"jobs": 6, "core_seconds": 60.0, "first_lines": [1, 2, 3, 11, 12]}}


def test_a_pool_of_alike_cores_reads_the_same_as_a_number(trace):
    assert of_workload(hl.load_workload(trace, pool(CORES))) == of_workload(hl.load_workload(trace, CORES))


def test_no_module_but_one_chooses_among_the_lines_of_a_log():
    """The columns of a log that decide what is a job are looked at in one place."""
    allowed = {"job_reading.py", "swf.py", "swf_cuts.py"}
    for path in Path(hl.__file__).parent.rglob("*.py"):
        text = path.read_text()
        if path.name not in allowed and "formats.swf import" in text:
            assert ".requested_processors" not in text, path
            assert "trace.status" not in text, path


@pytest.mark.parametrize(
    "jobs",
    [lambda path: path, hl.load_workload, lambda path: hl.load_workload(path, 8)],
    ids=["file", "jobs", "jobs of 8 cores"],
)
def test_an_environment_of_jobs_has_the_machine_that_they_name(jobs, tmp_path):
    environment = pytest.importorskip("hdeeprm_like.envs.registration").environment
    path = tmp_path / "jobs.swf"
    path.write_text("; MaxProcs: 8\n1 0 -1 10 8 -1 -1 8 10 -1 1 1 1 1 1 1 -1 -1\n")
    env = environment("HDeepRM", workload=jobs(path))
    env.reset(seed=1)
    assert env.platform.cores == 8
    assert environment("HDeepRM", workload="gaia", jobs=5).platform.cores == 2280
