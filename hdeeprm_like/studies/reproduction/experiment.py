"""An experiment from its file: published values of a document, and its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hdeeprm_like.errors import OptionsError, ResultsError, did_you_mean
from hdeeprm_like.inputs import read_json

FOLDER = Path(__file__).parent / "experiments"
Tier: TypeAlias = Literal["quick", "medium", "long"]
TIERS: tuple[Tier, ...] = ("quick", "medium", "long")

DOCUMENTS = {
    "T": "Adrián Herrera Arcila: HDeepRM: Deep Reinforcement Learning for Workload Management in Heterogeneous "
    "Clusters. Master's thesis, University of Cantabria, 2019",
    "C": "Renato Luiz de Freitas Cunha: Markov decision processes for optimizing job scheduling with Reinforcement "
    "Learning. Dissertation, Federal University of Minas Gerais, 2022",
    "M": "Renato Luiz de Freitas Cunha and Luiz Chaimowicz: On the impact of MDP design for Reinforcement Learning "
    "agents in Resource Management. BRACIS, 2021",
    "D": "Lingfei Wang, Aaron Harwood and Maria A. Rodriguez: Deep Back-Filling: a Split Window Technique for Deep "
    "Online Cluster Job Scheduling, 2022",
    "K": "Scott Hutchison, Daniel Andresen, William Hsu, Benjamin Parsons and Mitchell Neilsen: Scheduling for high "
    "performance computing with reinforcement learning",
}


@dataclass(frozen=True)
class Number:
    """One published number, or a group of numbers that stand and fall together.

    Attributes:
        key: by which `measures` hand over what they found. what: in words. source: table, figure or section.
        published: the text as it is printed; empty where only our own number is shown.
        value: that text as a number; None where there is none. unit: of both.
        claim: ``{"kind": ..., ...}``, see `claims.VERDICT_OF`.
        expected: the verdict that our own measurements have led us to expect; ``--strict`` fails where a number that
            was expected to agree is contradicted.
        reason: why it is quoted, undefined or differs. needs: the trace without which it is only quoted.
    """

    key: str
    what: str
    published: str = ""
    value: Any = None
    unit: str = ""
    source: str = ""
    claim: Mapping[str, Any] = field(default_factory=lambda: {"kind": "none"})
    expected: str = ""
    reason: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Experiment:
    """What is measured, against what.

    Attributes:
        id: as R05. title: in a few words. document: a key of `DOCUMENTS`. shows: its tables and figures.
        tier: the least tier that runs it. minutes: of CPU time by scale, on a processor of 2020 or so.
        seeds: how many independent repetitions by scale. traces: names of the archive that are used if they are there.
        did: what the document did. ours: what we do. deviations: where that differs, one sentence each.
        options: options files by name, written out below the folder of the experiment.
        inputs: files of the examples that these name. commands: by which each part can be run by hand.
        numbers: what is claimed. pictures: captions by file name.
        needs_learning: whether it needs torch.
    """

    id: str
    title: str
    document: str
    shows: str
    tier: Tier
    minutes: Mapping[str, float]
    did: str
    ours: str
    numbers: tuple[Number, ...]
    seeds: Mapping[str, int] = field(default_factory=lambda: {"small": 1, "full": 1})
    traces: tuple[str, ...] = ()
    deviations: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    needs_learning: bool = False


def known_ids() -> list[str]:
    """Return the ids of all experiments in their order."""
    return sorted(path.stem for path in FOLDER.glob("R*.json"))


@cache
def experiment(name: str) -> Experiment:
    """Return an experiment.

    Raises:
        OptionsError: no experiment has that name; the message names the nearest one.
    """
    known = known_ids()
    if name not in known:
        raise OptionsError(f"experiment {name[:40]!r} is not known{did_you_mean(name, known)}")
    content = read_json(FOLDER / f"{name}.json", ResultsError)
    numbers = tuple(Number(**number) for number in content.pop("numbers"))
    names = {one.name for one in fields(Experiment) if one.type == "tuple[str, ...]"}
    lists: dict[str, Any] = {key: tuple(content.pop(key)) for key in names & content.keys()}
    return Experiment(id=name, numbers=numbers, **lists, **content)


def chosen(ids: Sequence[str], tier: Tier) -> list[Experiment]:
    """Return the experiments of some ids, or of a tier and all below it where none is named.

    Raises:
        OptionsError: an id is not known.
    """
    if ids:
        return [experiment(name) for name in dict.fromkeys(one.upper() for one in ids)]
    allowed = TIERS[: TIERS.index(tier) + 1]
    return [found for found in map(experiment, known_ids()) if found.tier in allowed]
