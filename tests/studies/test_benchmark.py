"""The benchmark: a card of fixed cases, which goes on where it stopped, as JSON, as a page and in a table."""

import json
import re
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.studies.benchmark import run as module
from hdeeprm_like.studies.benchmark.page import read_card, table_of, write_card_page
from hdeeprm_like.studies.benchmark.protocol import FULL, QUICK, REFERENCES
from hdeeprm_like.studies.benchmark.run import benchmark

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "docs" / "cards"


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    folder = tmp_path_factory.mktemp("card") / "f1"
    return folder, benchmark("f1+easy", folder, quick=True, processes=1, progress=False)


def test_a_card_has_the_policy_beside_the_references_in_every_case(card):
    folder, found = card
    assert json.loads((folder / "card.json").read_text()) == found
    assert [case["name"] for case in found["cases"]] == [case.name for case in QUICK]
    for case in found["cases"]:
        assert list(case["figures"]) == [*REFERENCES, "f1+easy"]
        for row in case["figures"].values():
            assert row["bounded_slowdown"] >= 1.0
            assert row["wait_max"] >= row["wait"] >= 0.0
    assert found["cost"]["seconds_per_job"] > 0.0
    assert found["cases"][0]["figures"]["saf+easy"]["bounded_slowdown_difference"] == 0.0


def test_a_card_tells_intervals_and_differences_on_its_page(card):
    folder, found = card
    page = (folder / "card.html").read_text()
    row = found["cases"][0]["figures"]["f1+easy"]
    assert f"[{row['bounded_slowdown_low']:,.2f}, {row['bounded_slowdown_high']:,.2f}]" in page
    assert "<strong>f1+easy</strong>" in page
    assert "GJ" in page  # of Gaia, the machine of many kinds
    assert "quick form" in page


def test_a_benchmark_goes_on_where_it_stopped(card, monkeypatch):
    folder, found = card
    played = []
    monkeypatch.setattr("hdeeprm_like.studies.compare.run.schedules", lambda *a, **k: played.append(a) or [])
    again = benchmark("f1+easy", folder, quick=True, processes=1, progress=False)
    assert played == []
    assert again["cases"] == found["cases"]


def test_a_folder_with_the_card_of_another_policy_is_left_alone(card):
    folder, _ = card
    before = (folder / "card.json").read_bytes()
    with pytest.raises(ResultsError, match=r"holds a card whose policy is 'f1\+easy', not 'f2\+easy'; name another"):
        benchmark("f2+easy", folder, quick=True, progress=False)
    with pytest.raises(ResultsError, match="whose quick is True, not False"):
        benchmark("f1+easy", folder, progress=False)
    assert (folder / "card.json").read_bytes() == before


def test_a_policy_that_cannot_play_a_case_has_a_card_that_says_so(tmp_path, monkeypatch, card):
    real = module.run_comparison

    def refusing(comparison, *more):
        if comparison.platform is not None and len(comparison.policies) > len(REFERENCES):
            raise OptionsError("has learned on 256 cores")
        return real(comparison, *more)

    monkeypatch.setattr(module, "run_comparison", refusing)
    found = benchmark("f2+easy", tmp_path / "x", quick=True, processes=1, progress=False)
    assert [case["refused"] for case in found["cases"]] == ["", "", "has learned on 256 cores"]
    assert "f2+easy cannot play this: has learned on 256 cores" in (tmp_path / "x" / "card.html").read_text()
    assert "| cannot |" in table_of([found])


def test_the_recorded_schedule_is_no_policy(tmp_path):
    with pytest.raises(OptionsError, match="the recorded schedule is no policy"):
        benchmark("actual", tmp_path, quick=True)


def test_cards_of_several_protocols_are_not_put_side_by_side(card):
    _, found = card
    assert table_of([found, found]).count("`f1+easy`") == 2
    with pytest.raises(ResultsError, match="figures of one protocol go together"):
        table_of([found, found | {"protocol": 2}])


def test_a_page_is_made_of_a_card_alone(card, tmp_path):
    folder, _ = card
    write_card_page(read_card(folder / "card.json"), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (folder / "card.html").read_bytes()
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(ResultsError, match="has no 'protocol'; a card of `hdeeprm-like benchmark` is needed"):
        read_card(tmp_path / "no.json")


def test_the_command_prints_the_table_of_the_card(tmp_path, capsys):
    own = ROOT / "agents" / "own_parts.py"
    assert main(["benchmark", f"{own}:longest", "-o", str(tmp_path / "c"), "--quick", "--processes", "1"]) == 0
    assert f"| `{own}:longest` |" in capsys.readouterr().out


def test_the_table_of_the_docs_is_made_of_the_committed_cards():
    cards = [read_card(path) for path in sorted(CARDS.glob("*.json"))]
    assert len(cards) >= 5
    assert all([case["name"] for case in card["cases"]] == [case.name for case in FULL] for card in cards)
    text = (ROOT / "docs" / "notebook" / "benchmark.md").read_text()
    table = re.search(r"^\| policy \|.*?(?=\n\n)", text, re.S | re.M)[0] + "\n"
    ranked = sorted(cards, key=lambda card: card["cases"][0]["figures"][card["policy"]]["bounded_slowdown"])
    assert table == table_of(ranked)
