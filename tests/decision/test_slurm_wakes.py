"""When a policy like Slurm's wants to be woken, counted whatever the machine, and what it reads of a configuration."""

import pytest
from on_paper import in_all
from small import cluster, jobs

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.node_rows import new_slurm_rows
from hdeeprm_like.engine.state import State
from hdeeprm_like.importers.slurm_conf import MODELLED
from hdeeprm_like.run.loop import OVER, advance
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import constant_run

LONG = 3000.0  # s that the first job runs, behind which the second waits
MANY = 10_000  # instants, more than any of these runs has


def instants(order, **weights):
    """How many instants a run has in which a job of LONG s runs and another one waits for it."""
    two = in_all(jobs(submit=[0.0, 1.0], seconds=[LONG, 10.0]))
    machine = cluster({"PriorityCalcPeriod": 300.0, **weights})
    policies = PolicyActions([baseline(order)])
    simulator = Simulator(State(machine, two, log=False, needs=policies.needs), two, "textbook")
    run, found = constant_run(simulator, policies.choices(simulator.state, constant=0)), 1
    while found < MANY and advance(run, 1) != OVER:
        found += 1
    return found


@pytest.mark.parametrize("order", ["fcfs+slurm:0", "sjf+slurm:0"])
def test_an_order_that_looks_at_no_priority_is_not_woken_to_compute_them(order):
    without = instants(order)
    assert without < 20
    assert instants(order, PriorityWeightAge=1000.0) == without
    assert instants(order, PriorityWeightFairshare=1000.0) == without


def test_priorities_are_computed_each_period_while_a_job_waits():
    without = instants("multifactor+slurm")
    assert instants("multifactor+slurm", PriorityWeightAge=1000.0) - without >= LONG / 300.0 - 1


def test_a_watch_of_an_order_that_never_changes_looks_only_where_something_has_happened():
    assert instants("sjf+slurm") <= instants("multifactor+slurm") + 5


def test_a_watch_of_an_order_that_changes_looks_each_interval_while_a_job_waits():
    assert instants("xfactor+slurm") >= LONG / 10.0
    assert LONG / 60.0 <= instants("xfactor+slurm:60") < LONG / 10.0


def test_the_parameters_that_an_import_calls_modelled_are_those_that_the_scheduler_reads():
    class Watched(dict):
        def __init__(self):
            super().__init__(one=1)  # an empty one counts as none
            self.read = set()

        def get(self, name, otherwise=None):
            self.read.add(name)
            return otherwise

    parameters, one = Watched(), in_all(jobs(submit=[0.0], seconds=[10.0]))
    state = State(cluster({"SchedulerParameters": parameters}), one)
    new_slurm_rows(state.platform, one, state.tables.node_sets)
    assert parameters.read == set(MODELLED)
