"""``reproduce``: claims and verdicts, results that are whole or absent, and a page that a browser can read."""

import json
import shutil
import subprocess

import numpy as np
import pytest
from pages import Page
from robust_inputs import printed, refused

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.results.html import rendered
from hdeeprm_like.studies.reproduction import claims, run
from hdeeprm_like.studies.reproduction.claims import allowance, judged, prediction, student
from hdeeprm_like.studies.reproduction.experiment import DOCUMENTS, Number, chosen, experiment, known_ids
from hdeeprm_like.studies.reproduction.measures.learning import cpu_of_training, merged, trained
from hdeeprm_like.studies.reproduction.place import Place, Settings, code_of, measure_of
from hdeeprm_like.studies.reproduction.report import AGREE, OTHERWISE, content_of, described, origin_of, source_of
from hdeeprm_like.studies.reproduction.run import is_reduced

CHROMIUM = shutil.which("chromium")


def number(value, kind, **claim):
    return Number("key", "what", value=value, claim={"kind": kind, **claim})


def verdict(found, value, kind, **claim):
    return judged(number(value, kind, **claim), found).verdict


# claims


@pytest.mark.parametrize(
    ("found", "value", "claim", "expected"),
    [
        (3.0, 3.0, {"kind": "equal"}, claims.EQUAL),
        (3.1, 3.0, {"kind": "equal", "tolerance": 0.2}, claims.EQUAL),
        (3.1, 3.0, {"kind": "equal"}, claims.DIFFERS),
        ("1 to 2", "1 to 2", {"kind": "equal"}, claims.EQUAL),
        ("1 to 3", "1 to 2", {"kind": "equal"}, claims.DIFFERS),
        ([1.0, 2.0, 3.0], 2.5, {"kind": "holds"}, claims.CONFIRMED),
        ([1.0, 1.1, 0.9], 2.5, {"kind": "holds"}, claims.CONTRADICTED),
        ([0.79, 0.8, 0.81], 1.2, {"kind": "direction", "neutral": 1}, claims.CONTRADICTED),
        ([1.19, 1.2, 1.21], 1.2, {"kind": "direction", "neutral": 1}, claims.CONFIRMED),
        ([20.0, 22.0, 24.0], 93.0, {"kind": "direction", "neutral": 1}, claims.DIRECTION),
        ([20.0, 22.0, 24.0], 93.0, {"kind": "direction", "neutral": 1, "size": [0.1, 10]}, claims.CONFIRMED),
        ([280.0, 290.0, 300.0], 93.0, {"kind": "direction", "neutral": 1}, claims.DIRECTION),
        ([0.5, 1.0, 1.6], 1.2, {"kind": "direction", "neutral": 1}, claims.NOT_SHOWN),
        ([-2.0, -1.0, -1.5], None, {"kind": "direction", "neutral": 0, "side": "below"}, claims.CONFIRMED),
        ([1.0, 1.01, 0.99], 1.0, {"kind": "range", "low": 0.9, "high": 1.1}, claims.CONFIRMED),
        ([1.0, 1.2, 0.8], 1.0, {"kind": "range", "low": 0.9, "high": 1.1}, claims.NOT_SHOWN),
        ([2.0, 2.01, 1.99], 1.0, {"kind": "range", "low": 0.9, "high": 1.1}, claims.CONTRADICTED),
        (0.5, None, {"kind": "direction", "neutral": 1, "side": "below", "repeated": True}, claims.NOT_SHOWN),
        (5.0, 1.0, {"kind": "none"}, claims.PRINTED),
        (5.0, 1.0, {"kind": "none", "undefined": True}, claims.UNDEFINED),
        (None, 1.0, {"kind": "holds"}, claims.QUOTED),
    ],
)
def test_a_verdict_follows_from_what_was_found_and_what_is_claimed(found, value, claim, expected):
    assert verdict(found, value, **claim) == expected


@pytest.mark.parametrize(
    ("value", "claim", "allowed"),
    [
        (3.0, {"kind": "equal"}, "exactly"),
        (3.0, {"kind": "equal", "tolerance": 0.5}, "± 0.5"),
        (3.0, {"kind": "holds"}, "what our interval holds"),
        (3.0, {"kind": "prediction", "windows": 10}, "what 10 of our windows may give"),
        (1.0, {"kind": "range", "low": 0.9, "high": 1.1}, "0.9 to 1.1"),
        (1.0, {"kind": "range", "low": 0.9}, "at least 0.9"),
        (1.0, {"kind": "range", "high": 1.1}, "at most 1.1"),
        (93.0, {"kind": "direction", "neutral": 1}, "46.5 to 186"),
        (93.0, {"kind": "direction", "neutral": 1, "size": [0.9, 1.1]}, "83.7 to 102.3"),
        (49.0, {"kind": "direction", "neutral": 0, "between": [25, 75]}, "25 to 75"),
        (None, {"kind": "direction", "neutral": 1, "side": "below"}, "below 1"),
        (3.0, {"kind": "none"}, ""),
    ],
)
def test_what_a_claim_allows_is_told(value, claim, allowed):
    one = number(value, **claim)
    assert allowance(one) == allowed
    assert judged(one, [2.0, 3.0]).allowed == allowed


def test_the_small_scale_and_fewer_seeds_are_less_than_the_published_budget_and_contradict_nothing(tmp_path):
    for name, settings, reduced in (
        ("R10", {}, True),
        ("R10", {"scale": "full"}, False),
        ("R10", {"scale": "full", "seeds": 1}, True),
        ("R05", {}, False),
        ("R05", {"seeds": 2}, True),
    ):
        assert is_reduced(Place(experiment(name), Settings(tmp_path, **settings))) == reduced
    one = number(2.5, "holds")
    assert judged(one, [1.0, 1.1, 0.9]).verdict == claims.CONTRADICTED
    assert judged(one, [1.0, 1.1, 0.9], reduced=True).verdict == claims.NOT_SHOWN
    assert judged(one, [1.0, 2.0, 3.0], reduced=True).verdict == claims.CONFIRMED


@pytest.mark.parametrize("name", known_ids())
def test_no_claim_allows_more_than_half_to_twice_what_was_published_unless_the_document_spreads_it(name):
    for one in experiment(name).numbers:
        claim, value = one.claim, one.value
        significance = claim.get("high") == 0.05  # whether a p is significant, however small
        if not isinstance(value, int | float) or not value or claim.get("spread") or significance:
            continue
        least, most = claims.sizes_of(one) if claim["kind"] == "direction" else (claim.get("low"), claim.get("high"))
        if claim["kind"] == "range" and value < 0:
            least, most = most, least
        if claim["kind"] in ("direction", "range"):
            assert least is None or abs(least) >= 0.5 * abs(value) or least == claim.get("neutral"), one.key
            assert most is None or abs(most) <= 2.0 * abs(value), one.key


def test_intervals_are_students():
    mean, low, high, std = student([1.0, 2.0, 3.0, 4.0])
    assert (mean, std) == pytest.approx((2.5, np.sqrt(5 / 3)))
    assert high - mean == mean - low == pytest.approx(3.182446 * std / 2)  # t of 3 degrees of freedom
    assert np.isnan(student([1.0])[1])


def test_a_published_mean_of_ten_windows_is_one_that_ten_of_ours_would_give():
    windows = np.r_[np.zeros(90), np.full(10, 100.0)]  # means of ten are 0, 10, 20, ...
    low, high = prediction(windows, 10)
    assert (low, high) == (0.0, 30.0)
    assert verdict(windows, 30.0, "prediction", windows=10) == claims.CONFIRMED
    assert verdict(windows, 50.0, "prediction", windows=10) == claims.CONTRADICTED


# experiments as data


@pytest.mark.parametrize("name", known_ids())
def test_an_experiment_is_whole(name):
    found = experiment(name)
    assert set(found.document.replace(",", " ").split()) <= DOCUMENTS.keys()
    assert {number.claim["kind"] for number in found.numbers} <= claims.VERDICT_OF.keys()
    assert len({number.key for number in found.numbers}) == len(found.numbers)
    assert {one.expected for one in found.numbers} <= {*claims.VERDICTS, ""}
    assert set(found.minutes) == set(found.seeds) == {"small", "full"}
    for one in found.numbers:
        if one.claim["kind"] in ("equal", "holds", "prediction"):
            assert one.value is not None, one.key
    assert callable(measure_of(found))
    assert len(code_of(found)) == 64


def test_a_tier_holds_those_below_it_and_ids_are_taken_in_any_case():
    assert [one.id for one in chosen([], "quick")] == [f"R0{number}" for number in range(1, 10)]
    assert {one.id for one in chosen([], "quick")} <= {one.id for one in chosen([], "long")}
    assert [one.id for one in chosen(["r07", "R07", "r01"], "quick")] == ["R07", "R01"]
    with pytest.raises(OptionsError, match="experiment 'R77' is not known"):
        chosen(["R77"], "quick")


def test_what_is_quoted_for_a_reason_of_its_own_asks_for_no_trace(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    place = Place(experiment("R14"), Settings(tmp_path))
    told = {number.key: run.missing(place, number) for number in place.experiment.numbers}
    assert told["hpc2n_smdp"] == "input missing: hdeeprm-like fetch-trace HPC2N-2002-2.2-cln"
    assert told["hpc2n_rls"] == told["lublin_1_rls"] == ""


# the command


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of three quick experiments, one of them without its trace."""
    folder = tmp_path_factory.mktemp("reproduction") / "found"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(folder.parent / "empty"))
        printed("reproduce", "R01", "R04", "R07", "--output", folder, "--quiet")
    return folder


@pytest.fixture(scope="module")
def told(results):
    """What is known of each experiment."""
    return json.loads((results / "results.json").read_text())["results"]


@pytest.fixture(scope="module")
def page(results):
    """The text of the page."""
    return (results / "report.html").read_text()


def test_every_published_number_has_a_row(results, told):
    assert [result["id"] for result in told] == ["R01", "R04", "R07"]
    for result in told:
        assert [row["key"] for row in result["numbers"]] == [one.key for one in experiment(result["id"]).numbers]
    rows = (results / "results.csv").read_text().splitlines()
    assert len(rows) == 1 + sum(len(result["numbers"]) for result in told)
    assert {row["verdict"] for row in told[0]["numbers"]} == {claims.EQUAL}
    assert {row["budget"] for row in told[0]["numbers"]} == {"1 seed"}
    assert told[0]["numbers"][0]["allowed"] == "exactly"


def test_a_missing_trace_is_told_and_fails_nothing(results, told):
    assert json.loads((results / "R04" / "result.json").read_text())["numbers"] == told[1]["numbers"]
    verdicts = [row["verdict"] for row in told[1]["numbers"]]
    assert verdicts[0] == claims.EQUAL
    assert set(verdicts[1:]) == {claims.QUOTED}
    assert told[1]["missing"] == ["METACENTRUM-2013-3"]
    assert all("hdeeprm-like fetch-trace METACENTRUM-2013-3" in row["note"] for row in told[1]["numbers"][1:])


def test_options_files_can_be_launched_by_hand(results, tmp_path):
    printed("launch", "--options", results / "R01" / "options" / "gaia.json", "--output", tmp_path / "run", "-q")
    assert (tmp_path / "run" / "out_jobs.csv").exists()


def test_results_are_neither_overwritten_nor_made_twice(results, monkeypatch):
    again = ("reproduce", "R07", "--output", results, "--quiet")
    assert "--resume" in refused(*again)
    before = (results / "R07" / "result.json").read_text()
    monkeypatch.setattr(run, "measure_of", lambda experiment: pytest.fail("measured again"))
    printed(*again, "--resume", "--no-report")
    assert (results / "R07" / "result.json").read_text() == before
    same, other = (Place(experiment("R07"), Settings(results, **seeds)).key() for seeds in ({}, {"seeds": 2}))
    assert same != other


def test_what_trainings_took_counts_when_an_experiment_goes_on_also_worded_anew(tmp_path):
    place = Place(experiment("R14"), Settings(tmp_path))
    assert place.cpu_seconds_of_trainings() == 0.0
    place.part("cpu-smdp-1", lambda: 12.5)
    place.part("cpu-smdp-2", lambda: None)  # was cut, and nobody knows what its first part took
    assert place.cpu_seconds_of_trainings() == 12.5
    for part, took in (("smdp-1", 12.5), ("smdp-2", None)):
        write_json(tmp_path / "R14" / "parts" / f"cpu-{part}.json", {"key": "of other words", "value": took})
    found = [cpu_of_training(place, Trained(tmp_path / f"smdp-{seed}")) for seed in (1, 2, 3)]
    assert found == pytest.approx([12.5, np.nan, np.nan], nan_ok=True)


def test_an_agent_of_another_budget_is_not_taken_for_that_of_this_one(tmp_path):
    small, full = (Place(experiment("R14"), Settings(tmp_path, scale)) for scale in ("small", "full"))
    content = merged(small.experiment.options["smdp"], {"seed": 1})
    small.written("smdp-1", content)
    write_json(small.folder / "runs" / "smdp-1" / "run.json", {"status": "complete"})
    assert trained(small, "smdp", "smdp", 1).folder == small.folder / "runs" / "smdp-1"
    with pytest.raises(ResultsError, match="smdp-1: has learned by other options"):
        trained(full, "smdp", "smdp", 1, training={"episodes": 4000})


def test_strict_fails_where_something_unexpected_is_contradicted(tmp_path, monkeypatch, capsys):
    from hdeeprm_like.studies.reproduction.place import Findings

    monkeypatch.setattr(run, "measure_of", lambda experiment: lambda place: Findings({"days": 12.0}))
    arguments = ["reproduce", "R07", "--quiet", "--no-report", "--output"]
    assert main([*arguments, str(tmp_path / "a")]) == 0
    assert main([*arguments, str(tmp_path / "b"), "--strict"]) == 1
    assert "R07 days: differs" in capsys.readouterr().err


def test_a_line_of_a_number_tells_its_document(told):
    quoted = "quoted (input missing: hdeeprm-like fetch-trace METACENTRUM-2013-3)"
    assert described(told[1]).splitlines()[1].endswith(quoted)
    first = "R01 T table 5.1   nodes   published 153 (allowed: exactly)   ours 153 (1 seed)   equal (x 1)\n"
    assert described(told[0]).startswith(first)
    assert source_of({"id": "R02"}, {"source": "K table I"}) == "K table I"
    assert source_of({"id": "R11"}, {"source": "fig. 5.5"}) == "C fig. 5.5"


def test_the_list_tells_what_each_costs_and_lacks(tmp_path):
    (tmp_path / "METACENTRUM-2013-3.swf.gz").touch()
    lines = printed("reproduce", "--list", "--traces", tmp_path).splitlines()
    assert [line.split()[0] for line in lines] == known_ids()
    assert lines[3].endswith("(METACENTRUM-2013-3 found)")


# the page


def test_the_page_begins_with_what_holds_and_what_does_not(page):
    assert page.index("What holds and what does not") < page.index("All numbers")
    first = page[page.index("<h1>") : page.index('id="made"')]
    assert "came out as published" in " ".join(first.split())
    assert first.count("<table") == 1
    assert all(f">{name}: " in first for name in ("R01", "R04", "R07"))
    assert "All numbers</h2>" not in first


def test_the_page_needs_no_scripts_and_nothing_beside_it_and_tells_what_others_would_take(page):
    assert "<script" not in page
    assert all(address.startswith("data:") for address in Page(page).loaded)
    others = "Estimates: six models, six machines, five traces: 60 min of CPU time; 18 h with --scale full"
    assert f"<li>R15, {others}" in page
    assert "<li>R07, " not in page


def test_results_of_several_machines_each_tell_their_own(results, told):
    told = json.loads(json.dumps(told))
    told[1]["made"] |= {"machine": "aarch64, 72 processors", "date": "2030-01-02"}
    text = str(rendered("studies/reproduction/report.html", **content_of(told, results)))
    assert f"<li>R01, R07: {origin_of(told[0])}</li>" in text
    assert f"<li>R04: {origin_of(told[1])}</li>" in text
    section = text[text.index('<section id="R04">') :]
    assert "aarch64, 72 processors, 2030-01-02" in section[: section.index("What the document did")]


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: the page is not opened in a browser")
def test_a_browser_shows_every_number_and_complains_of_nothing(results, told, tmp_path):
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--enable-logging=stderr"]
    page = (results / "report.html").resolve().as_uri()
    shown = subprocess.run([CHROMIUM, *flags, "--dump-dom", page], capture_output=True, text=True, timeout=600)
    assert "CONSOLE" not in shown.stderr
    found, summary = Page(shown.stdout).tables[:2]
    rows = [(result["id"], row["verdict"]) for result in told for row in result["numbers"]]
    assert [(cells[0], cells[1]) for cells in summary[1:]] == rows
    assert summary[1][4:7] == ["153", "exactly", "153"]
    for cells, one in zip(found[1:], told, strict=True):
        counts = [sum(row["verdict"] in verdicts for row in one["numbers"]) for verdicts in (AGREE, OTHERWISE)]
        assert [int(cells[1]), int(cells[3])] == counts
