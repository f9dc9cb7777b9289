"""Memory of baselines on a platform with partitions: reservations of nodes, and Slurm's priorities."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from hdeeprm_like.cluster.partitions import Demands
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.policies.limit_rows import MOST_WINDOWS, SlurmLimits, new_slurm_limits
from hdeeprm_like.decision.policies.preemption_rows import (
    REQUEUES,
    PreemptionRows,
    new_preemption,
    tiers_with_levels,
)
from hdeeprm_like.decision.policies.slurm_settings import fixed_priorities, number, write_settings
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.node_sets import NodeSets, no_node_sets
from hdeeprm_like.engine.numbers import WATCH_DEPTH
from hdeeprm_like.engine.state import State
from hdeeprm_like.types import Floats, Ints, Records

MOST_RESERVATIONS = 1000  # reservations at once; further ones are skipped
MOST_ENTRIES, LEAST_DATES = 2**17, 64  # of NodeProfile: dates times nodes, and dates; they bound its memory

NODE_STATE = np.dtype(
    [
        ("reservations", "i8"),  # used entries of NodePlans.begins
        ("releases", "i8"),  # used entries of Plans.releases, -1 where they must be recomputed
    ],
    align=True,
)


class NodePlans(Bundle):
    """Reservations of whole nodes; S sets, Q partitions, R reservations, W words of 64 nodes.

    Attributes:
        state: (1,) NODE_STATE. begins, ends: (R,) s. reserved: (R, W) bits, the nodes of each.
        by_end: (R,) the reservations by their ends.
        bits: (W,) scratch: some nodes.
        taken: (Q,) jobs of each partition that have a reservation in this pass over the queue.
        free, idle: (S,) free cores of each set now, and those of them on nodes without jobs.
    """

    state: Records
    begins: Floats
    ends: Floats
    reserved: Ints
    by_end: Ints
    bits: Ints
    taken: Ints
    free: Ints
    idle: Ints


class NodeProfile(Bundle):
    """Free capacity of nodes from some dates on; M dates, N nodes.

    Attributes:
        points: (1,) number of dates.
        rows: (M,) the row of each date, in the order of dates. dates: (M,) s, of each row.
        usable: (M,) cores that may serve jobs. cores, memory, gpus: (M, N) free capacity, MB.
        least_cores, least_memory, least_gpus: (N,) scratch: least free capacity over a span of time.
        picked: (N,) scratch: cores of a job on each node.
    """

    points: Ints
    rows: Ints
    dates: Floats
    usable: Ints
    cores: Ints
    memory: Floats
    gpus: Floats
    least_cores: Ints
    least_memory: Floats
    least_gpus: Floats
    picked: Ints


SLURM = np.dtype(
    [
        ("interval", "f8"),  # s, bf_interval
        ("window", "f8"),  # s, bf_window
        ("resolution", "f8"),  # s, bf_resolution
        ("most", "i8"),  # bf_max_job_test
        ("most_of_user", "i8"),  # bf_max_job_user, 0 for no limit
        ("depth", "i8"),  # default_queue_depth
        ("linear", "i8"),  # 1 for select/linear
        ("wider", "f8"),  # s, bf_window_linear, 0 if spans double
        ("age", "f8"),  # PriorityWeightAge
        ("max_age", "f8"),  # s, PriorityMaxAge
        ("fair", "f8"),  # PriorityWeightFairshare
        ("limits", "i8"),  # 1 if AccountingStorageEnforce has limits
        ("half_life", "f8"),  # s, PriorityDecayHalfLife, infinite for no decay
        ("period", "f8"),  # s, PriorityCalcPeriod
        ("delay", "f8"),  # s between two looks of the main scheduler, batch_sched_delay
        ("full", "f8"),  # s between two full looks, sched_interval
        ("next_full", "f8"),  # s, next full look
        ("main_phase", "f8"),  # s, phase of the main scheduler's looks at whole seconds
        ("next_main", "f8"),  # s, earliest next look of the main scheduler
        ("next_backfill", "f8"),  # s, earliest next backfill pass, or whole seconds later
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
        ("linger", "f8"),  # s for which the nodes of a job that has ended are completing,
        ("tick", "f8"),  # s between two looks of a thread that waits for something to do
        ("wait", "f8"),  # s after its end for which Slurm waits for it, CompleteWait,
        ("leaving", "i8"),  # used entries of SlurmRows.leaving,
        ("avoid", "i8"),  # 1 while jobs are kept off completing nodes,
        ("at_once", "i8"),  # 1 where the main scheduler looks as soon as a job has completed,
        ("ended", "i8"),  # and jobs that had when it looked so last
        ("gap", "f8"),  # s between two passes of the main scheduler at least, sched_min_interval
        ("last_main", "f8"),  # s, when it ended the last one,
        ("due", "i8"),  # and the pass that is due: 0 for none, DEEP or FULL
        ("called", "f8"),  # s, when Slurm was last called here,
        ("emptied", "i8"),  # 1 if nothing waited then any more,
        ("noted", "i8"),  # and changes of the cluster until then
        ("most_starts", "i8"),  # sched_max_job_start, 0 for no limit
        ("most_filled", "i8"),  # bf_max_job_start, 0 for no limit
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
        priority: (J,) as last computed. site: (J,) the site factors set by a watch.
        wanted: (J,) scratch: wanted factors, by place in the watch's order. lasts, ends, before, kept: (D,) scratch:
        of the longest part of an order whose site factors may stay; D is the most jobs with a factor.
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
    site: Ints
    wanted: Ints
    lasts: Ints
    ends: Ints
    before: Ints
    kept: Ints
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
    most = (min(jobs, MOST_RESERVATIONS) or MOST_RESERVATIONS) + partitions + MOST_WINDOWS if partitions else 0
    return NodePlans(
        state=np.zeros(1, NODE_STATE),
        begins=np.zeros(most),
        ends=np.zeros(most),
        reserved=np.zeros((most, words), np.int64),
        by_end=np.zeros(most, np.int64),
        bits=np.zeros(words, np.int64),
        taken=np.zeros(partitions, np.int64),
        free=np.zeros(count, np.int64),
        idle=np.zeros(count, np.int64),
    )


@functools.cache
def no_node_plans() -> NodePlans:
    """Return the plans on platforms without partitions: the same for all of these, as nothing writes to them."""
    return new_node_plans(no_node_sets(), 0)


def new_node_profile(state: State, jobs: int, wanted: bool) -> NodeProfile:
    """Return the arrays of a node profile; absent with partitions, and unless *wanted*.

    Args:
        jobs: 0 if unknown.
    """
    needless = not wanted or state.platform.partitions is not None
    nodes, most = 0 if needless else state.platform.nodes, MOST_ENTRIES
    dates = 0 if needless or not state.named else min(2 * (jobs or most) + 3, max(most // nodes, LEAST_DATES))
    return NodeProfile(
        points=np.zeros(1, np.int64),
        rows=np.zeros(dates, np.int64),
        dates=np.zeros(dates),
        usable=np.zeros(dates, np.int64),
        cores=np.zeros((dates, nodes), np.int64),
        memory=np.zeros((dates, nodes)),
        gpus=np.zeros((dates, nodes)),
        least_cores=np.zeros(nodes, np.int64),
        least_memory=np.zeros(nodes),
        least_gpus=np.zeros(nodes),
        picked=np.zeros(nodes, np.int64),
    )


def make_room_for_sets(plans: NodePlans, sets: NodeSets) -> None:
    """Grow the arrays to all sets of nodes; with Batsim they become known during the run."""
    count = len(sets.members)
    if count > len(plans.free):
        plans.free, plans.idle = np.zeros(count, np.int64), np.zeros(count, np.int64)


def new_slurm_rows(platform: Platform, jobs: Workload, sets: NodeSets) -> SlurmRows:
    """Return the state of Slurm's scheduler before the first arrival.

    Settings that the platform does not have get Slurm's defaults.
    """
    partitions, demands = platform.partitions, jobs.demands
    assert partitions is not None
    assert demands is not None
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
        **watch_rows(len(jobs)),
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


def watch_rows(jobs: int) -> dict[str, Ints]:
    """Return the working columns of a watch in `SlurmRows`, by name."""
    sizes = {"site": jobs, "wanted": jobs} | dict.fromkeys(("lasts", "ends", "before", "kept"), min(jobs, WATCH_DEPTH))
    return {name: np.zeros(size, np.int64) for name, size in sizes.items()}


@functools.cache
def kept_slurm_rows() -> SlurmRows:
    """Return the same on platforms without partitions: the same for all of these, as nothing writes to it."""
    return no_slurm_rows()


def no_slurm_rows() -> SlurmRows:
    """Return the empty state for runs without a baseline like Slurm."""
    numbers, none = np.zeros(0), np.zeros(0, OWNER)
    places = np.zeros(0, np.int64)
    return SlurmRows(
        params=np.zeros(1, SLURM),
        owner=np.zeros(0, np.int32),
        fixed=numbers,
        tier=numbers,
        priority=numbers,
        **watch_rows(0),
        works=numbers,
        leaving=np.zeros(0, np.int64),
        completing=np.zeros(0, np.int64),
        main_dates=numbers,
        backfill_dates=numbers,
        owners=none,
        accounts=none,
        order=places,
        account_order=places,
        limits=new_slurm_limits({}, 0, 0),
        preemption=new_preemption({}, numbers, numbers),
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
