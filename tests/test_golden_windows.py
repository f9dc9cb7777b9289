"""Ours against two independent simulators on the same windows of three traces; see golden/windows/README.md."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster import metrics
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.formats.job_reading import Reading, read_jobs
from hdeeprm_like.formats.job_rules import RLSCHEDULER
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.studies.compare.windows import schedule

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "windows"
TRACES = {"lublin1": ("lublin_256", 256), "lublin2": ("lublin_256_2", 256), "ctcsp2": ("ctc_sp2_windows", 338)}
ALWAYS = (0, 4)  # windows of the normal suite, and more; the others take their time
JOBS = 1024
POLICIES = {"smallestfirst": "smallest", "wfp3_fixed": "wfp3", "unicep_fixed": "unicep"}
TIE_OF_COMPLETIONS = {
    # Two jobs complete at the same time and RLScheduler's simulator takes them one by one: in the order of their
    # requested ends if it has sorted them since by these, else in that of their starts; ours always in the latter.
    ("ctcsp2", 0, "wfp3_published+commitbackfill"),
}


@cache
def trace(name):
    return read_jobs(ROOT / "workloads" / f"{TRACES[name][0]}.swf.gz", Reading(rules=RLSCHEDULER))


@cache
def jobs_of(name, number):
    first = pd.read_csv(GOLDEN / f"offsets_{name}.csv").first_job_id[number]
    begin = int(np.flatnonzero(trace(name).job == first)[0])
    return window(take(trace(name), np.arange(begin, begin + JOBS)), TRACES[name][1])


def our_name(row, simulator):
    policy = POLICIES.get(row.policy.lower(), row.policy.lower())
    if simulator == "textbook":
        return f"{policy}+{row.mode.replace('cons', 'conservative')}"
    published = "_published" if row.policy in ("WFP3", "UNICEP") else ""
    return f"{policy}{published}+{'commitbackfill' if row.backfill else 'commit'}"


def figures(found, cores):
    wait, run = found.start - found.submit, found.finish - found.start
    slowdowns = metrics.distribution(metrics.bounded_slowdown(wait, run))
    return {
        "bsld": slowdowns.mean,
        "bsld_p95": slowdowns.p95,
        "bsld_max": slowdowns.largest,
        "wait": metrics.mean(wait),
        "wait_p95": metrics.distribution(wait).p95,
        "wait_max": metrics.largest(wait),
        "turnaround": metrics.mean(wait + run),
        "makespan": metrics.largest(found.finish) - found.submit[0],
        "util_true": metrics.utilization(found.submit, found.start, found.finish, found.size, cores),
    }


def assert_legal(found, jobs, cores):
    assert (found.start >= found.submit).all()
    assert found.finish - found.start == pytest.approx(jobs.workload.delay)
    assert metrics.load(found.start, found.finish, found.size)[1].max() <= cores


def cases():
    for simulator in ("textbook", "rlscheduler"):
        for name in TRACES:
            for number in range(10):
                lane = "more" if number == 4 or simulator == "rlscheduler" else ""  # the third clock
                lane = lane if number in ALWAYS else "slow"
                marks = [getattr(pytest.mark, lane)] if lane else []
                yield pytest.param(simulator, name, number, marks=marks, id=f"{simulator}-{name}-{number}")


@pytest.mark.parametrize(("simulator", "name", "number"), list(cases()))
def test_every_policy_and_mode_has_the_figures_of_the_other_simulator(simulator, name, number):
    cores = TRACES[name][1]
    jobs, machine = jobs_of(name, number), pool(cores)
    table = pd.read_csv(GOLDEN / f"{simulator}_{name}.csv")
    rows = list(table[table.window == number].itertuples())
    assert len(rows) >= 22
    clock = "textbook" if simulator == "textbook" else "one-by-one"
    differing = set()
    for row in rows:
        ours = our_name(row, simulator)
        found = schedule(machine, jobs, baseline(ours), clock)
        assert_legal(found, jobs, cores)
        got = figures(found, cores)
        if got != pytest.approx({key: getattr(row, key) for key in got}, rel=1e-6):
            differing.add((name, number, ours))
    assert differing <= TIE_OF_COMPLETIONS


@pytest.mark.parametrize("name", ["lublin1", "lublin2"])
def test_strict_first_come_first_served_needs_no_tie_rule_so_batsims_clock_gives_the_same(name):
    jobs, machine = jobs_of(name, 0), pool(256)
    by_clock = [schedule(machine, jobs, baseline("fcfs"), clock) for clock in ("textbook", "one-by-one", "batsim")]
    assert np.allclose(by_clock[0].start, by_clock[1].start, rtol=0, atol=1e-3)
    assert np.allclose(by_clock[0].start, by_clock[2].start, rtol=0, atol=1e-3)


def test_the_command_gives_the_figures_of_the_other_simulator_on_its_list_of_windows(tmp_path):
    line = ["compare", "-q", "--trace", str(ROOT / "workloads" / "lublin_256.swf.gz"), "--jobs-by", "id"]
    line += ["--policies", "fcfs+easy,sjf+easy", "--offsets", str(GOLDEN / "offsets_lublin1.csv")]
    assert main([*line, "--output", str(tmp_path)]) == 0
    table = pd.read_csv(GOLDEN / "textbook_lublin1.csv")
    table["policy"] = table.policy.str.lower() + "+" + table["mode"]
    found = pd.read_csv(tmp_path / "results.csv").merge(table, on=["policy", "window"], suffixes=("", "_theirs"))
    assert len(found) == 2 * 10
    assert found.bounded_slowdown.tolist() == pytest.approx(found.bsld.tolist(), rel=1e-9)
    assert found.wait.tolist() == pytest.approx(found.wait_theirs.tolist(), rel=1e-9)
    assert found.utilization.tolist() == pytest.approx(found.util_true.tolist(), rel=1e-9)
