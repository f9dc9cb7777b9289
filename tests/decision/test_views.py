"""What agents are shown of the published decision spaces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from small import jobs, platform, textbook

from hdeeprm_like.decision.job_actions import JobSlots
from hdeeprm_like.decision.observations.arrays import ViewOptions
from hdeeprm_like.decision.observations.view import KINDS, View
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.decision.window.arrays import NONE, WindowOptions
from hdeeprm_like.decision.window.window import JobWindow
from hdeeprm_like.engine.job_rows import Request
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import RUNNING, WAITING
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.loop import see
from hdeeprm_like.run.python_loop import Play


def cores(count, memory=0.0):
    """One node of that many cores of 1 GFLOP/s."""
    return platform((memory, [(count, 1.0, 100.0, 10.0)]))


def playing(platform, workload, kind, head=2, tail=0, step=1.0, machines=False, waits=0.0, raw=False, **view):
    """A play on the textbook's clock of an agent that waits *waits* s, with its observer."""
    state = State(platform, workload, whole=machines)
    window = JobWindow(state, WindowOptions(head=head, tail=tail, step=waits), machines, finds=True)
    observer = View(state, window, kind, ViewOptions(step=step, **view), raw)
    return Play(textbook(state, workload), DecisionSystem(state, JobSlots(state, window), observer, None, window))


def seen(play, *actions):
    """What an agent sees after these actions."""
    for action in actions:
        assert play.advance()
        play.act(action)
    assert play.advance()
    return play.observe()[0]


def figure_4_3(kind, times=1, **view):
    """The situation of 000's figure 4.3, on a cluster and with jobs so many *times* as wide.

    One job has run since 0, another came at 1, two more have just come at 2: the agent starts the first and waits.
    """
    submitted = jobs([0, 1, 2, 2], seconds=[4, 5, 4, 1], size=np.array([2, 1, 3, 1]) * times)
    play = playing(cores(3 * times), submitted, kind, horizon=5, backlog=5, **view)
    return seen(play, 0, 2)


def figure_4_5(times=1, **view):
    """The situation of 000's figure 4.5 likewise: two jobs have run since 0, four have just come at 3."""
    submitted = jobs([0, 0, 3, 3, 3, 3], seconds=[5, 6, 4, 2, 1, 1], size=np.array([1, 2, 1, 2, 1, 1]) * times)
    return seen(playing(cores(3 * times), submitted, "horizon", horizon=4, **view), 0, 0)


def test_the_compact_vectors_of_figure_4_3():
    cluster = [(2, 1), (2, 1), (0, 3), (0, 3), (0, 3)]
    window = [(1, 5, 1, 0, 0, 1, 6, 0, 1), (2, 4, 3, 1, 5, 1, 4, 0, 0)]
    assert figure_4_3("compact", raw=True).tolist() == [*sum(cluster, ()), *sum(window, ()), 1]


def test_the_thirty_two_numbers_of_figure_4_5():
    published = "8, 2, 1, 2, 2, 4, 0, 0, 3, 2, 1, 2, 3, 3, 0, 4, 3, 0, 3, 4, 1, 0, 0, 0, 0, 3, 2, 2, 1, 4, 0, 0"
    assert figure_4_5(raw=True).tolist() == [float(number) for number in published.split(", ")]


def test_the_image_of_figure_4_3():
    drawn = """
        11. 1.. 111 1
        11. 1.. 111 .
        ... 1.. 111 .
        ... 1.. 111 .
        ... 1.. ... .
    """
    assert rows(figure_4_3("image")) == [line.replace(" ", "") for line in drawn.split("\n")[1:-1]]


def rows(image):
    return ["".join("1" if cell else "." for cell in row) for row in image]


def test_memory_is_drawn_beside_the_cores_in_units_begun():
    submitted = jobs([0, 0, 0], seconds=[2, 1, 3], size=[1, 1, 2], memory=[30.0, 10.0, 25.0])
    play = playing(cores(2, memory=100.0), submitted, "image", horizon=3, backlog=4, memory_units=4)
    drawn = [
        # cluster, jobs 0 and 1, their memory, two columns of backlog
        "11 11 .. 11.. 11.. .... ..",  # 40 of 100 MB, requests 50
        "1. 11 .. 11.. 11.. .... ..",
        ".. 11 .. .... 11.. .... ..",
    ]
    assert rows(seen(play, 0, 0)) == [row.replace(" ", "") for row in drawn]


def test_the_backlog_is_drawn_column_by_column_until_it_is_full():
    def backlog(waiting):
        play = playing(cores(1), jobs(np.zeros(waiting), seconds=1), "image", head=1, horizon=2, backlog=3)
        return rows(seen(play)[:, 2:])

    assert backlog(1) == ["..", ".."]
    assert backlog(3) == ["1.", "1."]
    assert backlog(4) == backlog(9) == ["11", "1."]


def test_features_of_the_horizon_are_shares_and_times_are_logarithms():
    shown = figure_4_5()
    time, span, queue = np.log(7.0), np.log(1.0 + 30 * 86400.0), np.log(1001.0)  # 6 s is the longest request
    expected = [np.log(1 + 8 / 3) / time, np.log(3) / time, 1 / 3, 2 / 3, np.log(3) / queue, np.log(5) / queue]
    np.testing.assert_allclose(shown[:6], expected, rtol=1e-6)
    np.testing.assert_allclose(shown[9:12], [np.log(3) / time, 1 / 3, 2 / 3], rtol=1e-6)
    second = [np.log(4) / span, np.log(3) / time, 2 / 3, np.log(2) / queue, np.log(1 + 4 / 3) / span, 0.0, 0.0]
    np.testing.assert_allclose(shown[25:32], second, rtol=1e-6)


@pytest.mark.parametrize("times", [2, 7])
def test_a_larger_cluster_with_jobs_as_much_wider_looks_the_same(times):
    np.testing.assert_allclose(figure_4_5(times), figure_4_5(), rtol=1e-6)
    np.testing.assert_allclose(figure_4_3("compact", times), figure_4_3("compact"), rtol=1e-6)


def test_deep_backfilling_sees_the_time_left_on_each_core_and_both_ends_of_the_queue():
    submitted = jobs([0, 1, 2, 3], seconds=[10, 5, 8, 4], size=[3, 4, 2, 1])
    play = playing(cores(4), submitted, "backfilling", head=1, tail=1)
    shown = seen(play, 0, 2, 2)  # started at 0, the others come at 1, 2 and 3
    # at 3 the longest wait until now is that of the second job, 2 s
    np.testing.assert_allclose(shown, [0.7, 0.7, 0.7, 0.0, 1.0, 0.5, 1.0, 0.25, 0.4, 0.0], rtol=1e-6)


def test_machines_show_what_is_free_and_jobs_as_shares_of_the_largest():
    nodes = platform((100.0, [(4, 1.0, 100.0, 10.0)]), (50.0, [(2, 1.0, 100.0, 10.0)]), gpus=[0, 4])
    submitted = jobs([0, 0, 1], seconds=[9, 9, 3], size=[2, 1, 1], memory=[25.0, 10.0, 25.0], gpus=[0, 3, 1])
    play = playing(nodes, submitted, "machines", machines=True)
    shown = seen(play, 0, 2)  # the first job in slot 0 on node 0, then the next one on node 1, where GPUs are
    assert play.system.state.now == 1.0
    np.testing.assert_allclose(shown[:5], [0.25, 0.25, 0.25, np.log(4) / np.log(10), 0.0], rtol=1e-6)
    assert shown[5:10].tolist() == [0.0] * 5
    np.testing.assert_allclose(shown[10:], [0.5, 0.5, 0.0, 0.5, 0.8, 0.25], rtol=1e-6)


def test_machines_show_how_long_jobs_have_waited():
    # of one core the first job has nine seconds, the longest request; the others, of 3 s, have come at 1 and at 5
    play = playing(cores(1), jobs([0, 1, 5], seconds=[9, 3, 3]), "machines", machines=True)
    shown = seen(play, 0, 2, 2)  # it waits at 1 and at 5
    assert play.system.state.now == 9.0
    assert shown[3:10:5] == pytest.approx([np.log(4) / np.log(10)] * 2)
    assert shown[4:10:5] == pytest.approx([np.log(9) / np.log(10), np.log(5) / np.log(10)])


def test_each_job_gets_the_lowest_free_cores_of_its_node():
    play = playing(cores(6), jobs([0, 0, 0], seconds=[9, 9, 3], size=[1, 3, 2]), "machines", machines=True)
    seen(play, 0, 0)
    play.act(0)
    assert [play.system.state.cores_of(j).tolist() for j in range(3)] == [[0], [1, 2, 3], [4, 5]]


def test_the_free_memory_of_a_small_node_is_shown_as_its_share():
    play = playing(cores(2, memory=1.0), jobs([0, 0], seconds=[9, 3], memory=0.25), "machines", machines=True)
    assert seen(play, 0)[11] == 0.75


SHORT, DAY = 21600.0, 86400.0  # s in which short jobs, and all, count for less by a factor of e
OF_SHORT, OF_ALL = 400 * np.exp(-10 / SHORT) + 600, 10400 * np.exp(-10 / DAY) + 600  # core x s after ten seconds
NARROW, WIDE, SMALL = (5000, 2), (100, 4), (600, 1)  # requested s and cores, on four cores


def slot(job, free, wait=0.0):
    """What is seen of a job in a slot."""
    seconds, size = job
    return [seconds, size, max(free - size, 0), seconds * size, wait, wait / max(seconds, 10)]


@pytest.mark.parametrize(
    ("actions", "of_all", "slots"),
    [
        ((), [4, 2, 10400, 400 / SHORT, 10400 / DAY, 0, 0], [*slot(NARROW, 4), *slot(WIDE, 4)]),  # nothing runs
        ((0,), [2, 1, 400, 400 / SHORT, 10400 / DAY, 0, 5000], [*slot(WIDE, 2), *[0] * 6]),
        ((0, 2), [2, 2, 1000, OF_SHORT / SHORT, OF_ALL / DAY, 0, 4990], [*slot(WIDE, 2, 10), *slot(SMALL, 2)]),
        ((0, 2, 1), [1, 1, 400, OF_SHORT / SHORT, OF_ALL / DAY, 1, 600], [*slot(WIDE, 1, 10), *[0] * 6]),
    ],
    ids=["none runs", "the first runs", "at 10 s the third comes", "and runs"],
)
def test_the_demand_after_some_actions(actions, of_all, slots):
    requests, size = zip(NARROW, WIDE, SMALL, strict=True)
    play = playing(cores(4), jobs([0, 0, 10], seconds=requests, size=size), "demand", raw=True)
    assert seen(play, *actions) == pytest.approx([*of_all, *slots], rel=1e-6)


@pytest.mark.parametrize("kind", ["compact", "horizon"])
def test_a_job_cannot_start_where_memory_is_short(kind):
    submitted = jobs([0, 0, 0], seconds=9, memory=[80.0, 30.0, 20.0])
    play = playing(cores(4, memory=100.0), submitted, kind)
    shown = dict(zip(play.system.observer.names, seen(play, 0), strict=True))
    assert (shown["job 0 can start"], shown["job 1 can start"]) == (0.0, 1.0)


def test_a_job_past_its_requested_time_is_expected_to_end_within_a_step():
    submitted = jobs([0, 5], seconds=[20, 1], estimate=[2, 1], size=[3, 1])
    looks = {
        kind: seen(playing(cores(3), submitted, kind, horizon=3, step=4.0, raw=True), 0)
        for kind in ("compact", "horizon", "backfilling", "image")
    }
    assert looks["compact"][:6].tolist() == [3, 0, 0, 3, 0, 3]
    assert looks["horizon"][:15].tolist() == [0, 4, 3, 0, 0, 1, 0, 0, 3, 4, 3, 0, 8, 3, 0]
    assert looks["backfilling"][:3].tolist() == [4, 4, 4]
    assert rows(looks["image"][:, :3]) == ["111", "...", "..."]


def ends_of(state, step):
    """(end, cores) of the running jobs as an agent expects them, in order."""
    run = state.tables.jobs[state.tables.jobs["status"] == RUNNING]
    ends = run["start"] + run["requested_time"] - state.now
    ends = np.where(ends > 1e-7, ends, min([step, *ends[ends > 1e-7]]))
    return sorted(zip(ends.tolist(), run["size"].tolist(), strict=True))


def expected_cluster(kind, state, horizon, step):
    """The part of a raw observation on the running jobs, in words."""
    total, ends = state.platform.cores, ends_of(state, step)
    if kind == "backfilling":
        jobs, owners = state.tables.jobs, state.core_job
        left = {j: jobs["start"][j] + jobs["requested_time"][j] - state.now for j in owners}
        return [0.0 if j < 0 else left[j] if left[j] > 1e-7 else step for j in owners]
    if kind == "compact":
        used = [sum(size for end, size in ends if k == 0 or end > k * step + 1e-3 * step) for k in range(horizon)]
        return [figure for cores in used for figure in (cores, total - cores)]
    times = [0.0]
    for end, _ in ends:
        if end > times[-1] + 1e-7:
            times.append(end)
    while len(times) < horizon:
        times.append(times[-1] + step)
    used = [sum(size for end, size in ends if k == 0 or end > time + 1e-7) for k, time in enumerate(times[:horizon])]
    return [figure for k in range(horizon) for figure in (times[k], total - used[k], used[k])]


# many worlds, two seconds
@pytest.mark.more
@given(platforms, workloads(), st.integers(0, 2**32), st.sampled_from([0.0, 0.7]))
@settings(max_examples=60, deadline=None)
def test_raw_views_show_what_plain_python_finds(platform, workload, seed, waits):
    rng = np.random.default_rng(seed)
    for kind, begin in (("compact", 0), ("horizon", 6), ("backfilling", 0)):
        play = playing(platform, workload, kind, head=3, tail=2, waits=waits, horizon=6, step=2.0, raw=True)
        state, slots = play.system.state, play.system.window.arrays.slots
        while play.advance():
            shown, mask = play.observe()
            cluster = expected_cluster(kind, state, 6, 2.0)
            np.testing.assert_allclose(shown[begin : begin + len(cluster)], cluster, rtol=1e-5, atol=1e-5)
            if kind != "backfilling":
                width = len(shown[begin + len(cluster) :]) // 5
                features, held = shown[begin + len(cluster) :][: 5 * width].reshape(5, width), slots != NONE
                assert features[:, -1].tolist() == mask[:5].tolist()
                requested = state.tables.jobs["requested_time"][slots[held]]
                assert not features[~held].any()
                assert features[held, 1].tolist() == requested.astype(np.float32).tolist()
                told = dict(zip(play.system.observer.names, shown, strict=True))
                assert told["backlog"] == max((state.tables.jobs["status"] == WAITING).sum() - 5, 0)
            assert all((slot == NONE) == (len(state.waiting) <= i) for i, slot in enumerate(slots))
            play.act(rng.choice(np.flatnonzero(mask)))


# takes 1 s
@pytest.mark.more
@given(platforms, workloads(), st.integers(0, 2**32), st.sampled_from(KINDS))
@settings(max_examples=100, deadline=None)
def test_every_view_lies_between_zero_and_one_whatever_is_done(platform, workload, seed, kind):
    rng = np.random.default_rng(seed)
    units, tail = int(rng.integers(3)), 0 if kind == "machines" else int(rng.integers(3))
    play = playing(platform, workload, kind, 3, tail, machines=kind == "machines", memory_units=units, horizon=4)
    observer = play.system.observer
    assert len(observer.names) == len(set(observer.names)) == np.prod(observer.shape)
    while play.advance():
        shown, mask = play.observe()
        assert shown.shape == observer.shape
        assert shown.dtype == np.float32
        assert shown.min() >= 0.0
        assert shown.max() <= 1.0
        play.act(rng.choice(np.flatnonzero(mask)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_in_compiled_code_shows_what_its_observer_does(kind):
    play = playing(cores(3), jobs([0, 0, 1], seconds=[9, 4, 5]), kind, horizon=4)
    play.advance()
    see(play.run)
    assert play.run.observation.tolist() == play.observe()[0].ravel().tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_jobs_that_become_known_on_the_way_are_seen_alike(kind):
    submitted = jobs([0, 0, 1, 1, 1, 2], seconds=[5, 9, 3, 2, 4, 1], size=[2, 1, 1, 2, 1, 1], memory=10.0)

    def observations(known):
        state = State(cores(3, memory=100.0), submitted if known else None, limits=submitted.limits())
        window = JobWindow(state, WindowOptions(head=2), kind == "machines", finds=True)
        observer = View(state, window, kind, ViewOptions(horizon=4, memory_units=3))
        system = DecisionSystem(state, JobSlots(state, window), observer, None, window)
        for now, ended, count, action in ((0.0, [], 2, 0), (1.0, [], 3, 0), (2.0, [0], 1, 2)):
            for _ in range(0 if known else count):
                j = state.known
                figures = (submitted.requested_time[j], submitted.requested_ops[j], submitted.memory[j], 0.0)
                state.append(Request(submitted.submit[j], int(submitted.size[j]), *figures))
            system.receive(Instant(now, ended, count, False))
            yield system.observe()[0].tolist()
            system.act(action)

    assert list(observations(known=False)) == list(observations(known=True))


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("compct", {}, "did you mean 'compact'"),
        ("image", {"horizon": 0}, "0 steps"),
        ("image", {"step": -1.0}, "a time in s"),
        ("minimal", {"queue_sensitivity": 0.0}, "positive share"),
        ("horizon", {}, "finds=True"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused(kind, options, message):
    state = State(cores(2), jobs())
    with pytest.raises(OptionsError, match=message):
        View(state, JobWindow(state, WindowOptions(head=2)), kind, ViewOptions(**options))
