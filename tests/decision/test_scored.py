"""Learned policies: scores that are well known orders, kept cores, and files that make no sense."""

import json
from dataclasses import replace

import numpy as np
import pytest
from on_paper import cores
from on_paper import starts as starts_on
from small import jobs, platform, step_baseline

from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.policies.scores import COUNT
from hdeeprm_like.decision.score_files import FEATURES, Score, formula, policy_of, zoo
from hdeeprm_like.errors import OptionsError

GONE = ("gate", "reservations", "lookahead", "hidden")  # fields of former versions
EIGHT = cores(8)


KEEP = {"deviations": 1.0, "bins": 0, "most": 0.5, "backlog": 0.3}
LEARNED = {
    "scores": {"queue": {"log_expected_time": 1.0}, "backfill": {"log_time": 1.0}},
    "kept cores": {"queue": {"expected_log_time": 1.0}, "keep": KEEP, "exact": {"queue": {"log_time": 1.0}}},
}


def contended(count=150, seed=3, exact=False):
    rng = np.random.default_rng(seed)
    seconds = rng.uniform(1, 60, count).round(3)  # so that hardly two products are equal
    return jobs(
        submit=np.sort(rng.integers(0, 600, count)),
        seconds=seconds,
        estimate=seconds if exact else seconds + rng.uniform(0, 60, count).round(3),
        size=rng.integers(1, 9, count),
    )


@pytest.fixture
def policy(tmp_path):
    """Writes a policy and returns its name."""

    def write(**content):
        path = tmp_path / f"p{len(list(tmp_path.iterdir()))}.json"
        path.write_text(json.dumps(content))
        return f"scored:{path}"

    return write


def starts(workload, name):
    return starts_on(EIGHT, workload, name)


@pytest.mark.parametrize(
    ("weights", "order"),
    [
        ({"log_time": 1.0}, "sjf"),
        ({"log_time": 2.0, "log_cores": 2.0}, "saf"),
        ({"log_time": -1.0}, "ljf"),
        ({"log_cores": 1.0}, "smallest"),
        ({"one": 1.0}, "fcfs"),
    ],
)
def test_a_score_of_requests_alone_is_a_well_known_order(policy, weights, order):
    workload = contended()
    assert starts(workload, policy(queue=weights)) == starts(workload, f"{order}+easy")


def test_jobs_behind_the_head_may_have_a_score_of_their_own(policy):
    assert starts(contended(), policy(queue={"one": 1}, backfill={"log_time": 1})) == starts(
        contended(), "fcfs+easysjf"
    )


def test_cores_are_kept_before_long_jobs_for_the_short_ones_that_come(policy):
    # every 10 s a job of 2 cores comes and runs 10 s, so that 2 of 8 cores are busy in the mean; of the jobs that then
    # come for all the others, only those that run much longer find 2 more cores kept
    short = 60
    submit, size = [*range(0, 10 * short, 10), 595, 596], [2] * short + [6, 4]
    workload = jobs(submit=submit, seconds=[10] * short + [1000, 1000], size=size)
    none = policy(queue={"one": 1})
    some = policy(queue={"one": 1}, keep={"deviations": 0, "bins": 1, "most": 0.5})
    little = policy(queue={"one": 1}, keep={"deviations": 0, "bins": 1, "most": 0.1})
    assert starts(workload, none)[-2:] == [595, 1595]
    assert starts(workload, some)[-2:] == [600, 1600]  # 6 + 2 kept: when the last short one is over
    assert starts(workload, little)[-2:] == [595, 1595]  # 0.8 cores are none
    assert starts(workload, policy(queue={"one": 1}, keep={"bins": 20, "most": 0.5}))[-2:] == [595, 1595]
    for load, found in ((1, [600, 1600]), (8, [595, 1595])):  # the load is 1/4: 4 * 3/4 cores at most, and 4 * (3/4)^8
        loaded = policy(queue={"one": 1}, keep={"deviations": 0, "bins": 1, "most": 0.5, "load": load})
        assert starts(workload, loaded)[-2:] == found
    wide = policy(queue={"one": 1}, keep={"bins": 1, "most": 0.5, "widest": 0.5})
    assert starts(workload, wide)[-2:] == [595, 1595]  # 6 of 8 cores are more than half


def test_one_request_in_many_that_is_a_little_too_long_changes_nothing(policy):
    # 59 jobs run as requested and one 3 s less; shortest first is for inexact requests, longest first for exact ones
    exact = {"queue": {"log_time": -1.0}}
    name = policy(queue={"log_time": 1.0}, exact=exact)
    submit, estimate = [0] * 60 + [10] * 3, [*[100] * 60, 20, 30, 40]
    workload = jobs(submit=submit, seconds=[*[100] * 59, 97, 20, 30, 40], size=8, estimate=estimate)
    began = starts(workload, name)
    assert began[62] < began[61] < began[60]
    often = jobs(submit=submit, seconds=[*[50] * 60, 20, 30, 40], size=8, estimate=estimate)
    began = starts(often, name)
    assert began[60] < began[61] < began[62]


def test_a_request_counts_the_less_the_more_its_user_is_wrong(policy):
    # users 1 and 2 have run 20 jobs each; 1 ran as requested, 2 a hundredth of it. Of two new jobs with requests of
    # 1000 s and 1100 s that of user 2 is expected to be over first, though it asks for more
    name = policy(queue={"trusted_log_time": 1.0})
    trust = policy(queue={"trust": 1.0})
    submit = [*range(0, 40_000, 1000), 39_001, 39_002]
    seconds = [*[500, 11] * 20, 1000, 11]
    estimate = [*[500, 1100] * 20, 1000, 1100]
    user = [*[1, 2] * 20, 1, 2]
    workload = replace(jobs(submit=submit, seconds=seconds, size=8, estimate=estimate), user=np.array(user))
    submit[38] = 38_900  # the last one of user 1 runs when both come
    workload = replace(workload, submit=np.array(submit, float))
    assert starts(workload, name)[-1] < starts(workload, name)[-2]
    assert starts(workload, trust)[-1] < starts(workload, trust)[-2]
    assert starts(workload, policy(queue={"log_time": 1.0}))[-1] > starts(workload, policy(queue={"log_time": 1.0}))[-2]


def test_nothing_is_kept_where_nobody_has_waited(policy):
    short = 60
    submit, size = [*range(0, 10 * short, 10), 595, 596], [2] * short + [6, 4]
    workload = jobs(submit=submit, seconds=[10] * short + [1000, 1000], size=size)
    kept = {"deviations": 0, "bins": 1, "most": 0.5}
    assert starts(workload, policy(queue={"one": 1}, keep=kept))[-2:] == [600, 1600]
    assert starts(workload, policy(queue={"one": 1}, keep=kept | {"felt": 1}))[-2:] == [595, 1595]


@pytest.mark.parametrize("name", sorted(zoo()))
def test_the_policies_that_come_along_run_every_job_with_memory(name):
    rng = np.random.default_rng(4)
    nodes = ((100.0, [(2, 2.0, 90.0, 6.0), (3, 1.0, 50.0, 4.0)]), (300.0, [(4, 1.5, 70.0, 8.0)]))
    workload = jobs(
        submit=np.sort(rng.integers(0, 60, 60)),
        seconds=rng.integers(1, 20, 60),
        estimate=rng.integers(1, 40, 60),
        size=rng.integers(1, 6, 60),
        memory=rng.choice([0.0, 10.0, 40.0], 60),
    )
    assert step_baseline(platform(*nodes), workload, f"zoo:{name}", "batsim").unfinished == 0


def test_names_with_a_placement_are_distinguished(policy):
    name = policy(queue={"one": 1})
    found = baseline(f"{name}-first_fit")
    assert (found.order, found.placement, found.name) == (name, "first_fit", f"{name}-first_fit")


def test_a_file_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"queue": {"log_time": 1.0}}')
    assert baseline(f"scored:{path}").learned.queue.weights == (("log_time", 1.0),)
    path.write_text('{"queue": {"log_time": -1.0, "one": 0}}')
    assert baseline(f"scored:{path}").learned.queue.weights == (("log_time", -1.0), ("one", 0.0))


@pytest.mark.lane(compiled="kept cores")
@pytest.mark.parametrize("kind", list(LEARNED))
def test_each_part_of_a_policy_makes_a_difference_and_every_job_runs(policy, kind):
    workload = contended()
    workload = replace(workload, user=np.arange(len(workload)) % 5 - 1)
    plain = policy(queue=LEARNED[kind]["queue"])
    assert starts(workload, policy(**LEARNED[kind])) != starts(workload, plain)


def test_every_feature_is_documented_and_written():
    assert len(FEATURES) == COUNT == len(set(FEATURES))


def test_a_score_reads_as_a_formula():
    assert formula(Score((("log_time", 1.0), ("log_cores", -2.0), ("one", 0.0)))) == "-2 log_cores +1 log_time"
    assert formula(Score()) == "0"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "an object is needed"),
        ({}, "'queue' is missing"),
        ({"queue": {"log_tim": 1}}, "'log_tim' is not known; did you mean 'log_time'?"),
        ({"queue": {"one": "x"}}, "queue: one: is 'x'; a number from -1e+12 to 1e+12 is needed"),
        ({"queue": {"one": True}}, "one: is true; a number from -1e+12 to 1e+12 is needed"),
        ({"queue": {"one": float("nan")}}, "one: is nan; a number from -1e+12 to 1e+12 is needed"),
        ({"queue": {}, "backfil": {}}, "'backfil' is not known; did you mean 'backfill'?"),
        *[({"queue": {}, gone: {}}, f"{gone!r} is not known") for gone in GONE],
        ({"queue": {}, "keep": {"most": "all"}}, "keep: most: is 'all'; a number from -1e+12 to 1e+12 is needed"),
        ({"queue": {}, "exact": {"queue": {}, "exact": {"queue": {}}}}, "has an 'exact' of its own"),
        ({"queue": {}, "keep": {"bins": -1}}, "keep: bins: is -1; a whole number from 0 to 38 is needed"),
        ({"queue": {}, "keep": {"bins": 1.5}}, "keep: bins: is 1.5; a whole number from 0"),
        ({"queue": {}, "keep": {"backlog": -11}}, "keep: backlog: a number from -10 to 10 is needed"),
        ({"queue": {}, "keep": {"load": 11}}, "keep: load: a number from -10 to 10 is needed"),
        ({"queue": {}, "exact": {}}, "exact: 'queue' is missing"),
        ({"queue": {}, "times": "surviva"}, "times: one of requested, actual, "),
        ({"queue": {}, "exact": {"queue": {}, "times": "ewma"}}, "exact: has 'times' of its own"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_one_line(content, message):
    with pytest.raises(OptionsError) as caught:
        policy_of(content, "my.json")
    assert str(caught.value).startswith("my.json: ")
    assert message in str(caught.value)


def test_a_policy_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(OptionsError, match="cannot be read"):
        baseline(f"scored:{tmp_path}/none.json")
    (tmp_path / "no.json").write_text("{")
    with pytest.raises(OptionsError, match="not valid JSON"):
        baseline(f"scored:{tmp_path}/no.json")


def test_scores_look_at_the_run_times_that_the_name_or_the_file_gives(policy, tmp_path):
    name = policy(queue={"log_expected_time": 1.0})
    workload = contended(30)
    assert starts(workload, f"{name}@actual") == starts(workload, "sjf@actual+easy")
    assert starts(workload, f"{name}@requested") == starts(workload, "sjf+easy")
    assert starts(workload, name) == starts(workload, "sjf@expected+easy")
    assert starts(workload, policy(queue={"log_expected_time": 1.0}, times="actual")) == starts(
        workload, f"{name}@actual"
    )
    (tmp_path / "trees").mkdir()
    leaf = {"value": -2.0}
    (tmp_path / "trees" / "t.json").write_text(json.dumps({"baseline": 0.0, "trees": [[leaf]]}))
    trees = policy(queue={"log_expected_time": 1.0}, times="learned:trees/t.json")  # beside the file of the policy
    assert starts(workload, trees) == starts(workload, "sjf+easy")  # each is predicted to run the same share


def test_a_name_with_run_times_is_that_of_a_policy_file_with_others(policy):
    assert baseline("zoo:steady@survival").order_times == "survival"
    assert baseline(f"{policy(queue={}, times='ewma')}").order_times == "ewma"
