"""Jobs in slots as ragged rows: the same probabilities as over all actions, for any number of jobs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from shipped import shipped
from toy import moves_of

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.decision.layout import Block, Layout, plain_layout
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.errors import AgentError, OptionsError
from hdeeprm_like.learning.ppo import Advantages
from hdeeprm_like.learning.slots import RowsOf, spread

JOBS = ("requested time", "cores")


def layout(slots=3, nodes=1, waiting=True, cores=4):
    actions = [f"job {i} on {n}" for n in range(nodes) for i in range(slots)] + ["wait"] * waiting
    blocks = [Block("core", cores, ("left",)), Block("job", slots, JOBS), Block("", 1, ("backlog",))]
    if nodes > 1:
        blocks.append(Block("node", nodes, ("free",)))
    width = sum(block.width for block in blocks)
    return Layout((width,), tuple(blocks), tuple(actions), slots, nodes)


def decisions(one, count=200, seed=0):
    """Observations with some empty slots, and masks with at least one legal action each."""
    rng = np.random.default_rng(seed)
    seen = rng.random((count, one.shape[0])).astype(np.float32)
    masks = rng.random((count, len(one.actions))) < 0.4
    masks[np.arange(count), rng.integers(len(one.actions), size=count)] = True
    return torch.from_numpy(seen), torch.from_numpy(masks)


def kernel(one, name="kernel", **options):
    return shipped(name, {"gamma": 1.0, **options}, one, seed=3)


@pytest.mark.parametrize("one", [layout(), layout(waiting=False), layout(nodes=2), layout(nodes=2, waiting=False)])
def test_probabilities_are_those_of_a_softmax_over_the_legal_actions(one):
    agent = kernel(one)
    torch.nn.init.normal_(agent.job[-1].weight)
    seen, masks = decisions(one)
    rows = agent.rows_of(seen, masks)
    scores = rows.dense(*agent.scores(rows), len(one.actions))
    wanted = scores.masked_fill(~masks, -torch.inf).softmax(1)
    torch.testing.assert_close(agent.log_probabilities(seen, masks).exp(), wanted)
    found = agent.logarithms(rows)
    logarithms = wanted.log()
    torch.testing.assert_close(rows.entropy(*found), -(wanted * logarithms.clamp(min=-1e9)).sum(1))
    torch.testing.assert_close(rows.best(*found), logarithms.argmax(1))
    actions = torch.multinomial(wanted, 1)[:, 0]
    torch.testing.assert_close(rows.of_actions(*found, actions), logarithms.gather(1, actions[:, None])[:, 0])


@pytest.mark.parametrize("one", [layout(), layout(waiting=False)])
def test_actions_are_drawn_by_their_probabilities(one):
    agent = kernel(one)
    torch.nn.init.normal_(agent.job[-1].weight)
    seen, masks = (part[:1].expand(40_000, -1).clone() for part in decisions(one))
    masks[:] = True
    drawn = agent.choose(seen, masks, torch.arange(len(seen)))
    wanted = agent.log_probabilities(seen[:1], masks[:1]).exp()[0]
    shares = torch.bincount(drawn, minlength=len(one.actions)) / len(drawn)
    assert (shares - wanted).abs().max() < 0.012  # 4 standard errors
    seen, masks = decisions(one, 5000)
    assert masks[torch.arange(5000), agent.choose(seen, masks, torch.arange(5000))].all()


def test_picked_rows_are_those_of_the_decisions_alone():
    one = layout()
    agent = kernel(one)
    seen, masks = decisions(one)
    rows = agent.rows_of(seen, masks)
    chosen = torch.tensor([7, 3, 3, 150])
    picked, own = rows.pick(chosen), agent.rows_of(seen[chosen], masks[chosen])
    for name in ("features", "shared", "owner", "counts", "actions", "legal", "waits"):
        torch.testing.assert_close(getattr(picked, name), getattr(own, name))


def test_a_decision_without_a_job_to_start_waits():
    one = layout()
    agent = kernel(one)
    masks = torch.zeros(2, 4, dtype=torch.bool)
    masks[:, 3] = True
    seen = torch.rand(2, one.shape[0])
    for agent.greedy in (True, False):
        assert agent.choose(seen, masks, torch.arange(2)).tolist() == [3, 3]
    assert agent.log_probabilities(seen, masks)[:, 3].tolist() == [0.0, 0.0]


def test_the_same_jobs_on_a_larger_machine_with_a_longer_queue_get_the_same_scores():
    small, large = layout(3, cores=4), layout(5, cores=8)
    agent = kernel(small)
    seen, masks = torch.rand(1, small.shape[0]), torch.tensor([[True, False, True, True]])
    cores, jobs, backlog = seen[:, :4], seen[:, 4:10], seen[:, 10:]
    empty = torch.zeros(1, 2 * len(JOBS))
    there = torch.cat([cores, cores, jobs, empty, backlog], 1)
    before = agent.log_probabilities(seen, masks)
    agent.fit(large)
    after = agent.log_probabilities(there, torch.tensor([[True, False, True, False, False, True]]))
    torch.testing.assert_close(after[0, [0, 2, 5]], before[0, [0, 2, 3]])


def test_small_shares_are_told_apart():
    shares = spread(torch.tensor([0.0, 1 / 256, 8 / 256, 1.0]))
    assert shares[0] == 0.0
    assert shares[3] == 1.0
    assert (shares.diff() > 0.2).all()


def test_other_features_than_those_learned_of_are_refused():
    agent = kernel(layout())
    other = Layout((4,), (Block("job", 2, ("requested time", "memory")),), ("a", "b", "wait"), 2)
    with pytest.raises(AgentError, match=r"was trained to observe .*'cores'.*, not .*'memory'"):
        agent.fit(other)


@pytest.mark.parametrize("space", ["HDeepRM", "DeepRM"])
def test_actions_or_observations_without_jobs_are_refused(space):
    with pytest.raises(OptionsError, match="chooses among jobs that it sees"):
        RowsOf(PRESETS[space].layout(pool(8)))
    with pytest.raises(OptionsError, match="chooses among jobs that it sees"):
        RowsOf(plain_layout((4,), ["a", "b"]))


@pytest.mark.parametrize("space", ["CompactRM", "SMDP", "DeepBackfilling", "JobMachine"])
def test_rows_of_the_published_spaces_hold_the_features_of_the_job(space):
    one = PRESETS[space].layout(pool(8))
    rows_of = RowsOf(one)
    block, columns = one.block("job")
    seen = torch.rand(1, one.shape[0])
    masks = torch.zeros(1, len(one.actions), dtype=torch.bool)
    masks[0, 2] = True
    rows = rows_of(seen, masks)
    begin = columns.start + 2 * len(block.features)
    wanted = [seen[0, begin + i] for i, name in enumerate(block.features) if name != "submission time"]
    assert rows.features[0, : len(wanted)].tolist() == [float(one) for one in wanted]
    assert rows.features.shape == (1, rows_of.row_features)
    assert rows.shared.shape == (1, rows_of.shared_features)
    assert len(one.names) == one.shape[0]


def test_rows_hold_waiting_times_that_stand_behind_an_observation():
    one = replace(PRESETS["CompactRM"], wait=True).layout(pool(8))
    rows_of = RowsOf(one)
    assert rows_of.names[0][-1] == "waiting time"
    assert rows_of.shared_features == RowsOf(PRESETS["CompactRM"].layout(pool(8))).shared_features  # not of the clock
    seen = torch.rand(1, one.shape[0])
    masks = torch.zeros(1, len(one.actions), dtype=torch.bool)
    masks[0, 2] = True
    assert rows_of(seen, masks).features[0, len(rows_of.names[0]) - 1] == seen[0, one.names.index("job 2 waiting time")]


def attention(one, **options):
    return kernel(one, "attention", hidden=8, heads=2, **options)


def test_attention_gives_the_same_probabilities_wherever_the_empty_slots_are():
    one = layout(4)
    agent = attention(one)
    for part in agent.parameters():
        torch.nn.init.normal_(part, std=0.3)
    jobs = torch.rand(2, len(JOBS))
    core, backlog, none = torch.rand(4), torch.rand(1), torch.zeros(len(JOBS))
    first = torch.cat([core, jobs[0], jobs[1], none, none, backlog])
    other = torch.cat([core, none, jobs[0], none, jobs[1], backlog])
    masks = torch.tensor([[True, False, False, False, True], [False, True, False, False, True]])
    found = agent.log_probabilities(torch.stack([first, other]), masks)
    torch.testing.assert_close(found[0, [0, 4]], found[1, [1, 4]])
    alone = agent.log_probabilities(first[None], masks[:1])
    torch.testing.assert_close(alone[0], found[0])
    without = torch.cat([core, jobs[0], none, none, none, backlog])
    assert (agent.log_probabilities(without[None], masks[:1])[0, 0] - found[0, 0]).abs() > 1e-3  # the other job counts


def test_attention_plays_a_longer_queue_than_it_learned_from():
    agent, longer = attention(layout(3)), layout(300)
    agent.fit(longer)
    seen, masks = decisions(longer, 5)
    torch.testing.assert_close(agent.log_probabilities(seen, masks).exp().sum(1), torch.ones(5))


# learns for 10 s; rows and probabilities have tests of their own
@pytest.mark.more
@pytest.mark.parametrize("make", [kernel, attention])
def test_the_job_worth_taking_is_learned(make):
    one, rng = layout(4), np.random.default_rng(0)
    agent = make(one, lr=0.01, epochs=4, minibatch=256)
    for _ in range(40):
        agent.learn([picks(agent, one, rng) for _ in range(4)])
    agent.greedy = True
    assert np.mean([picks(agent, one, rng).rewards.mean() for _ in range(4)]) > 0.9


def test_an_update_stops_when_the_policy_has_moved_too_far():
    one, epochs = layout(4), []
    for target in (0.0, 1e-6):
        agent = kernel(one, lr=0.05, epochs=8, minibatch=10**6, target_kl=target)
        agent.learn([picks(agent, one, np.random.default_rng(0))])
        epochs.append(next(iter(agent.optimizer.state.values()))["step"].item())
    assert epochs == [8, 2]  # the first step of an update begins where the policy is, so the second sees it moved


def test_an_update_stops_after_the_first_pass_that_moves_the_policy_beyond_one_and_a_half_targets():
    one, found = layout(4), []
    for target in (0.0, 2.0, 1.4):  # the second pass moves it by that many targets
        wanted = found[0][1] / target if found else 0.0
        agent = kernel(one, lr=0.05, epochs=8, minibatch=10**6, target_kl=wanted)
        found.append(moves_of(agent))
        agent.learn([picks(agent, one, np.random.default_rng(0))])
    whole, beyond, within = found
    assert (len(whole), len(beyond)) == (8, 2)
    assert len(within) == 1 + next(place for place, moved in enumerate(whole) if moved > 1.5 * whole[1] / 1.4) > 2


def picks(agent, one, rng):
    """An episode of decisions that pay 1 for the job with the shortest request and 0 for everything else."""
    seen = rng.random((64, one.shape[0])).astype(np.float32)
    masks = np.ones((64, len(one.actions)), bool)
    actions = agent.decide(seen.copy(), masks, np.arange(64))
    begin = one.block("job")[1].start
    shortest = seen[:, begin : begin + one.slots * len(JOBS) : len(JOBS)].argmin(1)
    rewards = (actions == shortest).astype(float)
    times = np.arange(64.0)
    agent.advantages = Advantages(0.0, 1.0)  # decisions that have nothing to do with one another
    return Episode(seen, masks, actions, rewards, times, 64.0)
