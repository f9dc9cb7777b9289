"""Checks of parts of one's own: what is right passes, and each wrong part fails the check that it is wrong in."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused

import hdeeprm_like as hl
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.studies.checks.runs import another_future, drawn_jobs, run_of, small_machine

OWN = Path(__file__).parents[2] / "agents" / "own_parts.py"
SPACE = replace(PRESETS["SMDP"], head=8)


def failed(check, call, *arguments, **more):
    """The message of a check that fails, without the name of the check."""
    with pytest.raises(hl.CheckError) as caught:
        call(*arguments, **more)
    assert caught.value.check == check, str(caught.value)
    return str(caught.value).removeprefix(f"{check}: ")


# policies


@pytest.mark.parametrize("policy", ["sjf+easy", "shortest-low_power", f"{OWN}:longest"])
def test_a_policy_that_keeps_the_rules_passes(policy):
    found = hl.check_policy(policy)
    assert str(found).splitlines()[0].endswith(": passed")
    assert [line.split(":")[0] for line in found.lines] == [
        "answers", "nothing lost", "conservation", "no look at the future", "determinism", "cost",
    ]  # fmt: skip


def test_a_policy_that_looks_at_jobs_to_come_fails():
    def turns_with_what_comes(state, jobs):
        later = state.requested_time[state.submit_time > state.now][:5]
        shortest_first = not len(later) or later.mean() < state.requested_time.mean()
        return state.requested_time[jobs] * (1 if shortest_first else -1)

    told = failed("no look at the future", hl.check_policy, turns_with_what_comes, 32)
    assert "look at what waiting and running jobs request" in told


def test_a_policy_that_throws_dice_of_its_own_fails():
    dice = np.random.default_rng(1)
    told = failed("determinism", hl.check_policy, lambda state, jobs: dice.random(len(jobs)), 32)
    assert "take random numbers from a generator that is made from the seed" in told


def test_a_policy_that_writes_into_the_tables_fails():
    def shrinks(state, jobs):
        state.tables.jobs["size"][jobs] = 1
        return state.submit_time[jobs]

    assert "asked for" in failed("conservation", hl.check_policy, shrinks, 32)


@pytest.mark.parametrize("keys", [lambda state, jobs: [1.0], lambda state, jobs: 1 / 0, lambda state, jobs: "abc"])
def test_a_policy_that_gives_no_keys_fails(keys):
    assert failed("answers", hl.check_policy, keys, 32)


def test_a_policy_that_is_too_slow_fails_where_a_limit_is_given():
    assert "at most 0 s are wanted" in failed("cost", hl.check_policy, "fcfs+easy", 32, slowest=0.0)


def test_a_policy_that_is_not_known_is_refused_as_everywhere():
    with pytest.raises(hl.OptionsError, match="did you mean"):
        hl.check_policy("sjf+esay")


# agents


class First:
    """Takes the first legal action."""

    def act(self, observation, mask):
        return int(np.flatnonzero(mask)[0])


class Tossing:
    """Takes any legal action."""

    def __init__(self, seed=None):
        self.rng = np.random.default_rng(seed)

    def act(self, observation, mask):
        return int(self.rng.choice(np.flatnonzero(mask)))


class Answering:
    """Always answers the same."""

    def __init__(self, action):
        self.action = action

    def act(self, observation, mask):
        return self.action(mask) if callable(self.action) else self.action


# takes 1 s
@pytest.mark.more
def test_agents_that_keep_the_rules_pass():
    assert "passed" in str(hl.check_agent(First(), SPACE))
    assert "passed" in str(hl.check_agent(Tossing, SPACE))


@pytest.mark.parametrize(
    ("agent", "check", "told"),
    [
        (Answering(None), "answers", "the action is None; a whole number is needed"),
        (Answering(99), "answers", "the action is 99; there are 9, numbered from 0"),
        (
            Answering(lambda mask: int(np.flatnonzero(~mask)[0]) if not mask.all() else 0),
            "answers",
            "is not legal then",
        ),
        (Answering(8), "answers", "action 8 (wait) is not legal then"),
        (Tossing(), "determinism", "with the same seed"),
    ],
)
def test_agents_that_break_a_rule_fail_it(agent, check, told):
    assert told in failed(check, hl.check_agent, agent, replace(SPACE, jump=False, step=3600.0))


# takes 2 s
@pytest.mark.more
def test_an_agent_that_starts_nothing_fails():
    told = failed("nothing lost", hl.check_agent, Answering(8), replace(SPACE, masked=False))
    assert "have not ended" in told


# platforms


def test_a_machine_that_fits_together_passes():
    assert "passed" in str(hl.check_platform(small_machine()))
    assert "4 cores in 2 processors in 1 nodes" in str(hl.check_platform("learning"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"core_names": ("a",) * 12}, "12 cores have 1 names"),
        ({"core_processor": np.array([0, 0, 0, 0, 2, 2, 1, 1, 3, 3, 3, 3])}, "core_processor must go up"),
        ({"processor_node": np.array([0, 1, 1, 1])}, "processor_node must go up from 0 to 2"),
        ({"processor_flops": np.zeros((4, 4))}, "processor 0 computes at 0 flop/s"),
        ({"processor_watts": np.array([[1.0, 1.0, 9.0, 9.0]] * 4)}, "an idle core of processor 0 draws 9 W"),
        ({"processor_watts": np.full((4, 4), -1.0)}, "negative"),
        ({"node_memory": np.array([-1.0, 1.0, 1.0])}, "less than no memory"),
    ],
)
def test_a_machine_whose_parts_do_not_fit_together_fails(change, told):
    assert told in failed("structure", hl.check_platform, replace(small_machine(), **change))


# how


def test_another_future_has_the_same_past_and_the_same_requests_to_come():
    from hdeeprm_like.decision.actions import PolicyActions, policy_named
    from hdeeprm_like.engine.state import State
    from hdeeprm_like.run.schedules import run_to_end

    machine = pool(32)
    jobs = drawn_jobs(machine, 50, 1)
    policies = PolicyActions([policy_named("sjf+easy")])
    simulator = run_to_end(State(machine, jobs, needs=policies.needs), policies, "textbook")
    run, cut = run_of(simulator, 0, 0.0), float(jobs.submit[20])
    other = another_future(jobs, run, cut, seed=1)
    assert other.size[:21].tolist() == jobs.size[:21].tolist()
    assert sorted(other.size.tolist()) == sorted(jobs.size.tolist())
    assert other.size.tolist() != jobs.size.tolist()
    ended = run.finish <= cut
    assert other.ops[ended].tolist() == jobs.ops[ended].tolist()
    assert (other.ops[:21] != jobs.ops[:21]).any()
    assert (other.ops <= np.maximum(other.requested_ops, jobs.ops) * (1 + 1e-12)).all()


# the command


def test_the_command_tells_what_was_tried_and_what_failed(tmp_path):
    assert printed("check", "policy", "sjf+easy").startswith("sjf+easy: passed\n  answers: ")
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nrng = np.random.default_rng()\ndef dice(state, jobs):\n    return rng.random(len(jobs))\n"
    )
    assert "determinism: job" in refused("check", "policy", f"{tmp_path / 'mine.py'}:dice")
    printed("check", "platform", "learning")
