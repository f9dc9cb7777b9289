from dataclasses import replace

import numpy as np
import pytest
from agents_for_tests import ClassicAgent
from small import jobs, platform, run_baseline, step_baseline

from hdeeprm_like.api import simulate
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import MODES, ORDERS, baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.lifecycle import receive
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, MEMORY, NOTHING
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Simulator

THREE = ((1000.0, [(3, 1.0, 100.0, 1e6)]),)  # one node with three cores


def starts(workload, name, nodes=THREE, **more):
    simulator = step_baseline(platform(*nodes), workload, name, **more)
    assert simulator.unfinished == 0
    return simulator.simulation.tasks["start"].tolist()


def test_seven_jobs_on_three_processors_backfilling_starts_the_last_at_2_and_first_come_first_served_at_9():
    # the text gives the two schedules, not the jobs: here 2 leaves a processor free over [2, 4) and 3 to 6 take all
    seconds = [2, 2, 1, 2, 1, 1, 1]
    seven = jobs(submit=[0, 1, 1, 1, 1, 1, 1], seconds=seconds, size=[3, 2, 3, 3, 3, 3, 1])
    strict = starts(seven, "fcfs")
    assert strict == [0, 2, 4, 5, 7, 8, 9]
    assert max(np.add(strict, seconds)) == 10
    for mode in ("easy", "conservative"):
        filled = starts(seven, f"fcfs+{mode}")
        assert filled == [0, 2, 4, 5, 7, 8, 2]
        assert max(np.add(filled, seconds)) == 9


def test_orders_differ_in_who_is_served_first():
    # one core, busy until 10; then each order picks among: 1 long and early, 2 short, 3 in between
    workload = jobs(submit=[0, 1, 2, 3], seconds=[10, 30, 5, 20], size=1)
    one = ((1000.0, [(1, 1.0, 100.0, 1e6)]),)
    assert starts(workload, "fcfs", one) == [0, 10, 40, 45]
    assert starts(workload, "lcfs", one) == [0, 35, 30, 10]
    assert starts(workload, "sjf", one) == [0, 35, 10, 15]
    assert starts(workload, "ljf", one) == [0, 10, 60, 40]
    assert starts(workload, "wfp3", one) == [0, 35, 10, 15]
    assert starts(workload, "xfactor", one) == [0, 35, 30, 10]  # at 10: 1.3, 1.3 and 1.35


def test_an_oracle_and_perfect_times_look_at_what_jobs_really_take():
    workload = jobs(submit=[0, 1, 1], seconds=[10, 20, 5], estimate=[10, 20, 30], size=1)
    one = ((1000.0, [(1, 1.0, 100.0, 1e6)]),)
    assert starts(workload, "sjf", one) == [0, 10, 30]
    assert starts(workload, "oracle", one) == starts(workload, "sjf+strictP", one) == [0, 15, 10]
    actions = PolicyActions([baseline("oracle")])
    state = State(platform(*one), None, limits=workload.limits(), needs=actions.needs)
    with pytest.raises(OptionsError, match="only the embedded simulator knows"):
        actions.choices(state)


def decided(name, workload, *arrivals):
    """The tables of two cores and 1000 MB after a baseline has decided at 0 s, 1 s and so on, as so many jobs came."""
    actions = PolicyActions([baseline(name)])
    state = State(platform((1000.0, [(2, 1.0, 100.0, 1e6)])), workload, needs=actions.needs)
    for time, count in enumerate(arrivals):
        receive(state.tables, float(time), np.zeros(0, np.int32), 0, count, False)
        actions.apply(0, state)
    return state.tables


@pytest.mark.parametrize(("size", "memory", "lacks"), [(2, 0.0, CORES), (1, 600.0, MEMORY), (1, 0.0, NOTHING)])
def test_a_baseline_notes_what_its_head_lacks(size, memory, lacks):
    tables = decided("fcfs", jobs(seconds=10, size=[1, size], memory=[600.0, memory]), 2)
    assert tables.clock["blocked"][0] == lacks
    assert lacks == NOTHING or tables.clock["blocked_job"][0] == 1


def test_it_notes_what_the_picked_job_lacks_also_when_another_has_come_before_it():
    workload = jobs(submit=[0, 0, 1], seconds=[9, 5, 2], size=[2, 1, 1], memory=[0.0, 600.0, 600.0])
    clock = decided("sjf+commit", workload, 2, 1).clock[0]
    assert (clock["blocked"], clock["blocked_job"]) == (CORES, 0)


def test_multifactor_serves_the_user_who_has_used_less():
    workload = jobs(submit=[0, 0, 1, 2], seconds=[10, 10, 10, 10], size=[2, 1, 3, 3])
    served = starts(replace(workload, user=np.array([7, 8, 7, 8])), "multifactor")
    assert served == [0, 0, 20, 10]


def test_a_committed_pick_blocks_what_would_overtake_it_when_the_queue_is_sorted_anew():
    # 2 is picked at 1 and blocks; 3 is shorter and would fit, but comes too late
    workload = jobs(submit=[0, 1, 2], seconds=[10, 5, 1], size=[2, 3, 1])
    assert starts(workload, "sjf+strict") == [0, 10, 2]
    assert starts(workload, "sjf+commit") == [0, 10, 15]
    assert starts(workload, "sjf+commitbackfill") == [0, 10, 2]


def test_easy_lets_a_job_outlive_the_reservation_only_on_cores_left_over():
    long_narrow = jobs(submit=[0, 1, 2], seconds=[10, 5, 50], size=[2, 2, 1])
    assert starts(long_narrow, "fcfs+easy") == [0, 10, 2]
    in_the_way = jobs(submit=[0, 1, 2], seconds=[10, 5, 50], size=[2, 3, 1])
    assert starts(in_the_way, "fcfs+easy") == [0, 10, 15]
    assert starts(in_the_way, "fcfs+greedy") == [0, 52, 2]


def test_an_overdue_job_is_expected_to_end_in_a_second():
    # at 12 job 1 should have ended at 10; job 3 of one second may start, job 4 of two may not
    workload = jobs(submit=[0, 1, 12, 12], seconds=[20, 5, 1, 2], estimate=[10, 5, 1, 2], size=[2, 3, 1, 1])
    assert starts(workload, "fcfs+easy") == [0, 20, 12, 25]


def test_a_reservation_waits_for_memory_too():
    # 100 MB: 0 holds 55 until 10, when 1 wants 60 for 5 s; 2 without memory may outlive that, 3 with 45 may not, 4 with
    # the 40 that are left may
    nodes = ((100.0, [(4, 1.0, 100.0, 1e6)]),)
    workload = jobs(submit=[0, 1, 2, 3, 4], seconds=[10, 5, 50, 50, 50], size=1, memory=[55.0, 60.0, 0.0, 45.0, 40.0])
    assert starts(workload, "fcfs+easy", nodes) == [0, 10, 2, 15, 4]
    assert starts(workload, "fcfs+greedy", nodes) == [0, 53, 2, 3, 10]


ANYWHERE = [mode for mode in MODES if mode not in ("scored", "slurm")]  # that every order has on every platform


# takes 3 s
@pytest.mark.lane(more=r"(?!(fcfs\+easy)$).*")
@pytest.mark.parametrize("name", [f"{order}+{mode}" for order in ORDERS for mode in ANYWHERE])
def test_every_baseline_finishes_every_job_on_a_platform_with_memory_and_bandwidth_in_a_compiled_run(name):
    rng = np.random.default_rng(5)
    nodes = ((100.0, [(2, 2.0, 90.0, 6.0), (3, 1.0, 50.0, 4.0)]), (300.0, [(4, 1.5, 70.0, 8.0)]))
    workload = jobs(
        submit=np.sort(rng.integers(0, 60, 40)),
        seconds=rng.integers(1, 20, 40),
        estimate=rng.integers(1, 20, 40),
        size=rng.integers(1, 6, 40),
        memory=rng.choice([0.0, 10.0, 40.0], 40),
        bandwidth=rng.choice([0.0, 2.0, 5.0], 40),
    )
    starts(workload, name, nodes)
    assert run_baseline(platform(*nodes), workload, name, "batsim").unfinished == 0


@pytest.mark.parametrize(
    "name", ["sjf+easy", "zoo:balanced", "fcfs+conservative", "wfp3+easysjf", "f1+commitbackfill", "bfbp"]
)
def test_an_agent_that_plays_a_baseline_gives_the_schedule_of_the_compiled_run(name):
    rng = np.random.default_rng(6)
    workload = jobs(
        submit=np.sort(rng.integers(0, 200, 60)), seconds=rng.integers(1, 40, 60), size=rng.integers(1, 4, 60)
    )
    simulator = run_baseline(platform(*THREE), workload, name, "batsim")
    actions = PolicyActions([baseline("fcfs"), baseline(name)])
    state = State(platform(*THREE), workload, needs=actions.needs)
    stepped = Simulator(state, workload)
    play(stepped, DecisionSystem(state, actions), ClassicAgent(1))
    assert np.array_equal(stepped.simulation.tasks["start"], simulator.simulation.tasks["start"])


class Alternating:
    """Two actions in turn."""

    turn = 0

    def act(self, observation, mask):
        self.turn += 1
        return self.turn % 2


@pytest.mark.parametrize("mode", ANYWHERE)
def test_two_baselines_may_take_turns(mode):
    rng = np.random.default_rng(7)
    workload = jobs(
        submit=np.sort(rng.integers(0, 200, 60)), seconds=rng.integers(1, 40, 60), size=rng.integers(1, 4, 60)
    )
    actions = PolicyActions([baseline(f"{order}+{mode}") for order in ("sjf", "lcfs")])
    state = State(platform(*THREE), workload, needs=actions.needs)
    simulator = Simulator(state, workload)
    play(simulator, DecisionSystem(state, actions), Alternating())
    assert simulator.unfinished == 0


def test_the_textbooks_clock_goes_on_where_times_are_too_large_for_nanoseconds():
    late = jobs(submit=[0, 3e7, 3e7 + 1], seconds=[1, 7, 5], size=3)
    assert starts(late, "fcfs") == [0, 3e7, 3e7 + 7]


def test_a_job_that_has_just_come_has_not_waited_though_the_message_of_its_arrival_is_later():
    """UNICEP would put a job of one core first at once, because of the millionth of a second in Batsim's dates."""
    machine = platform((1000.0, [(3, 1.0, 100.0, 10.0)]))
    workload = jobs(submit=[0.0, 1.25, 2.12345678], seconds=[10.0, 10.0, 10.0], size=[2, 2, 1])
    for clock in ("batsim", "textbook"):
        assert simulate(machine, workload, "unicep+strict", clock).start[2] > 9.0
