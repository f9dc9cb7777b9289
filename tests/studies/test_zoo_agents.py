"""Agents that come along: small, with a card, played anywhere; and packing one's own."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import hdeeprm_like as hl
from hdeeprm_like.decision.agent_names import zoo_agents
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.studies.zoo_agents import OF_CARD, card_of, pack_agent

MOST = 200_000  # bytes of an agent that comes along
CARD = dict.fromkeys(OF_CARD, "some")


@pytest.mark.parametrize("name", sorted(zoo_agents()))
def test_an_agent_that_comes_along_is_small_and_has_a_whole_card(name):
    folder = zoo_agents()[name]
    assert sum(path.stat().st_size for path in folder.iterdir()) < MOST
    card = card_of(f"zoo/{name}")
    assert [entry for entry in OF_CARD if not card.get(entry)] == []
    figures = [one for row in card["figures"] for one in row["policies"].values()]
    assert all(one["cost"] > 0.0 if "cost" in one else one["bounded_slowdown"] >= 1.0 for one in figures)
    assert all(f"agent:zoo/{name}" in row["policies"] for row in card["figures"])
    torch.load(folder / "best.pt", weights_only=True)  # no code in it


def test_an_agent_is_loaded_by_its_name():
    agent = hl.load_agent("zoo/kernel-lublin")
    assert agent.greedy
    assert hl.load_agent("agent:zoo/kernel-lublin") is agent


@pytest.mark.parametrize("call", [hl.load_agent, lambda name: hl.simulate(8, "lublin-1-500", f"agent:{name}")])
def test_an_agent_that_does_not_come_along_is_refused_with_the_nearest(call):
    with pytest.raises(OptionsError, match="no shipped agent has this name; did you mean 'kernel-lublin'"):
        call("zoo/kernel-lubin")


# plays in a kind of run of its own
@pytest.mark.more
def test_an_agent_that_comes_along_is_simulated_and_compared():
    schedule = hl.simulate(256, "lublin-1-500", "agent:zoo/kernel-lublin", clock="textbook")
    assert len(schedule) == 500
    table = hl.compare("ctc-sp2", ["sjf+easy", "agent:zoo/kernel-lublin"], "disjoint:2x50")
    assert list(table["policy"]) == ["sjf+easy", "agent:zoo/kernel-lublin"]


# plays in a kind of run of its own
@pytest.mark.more
def test_a_packed_agent_decides_as_the_one_that_it_was_packed_from(tmp_path):
    before = zoo_agents()["kernel-lublin"]
    pack_agent(before, tmp_path / "again", CARD)
    assert json.loads((tmp_path / "again" / "run.json").read_text())["resumable"]["agent"] == "kernel"
    one, other = load_experiment(before / "options.json"), load_experiment(tmp_path / "again" / "options.json")
    assert one.workload.limits() == other.workload.limits()
    plays = [
        hl.simulate(256, "lublin-1-500", f"agent:{path}", clock="textbook") for path in (before, tmp_path / "again")
    ]
    assert np.array_equal(plays[0].start, plays[1].start)


def test_a_card_that_says_nothing_of_an_entry_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="card: has no 'bad_at'"):
        pack_agent(Path("nowhere"), tmp_path, CARD | {"bad_at": ""})
