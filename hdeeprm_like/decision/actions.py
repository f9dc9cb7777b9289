"""Actions of an agent at an instant: start jobs by one of some policies (thesis 3.2.3.2).

A policy is a pair of the thesis, a baseline, or a user's own job policy with a core policy.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES, Baseline, case_of, policy_in
from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.decision.tree_files import is_own
from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.calls import NOWHERE, address_of, call_at, number_at
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.numbers import RANDOM_JOB, REQUESTED
from hdeeprm_like.engine.state import Needs, State
from hdeeprm_like.engine.tables import NOTHING, Tables
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import answered, find
from hdeeprm_like.refusals import BATSIM, refuse
from hdeeprm_like.types import Bools, Floats, Ints, Records

if TYPE_CHECKING:  # a run by a pair of the thesis does without baselines, whose modules take a tenth of its start
    from hdeeprm_like.decision.policies.own_times import OwnTimes
    from hdeeprm_like.decision.policies.plans import Plans
    from hdeeprm_like.decision.policies.ranking import Ranked

JobPolicy: TypeAlias = Callable[[State, Ints], Floats]
"""A user's own job policy: takes the state and the waiting jobs, (J',) rows; returns (J',) keys; the smallest key is
first, ties go to the job submitted first."""

Pair: TypeAlias = tuple[str | JobPolicy, str]
Policy: TypeAlias = Pair | Baseline
OWN = -1  # number of job policies given as Python functions

ALL_PAIRS = tuple((job, core) for job in JOB_POLICIES for core in CORE_POLICIES)

VOID = "void"

PAIR, BASELINE = 0, 1  # kinds of policies
CHOICE = np.dtype([("void", "i4"), ("constant", "i8")], align=True)
# void: 1 if the last action starts no job; constant: the action at every instant, -1 if an agent decides


class Choices(Bundle, shared=("numbers", "calls"), opaque=("plans",)):
    """Policies as actions in compiled code; A actions without the void one.

    Attributes:
        params: (1,) CHOICE. numbers: (A, 3) kind, then numbers of job and core policy, or of the baseline in *plans*.
        plans: memory of the baselines. calls: (2,) addresses of `apply_pair` and `baselines.decide`, by kind.
    """

    params: Records
    numbers: Ints
    plans: "Plans"
    calls: Ints


@compiled
def apply_policy(tables: Tables, choices: Choices, action: int) -> None:
    """Start jobs by the policy of an action, or none by the void action."""
    if action >= len(choices.numbers):
        tables.clock[0].blocked = NOTHING
    elif choices.numbers[action, 0] == PAIR:
        call_pair(tables, choices, action)
    else:
        call_baseline(tables, choices, action)


@inlined
def call_pair(tables: Tables, choices: Choices, action: int) -> int:
    """Start jobs by a policy pair: `apply_pair`."""
    return number_at(choices.calls[PAIR], tables, choices.numbers[action, 1], choices.numbers[action, 2])


@inlined
def call_baseline(tables: Tables, choices: Choices, action: int) -> None:
    """Start jobs by a baseline: `decide`."""
    call_at(choices.calls[BASELINE], tables, choices.plans, choices.numbers[action, 1])


class ActionSpace(Protocol):
    """A finite set of actions.

    Attributes:
        size: number of actions, A.
        names: (A,) names of the actions, for logs and pictures.
        forgiving: whether an illegal action counts as waiting instead of raising.
    """

    forgiving: bool

    @property
    def size(self) -> int:
        """Number of actions."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the actions."""
        ...

    def mask(self, state: State) -> Bools:
        """Return (A,) which actions are legal now; at least one is."""
        ...

    def apply(self, action: int, state: State) -> bool:
        """Apply an action; return whether the agent may act again in this instant."""
        ...


class PolicyActions:
    """Each action is a policy, applied to the queue as it is; one action per instant.

    | action | name | meaning |
    |---|---|---|
    | 0 .. len(policies)-1 | ``shortest-high_gflops`` | start jobs by this pair until the selected one does not fit |
    | | ``sjf+easy`` | start the jobs that this baseline starts |
    | len(policies), if *void* | ``void`` | start no job; illegal when nothing else can happen any more |

    A job policy may also be a `JobPolicy` function; its name is the function's name.

    Attributes:
        policies: in the order of their numbers. void: whether the last action starts no job.
        names: of the actions. needs: the sorted lists of jobs that they read.

    Source: thesis 3.2.3.2, table 3.2.
    """

    forgiving = False

    def __init__(self, policies: Sequence[Policy] = ALL_PAIRS, void: bool = False) -> None:
        if not policies:
            raise OptionsError("an action space needs at least one policy pair")
        self.policies = tuple(policies)
        self.void = void
        self.baselines = tuple(policy for policy in self.policies if isinstance(policy, Baseline))
        self.numbers = np.array([self._numbers(policy) for policy in self.policies], np.int64)
        self.names = (*map(name_of, self.policies), *((VOID,) if void else ()))
        if len(set(self.policies)) < len(self.policies):
            twice = next(policy for policy in self.policies if self.policies.count(policy) > 1)
            raise OptionsError(f"policy pair '{self.names[self.policies.index(twice)]}' is listed twice")
        self._plans: tuple[State, Plans, OwnTimes] | None = None
        self._all = np.ones(self.size, np.bool_)
        self._without_void = self._all.copy()
        self._without_void[-1] = not void
        for mask in (self._all, self._without_void):
            mask.flags.writeable = False

    def _numbers(self, policy: Policy) -> tuple[int, int, int]:
        if isinstance(policy, Baseline):
            return BASELINE, self.baselines.index(policy), 0
        job, core = policy
        number = _number(job, JOB_POLICIES, "job policy") if isinstance(job, str) else OWN
        return PAIR, number, _number(core, CORE_POLICIES, "core policy")

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.names)

    @property
    def built_in(self) -> bool:
        """Whether no job policy or run-time predictor is the user's own."""
        own_jobs = ((self.numbers[:, 0] == PAIR) & (self.numbers[:, 1] == OWN)).any()
        return not own_jobs and not any(is_own(times) for one in self.baselines for times in one.predictors)

    @property
    def needs(self) -> Needs:
        """The sorted lists of jobs that the policies read."""
        pairs = self.numbers[self.numbers[:, 0] == PAIR, 1].tolist()
        found = Needs(searched=tuple((order, REQUESTED) for order in sorted(set(pairs) - {OWN, RANDOM_JOB})))
        if self.baselines:
            from hdeeprm_like.decision.policies.plans import needs_of

            for one in self.baselines:
                found |= needs_of(one)
        return found

    def choices(self, state: State, constant: int = -1) -> Choices:
        """Return the actions in compiled code for the beginning of a run.

        Args:
            constant: the action to take at every instant; -1 if an agent decides.

        Raises:
            OptionsError: a baseline needs actual run times, which are unknown here, or a job policy is Python.
            ValueError: the state does not maintain a sorted list that the policies read.
        """
        if not self.built_in:
            raise OptionsError("a user's own policies and predictors are Python and do not run in compiled code")
        self.refuse_on(state)
        from hdeeprm_like.decision.policies.baselines import decide, new_baselines

        state.require(self.needs, self.names[0])
        params = np.zeros(1, CHOICE)
        params["void"], params["constant"] = self.void, constant
        plans = new_baselines(state, self.baselines)
        calls = np.full(2, NOWHERE, np.int64)
        if (self.numbers[:, 0] == PAIR).any():
            calls[PAIR] = address_of(apply_pair, state.tables, 0, 0)
        if self.baselines:
            calls[BASELINE] = address_of(decide, state.tables, plans, 0)
        return Choices(params, self.numbers, plans, calls)

    def refuse_on(self, state: State) -> None:
        """Raise an OptionsError if a policy does not go with the platform of a run, or with what is known there."""
        driver = "" if state.knows_run_times else BATSIM
        for policy in self.policies:
            refuse(case_of(policy, driver).on(state.platform, state.whole))

    def mask(self, state: State) -> Bools:
        """Return which actions are legal now: all, but the void one only while something else can still happen."""
        clock = state.tables.clock[0]
        if self.void and clock["arrivals_over"] and clock["running"] == 0:
            return self._without_void
        return self._all

    def apply(self, action: int, state: State) -> bool:
        """Start jobs by the policy of an action; return False: an instant takes one action."""
        if action == len(self.policies):
            state.tables.clock["blocked"] = NOTHING
            return False
        policy, (kind, first, second) = self.policies[action], self.numbers[action].tolist()
        if kind == BASELINE:
            from hdeeprm_like.decision.policies.baselines import decide

            decide(state.tables, self._plans_of(state), first)
        elif first == OWN:
            job = policy[0] if not isinstance(policy, Baseline) else None
            assert callable(job)
            apply_own(state, job, second)
        else:
            if first != RANDOM_JOB:
                state.require(Needs(searched=((first, REQUESTED),)), self.names[action])
            apply_pair(state.tables, first, second)
        return False

    def rank(self, action: int, state: State) -> "Ranked":
        """Return the waiting jobs in the order in which a baseline serves them; no job is started."""
        from hdeeprm_like.decision.policies.ranking import ranked_by

        number = int(self.numbers[action, 1])
        return ranked_by(self.baselines[number], state.tables, self._plans_of(state), number)

    def notice(self, action: int, state: State) -> None:
        """Update a baseline's memory at an instant at which it does not decide."""
        from hdeeprm_like.decision.policies.ranking import notice

        notice(state.tables, self._plans_of(state), int(self.numbers[action, 1]))

    def _plans_of(self, state: State) -> "Plans":
        """Return the memory of the baselines, with capacity for all jobs known by now."""
        from hdeeprm_like.decision.policies.baselines import make_room, new_baselines
        from hdeeprm_like.decision.policies.own_times import OwnTimes

        if self._plans is None or self._plans[0] is not state:
            self.refuse_on(state)
            self._plans = state, new_baselines(state, self.baselines), OwnTimes(state, self.baselines)
        _, plans, own_times = self._plans
        make_room(plans, state, self.baselines)
        own_times.write(plans.knowledge)
        return plans


def name_of(policy: Policy) -> str:
    """Return the name of a policy: ``"shortest-high_gflops"``, ``"sjf+easy"``."""
    if isinstance(policy, Baseline):
        return policy.name
    job, core = policy
    return f"{job if isinstance(job, str) else getattr(job, '__name__', 'own')}-{core}"


def policy_named(name: str, driver: str = "", folder: Path | None = None) -> Policy:
    """Return the policy of a name, see `names.policy_in`, with a user's own job policy loaded.

    Args:
        driver: as there. folder: that the file of a job policy is relative to; None for the current one.

    Raises:
        OptionsError: there is no policy of that name, or it is not for this driver.
    """
    found = policy_in(name, driver)
    if isinstance(found, Baseline) or found[0] in JOB_POLICIES:
        return found
    return find(found[0], JOB_POLICIES, "job policy", folder), found[1]


def apply_own(state: State, policy: JobPolicy, core_policy: int) -> None:
    """Start jobs by a user's own policy until the selected one does not fit, as `apply_pair` does.

    Raises:
        OptionsError: the policy does not return one key per job.
    """
    t, clock = state.tables, state.tables.clock[0]
    clock["blocked"] = NOTHING
    jobs = state.waiting
    keys = np.asarray(answered(policy, "job policy", state, jobs))
    if keys.shape != jobs.shape or keys.dtype.kind not in "biuf" or np.isnan(keys).any():
        name = getattr(policy, "__name__", "own")
        raise OptionsError(f"job policy {name}: a number for each of {len(jobs)} jobs is needed, not {keys!r:.60}")
    for j in jobs[np.argsort(keys, kind="stable")].tolist():
        clock["decisions"] += 1
        lacks = choose_cores(t, core_policy, j)
        if lacks != NOTHING:
            clock["blocked"], clock["blocked_job"] = lacks, j
            return
        start_job(t, j)


def _number(name: str, known: Mapping[str, int], what: str) -> int:
    if name not in known:
        raise OptionsError(f"{what} {name!r} is not known{did_you_mean(name, known)}")
    return known[name]
