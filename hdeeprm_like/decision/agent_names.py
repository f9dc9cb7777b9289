"""Agents by their names, ``agent:DIR``, ``agent:zoo/NAME`` and others; loads neither them nor PyTorch.

| name | the agent | its decision space |
|---|---|---|
| ``agent:DIR`` | what ``train`` has left in a folder | the folder's |
| ``agent:zoo/NAME`` | one that comes along | its own |
| ``agent:MODEL.zip[:EXP.json]`` | a model of Stable-Baselines3 or sb3-contrib | that of the options file |
| ``agent:FILE.py:NAME[:EXP.json]`` | a function ``choose(observation, mask) -> action`` | that of the options file |

The options file may be a shipped one's name; without one it is ``MODEL.json`` or ``FILE.json``, beside the file.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.shipped import examples_folder, found

ZOO = "zoo/"  # begins the names of agents that come along; a folder of that name is ./zoo
SHIPPED_AGENTS = "agents/zoo/trained"  # in the folder of what comes along
FROM_A_FILE = re.compile(r"(?P<file>[^:]+\.(?:zip|py))(?P<function>(?<=\.py):\w+)?(?::(?P<options>.+))?")


@dataclass(frozen=True)
class Trained:
    """A trained agent, which takes its most probable action.

    Attributes:
        folder: of its training; a model's file, or a Python file and a function in it, where *options* is given.
        shipped: its name, where it comes along. options: file with the decision space of an agent without a folder.
        given: the same as the command line names it, empty for the file beside.
    """

    folder: Path
    shipped: str = ""
    options: Path | None = None
    given: str = ""

    @property
    def name(self) -> str:
        """The name on the command line."""
        return f"{AGENT}{self.shipped or self.folder}{self.given and ':'}{self.given}"


def agent_named(policy: str) -> Trained | None:
    """Return the agent of a name, see the module; None for the name of another policy.

    Raises:
        OptionsError: the folder or an options file is missing, or no agent of that name comes along.
    """
    if not policy.startswith(AGENT):
        return None
    if policy == AGENT:
        raise OptionsError(f"policy {policy!r}: the folder of a training is missing, e.g. agent:runs/training")
    place = policy.removeprefix(AGENT)
    of_file = FROM_A_FILE.fullmatch(place)
    if of_file is not None and not Path(place).is_dir():
        return _of_a_file(policy, of_file)
    known = zoo_agents()
    if not place.startswith(ZOO):
        if place in known and not Path(place).exists():
            raise OptionsError(f"policy {policy!r:.80}: no such folder; did you mean '{AGENT}{ZOO}{place}'?")
        return Trained(Path(place))
    name = place.removeprefix(ZOO)
    if name not in known:
        raise OptionsError(f"policy {policy!r:.80}: no shipped agent has this name{did_you_mean(name, known)}")
    return Trained(known[name], place)


def _of_a_file(policy: str, match: re.Match[str]) -> Trained:
    """Return the agent of a file that says nothing of its decision space."""
    file, function, given = match["file"], match["function"] or "", match["options"] or ""
    if not Path(file).exists():
        raise OptionsError(f"policy {policy!r:.80}: {file}: no such file")
    if file.endswith(".py") and not function:
        raise OptionsError(f"policy {policy!r:.80}: which function? write {AGENT}{file}:NAME")
    options = found(given, "options") if given else Path(file).with_suffix(".json")
    if not options.exists():
        raise OptionsError(
            f"policy {policy!r:.80}: {options}: no such file; the options file of its decision space is needed, as "
            f"{AGENT}{file}{function}:EXP.json"
        )
    return Trained(Path(file + function), options=options, given=given)


def zoo_agents() -> dict[str, Path]:
    """Return the folders of the trained agents that come with the package, by name."""
    return {path.parent.name: path.parent for path in sorted((examples_folder() / SHIPPED_AGENTS).glob("*/run.json"))}
