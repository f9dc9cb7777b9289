"""What a decision of a learned policy takes, by how many jobs wait, beside one of EASY."""

from dataclasses import replace

import numpy as np
import pytest
from measuring import timed

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.synthetic.models import Recipe, estimates_named, model_named
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.run.loop import advance
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import constant_run

pytestmark = pytest.mark.bench
CORES, RUNS, INSTANTS = 256, 5, 60
POLICIES = ("saf+easy", "zoo:slowdown", "zoo:balanced")


def burst(waiting, exact, seed=1):
    """A workload of which *waiting* jobs come at once behind 300 that have run."""

    estimates = estimates_named("exact" if exact else "tsafrir")
    count = 300 + waiting
    jobs = Recipe(model_named("lublin", nodes=CORES), estimates).jobs(count, np.random.default_rng(seed)).workload(1e9)
    submit = np.concatenate([np.arange(300) * 4000.0, np.full(waiting, 300 * 4000.0 + 1e6)])
    user = np.random.default_rng(seed).integers(0, 40, count)
    return replace(jobs, submit=submit, user=user, memory=np.zeros(count))


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "inexact"])
@pytest.mark.parametrize("waiting", [128, 1000, 10_000])
def test_microseconds_of_a_decision(waiting, exact):
    jobs, found = burst(waiting, exact), {}
    for name in POLICIES:
        actions, times = PolicyActions([baseline(name)]), []
        for _ in range(RUNS):
            state = State(pool(CORES), jobs, log=False, needs=actions.needs, named=False)
            run = constant_run(Simulator(state, jobs, "textbook"), actions.choices(state, constant=0))
            while state.tables.clock["waiting"][0] < waiting // 2:
                advance(run, 1)
            times.append(timed(lambda one=run: advance(one, INSTANTS))[0] / INSTANTS * 1e6)
        found[name] = min(times)
    line = ", ".join(f"{name} {found[name]:.1f} ({found[name] / found[POLICIES[0]]:.1f})" for name in POLICIES)
    print(f"{waiting} waiting, {'exact' if exact else 'inexact'}: µs (ratio) {line}")
