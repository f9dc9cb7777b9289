"""Trained agents beside the rule that they imitated, at equal wait; prints figures and fails nothing.

Set RUNS to the folders of trainings, separated by commas, or SWEEP to that of a sweep of trainings, TRACE to a trace
and WINDOWS to windows as disjoint:60. The rule is `saf+reserve`, by how many cores it keeps and for jobs of up to how
many s; of its settings those are shown that no other one beats in both figures. Each agent is compared with the mix of
the two settings whose waits lie around its own that has the same mean wait, window by window. The trainings of a sweep
that differ in their seed only are one variant, which is compared with the first one, too. PICTURE names a file for
their learning curves.
"""

import json
import os
from itertools import pairwise
from pathlib import Path
from textwrap import shorten

import numpy as np
import pandas as pd
import pytest
from measuring import told

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.inputs import read_json
from hdeeprm_like.results.pictures import COLOURS, picture

pytestmark = pytest.mark.bench

RUNS, SWEEP = os.environ.get("RUNS", ""), os.environ.get("SWEEP", "")
KEPT, SHORT = (16, 24, 32, 40, 48, 64, 80, 96), (300, 1000, 3600, 10000)  # cores, s
RULES = [compared_policy(f"saf+reserve:{cores}:{seconds}").name for cores in KEPT for seconds in SHORT]
OTHERS = ["saf+easy", "saf+greedy", "zoo:balanced"]
BOUNDED = "bounded_slowdown"
IN_WORDS = {  # what titles of variants begin with, for the picture
    "the first": "the whole agent",
    "imitate None": "without imitation",
    "imitate sjf+easy": "imitates sjf+easy",
    "alike 1": "windows not compared",
    "train ppo": "flat network",
    "train attention": "attention",
}


def variants():
    """Folders of trainings by how their options differ from the first one's; those of RUNS are one variant."""
    if RUNS:
        return {"": [Path(folder) for folder in RUNS.split(",")]}
    tasks = [json.loads(line) for line in (Path(SWEEP) / "tasks.jsonl").read_text().splitlines()]
    first, found = tasks[0]["values"], {}
    for task in tasks:
        folder, own = Path(SWEEP) / "trainings" / task["key"], task["values"]
        if (folder / "run.json").exists() and read_json(folder / "run.json", ValueError)["status"] == "complete":
            names = [name for name in {**own, **first} if name != "seed" and own.get(name) != first.get(name)]
            told = (f"{name.split('.')[-1]} {Path(str(own.get(name))).name}" for name in sorted(names, reverse=True))
            found.setdefault(", ".join(told) or "the first", []).append(folder)
    return found


def in_words(title):
    """What a legend calls a variant."""
    return next((words for begin, words in IN_WORDS.items() if title.startswith(begin)), shorten(title, 40))


def frontier(means):
    """The rules that no other beats in both figures, by ascending wait, from the least wait on."""
    rules = means.loc[RULES].sort_values("wait")
    return rules[rules[BOUNDED] < rules[BOUNDED].cummin().shift(fill_value=np.inf)]


def mixed(best, by, wait):
    """The bounded slowdown in each window of the mix of two rules that has a mean wait; None where there is none."""
    for less, more in pairwise(best.index):
        if best.loc[less, "wait"] <= wait <= best.loc[more, "wait"]:
            share = (wait - best.loc[less, "wait"]) / (best.loc[more, "wait"] - best.loc[less, "wait"])
            return (1 - share) * by[less][BOUNDED].to_numpy() + share * by[more][BOUNDED].to_numpy()
    return None


@pytest.mark.skipif(not (RUNS or SWEEP), reason="RUNS and SWEEP name no trainings")
def test_agents_and_the_rule(tmp_path):
    found = {title: [f"agent:{folder}" for folder in folders] for title, folders in variants().items()}
    agents = [name for names in found.values() for name in names]
    line = ["compare", "-q", "--trust", "--trace", os.environ["TRACE"], "--windows", os.environ["WINDOWS"]]
    assert main([*line, "--policies", ",".join([*OTHERS, *RULES, *agents]), "--output", str(tmp_path / "out")]) == 0
    table = pd.read_csv(tmp_path / "out" / "results.csv")
    means = table.groupby("policy")[[BOUNDED, "wait", "utilization"]].mean()
    best = frontier(means)
    print("\n", pd.concat([means.loc[OTHERS], best]).round(3).to_string())
    by = {name: rows.sort_values("window") for name, rows in table.groupby("policy")}
    first = None
    for title, names in found.items():
        of_seeds = []
        print(title)
        for name in names:
            own, figures = by[name][BOUNDED].to_numpy(), means.loc[name]
            shown = f"{figures[BOUNDED]:.2f} at {figures['wait']:.0f} s, utilization {figures['utilization']:.3f}"
            rule = mixed(best, by, figures["wait"])
            if rule is None:
                print(f"  {name[-40:]:40} {shown}; waits of no rule lie around its own")
                continue
            of_seeds.append((own - rule).mean())
            print(f"  {name[-40:]:40} {shown}; less the rule's {rule.mean():.2f}: {told(own - rule)}")
        over, spread = means.loc[names].mean(), means.loc[names].std()
        print(
            f"  {len(names)} seeds (standard deviations): {over[BOUNDED]:.2f} ({spread[BOUNDED]:.2f}) at "
            f"{over['wait']:.0f} ({spread['wait']:.0f}) s, utilization {over['utilization']:.3f}; less the rule's in "
            f"{len(of_seeds)}: {pd.Series(of_seeds).mean():+.2f} ({pd.Series(of_seeds).std():.2f})"
        )
        own = {key: np.mean([by[name][key].to_numpy() for name in names], axis=0) for key in (BOUNDED, "wait")}
        if first is None:
            first = own
        else:
            print(f"  less the first variant: {', '.join(f'{key} {told(own[key] - first[key])}' for key in own)}")


@pytest.mark.skipif("PICTURE" not in os.environ, reason="PICTURE names no file")
def test_learning_curves():
    with picture(Path(os.environ["PICTURE"]), width=9.0, height=4.6) as figure:
        axes, objective, colours = figure.subplots(), None, iter(COLOURS)
        for title, folders in variants().items():
            own = read_json(folders[0] / "options.json", ValueError)["pybatsim"]["env"]["objective"]
            objective = objective or own
            if own != objective:
                continue  # in other units
            rewards = [np.loadtxt(folder / "rewards.log", ndmin=1) for folder in folders]
            envs = read_json(folders[0] / "options.json", ValueError)["training"]["envs"]
            updates = np.array([one.reshape(-1, envs).mean(1) for one in rewards])
            if updates.shape[1] < 2:
                continue
            episodes = envs * np.arange(1, 1 + updates.shape[1])
            colour = next(colours)
            axes.plot(episodes, updates.mean(0), color=colour, label=in_words(title))
            axes.fill_between(episodes, updates.min(0), updates.max(0), color=colour, alpha=0.15, linewidth=0)
        axes.set_xlabel("episodes")
        axes.set_ylabel("reward")
        axes.set_title("Reward of an update: mean, least and greatest of the seeds")
        axes.legend()
