"""Flows that share capacities: what jobs send and compute, and the message of a job's end.

A flow has a use of each capacity that it needs. Flows that begin or end change the rates of the flows connected with
them by a capacity, which are computed before the clock moves (`engine.sharing` has the rule).
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.sharing import Problem, share
from hdeeprm_like.types import Ints, Records

NONE = -1  # instead of a row
MESSAGE_FLOW = 0  # the flow of the message under way; that of job j is j + 1

CAPACITY = np.dtype(
    [
        ("bound", "f8"),  # bytes/s or flop/s
        ("fatpipe", "i4"),
        ("first", "i4"),  # first of its uses, in the order in which the flows began
        ("last", "i4"),
        ("met", "i4"),  # epoch in which the search has come here
    ],
    align=True,
)

FLOW = np.dtype(
    [
        ("bound", "f8"),  # 1/s, limit by the latency of its route; negative: unlimited
        ("delay", "f8"),  # s, latency
        ("waits", "i8"),  # creation number of its latency, 0 when that is over or there is none
        ("first", "i4"),  # first of its uses
        ("runs", "i4"),  # 1 while it uses its capacities
        ("changed", "i4"),  # 1 while its rate must be computed
        ("met", "i4"),  # epoch in which the search has come here
        ("number", "i8"),  # in the problem
    ],
    align=True,
)

LOAD = np.dtype(
    [
        ("weight", "f8"),  # flop or bytes of the whole work
        ("capacity", "i4"),
        ("flow", "i4"),
        ("next_on", "i4"),  # the next use of the capacity
        ("before_on", "i4"),
        ("next_of", "i4"),  # the next use of the flow, or the next free one
    ],
    align=True,
)

ROADS = np.dtype(
    [
        ("made", "i8"),  # used entries of loads
        ("free", "i8"),  # 1 + the first free one among these, 0 for none
        ("changed", "i8"),  # used entries of changed
        ("epoch", "i8"),  # number of searches
    ],
    align=True,
)


class Flows(Bundle):
    """Flows and their capacities; C capacities, F flows.

    Attributes:
        problem: those that are connected, for the solver.
        roads: (1,) ROADS.
        capacities: (C,) CAPACITY. flows: (F,) FLOW. loads: LOAD, the uses of all flows.
        changed: flows whose rates must be computed.
        members and met: scratch: the flows and capacities that are connected.
    """

    problem: Problem
    roads: Records
    capacities: Records
    flows: Records
    loads: Records
    changed: Ints
    members: Ints
    met: Ints


# --- uses of capacities


@inlined
def add_load(traffic: Flows, f: int, c: int, weight: float) -> None:
    """Give a flow that does not run yet a use of a capacity."""
    roads = traffic.roads[0]
    u = roads.free - 1
    if u >= 0:
        roads.free = traffic.loads[u].next_of + 1
    else:
        u = roads.made
        roads.made += 1
    load = traffic.loads[u]
    load.weight, load.capacity, load.flow = weight, c, f
    load.next_of = traffic.flows[f].first
    traffic.flows[f].first = u


@compiled
def begin_flow(traffic: Flows, f: int) -> None:
    """Start a flow's use of its capacities."""
    flow = traffic.flows[f]
    flow.runs = 1
    u = flow.first
    while u >= 0:
        load = traffic.loads[u]
        capacity = traffic.capacities[load.capacity]
        load.next_on, load.before_on = NONE, capacity.last
        if capacity.last >= 0:
            traffic.loads[capacity.last].next_on = u
        else:
            capacity.first = u
        capacity.last = u
        u = load.next_of
    note_changed(traffic, f)


@inlined
def note_changed(traffic: Flows, f: int) -> None:
    """Note that the rate of a flow must be computed."""
    if not traffic.flows[f].changed:
        roads = traffic.roads[0]
        traffic.flows[f].changed = 1
        traffic.changed[roads.changed] = f
        roads.changed += 1


@compiled
def end_flow(traffic: Flows, f: int) -> None:
    """Remove a flow, whether or not it runs; what it has used is shared out again at the next `solve`."""
    flow, roads = traffic.flows[f], traffic.roads[0]
    u = flow.first
    while u >= 0:
        load = traffic.loads[u]
        if flow.runs:
            capacity = traffic.capacities[load.capacity]
            if load.before_on >= 0:
                traffic.loads[load.before_on].next_on = load.next_on
            else:
                capacity.first = load.next_on
            if load.next_on >= 0:
                traffic.loads[load.next_on].before_on = load.before_on
            else:
                capacity.last = load.before_on
            other = capacity.first
            while other >= 0:
                note_changed(traffic, traffic.loads[other].flow)
                other = traffic.loads[other].next_on
        following = load.next_of
        load.next_of, roads.free = roads.free - 1, u + 1
        u = following
    flow.first, flow.runs, flow.waits = NONE, 0, 0


# --- rates


@compiled
def connect(traffic: Flows, start: int) -> None:
    """Write the problem of the flows that share, directly or not, a capacity with a flow."""
    size, epoch = traffic.problem.size[0], traffic.roads[0].epoch
    members, met, at = 1, 0, 0
    traffic.members[0] = start
    traffic.flows[start].met = epoch
    while at < members:
        f = traffic.members[at]
        traffic.flows[f].number = at
        traffic.problem.variables[at].bound = traffic.flows[f].bound
        at += 1
        u = traffic.flows[f].first
        while u >= 0:
            c = traffic.loads[u].capacity
            capacity = traffic.capacities[c]
            u = traffic.loads[u].next_of
            if capacity.met == epoch:
                continue
            capacity.met = epoch
            traffic.met[met] = c
            met += 1
            other = capacity.first
            while other >= 0:
                flow = traffic.flows[traffic.loads[other].flow]
                if flow.met != epoch:
                    flow.met = epoch
                    traffic.members[members] = traffic.loads[other].flow
                    members += 1
                other = traffic.loads[other].next_on
    uses = 0
    for i in range(met):
        capacity, constraint = traffic.capacities[traffic.met[i]], traffic.problem.constraints[i]
        constraint.bound, constraint.fatpipe, constraint.first = capacity.bound, capacity.fatpipe, uses
        u = capacity.first
        while u >= 0:
            load, use = traffic.loads[u], traffic.problem.uses[uses]
            use.weight = use.heaviest = load.weight
            use.takers, use.variable = 1, traffic.flows[load.flow].number
            uses += 1
            u = load.next_on
    traffic.problem.constraints[met].first = uses
    size.constraints, size.variables, size.uses = met, members, uses


@inlined
def next_solved(traffic: Flows) -> int:
    """Compute the rates of flows connected with the next changed one, as a problem; return how many, 0 if all are."""
    roads = traffic.roads[0]
    while roads.changed > 0:
        roads.changed -= 1
        f = traffic.changed[roads.changed]
        flow = traffic.flows[f]
        flow.changed = 0
        if flow.runs and flow.met != roads.epoch:
            connect(traffic, f)
            share(traffic.problem)
            return int(traffic.problem.size[0].variables)
    return 0
