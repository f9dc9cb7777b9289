"""Parts of a decision space by name: built-in ones, and users' own.

| part | meaning of the name |
|---|---|
| observation | function of a `State` and its `JobWindow` that returns an `Observer` for a run |
| actions | function of a `State` and its `JobWindow` that returns an `ActionSpace` for a run |
| objectives | function of a `State` that returns a number, more is better |
| actions, as a list | policies: pairs and baselines, such as ``"sjf+easy"`` |
| pairs | job policy: function of a `State` and the waiting jobs that returns a key for each, see `JobPolicy` |

Objectives with a tariff include its file: ``"cost:tariff.csv"``.
A user's own parts are named ``module:attribute`` or ``file.py:attribute``; ``agents/own_parts.py`` has one of each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from hdeeprm_like.decision import specs
from hdeeprm_like.decision.actions import Pair, Policy, policy_named
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.presets import Space
from hdeeprm_like.decision.rates import file_of_rates, read_rates
from hdeeprm_like.decision.rewards import OBJECTIVES, Objective, Rated
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.plugins import find
from hdeeprm_like.values import NUMBER

OBJECTIVE = "objective"  # key in options files


def space_with(space: Space, given: Mapping[str, Any], folder: Path | None = None) -> Space:
    """Return a decision space with some of its fields replaced.

    Args:
        given: fields of `Space` by name, with names instead of parts; *objectives* may also be one name, and a pair
        ``"shortest-high_gflops"``. *objective* is an alias of *objectives*. None leaves a field as it is.
        folder: base of relative file names; None for the current one.

    Raises:
        OptionsError: unknown field or part.
    """
    known = [field.name for field in fields(Space)]
    for name in given:
        if name not in (*known, OBJECTIVE):
            raise OptionsError(f"{name!r} is no field of a decision space{did_you_mean(name, known)}")
    found = {name: value for name, value in given.items() if value is not None}
    if OBJECTIVE in found:
        if "objectives" in found:
            raise OptionsError("objective and objectives say the same; give one of them")
        found["objectives"] = found.pop(OBJECTIVE)
    for name, names in (("observation", specs.OBSERVATIONS), ("actions", specs.ACTIONS)):
        if isinstance(found.get(name), str):
            found[name] = find(found[name], {one: one for one in names}, name, folder)
    for name, words in (
        ("opens", specs.DECISION_POINTS),
        ("reward", specs.REWARD_MODES),
        ("core_policy", CORE_POLICIES),
    ):
        if name in found and found[name] not in words:
            raise OptionsError(f"{name} {found[name]!r:.80} is not known{did_you_mean(str(found[name]), words)}")
    for name in ("observation", "actions", "pairs"):
        kinds = (str, Sequence) if name != "observation" else (str,)
        if name in found and not callable(found[name]) and not isinstance(found[name], kinds):
            raise OptionsError(f"{name} is {found[name]!r:.80}; a name is needed, or a function that makes it")
    if "objectives" in found:
        found["objectives"] = objectives_named(found["objectives"], folder)
    listed = found.get("actions")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        found["actions"], found["pairs"] = "policies", [policy_of(policy, folder) for policy in listed]
    elif "pairs" in found:
        named = [found["pairs"]] if isinstance(found["pairs"], str) else found["pairs"]
        found["pairs"] = [policy_of(pair, folder) for pair in named]
    if "pairs" in found:
        found["pairs"] = tuple(found["pairs"])
    return replace(space, **found)


def objectives_named(
    wanted: str | Objective | Mapping[str | Objective, float], folder: Path | None = None
) -> dict[Objective, float]:
    """Return one objective, or several with their weights.

    Raises:
        OptionsError: one is not known.
    """
    weights = wanted if isinstance(wanted, Mapping) else {wanted: 1.0}
    for one, weight in weights.items():
        if not isinstance(one, str) and not callable(one):
            raise OptionsError(f"objective {one!r:.80}: a name is needed, or a function of the state")
        NUMBER.of(weight, OptionsError, f"the weight of objective {one!r:.80}")
    return {objective_named(one, folder) if isinstance(one, str) else one: weight for one, weight in weights.items()}


def objective_named(name: str, folder: Path | None = None) -> Objective:
    """Return the objective of ``"avg_wait"``, ``"cost:tariff.csv"`` or ``"own.py:fairness"``.

    Raises:
        OptionsError: there is no objective of that name, or its file cannot be read.
    """
    file = file_of_rates(name)
    if file is not None:
        return Rated(name, read_rates((folder or Path()) / file))
    found: Objective = find(name, OBJECTIVES, "objective", folder)
    return found


def policy_of(wanted: str | Pair, folder: Path | None = None) -> Policy:
    """Return the policy of a name, or of a job policy and a core policy.

    Raises:
        OptionsError: there is no such policy.
    """
    if isinstance(wanted, str):
        return policy_named(wanted, folder=folder)
    if not isinstance(wanted, tuple | list):
        raise OptionsError(f"actions: names of policies are needed, as 'sjf+easy', not {wanted!r:.80}")
    job, core = wanted
    return find(job, {name: name for name in JOB_POLICIES}, "job policy", folder) if isinstance(job, str) else job, core
