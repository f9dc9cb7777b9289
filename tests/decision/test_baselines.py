from dataclasses import replace

import numpy as np
import pytest
from small import jobs, platform, step_baseline

from hdeeprm_like.api import simulate
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import MODES, baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
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


def test_an_oracle_and_perfect_times_look_at_what_jobs_really_take():
    workload = jobs(submit=[0, 1, 1], seconds=[10, 20, 5], estimate=[10, 20, 30], size=1)
    one = ((1000.0, [(1, 1.0, 100.0, 1e6)]),)
    assert starts(workload, "sjf", one) == [0, 10, 30]
    assert starts(workload, "oracle", one) == starts(workload, "sjf+strictP", one) == [0, 15, 10]
    actions = PolicyActions([baseline("oracle")])
    state = State(platform(*one), None, limits=workload.limits(), needs=actions.needs)
    with pytest.raises(OptionsError, match="only the embedded simulator knows"):
        actions.choices(state)


def test_multifactor_serves_the_user_who_has_used_less():
    workload = jobs(submit=[0, 0, 1, 2], seconds=[10, 10, 10, 10], size=[2, 1, 3, 3])
    served = starts(replace(workload, user=np.array([7, 8, 7, 8])), "multifactor")
    assert served == [0, 0, 20, 10]


ANYWHERE = [mode for mode in MODES if mode not in ("scored", "slurm")]  # that every order has on every platform


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
