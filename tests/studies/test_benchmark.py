"""The benchmark: a card of fixed and fresh cases with one score, which is played again to check it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused

from hdeeprm_like.decision.compared_policies import compared_policy
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.studies.benchmark import run as module
from hdeeprm_like.studies.benchmark.origin import origin_of, was_learned_from
from hdeeprm_like.studies.benchmark.page import read_card, table_of, write_card_page
from hdeeprm_like.studies.benchmark.protocol import FULL, QUICK, jobs_of
from hdeeprm_like.studies.benchmark.run import aggregated, benchmark, check, scores_of

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "docs" / "cards"
DATE = "2026-12-01"


@pytest.fixture(scope="module")
def card(tmp_path_factory):
    """The folder of a card, and its content."""
    folder = tmp_path_factory.mktemp("card") / "f1"
    return folder, card_of(["f2+easy"], folder)


def card_of(policies, folder, *learned_from):
    """A card of the quick form, played here."""
    return benchmark(policies, folder, True, DATE, list(learned_from), processes=1, progress=False)


def test_a_card_has_the_policy_beside_the_references_in_every_case(card):
    folder, found = card
    assert json.loads((folder / "card.json").read_text()) == found
    assert [case["name"] for case in found["cases"]] == [case.name for case in QUICK]
    for case, told in zip(QUICK, found["cases"], strict=True):
        assert [row["policy"] for row in told["summary"]] == [*case.references, "f2+easy"]
        assert told["scores"][case.references[0]] == 0.0
        best = max(told["scores"][name] for name in case.references)
        assert best == pytest.approx(1.0) or best == 0.0  # where they do not differ
        assert re.fullmatch("[0-9a-f]{64}", told["digest"])
    assert found["cost"]["seconds_per_job"] > 0.0
    assert found["score"]["fixed"]["cases"] == 3
    page = (folder / "card.html").read_text()
    assert "<strong>f2+easy</strong>" in page
    assert "quick form" in page
    assert "Learned from:\nnothing" in page


def test_the_cost_is_the_product_of_the_figures_that_count(card):
    _, found = card
    case = next(case for case in found["cases"] if case["name"] == "two-kinds, 100")
    assert case["objective"] == "turnaround x energy"
    row = next(row for row in case["summary"] if row["policy"] == "f2+easy")
    assert case["costs"]["f2+easy"] == pytest.approx(row["turnaround"] * row["energy"], rel=0.3)  # a product of means


def test_a_score_is_the_share_of_what_the_best_reference_gains():
    costs = {"base": np.array([10.0, 30.0]), "best": np.array([4.0, 6.0]), "own": np.array([1.0, 1.0])}
    scores, resampled = scores_of(costs, ("base", "best"))
    assert scores == pytest.approx({"base": 0.0, "best": 1.0, "own": 19.0 / 15.0})
    assert set(np.round(np.unique(resampled["best"]), 6)) == {0.4, 1.0, 1.6}  # gains of 6, 15 and 24 over 15
    costs["own"] = np.array([1e6, 1e6])
    assert scores_of(costs, ("base", "best"))[0]["own"] == -1.0  # no case counts less
    assert scores_of({"a": np.ones(3), "b": np.ones(3)}, ("a", "b"))[0] == {"a": 0.0, "b": 0.0}


def test_a_case_that_is_not_played_counts_nothing_in_the_score():
    cases = [
        {"fresh": False, "scores": {"a": 1.0, "b": 0.6}, "resampled": {"a": np.ones(5), "b": np.full(5, 0.6)}},
        {"fresh": False, "scores": {}, "resampled": {}},
        {"fresh": True, "scores": {"a": 0.5}, "resampled": {"a": np.full(5, 0.5)}},
    ]
    found = aggregated(cases, ["a", "b"])
    assert found["fixed"]["each"] == [0.5, 0.3]
    assert (found["fixed"]["mean"], found["fixed"]["played"], found["fixed"]["cases"]) == (0.4, 1, 2)
    assert found["fixed"]["low"] == found["fixed"]["high"] == pytest.approx(0.4)
    assert found["fresh"]["mean"] == 0.25


def test_a_benchmark_goes_on_where_it_stopped_with_the_date_of_its_card(card, monkeypatch):
    folder, found = card
    played = []
    monkeypatch.setattr("hdeeprm_like.studies.compare.run.schedules", lambda *a, **k: played.append(a) or [])
    again = benchmark(["f2+easy"], folder, quick=True, processes=1, progress=False)
    assert played == []
    assert (again["cases"], again["fresh"]) == (found["cases"], DATE)


def test_the_date_draws_the_fresh_jobs_and_no_others(tmp_path):
    for case in QUICK:
        jobs = [jobs_of(case, tmp_path / str(number), date) for number, date in enumerate((DATE, DATE, "2026-12-02"))]
        one, again, other = (sorted(at.iterdir())[1] if at.is_dir() else at for at in jobs)
        assert one.read_bytes() == again.read_bytes()
        assert (one.read_bytes() != other.read_bytes()) == case.fresh


def test_a_card_is_played_again_and_what_differs_is_told(card, tmp_path):
    folder, found = card
    again = ("benchmark", "--processes", "1", "--check")
    assert "played again, all figures are the same" in printed(*again, folder / "card.json")
    found = json.loads(json.dumps(found))
    found["cases"][1]["costs"]["f2+easy"] *= 1.01
    (tmp_path / "forged.json").write_text(json.dumps(found | {"code": "of another version"}))
    told = check(tmp_path / "forged.json", processes=1, progress=False)
    assert [line.partition(":")[0] for line in told] == ["cases 2 costs f2+easy"]
    assert "1 differences, first cases 2 costs f2+easy" in refused(*again, tmp_path / "forged.json")
    (tmp_path / "old.json").write_text(json.dumps(found | {"protocol": 1}))
    with pytest.raises(ResultsError, match="is of protocol 1, not 2"):
        check(tmp_path / "old.json")


def test_a_policy_elsewhere_is_checked_by_its_new_name(card, tmp_path):
    for name, weight in (("one", 1.0), ("two", 1.0), ("else", -1.0)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"queue": {"log_time": weight}}))
    names = [f"scored:{tmp_path / name}.json" for name in ("one", "two", "else")]
    card_of(names[:1], tmp_path / "card")
    assert check(tmp_path / "card" / "card.json", names[1:2], processes=1, progress=False) == []
    other = check(tmp_path / "card" / "card.json", names[2:], processes=1, progress=False)
    assert any(line.startswith("policies 1 digest") for line in other)
    assert any("costs" in line for line in other)


def test_a_folder_with_the_card_of_another_policy_or_date_is_left_alone(card):
    folder, _ = card
    before = (folder / "card.json").read_bytes()
    with pytest.raises(ResultsError, match=r"holds a card whose policies is \['f2\+easy'\], not \['f3\+easy'\]; name"):
        benchmark(["f3+easy"], folder, quick=True, progress=False)
    with pytest.raises(ResultsError, match="whose quick is True, not False"):
        benchmark(["f2+easy"], folder, progress=False)
    with pytest.raises(ResultsError, match="whose fresh is '2026-12-01', not '2026-12-02'"):
        benchmark(["f2+easy"], folder, True, "2026-12-02", progress=False)
    assert (folder / "card.json").read_bytes() == before


def test_an_agent_of_one_machine_has_a_card_of_the_cases_that_it_can_play(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUICK", QUICK[2:])  # one of its machine, and one of another
    found = card_of(["agent:zoo/two-kinds"], tmp_path / "x")
    assert [list(case["refused"]) for case in found["cases"]] == [[], ["agent:zoo/two-kinds"]]
    assert "jobs of two-kinds, 100" in found["cost"]["of"]
    assert "has learned on 320 cores" in (tmp_path / "x" / "card.html").read_text()
    assert (found["score"]["fixed"]["played"], found["score"]["fresh"]["mean"]) == (1, 0.0)
    assert found["policies"][0]["learned_from"] == ["model:campaigns"]
    assert found["policies"][0]["seconds"] > 0.0
    assert "| - |" in table_of([found])


def test_a_policy_that_can_play_no_case_is_refused_before_anything_is_played(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "QUICK", QUICK[:1])
    monkeypatch.setattr(module, "run_comparison", lambda *a, **k: pytest.fail("played"))
    with pytest.raises(OptionsError, match=r"benchmark: agent:zoo/two-kinds can play no case: .*has learned on 320"):
        benchmark(["agent:zoo/two-kinds"], tmp_path / "x", quick=True, progress=False)
    with pytest.raises(OptionsError, match="the recorded schedule is no policy"):
        benchmark(["actual"], tmp_path / "y", quick=True)


def test_what_a_policy_has_learned_from_is_not_among_its_cases(tmp_path):
    inspector = origin_of(compared_policy("agent:zoo/inspector-lublin"))
    assert inspector["learned_from"] == ["lublin-1"]
    jobs = {case.name: jobs_of(case, tmp_path, DATE) for case in QUICK}
    told = [was_learned_from(case, jobs[case.name], inspector["learned_from"]) for case in QUICK]
    assert told == ["lublin-1", "", "", ""]
    digest = module.digest_of(jobs[QUICK[1].name])
    assert was_learned_from(QUICK[1], jobs[QUICK[1].name], [digest]) == digest
    assert was_learned_from(QUICK[1], jobs[QUICK[1].name], ["ctc-sp2, first half"]) == ""
    assert was_learned_from(QUICK[2], jobs[QUICK[2].name], ["model:campaigns"]) == ""
    assert was_learned_from(QUICK[2], jobs[QUICK[2].name], ["model:campaigns 1"]) == "model:campaigns 1"
    found = card_of(["f2+easy"], tmp_path / "x", "lublin-1")
    assert [case["refused"] for case in found["cases"]] == [{"f2+easy": "has learned from lublin-1"}, {}, {}, {}]
    assert check(tmp_path / "x" / "card.json", processes=1, progress=False) == []


def test_several_seeds_are_one_card_with_the_score_of_each(tmp_path):
    names = []
    for seed, weight in enumerate((1.0, 0.5)):
        (tmp_path / f"{seed}.json").write_text(json.dumps({"queue": {"log_time": weight, "log_cores": seed}}))
        names.append(f"scored:{tmp_path / str(seed)}.json")
    found = card_of(names, tmp_path / "x")
    assert len(set(found["score"]["fixed"]["each"])) == 2
    assert found["score"]["fixed"]["mean"] == pytest.approx(np.mean(found["score"]["fixed"]["each"]))
    assert "and 1 more seeds`" in table_of([found])


def test_a_training_tells_its_jobs_its_seed_its_seconds_and_its_curve(tmp_path):
    line = ("train", "-q", "--options", "learning", "--agent", "reinforce", "--episodes", "6", "--seed", "5")
    printed(*line, "--output", tmp_path / "t")
    found = origin_of(compared_policy(f"agent:{tmp_path / 't'}"))
    assert (found["learned_from"], found["seed"]) == (["learning"], 5)
    assert found["seconds"] > 0.0
    assert [episode for episode, _ in found["curve"]] == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def test_cards_of_several_protocols_are_not_put_side_by_side(card):
    _, found = card
    assert table_of([found, found]).count("`f2+easy`") == 2
    with pytest.raises(ResultsError, match="figures of one protocol go together"):
        table_of([found, found | {"protocol": 1}])


def test_a_page_is_made_of_a_card_alone(card, tmp_path):
    folder, _ = card
    write_card_page(read_card(folder / "card.json"), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == (folder / "card.html").read_bytes()
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(ResultsError, match="has no 'protocol'; a card of `hdeeprm-like benchmark` is needed"):
        read_card(tmp_path / "no.json")


def test_the_command_prints_the_table_of_the_card_and_refuses_in_one_line(tmp_path):
    own = ROOT / "agents" / "own_parts.py"
    line = ("benchmark", f"{own}:longest", "-o", tmp_path / "c", "--quick", "--processes", "1")
    assert f"| `{own}:longest` |" in printed(*line)
    for words in (["f2+easy"], ["-o", "x"], ["f2+easy", "-o", "x", "--fresh", "soon"]):
        refused("benchmark", *words)


def test_the_table_of_the_docs_is_made_of_the_committed_cards():
    cards = [read_card(path) for path in sorted(CARDS.glob("*.json"))]
    assert len(cards) >= 5
    assert all([case["name"] for case in card["cases"]] == [case.name for case in FULL] for card in cards)
    text = (ROOT / "docs" / "notebook" / "benchmark.md").read_text()
    table = re.search(r"^\| policy \|.*?(?=\n\n)", text, re.S | re.M)[0] + "\n"
    assert table == table_of(cards)


def test_a_reference_that_has_learned_from_a_case_has_no_score_there(tmp_path):
    found = card_of(["saf+easy"], tmp_path, "lublin-1")
    case = found["cases"][0]
    assert "saf+easy" in QUICK[0].references
    assert case["refused"] == {"saf+easy": "has learned from lublin-1"}
    assert "saf+easy" not in case["scores"]
    assert "saf+easy" in case["costs"]
    assert found["score"]["fixed"]["played"] == 2
