"""The policies of a comparison by their names: baselines, trained agents, and the recorded schedule."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hdeeprm_like.decision.names import Baseline, baseline
from hdeeprm_like.errors import OptionsError

AGENT = "agent:"
ACTUAL = "actual"


@dataclass(frozen=True)
class Trained:
    """A trained agent, which takes its most probable action.

    Attributes:
        folder: of its training.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The name on the command line."""
        return f"{AGENT}{self.folder}"


@dataclass(frozen=True)
class Recorded:
    """The recorded schedule of the trace's own machine: each job starts after the wait in the trace."""

    name: str = ACTUAL


Policy: TypeAlias = Baseline | Trained | Recorded


def agent_named(policy: str) -> Trained | None:
    """Return the agent that ``"agent:DIR"`` names; None for the name of another policy.

    Raises:
        OptionsError: the folder is missing.
    """
    if not policy.startswith(AGENT):
        return None
    if policy == AGENT:
        raise OptionsError(f"policy {policy!r}: the folder of a training is missing, e.g. agent:runs/training")
    return Trained(Path(policy.removeprefix(AGENT)))


def policy_named(name: str) -> Policy:
    """Return the policy of a name.

    Raises:
        OptionsError: it is not known, or the folder of an agent is missing.
    """
    return Recorded() if name == ACTUAL else agent_named(name) or baseline(name)


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
