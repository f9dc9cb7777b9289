"""Policy iteration: what paired rollouts measure, what is learned of it, and that it can be taken up again."""

import csv
import json

import numpy as np
import pytest
import torch
from shipped import AGENTS, shipped
from small import jobs
from test_training import assert_same

from hdeeprm_like.cli.main import main
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.decision.rewards import OBJECTIVES
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.checkpoint import read_checkpoint
from hdeeprm_like.learning.comparisons import improve
from hdeeprm_like.learning.paired_rollouts import PairedRollouts
from hdeeprm_like.learning.policy_iteration import PolicyIteration, validation_of
from hdeeprm_like.learning.weights import weights_of
from hdeeprm_like.option_sections import PolicyIterationSection
from hdeeprm_like.run.batch import FIGURES
from hdeeprm_like.run.episodes import Plays

WAIT = {OBJECTIVES["wait"]: 1.0}
ORDERS = Space(  # the longest job first, or the shortest one
    actions=["ljf+greedy", "sjf+greedy"],
    head=4,
    observation="horizon",
    horizon=2,
    objectives=WAIT,
    reward="change",
)
SLOTS = Space(
    actions="jobs", head=4, opens="fitting", observation="horizon", horizon=2, objectives=WAIT, reward="change"
)


def crowded(number):
    """Twelve jobs on one core, all there within a minute, some of them long."""
    rng = np.random.default_rng(number)
    return jobs(submit=np.sort(rng.integers(0, 60, 12)), seconds=rng.choice([5, 20, 400], 12))


def plays_of(space, jobs=crowded, clock="textbook"):
    return Plays(pool(1), jobs, space, limits_of=crowded(0), clock=clock)


def agent_of(space, file="ppo", **options):
    layout = space.layout(pool(1), crowded(0).limits())
    options = {"gamma": 1.0, "hidden": [16], "lr": 0.01} | options
    return shipped(file, options, layout, seed=1), layout


def sampling(**changes):
    few = {"windows": 8, "every": 2, "horizon": 0.0, "lasts": 0.0, "branches": 16}
    return PolicyIterationSection(**(few | changes))


def rollouts_of(space, jobs=crowded, clock="textbook", **changes):
    agent, layout = agent_of(space)
    agent.prefer(0)
    return PairedRollouts(agent, plays_of(space, jobs, clock=clock), layout, sampling(**changes))


@pytest.mark.parametrize("clock", ["textbook", "batsim"])
def test_a_gain_is_what_one_order_of_the_jobs_saves(clock):
    three = jobs(submit=[0, 1, 1], seconds=[10, 30, 5])  # at 10 s two jobs wait, of 30 s and of 5 s
    pairs = rollouts_of(ORDERS, lambda _: three, clock=clock, every=1, alternatives=0)(0)
    first = pairs.gains[(pairs.actions == 1) & (pairs.others == 0)]
    assert first.max() == pytest.approx(25.0, abs=0.5)  # the short one waits 30 s less, the long one 5 s more


def test_jobs_that_wait_when_the_branches_end_are_charged():
    three = jobs(submit=[0, 1, 1], seconds=[10, 30, 5])
    asked = {"every": 1, "alternatives": 0, "horizon": 12.0}
    pairs = rollouts_of(ORDERS, lambda _: three, **asked)(0)
    # until 22 s: behind the long one, which waits 9 s, the short one waits 21 s and is charged 5 s; else 9 s and 14 s
    assert pairs.gains.max() == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("file", "hidden", "why"),
    [
        ("kernel", [8], "compares policies"),  # its actions start jobs
        ("attention", 8, "compares policies"),
        ("recurrent", 8, "without a memory"),
    ],
)
def test_agents_that_start_jobs_or_remember_are_refused(file, hidden, why):
    agent, layout = agent_of(SLOTS, file, hidden=hidden)
    with pytest.raises(AgentError, match=why):
        PairedRollouts(agent, plays_of(SLOTS), layout, sampling())


def test_the_same_is_found_whatever_branches_are_played_at_once():
    found = [rollouts_of(ORDERS, branches=branches)(3) for branches in (4, 64)]
    for name in ("observations", "masks", "states", "actions", "others", "gains", "episodes"):
        assert getattr(found[0], name).tolist() == getattr(found[1], name).tolist(), name


def iterated(folder, costs):
    """One iteration: the agent, the candidates that were tried and the policy of `best.pt`, given their costs."""
    rollouts = rollouts_of(ORDERS, iterations=1, epochs=10, minibatch=32)
    candidates, given = [], iter(costs)

    def validate(agent):
        candidates.append(weights_of(agent))
        return np.array(next(given)), {}

    PolicyIteration(rollouts, validate, ("ljf", "sjf"), folder).run(quiet=True, callbacks=())
    return weights_of(rollouts.agent), candidates, read_checkpoint(folder / "best.pt")["parameters"]


def same(one, other):
    return all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("costs", "accepted"),
    [([3.5, 4.5, 4.0], True), ([1.0, 5.5, 5.5], False), ([6.0] * 3, False)],  # less 5 each: -1 +- 0.3, -1 +- 1.5, 1
)
def test_a_candidate_replaces_the_policy_if_it_is_surely_better(costs, accepted, tmp_path):
    reached, (first, half, whole), policy = iterated(tmp_path, [[5.0] * 3, costs, [9.0] * 3])
    assert same(reached, whole)  # the next episodes are played by what was learned
    assert same(policy, half if accepted else first)
    assert all(torch.allclose(half[name], (first[name] + whole[name]) / 2) for name in first)
    assert not same(whole, first)


def test_branches_follow_the_policy_in_the_episodes_of_the_agent():
    rollouts, other = rollouts_of(ORDERS), agent_of(ORDERS)[0]
    other.prefer(1)
    own, theirs = rollouts(0), rollouts(0, weights_of(other))
    assert own.observations.tolist() == theirs.observations.tolist()
    assert own.reward == theirs.reward
    assert own.gains.tolist() != theirs.gains.tolist()
    assert rollouts(0).gains.tolist() == own.gains.tolist()


def test_nothing_is_learned_of_advantages_that_are_noise():
    rollouts = rollouts_of(ORDERS)
    pairs, before = rollouts(0), weights_of(rollouts.agent)
    gains = np.random.default_rng(0).normal(size=len(pairs.gains))
    pairs.gains[:] = gains
    found = improve(rollouts.agent, pairs, sampling(epochs=3))
    assert abs(found["correlation"]) < 0.3
    assert found["loss"] <= 1.0
    if found["passes"] == 0.0:
        assert all(torch.equal(before[name], now) for name, now in weights_of(rollouts.agent).items())


def trained(folder, iterations=3, resume=False, stop_at=None, validated=8, **options):
    """A policy that begins with the longest job first."""
    rollouts = rollouts_of(ORDERS, **({"iterations": iterations, "minibatch": 32, "epochs": 15} | options))
    windows = plays_of(ORDERS, lambda number: crowded(1000 + number))
    if stop_at is not None:
        whole, rollouts_how = rollouts.__call__, rollouts.how

        def until(iteration, policy):
            if iteration == stop_at * rollouts_how.windows:
                raise KeyboardInterrupt
            return whole(iteration, policy)

        rollouts = type(
            "Stopping", (), {"__call__": lambda _, n, of: until(n, of), "how": rollouts.how, "agent": rollouts.agent}
        )()
    validate = validation_of(windows, validated, FIGURES)
    PolicyIteration(rollouts, validate, ("ljf", "sjf"), folder).run(resume, quiet=True, callbacks=())
    return rollouts.agent


def rows(path):
    with path.open(newline="") as file:
        return [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]


def waits_of(action):
    """The mean wait on the validation windows if the same order is taken each time."""
    plays = plays_of(ORDERS, lambda number: crowded(1000 + number))
    runs = plays.runs_to_fork(8)
    plays.load(runs, 0)
    while not runs.over.all():
        runs.step(np.full(8, action))
    return float(runs.figures[:, FIGURES.index("wait")].mean())


# trains for some seconds
@pytest.mark.more
def test_the_rule_that_it_begins_with_is_left_for_the_better_one(tmp_path):
    trained(tmp_path)
    evaluations = rows(tmp_path / "evaluations.csv")
    first, best = (float(evaluations[0]["wait"]), min(float(row["wait"]) for row in evaluations))
    assert first == pytest.approx(waits_of(0))
    assert best <= waits_of(1) * 1.02
    assert best < 0.8 * first
    assert (tmp_path / "best.pt").exists()


# trains three times
@pytest.mark.more
def test_a_training_that_is_interrupted_goes_on_to_the_same_end(tmp_path):
    trained(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "parts", stop_at=1)
    assert len(rows(tmp_path / "parts" / "progress.csv")) == 1
    trained(tmp_path / "parts", resume=True)
    for name in ("progress.csv", "evaluations.csv"):
        assert rows(tmp_path / "whole" / name) == rows(tmp_path / "parts" / name)
    for name in ("checkpoint.pt", "best.pt"):
        assert_same(*(read_checkpoint(tmp_path / part / name) for part in ("whole", "parts")))


# trains twice
@pytest.mark.more
def test_a_training_goes_on_with_other_validation_episodes(tmp_path):
    trained(tmp_path, iterations=1)
    trained(tmp_path, iterations=2, resume=True, validated=5)
    assert len(rows(tmp_path / "progress.csv")) == 2


def test_episodes_without_a_choice_are_refused():
    one = jobs(submit=[0], seconds=[10])
    space = Space(actions=["sjf+greedy"], objectives=WAIT, head=4, observation="horizon", horizon=2, reward="change")
    agent, layout = agent_of(space)
    with pytest.raises(AgentError, match="two actions to compare"):
        PairedRollouts(agent, plays_of(space, lambda _: one), layout, sampling())(0)


def options_file(folder, jobs=60, **changes):
    """The options file that is shipped, shortened."""
    content = json.loads((AGENTS / "two-kinds.json").read_text())
    content["platform_file_path"] = str(AGENTS.parent / "platforms" / "two_kinds.json")
    content["nb_jobs"] = jobs
    content["training"]["evaluation_episodes"] = 2
    content["training"]["policy_iteration"] |= {"windows": 2, "iterations": 1, "branches": 16, "epochs": 2} | changes
    path = folder / "options.json"
    path.write_text(json.dumps(content))
    return path


def command(folder, path, *more):
    given = ("train", "--method", "policy_iteration", "-q", "--agent", "ppo", "--output", folder / "out")
    return main([*map(str, (*given, *(("--options", path) if path else ()), *more))])


# takes 4 s
@pytest.mark.more
def test_the_command_line_trains_and_goes_on(tmp_path, capsys):
    assert command(tmp_path, options_file(tmp_path)) == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert (record["method"], record["status"]) == ("policy_iteration", "complete")
    assert len(rows(tmp_path / "out" / "progress.csv")) == 1
    assert len(rows(tmp_path / "out" / "evaluations.csv")) == 2
    assert main(["train", "--resume", str(tmp_path / "out"), "-q"]) == 0
    assert main(["report", str(tmp_path / "out"), "--output", str(tmp_path / "report.html")]) == 0


@pytest.mark.parametrize(
    ("changes", "flags", "message"),
    [
        ({"start": "saf+resrve:32"}, (), "did you mean 'reserve'"),
        ({"start": "fcfs+easy"}, (), "is no action"),
        ({"step": 0.0}, (), "training.policy_iteration.step"),
        ({"horizons": 5}, (), "did you mean 'horizon'"),
        ({"windows": 5000}, (), "training.policy_iteration.windows"),
        ({}, ("--episodes", "5"), "--episodes: set it in the options file"),
        ({}, ("--engine", "slurm"), "--engine: an engine plays the parts of an update, and training.parts is 1"),
    ],
)
def test_options_that_mean_nothing_are_refused_in_one_line(changes, flags, message, tmp_path, capsys):
    assert command(tmp_path, options_file(tmp_path, **changes), *flags) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()
