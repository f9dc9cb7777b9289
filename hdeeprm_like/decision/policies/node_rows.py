"""Memory of baselines on a platform with partitions: reservations of nodes, and Slurm's priorities."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Demands, no_demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.policies.factors import Factors, new_factors
from hdeeprm_like.decision.policies.limit_rows import MOST_WINDOWS, SlurmLimits, new_slurm_limits
from hdeeprm_like.decision.policies.preemption_rows import (
    REQUEUES,
    PreemptionRows,
    new_preemption,
    tiers_with_levels,
)
from hdeeprm_like.decision.policies.slurm_settings import OF_SETTINGS, fixed_priorities, number, write_settings
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.node_sets import NodeSets, no_node_sets
from hdeeprm_like.engine.numbers import WATCH_DEPTH
from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Floats, Ints, Records


class NodeSpans(Bundle):
    """Reservations of whole nodes, each for a span of time, in some of R rows; W words of 64 nodes, which are bits.

    Attributes:
        count: (1,) reservations. by_end: (R,) their rows, by their ends. begins, ends: (R,) s. nodes: (R, W) bits.
        anywhere: (R,) 1 where it is of cores anywhere, so that another such one may be beside it.
        bits: (W,) scratch: some nodes.
    """

    count: Ints
    by_end: Ints
    begins: Floats
    ends: Floats
    nodes: Ints
    anywhere: Ints
    bits: Ints


def new_spans(most: int, words: int) -> NodeSpans:
    """Return no reservations, with capacity for *most*."""
    return NodeSpans(
        count=np.zeros(1, np.int64),
        by_end=np.zeros(most, np.int64),
        begins=np.zeros(most),
        ends=np.zeros(most),
        nodes=np.zeros((most, words), np.int64),
        anywhere=np.zeros(most, np.int64),
        bits=np.zeros(words, np.int64),
    )


class NodePlans(Bundle):
    """A pass over the queue of a platform with partitions; S sets, Q partitions.

    Attributes:
        releases: (1,) used entries of ``Plans.releases``, -1 where they must be recomputed.
        spans: reservations of nodes, of a job, a partition or a window each.
        taken: (Q,) jobs of each partition that have a reservation in this pass over the queue.
        free, idle: (S,) free cores of each set now, and those of them on nodes without jobs.
    """

    releases: Ints
    spans: NodeSpans
    taken: Ints
    free: Ints
    idle: Ints


NODE_PROFILE = np.dtype(
    [
        ("changes", "i8"),  # used entries of NodeProfile.changes
        ("holds", "i8"),  # used entries of NodeProfile.hold_node
    ],
    align=True,
)

NODE_CHANGE = np.dtype(
    [
        ("job", "i4"),
        ("share", "i4"),  # 1 if what it holds becomes free, -1 if that is taken
        ("held", "i8"),  # nodes that it holds: hold_node[first_hold : first_hold + held]
        ("first_hold", "i8"),
        ("next", "i8"),  # next change of that date, -1 for none
    ],
    align=True,
)


class NodeProfile(
    Bundle,
    written_first=(
        *("state", "first_change", "changes", "hold_node", "hold_cores"),
        *("cores", "memory", "gpus", "picked"),
    ),
):
    """What changes on nodes at each of the dates of a `core_profile.Profile`; M dates, N nodes.

    It has capacity for all known jobs: each has at most two dates and holds at most as many nodes as it requests cores.

    Attributes:
        state: (1,) NODE_PROFILE. first_change: (M,) the first change of each date, -1 for none.
        changes: (M,) NODE_CHANGE. hold_node, hold_cores: the nodes in the changes, and a job's cores on each.
        cores, memory, gpus: (3, N) scratch: free capacity, MB, at the begin of a span of time, at a date in it, and the
            least in it.
        picked: (N,) scratch: cores of a job on each node.
    """

    state: Records
    first_change: Ints
    changes: Records
    hold_node: Ints
    hold_cores: Ints
    cores: Ints
    memory: Floats
    gpus: Floats
    picked: Ints


SLURM = np.dtype(
    [
        *OF_SETTINGS,
        ("linear", "i8"),  # 1 for select/linear
        ("limits", "i8"),  # 1 if AccountingStorageEnforce has limits
        ("next_main", "f8"),  # s, earliest next look of the main scheduler
        ("next_period", "f8"),  # s, next computation of priorities
        ("as_of", "f8"),  # s, date of the last decay of usage
        ("main_seen", "i8"),  # arrivals plus ends at the last look of the main scheduler
        ("reordered", "i8"),  # 1 if the order of the queue has changed since then
        ("seen", "i8"),  # changes of the cluster before the last backfill pass
        ("booked", "i8"),  # changes up to which usage is booked
        ("ranked", "i8"),  # changes up to which jobs have their first priority
        ("counted", "i8"),  # changes up to which jobs are counted for limits
        ("windows_seen", "f8"),  # s, when windows were last found to have opened or closed nodes
        ("looked_at", "f8"),  # s, last look of the watch, -1 before
        ("looked", "i8"),  # changes of the cluster until then
        ("behind", "i8"),  # 1 if it had more to change than it may at once
        ("users", "i8"),  # users in the tree of shares
        ("root", "i8"),  # 1 if one of these is root
        ("leaving", "i8"),  # used entries of SlurmRows.leaving,
        ("avoid", "i8"),  # 1 while jobs are kept off completing nodes,
        ("at_once", "i8"),  # 1 where the main scheduler looks as soon as a job has completed,
        ("ended", "i8"),  # and jobs that had when it looked so last
        ("last_main", "f8"),  # s, when it ended the last pass,
        ("due", "i8"),  # and the pass that is due: 0 for none, DEEP or FULL
        ("called", "f8"),  # s, when Slurm was last called here,
        ("emptied", "i8"),  # 1 if nothing waited then any more,
        ("noted", "i8"),  # and changes of the cluster until then
    ],
    align=True,
)

OWNER = np.dtype(
    [
        ("account", "i4"),
        ("tested", "i4"),  # jobs of this user tested in this pass
        ("share", "f8"),
        ("used", "f8"),  # core s, fading
        ("level", "f8"),  # share over usage, among the users of the account
        ("factor", "f8"),  # Fair Tree's factor, from 0 to 1
    ],
    align=True,
)


class SlurmRows(Bundle):
    """State of Slurm's scheduler; J jobs, U users of accounts, A accounts.

    Attributes:
        params: (1,) SLURM. owner: (J,) the user of an account that each job belongs to.
        fixed: (J,) constant part of its priority. tier: (J,) tier of its partition.
        priority: (J,) as last computed. factors: those that a watch sets.
        works: (J,) s that each job runs before it ends. leaving: (J,) jobs that have ended on nodes that are
        completing. completing: (W,) bits, these nodes.
        main_dates, backfill_dates: s, looks of its threads if the jobs are recorded ones; empty if unknown.
        owners: (U,) OWNER. accounts: (A,) OWNER. order: (U,) users by rank. account_order: (A,) the same.
        limits: of what running jobs may have, and windows that close nodes. preemption: which jobs give way to which.
    """

    params: Records
    owner: Ints
    fixed: Floats
    tier: Floats
    priority: Floats
    factors: Factors
    works: Floats
    leaving: Ints
    completing: Ints
    main_dates: Floats
    backfill_dates: Floats
    owners: Records
    accounts: Records
    order: Ints
    account_order: Ints
    limits: SlurmLimits
    preemption: PreemptionRows


def new_node_plans(sets: NodeSets, jobs: int) -> NodePlans:
    """Return plans of baselines without reservations; empty without partitions.

    Args:
        jobs: 0 if unknown.
    """
    count, words = sets.member_bits.shape
    partitions = len(sets.partition_nodes)
    return NodePlans(
        releases=np.zeros(1, np.int64),
        spans=new_spans(jobs + partitions + MOST_WINDOWS if partitions else 0, words),
        taken=np.zeros(partitions, np.int64),
        free=np.zeros(count, np.int64),
        idle=np.zeros(count, np.int64),
    )


@functools.cache
def no_node_plans() -> NodePlans:
    """Return the plans on platforms without partitions: the same for all of these, as nothing writes to them."""
    return new_node_plans(no_node_sets(), 0)


def new_node_profile(state: State, jobs: int, wanted: bool, dated: bool) -> NodeProfile:
    """Return the arrays of a node profile; absent with partitions, and unless *wanted*.

    Args:
        jobs: 0 if unknown. dated: whether it has other dates than now.
    """
    needless = not wanted or state.platform.partitions is not None
    nodes = 0 if needless else state.platform.nodes
    dates, holds = profile_size(state, jobs) if dated and state.named and nodes else (0, 0)
    return NodeProfile(
        state=np.zeros(1, NODE_PROFILE),
        first_change=np.zeros(dates, np.int64),
        changes=np.zeros(dates, NODE_CHANGE),
        hold_node=np.zeros(holds, np.int32),
        hold_cores=np.zeros(holds, np.int32),
        cores=np.zeros((3, nodes), np.int64),
        memory=np.zeros((3, nodes)),
        gpus=np.zeros((3, nodes)),
        picked=np.zeros(nodes, np.int64),
    )


def profile_size(state: State, jobs: int) -> tuple[int, int]:
    """Return how many dates and held nodes a node profile has at most with some jobs.

    What the jobs hold together is no more than the cores that they can get; what the running ones do, than the machine.
    """
    nodes, places = state.platform.nodes, int(state.tables.clock["places"][0])
    holds = min(places, jobs * nodes) + state.platform.cores
    return 2 * jobs + 3, 1 << holds.bit_length()  # it grows seldom


def new_slurm_rows(platform: Platform, jobs: Workload, sets: NodeSets) -> SlurmRows:
    """Return the state of Slurm's scheduler before the first arrival.

    Settings that the platform does not have get Slurm's defaults.
    """
    partitions, demands = platform.partitions, jobs.demands or no_demands(len(jobs))
    assert partitions is not None
    settings = partitions.settings
    params = np.zeros(1, SLURM)
    write_settings(params, settings)
    owner, owners, accounts = owners_of(demands, jobs.user, settings.get("shares") or {})
    params["root"] = bool(settings.get("root_user", True))
    params["users"] = len(owners) + params["root"]
    params["looked_at"] = params["windows_seen"] = -1.0
    params["last_main"] = -np.inf
    return SlurmRows(
        params=params,
        owner=owner,
        fixed=fixed_priorities(platform, jobs, sets, settings),
        tier=tiers_with_levels(settings, partitions.tiers[sets.demands["partition"]]),
        priority=np.zeros(len(jobs)),
        factors=new_factors(len(jobs), WATCH_DEPTH),
        works=jobs.delay - params["linger"],
        leaving=np.zeros(len(jobs), np.int64),
        completing=np.zeros(sets.member_bits.shape[1], np.int64),
        main_dates=np.array(settings.get("main_dates") or (), np.float64),
        backfill_dates=np.array(settings.get("backfill_dates") or (), np.float64),
        owners=owners,
        accounts=accounts,
        order=np.arange(len(owners)),
        account_order=np.arange(len(accounts)),
        limits=new_slurm_limits(settings, len(jobs), platform.nodes),
        preemption=new_preemption(
            settings,
            jobs.submit,
            jobs.delay - params["linger"],
            len(sets.hold_node) * (1 + REQUEUES),
            platform.nodes,
            int(np.bincount(platform.processor_node, platform.processor_cores).max()),
        ),
    )


@functools.cache
def no_slurm_rows() -> SlurmRows:
    """Return the empty state for runs without a baseline like Slurm: the same for all, as nothing writes to it."""
    columns: dict[str, Any] = {
        **dict.fromkeys(("fixed", "tier", "priority", "works", "main_dates", "backfill_dates"), np.zeros(0)),
        **dict.fromkeys(("leaving", "completing", "order", "account_order"), np.zeros(0, np.int64)),
        **dict.fromkeys(("owners", "accounts"), np.zeros(0, OWNER)),
    }
    return SlurmRows(
        params=np.zeros(1, SLURM),
        owner=np.zeros(0, np.int32),
        **columns,
        factors=new_factors(0, 0),
        limits=new_slurm_limits({}, 0, 0),
        preemption=new_preemption({}, np.zeros(0), np.zeros(0)),
    )


def owners_of(demands: Demands, user: Ints, shares: Mapping[str, Any]) -> tuple[Ints, Records, Records]:
    """Return (J,) the user of an account of each job, (U,) and (A,) OWNER with equal shares unless given in *shares*.

    Args:
        shares: of accounts by name.
    """
    names = sorted(set(demands.account))
    numbers = {name: place for place, name in enumerate(names)}
    pairs: dict[tuple[str, int], int] = {}
    owner = np.zeros(len(user), np.int32)
    for job, pair in enumerate(zip(demands.account, user.tolist(), strict=True)):
        owner[job] = pairs.setdefault(pair, len(pairs))
    owners, accounts = np.zeros(max(len(pairs), 1), OWNER), np.zeros(max(len(names), 1), OWNER)
    owners["account"] = [numbers[name] for name, _ in pairs] or [0]
    accounts["share"] = [number(shares.get(name), 1.0) for name in names] or [1.0]
    accounts["share"] /= max(accounts["share"].sum(), 1e-300)
    owners["share"] = 1.0 / np.bincount(owners["account"], minlength=len(accounts))[owners["account"]]
    owners["factor"] = 1.0
    return owner, owners, accounts
