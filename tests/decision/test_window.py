"""The window of the queue that an agent sees, and what it can choose there."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_clusters import cluster, jobs
from small import partitions_of, scheduled

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.job_actions import JobSlots
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.decision.rewards import OBJECTIVES, Reward
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.decision.window.arrays import NONE, WindowOptions
from hdeeprm_like.decision.window.statistics import arrive, copy_ends
from hdeeprm_like.decision.window.window import JobWindow, fill_slots
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.job_lists import JobLists, copy_jobs
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import RUNNING, WAITING
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Simulator

THREE = ((0, 3, 4.0, 80.0),)  # three processors as in the figures of 000


def played(workload, choose, platform=None, clock="textbook", objective="window_slowdown", reward="waits", **window):
    """Play a workload with a function of the play that chooses actions; return the play."""
    platform = platform or cluster(THREE)
    state = State(platform, workload, log=False, whole=window.get("machines", False))
    machines = window.pop("machines", False)
    rows = JobWindow(state, WindowOptions(**window), machines, finds=True)
    actions = JobSlots(state, rows, waiting=True)
    system = DecisionSystem(state, actions, None, Reward(OBJECTIVES[objective], reward), rows)
    play = Play(Simulator(state, workload, clock), system)
    while play.advance():
        play.act(choose(play))
    return play


def first_legal(play):
    """Start the first job that fits, else wait."""
    return int(np.argmax(play.observe()[1]))


def crowd(seed, count=40):
    """Jobs that crowd three cores."""
    rng = np.random.default_rng(seed)
    return jobs(np.sort(rng.integers(0, 60, count)), rng.integers(1, 9, count), size=rng.integers(1, 4, count))


def starts(play):
    return play.system.state.tables.jobs["start"].tolist()


def test_the_example_of_figure_4_1_is_backfilled_by_whoever_starts_the_first_job_that_fits():
    # seven jobs on three processors; first come first served starts the last one at 9, backfilling at 2
    workload = jobs([0, 0, 0, 0, 0, 0, 0], [2, 3, 4, 2, 1, 2, 1], size=[2, 1, 2, 2, 3, 2, 1])
    play = played(workload, first_legal, head=7)
    assert sorted(starts(play))[0] == 0.0
    assert play.simulator.unfinished == 0


class Jobs(Bundle):
    jobs: np.ndarray


@compiled
def listed(q: JobLists, v: int, out: Jobs) -> int:
    return copy_jobs(q, v, out.jobs)


@pytest.mark.parametrize(("count", "slots"), [(7, [0, 1, 6, 5, 4]), (3, [0, 1, 2, NONE, NONE])])
def test_a_split_window_shows_the_head_in_order_and_the_tail_from_its_end_and_a_short_queue_once(count, slots):
    state = State(cluster(THREE), jobs(np.zeros(count), 10.0, size=3), log=False)
    window = JobWindow(state, WindowOptions(head=2, tail=3))
    state.receive(Instant(0.0, [], count, True))
    arrive(state.tables, window.arrays)
    fill_slots(state.tables, window.arrays)
    assert window.arrays.slots.tolist() == slots


def test_jobs_note_what_they_find_when_they_are_submitted():
    workload = jobs([0, 0, 1, 1], [3, 5, 4, 2], size=[2, 1, 3, 1], gflops=4.0)
    found = []

    def choose(play):
        found.append(play.system.window.arrays.found[: play.system.window.arrays.params["submitted"][0]].copy())
        return 2 if len(found) == 2 else first_legal(play)  # one job starts, then the agent waits

    played(workload, choose, head=2)
    # job 0 finds nothing; job 1 finds job 0 in the queue (2 cores x 3 s) and three free cores
    assert found[0].tolist() == [[0, 0, 3, 0, 0], [1, 6, 3, 0, 0]]
    # one second later job 0 has 2 cores x 2 s to run, job 1 waits (1 x 5), one core is free
    later = next(rows for rows in found if len(rows) == 4)
    assert later[2].tolist() == [1, 5, 1, 4, 0]
    assert later[3].tolist() == [2, 5 + 12, 1, 4, 0]


@pytest.mark.parametrize(("opens", "step"), [("waiting", 0.0), ("fitting", 0.0), ("fitting", 1.0), ("ticks", 1.0)])
@pytest.mark.parametrize("clock", ["textbook", "batsim"])
def test_whoever_starts_what_fits_leaves_no_job_behind(opens, step, clock):
    play = played(crowd(3), first_legal, clock=clock, head=5, tail=2, opens=opens, step=step)
    assert play.simulator.unfinished == 0


@pytest.mark.parametrize(
    ("workload", "opens", "times"),
    [
        (jobs([0, 4], [2, 1], size=3), "ticks", [0, 0, 1, 2, 3, 4, 4]),  # also when nothing waits
        (jobs([0, 1, 4], [3, 2, 1], size=3), "fitting", [0, 3, 5]),  # not otherwise
    ],
)
def test_an_agent_decides_at_every_step_or_when_a_job_fits(workload, opens, times):
    assert played(workload, first_legal, head=2, opens=opens, step=1.0).episode.times.tolist() == times


def test_waiting_lasts_a_step_where_there_is_one_and_until_something_happens_where_there_is_none():
    asked = []

    def wait_thrice(play):
        asked.append(play.system.state.now)
        return 1 if len(asked) <= 3 else 0

    played(jobs([0, 7], [3, 1]), wait_thrice, head=1, opens="fitting", step=1.0)
    assert asked[:4] == [0, 1, 2, 3]
    asked.clear()
    played(jobs([0, 7], [3, 1]), wait_thrice, head=1)
    assert asked[:2] == [0, 7]


def test_waiting_is_not_legal_when_nothing_else_can_ever_happen():
    play = played(jobs([0], [3]), first_legal, head=1)
    assert play.episode.masks.tolist() == [[True, False]]


def test_an_illegal_choice_counts_as_waiting():
    play = played(jobs([0, 2], [3, 1]), lambda play: 1 if play.system.state.now == 0.0 else 0, head=2)
    assert starts(play) == [2.0, 2.0]


def test_a_mask_names_the_jobs_that_fit_now():
    masks = []

    def choose(play):
        masks.append(play.observe()[1].tolist())
        return first_legal(play)

    played(jobs([0, 0, 0], [3, 3, 3], size=[2, 2, 1]), choose, head=3)
    assert masks[0] == [True, True, True, False]  # nothing runs and nothing will come: waiting would never end
    assert masks[1] == [False, True, False, True]


def test_memory_of_the_nodes_counts_for_what_fits():
    platform = cluster(((0, 2, 4.0, 80.0), (1, 2, 4.0, 80.0)), memory=(8000.0, 8000.0))
    workload = jobs([0, 0], [5, 5], size=[2, 2], memory=[8000.0, 1.0])
    play = played(workload, first_legal, platform=platform, head=2)
    assert starts(play) == [0.0, 5.0]  # the first takes a core and all memory of each node
    all_cores = jobs([0, 0], [5, 5], size=[4, 1], memory=1.0)
    assert starts(played(all_cores, first_legal, platform=platform, head=2)) == [0.0, 5.0]


def test_a_job_is_started_whole_on_the_node_that_is_chosen():
    platform = cluster(((0, 2, 4.0, 80.0), (1, 1, 4.0, 80.0), (1, 3, 4.0, 80.0)), memory=(8000.0, 8000.0))
    workload = jobs([0, 0, 0], [5, 5, 5], size=[3, 1, 2])
    taken = []

    def choose(play):
        legal = np.flatnonzero(play.observe()[1])
        taken.append(legal.tolist())
        return int(legal[0])

    play = played(workload, choose, platform=platform, head=3, machines=True, opens="fitting")
    state = play.system.state
    assert taken[0] == [1, 2, 3, 4, 5]  # jobs 1 and 2 on node 0, all three on node 1
    assert state.cores_of(1).tolist() == [0]
    assert starts(play) == [0.0, 0.0, 5.0]
    assert state.cores_of(0).tolist() == [2, 3, 4]
    assert not state.tables.loads["picked"].any()  # nothing is left of a choice


def test_a_job_on_a_chosen_node_of_a_partition_takes_nothing_of_the_node_chosen_before():
    platform = cluster(((0, 2, 4.0, 80.0), (1, 2, 4.0, 80.0)), memory=(8000.0, 8000.0))
    platform = replace(platform, partitions=partitions_of({"all": [True, True]}))
    play = played(jobs([0, 0], [5, 5], size=[1, 2]), first_legal, platform=platform, head=2, machines=True)
    assert [play.system.state.cores_of(j).tolist() for j in range(2)] == [[0], [2, 3]]


def test_a_job_that_no_node_can_take_whole_is_rejected():
    platform = cluster(((0, 2, 4.0, 80.0), (1, 2, 4.0, 80.0)), memory=(8000.0, 8000.0))
    play = played(jobs([0, 0], [5, 5], size=[3, 2]), first_legal, platform=platform, head=2, machines=True)
    assert play.system.state.tables.clock["rejected"][0] == 1
    assert play.simulator.unfinished == 0


# takes 1 s
@pytest.mark.more
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_window_agrees_with_the_tables_whatever_is_chosen(data):
    count = data.draw(st.integers(1, 25))
    draw = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    workload = jobs(
        np.sort(draw.integers(0, 30, count)),
        draw.integers(1, 9, count),
        size=draw.integers(1, 4, count),
        ran=draw.uniform(0.3, 1.5, count),
    )

    def choose(play):
        t, w = play.system.state.tables, play.system.window.arrays
        everything = Jobs(np.zeros(count, np.int32))
        queue = everything.jobs[: listed(t.waiting, w.params["line"][0], everything)].tolist()
        assert queue == np.flatnonzero(t.jobs["status"] == WAITING).tolist()
        assert (len(queue), w.params["running"][0]) == (w.params["queue"][0], t.clock["running"][0])
        running = w.running[: copy_ends(t, w, np.inf)]
        assert sorted(running.tolist()) == np.flatnonzero(t.jobs["status"] == RUNNING).tolist()
        ends = t.jobs["start"][running] + t.jobs["requested_time"][running]
        assert ends.tolist() == sorted(ends.tolist()) == w.ends[: len(running)].tolist()
        asked = t.jobs["requested_time"][[*queue, *running.tolist()]]
        assert w.params["urgency"][0] == pytest.approx(np.sum(1.0 / asked))
        work = np.sum(t.jobs["size"][queue] * t.jobs["requested_time"][queue])
        assert w.params["queued_work"][0] == pytest.approx(work)
        return int(draw.choice(np.flatnonzero(play.observe()[1])))

    clock = data.draw(st.sampled_from(["textbook", "batsim"]))
    opens = data.draw(st.sampled_from(["waiting", "fitting"]))
    play = played(workload, choose, clock=clock, head=4, tail=data.draw(st.integers(0, 2)), opens=opens)
    assert play.simulator.unfinished == 0


@given(st.integers(0, 2**32), st.sampled_from(["textbook", "batsim"]))
@settings(max_examples=20, deadline=None)
def test_sums_over_the_queue_are_the_same_without_lists_of_its_jobs(seed, clock):
    draw = np.random.default_rng(seed)
    workload = jobs(
        np.sort(draw.integers(0, 30, 15)),
        draw.integers(1, 9, 15),
        size=draw.integers(1, 4, 15),
        ran=draw.uniform(0.3, 1.5, 15),
    )
    policies = PolicyActions((("shortest", "high_gflops"), ("first", "high_gflops")), void=True)

    def sums(lists):
        state = State(cluster(THREE), workload, log=False)
        window, chosen, found = JobWindow(state, lists=lists), np.random.default_rng(seed), []
        system = DecisionSystem(state, policies, None, Reward(OBJECTIVES["avg_job_slowdown"], "waits"), window)
        play = Play(Simulator(state, workload, clock), system)
        while play.advance():
            params = window.arrays.params[0]
            kept = ("queue", "running", "started", "urgency", "queued_work", "sum_of_submissions", "waited")
            found.append([params[name] for name in kept])
            play.act(int(chosen.choice(np.flatnonzero(play.observe()[1]))))
        return found, play.episode.rewards.tolist()

    assert sums(True) == sums(False)


def test_a_time_step_of_discounted_reward_counts_gamma_times_the_one_before():
    # one job of 4 s waits for three steps while another fills the machine: three steps of -1/4
    workload = jobs([0, 0], [3, 4], size=3)
    play = played(workload, first_legal, head=2, opens="fitting", step=1.0, reward="discounted")
    assert play.episode.rewards == pytest.approx([-0.25 * (1 + 0.99 + 0.99**2), 0.0])


def test_the_reward_of_deep_backfilling_is_equation_2_and_zero_for_a_job_that_is_started():
    weights = {OBJECTIVES[name]: 1 / 3 for name in ("unused_cores", "queue_length", "queue_wait")}
    workload = jobs([0, 1, 2], [9, 5, 5], size=[2, 2, 2])
    state = State(cluster(THREE), workload, log=False)
    window = JobWindow(state, WindowOptions(head=3))
    system = DecisionSystem(state, JobSlots(state, window), None, Reward(weights, "waits"), window)
    play = Play(Simulator(state, workload, "textbook"), system)
    while play.advance():
        play.act(first_legal(play))
    # at 1 s one of three cores is free, one job waits, the most ever, for no time at all;
    # at 2 s two wait, the most ever, for 1 s together, the most ever; at 9 s two waited 8 + 7 s before one started
    expected = [0.0, -1 / 3 * (1 / 3 + 1.0), -1 / 3 * (1 / 3 + 1.0 + 1.0), 0.0, -1 / 3 * (1 / 3 + 1 / 2 + 7 / 15), 0.0]
    assert play.episode.times.tolist() == [0, 1, 2, 9, 9, 14]
    assert play.episode.rewards == pytest.approx(expected)


@pytest.mark.parametrize("order", ["sjf", "smallest"])
def test_an_inspector_that_agrees_with_all_makes_the_schedule_of_the_heuristic(order):
    workload = crowd(4)
    alone = scheduled(cluster(THREE), workload, PolicyActions([baseline(order)]), "textbook")
    play = played(workload, first_legal, head=1, order=order, opens="fitting")
    assert starts(play) == alone.state.tables.jobs["start"].tolist()
    waits = iter([1, 1, 1])  # three refusals: the job stays the next one until something else happens
    play = played(workload, lambda play: next(waits, 0), head=1, order=order, opens="fitting")
    assert starts(play) != alone.state.tables.jobs["start"].tolist()
    assert play.simulator.unfinished == 0


@pytest.mark.parametrize("ends", [{"placed": 9}, {"until": 30.0}, {}])
def test_the_reward_at_the_end_is_there_too_where_a_run_ends_early(ends):
    workload = crowd(5, 20)
    last, step_by_step = (
        played(workload, first_legal, objective="bounded_slowdown", reward=reward, head=2, **ends).episode.rewards
        for reward in ("end", "change")
    )
    assert last[-1] < -1.0
    assert not np.any(last[:-1])
    assert last[-1] == pytest.approx(sum(step_by_step) - 1.0)  # the slowdown that the first job begins with


@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({"opens": "fittin"}, {}),
        ({"order": "wfp3"}, {}),
        ({"order": "oracle"}, {}),
        ({"head": -1}, {}),
        ({"opens": "ticks", "step": 0.0}, {}),
        ({"tail": 1}, {"machines": True}),
        ({}, {"lists": False}),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(options, how):
    state = State(cluster(), jobs([0.0], [1.0]))
    with pytest.raises(OptionsError):
        JobWindow(state, WindowOptions(**{"head": 2} | options), **how)


@pytest.mark.parametrize("step", [1 / 3, 1 / 7, 0.1])
@pytest.mark.parametrize("clock", ["textbook", "batsim"])
def test_steps_that_are_no_whole_microseconds_are_kept(step, clock):
    waits = iter([1, 1, 1])
    play = played(jobs([0, 5], [1, 1]), lambda play: next(waits, 0), clock=clock, head=1, opens="fitting", step=step)
    assert play.episode.times[:4] == pytest.approx([0, step, 2 * step, 3 * step], abs=4e-6)
    assert play.simulator.unfinished == 0


def test_waits_grow_between_instants_and_their_integral_knows():
    # three jobs one after the other: until 10 s two wait, until 20 s one that has waited 10 s while another had
    workload = jobs([0, 0, 0], 10.0, size=3)
    play = played(workload, first_legal, head=3, objective="avg_wait", reward="integral", opens="fitting")
    assert play.episode.rewards == pytest.approx([-(2 * 50 / 3), -(10 * 10 + 10 * 10 + 50) / 3, -(10 + 20) / 3 * 10])


@pytest.mark.parametrize(
    "name", ["window_slowdown", "queue_wait", "avg_wait", "bounded_slowdown", "window_execution_slowdown"]
)
def test_objectives_of_the_window_cannot_be_had_of_a_state_alone(name):
    with pytest.raises(OptionsError, match="needs the window"):
        OBJECTIVES[name](State(cluster(), jobs([0.0], [1.0])))


@pytest.mark.parametrize("wrong", [{"opens": "ticks", "step": 1.0}, {"step": 1.0}, {"opens": "fitting"}])
def test_policies_are_applied_at_events_only(wrong):
    with pytest.raises(OptionsError):
        Space(**wrong).sample(cluster())
