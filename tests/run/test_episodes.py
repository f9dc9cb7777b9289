"""Episodes to learn from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper_clusters import cluster, jobs

from hdeeprm_like.decision.presets import Space
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.run.episodes import Fragments, Plays, demand, fragment, makespan, mean_slowdown, stretched


def numbered(count):
    return jobs(np.arange(100.0, 100.0 + count), 5.0)


def test_a_fragment_is_some_jobs_in_a_row_on_a_clock_of_their_own():
    part = fragment(numbered(10), 3, 4)
    assert part.ids == ("w0!3", "w0!4", "w0!5", "w0!6")
    assert part.submit.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert len(part) == 4


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_no_job_is_learned_from_and_held_out_or_chosen_by(size, extra, seed):
    fragments = Fragments(numbered(5 * size + extra), size, seed)
    held_out = {name for number in range(fragments.stretches) for name in fragments.held_out(number).ids}
    chosen_by = {name for number in range(fragments.stretches) for name in fragments.validation(number).ids}
    assert len(held_out) == len(chosen_by) == fragments.stretches * size
    assert held_out.isdisjoint(chosen_by)
    for number in range(20):
        learned = fragments(number)
        assert len(learned) == size
        assert (held_out | chosen_by).isdisjoint(learned.ids)


def test_fragments_are_the_same_for_the_same_seed_and_number():
    one, other = Fragments(numbered(500), 10, 7), Fragments(numbered(500), 10, 7)
    assert [one(n).ids for n in (4, 2)] == [other(n).ids for n in (4, 2)]
    assert one(4).ids != one(2).ids


def test_fragments_that_do_not_fit_are_refused():
    with pytest.raises(OptionsError, match="fragments of 100 jobs do not fit into 400 jobs"):
        Fragments(numbered(400), 100)


def test_episodes_may_come_in_rows_with_the_same_jobs():
    workload = jobs(np.arange(500.0), np.arange(1.0, 501.0))
    fragments = Fragments(workload, 10)
    plays = Plays(cluster(), fragments, Space(observation="minimal"), alike=3)
    first = [float(plays(number).system.state.tables.jobs["requested_time"][0]) for number in range(6)]
    assert first[0] == first[1] == first[2] == fragments(0).requested_time[0]
    assert first[3] == first[4] == first[5] == fragments(1).requested_time[0]
    assert first[0] != first[3]


def test_an_episode_is_measured_by_its_slowdown_and_makespan():
    workload = jobs([0.0, 0.0], 10.0, size=4)
    play = Plays(cluster(((0, 4, 4.0, 80.0),)), lambda n: workload, Space())(0)
    while play.advance():
        play.act(0)
    assert makespan(play.run) == pytest.approx(20.0, abs=1e-4)
    assert mean_slowdown(play.run) == pytest.approx((1.0 + 2.0) / 2, abs=1e-4)


def test_demand_is_the_peak_of_the_cores_that_jobs_would_hold():
    assert demand(jobs([0.0, 3.0, 5.0], [5.0, 4.0, 1.0], size=[2, 1, 4])) == 5  # at 5 s: the second and the third


def test_the_busiest_of_several_candidates_is_learned_from():
    workload = jobs(np.arange(500.0), np.random.default_rng(0).integers(1, 40, 500))
    plain, picky = Fragments(workload, 10), Fragments(workload, 10, candidates=5)
    demands = [np.mean([demand(fragments(number)) for number in range(30)]) for fragments in (plain, picky)]
    assert demands[1] > demands[0]
    with pytest.raises(OptionsError, match="candidates is 0"):
        Fragments(workload, 10, candidates=0)


def test_jobs_to_learn_from_may_come_faster_than_they_did_and_those_held_out_never_do():
    fragments = Fragments(numbered(500), 10, compression=8.0)
    spans = np.array([fragments(number).submit[-1] for number in range(50)])
    assert spans.min() >= 9.0 / 8.0
    assert spans.max() <= 9.0
    assert spans.max() / spans.min() > 4.0
    assert fragments.held_out(3).submit[-1] == 9.0
    with pytest.raises(OptionsError, match=r"compression is 0\.5"):
        Fragments(numbered(500), 10, compression=0.5)


def test_jobs_that_request_a_fifth_of_the_cores_come_ten_times_as_fast_for_a_load_of_two():
    three = jobs(submit=[10, 20, 40], seconds=4.0, size=2)
    assert stretched(three, 4, 2.0, three.ops[0] / 4.0).submit.tolist() == [0, 1, 3]
