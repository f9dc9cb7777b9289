"""What is compared, by the names of the command line: baselines, and agents that ``train`` has left in a folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from hdeeprm_like.decision.names import Baseline, baseline
from hdeeprm_like.errors import OptionsError

AGENT = "agent:"


@dataclass(frozen=True)
class Trained:
    """A trained agent, which takes the action it holds for the best.

    Attributes:
        folder: of its training.
    """

    folder: Path

    @property
    def name(self) -> str:
        """The name on the command line."""
        return f"{AGENT}{self.folder}"


Policy: TypeAlias = Baseline | Trained


def agent_named(policy: str) -> Trained | None:
    """Return the agent that ``"agent:DIR"`` names; None for the name of another policy.

    Raises:
        OptionsError: the folder is missing.
    """
    if not policy.startswith(AGENT):
        return None
    if policy == AGENT:
        raise OptionsError(f"policy {policy!r}: the folder of a training is missing, as agent:runs/training")
    return Trained(Path(policy.removeprefix(AGENT)))


def policies_named(text: str) -> tuple[Policy, ...]:
    """Return the policies of ``"fcfs,sjf+easy,agent:runs/training"``.

    Raises:
        OptionsError: one is not known or listed twice, or the folder of an agent is missing.
    """
    found: list[Policy] = []
    for name in (part.strip() for part in text.split(",")):
        policy = agent_named(name) or baseline(name)
        if policy in found:
            raise OptionsError(f"policies: {policy.name} is listed twice")
        found.append(policy)
    return tuple(found)
