"""The table of what does not go together."""

import itertools

import pytest

from hdeeprm_like import refusals
from hdeeprm_like.decision.actions import policy_named
from hdeeprm_like.decision.names import case_of, policy_in
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.refusals import REFUSALS, Case, refusal_of, refuse

NAMES = ("first-high_gflops", "sjf+easy", "fcfs+commit", "sjf@ewma+easy", "fcfs+easyP", "saf+bounded", "zoo:balanced",
         "zoo:balanced+bounded", "multifactor+slurm", "sjf+slurm:60")  # fmt: skip
KINDS = (refusals.PAIR, refusals.OWN, refusals.AGENT, refusals.RECORDED)
FACTS = ("partitions", "capped", "network", "changing_speeds", "whole", "exclusive", "by_score")


def cases():
    """Policies with every driver, one or two facts about the platform, and every clock."""
    policies = [case_of(policy_in(name)) for name in NAMES]
    policies += [Case("one", kind, python=kind == refusals.OWN) for kind in KINDS]
    facts = [dict.fromkeys(some, True) for count in (0, 1, 2) for some in itertools.combinations(FACTS, count)]
    for case, driver, clock in itertools.product(policies, ("", *refusals.DRIVERS), ("", "batsim", "textbook")):
        for given in facts:
            yield case._replace(driver=driver, clock=clock, platform="small", **({"partitions": False} | given))


def test_each_row_is_the_answer_somewhere_and_is_one_line():
    answers = set()
    for case in cases():
        row = next((row for row in REFUSALS if row.holds(case)), None)
        error = refusal_of(case)
        assert (row is None) == (error is None)
        if row is not None:
            answers.add(row)
            assert isinstance(error, row.error)
            assert "\n" not in str(error)
            assert "{" not in str(error)
    assert answers == set(REFUSALS)


def test_a_plain_baseline_is_played_everywhere_but_where_only_learned_policies_are():
    case = case_of(policy_named("sjf+easy"))
    refused = [name for name in refusals.DRIVERS if refusal_of(case._replace(driver=name)) is not None]
    assert refused == [refusals.EXPLAIN]


def test_a_job_policy_of_ones_own_counts_as_python():
    def longest(state, jobs):
        return -state.requested_time[jobs]

    case = case_of((longest, "high_gflops"), refusals.ENVIRONMENTS)
    with pytest.raises(OptionsError, match="longest-high_gflops: is Python"):
        refuse(case)
