"""The README's table of learned policies; prints figures and fails nothing. It takes some 5 minutes of CPU.

Set CTC_SP2 to the file of that trace and POLICIES to names of policies, as zoo:slowdown,scored:my.json. Heuristics are
the best in hindsight: the one of 28 with the lowest mean bounded slowdown on the windows of a row.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.studies.compare.significance import intervals

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]
CTC = Path(os.environ.get("CTC_SP2", "CTC-SP2-1996-3.1-cln.swf.gz"))
POLICIES = os.environ.get("POLICIES", "zoo:slowdown,zoo:balanced").split(",")
ORDERS, MODES = ("fcfs", "sjf", "saf", "f1", "f2", "f3", "f4"), ("greedy", "easy", "easyfcfs", "easysjf")
HEURISTICS = [f"{order}+{mode}" for order in ORDERS for mode in MODES]
ORACLE = "saf+easyP"
AWRT = "area_weighted_response_time"
GENERATED = range(2001, 2021)  # seeds


def played(folder, trace, *arguments):
    """The figures of each policy on each window."""
    policies = ",".join([*HEURISTICS, ORACLE, *POLICIES])
    assert main(["compare", "--trace", str(trace), "--policies", policies, "--output", str(folder), *arguments]) == 0
    return pd.read_csv(folder / "results.csv")


def report(title, results):
    """Print a row: ratios to the best heuristic in hindsight."""
    by = {name: rows.sort_values("window") for name, rows in results.groupby("policy")}
    best = min(HEURISTICS, key=lambda name: by[name]["bounded_slowdown"].mean())
    print(f"\n{title}: {len(by[best])} windows; best heuristic {best}, {by[best]['bounded_slowdown'].mean():.2f}")
    for name in (*POLICIES, ORACLE):
        own = by[name]
        logs = np.log(own["bounded_slowdown"].to_numpy() / by[best]["bounded_slowdown"].to_numpy())
        (low,), (high,) = intervals(logs[:, np.newaxis])
        means = {key: own[key].mean() / by[best][key].mean() for key in ("wait", "wait_max", "utilization", AWRT)}
        print(
            f"  {name:28} {np.exp(logs.mean()):.3f} [{np.exp(low):.2f}, {np.exp(high):.2f}]  "
            + "  ".join(f"{key} {value:.3f}" for key, value in means.items())
        )
    figures = (f"{name} {by[name]['bounded_slowdown'].mean():.1f}" for name in HEURISTICS)
    print(f"  mean bounded slowdown of every heuristic: {', '.join(figures)}")


@pytest.mark.parametrize("trace", ["lublin_256", "lublin_256_2"])
def test_lublin(trace, tmp_path):
    path, number = ROOT / "workloads" / f"{trace}.swf.gz", 2 if trace.endswith("_2") else 1
    offsets = ROOT / "tests" / "golden" / "windows" / f"offsets_lublin{number}.csv"
    report(f"{trace}, published", played(tmp_path / "a", path, "--offsets", str(offsets)))
    report(f"{trace}, disjoint", played(tmp_path / "b", path, "--windows", "disjoint:9"))


@pytest.mark.skipif(not CTC.exists(), reason="CTC_SP2 does not name the trace")
def test_second_half_of_ctc(tmp_path):
    half = tmp_path / "half.swf"
    assert main(["cut", str(CTC), "--skip", "38610", "-o", str(half)]) == 0
    report("CTC SP2, second half", played(tmp_path / "c", half, "--windows", "disjoint:37"))


def test_generated(tmp_path):
    rows = []
    for seed in GENERATED:
        path = tmp_path / f"{seed}.swf"
        assert main(["generate", "lublin", "--jobs", "1024", "--seed", str(seed), "-o", str(path)]) == 0
        rows.append(played(tmp_path / str(seed), path, "--windows", "1x1024").assign(window=seed))
    report("generated", pd.concat(rows))
