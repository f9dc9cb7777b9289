"""The agent that starts or holds each job: it begins as a rule, and plays alike in compiled code and in torch."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from small import jobs
from test_policy_iteration import SLOTS, agent_of, plays_of, sampling

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.checkpoint import read_checkpoint
from hdeeprm_like.learning.comparisons import IterationOptions, improve
from hdeeprm_like.learning.paired_rollouts import PairedRollouts, Pairs
from hdeeprm_like.learning.policy_iteration import iterate_policy, play_greedily, validation_of
from hdeeprm_like.learning.weights import following, weights_of
from hdeeprm_like.run.batch import FIGURES
from hdeeprm_like.run.schedules import run_to_end, schedule_of

CORES, KEPT, SHORT = 8, 2, 30.0
SPACE = replace(SLOTS, head=16, order="saf", observation="demand", reward="end")
WAIT = FIGURES.index("wait")


def busy(number):
    """Forty jobs of one to four cores on eight, some of them long."""
    rng = np.random.default_rng(number)
    return jobs(
        submit=np.sort(rng.integers(0, 300, 40)), seconds=rng.choice([5, 20, 100, 400], 40), size=rng.integers(1, 5, 40)
    )


def hold(**options):
    given = {"hidden": 8, "kept": KEPT / CORES, "short": SHORT} | options
    return agent_of(SPACE, "hold.py", cores=CORES, **given)


def wild(**options):
    """An agent of random weights."""
    agent, layout = hold(**options)
    generator = torch.Generator().manual_seed(3)
    for weights in agent.parameters():
        torch.nn.init.normal_(weights, 0.0, 0.7, generator)
    return agent, layout


def played(agent, compiled=True, count=6):
    if not compiled:
        agent.slot_network = lambda: None
    plays = plays_of(SPACE, busy, cores=CORES)
    runs = plays.runs_to_fork(count)
    plays.load(runs, 0)
    play_greedily(agent, runs)
    return runs.figures.copy()


def test_at_the_beginning_it_is_the_rule():
    agent, _ = hold()
    rule = PolicyActions([policy_named(f"saf+reserve:{KEPT}:{SHORT:g}")])
    waits = [schedule_of(run_to_end(pool(CORES), busy(n), rule, "textbook"), busy(n)).wait.mean() for n in range(6)]
    assert played(agent)[:, WAIT] == pytest.approx(waits)
    assert played(hold(kept=0.0)[0])[:, WAIT].mean() != pytest.approx(np.mean(waits))


def test_it_plays_alike_in_compiled_code_and_in_torch():
    figures = [played(wild()[0], compiled) for compiled in (True, False)]
    assert figures[0].tolist() == figures[1].tolist()
    assert figures[0].tolist() != played(hold()[0]).tolist()


# many branches; plays alike in both stay
@pytest.mark.more
def test_branches_gain_alike_in_compiled_code_and_in_torch():
    found = []
    for compiled in (True, False):
        agent, layout = wild()
        if not compiled:
            agent.slot_network = lambda: None
        how = sampling(lasts=50.0, horizon=400.0, windows=4)
        found.append(PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, how)(0))
    assert found[0].gains.tolist() == found[1].gains.tolist()
    assert found[0].decisions == found[1].decisions
    assert np.abs(found[0].gains).max() > 0.0


def test_an_empty_machine_starts_its_first_job_whatever_was_learned():
    agent, layout = hold()
    agent.lean(layout.waiting, 1e2)  # holds all
    alone = jobs(submit=[0, 10], seconds=[500, 5], size=[2, 2])
    plays = plays_of(SPACE, lambda _: alone, cores=CORES)
    runs = plays.runs_to_fork(1)
    plays.load(runs, 0)
    play_greedily(agent, runs)
    assert runs.figures[0, WAIT] == pytest.approx((0.0 + 490.0) / 2)  # the second one is held until the first has ended


def clear(pairs, layout):
    """The same comparisons, in which narrow jobs gain by a start and others by waiting."""
    column = [layout.names.index(f"job {slot} cores") for slot in pairs.actions]
    narrow = pairs.observations[pairs.states, column] < 0.3
    return replace(pairs, gains=np.where(narrow, 100.0, -100.0))


def test_comparisons_of_several_iterations_are_learned_from_together():
    agent, layout = hold()
    first = weights_of(agent)
    rollouts = PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, sampling(lasts=50.0, windows=4))
    parts = [rollouts(number) for number in (0, 4)]
    both = Pairs.joined(parts)
    assert len(both.gains) == sum(len(part.gains) for part in parts)
    later = both.states[-1]
    assert both.observations[later].tolist() == parts[1].observations[parts[1].states[-1]].tolist()
    how = IterationOptions(trust_region=1e3, epochs=20, minibatch=32, memory=2)
    assert improve(agent, clear(both, layout), how, first)["loss"] < 0.5


def iterated(folder, costs):
    """One iteration: the agent, the candidates that were tried and the policy of `best.pt`, given their costs."""
    agent, layout = hold()
    rollouts = PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, sampling(lasts=50.0, windows=4))
    candidates, given = [], iter(costs)

    class Clear:
        how = rollouts.how

        def __call__(self, first, policy):
            return clear(rollouts(first, policy), layout)

    def validate(agent):
        candidates.append(weights_of(agent))
        return {"reward": -np.array(next(given))}

    how = IterationOptions(iterations=1, trust_region=1e3, epochs=10, minibatch=32)
    iterate_policy(agent, Clear(), validate, layout.actions, folder, how, quiet=True, tensorboard=False)
    return weights_of(agent), candidates, read_checkpoint(folder / "best.pt")["parameters"]


def test_an_iteration_goes_on_from_what_was_learned_and_keeps_a_better_policy(tmp_path):
    reached, (rule, half, whole), policy = iterated(tmp_path, [[5.0, 5.0], [6.0, 6.0], [7.0, 7.0]])
    assert same(reached, whole)
    assert same(policy, rule)
    assert all(torch.allclose(half[name], (rule[name] + whole[name]) / 2) for name in rule)
    assert not same(whole, rule)


@pytest.mark.parametrize(
    ("costs", "accepted"),
    [([3.5, 4.5, 4.0], True), ([1.0, 5.5, 5.5], False)],  # less 5 each: -1 +- 0.3, and -1 +- 1.5
)
def test_a_candidate_replaces_the_policy_if_it_is_surely_better(costs, accepted, tmp_path):
    reached, (rule, half, whole), policy = iterated(tmp_path, [[5.0] * 3, costs, [9.0] * 3])
    assert same(reached, whole)
    assert same(policy, half if accepted else rule)


def test_branches_follow_the_policy_in_the_episodes_of_the_agent():
    rule, layout = hold()
    agent, _ = wild()
    rollouts = PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, sampling(lasts=50.0, windows=4))
    own, other = rollouts(0), rollouts(0, weights_of(rule))
    assert own.observations.tolist() == other.observations.tolist()
    assert own.reward == other.reward
    assert own.gains.tolist() != other.gains.tolist()
    with following(agent, weights_of(rule)):
        assert rollouts(0).reward != own.reward
    assert rollouts(0).gains.tolist() == own.gains.tolist()


def test_no_job_behind_the_one_that_starts_is_compared():
    agent, layout = hold(kept=0.0)  # starts the first job that fits
    how = sampling(lasts=50.0, windows=4, alternatives=0)
    pairs = PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, how)(0)
    assert (pairs.actions == pairs.masks[pairs.states].argmax(1)).all()
    agent.in_order = False
    assert len(PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, how)(0).gains) > len(pairs.gains)


def trained(folder, iterations, resume=False):
    agent, layout = hold()
    rollouts = PairedRollouts(agent, plays_of(SPACE, busy, cores=CORES), layout, sampling(lasts=50.0, windows=4))
    windows = plays_of(SPACE, lambda number: busy(1000 + number), cores=CORES)
    runs = windows.runs_to_fork(4)

    def begun():
        windows.load(runs, 0)
        return runs

    how = IterationOptions(
        iterations=iterations,
        trust_region=1e3,
        epochs=3,
        minibatch=32,
        memory=3,
        margins=(0.0, 0.1),
        leans=layout.waiting,
    )
    validate = validation_of(begun, FIGURES)
    given = agent, rollouts, validate, layout.actions, folder, how
    iterate_policy(*given, resume=resume, quiet=True, tensorboard=False)
    return weights_of(agent)


# three trainings; resuming of others stays in test_policy_iteration.py
@pytest.mark.more
def test_it_goes_on_with_the_comparisons_that_it_had(tmp_path):
    whole = trained(tmp_path / "whole", 3)
    trained(tmp_path / "parts", 2)
    assert same(whole, trained(tmp_path / "parts", 3, resume=True))


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


def test_another_observation_is_refused():
    with pytest.raises(AgentError, match="observation 'demand'"):
        agent_of(SLOTS, "hold.py", hidden=8)


def test_only_waiting_can_be_preferred():
    agent, _ = hold()
    with pytest.raises(AgentError, match="only waiting"):
        agent.lean(0, 0.1)


def test_parts_of_an_iteration_add_up_to_what_they_find_one_by_one():
    agent, layout = wild()
    plays = plays_of(SPACE, busy, cores=CORES)

    def found(first, windows):
        return PairedRollouts(agent, plays, layout, sampling(lasts=50.0, windows=windows))(first)

    parts = [found(8, 2), found(10, 2)]
    both = Pairs.joined(parts)
    assert both.episodes.min() == 8
    assert both.episodes.max() == 11
    assert both.gains.tolist() == [*parts[0].gains.tolist(), *parts[1].gains.tolist()]
    assert both.states.max() == len(both.observations) - 1
    assert both.decisions == sum(part.decisions for part in parts)
