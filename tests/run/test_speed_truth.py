"""Nodes whose speed follows a file take as long in the embedded simulator as on paper and on our server."""

from dataclasses import replace

import numpy as np
import pytest
from batsim_talk import difference_from_server, play_on_server, talk
from changing_speeds import changing_world, played, write_world
from small import jobs, platform

from hdeeprm_like import simulate
from hdeeprm_like.batsim_server.simulation import Simulation as ServerSimulation
from hdeeprm_like.cluster.platform import Network
from hdeeprm_like.cluster.speed_profiles import NodeSpeeds, SpeedProfile
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.engine.speeds import change_due, new_speeds
from hdeeprm_like.engine.tasks import SHORTEST_RUN
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.runs import Runs

CORE = (1000.0, [(1, 1.0, 100.0, 10.0)])  # a node of one core of 1 Gflop/s


def changing(*profiles, cores=CORE, **more):
    """A platform with a node for each profile, None for a constant speed."""
    known = tuple(dict.fromkeys(filter(None, profiles)))
    numbers = tuple(-1 if one is None else known.index(one) for one in profiles)
    return replace(platform(*[cores] * len(profiles), **more), speeds=NodeSpeeds(known, numbers))


def times(cluster, workload, **more):
    """Start and run time of each job."""
    found = simulate(cluster, workload, "fcfs", "batsim", **more)
    return found.start, found.run_time


# --- on paper


@pytest.mark.parametrize(
    ("profile", "end"),
    [
        (SpeedProfile((1.0,), (0.5,)), 7.0),  # 1 + 6 * 0.5
        (SpeedProfile((0.0,), (0.5,)), 8.0),
        (SpeedProfile((1.0, 5.0), (0.1, 1.0)), 7.6),  # 1 + 4 * 0.1 + 2.6
        (SpeedProfile((1.0, 2.0), (0.5, 1.0), 1.0), 5.0),  # 1, 1 * 0.5, 2 (until 4), 1 * 0.5
        (SpeedProfile((9.0,), (0.5,)), 4.0),
        (SpeedProfile((1.0, 1.0), (0.0, 2.0)), 2.5),  # the later line of one date counts
    ],
)
def test_a_job_follows_the_speed_of_its_node(profile, end):
    _, run = times(changing(profile), jobs(seconds=4.0))
    assert run == pytest.approx([end], abs=1e-6)


def test_the_slowest_node_of_a_job_sets_its_pace():
    cluster = changing(SpeedProfile((1.0,), (0.5,)), SpeedProfile((2.0,), (0.25,)), None)
    _, run = times(cluster, jobs(seconds=4.0, size=3))
    assert run == pytest.approx([12.0], abs=1e-6)  # 1, 1 * 0.5, 10 * 0.25


def test_delays_walltimes_and_starts_do_not_follow_speeds():
    several = jobs(seconds=4.0, delay=[3.0, -1.0, -1.0], walltime=[np.inf, 5.0, np.inf], submit=[0.0, 3.0, 8.0])
    start, run = times(changing(SpeedProfile((1.0,), (0.5,))), several)
    assert start == pytest.approx([0.0, 3.0, 8.0], abs=1e-6)
    assert run == pytest.approx([3.0, 5.0, 8.0], abs=1e-6)


def test_a_pstate_and_a_share_multiply():
    """P1 has three quarters of the speed of P0; two jobs together need more than the bandwidth."""
    slow = SpeedProfile((0.0,), (0.5,))
    cluster = changing(slow, cores=(1000.0, [(2, 1.0, 100.0, 10.0)]))
    _, run = times(cluster, jobs(seconds=3.0, bandwidth=[8.0, 8.0]))
    assert run == pytest.approx([8.0, 8.0], abs=1e-6)  # 3 / (0.5 * 0.75)


def test_a_job_that_sends_computes_at_the_share_too():
    cluster = changing(SpeedProfile((1.0,), (0.25,)), None, network=Network(("1.0Gbps",), ("0us",), "1.0Gbps", "0us"))
    sends = replace(jobs(seconds=4.0, size=2), bytes=np.array([1e9]))
    _, run = times(cluster, sends, network=True)
    assert run == pytest.approx([15.0], abs=1e-6)  # 1 s at an eighth of the work a second, 14 s at half of that


def test_power_does_not_follow_speeds():
    fast, slow = (played(changing(one), jobs(seconds=4.0), "fcfs").simulation.tasks for one in (NEVER, HALF))
    assert fast["joules"] == pytest.approx([400.0])
    assert slow["joules"] == pytest.approx([800.0])


NEVER, HALF = SpeedProfile((1e6,), (0.5,)), SpeedProfile((0.0,), (0.5,))


def test_nothing_more_happens_where_all_jobs_stand_still():
    simulator = played(changing(SpeedProfile((1.0, 5.0), (0.0, 1.0))), jobs(seconds=4.0), "fcfs")
    assert simulator.unfinished == 1
    both = jobs(seconds=4.0, delay=[-1.0, 9.0], submit=[0.0, 0.0])
    simulator = played(changing(SpeedProfile((1.0, 5.0), (0.0, 1.0)), None), both, "fcfs")
    assert simulator.simulation.tasks["finish"] == pytest.approx([8.0, 9.0], abs=1e-6)


def test_a_change_ends_the_step_of_the_clock_on_an_idle_node_too():
    """A delay that has less than a nanosecond left is over then, as SimGrid's timers are."""
    waits = jobs(delay=[4.0])
    (end,) = played(changing(None, NEVER), waits, "fcfs").simulation.tasks["finish"]
    before = SpeedProfile((end - 5e-10,), (1.0,))
    assert played(changing(None, before), waits, "fcfs").simulation.tasks["finish"] == pytest.approx(
        [end - 5e-10], abs=1e-14
    )


def test_only_the_speeds_of_the_latest_date_count_as_just_changed():
    """How many rounds an actor yields that reads the energy then follows from it."""
    cluster = changing(SpeedProfile((1.0, 3.0), (0.5, 1.0)), SpeedProfile((1.0, 2.0), (0.5, 1.0)), None)
    speeds, found = new_speeds(cluster), []
    while speeds.changes["due"][0] < np.inf:
        change_due(speeds)
        found.append((speeds.changes["latest"][0], speeds.profiles["changed"].tolist()))
    assert found == [(1.0, [1, 1]), (2.0, [0, 1]), (3.0, [1, 0])]


@pytest.mark.parametrize("clock", ["textbook", "one-by-one"])
def test_other_clocks_refuse_changing_speeds(clock):
    with pytest.raises(OptionsError, match=f"speed_file: the clock '{clock}' follows none; use 'batsim'"):
        simulate(changing(HALF), jobs(), "fcfs", clock)


def test_episodes_side_by_side_follow_speeds_from_their_beginning():
    """Each episode begins at the first date again."""
    runs = Runs(Space(actions=("fcfs", "sjf"), observation="minimal"), changing(SpeedProfile((1.0,), (0.5,))), 2)
    work = jobs(seconds=[4.0, 4.0])
    for _ in range(2):
        for place in range(2):
            runs.load(place, runs.put(place, work), 2, 0.0, 0, work.limits())
        runs.begin(np.arange(2))
        while not runs.over.all():
            runs.step(np.zeros(2, np.int64))
        assert runs.now == pytest.approx([15.0, 15.0], abs=1e-5)  # 7 s and 8 s


# --- beside the server


def difference(seed, folder, network, seen):
    """The first job with other cores or times than on the server, which *seen* has, "" if there is none."""
    cluster, workload, pair = changing_world(seed, network)
    cluster, workload, content = write_world(cluster, workload, folder, network)
    simulator = played(cluster, workload, pair)
    seen.clear()
    _, ended = play_on_server(talk(cluster, pair, 3, {"w0": content["profiles"]}), folder)
    tasks = simulator.simulation.tasks
    for j, identifier in enumerate(workload.ids):
        if seen.get(identifier):
            mine = tasks[j]["start"], tasks[j]["finish"] - tasks[j]["start"] or SHORTEST_RUN
            if mine != seen[identifier]:
                return f"job {identifier} at {mine}, with the server at {seen[identifier]}"
    if not ended:
        left = len(workload) - len(seen)
        return "" if simulator.unfinished == left else f"{left} jobs are left on the server"
    return difference_from_server(simulator, workload, folder)


@pytest.fixture
def all_differences(monkeypatch, tmp_path):
    """Plays worlds; dates are compared to the last bit."""
    seen, close = {}, ServerSimulation.close

    def note(simulation, job):
        seen[job.identifier] = None if job.state == "REJECTED" else (job.start, job.run)
        close(simulation, job)

    monkeypatch.setattr(ServerSimulation, "close", note)
    return lambda seeds, network: {
        seed: found for seed in seeds if (found := difference(seed, tmp_path, network, seen))
    }


@pytest.mark.parametrize("network", [False, True], ids=["", "network"])
@pytest.mark.parametrize("seeds", [range(30), pytest.param(range(30, 1030), marks=pytest.mark.slow)], ids=str)
def test_worlds_with_changing_speeds_are_the_same_with_the_server(seeds, network, all_differences):
    assert all_differences(seeds, network) == {}
