"""How a training goes: schedules, budgets in decisions, updates from parts of episodes, baselines on the same jobs."""

import json

import numpy as np
import pytest
import torch
from shipped import shipped
from test_rollout import Counters, Odd
from toy import Walk, optimum

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.episode import Episode
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning import training
from hdeeprm_like.learning.agents import Batch
from hdeeprm_like.learning.ppo import Advantages
from hdeeprm_like.learning.rollout import batched_rollout, rollout_by_parts
from hdeeprm_like.learning.training import Played, Training, evaluate, play_episodes
from hdeeprm_like.option_sections import TrainingSection

CPU = torch.device("cpu")


def walker(file="ppo", **options):
    return shipped(file, {"gamma": 1.0, "hidden": 16, "lr": 0.01, **options}, seed=2)


def test_learning_rate_and_entropy_go_linearly_to_their_ends():
    agent = walker(lr_end=0.002, entropy=0.4, entropy_end=0.0)
    for left, rate, entropy in ((1.0, 0.01, 0.4), (0.5, 0.006, 0.2), (0.0, 0.002, 0.0)):
        agent.anneal(left)
        assert agent.optimizer.param_groups[0]["lr"] == pytest.approx(rate)
        assert agent.entropy == pytest.approx(entropy)
    without_an_end = walker("actor_critic")
    without_an_end.anneal(0.1)
    assert without_an_end.optimizer.param_groups[0]["lr"] == 0.01


@pytest.mark.parametrize("file", ["ppo", "actor_critic", "reinforce"])
def test_rmsprop_is_there_for_every_agent(file):
    assert isinstance(walker(file, optimizer="rmsprop").optimizer, torch.optim.RMSprop)
    assert isinstance(walker(file).optimizer, torch.optim.Adam)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"optimizer": "sgd"}, "agent.optimizer is 'sgd'; 'adam' or 'rmsprop' is needed"),
        ({"lr_end": -1.0}, "agent.lr_end is -1.0; a number from 0 is needed"),
        ({"entropy_end": "low"}, "agent.entropy_end is 'low'"),
        ({"activation": "step"}, "agent.activation is 'step'; 'tanh' or 'relu' is needed"),
        ({"standardize": "all"}, "agent.standardize is 'all'; 'batch' or 'window' or 'none' is needed"),
    ],
)
def test_what_makes_no_sense_is_one_clear_line(options, message):
    with pytest.raises(OptionsError, match=message):
        walker(**options)


def test_the_activation_is_that_of_the_layers():
    assert any(isinstance(layer, torch.nn.ReLU) for layer in walker(activation="relu").actor)


def test_a_budget_in_decisions_ends_the_training_and_sets_its_schedule(tmp_path):
    agent, left = walker(), []
    plain = agent.anneal
    agent.anneal = lambda share: left.append(share) or plain(share)
    how = TrainingSection(envs=2, steps=75, checkpoint_every=1)  # an episode of the toy has 10 decisions
    assert Training(agent, Played(Walk, ["a", "b", "c", "d"]), tmp_path, how).run(quiet=True, callbacks=()) == 8
    assert left == pytest.approx([1.0, 1 - 20 / 75, 1 - 40 / 75, 1 - 60 / 75])


def test_parts_of_episodes_put_together_are_the_episodes():
    whole = batched_rollout(Odd(), Counters(3, 0, 5))
    parts = list(rollout_by_parts(Odd(), Counters(3, 0, 5), 2))
    assert [[len(episode) for episode in part] for part in parts] == [[2, 0, 2], [1, 0, 2], [0, 0, 1]]
    for number, episode in enumerate(whole):
        rewards = np.concatenate([part[number].rewards for part in parts])
        assert rewards.tolist() == episode.rewards.tolist()
    assert parts[0][2].then[0].tolist() == [22.0] * 3  # what is seen at the third decision
    assert parts[1][0].then is None
    assert parts[2][2].then is None
    assert whole[2].then is None


def episode(rewards, times, then=None, reference=None):
    steps = len(rewards)
    seen, masks = np.zeros((steps, 1), np.float32), np.ones((steps, 2), bool)
    actions = np.zeros(steps, np.int64)
    return Episode(seen, masks, actions, np.array(rewards), np.array(times), times[-1], then, reference)


def test_what_the_critic_expects_to_follow_takes_the_place_of_what_is_not_played():
    part = episode([1.0, 2.0], [0.0, 1.0])
    values, following = np.array([0.5, 0.25]), np.array([8.0])
    advantages, returns = Advantages(0.5, trace=1.0, standardize="none").of(Batch.of([part], CPU), values, following)
    assert returns.tolist() == [1.0 + 0.5 * (2.0 + 0.5 * 8.0), 2.0 + 0.5 * 8.0]
    assert advantages.tolist() == (returns - values).tolist()
    one_step, _ = Advantages(0.5, trace=0.0, standardize="none").of(Batch.of([part], CPU), values, following)
    assert one_step.tolist() == [1.0 + 0.5 * 0.25 - 0.5, 2.0 + 0.5 * 8.0 - 0.25]


def test_what_a_baseline_gains_on_the_same_jobs_from_each_time_on_is_subtracted():
    reference = episode([-4.0, -2.0, -1.0], [0.0, 10.0, 20.0])
    own = episode([-1.0, -1.0, -1.0, -1.0], [0.0, 5.0, 20.0, 30.0], reference=reference)
    batch = Batch.of([own], CPU)
    assert batch.reference_returns(1.0).tolist() == [-7.0, -3.0, -1.0, 0.0]
    advantages, _ = Advantages(1.0, trace=1.0, standardize="none").of(batch, np.zeros(4), np.zeros(1))
    assert advantages.tolist() == [3.0, 0.0, -1.0, -1.0]


def test_what_a_baseline_gains_is_scaled_as_the_rewards_are():
    reference = episode([-4.0, -2.0], [0.0, 10.0])
    own = episode([-1.0, -1.0], [0.0, 10.0], reference=reference)
    scaled = Advantages(1.0, trace=1.0, standardize="none", reward_scale=0.25)
    advantages, returns = scaled.of(Batch.of([own], CPU), np.zeros(2), np.zeros(1))
    assert returns.tolist() == [-0.5, -0.25]
    assert advantages.tolist() == [-0.5 + 1.5, -0.25 + 0.5]


def test_advantages_standardized_by_window_let_no_busy_window_outweigh_a_quiet_one():
    quiet, busy = ([episode([r], [0.0]) for r in (scale, -scale)] for scale in (1.0, 1000.0))
    batch = Batch.of([*quiet, *busy], CPU)
    found, _ = Advantages(1.0, trace=1.0, alike=2, standardize="window").of(batch, np.zeros(4), np.zeros(4))
    assert found.tolist() == pytest.approx([1.0, -1.0, 1.0, -1.0])
    found, _ = Advantages(1.0, trace=1.0, alike=2, standardize="batch").of(batch, np.zeros(4), np.zeros(4))
    assert abs(found[0]) < 0.01


# learns for two seconds
@pytest.mark.more
def test_imitation_makes_what_was_done_the_most_probable():
    agent = walker()
    right = play_episodes(Right(), [Walk() for _ in range(4)])
    before = agent.imitate(right, 1)
    after = agent.imitate(right, 200)
    assert after < 0.1 < before
    agent.greedy = True
    assert play_episodes(agent, [Walk()])[0].actions.tolist() == right[0].actions.tolist()


class Right:
    """Goes right and opens the door."""

    def begin(self, episodes):
        pass

    def decide(self, observations, masks, episodes):
        return np.where(masks[:, 3], 3, 2)


EXPERIMENT = {
    "seed": 1,
    "nb_jobs": 60,
    "platform_file_path": "",
    "workload": {"model": "lublin"},
    "pybatsim": {
        "env": {
            "preset": "SMDP",
            "window": {"head": 8, "step": 0.0},
            "horizon": 2,
            "objective": "avg_job_slowdown",
            "reward": "integral",
        },
        "agent": {"type": "LEARNING", "run": "train", "gamma": 1.0, "lr": 0.001},
    },
    "training": {"episodes": 8, "envs": 4, "alike": 2, "clock": "textbook", "load": [0.7, 0.9]},
}


def trained(tmp_path, file, config, name="run", **changes):
    content = json.loads(json.dumps(EXPERIMENT))
    content["platform_file_path"] = str(config.rootpath / "platforms/pool_64.csv")
    content["pybatsim"]["agent"] |= changes.pop("agent", {})
    content["training"] |= changes
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(content))
    line = ["train", "-q", "--options", str(path), "--agent", f"agents/{file}.py", "--output", str(tmp_path / name)]
    return main(line), tmp_path / name


# learns for 20 s what `test_ppo` learns whole; compiles more policies, or is another agent
@pytest.mark.lane(more=r"kernel-options1", slow=r"(?!(kernel-options1)$).*")
@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("kernel", {"imitate": "saf+reserve:8", "imitate_episodes": 4, "imitate_epochs": 2, "baseline": "sjf+easy"}),
        (
            "kernel",
            {"agent": {"critic": True}, "n_steps": 16, "alike": 1, "imitate": "saf+greedy", "imitate_epochs": 1},
        ),
        ("actor_critic", {"agent": {"optimizer": "rmsprop"}, "n_steps": 5, "alike": 1, "steps": 300}),
    ],
)
def test_a_training_is_resumed_to_the_same_weights(agent, options, tmp_path, pytestconfig, monkeypatch):
    assert trained(tmp_path, agent, pytestconfig, "whole", **json.loads(json.dumps(options)))[0] == 0
    learn, learned = training.learn_from, []

    def interrupted(agent, played):
        learned.append(played)
        if len(learned) == 5 or (not options.get("n_steps") and len(learned) == 2):
            raise KeyboardInterrupt
        return learn(agent, played)

    monkeypatch.setattr(training, "learn_from", interrupted)
    code, folder = trained(tmp_path, agent, pytestconfig, "cut", checkpoint_every=4, **json.loads(json.dumps(options)))
    assert code != 0
    monkeypatch.setattr(training, "learn_from", learn)
    assert main(["train", "-q", "--trust", "--resume", str(folder)]) == 0
    one, other = (torch.load(tmp_path / name / "checkpoint.pt") for name in ("whole", "cut"))
    assert one["counters"]["decisions"] == other["counters"]["decisions"]
    for name, weights in one["parameters"].items():
        assert weights.equal(other["parameters"][name]), name
    rows = [(tmp_path / name / "rewards.log").read_text() for name in ("whole", "cut")]
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        ("reinforce", {"n_steps": 5}, "training.n_steps: Reinforce has no critic to estimate later rewards"),
        ("kernel", {"imitate": "sjf+eazy"}, "mode 'eazy' is not known"),
        ("kernel", {"load": [0.9, 0.7]}, "the smallest and the largest load are needed"),
    ],
)
def test_what_cannot_be_trained_so_is_one_clear_line(agent, options, message, tmp_path, pytestconfig, capsys):
    assert trained(tmp_path, agent, pytestconfig, **options)[0] == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1


# learns for 20 s what `test_ppo` learns whole
@pytest.mark.more
def test_ppo_learns_the_toy_from_parts_of_its_episodes(tmp_path):
    agent = walker(epochs=4, minibatch=64, gae_lambda=1.0)
    for _ in range(40):
        walks = play_episodes(agent, [Walk() for _ in range(16)])
        agent.learn([halves for walk in walks for halves in split(walk)])
    assert np.mean(evaluate(agent, Walk, 1)["reward"]) > 0.9 * optimum()  # 1 without ever opening the door


def split(walk):
    """The two halves of an episode."""
    columns = (walk.observations, walk.masks, walk.actions, walk.rewards, walk.times)
    then = walk.observations[5], walk.masks[5]
    return [Episode(*(own[:5] for own in columns), 5.0, then), Episode(*(own[5:] for own in columns), 0.0)]


# compiles one more kind of run
@pytest.mark.slow
def test_an_agent_trained_on_one_machine_plays_the_trace_of_another_machine(tmp_path, pytestconfig):
    code, folder = trained(tmp_path, "kernel", pytestconfig, imitate="saf+greedy", imitate_episodes=8, episodes=4)
    assert code == 0
    line = ["compare", "-q", "--trust", "--trace", "workloads/lublin_256.swf.gz", "--windows", "2x60", "--policies"]
    assert main([*line, f"saf+greedy,agent:{folder}", "--output", str(tmp_path / "compared")]) == 0
    results = (tmp_path / "compared" / "results.csv").read_text().splitlines()
    assert len(results) == 1 + 2 * 2
