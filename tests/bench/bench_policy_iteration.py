"""Agents of policy iteration beside the rule `saf+reserve`, at equal wait; prints figures and fails nothing.

RUNS names folders of trainings, separated by commas. All windows of a trace are played side by side in this process, by
each setting of the rule and by each agent at its most probable action, on the textbook's clock. An agent is compared
with the mix of two settings, of those that no other beats in both figures, that has the same mean wait; intervals of
95 % are over windows. The traces: TRACE (default: 60 windows of a new trace of Lublin's model, seed 7001), Lublin-1 and
2 and ten windows of CTC SP2; of the new trace also windows of 5000 jobs.
"""

import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from bench_agents import BOUNDED, KEPT, SHORT, mixed, told

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.experiment import jobs_in
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.launch.resuming import resume_learner
from hdeeprm_like.learning.policy_iteration import play_side_by_side
from hdeeprm_like.learning.training import load_agent
from hdeeprm_like.run.batch import FIGURES
from hdeeprm_like.run.episodes import Plays, fragment

pytestmark = pytest.mark.bench

RUNS = os.environ.get("RUNS", "")
RULES = ["saf+greedy", "saf+easy", *(f"saf+reserve:{cores}:{seconds}" for cores in KEPT for seconds in SHORT)]
COLUMNS = [BOUNDED, "wait", "utilization"]
PLACED = {"bounded_slowdown": FIGURES.index("bounded_slowdown"), "wait": 2, "utilization": 3}


def figures_of(runs):
    """The figures of ended episodes, by window."""
    return pd.DataFrame({name: runs.figures[:, column] for name, column in PLACED.items()})


def windows_of(trace, machine, count, jobs):
    """The first disjoint windows of a trace, by number."""
    whole = jobs_in(existing(trace, "trace"), machine).workload
    count = min(count, len(whole) // jobs)
    return [fragment(whole, number * jobs, jobs) for number in range(count)]


def begun(space, machine, windows, limits_of):
    """All windows side by side at their beginnings."""
    plays = Plays(machine, windows.__getitem__, space, limits_of=limits_of, clock="textbook")
    runs = plays.runs_to_fork(len(windows))
    plays.load(runs, 0)
    return runs


def of_rules(machine, windows):
    """The figures of each setting of the rule, by window."""
    space, found = Space(actions=RULES, head=1, observation="horizon", horizon=2), {}
    for number, name in enumerate(RULES):
        runs = begun(space, machine, windows, None)
        while not runs.over.all():
            runs.step(np.full(runs.count, number))
        found[name] = figures_of(runs)
    return found


def agents():
    """Each training's best agent, with the space that it plays in and the jobs that scale what it sees."""
    for folder in map(Path, RUNS.split(",")):
        learner, _ = resume_learner(folder, "cpu", None)
        load_agent(learner.agent, folder, learner.actions.names)
        yield folder.name, learner.agent, learner.space, learner.experiment.workload


@pytest.mark.skipif(not RUNS, reason="RUNS names no trainings")
def test_agents_and_the_rule(tmp_path):
    torch.set_num_threads(1)
    fresh = os.environ.get("TRACE", str(tmp_path / "fresh.swf"))
    made = [
        "generate",
        "lublin",
        "--preset",
        "whole",
        "--nodes",
        "256",
        "--jobs",
        "61440",
        "--seed",
        "7001",
        "-o",
        fresh,
    ]
    assert Path(fresh).exists() or main(made) == 0
    cases = [(fresh, 256, 60, 1024), (fresh, 256, 12, 5000), ("lublin-1", 256, 9, 1024), ("lublin-2", 256, 9, 1024)]
    for trace, cores, count, jobs in [*cases, ("ctc-sp2-windows", 338, 10, 1024)]:
        machine = pool(cores)
        windows = windows_of(trace, machine, count, jobs)
        by = of_rules(machine, windows)
        means = pd.DataFrame({name: rows.mean() for name, rows in by.items()}).T.sort_values("wait")
        best = means[means[BOUNDED] < means[BOUNDED].cummin().shift(fill_value=np.inf)]
        print(f"\n{Path(trace).name}: {len(windows)} windows of {jobs} jobs\n{best.round(3).to_string()}")
        least = (means[BOUNDED] + 0.0025 * means["wait"]).min()
        print(f"  least bounded slowdown + .0025 wait of a rule: {least:.2f}")
        for name, agent, space, limits_of in agents():
            began = time.process_time()
            runs = begun(replace(space, until=0.0, placed=0), machine, windows, limits_of)
            decisions = play_side_by_side(agent, runs)
            seconds = (time.process_time() - began) / decisions
            rows = figures_of(runs)
            figures, rule = rows.mean(), mixed(best, by, rows["wait"].mean())
            shown = f"{figures[BOUNDED]:.2f} at {figures['wait']:.0f} s, utilization {figures['utilization']:.3f}"
            change = (
                "none waits so long" if rule is None else f"{rule.mean():.2f}: {told(rows[BOUNDED].to_numpy() - rule)}"
            )
            both = figures[BOUNDED] + 0.0025 * figures["wait"]
            print(f"  {name}: {shown}, both {both:.2f}; rule {change}; {1e6 * seconds:.0f} us a decision", flush=True)
