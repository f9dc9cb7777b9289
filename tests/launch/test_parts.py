"""Trainings whose updates are played in parts: what is learned does not depend on who plays which part, or when."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from parts import AGENT, left_in, write_training
from robust_inputs import refused

from hdeeprm_like.errors import AgentError, OptionsError, ResultsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.learned import train_learner
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.launch.parts import one_by_one, part_of_update
from hdeeprm_like.launch.resuming import resume_learner
from hdeeprm_like.learning.weights import weights_as_bytes
from hdeeprm_like.studies.sweep.engine import Where, gathered, gathering


class Gathering:
    """Gives a function in the place of `one_by_one`."""

    def __init__(self, gather):
        self.gather = gather

    def __enter__(self):
        return self.gather

    def __exit__(self, *_):
        pass


def trained(options, output, *gather, **how):
    learner = Learner(load_experiment(options), AgentChoice(str(AGENT)), **how)
    train_learner(learner, output, False, False, *map(Gathering, gather))
    return left_in(output)


# on two workers, which load everything anew; parts played here stay
@pytest.mark.more
def test_two_processes_teach_to_the_last_bit_what_this_one_does(tmp_path):
    options = write_training(tmp_path)
    here = trained(options, tmp_path / "here")
    with gathering(Where("local", tmp_path / "two", 2)) as gather:
        assert trained(options, tmp_path / "two", gather) == here
    assert trained(write_training(tmp_path, parts=2), tmp_path / "other") != here  # parts have numbers of their own


# trains once more
@pytest.mark.more
def test_the_order_of_the_parts_changes_nothing_and_the_threads_of_torch_stay(tmp_path, one_thread):
    options, sizes = write_training(tmp_path), []

    def backwards(function, calls):
        found = [function(*call) for call in reversed(calls)][::-1]
        sizes.append([len(part) for part in found])
        return found

    torch.set_num_threads(2)
    assert trained(options, tmp_path / "back", backwards) == trained(options, tmp_path / "here")
    assert sizes == [[1, 1, 2], [1, 1, 2]]
    assert torch.get_num_threads() == 2


def test_parts_see_the_weights_of_their_update_and_draw_numbers_of_their_own(tmp_path, monkeypatch):
    played, seeds = [], []
    monkeypatch.setattr("hdeeprm_like.launch.parts.seed_all", seeds.append)

    def keep(function, calls):
        found = one_by_one(function, calls)
        again = one_by_one(function, calls)
        for one, other in zip(found, again, strict=True):
            assert all(np.array_equal(a.actions, b.actions) for a, b in zip(one, other, strict=True))
        played.append([call[1] for call in calls])
        return found

    trained(write_training(tmp_path), tmp_path / "out", keep)
    assert len(played) == 2
    assert len(seeds) == 12
    assert len(set(seeds)) == 6  # three parts of each update, played twice
    assert all(len(set(weights)) == 1 for weights in played)
    assert played[0][0] != played[1][0]


def test_a_part_is_played_with_the_weights_that_come_with_it(tmp_path):
    trained(write_training(tmp_path), tmp_path / "out")
    learner = resume_learner(tmp_path / "out")
    state, wanted = learner.agent.state_dict(), learner.actions.size - 1
    last = max(name for name in state if name.startswith("actor.") and name.endswith(".bias"))
    state[last][wanted] = 1e6
    played = part_of_update(tmp_path / "out", weights_as_bytes(learner.agent), 0, 4)
    assert len(played) == 4
    assert all((episode.actions == wanted).all() for episode in played)


ANNEALED = """
import torch
from hdeeprm_like.learning.agents import PolicyLearningAgent

class Told(PolicyLearningAgent):
    def __init__(self, action_size, observation_size, hidden=8, lr=0.01, gamma=0.9):
        self.gamma, self.learning_rate, self.left = gamma, lr, -1.0
        self.out = torch.nn.Linear(observation_size, action_size)

    def anneal(self, left):
        self.left = left

    def forward_policy(self, observation):
        return torch.softmax(self.out(observation), 1)

    def choose(self, *what):
        with open(NOTES, "a") as notes:
            notes.write(f"{self.left}\\n")
        return super().choose(*what)
"""


def test_a_part_is_played_as_the_agent_was_annealed(tmp_path):
    (tmp_path / "told.py").write_text(ANNEALED.replace("NOTES", repr(str(tmp_path / "notes"))))
    told = []
    for parts in (1, 3):
        options = write_training(tmp_path, parts=parts, episodes=12)
        learner = Learner(load_experiment(options), AgentChoice(str(tmp_path / "told.py")))
        train_learner(learner, tmp_path / str(parts), False, False)
        told.append(list(dict.fromkeys((tmp_path / "notes").read_text().split())))
        (tmp_path / "notes").unlink()
    assert told[0] == told[1]
    assert len(told[0]) > 2


def test_a_part_of_an_agent_whose_layers_come_later_is_refused_in_one_line(tmp_path):
    trained(write_training(tmp_path), tmp_path / "out")
    learner = resume_learner(tmp_path / "out")
    learner.agent.register_buffer("later", torch.zeros(1))
    with pytest.raises(AgentError, match="make all layers and buffers in __init__"):
        part_of_update(tmp_path / "out", weights_as_bytes(learner.agent), 0, 4)


def test_an_engine_that_cannot_be_had_leaves_nothing(tmp_path):
    @contextmanager
    def cannot():
        raise OptionsError("no such engine")
        yield

    learner = Learner(load_experiment(write_training(tmp_path, imitate="fcfs")), AgentChoice(str(AGENT)))
    with pytest.raises(OptionsError, match="no such engine"):
        train_learner(learner, tmp_path / "out", False, False, cannot())
    assert not (tmp_path / "out").exists()


# trains once more
@pytest.mark.more
def test_what_is_played_here_leaves_the_random_numbers_of_the_training_as_they_are(tmp_path):
    options = write_training(tmp_path)

    def elsewhere(function, calls):
        before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
        found = one_by_one(function, calls)
        torch.set_rng_state(before[0])
        np.random.seed(99)  # noqa: NPY002
        return found

    assert trained(options, tmp_path / "one", elsewhere) == trained(options, tmp_path / "two")


def test_a_training_in_parts_goes_on_as_if_it_had_never_ended(tmp_path):
    options = write_training(tmp_path)
    whole = trained(options, tmp_path / "whole")
    output = tmp_path / "cut"
    trained(options, output, episodes=4)
    train_learner(resume_learner(output, None, 8), output, True, False)
    assert left_in(output)[1:] == whole[1:]
    assert left_in(output)[0].partition("'counters'")[0] == whole[0].partition("'counters'")[0]


# trains once more
@pytest.mark.more
def test_another_training_in_the_same_folder_has_an_agent_of_its_own(tmp_path):
    options = write_training(tmp_path)
    first = trained(options, tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    content = options.read_text()
    options.write_text(content.replace('"hidden": 8', '"hidden": 9').replace('"seed": 5', '"seed": 6'))
    assert trained(options, tmp_path / "out") != first


def test_a_part_that_is_lost_twice_ends_the_training_in_one_line(tmp_path):
    from hdeeprm_like.studies.sweep.engine import Lost

    class Loses:
        workers = 1

        def submit(self, function, calls):
            self.count = len(calls)

        def results(self):
            yield from ((n, Lost("killed")) for n in range(self.count))

    with pytest.raises(ResultsError, match="lost twice: killed"):
        trained(write_training(tmp_path), tmp_path / "out", lambda *what: gathered(Loses(), *what))


@pytest.mark.parametrize(
    ("training", "words", "told"),
    [
        ({"parts": 1}, ["--engine", "local"], "train --engine: an engine plays the parts of an update"),
        ({"parts": 1}, ["--processes", "2"], "train --processes: an engine plays the parts of an update"),
        ({"n_steps": 5}, [], "training.parts: are of whole episodes"),
        ({"parts": 0}, [], "training.parts"),
    ],
)
def test_what_cannot_be_shared_out_is_refused_before_anything_is_written(tmp_path, training, words, told):
    options = write_training(tmp_path, **training)
    assert told in refused("train", "-o", options, "--agent", AGENT, "--output", tmp_path / "out", "-q", *words)
    assert not (tmp_path / "out").exists()
