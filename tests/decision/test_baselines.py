"""Orders and modes: who is served first on paper, and the same schedule however a baseline is played."""

import numpy as np
import pytest
from agents_for_tests import ClassicAgent
from on_paper import OnPaper, cores, of_users, starts
from small import jobs, platform, run_baseline

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

SECONDS = [2, 2, 1, 2, 1, 1, 1]
KNOWN_AND_REQUESTED = jobs([0, 1, 1], [10, 20, 5], estimate=[10, 20, 30])

WORLDS = {
    # the text gives the two schedules, not the jobs: here 2 leaves a processor free over [2, 4) and 3 to 6 take all
    "of seven jobs backfilling starts the last at 2, first come, first served at 9": OnPaper(
        cores(3),
        jobs([0, 1, 1, 1, 1, 1, 1], SECONDS, [3, 2, 3, 3, 3, 3, 1]),
        {
            "fcfs": [0, 2, 4, 5, 7, 8, 9],
            "fcfs+easy": [0, 2, 4, 5, 7, 8, 2],
            "fcfs+conservative": [0, 2, 4, 5, 7, 8, 2],
        },
    ),
    # one core, busy until 10; then each order picks among: 1 long and early, 2 short, 3 in between
    "orders differ in who is served first": OnPaper(
        cores(1),
        jobs([0, 1, 2, 3], [10, 30, 5, 20]),
        {
            "fcfs": [0, 10, 40, 45],
            "lcfs": [0, 35, 30, 10],
            "sjf": [0, 35, 10, 15],
            "ljf": [0, 10, 60, 40],
            "wfp3": [0, 35, 10, 15],
            "xfactor": [0, 35, 30, 10],  # at 10: 1.3, 1.3 and 1.35
        },
    ),
    "an oracle and perfect times look at what jobs really take": OnPaper(
        cores(1), KNOWN_AND_REQUESTED, {"sjf": [0, 10, 30], "oracle": [0, 15, 10], "sjf+strictP": [0, 15, 10]}
    ),
    "multifactor serves the user who has used less": OnPaper(
        cores(3), of_users(jobs([0, 0, 1, 2], [10] * 4, [2, 1, 3, 3]), [7, 8, 7, 8]), {"multifactor": [0, 0, 20, 10]}
    ),
    # 1 is picked at 1 and blocks; 2 is shorter and would fit, but comes too late
    "a committed pick blocks what would overtake it when the queue is sorted anew": OnPaper(
        cores(3),
        jobs([0, 1, 2], [10, 5, 1], [2, 3, 1]),
        {"sjf+strict": [0, 10, 2], "sjf+commit": [0, 10, 15], "sjf+commitbackfill": [0, 10, 2]},
    ),
    # 1 is picked at 1 and lacks memory until 10; 2 ends before that, 3 does not
    "a committed pick waits for memory as for cores": OnPaper(
        cores(4, memory=100.0),
        jobs([0, 1, 2, 3], [10, 5, 7, 9], memory=[60, 60, 30, 30]),
        {"fcfs+commitbackfill": [0, 10, 2, 10]},
    ),
    "the textbook's clock goes on where times are too large for nanoseconds": OnPaper(
        cores(3), jobs([0, 3e7, 3e7 + 1], [1, 7, 5], 3), {"fcfs": [0, 3e7, 3e7 + 7]}
    ),
}


@pytest.mark.parametrize("world", WORLDS)
def test_jobs_start_as_on_paper(world):
    WORLDS[world].check()


def test_only_the_embedded_simulator_knows_what_an_oracle_looks_at():
    actions = PolicyActions([baseline("oracle")])
    state = State(cores(1), None, limits=KNOWN_AND_REQUESTED.limits(), needs=actions.needs)
    with pytest.raises(OptionsError, match="only the embedded simulator knows"):
        actions.choices(state)


def decided(name, workload, *arrivals):
    """The tables of two cores and 1000 MB after a baseline has decided at 0 s, 1 s and so on, as so many jobs came."""
    actions = PolicyActions([baseline(name)])
    state = State(cores(2), workload, needs=actions.needs)
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


ANYWHERE = [mode for mode in MODES if mode not in ("scored", "slurm")]  # that every order has on every platform


# takes 3 s
@pytest.mark.lane(more=r"(?!(fcfs\+easy)$).*")
@pytest.mark.parametrize("name", [f"{order}+{mode}" for order in ORDERS for mode in ANYWHERE])
def test_every_baseline_finishes_every_job_on_a_platform_with_memory_and_bandwidth_in_a_compiled_run(name):
    rng = np.random.default_rng(5)
    machine = platform((100.0, [(2, 2.0, 90.0, 6.0), (3, 1.0, 50.0, 4.0)]), (300.0, [(4, 1.5, 70.0, 8.0)]))
    workload = jobs(
        submit=np.sort(rng.integers(0, 60, 40)),
        seconds=rng.integers(1, 20, 40),
        estimate=rng.integers(1, 20, 40),
        size=rng.integers(1, 6, 40),
        memory=rng.choice([0.0, 10.0, 40.0], 40),
        bandwidth=rng.choice([0.0, 2.0, 5.0], 40),
    )
    starts(machine, workload, name)
    assert run_baseline(machine, workload, name, "batsim").unfinished == 0


def crowd(seed):
    """Sixty jobs for three cores."""
    rng = np.random.default_rng(seed)
    return jobs(np.sort(rng.integers(0, 200, 60)), rng.integers(1, 40, 60), rng.integers(1, 4, 60))


def stepped(workload, names, agent):
    """The simulator of a run in which an agent chooses one of some baselines each time."""
    actions = PolicyActions([baseline(name) for name in names])
    state = State(cores(3), workload, needs=actions.needs)
    simulator = Simulator(state, workload)
    play(simulator, DecisionSystem(state, actions), agent)
    return simulator


@pytest.mark.parametrize(
    "name", ["sjf+easy", "zoo:balanced", "fcfs+conservative", "wfp3+easysjf", "f1+commitbackfill", "bfbp"]
)
def test_an_agent_that_plays_a_baseline_gives_the_schedule_of_the_compiled_run(name):
    ours = stepped(crowd(6), ["fcfs", name], ClassicAgent(1))
    compiled = run_baseline(cores(3), crowd(6), name, "batsim")
    assert np.array_equal(ours.simulation.tasks["start"], compiled.simulation.tasks["start"])


class Alternating:
    """Two actions in turn."""

    turn = 0

    def act(self, observation, mask):
        self.turn += 1
        return self.turn % 2


@pytest.mark.parametrize("mode", ANYWHERE)
def test_two_baselines_may_take_turns(mode):
    assert stepped(crowd(7), [f"sjf+{mode}", f"lcfs+{mode}"], Alternating()).unfinished == 0


def test_a_job_that_has_just_come_has_not_waited_though_the_message_of_its_arrival_is_later():
    """UNICEP would put a job of one core first at once, because of the millionth of a second in Batsim's dates."""
    workload = jobs(submit=[0.0, 1.25, 2.12345678], seconds=[10.0, 10.0, 10.0], size=[2, 2, 1])
    for clock in ("batsim", "textbook"):
        assert simulate(cores(3), workload, "unicep+strict", clock).start[2] > 9.0
