"""The training loop: what it leaves behind, and that it can be taken up again."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from shipped import shipped
from toy import ACTIONS, NAMES, PLACES, Walk, numbers_in

from hdeeprm_like.decision.layout import plain_layout
from hdeeprm_like.errors import AgentError, OptionsError, ResultsError
from hdeeprm_like.learning.checkpoint import load_agent, read_checkpoint, save_checkpoint
from hdeeprm_like.learning.constant_policy import best_constant_policy, constant_policy_means
from hdeeprm_like.learning.training import Played, Training, evaluate
from hdeeprm_like.option_sections import TrainingSection

WALKS = Played(Walk, NAMES)
FILES = ["reinforce", "actor_critic", "ppo"]


def agent_of(file="reinforce", seed=3, actions=ACTIONS, **options):
    layout = plain_layout((PLACES + 1,), NAMES[:actions])
    return shipped(file, {"gamma": 0.95, "hidden": 8, "lr": 0.01} | options, layout, seed)


def trained(folder, episodes=12, file="reinforce", resume=False, seed=3, new_episode=Walk, **options):
    agent = agent_of(file, seed)
    settings = TrainingSection(**{"episodes": episodes, "envs": 2, "checkpoint_every": 4, **options})
    evaluation = Walk if settings.evaluate_every else None
    Training(agent, Played(new_episode, NAMES, evaluation), folder, settings).run(resume, quiet=True, callbacks=())
    return agent


def left_in(folder):
    """Return everything that a training leaves but how long it took: logs, weights, optimizer, generators."""
    with (folder / "progress.csv").open(newline="") as file:
        rows = [{name: value for name, value in row.items() if name != "seconds"} for row in csv.DictReader(file)]
    logs = [(folder / name).read_text() for name in ("losses.log", "rewards.log", "probs.json")]
    logs += [path.read_text() for path in folder.glob("evaluations.csv")]
    return rows, logs, read_checkpoint(folder / "checkpoint.pt")


def assert_equal(one, other):
    assert one[:2] == other[:2]
    assert_same(one[2], other[2])


def assert_same(one, other):
    """Compare nested containers with tensors in them, bit for bit."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert one == other


def test_a_training_leaves_one_line_an_episode(tmp_path):
    trained(tmp_path)
    losses, rewards = numbers_in(tmp_path / "losses.log"), numbers_in(tmp_path / "rewards.log")
    probabilities = np.array(json.loads((tmp_path / "probs.json").read_text())["probs"])
    with (tmp_path / "progress.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(losses) == len(rewards) == len(rows) == 12
    assert probabilities.shape == (ACTIONS, 12)
    assert probabilities.sum(0) == pytest.approx(1.0)
    assert [int(row["episode"]) for row in rows] == list(range(1, 13))
    assert [float(row["reward"]) for row in rows] == rewards
    assert [float(row["p:open"]) for row in rows] == probabilities[3].tolist()


# one agent stays
@pytest.mark.lane(more=r"(?!reinforce).*")
@pytest.mark.parametrize("file", FILES)
def test_two_trainings_with_one_seed_are_equal_and_with_another_differ(tmp_path, file):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        trained(tmp_path / name, file=file, seed=seed)
    assert_equal(left_in(tmp_path / "a"), left_in(tmp_path / "b"))
    assert left_in(tmp_path / "a")[1] != left_in(tmp_path / "c")[1]


class Stopped(Exception):
    pass


def stopping_at(number):
    def new_episode(episode):
        if episode >= number:
            raise Stopped
        return Walk()

    return new_episode


# one moment for each agent stays
@pytest.mark.lane(more=r"(4|10)-.*")
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("stop", [4, 6, 10])
def test_a_resumed_training_equals_the_uninterrupted_one_bit_for_bit(tmp_path, file, stop):
    trained(tmp_path / "whole", file=file, evaluate_every=3)
    with pytest.raises(Stopped):
        trained(tmp_path / "parts", file=file, evaluate_every=3, new_episode=stopping_at(stop))
    trained(
        tmp_path / "parts", file=file, evaluate_every=3, resume=True, seed=99
    )  # the checkpoint counts, not the seed
    assert_equal(left_in(tmp_path / "whole"), left_in(tmp_path / "parts"))


def test_an_interrupt_while_playing_keeps_every_episode_learned_from(tmp_path):
    def new_episode(number):
        if number == 6:
            raise KeyboardInterrupt
        return Walk()

    trained(tmp_path / "whole", checkpoint_every=100)
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path / "parts", checkpoint_every=100, new_episode=new_episode)
    assert read_checkpoint(tmp_path / "parts" / "checkpoint.pt")["counters"]["episode"] == 6
    trained(tmp_path / "parts", checkpoint_every=100, resume=True)
    assert_equal(left_in(tmp_path / "whole"), left_in(tmp_path / "parts"))


SCRIPT = f"""
import sys, time
from pathlib import Path
sys.path[:0] = [{str(Path(__file__).parent)!r}, {str(Path(__file__).parents[1])!r}]
import test_training
from toy import Walk
def slow(number):
    time.sleep(0.004)
    return Walk()
test_training.torch.set_num_threads(1)
folder = Path(sys.argv[1])
resume = (folder / "checkpoint.pt").exists()
test_training.trained(folder, episodes=60, resume=resume, new_episode=slow, evaluate_every=5)
"""


# minutes
@pytest.mark.slow
def test_kill_9_at_any_moment_loses_at_most_the_episodes_since_the_last_checkpoint(tmp_path):
    whole = tmp_path / "whole"
    subprocess.run([sys.executable, "-c", SCRIPT, str(whole)], check=True)
    rng = np.random.default_rng(0)
    folder, kills, before = tmp_path / "killed", 0, 0
    while True:
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(folder)])
        while process.poll() is None and not (folder / "progress.csv").exists():
            time.sleep(0.01)
        if kills < 3:
            wait_for(process, folder, before + 3)
            time.sleep(rng.uniform(0.0, 0.05))
            process.send_signal(signal.SIGKILL)
            kills += 1
        assert process.wait() in (0, -signal.SIGKILL)
        kept = read_checkpoint(folder / "checkpoint.pt")["counters"]["episode"]
        logged = len((folder / "rewards.log").read_text().splitlines())
        assert kept >= before
        assert 0 <= logged - kept <= 6  # 4 between checkpoints, 2 in an update
        before = kept
        if process.returncode == 0:
            break
    assert kills == 3
    assert_equal(left_in(whole), left_in(folder))


def wait_for(process, folder, episodes):
    """Wait until a training has kept so many episodes more, or is over."""
    while process.poll() is None:
        path = folder / "checkpoint.pt"
        if path.exists() and read_checkpoint(path)["counters"]["episode"] >= episodes:
            return
        time.sleep(0.01)


def test_a_directory_with_a_training_is_not_overwritten(tmp_path):
    trained(tmp_path)
    with pytest.raises(ResultsError, match="holds a training; resume it or choose another directory"):
        trained(tmp_path)


def test_a_training_that_was_killed_before_its_first_checkpoint_begins_anew(tmp_path):
    trained(tmp_path / "whole", evaluate_every=3)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "evaluations.csv").write_text("episode,rew")  # it was killed while it wrote
    trained(tmp_path / "part", evaluate_every=3, resume=True)
    assert_equal(left_in(tmp_path / "whole"), left_in(tmp_path / "part"))


def test_a_training_that_was_killed_right_after_its_first_checkpoint_keeps_its_first_evaluation(tmp_path):
    def killed(number):
        raise SystemExit("killed")

    trained(tmp_path / "whole", evaluate_every=3)
    with pytest.raises(SystemExit):
        trained(tmp_path / "part", evaluate_every=3, new_episode=killed)
    trained(tmp_path / "part", evaluate_every=3, resume=True)
    assert_equal(left_in(tmp_path / "whole"), left_in(tmp_path / "part"))


def test_resuming_with_another_number_of_envs_is_refused(tmp_path):
    trained(tmp_path)
    with pytest.raises(OptionsError, match="envs 2, not 3"):
        trained(tmp_path, resume=True, envs=3)


@pytest.mark.parametrize(
    ("other", "names", "said"),
    [
        ({"hidden": 16}, NAMES, r"layers\.0\.weight is \(8, 6\) there and \(16, 6\) in Reinforce"),
        ({"file": "actor_critic"}, NAMES, r"is missing there and \(8, 6\) in ActorCritic"),
        ({"actions": 3}, NAMES[:3], "4 actions there, 3 here"),
        ({}, (*NAMES[:3], "close"), "action 3 is 'open' there and 'close' here"),
    ],
)
def test_a_checkpoint_of_another_agent_is_refused_with_what_differs(other, names, said, tmp_path):
    save_checkpoint(tmp_path / "a.pt", agent_of(), NAMES)
    with pytest.raises(AgentError, match=said):
        load_agent(agent_of(**other), tmp_path / "a.pt", names)


def test_a_saved_agent_acts_as_the_original(tmp_path):
    agent, other = trained(tmp_path / "run"), agent_of(seed=8)
    save_checkpoint(tmp_path / "a.pt", agent, NAMES)
    load_agent(other, tmp_path / "a.pt", NAMES)
    assert evaluate(agent, Walk, 3) == evaluate(other, Walk, 3)


class Attack:
    def __reduce__(self):
        return print, ("code ran",)


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", None])
def test_a_file_that_is_no_checkpoint_is_refused_and_never_run(tmp_path, content, capsys):
    path = tmp_path / "a.pt"
    if content is None:
        torch.save({"format": 1, "parameters": Attack()}, path)
    else:
        path.write_bytes(content)
    with pytest.raises(AgentError, match="is no checkpoint"):
        load_agent(agent_of(), path, NAMES)
    assert capsys.readouterr().out == ""


def test_the_best_evaluation_is_kept_and_the_first_is_that_of_the_initial_agent(tmp_path):
    trained(tmp_path, episodes=60, evaluate_every=10, evaluation_episodes=2)
    with (tmp_path / "evaluations.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["episode"]) for row in rows] == [0, 10, 20, 30, 40, 50, 60]
    rewards = [float(row["reward"]) for row in rows]
    best = {"episode": 10 * rewards.index(max(rewards)), "best": -max(rewards)}
    assert read_checkpoint(tmp_path / "best.pt")["counters"] == best


def test_evaluating_changes_nothing_in_a_training(tmp_path):
    trained(tmp_path / "without")
    trained(tmp_path / "with", evaluate_every=2, greedy=False)
    assert left_in(tmp_path / "without")[1] == left_in(tmp_path / "with")[1][:3]


def test_measures_stand_beside_the_reward_and_can_choose_the_best(tmp_path):
    measures = {"steps_right": lambda walk: float(np.sum(walk.episode.actions == 2))}
    how = {"episodes": 4, "envs": 2, "evaluate_every": 2, "evaluation_episodes": 2}
    options, played = TrainingSection.model_construct(**how, best="steps_right"), Played(Walk, NAMES, Walk, measures)
    Training(agent_of(), played, tmp_path, options).run(quiet=True, callbacks=())
    assert (tmp_path / "evaluations.csv").read_text().startswith("episode,reward,steps_right\n")
    with pytest.raises(OptionsError, match=r"training\.best is 'step'; reward, steps_right"):
        Training(agent_of(), played, tmp_path, TrainingSection.model_construct(best="step"))


def test_the_mean_baseline_needs_several_episodes(tmp_path):
    agent = agent_of(baseline="mean")
    with pytest.raises(OptionsError, match="--envs 2 or more"):
        Training(agent, WALKS, tmp_path, TrainingSection(episodes=2)).run(quiet=True, callbacks=())


def test_progress_is_shown_on_stderr(tmp_path, capsys):
    Training(agent_of(), WALKS, tmp_path, TrainingSection(episodes=4, envs=2)).run(callbacks=())
    shown = capsys.readouterr().err
    assert "episodes" in shown
    assert "4/4" in shown


def test_where_tensorboard_is_missing_a_line_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    Training(agent_of(), WALKS, tmp_path, TrainingSection(episodes=2)).run(quiet=True)
    assert "install hdeeprm_like[tensorboard]" in caplog.text


def test_a_constant_policy_takes_the_first_legal_action_where_its_own_is_not_legal():
    means = constant_policy_means(range(len(NAMES)), Walk, 1, {"place": lambda walk: walk.place})
    assert [row["reward"] for row in means] == [pytest.approx(reward) for reward in (1.0, 0.8, 0.8, 1.0)]
    assert [row["place"] for row in means] == [2.0, 0.0, 4.0, 2.0]
    assert best_constant_policy(len(NAMES), Walk, 2) == 0
    assert best_constant_policy(len(NAMES), Walk, 2, "place", {"place": lambda walk: walk.place}) == 1


def test_an_agent_that_can_prefer_nothing_says_so():
    with pytest.raises(AgentError, match=r"reinforce\.py:\d+: Reinforce cannot begin with a preference"):
        agent_of().prefer(0)


def test_events_for_tensorboard_are_written_where_it_is_installed(tmp_path):
    pytest.importorskip("tensorboard")
    Training(agent_of(), WALKS, tmp_path, TrainingSection(episodes=4, envs=2)).run(quiet=True)
    assert list((tmp_path / "tensorboard").glob("events.out.*"))
