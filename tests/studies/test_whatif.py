"""What-if: the answers, the changes, the fidelity, and what a user sees of mistakes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from robust_inputs import printed, refused

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.answer import Answer, answer
from hdeeprm_like.studies.whatif.changes import change_named
from hdeeprm_like.studies.whatif.fidelity import fidelity_of, rank_correlation
from hdeeprm_like.studies.whatif.figures import Grouping, intervals_of, mean_count, ratio_of, row_of, wins_and_losses
from hdeeprm_like.studies.whatif.inputs import load_log
from hdeeprm_like.studies.whatif.mechanism import asked_for
from hdeeprm_like.studies.whatif.outcome import Outcome, simulate
from hdeeprm_like.studies.whatif.wording import losers, percent, sentence, step_for, unbroken, users_sentence

JOBS = [  # submit, wait, run, cores
    (0, 0, 100, 4),
    (10, 90, 50, 4),
    (20, 0, 10, 0),
    (30, 120, 30, 2),
    (40, 110, 20, 2),
    (1000, 0, 60, 1),
]


@pytest.fixture
def log_path(tmp_path):
    """The log of `JOBS` on 4 cores."""
    lines = [
        f"{n} {s} {w} {r} {c} -1 -1 {c} {2 * r} -1 1 {n % 2} 1 -1 -1 -1 -1 -1" for n, (s, w, r, c) in enumerate(JOBS, 1)
    ]
    path = tmp_path / "jobs.swf"
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def log(log_path):
    """The same, as it is read."""
    return load_log(log_path, pool(4))


def asked(log_path, out, *more, cores=4, policies="sjf+easy"):
    """The words of a question, whose answer goes into a folder."""
    words = ["whatif", "--jobs", log_path, "--cores", cores, "--now", "fcfs+easy", "-o", out, *more]
    return [*words, "--policies", policies] if policies else words


@pytest.mark.parametrize(("cores", "grade"), [(4, "A"), (64, "D")])
def test_the_policy_that_made_a_log_retells_it_and_another_machine_is_graded_worse(log_path, cores, grade):
    machine = pool(cores)
    log = load_log(log_path, machine)
    found = fidelity_of(log, simulate(machine, log, baseline("fcfs+easy")))
    assert found is not None
    assert found.grade == grade
    if grade == "A":
        assert found.wait[0] == found.wait[1] == np.mean([0, 90, 120, 110, 0])
        assert found.order == 1.0


def test_more_nodes_shorten_waits_and_more_load_does_not(log):
    changes = [change_named("nodes=+100%"), change_named("load=2")]
    rows = answer(pool(4), log, asked_for("fcfs+easy", ["sjf+easy"], changes)).rows
    assert [row["name"] for row in rows] == ["fcfs+easy", "sjf+easy", "fcfs+easy, nodes=+100%", "fcfs+easy, load=2"]
    assert rows[2]["wait"] < rows[0]["wait"] <= rows[3]["wait"]
    assert rows[2]["cores"] == 8


@pytest.mark.parametrize(
    "text", ["nodes=10", "nodes=+", "load=0", "load=1e9", "cores=+1", "nodes=+1.5", "", "nodes=+1" + "0" * 400]
)
def test_what_is_no_change_is_refused(text):
    with pytest.raises(OptionsError, match="is none of"):
        change_named(text)


def test_a_change_to_more_cores_than_fit_into_memory_is_refused():
    with pytest.raises(OptionsError, match="at most 1,000,000 are possible"):
        change_named("nodes=+999999").of_machine(pool(4))


def test_the_interval_of_a_ratio_holds_it_and_is_one_where_nothing_changes():
    waits = np.arange(1.0, 101.0)
    blocks = np.repeat(np.arange(10), 10)
    assert ratio_of(waits, waits, blocks) == (1.0, 1.0, 1.0)
    ratio, low, high = ratio_of(waits * np.linspace(0.5, 0.9, 100), waits, blocks)
    assert low < ratio < high < 1.0
    assert np.isnan(ratio_of(waits, waits * 0.0, blocks)[0])


def test_blocks_in_which_nobody_waits_leave_the_interval_where_the_ratios_are():
    """Resamples without the blocks that have waits were taken for ratios of 0, or of 1e300."""
    before, blocks = np.where(np.arange(10) < 3, 60.0, 0.0), np.arange(10)
    assert ratio_of(before, before, blocks) == (1.0, 1.0, 1.0)
    ratio, low, high = ratio_of(before * np.linspace(1.0, 2.0, 10), before, blocks)
    assert 1.0 <= low < ratio < high <= 2.0
    after = np.where(np.arange(10) == 9, 60.0, before)  # one more waits where nobody waited before
    assert ratio_of(after, before, blocks)[0] == pytest.approx(4 / 3)
    assert np.isnan(ratio_of(after, np.where(blocks == 0, 60.0, 0.0), blocks)[1:]).all()
    most = np.where(blocks > 0, 60.0, 0.0)  # nearly all resamples have something to compare with
    _, low, high = ratio_of(np.full(10, 60.0), most, blocks)
    assert low == 1.0 < high < 2.0


def test_a_policy_that_changes_nothing_is_told_so(log):
    _, same = answer(pool(4), log, asked_for("fcfs+easy", ["fcfs+easysjf"], [])).rows
    assert sentence(same) == "With fcfs+easysjf your users would have waited just as long."


def test_rank_correlation_takes_ties_at_their_mean_rank():
    assert rank_correlation(np.array([1.0, 2.0, 2.0, 3.0]), np.array([5.0, 6.0, 6.0, 9.0])) == pytest.approx(1.0)
    assert rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([3.0, 2.0, 1.0])) == pytest.approx(-1.0)
    assert rank_correlation(np.zeros(3), np.arange(3.0)) == 0.0


def outcome(log, wait):
    """What becomes of the jobs of a log that wait so many s."""
    submit = log.jobs.submit
    run = log.jobs.delay
    return Outcome("any", "", 64, 0.0, submit, submit + wait, submit + wait + run, run, log.jobs.size)


def test_a_job_waits_longer_or_shorter_by_more_than_a_minute_and_close_is_within_five_minutes(log):
    before = np.full(5, 500.0)
    one = outcome(log, before + np.array([1.0, 60.0, 61.0, -60.0, -61.0]))
    row = row_of(one, outcome(log, before), np.ones(5, bool), np.zeros(5, int))
    assert (row["longer"], row["shorter"]) == (1 / 5, 1 / 5)
    recorded = np.full(5, 1000.0)
    found = graded(log, recorded, recorded + np.array([49.0, -51.0, 300.0, 301.0, -301.0]))
    assert (found.same, found.close) == (2 / 5, 3 / 5)  # within one minute, and within five


def test_a_job_that_asks_for_more_than_the_machine_uses_all_of_it():
    one = {
        name: np.array([value]) for name, value in (("submit", 0.0), ("start", 5.0), ("finish", 15.0), ("run", 10.0))
    }
    found = Outcome(policy="fcfs", change="", cores=4, energy=0.0, size=np.array([8]), **one)
    assert found.utilization(np.array([True])) == 10.0 / 15.0
    assert found.used.tolist() == [4.0]


def test_an_error_of_a_minute_counts_for_nothing_however_short_the_waits_are(log):
    for recorded, simulated, mark in ((10.0, 70.0, "A"), (10.0, 71.0, "D"), (0.0, 60.0, "A"), (1000.0, 1061.0, "A")):
        marks = graded(log, [recorded] * 5, [simulated] * 5).marks
        assert (marks["mean wait"], marks["median wait"]) == (mark, mark)


def graded(log, recorded, simulated):
    """The fidelity of a model under which jobs wait so many s."""
    found = fidelity_of(replace(log, wait=np.array(recorded)), outcome(log, np.array(simulated)))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("simulated", "grades"),
    [
        ([0.0, 1000, 2000, 3000, 40000], {}),
        ([0.0, 1000, 1000, 3000, 41000], {"median wait": "C", "starts within 5 minutes": "B"}),
        ([400.0, 600, 2000, 3400, 39600], {"starts within 5 minutes": "D"}),
        ([0.0, 1000, 2000, 3000, np.nan], {"jobs not graded": "D"}),
    ],
)
def test_the_grade_looks_at_more_than_the_mean(log, simulated, grades):
    found = graded(log, [0.0, 1000, 2000, 3000, 40000], simulated)
    expected = dict.fromkeys(found.marks, "A") | grades
    assert {name: found.marks[name] for name in expected if name != "utilization"} == {
        name: mark for name, mark in expected.items() if name != "utilization"
    }
    assert found.grade == max(found.marks.values()) >= max(expected.values())


def test_a_model_of_grade_d_promises_nothing_in_words_and_shows_its_numbers_small(log_path, tmp_path):
    out = tmp_path / "answer"
    warning, small = "The model does not reproduce this log: do not rely on these numbers", 'class="first grade-D"'
    said = printed(*asked(log_path, out, "--change", "load=9", cores=64))
    page = (out / "report.html").read_text()
    assert said.startswith(f"{warning} (grade D by ")
    assert page.index(warning) < page.index(small)
    assert "your users would have waited" not in said + page
    assert not json.loads((out / "whatif.json").read_text())["fidelity"]["reliable"]
    said = printed(*asked(log_path, out, "--change", "load=9"))
    page = (out / "report.html").read_text()
    assert "do not rely" not in said + page
    assert small not in page
    assert "your users would have waited" in said


def test_where_hardly_any_job_waits_no_ratio_of_waits_is_shown(log_path, tmp_path):
    """Ratios of a few waiting seconds read as -100 % to +0 %."""
    log_path.write_text("".join(f"{n} {99 * n} -1 100 4 -1 -1 4 {100 + n} -1 1 1 1 -1 -1 -1 -1 -1\n" for n in range(9)))
    said = printed(*asked(log_path, tmp_path / "answer", "--change", "load=1.001", "--change", "load=2"))
    for name in ("sjf+easy", "fcfs+easy, load=1.001"):
        assert f"{name}: hardly any job waits on this machine, then or now, so there is nothing to gain." in said
    assert said.count("hardly any waits") == 2  # in the table
    assert "hardly any job waits on this machine, load=2" not in said


def test_a_share_of_a_few_nodes_is_at_least_one_and_the_answer_says_how_many(log):
    for text, cores in (("nodes=+10%", 5), ("nodes=-10%", 3), ("nodes=+25%", 5), ("nodes=+0%", 4), ("nodes=-1", 3)):
        found = answer(pool(4), log, asked_for("fcfs+easy", [], [change_named(text)]))
        assert found.rows[1]["cores"] == change_named(text).of_machine(pool(4)).cores == cores
        assert (f"change {text!r}: {cores} cores in place of 4" in found.notes) == (cores != 4)
    assert change_named("nodes=+10%").of_machine(pool(40)).cores == 44  # 40 * 1.1 is more than 44


def test_classes_of_size_come_in_their_order_and_those_that_lose_are_named():
    sizes = Grouping.by_size(np.array([300, 2, 1, 40, 9, 5000, 2]))
    assert sizes.names == [
        *("1 core", "2 to 7 cores", "8 to 31 cores", "32 to 127 cores", "128 to 511 cores", "2048 cores on"),
    ]
    assert sizes.number.tolist() == [4, 1, 0, 3, 2, 5, 1]


def test_beside_the_users_stand_the_sizes_that_wait_longer():
    lines = [
        {"name": "sjf", "kind": "size", "group": "1 core", "wait": 10.0, "wait_now": 100.0},
        {"name": "sjf", "kind": "size", "group": "2 to 7 cores", "wait": 159.0, "wait_now": 100.0},
        {"name": "sjf", "kind": "size", "group": "8 to 31 cores", "wait": 3700.0, "wait_now": 100.0},
    ]
    found = Answer(None, [], lines, [], jobs=3, blocks=1)
    assert losers(found, "sjf") == "jobs of 8 to 31 cores (by 1 h 00 min) wait longer on average"
    assert losers(replace(found, groups=lines[:2]), "sjf") == "no size of jobs waits longer on average"


def people(*users):
    """The lines of users of sjf: names, hours that all their jobs wait longer, and their size that loses most."""
    return [
        {"name": "sjf", "group": group, "hours": hours, "worst_size": size, "worst_longer": longer}
        for group, hours, size, longer in users
    ]


def test_users_with_a_size_that_waits_longer_lose_even_if_all_their_jobs_together_do_not():
    """Ada's large jobs wait an hour longer and her many small ones shorter; by all her jobs she would not lose."""
    lost = people(("ada", -2.0, "32 to 127 cores", 3600.0), ("bob", -1.0, "1 core", 59.0))
    found = Answer(None, [], [], lost, jobs=3, blocks=1)
    assert users_sentence(found, "sjf") == (
        "1 of 2 users have a size of jobs that waits longer on average: ada (by 1 h 00 min, 32 to 127 cores)"
    )
    better = replace(found, people=people(("ada", -2.0, "1 core", -9.0)))
    assert users_sentence(better, "sjf") == "none of 1 users has a size of jobs that waits longer on average"


def test_where_a_size_waits_longer_a_user_of_that_size_is_named(log):
    """The two users share each size; what a size loses, one of them loses at least."""
    one, now = outcome(log, np.array([0.0, 90, 9000, 110, 0])), outcome(log, np.array([9000.0, 90, 120, 110, 0]))
    users, sizes = Grouping.of(["ada", "bob", "bob", "ada", "ada"]), Grouping.by_size(np.array([4, 4, 16, 2, 1]))
    lines = wins_and_losses(users, sizes, one, now, np.ones(5, bool))
    assert [(line["group"], line["worst_size"], line["worst_longer"]) for line in lines] == [
        ("bob", "8 to 31 cores", 8880.0),
        ("ada", "1 core", 0.0),
    ]


def test_the_queue_over_time_is_the_mean_number_of_jobs_that_wait_in_each_span():
    begin, end, weight = np.array([0.0, 10.0, 15.0]), np.array([20.0, 30.0, 15.0]), np.ones(3)
    edges = np.array([0.0, 10.0, 20.0, 30.0, 40.0])
    assert mean_count(begin, end, weight, edges).tolist() == [1.0, 2.0, 1.0, 0.0]
    assert mean_count(begin, end, 0.25 * weight, np.array([0.0, 40.0])).tolist() == [0.25]


def test_the_intervals_of_the_waits_hold_them_and_one_block_has_none():
    waits, blocks = np.arange(1000.0), np.arange(1000) % 10
    found = {name: dict(pair) for name, pair in intervals_of(waits, blocks).items()}
    assert 480 < found["wait_mean"]["from"] < 499.5 < found["wait_mean"]["to"] < 520
    assert 940 < found["wait_p95"]["from"] <= 949.05 <= found["wait_p95"]["to"] < 960
    assert np.isnan(dict(intervals_of(waits, blocks * 0)["wait_p95"])["to"])


@pytest.mark.parametrize(("most", "step"), [(3.0, 1), (40.0, 10), (3600.0, 1200), (4e5, 172800), (4e8, 172800000)])
def test_an_axis_of_times_has_four_marks_at_most(most, step):
    assert step_for(most) == step


@pytest.mark.parametrize(("ratio", "text"), [(0.69, "-31 %"), (0.999, "+0 %"), (1.5, "+50 %"), (776.2, "776-fold")])
def test_ratios_are_percents_unless_they_are_large(ratio, text):
    assert percent(ratio) == text


def test_a_figure_and_its_unit_stay_on_one_line():
    assert unbroken("by 3 h 20 min, 32 to 127 cores, -80 % (-84 % to -68 %)") == (
        "by 3\u00a0h\u00a020\u00a0min, 32 to 127\u00a0cores, -80\u00a0% (-84\u00a0%\u00a0to\u00a0-68\u00a0%)"
    )


def test_the_command_writes_tables_and_a_report_whose_first_screen_has_the_waits_and_who_loses(log_path, tmp_path):
    out = tmp_path / "answer"
    assert "your users would have waited" in printed(*asked(log_path, out, "--change", "nodes=+50%"))
    page, content = (out / "report.html").read_text(), json.loads((out / "whatif.json").read_text())
    assert "How well does the model reproduce the log?" in page
    shown = ("pool of 4: 4 cores", "jobs.swf", "the log has no dates", "5 of 6 compared, 1 left out", "of A to D")
    later = ("How long jobs wait", 'class="mean"', 'class="tail"', "Who wins and who loses", "Wait longer:")
    places = [page.index(part) for part in (*shown, *later, "Queue and utilization over time", "<path")]
    assert places == sorted(places)
    assert page.count("<svg") == 4  # two of the policies, two of the change
    assert page.count("<table") == page.count('class="scroll stacked"') > 3  # narrow screens cut none of them
    assert content["fidelity"]["grade"] == "A"
    assert content["subject"]["left_out"] == 1
    assert [row["change"] for row in content["outcomes"]] == ["", "", "nodes=+50%"]
    assert (out / "groups.csv").read_text().startswith("name,kind,group,jobs,wait_now,wait\n")
    assert (out / "over_time.csv").read_text().startswith("name,from,to,waiting,used\nfcfs+easy,0.0,")


def test_a_log_without_waits_has_no_fidelity(log):
    found = simulate(pool(4), log, baseline("fcfs+easy"))
    assert fidelity_of(replace(log, wait=np.full(len(log.jobs), np.nan)), found) is None


@pytest.mark.parametrize(
    ("apart", "ratio"),
    [pytest.param(0, 1.0, id="all-at-once-is-one-block-of-time"), pytest.param(100, None, id="nobody-waits")],
)
def test_what_cannot_be_told_is_null_for_programs(tmp_path, apart, ratio):
    log_path, out = tmp_path / "jobs.swf", tmp_path / "answer"
    log_path.write_text("".join(f"{n} {apart * n} -1 90 4 -1 -1 4 90 -1 1 1 1 -1 -1 -1 -1 -1\n" for n in range(1, 5)))
    said = printed(*asked(log_path, out))
    assert "not known to not known" not in said
    assert ("too little of the time has waiting jobs" in said) == (ratio is not None)
    then = json.loads((out / "whatif.json").read_text())["outcomes"][1]
    assert [then[f"wait_{end}"] for end in ("ratio", "low", "high")] == [ratio, None, None]
    assert (out / "report.html").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "whatif: needs the machine of the log: --machine FILE or --cores N"),
        (["--cores", "4", "--machine", "m.json"], "whatif: takes --machine or --cores, not both"),
        (["--cores", "4", "--change", "nodes=ten"], "is none of nodes=+10%"),
        (["--cores", "4", "--policies", "sjf+easy,sjff+easy"], "'sjff' is not known; did you mean"),
        (["--cores", "5000"], "reserves whole nodes"),
        (["--cores", "4", "--now", "fcfs+easy", "--change", "bf_interval=60"], "one of a Slurm, and fcfs+easy is none"),
        (["--cores", "4", "--now", "fcfs+easy", "--change", "partition:a.MaxTime=60"], "has no partitions"),
    ],
)
def test_mistakes_get_one_line_before_anything_is_simulated(log_path, tmp_path, monkeypatch, words, message):
    if "5000" not in words:  # which is a mistake of the simulation
        monkeypatch.setattr("hdeeprm_like.studies.whatif.answer.simulate", pytest.fail)
    assert message in refused("whatif", "--jobs", log_path, *words, "-o", tmp_path / "answer")
