"""What an agent can do at an instant: action spaces (thesis 3.2.3.2)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from hdeeprm_like.decision.policies.pairs import CORE_POLICIES, JOB_POLICIES, apply_pair, choose_cores
from hdeeprm_like.engine.lifecycle import start_job
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import NOTHING
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.types import Bools, Floats, Ints

JobPolicy: TypeAlias = Callable[[State, Ints], Floats]
"""A job policy of the user's own: the state and the waiting jobs, (J',) rows, to (J',) keys; the smallest key is first,
and of equal ones the job submitted first."""

Pair: TypeAlias = tuple[str | JobPolicy, str]
OWN = -1  # the number of job policies that are functions

ALL_PAIRS = tuple((job, core) for job in JOB_POLICIES for core in CORE_POLICIES)

VOID = "void"


class ActionSpace(Protocol):
    """A finite set of actions.

    Attributes:
        size: number of actions, A.
        names: (A,) of the actions, for logs and pictures.
        job_policies: numbers of the job policies that ``State`` must keep queues for.
        forgiving: whether an action that is not legal is taken for waiting instead of refused.
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

    @property
    def job_policies(self) -> tuple[int, ...]:
        """Job policies that the state must keep queues for."""
        ...

    def mask(self, state: State) -> Bools:
        """Return (A,) which actions are legal now; at least one is."""
        ...

    def apply(self, action: int, state: State) -> bool:
        """Do it; return whether the agent may act again in this instant."""
        ...


class PolicyPairs:
    """Each action is a job policy and a core policy, applied until the selected job does not fit; one an instant.

    | action | name | meaning |
    |---|---|---|
    | 0 .. len(pairs)-1 | ``shortest-high_gflops`` | start jobs by this pair |
    | len(pairs), if *void* | ``void`` | start none; illegal when nothing else can ever happen |

    A job policy may also be a `JobPolicy`; its name is that of the function.

    Attributes:
        pairs: the pairs, in the order of their numbers. void: whether the last action is to do nothing.
        numbers: of the policies of each pair, `OWN` for a function.

    Source: thesis 3.2.3.2, table 3.2.
    """

    forgiving = False

    def __init__(self, pairs: Sequence[Pair] = ALL_PAIRS, void: bool = False) -> None:
        if not pairs:
            raise OptionsError("an action space needs at least one policy pair")
        self.pairs = tuple((job, core) for job, core in pairs)
        self.void = void
        self.numbers = tuple(
            (
                _number(job, JOB_POLICIES, "job policy") if isinstance(job, str) else OWN,
                _number(core, CORE_POLICIES, "core policy"),
            )
            for job, core in self.pairs
        )
        named = (job if isinstance(job, str) else getattr(job, "__name__", "own") for job, _ in self.pairs)
        self.names = (
            *(f"{name}-{core}" for name, (_, core) in zip(named, self.pairs, strict=True)),
            *((VOID,) if void else ()),
        )
        if len(set(self.pairs)) < len(self.pairs):
            twice = next(pair for pair in self.pairs if self.pairs.count(pair) > 1)
            raise OptionsError(f"policy pair '{self.names[self.pairs.index(twice)]}' is listed twice")
        self._all = np.ones(self.size, np.bool_)
        self._all.flags.writeable = False
        self._no_void = self._all.copy()
        self._no_void[-1] = not void
        self._no_void.flags.writeable = False

    @property
    def size(self) -> int:
        """Number of actions."""
        return len(self.names)

    @property
    def job_policies(self) -> tuple[int, ...]:
        """Numbers of the job policies in use, what ``State`` keeps queues for."""
        return tuple(sorted({job for job, _ in self.numbers if job != OWN}))

    def mask(self, state: State) -> Bools:
        """Return which actions are legal now: all, but the void one only while something else can still happen."""
        if not self.void:
            return self._all
        clock = state.tables.clock[0]
        return self._no_void if clock["arrivals_over"] and clock["running"] == 0 else self._all

    def apply(self, action: int, state: State) -> bool:
        """Start jobs by the pair; False, for an instant takes one action."""
        if action == len(self.numbers):
            state.tables.clock["blocked"] = NOTHING
            return False
        policy = self.pairs[action][0]
        if isinstance(policy, str):
            apply_pair(state.tables, *self.numbers[action])
        else:
            apply_own(state, policy, self.numbers[action][1])
        return False


def apply_own(state: State, policy: JobPolicy, core_policy: int) -> None:
    """Start jobs by a policy of the user's own until the selected one does not fit, as `apply_pair` does.

    Raises:
        OptionsError: the policy gives something that is not a key for each job.
    """
    t, clock = state.tables, state.tables.clock[0]
    clock["blocked"] = NOTHING
    jobs = state.waiting
    keys = np.asarray(policy(state, jobs))
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


def pair_of(name: str) -> tuple[str, str]:
    """Return the job and the core policy of ``"shortest-high_gflops"``.

    Raises:
        OptionsError: it is no pair of known policies.
    """
    job, dash, core = name.partition("-")
    if not dash:
        raise OptionsError(f"policy pair {name!r} is not of the form 'job_policy-core_policy'")
    _number(job, JOB_POLICIES, "job policy")
    _number(core, CORE_POLICIES, "core policy")
    return job, core


def selected_pairs(selection: Sequence[Mapping[str, Sequence[str]]]) -> tuple[tuple[str, str], ...]:
    """Return the pairs of an ``actions.selection`` in its order: ``[{"shortest": ["high_gflops", "low_power"]}]``."""
    return tuple((job, core) for entry in selection for job, cores in entry.items() for core in cores)


def _number(name: str, known: Mapping[str, int], what: str) -> int:
    if name not in known:
        raise OptionsError(f"{what} {name!r} is not known{did_you_mean(name, known)}")
    return known[name]
