"""The policies of a comparison by their names: baselines, trained agents, and the recorded schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hdeeprm_like.decision.names import Baseline, baseline, is_baseline
from hdeeprm_like.decision.pair_names import JOB_POLICY_NAMES, split_pair
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.launch.agent_names import Trained, agent_named
from hdeeprm_like.plugins import find

if TYPE_CHECKING:
    from hdeeprm_like.decision.actions import JobPolicy, Pair

ACTUAL = "actual"
PYTHON = ".py:"  # in the name of a job policy of one's own


@dataclass(frozen=True)
class Recorded:
    """The recorded schedule of the trace's own machine: each job starts after the wait in the trace."""

    name: str = ACTUAL


@dataclass(frozen=True)
class Paired:
    """A policy pair of the thesis, or a job policy of the user's own with a core policy.

    Attributes:
        name: ``"shortest-high_gflops"``, ``"own.py:longest"`` or ``"own.py:longest-low_power"``.
    """

    name: str

    @property
    def pair(self) -> "Pair":
        """Job and core policy; loaded where it is used, since functions of a file do not go to other processes.

        Raises:
            OptionsError: there is none of that name.
        """
        if PYTHON not in self.name:
            job, core = split_pair(self.name)
            return job, core
        place, _, rest = self.name.partition(PYTHON)
        function, _, core = rest.partition("-")
        own: JobPolicy = find(f"{place}{PYTHON}{function}", {}, "policy")
        return own, core or "high_gflops"


Policy: TypeAlias = Baseline | Trained | Recorded | Paired


def policy_named(name: str) -> Policy:
    """Return the policy of a name.

    Raises:
        OptionsError: it is not known, or the folder of an agent is missing.
    """
    if name == ACTUAL:
        return Recorded()
    return agent_named(name) or paired(name) or baseline(name)


def paired(name: str) -> Paired | None:
    """Return the pair, or the job policy of the user's own, that a name means; None for another policy.

    Raises:
        OptionsError: there is none of that name.
    """
    job, dash, _ = name.partition("-")
    if PYTHON not in name.partition("+")[0] and not (dash and job in JOB_POLICY_NAMES and not is_baseline(job)):
        return None
    from hdeeprm_like.decision.actions import PolicyActions  # with the engine

    found = Paired(name)
    try:
        PolicyActions([found.pair])
    except ValueError as cause:
        raise OptionsError(f"policy {name!r:.80}: {cause}") from None
    return found


def policies_named(text: str) -> tuple[Policy, ...]:
    """Return the policies of ``"fcfs,sjf+easy,agent:runs/training,actual"``.

    Raises:
        OptionsError: one is not known or listed twice, or the folder of an agent is missing.
    """
    found: list[Policy] = []
    for name in (part.strip() for part in text.split(",")):
        policy = policy_named(name)
        if policy in found:
            raise OptionsError(f"policies: {policy.name} is listed twice")
        found.append(policy)
    return tuple(found)


def reference_named(name: str, policies: Sequence[Policy]) -> str:
    """Return the full name of the policy that the others are compared with.

    Raises:
        OptionsError: it is not one of the compared policies.
    """
    found = policy_named(name.strip()).name
    if found not in (policy.name for policy in policies):
        known = ", ".join(policy.name for policy in policies)
        raise OptionsError(f"reference: {found} is none of the policies that are compared: {known}")
    return found
