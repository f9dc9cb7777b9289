"""The outcomes to simulate for a question, and their parts of the answer.

A policy is an order, and a mechanism applies it. On a Slurm the mechanism of now is Slurm's, and a policy given only
by its order runs through it, as with ``hdeeprm-like slurm watch``: only the order changes. A policy with its own
mechanism, such as ``sjf+easy``, would need another scheduler in place of Slurm's. It is shown separately, and compared
with the order of now under that same mechanism, so that the effects of order and mechanism are separate figures.

| part | outcome | compared with |
|---|---|---|
| NOW | the policy of now | |
| POLICY | another order through the mechanism of now | now |
| CHANGE | the policy of now on a changed machine | now |
| MECHANISM | the order of now under another mechanism: the mechanism alone | now |
| OTHER | another order under another mechanism | the mechanism alone |
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from hdeeprm_like.decision.modes import GUARANTEED, SCORED, SLURM, mode_named
from hdeeprm_like.decision.names import Baseline, names_mode, policy_in
from hdeeprm_like.engine.numbers import WATCH_FACTOR, WATCH_INTERVAL
from hdeeprm_like.refusals import WHATIF
from hdeeprm_like.studies.whatif.changes import Change

NOW, POLICY, CHANGE, MECHANISM, OTHER = "now", "policy", "change", "mechanism", "other scheduler"
BESIDE_NOW = (NOW, POLICY, CHANGE)  # the parts that stand in the same table as now
ALONE = "the mechanism alone"
IN_PLACE, APART = "another scheduler in place of Slurm's", "Another scheduler in place of Slurm's"


@dataclass(frozen=True)
class Asked:
    """Something to be simulated.

    Attributes:
        policy, change: what. part: of the answer. beside: the place of what it is held beside.
    """

    policy: Baseline
    part: str
    beside: int = 0
    change: Change | None = None


def asked_for(
    now: str,
    policies: Iterable[str],
    changes: Iterable[Change] = (),
    interval: float = WATCH_INTERVAL,
    factor: int = WATCH_FACTOR,
) -> list[Asked]:
    """Return the outcomes to simulate, that of now first, each policy once.

    Args:
        interval, factor: of the watch, for policies that do not set their own.

    Raises:
        OptionsError: a policy is not known.
    """
    present = baseline_of(now)
    named = [through(name, present, interval, factor) for name in policies]
    chosen = [policy for policy in dict.fromkeys(named) if policy != present]
    asked = [Asked(present, NOW)]
    asked += [Asked(policy, POLICY) for policy in chosen if not replaces(policy, present)]
    asked += [Asked(present, CHANGE, change=change) for change in changes]
    others: dict[Baseline, list[Baseline]] = {}
    for policy in chosen:
        if replaces(policy, present):
            others.setdefault(under(present, policy), []).append(policy)
    for mechanism, own in others.items():
        place = len(asked)
        asked.append(Asked(mechanism, MECHANISM))
        asked += [Asked(policy, OTHER, beside=place) for policy in own if policy != mechanism]
    return asked


def baseline_of(name: str) -> Baseline:
    """Return the baseline of a name; raise an OptionsError for what has no order and mechanism."""
    policy = policy_in(name, WHATIF)
    assert isinstance(policy, Baseline)
    return policy


def through(name: str, present: Baseline, interval: float, factor: int) -> Baseline:
    """Return the policy of a name; one that names no mechanism runs through Slurm's where that is the one of now."""
    policy = baseline_of(name)
    if present.mode.name == SLURM and not names_mode(name):
        policy = under(policy, present)
    if not policy.watched or policy.mode.text != SLURM:
        return policy
    return replace(policy, mode=policy.mode.replaced(interval=interval, factor=factor))


def replaces(policy: Baseline, present: Baseline) -> bool:
    """Return whether a policy needs another scheduler in place of the Slurm of now."""
    return present.mode.name == SLURM != policy.mode.name


def under(order: Baseline, mechanism: Baseline) -> Baseline:
    """Return the order of one policy under the mechanism of another: that which the resulting name means everywhere.

    All else that a policy has, such as guaranteed starts, is of its own mechanism, and stays behind.
    """
    mode = mechanism.mode
    if mode.name == SCORED:  # a learned policy starts jobs itself, around guarantees or as EASY around one reservation
        mode = mode_named(GUARANTEED)(bound=mode.bound) if mode.bound else mode_named("easy")()
    placement = order.placement if mode.name == SLURM else mechanism.placement
    return Baseline(order.order, mode, order.order_times, mechanism.times, placement)


def beside_now(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an answer that are compared with now."""
    return [row for row in rows if row["part"] in BESIDE_NOW]


def in_place_of_slurm(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an answer that need another scheduler."""
    return [row for row in rows if row["part"] not in BESIDE_NOW]
