"""What a user's agent stands on."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from agents_for_tests import APPENDIX_G, ClassicAgent, FixedSequence, RandomAgent
from shipped import shipped
from torch import nn
from toy import ACTIONS, LAYOUT, NAMES, PLACES, Walk

from hdeeprm_like.decision.layout import plain_layout
from hdeeprm_like.errors import AgentError
from hdeeprm_like.learning.agents import LearningAgent, PolicyLearningAgent, ValueLearningAgent, entropy
from hdeeprm_like.learning.loading import build_agent, load_agent_class
from hdeeprm_like.learning.training import play_episodes

OPTIONS = {"gamma": 0.9, "hidden": 8, "lr": 0.01}


def agent_in(tmp_path, source, options=OPTIONS):
    path = tmp_path / "my_agent.py"
    path.write_text(source)
    return build_agent(load_agent_class(str(path)), options, LAYOUT, seed=1)


class Table(PolicyLearningAgent, ValueLearningAgent):
    """Preferences and values by place."""

    def __init__(self, size=PLACES + 1, actions=ACTIONS):
        self.preferences = nn.Linear(size, actions)
        self.worth = nn.Linear(size, 1)

    def forward_policy(self, observation):
        return torch.softmax(self.preferences(observation), dim=1)

    def forward_value(self, observation):
        return self.worth(observation)


def test_the_example_of_appendix_g_learns_after_changing_its_import_line(tmp_path):
    agent = agent_in(tmp_path, APPENDIX_G)
    assert agent.gamma == 0.9
    assert agent.learning_rate == 0.01
    before = agent.input.weight.clone()
    losses = agent.learn(play_episodes(agent, [Walk(), Walk()]))
    assert np.isfinite(losses["loss"])
    assert not torch.equal(before, agent.input.weight)


def test_an_agent_that_calls_its_base_class_first_works_as_well(tmp_path):
    source = APPENDIX_G.replace("        self.input", "        super().__init__(gamma)\n        self.input", 1)
    assert agent_in(tmp_path, source).gamma == 0.9


def test_an_agent_made_by_hand_knows_its_discount():
    class Own(PolicyLearningAgent):
        def __init__(self, gamma, hidden, action_size, observation_size):
            self.layer = nn.Linear(observation_size, action_size)

    assert Own(0.75, 16, 5, 21).gamma == 0.75


def test_illegal_actions_get_probability_zero_and_the_rest_sums_to_one():
    agent = Table()
    masks = torch.tensor([[True, False, True, False], [False, False, False, True]])
    probabilities = agent.log_probabilities(torch.rand(2, PLACES + 1), masks).exp()
    assert probabilities[~masks].tolist() == [0.0] * 5
    assert probabilities.sum(1).tolist() == pytest.approx([1.0, 1.0])


def test_illegal_actions_are_never_chosen_and_leave_no_trace_in_gradients():
    agent = Table()
    with torch.no_grad():
        agent.preferences.bias[1] = 200.0  # all but certain, and illegal
    mask = np.array([True, False, True, True])
    chosen = [agent.act(np.ones(PLACES + 1, np.float32), mask) for _ in range(50)]
    assert 1 not in chosen
    logarithms = agent.log_probabilities(torch.ones(1, PLACES + 1), torch.from_numpy(mask)[None])
    assert torch.isfinite(logarithms[0, torch.from_numpy(mask)]).all()
    (entropy(logarithms).sum() + logarithms[0, 0]).backward()
    assert all(bool(torch.isfinite(p.grad).all()) for p in agent.preferences.parameters())


def test_drawing_follows_the_agents_own_generator():
    agent, chosen = Table(), []
    for _ in range(2):
        agent.generator.manual_seed(7)
        torch.rand(1)  # the global generator does not matter
        chosen.append([agent.act(np.ones(PLACES + 1, np.float32), np.ones(ACTIONS, bool)) for _ in range(20)])
    assert chosen[0] == chosen[1]


def test_a_greedy_agent_takes_the_most_probable_legal_action():
    agent = Table()
    agent.greedy = True
    with torch.no_grad():
        agent.preferences.weight.zero_()
        agent.preferences.bias[:] = torch.tensor([0.0, 3.0, 2.0, 1.0])
    seen = np.ones(PLACES + 1, np.float32)
    assert agent.act(seen, np.array([True] * 4)) == 1
    assert agent.act(seen, np.array([True, False, True, True])) == 2


def test_a_class_on_both_bases_is_an_actor_critic():
    losses = Table().learn(play_episodes(Table(), [Walk()]))
    assert set(losses) == {"loss", "policy_loss", "value_loss"}
    assert losses["loss"] == pytest.approx(losses["policy_loss"] + losses["value_loss"], rel=1e-5)


def test_the_policy_loss_is_minus_log_probability_times_return_by_hand():
    class Even(PolicyLearningAgent):
        def __init__(self):
            self.unused = nn.Linear(1, 1)

        def forward_policy(self, observation):
            return torch.full((len(observation), ACTIONS), 0.25) + 0.0 * self.unused.weight.sum()

        def transform_rewards(self, batch):
            return np.arange(1.0, len(batch) + 1)

    agent = Even()
    episode = play_episodes(agent, [Walk()])[0]
    legal = episode.masks.sum(1)
    expected = sum(weight * np.log(count) for weight, count in zip(range(1, 11), legal, strict=True))
    assert agent.learn([episode])["loss"] == pytest.approx(expected, rel=1e-5)


def test_a_critic_alone_does_not_decide():
    class Critic(ValueLearningAgent):
        def __init__(self):
            self.worth = nn.Linear(PLACES + 1, 1)

    with pytest.raises(AgentError, match="Critic does not decide by itself"):
        Critic().act(np.ones(PLACES + 1, np.float32), np.ones(ACTIONS, bool))


@pytest.mark.parametrize("name", ["adam", "rmsprop"])
def test_an_agent_without_layers_learns_nothing(name):
    agent = ValueLearningAgent()
    agent.optimizer_name = name
    with pytest.raises(AgentError, match="ValueLearningAgent has no layer whose weights it can learn"):
        agent.optimizer.zero_grad()


def test_an_agent_of_another_kind_writes_choose_and_loss():
    class Greedy(LearningAgent):
        def __init__(self):
            self.worth = nn.Linear(PLACES + 1, ACTIONS)

        def choose(self, observations, masks, episodes):
            return self.worth(observations).masked_fill(~masks, -torch.inf).argmax(1)

        def loss(self, batch):
            values = self.worth(batch.observations).gather(1, batch.actions[:, None])[:, 0]
            return (values - batch.tensor(batch.rewards)).square().mean()

    agent = Greedy()
    assert agent.learn(play_episodes(agent, [Walk()]))["loss"] > 0.0


def line_of(source, text):
    return next(number for number, line in enumerate(source.splitlines(), 1) if text in line)


@pytest.mark.parametrize(
    ("old", "new", "at", "said"),
    [
        ("return F.softmax(self.output(out_0), dim=1)", "return self.output(out_0)", "def forward", "softmax"),
        ("dim=1)", "dim=1)[:, :2]", "def forward", r"gave \(1, 2\); \(1, 4\)"),
        ("dim=1)", "dim=1) * float('nan')", "def forward", "no numbers"),
        ("dim=1)", "dim=1).numpy()", "def forward", "ndarray"),
        ("self.input(observation)", "self.inputs(observation)", "self.inputs", "AttributeError"),
        ("self.input(observation)", "self.input(observation[:, 1:])", "[:, 1:]", "RuntimeError.*shapes"),
    ],
)
def test_what_goes_wrong_in_a_users_agent_is_reported_with_file_and_line(tmp_path, old, new, at, said):
    source = APPENDIX_G.replace(old, new)
    agent = agent_in(tmp_path, source)
    with pytest.raises(AgentError, match=rf"my_agent\.py:{line_of(source, at)}: .*{said}"):
        agent.act(np.ones(PLACES + 1, np.float32), np.ones(ACTIONS, bool))


@pytest.mark.parametrize(
    ("loss", "said"),
    [("1 / 0", "17: ZeroDivisionError"), ("self.input.weight.sum() * float('inf')", r"\d+: the loss is -?inf")],
)
def test_a_users_loss_that_fails_or_is_no_number_is_reported_with_file_and_line(tmp_path, loss, said):
    source = f"{APPENDIX_G}\n    def loss(self, batch):\n        return {loss}\n"
    agent = agent_in(tmp_path, source)
    with pytest.raises(AgentError, match=rf"my_agent\.py:{said}"):
        agent.learn(play_episodes(agent, [Walk()]))


def test_wrong_values_are_refused(tmp_path):
    class Wrong(Table):
        def forward_value(self, observation):
            return self.preferences(observation)

    with pytest.raises(AgentError, match=r"forward_value gave \(10, 4\); \(10, 1\) is needed"):
        Wrong().learn(play_episodes(Table(), [Walk()]))


def test_agents_that_do_not_learn():
    seen, mask = np.zeros(0), np.array([False, True, False, True])
    assert ClassicAgent(3).act(seen, mask) == 3
    sampler = RandomAgent(np.random.default_rng(0))
    assert {sampler.act(seen, mask) for _ in range(40)} == {1, 3}
    sequence = FixedSequence([2, 0])
    assert [sequence.act(seen, mask), sequence.act(seen, mask)] == [2, 0]
    with pytest.raises(AgentError, match="2 actions and one more"):
        sequence.act(seen, mask)


def test_agents_that_do_not_learn_do_without_torch():
    code = "import sys, hdeeprm_like.run.python_loop; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


assert len(NAMES) == ACTIONS


@pytest.mark.parametrize(("name", "weights"), [("reinforce", 7 * 20 + 21 * 3), ("actor_critic", 7 * 20 + 21 * 4)])
def test_a_list_of_units_is_one_layer_each(name, weights):
    agent, deeper, as_before = (
        shipped(name, {"gamma": 0.9, "hidden": hidden}, plain_layout((6,), "abc")) for hidden in ([20], [16] * 4, 16)
    )
    assert sum(one.numel() for one in agent.parameters()) == weights
    assert all(map(torch.equal, deeper.state_dict().values(), as_before.state_dict().values()))
