"""What-if where the machine is a Slurm: orders run through its mechanism, other schedulers stand apart."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from robust_inputs import printed
from small import cluster, jobs

import hdeeprm_like as hl
from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.names import baseline, names_mode
from hdeeprm_like.decision.policies.slurm_settings import END_LATENCY, TICK
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.studies.whatif.answer import answer
from hdeeprm_like.studies.whatif.changes import change_named
from hdeeprm_like.studies.whatif.inputs import Log, asking_for_all, in_one_partition, load_log
from hdeeprm_like.studies.whatif.mechanism import CHANGE, MECHANISM, NOW, OTHER, POLICY, asked_for
from hdeeprm_like.studies.whatif.outcome import USUAL_TICK, simulate
from hdeeprm_like.studies.whatif.windows import with_nodes
from hdeeprm_like.studies.whatif.wording import sentence

SLURM = "multifactor+slurm"


@pytest.fixture
def log_path(tmp_path):
    """Thirty jobs of 1 to 4 cores and 20 to 320 s that come each 20 s."""
    lines = [
        f"{n} {20 * n} -1 {20 * 2 ** (n * 7 % 5)} {n % 4 + 1} -1 -1 {n % 4 + 1} {40 * 2 ** (n * 7 % 5)} -1 1 {n % 3} 1"
        " -1 -1 -1 -1 -1"
        for n in range(1, 31)
    ]
    path = tmp_path / "jobs.swf"
    path.write_text("; MaxProcs: 4\n" + "\n".join(lines) + "\n")
    return path


def parts(now, *policies, **how):
    """What is simulated: names, parts, and what each is held beside."""
    asked = asked_for(now, policies, **how)
    return [(one.policy.name, one.part, asked[one.beside].policy.name) for one in asked]


def test_a_policy_that_names_no_mechanism_runs_through_that_of_the_slurm_of_now():
    assert parts(SLURM, "zoo:balanced", "sjf", "saf@ewma") == [
        (SLURM, NOW, SLURM),
        ("zoo:balanced+slurm", POLICY, SLURM),
        ("sjf+slurm", POLICY, SLURM),
        ("saf@ewma+slurm", POLICY, SLURM),
    ]


def test_another_mechanism_is_held_beside_the_order_of_now_under_it():
    assert parts(SLURM, "sjf+easy", "sjf", "zoo:balanced+scored", "saf+conservative") == [
        (SLURM, NOW, SLURM),
        ("sjf+slurm", POLICY, SLURM),
        ("multifactor+easy", MECHANISM, SLURM),
        ("sjf+easy", OTHER, "multifactor+easy"),
        ("zoo:balanced", OTHER, "multifactor+easy"),
        ("multifactor+conservative", MECHANISM, SLURM),
        ("saf+conservative", OTHER, "multifactor+conservative"),
    ]


def test_the_order_of_now_under_another_mechanism_is_the_mechanism_alone():
    assert parts(SLURM, "multifactor+easy") == [(SLURM, NOW, SLURM), ("multifactor+easy", MECHANISM, SLURM)]


def test_where_the_machine_is_no_slurm_names_mean_what_they_mean_everywhere():
    assert parts("fcfs+easy", "sjf", "zoo:balanced") == [
        ("fcfs+easy", NOW, "fcfs+easy"),
        ("sjf+strict", POLICY, "fcfs+easy"),
        ("zoo:balanced", POLICY, "fcfs+easy"),
    ]


def test_each_policy_is_simulated_once():
    assert len(parts(SLURM, "sjf", "sjf+slurm", "sjf+slurm:10", SLURM, "multifactor")) == 2


def test_the_watch_is_as_asked_for_where_a_policy_does_not_tell_its_own():
    names = [name for name, *_ in parts(SLURM, "sjf", "saf+slurm", "f1+slurm:5", interval=60.0, factor=500)]
    assert names == [SLURM, "sjf+slurm:60:500", "saf+slurm:60:500", "f1+slurm:5"]


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("sjf", False),
        ("sjf@learned:a+b.json", False),
        ("sjf+easy", True),
        ("zoo:balanced-first_fit", False),
        ("zoo:balanced+slurm", True),
        ("bfbp", True),
        ("scored:my+easy.json", False),
    ],
)
def test_a_name_has_a_mechanism_or_not(name, has):
    assert names_mode(name) == has


def test_no_sentence_mixes_policy_and_mechanism(log_path):
    log = load_log(log_path, pool(4))
    found = answer(pool(4), log, asked_for(SLURM, ["sjf", "sjf+easy"], [change_named("nodes=+50%")]))
    now, policy, change, mechanism, other = found.rows
    assert [row["part"] for row in found.rows] == [NOW, POLICY, CHANGE, MECHANISM, OTHER]
    assert sentence(policy).startswith("With sjf+slurm your users would have waited")
    assert sentence(change).startswith(f"With {SLURM}, nodes=+50% your users would have waited")
    assert sentence(mechanism).startswith(
        "The mechanism alone: with multifactor+easy, the order of now and another scheduler in place of Slurm's, "
    )
    assert sentence(other).startswith(
        "With sjf+easy, another scheduler in place of Slurm's, your users would have waited"
    )
    assert " than with multifactor+easy, the mechanism alone" in sentence(other)
    assert other["beside_ratio"] == pytest.approx(other["wait"] / mechanism["wait"])
    assert mechanism["beside_ratio"] == pytest.approx(mechanism["wait"] / now["wait"])
    product = mechanism["beside_ratio"] * other["beside_ratio"]
    assert other["wait_ratio"] == pytest.approx(product)  # to now both together, which no sentence tells


EACH_KIND = (
    *("sjf", "saf@ewma", "zoo:steady", "zoo:steady@tsafrir", "sjf+slurm:0", "zoo:steady+slurm:60", "sjf+easyP"),
    *("zoo:steady+scored", "zoo:steady+bounded:2", "saf+bounded", "saf+bounded:2", "saf@ewma+easy@tsafrir"),
    *("zoo:balanced+scored", "zoo:balanced+bounded", "saf+reserve:2:60", "fcfs+conservative", "sjf-first_fit"),
)


@pytest.mark.parametrize("now", [SLURM, "sjf+slurm", "fcfs+easy"])
def test_each_row_is_the_schedule_that_simulate_has_for_its_name(log_path, now):
    """Rows were made with what no name says: guaranteed starts through Slurm, and two rows of one name."""
    nodes = in_one_partition(with_nodes(pool(1), np.zeros(4, np.int64)))
    settings = {"PriorityWeightAge": 1000, "PriorityWeightJobSize": 500, END_LATENCY: 0.0, TICK: USUAL_TICK}
    machine = replace(nodes, partitions=replace(nodes.partitions, settings=settings))
    log = replace(asking_for_all(load_log(log_path, pool(4))), epoch=0.0)  # as that of a workload
    rows = answer(machine, log, asked_for(now, EACH_KIND, [])).rows
    assert len({row["name"] for row in rows}) == len(rows) >= len(EACH_KIND)
    for row in rows:
        assert row["wait"] == hl.simulate(machine, log.jobs, row["name"], clock="textbook").wait.mean(), row["name"]


@pytest.mark.parametrize(("small", "first"), [("YES", [0.0, 100.0, 110.0]), ("NO", [0.0, 110.0, 100.0])])
@pytest.mark.parametrize("policy", ["multifactor+easy", "multifactor+greedy", "multifactor+conservative"])
def test_the_mechanism_alone_has_the_weights_of_the_machine(policy, small, first):
    """Two jobs, of one core and of two, wait for both; Slurm is set to favour one kind."""
    settings = {"PriorityWeightJobSize": 1000.0, "PriorityFavorSmall": small}
    work = replace(jobs(submit=[0.0, 1.0, 2.0], seconds=[100.0, 10.0, 10.0]), size=np.array([2, 1, 2]))
    work = replace(work, demands=demands_of([Demand("all")] * 3))
    log = Log(work, np.full(3, np.nan), 0.0, {})
    assert simulate(cluster(settings, 2), log, baseline(policy)).start.tolist() == first


def asked(log_path, out, policies, *more):
    """The words of a question about four cores, whose answer goes into a folder."""
    return ["whatif", "--jobs", log_path, "--cores", "4", "--policies", policies, "-o", out, *more]


def test_the_command_shows_other_schedulers_apart(log_path, tmp_path):
    out = tmp_path / "answer"
    said = printed(*asked(log_path, out, "sjf,sjf+easy", "--interval", "20", "--max-factor", "700"))
    shown = (
        *("multifactor+slurm", "sjf+slurm:20:700 ", "With sjf+slurm:20:700"),
        *("\nAnother scheduler in place of Slurm's:\n", "multifactor+easy ", "sjf+easy "),
        *("The mechanism alone: with multifactor+easy", "With sjf+easy"),
    )
    assert all(said.index(before) < said.index(after) for before, after in pairwise(shown))
    page = (out / "report.html").read_text()
    apart = page.index("Another scheduler in place of Slurm")
    assert page.index("With sjf+slurm:20:700 your users") < apart < page.index("With sjf+easy, another")
    assert page.count("sjf+easy") == page[apart : page.index("Who would wait longer")].count("sjf+easy")
    outcomes = json.loads((out / "whatif.json").read_text())["outcomes"]
    assert [(row["part"], row["beside"]) for row in outcomes] == [
        *((NOW, None), (POLICY, SLURM), (MECHANISM, SLURM), (OTHER, "multifactor+easy"))
    ]


def test_a_report_of_other_schedulers_alone_has_no_groups(log_path, tmp_path):
    printed(*asked(log_path, tmp_path / "answer", "multifactor+easy", "-q"))
    assert "the mechanism alone" in (tmp_path / "answer" / "report.html").read_text()


def test_a_watch_of_the_order_that_slurm_has_itself_is_refused():
    with pytest.raises(OptionsError, match="Slurm's own order"):
        asked_for(SLURM, ["multifactor+slurm:60"])
    assert baseline(SLURM).mode.text == "slurm"
