"""The state follows what Slurm shows, and gives the order that a simulation of the same jobs gives at each instant."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from small import jobs

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import COMPLETED, RUNNING
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.slurm.follow import Follower
from hdeeprm_like.slurm.shown import OVER, RUNS, WAITS, Job, Node

NAN = math.nan
T = 1_700_000_000.0  # s since 1970


def job(number, phase=WAITS, *, cpus=1, limit=60.0, submit=0.0, eligible=None, start=NAN, end=NAN, **other):
    """A job with times in s after T."""
    told = {"ran": end > start, "user": "ada", "partitions": ("normal",), "priority": 1, "reason": ""} | other
    eligible = submit if eligible is None else eligible
    times = {"submit": T + submit, "eligible": T + eligible, "start": T + start, "end": T + end}
    return Job(number=number, phase=phase, cpus=cpus, limit=limit, **times, **told)


def nodes(cpus=8, **other):
    return {"n1": Node(cpus, True, ("normal",))} | other


class Shown:
    """A machine room that is looked at again and again."""

    def __init__(self, policy="sjf", **options):
        self.follower = Follower(baseline(policy), **options)

    def look(self, now, *jobs, nodes=None):
        return self.follower.look(T + now, jobs, nodes or globals()["nodes"]())

    @property
    def state(self):
        return self.follower.system.state

    @property
    def order(self):
        return self.follower.rank()[0]

    @property
    def run_times(self):
        """s that the jobs ran that have ended, in the order of submission."""
        jobs = self.state.tables.jobs[: self.state.known]
        over = jobs[jobs["status"] == COMPLETED]
        return (over["finish"] - over["start"]).tolist()

    @property
    def counts(self):
        clock = self.state.tables.clock[0]
        return int(clock["waiting"]), int(clock["running"]), int(clock["free_cores"])


def test_jobs_come_start_and_end_at_the_times_that_slurm_tells():
    room = Shown()
    room.look(5, job(1, RUNS, cpus=6, start=1), job(2, cpus=4, limit=30, submit=2), job(3, cpus=4, limit=20, submit=3))
    assert room.order == [3, 2]
    assert room.counts == (2, 1, 2)
    found = room.look(9, job(1, OVER, cpus=6, start=1, end=7), job(3, RUNS, cpus=4, limit=20, submit=3, start=8))
    assert [one.number for one in found.started] == [3]
    assert [one.number for one in found.over] == [2, 1]  # one is cancelled in between
    assert room.counts == (0, 1, 4)
    jobs = room.state.tables.jobs  # the first submission is at 0
    assert (jobs["start"][0], jobs["finish"][0], jobs["start"][2]) == (1.0, 7.0, 8.0)
    assert room.state.now == 9.0


def test_a_job_that_is_held_waits_for_others_or_begins_later_is_not_ranked():
    room = Shown()
    waiting = [job(1), job(2, eligible=NAN), job(3, eligible=1000), job(4, priority=0)]
    room.look(5, *waiting)
    assert room.order == [1]
    room.look(6, job(1, priority=0), job(2, eligible=6), job(3, eligible=1000), job(4))
    assert sorted(room.order) == [2, 4]
    assert room.counts == (2, 0, 8)
    room.look(7, job(1), job(2, eligible=6), job(3, eligible=1000), job(4))
    assert sorted(room.order) == [1, 2, 4]


def test_a_job_whose_request_changes_is_ranked_by_the_new_one():
    room = Shown()
    room.look(5, job(1, limit=10), job(2, limit=20))
    assert room.order == [1, 2]
    room.look(6, job(1, limit=30), job(2, limit=20))
    assert room.order == [2, 1]


def test_a_job_that_is_requeued_waits_again_and_may_run_again():
    room = Shown()
    room.look(5, job(1, RUNS, start=1))
    room.look(9, job(1, eligible=8))
    assert room.order == [1]
    assert room.counts == (1, 0, 8)
    room.look(20, job(1, RUNS, eligible=8, start=15))
    room.look(30, job(1, RUNS, eligible=8, start=25))  # requeued and started between two looks
    assert room.counts == (0, 1, 7)
    assert (room.state.tables.jobs["status"][: room.state.known] == COMPLETED).sum() == 2


def test_a_number_that_stands_for_another_job_after_slurm_lost_its_state_is_told():
    room = Shown()
    room.look(5, job(1), job(2, RUNS, start=1))
    found = room.look(50, job(1, submit=40), job(2, submit=41))
    assert found.anew == {1, 2}
    assert sorted(room.order) == [1, 2]


def test_jobs_that_come_and_end_between_two_looks_are_history():
    room = Shown()
    room.look(5, job(1, limit=600))
    ended = [job(n, OVER, limit=600, submit=6, start=6, end=6 + n) for n in (2, 3)]
    room.look(20, job(1, limit=600), *ended)
    assert room.run_times == [2.0, 3.0]
    room.look(30, job(1, limit=600), *ended)  # they are shown for some time, but happened once
    assert room.run_times == [2.0, 3.0]


def test_a_machine_that_changes_keeps_what_is_known_of_the_past():
    room = Shown()
    room.look(20, job(1, limit=600), *(job(n, OVER, limit=600, submit=6, start=6, end=6 + n) for n in (2, 3)))
    room.look(20, job(1, limit=600), job(4, RUNS, limit=600, start=2))
    found = room.look(30, job(1, limit=600), job(4, RUNS, limit=600, start=2), nodes=nodes(16))
    assert found.started == []
    assert room.run_times == [2.0, 3.0]
    assert room.counts == (1, 1, 15)
    room.look(40, job(1, limit=600), job(4, OVER, limit=600, start=2, end=39), nodes=nodes(16))
    assert sorted(room.run_times) == [2.0, 3.0, 37.0]


def test_cpus_of_nodes_that_are_down_are_not_free():
    room = Shown()
    room.look(5, job(1, RUNS, cpus=2, start=1), nodes=nodes(n2=Node(4, False, ("normal",))))
    assert room.counts == (0, 1, 6)
    assert room.state.platform.cores == 12
    room.look(6, job(1, RUNS, cpus=2, start=1), nodes=nodes(n2=Node(4, True, ("normal",))))
    assert room.counts == (0, 1, 10)


def test_only_the_jobs_and_nodes_of_the_wanted_partitions_count():
    room = Shown(partitions=("debug",))
    jobs = job(1), job(2, partitions=("debug",)), job(3, partitions=("normal", "debug"))
    room.look(5, *jobs, nodes=nodes(n2=Node(4, True, ("debug",))))
    assert room.order == [2, 3]
    assert room.state.platform.cores == 4


def test_what_does_not_fit_the_books_does_no_harm():
    room = Shown()
    room.look(5, job(1, cpus=900), job(2, RUNS, cpus=7, start=1), job(3, RUNS, cpus=7, start=2))
    assert room.order == []  # no machine could hold it
    assert room.counts == (0, 2, -6)  # Slurm may oversubscribe
    room.look(6, job(1, RUNS, cpus=900, start=5), job(2, RUNS, cpus=7, start=900), job(4, submit=-5, eligible=2))
    assert room.order == [4]
    room.look(7, nodes=nodes())
    assert room.counts == (0, 0, 8)


def test_whatever_is_shown_the_state_has_the_jobs_that_wait_and_run_at_the_end():
    """Jobs that change their phase, times and requests at random, come back and vanish, as no real Slurm would do."""
    draw = random.Random(4)
    room = Shown()

    def time_near(now):
        return draw.choice((NAN, now - draw.randrange(50), now - 1.0, now, now + draw.randrange(30)))

    for now in range(10, 1500, 10):
        jobs = []
        for number in draw.sample(range(1, 30), draw.randrange(25)):
            phase = draw.choice((WAITS, WAITS, RUNS, OVER))
            times = {"start": time_near(now), "end": time_near(now), "eligible": time_near(now)}
            request = {"cpus": 1 + number % 9, "limit": draw.choice((60.0, 120.0))}
            jobs.append(job(number, phase, submit=draw.choice((0, 5, now - 5)), **times, **request))
        room.look(now, *jobs, nodes=nodes(draw.choice((8, 8, 8, 9))))
        wait = {one.number for one in jobs if one.phase == WAITS and one.eligible <= T + now}
        machine = room.state.platform.cores
        fit = {one.number for one in jobs if one.cpus <= machine}
        assert set(room.order) == wait & fit
        waiting, running, _ = room.counts
        assert waiting == len(wait & fit)
        assert running >= sum(one.phase == RUNS for one in jobs if one.number in fit)
    room.look(4000)
    assert room.counts == (0, 0, room.state.platform.cores)


# another order
@pytest.mark.lane(slow=r"(?!(zoo:balanced)$).*")
@pytest.mark.parametrize("policy", ["sjf", "multifactor", "zoo:balanced"])
def test_it_gives_the_order_that_the_simulator_gives_at_each_instant(policy):
    """The fourth driver: what a simulation does is shown as a Slurm would show it, and ranked by who follows that."""
    workload = random_jobs(90)
    actions = PolicyActions([baseline(policy)])
    state = State(pool(16), workload, needs=actions.needs, named=False, log=False)
    play = Play(Simulator(state, workload, "textbook"), DecisionSystem(state, actions))
    follower = Follower(baseline(policy))
    compared = 0
    while play.advance():
        follower.look(T + state.now, as_slurm_shows(state), nodes(16))
        assert follower.system.state.free_cores == state.free_cores
        if not (workload.size[state.waiting] <= state.free_cores).any():
            play.act(0)  # where no job fits the queue need not be sorted, and no estimate is made
            continue
        numbers, ranked = follower.rank()
        order = [number - 1 for number in numbers]
        play.act(0)
        started = state.started_now.tolist()
        queue, keys = sorted_queue(state)
        assert [row for row in order if row not in started] == queue
        of_queue = [n for n, row in enumerate(order) if row not in started]
        np.testing.assert_allclose(ranked.keys[of_queue], keys, rtol=1e-9, atol=1e-9)
        if policy != "zoo:balanced":  # which keeps cores free, and backfills
            assert order[: len(started)] == started
        compared += len(queue) > 2
    assert compared > 40


def random_jobs(count):
    draw = np.random.default_rng(2)
    limits = draw.integers(1, 100, count) * 60.0
    submit = np.cumsum(draw.integers(0, 120, count)).astype(np.float64)
    size = draw.integers(1, 13, count)
    delay = np.ceil(limits * draw.uniform(0.05, 1.0, count))
    made = jobs(submit=submit, size=size, estimate=limits, delay=delay, walltime=limits)
    return replace(made, capacity=16, user=draw.integers(1, 5, count))


def as_slurm_shows(state):
    """The jobs of a simulation that have come, as Slurm would show them before anything is decided now."""
    rows = state.tables.jobs[: int(state.tables.clock["submitted"][0])]
    phases = {RUNNING: RUNS, COMPLETED: OVER}
    return [
        job(
            n + 1,
            phases.get(int(row["status"]), WAITS),
            cpus=int(row["size"]),
            limit=float(row["requested_time"]),
            submit=float(row["submit"]),
            start=float(row["start"]),
            end=float(row["finish"]),
            user=f"user {row['user']}",
        )
        for n, row in enumerate(rows)
    ]


def sorted_queue(state):
    """The rows of the waiting jobs and their keys, as the list of the policy has them after a decision."""
    lists, found = state.tables.waiting, []
    for place in range(int(lists.lists["blocks"][0])):
        block = lists.blocks[0, place]
        found += lists.jobs[block["begin"] : block["begin"] + block["size"]].tolist()
    return found, lists.key_of[0, found]
