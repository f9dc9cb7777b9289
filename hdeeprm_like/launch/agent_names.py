"""Trained agents by their names, ``agent:DIR`` and ``agent:zoo/NAME``; loads neither them nor PyTorch."""

from dataclasses import dataclass
from pathlib import Path

from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.shipped import examples_folder

ZOO = "zoo/"  # begins the names of agents that come along; a folder of that name is ./zoo
SHIPPED_AGENTS = "agents/zoo/trained"  # in the folder of what comes along


@dataclass(frozen=True)
class Trained:
    """A trained agent, which takes its most probable action.

    Attributes:
        folder: of its training. shipped: its name, where it comes along.
    """

    folder: Path
    shipped: str = ""

    @property
    def name(self) -> str:
        """The name on the command line."""
        return f"{AGENT}{self.shipped or self.folder}"


def agent_named(policy: str) -> Trained | None:
    """Return the agent that ``"agent:DIR"`` or ``"agent:zoo/NAME"`` names; None for the name of another policy.

    Raises:
        OptionsError: the folder is missing, or no agent of that name comes along.
    """
    if not policy.startswith(AGENT):
        return None
    if policy == AGENT:
        raise OptionsError(f"policy {policy!r}: the folder of a training is missing, e.g. agent:runs/training")
    place = policy.removeprefix(AGENT)
    if not place.startswith(ZOO):
        return Trained(Path(place))
    known = zoo_agents()
    name = place.removeprefix(ZOO)
    if name not in known:
        raise OptionsError(f"policy {policy!r:.80}: no shipped agent has this name{did_you_mean(name, known)}")
    return Trained(known[name], place)


def zoo_agents() -> dict[str, Path]:
    """Return the folders of the trained agents that come with the package, by name."""
    return {path.parent.name: path.parent for path in sorted((examples_folder() / SHIPPED_AGENTS).glob("*/run.json"))}
