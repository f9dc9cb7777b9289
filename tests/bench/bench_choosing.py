"""Agents that choose among policies, beside each policy alone on the same held-out jobs; prints and fails nothing.

Set SWEEP to the folder of a sweep of trainings on fragments of a trace. Each held-out fragment comes so fast
that it asks for LOAD times what the machine can do. The best single policy is picked in hindsight, by these fragments.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from measuring import told

pytestmark = pytest.mark.bench

SWEEP = os.environ.get("SWEEP", "")
LOAD = float(os.environ.get("LOAD", "3"))
FIGURE = os.environ.get("FIGURE", "bounded_slowdown")


@pytest.mark.skipif(not SWEEP, reason="SWEEP names no sweep")
def test_agents_and_single_policies():
    from hdeeprm_like.decision.agent_names import Trained
    from hdeeprm_like.experiment import episodes_of
    from hdeeprm_like.launch.learned import MEASURES
    from hdeeprm_like.launch.trained import restored
    from hdeeprm_like.learning.constant_policy import Constant
    from hdeeprm_like.learning.training import evaluate, measured
    from hdeeprm_like.run.episodes import stretched

    keys = [json.loads(line)["key"] for line in (Path(SWEEP) / "tasks.jsonl").read_text().splitlines()]
    learners = [restored(Trained(Path(SWEEP) / "trainings" / key)) for key in keys]
    experiment = learners[0].experiment
    machine, jobs = experiment.platform, experiment.options.training.fragment_jobs
    held_out = episodes_of(experiment)[2]
    count = len(experiment.workload) // (5 * jobs)  # one fragment of five is held out

    def crowded(number):
        return stretched(held_out(number), machine.cores, LOAD, machine.reference_flops)

    plays, alone = learners[0].plays(crowded), {}
    for action, name in enumerate(learners[0].actions.names):
        found = measured(Constant(action), plays, count, MEASURES)
        alone[name] = {key: np.array(found[key]) for key in MEASURES}
        print(f"\n{name:24} { {key: round(float(values.mean()), 3) for key, values in alone[name].items()} }", end="")
    best = min(alone, key=lambda name: alone[name][FIGURE].mean())
    print(f"\n{count} fragments at load {LOAD}; the best single policy is {best}")
    changes = []
    for key, learner in zip(keys, learners, strict=True):
        found = evaluate(learner.agent, learner.plays(crowded), count, measures=MEASURES)
        changes.append(np.array(found[FIGURE]) - alone[best][FIGURE])
        means = {key: round(float(np.mean(values)), 3) for key, values in found.items()}
        print(f"{key} {means}; less the best: {told(changes[-1])}")
    means = [one.mean() for one in changes]
    print(f"{len(changes)} seeds: {told(np.mean(changes, axis=0))} over fragments", end="")
    print(f", standard deviation over seeds {np.std(means, ddof=min(1, len(means) - 1)):.3f}")
