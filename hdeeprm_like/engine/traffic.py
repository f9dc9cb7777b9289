"""The network of the embedded simulator: the bytes that jobs send one another share links with other jobs' bytes.

A job that sends is a *flow*: one share of its work is its operations on each core and its bytes on all links between
its cores, and progresses at one rate. The slowest of its cores stands for all of them, a capacity of its own. The
message of a job's end is a flow, too. Flows that begin or end change the rates of the flows connected with them by a
link, which `solve` computes before the clock moves (`engine.sharing` has the rule).

The timing is that of ``batsim_server``: a latency first, then the work.
"""

from math import sqrt

import numpy as np

from hdeeprm_like.cluster.routes import NO_ROUTES, Routes
from hdeeprm_like.engine.bundles import Bundle, bundled
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.flows import CAPACITY, FLOW, LOAD, MESSAGE_FLOW, NONE, ROADS, Flows, add_load
from hdeeprm_like.engine.sharing import new_problem
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Ints

EXACT = 2.0**53  # whole numbers below are sums without rounding


class Traffic(Flows):
    """The network of one simulation; L links, J jobs, the others as in `Routes`.

    Its L + J capacities are the links, then the slowest core of each job.

    Attributes:
        routes: the links, and the ways of messages over them.
        at_place, at_group, at_link: (U,), (G,), (L,) scratch, always 0 between two calls: cores, or pairs of cores.
        places, groups, crossed: (U,), (G,), (L,) scratch: those with some.
    """

    routes: Routes
    at_place: Ints
    at_group: Ints
    at_link: Ints
    places: Ints
    groups: Ints
    crossed: Ints


class NoTraffic(Bundle):
    """Stand-in for the network of a clock without one, see `batsim_actors.rates_change`."""

    nothing: Floats


def new_traffic(routes: Routes | None, jobs: int) -> Traffic:
    """Return the network of a simulation of some jobs before its first event; without routes nothing is sent."""
    routes = NO_ROUTES if routes is None else routes
    links, places, groups = len(routes.bandwidth), len(routes.up), len(routes.delay)
    loads = most_loads(routes, jobs)
    return Traffic(
        routes=bundled(routes),
        roads=np.zeros(1, ROADS),
        capacities=np.zeros(links + jobs, CAPACITY),
        flows=np.zeros(jobs + 1, FLOW),
        loads=np.zeros(loads, LOAD),
        changed=np.zeros(jobs + 1, np.int64),
        members=np.zeros(jobs + 1, np.int64),
        met=np.zeros(links + jobs, np.int64),
        problem=new_problem(links + jobs, jobs + 1, loads),
        at_place=np.zeros(places, np.int64),
        at_group=np.zeros(groups, np.int64),
        at_link=np.zeros(links, np.int64),
        places=np.zeros(places, np.int64),
        groups=np.zeros(groups, np.int64),
        crossed=np.zeros(links, np.int64),
    )


def most_loads(routes: Routes, jobs: int) -> int:
    """Return how many uses all jobs that run at once can have: each of its core, and of some of the links.

    A job of s cores uses at most s (s - 1) routes, and no more links than there are. So the number is largest if all
    jobs are just large enough to use all links.
    """
    cores, links = len(routes.place), len(routes.bandwidth)
    length = 3 + int(np.diff(routes.first).max(initial=0))
    at_once = min(jobs, cores)
    least = max(1.0, sqrt(links / length))  # cores that may use all links
    of_links = min(at_once * links, int(cores / least + 1) * links, cores * (cores - 1) * length)
    return of_links + at_once + links + 2


@inlined
def has_routes(traffic: Traffic) -> bool:
    """Return whether what jobs send takes time."""
    return len(traffic.routes.place) > 0


# --- uses of capacities


@inlined
def open_traffic(traffic: Traffic) -> None:
    """Begin a simulation."""
    for link in range(len(traffic.routes.bandwidth)):
        capacity = traffic.capacities[link]
        capacity.bound, capacity.fatpipe, capacity.met = traffic.routes.bandwidth[link], traffic.routes.fatpipe[link], 0
        capacity.first = capacity.last = NONE
    flow = traffic.flows[MESSAGE_FLOW]
    flow.first, flow.runs, flow.changed, flow.met, flow.waits = NONE, 0, 0, 0, 0


@inlined
def forget_flow(traffic: Traffic, j: int) -> None:
    """Note that a job has no flow yet."""
    flow, capacity = traffic.flows[j + 1], traffic.capacities[len(traffic.routes.bandwidth) + j]
    flow.first, flow.runs, flow.changed, flow.met, flow.waits = NONE, 0, 0, 0, 0
    capacity.first, capacity.last, capacity.fatpipe, capacity.met = NONE, NONE, 0, 0


# --- the loads of a job


@compiled
def load_links(tables: Tables, traffic: Traffic, j: int, size: float) -> None:
    """Give the flow of a job its uses of links and its latency; each core sends *size* bytes to each other core."""
    places, groups, cores = count_cores(tables, traffic, j)
    crossed = 0
    for i in range(places):
        place = traffic.places[i]
        pairs = traffic.at_place[place] * (cores - 1)
        traffic.at_place[place] = 0
        crossed = cross(traffic, traffic.routes.up[place], pairs, crossed)
        crossed = cross(traffic, traffic.routes.down[place], pairs, crossed)
        crossed = cross(traffic, traffic.routes.limiter[place], 2 * pairs, crossed)  # out and in
    delay = 0.0
    for i in range(groups):
        g = traffic.groups[i]
        for k in range(groups):
            h = traffic.groups[k]
            pairs = traffic.at_group[g] * (traffic.at_group[h] - (g == h))
            if pairs > 0:
                delay = max(delay, traffic.routes.delay[g, h])
                way = g * len(traffic.at_group) + h
                for at in range(traffic.routes.first[way], traffic.routes.first[way + 1]):
                    crossed = cross(traffic, traffic.routes.links[at], pairs, crossed)
    for i in range(groups):
        traffic.at_group[traffic.groups[i]] = 0
    for i in range(crossed):
        link = traffic.crossed[i]
        pairs = 1 if traffic.routes.fatpipe[link] else traffic.at_link[link]
        traffic.at_link[link] = 0
        add_load(traffic, j + 1, link, repeated(size, pairs))
    traffic.flows[j + 1].delay = delay


@inlined
def count_cores(tables: Tables, traffic: Traffic, j: int) -> tuple[int, int, int]:
    """Count the cores of a job by place and by group; return the numbers of places, groups and cores."""
    places = groups = cores = 0
    for i in range(tables.jobs[j].first, tables.jobs[j].first + tables.jobs[j].stretches):
        stretch = tables.allocation[i]
        cores += stretch.cores
        for core in range(stretch.first, stretch.first + stretch.cores):
            place = traffic.routes.place[core]
            if traffic.at_place[place] == 0:
                traffic.places[places] = place
                places += 1
            traffic.at_place[place] += 1
            group = traffic.routes.group[place]
            if traffic.at_group[group] == 0:
                traffic.groups[groups] = group
                groups += 1
            traffic.at_group[group] += 1
    return places, groups, cores


@inlined
def cross(traffic: Traffic, link: int, pairs: int, crossed: int) -> int:
    """Count pairs of cores whose route crosses a link, if there is one; return how many links are crossed so far."""
    if link < 0 or pairs == 0:
        return crossed
    if traffic.at_link[link] == 0:
        traffic.crossed[crossed] = link
        crossed += 1
    traffic.at_link[link] += pairs
    return crossed


@inlined
def repeated(size: float, times: int) -> float:
    """Return the sum of *times* equal numbers, rounded after each addition as in SimGrid."""
    if size == np.floor(size) and size * times < EXACT:
        return size * times
    total = 0.0
    for _ in range(times):
        total += size
    return total
