"""Whoever follows a training gets its figures: Weights & Biases and MLflow, here by stand-ins, or one's own class."""

import sys
from types import SimpleNamespace

import pytest
from shipped import shipped
from toy import NAMES, Walk

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.learning.callbacks import MLflow, WeightsAndBiases, callbacks_named
from hdeeprm_like.learning.training import Played, Training
from hdeeprm_like.option_sections import TrainingSection


class Notebook:
    """Writes down what it is told."""

    def __init__(self):
        self.lines = []

    def on_start(self, beginning):
        self.lines.append(("start", beginning.folder.name, beginning.resumed, beginning.options["envs"]))

    def on_log(self, episode, figures):
        self.lines.append((episode, *figures))

    def on_end(self):
        self.lines.append("end")


class FakeWandb(Notebook):
    """As much of wandb as is used."""

    id = "run-7"

    def init(self, **how):
        self.lines.append((how["id"], how["name"], how["resume"]))
        return self

    def log(self, figures, step):
        self.lines.append((step, figures["train/reward"]))

    def finish(self):
        self.lines.append("finished")


class FakeMlflow(Notebook):
    """As much of mlflow as is used."""

    def start_run(self, run_id, run_name):
        self.lines.append((run_id, run_name))
        return SimpleNamespace(info=SimpleNamespace(run_id="abc"))

    def log_params(self, options):
        self.lines.append(options["episodes"])

    def log_metrics(self, figures, step):
        self.lines.append((step, figures["train/reward"]))

    def end_run(self):
        self.lines.append("ended")


def trained(folder, *callbacks, episodes=2, resume=False, **options):
    options = TrainingSection(episodes=episodes, envs=1, checkpoint_every=1, **options)
    played = Played(Walk, NAMES, Walk if options.evaluate_every else None)
    agent = shipped("reinforce", {"gamma": 0.9})
    Training(agent, played, folder, options).run(resume, quiet=True, callbacks=callbacks)


def test_a_callback_gets_the_beginning_each_episode_each_evaluation_and_the_end(tmp_path):
    seen = Notebook()
    trained(tmp_path / "walk", seen, evaluate_every=2, evaluation_episodes=1)
    figures = ("train/decisions", "train/reward", "train/end", "train/seconds", "train/loss", "train/policy_loss")
    assert seen.lines == [
        ("start", "walk", None, 1),
        (0, "evaluation/reward"),
        (1, *figures),
        (2, *figures),
        (2, "evaluation/reward"),
        "end",
    ]


def test_a_training_that_goes_on_says_how_much_was_told_before(tmp_path):
    trained(tmp_path, Notebook())
    seen = Notebook()
    trained(tmp_path, seen, episodes=3, resume=True)
    assert seen.lines[0] == ("start", tmp_path.name, 2, 1)
    assert [line[0] for line in seen.lines[1:-1]] == [3]


def test_a_callback_that_ends_badly_does_not_lose_the_checkpoint(tmp_path):
    class Broken(Notebook):
        def on_log(self, episode, figures):
            raise ValueError("no network")

    seen = Broken()
    with pytest.raises(ValueError, match="no network"):
        trained(tmp_path, seen)
    assert seen.lines[-1] == "end"
    assert (tmp_path / "checkpoint.pt").exists()


@pytest.mark.parametrize(
    ("module", "kind", "fake", "first", "again"),
    [
        ("wandb", WeightsAndBiases, FakeWandb, [(None, "walk", "allow")], [("run-7", "walk", "allow")]),
        ("mlflow", MLflow, FakeMlflow, [(None, "walk"), 2], [("abc", "walk")]),
    ],
)
def test_runs_elsewhere_are_told_and_gone_on_with(module, kind, fake, first, again, tmp_path, monkeypatch):
    told = fake()
    monkeypatch.setitem(sys.modules, module, told)
    trained(tmp_path / "walk", kind())
    assert told.lines[: len(first)] == first
    assert [line[0] for line in told.lines[len(first) : -1]] == [1, 2]
    told.lines.clear()
    trained(tmp_path / "walk", kind(), episodes=3, resume=True)
    assert told.lines[: len(again)] == again
    assert [line[0] for line in told.lines[len(again) : -1]] == [3]
    assert told.lines[-1] in ("finished", "ended")


@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_one_that_is_not_installed_is_refused_with_its_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptionsError, match=rf"needs {name}; install it with: pip install 'hdeeprm_like\[{name}\]'"):
        callbacks_named([name])


def test_files_are_closed_where_a_callback_cannot_begin(tmp_path):
    class Broken(Notebook):
        def on_start(self, beginning):
            raise ValueError("no network")

    seen = Notebook()
    with pytest.raises(ValueError, match="no network"):
        trained(tmp_path, seen, Broken())
    assert seen.lines[-1] == "end"


def test_a_callback_of_ones_own_is_named_by_its_file(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def on_start(self, b): ...\n    def on_log(self, e, f): ...\n    def on_end(self): ...\n"
        "class Half:\n    def on_start(self, b): ...\n"
    )
    assert type(callbacks_named(["mine.py:Mine"], tmp_path)[0]).__name__ == "Mine"
    with pytest.raises(OptionsError, match=r"callback 'mine\.py:Half': has no method on_log"):
        callbacks_named(["mine.py:Half"], tmp_path)


def test_the_command_refuses_a_callback_that_is_not_known_before_anything_is_written(tmp_path, capsys):
    words = ["train", "--options", "learning", "--agent", "reinforce", "--log-to", "wandbb", "--output"]
    assert main([*words, str(tmp_path / "x")]) == 2
    assert "callback 'wandbb' is not known; did you mean 'wandb'?" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
