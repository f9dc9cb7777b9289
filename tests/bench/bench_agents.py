"""Trained agents beside the rule that they imitated, at equal wait; prints figures and fails nothing.

Set RUNS to the folders of trainings, separated by commas, TRACE to a trace and WINDOWS to windows as disjoint:60. The
rule is `saf+reserve`, by how many cores it keeps and for jobs of up to how many s; of its settings those are shown that
no other one beats in both figures. Each agent is compared with the mix of the two settings whose waits lie around its
own that has the same mean wait, window by window.
"""

import os
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.studies.compare.bootstrap import intervals
from hdeeprm_like.studies.compare.policies import policy_named

pytestmark = pytest.mark.bench

RUNS = os.environ.get("RUNS", "")
KEPT, SHORT = (16, 24, 32, 40, 48, 64, 80, 96), (300, 1000, 3600, 10000)  # cores, s
RULES = [policy_named(f"saf+reserve:{cores}:{seconds}").name for cores in KEPT for seconds in SHORT]
OTHERS = ["saf+easy", "saf+greedy", "zoo:balanced"]
BOUNDED = "bounded_slowdown"


def frontier(means):
    """The rules that no other beats in both figures, by ascending wait, from the least wait on."""
    rules = means.loc[RULES].sort_values("wait")
    return rules[rules[BOUNDED] < rules[BOUNDED].cummin().shift(fill_value=np.inf)]


@pytest.mark.skipif(not RUNS, reason="RUNS names no trainings")
def test_agents_and_the_rule(tmp_path):
    agents = [f"agent:{folder}" for folder in RUNS.split(",")]
    line = ["compare", "-q", "--trust", "--trace", os.environ["TRACE"], "--windows", os.environ["WINDOWS"]]
    assert main([*line, "--policies", ",".join([*OTHERS, *RULES, *agents]), "--output", str(tmp_path / "out")]) == 0
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    means = table.groupby("policy")[[BOUNDED, "wait", "utilization"]].mean()
    best = frontier(means)
    print("\n", pd.concat([means.loc[OTHERS], best]).round(3).to_string())
    by = {name: rows.sort_values("window") for name, rows in table.groupby("policy")}
    of_seeds = []
    for name in agents:
        own, wait = by[name], means.loc[name, "wait"]
        for less, more in pairwise(best.index):
            if best.loc[less, "wait"] <= wait <= best.loc[more, "wait"]:
                break
        else:
            print(f"{name:40} {means.loc[name].round(3).to_list()} waits of no rule lie around its own")
            continue
        share = (wait - best.loc[less, "wait"]) / (best.loc[more, "wait"] - best.loc[less, "wait"])
        mixed = (1 - share) * by[less][BOUNDED].to_numpy() + share * by[more][BOUNDED].to_numpy()
        change = own[BOUNDED].to_numpy() - mixed
        (low,), (high,) = intervals(change[:, np.newaxis])
        of_seeds.append(change.mean())
        told = f"{means.loc[name, BOUNDED]:.2f} at {wait:.0f} s, utilization {means.loc[name, 'utilization']:.3f}"
        print(f"{name:40} {told}; less the rule's {mixed.mean():.2f}: {change.mean():+.2f} [{low:+.2f}, {high:+.2f}]")
    if len(of_seeds) > 1:
        print(f"{len(of_seeds)} seeds: {np.mean(of_seeds):+.2f}, standard deviation {np.std(of_seeds, ddof=1):.2f}")
