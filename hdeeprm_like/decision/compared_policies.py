"""The policies of a comparison by their names: baselines, trained agents, and the recorded schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from hdeeprm_like.decision.agent_names import Trained, agent_named
from hdeeprm_like.decision.names import Baseline, policy_in
from hdeeprm_like.decision.policy_words import RECORDED
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.refusals import COMPARE

if TYPE_CHECKING:
    from hdeeprm_like.decision.actions import Pair


@dataclass(frozen=True)
class Recorded:
    """The recorded schedule of the trace's own machine: each job starts after the wait in the trace."""

    name: str = RECORDED


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
        from hdeeprm_like.decision.actions import policy_named  # with the engine

        policy = policy_named(self.name, COMPARE)
        assert not isinstance(policy, Baseline)
        return policy


Policy: TypeAlias = Baseline | Trained | Recorded | Paired


def compared_policy(name: str) -> Policy:
    """Return the policy of a name.

    Raises:
        OptionsError: it is not known, or the folder of an agent is missing.
    """
    if name == RECORDED:
        return Recorded()
    agent = agent_named(name)
    if agent is not None:
        return agent
    found = policy_in(name, COMPARE)
    if isinstance(found, Baseline):
        return found
    paired = Paired(name)
    _ = paired.pair  # refuses a job policy that is not in its file
    return paired


def policies_named(text: str) -> tuple[Policy, ...]:
    """Return the policies of ``"fcfs,sjf+easy,agent:runs/training,actual"``.

    Raises:
        OptionsError: one is not known or listed twice, or the folder of an agent is missing.
    """
    found: list[Policy] = []
    for name in (part.strip() for part in text.split(",")):
        policy = compared_policy(name)
        if policy in found:
            raise OptionsError(f"policies: {policy.name} is listed twice")
        found.append(policy)
    return tuple(found)


def reference_named(name: str, policies: Sequence[Policy]) -> str:
    """Return the full name of the policy that the others are compared with.

    Raises:
        OptionsError: it is not one of the compared policies.
    """
    found = compared_policy(name.strip()).name
    if found not in (policy.name for policy in policies):
        known = ", ".join(policy.name for policy in policies)
        raise OptionsError(f"reference: {found} is none of the policies that are compared: {known}")
    return found
