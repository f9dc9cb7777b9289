"""The watch of a simulated Slurm: when it looks, which factors it sets, and what Slurm makes of them."""

from itertools import pairwise

import numpy as np
import pytest
from on_paper import in_all
from small import cluster, jobs, scheduled

from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline, policy_in
from hdeeprm_like.engine.numbers import WATCH_DEPTH, WATCH_FACTOR, WATCH_INTERVAL, WATCH_RATE
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.refusals import WATCH
from hdeeprm_like.run.loop import OVER, advance
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import constant_run
from hdeeprm_like.slurm.factors import wanted_factors
from hdeeprm_like.slurm.watch import WatchOptions

POLICIES = ["sjf", "zoo:balanced", "saf@ewma"]


def asking(**columns):
    """Jobs that request the only partition, of one core each by default."""
    return in_all(jobs(**columns))


def starts(policy, work, cores=1, **settings):
    """When the jobs start on the cores of a Slurm with settings."""
    done = scheduled(cluster(settings, cores), work, PolicyActions([baseline(policy)]), "textbook")
    return done.simulation.tasks["start"].tolist()


# look at   0    10                               90      100
#           |    |                                |       |
# running   |=============== a =========================|
# b (80 s)   1----------------------------------------->
# c (5 s)                                         91->
#                                                       95: at once c is first; the watch has seen b alone
LATE = {"submit": [0.0, 1.0, 91.0], "seconds": [95.0, 80.0, 5.0]}


@pytest.mark.parametrize("order", POLICIES)
def test_a_job_that_comes_after_the_last_look_has_no_factor_when_slurm_starts_the_next(order):
    assert starts(f"{order}+slurm:0", asking(**LATE)) == [0.0, 100.0, 95.0]
    assert starts(f"{order}+slurm", asking(**LATE)) == [0.0, 95.0, 175.0]


def test_with_a_shorter_interval_the_watch_sees_it_in_time():
    assert starts("sjf+slurm:1", asking(**LATE)) == [0.0, 100.0, 95.0]


def test_without_a_watch_slurm_starts_them_in_its_own_order():
    assert starts("multifactor+slurm", asking(**LATE)) == [0.0, 95.0, 175.0]


@pytest.mark.parametrize(("factor", "first"), [(1000, "long"), (10_000, "short")])
def test_what_slurms_own_priorities_differ_by_more_than_the_factor_still_decides(factor, first):
    """The long job is 10 s older, 1000 points; the short one has a quarter of the largest factor more."""
    work = asking(submit=[0.0, 1.0, 11.0], seconds=[95.0, 80.0, 5.0])
    old = {"PriorityWeightAge": 100_000.0, "PriorityMaxAge": 1000.0, "PriorityCalcPeriod": 1.0}
    found = starts(f"sjf+slurm:10:{factor}", work, **old)
    assert found == ([0.0, 100.0, 95.0] if first == "short" else [0.0, 95.0, 175.0])


def test_in_place_of_priorities_the_order_decides_however_old_a_job_is():
    work = asking(submit=[0.0, 1.0, 11.0], seconds=[95.0, 80.0, 5.0])
    assert starts("sjf+slurm:0", work, PriorityWeightAge=1e9, PriorityMaxAge=1000.0) == [0.0, 100.0, 95.0]


def test_a_factor_that_changes_lets_slurm_look_again_though_nothing_came_or_ended():
    """The second job waits for both cores; the third has one of them from when the watch has put it first, at 10 s."""
    work = asking(submit=[0.0, 1.0, 2.0], seconds=[100.0, 50.0, 200.0], size=[1, 2, 1])
    assert starts("multifactor+slurm", work, cores=2) == [0.0, 100.0, 150.0]
    assert starts("ljf+slurm", work, cores=2) == [0.0, 210.0, 10.0]


class Watched:
    """A run of many jobs on one core, instant by instant, with the site factors before and after each."""

    def __init__(self, policy, work=None, count=60):
        rng = np.random.default_rng(3)
        if work is None:
            submit = np.sort(rng.integers(0, 400, count)).astype(float)
            work = asking(submit=submit, seconds=rng.integers(1, 30, count).astype(float))
        policies = PolicyActions([baseline(policy)])
        self.simulator = Simulator(State(cluster({}), work, log=False, needs=policies.needs), work, "textbook")
        choices = policies.choices(self.simulator.state, constant=0)
        self.run, self.slurm, self.requested = constant_run(self.simulator, choices), choices.plans.slurm, work

    def looks(self):
        """Yield of each look when it was, the jobs that waited, and the factors before and after it."""
        last, over = -1.0, False
        state = self.simulator.state
        while not over:
            before = np.array(self.slurm.factors.site)
            over = advance(self.run, 1) == OVER
            at = float(self.slurm.params["looked_at"][0])
            if at > last:
                last = at
                yield (
                    at,
                    [*state.waiting.tolist(), *state.started_now.tolist()],
                    before,
                    np.array(self.slurm.factors.site),
                )


@pytest.mark.parametrize("most", [10_000, 40, 7])
def test_the_factors_are_those_that_a_watch_of_a_real_slurm_sets_for_the_same_queue(most):
    watched, compared = Watched(f"sjf+slurm:10:{most}"), 0
    for _, waiting, before, after in watched.looks():
        order = sorted(waiting, key=lambda j: (watched.requested.requested_time[j], j))
        wanted = wanted_factors(order, dict(enumerate(before.tolist())), most, WATCH_DEPTH)
        assert {j: int(after[j]) for j in order} == wanted
        compared += len(order)
    assert compared > 500


@pytest.mark.parametrize("order", POLICIES)
def test_factors_change_at_multiples_of_the_interval_only_and_stay_in_their_bounds(order):
    seen = list(Watched(f"{order}+slurm:25:300").looks())
    assert len(seen) > 10
    assert all(at % 25.0 == 0.0 for at, *_ in seen)
    for (_, _, _, after), (_, _, before, _) in pairwise(seen):
        assert (after == before).all()
    factors = np.concatenate([after for *_, after in seen])
    assert factors.min() == 0
    assert 150 < factors.max() <= 300


def test_no_more_factors_are_changed_at_once_than_the_rate_allows_and_the_others_at_the_next_looks():
    """Fifty jobs come together behind one that holds the machine; 20 are changed a second."""
    work = asking(submit=[0.0] + [1.0] * 50, seconds=[100.0, *range(1, 51)])
    looks = list(Watched("sjf+slurm:1", work).looks())
    assert [at for at, *_ in looks[:4]] == [0.0, 1.0, 2.0, 3.0]
    assert [int((before != after).sum()) for _, _, before, after in looks[1:4]] == [20, 20, 10]


def test_a_watch_does_by_default_what_the_modelled_one_does():
    live = WatchOptions(policy=baseline("sjf"))
    modelled = (WATCH_INTERVAL, WATCH_FACTOR, WATCH_DEPTH, WATCH_RATE)
    assert (live.interval, live.most, live.depth, live.rate) == modelled


def test_a_watch_of_a_real_slurm_takes_the_order_of_such_a_name():
    assert baseline("zoo:balanced+slurm").alone == baseline("zoo:balanced")
    assert baseline("sjf@ewma+slurm").alone == baseline("sjf@ewma")
    with pytest.raises(OptionsError, match="in its own options"):
        policy_in("sjf+slurm:60", WATCH)


def test_a_file_of_scores_may_have_the_name_of_a_mode_in_its_path(tmp_path):
    folder = tmp_path / "a+slurm"
    folder.mkdir()
    path = folder / "my+scored.json"
    path.write_text('{"queue": {"log_time": 1.0}}')
    assert baseline(f"scored:{path}").mode.name == "scored"
    through = baseline(f"scored:{path}+slurm:60-first_fit")
    assert (through.order, through.mode.interval, through.placement) == (f"scored:{path}", 60.0, "first_fit")
    assert through.files == (path,)
    assert baseline(through.name) == through
