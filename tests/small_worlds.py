"""Small random worlds for the reference scheduler: how they are drawn, played beside the engine, and shrunk.

A world is a tuple of plain values, so that a difference can be drawn on paper and repeated.
"""

import os
import re
import zlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from reference_partitions import PartitionReference
from reference_scheduler import KEYS, Reference
from small import Stepper, jobs, partitions_of, platform

from hdeeprm_like.cluster.partitions import Demand, demands_of
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import PACKINGS, PLACEMENTS, baseline
from hdeeprm_like.engine.dates import SAME_DATE
from hdeeprm_like.engine.state import State

CLOCKS = ("textbook", "one-by-one", "batsim")
CONSTRAINTS = ("cores", "memory", "gpus", "whole", "cap", "all", "all whole")
PARTITIONED_MODES = ("strict", "greedy", "reserve", "easy", "easyfcfs", "easysjf", "conservative", "bounded")
PARTITIONED = ("partitions", "partitions all", "partitions whole")
MODES = ("strict", "greedy", "reserve", "commit", "commitbackfill", "easy", "easyfcfs", "easysjf", "conservative",
         "packing", "bounded")  # fmt: skip
SLOW = 20_000  # s that each second of a world with guaranteed starts takes: half a day of these has no room in others
TOGETHER = 1e-8  # s within which events are one


class World(NamedTuple):
    """What is played.

    Attributes:
        name: of the baseline. clock: of the simulator. whole: whether a node takes all cores of a job.
        capped: cores that the power cap leaves at most, 0 for no cap.
        nodes: (MB, GPUs, processors) of each; a processor is (cores, GFLOP/s, W, GB/s).
        jobs: (submit, s, requested s, cores, MB a core, GB/s a core, GPUs of the job, whether it computes) of each.
        partitions: (weight, whether it has the feature, partitions) of each node; empty for a platform without.
        demands: of each job, where there are partitions.
    """

    name: str
    clock: str
    whole: bool
    capped: int
    nodes: tuple
    jobs: tuple
    partitions: tuple = ()
    demands: tuple = ()


DAY = zlib.crc32(os.environ["HDEEPRM_LIKE_SEED"].encode())  # `tests/conftest.py` sets it


def draw(mode, clock, constraint, seed, learned="", placed=""):
    """Return a world of a kind, for mode ``scored`` of a learned policy's file.

    *placed* is the file of a learned placement, empty for other placements.
    """
    rng = np.random.default_rng(
        [DAY, seed, (*MODES, "scored").index(mode), CLOCKS.index(clock), (CONSTRAINTS + PARTITIONED).index(constraint)]
    )

    def one_of(*values):
        return values[rng.integers(len(values))]

    memory, gpus, whole = (kind in constraint or "all" in constraint.split() for kind in ("memory", "gpus", "whole"))
    whole = "whole" in constraint
    alike = rng.random() < 0.5
    nodes = tuple(
        (
            one_of(4, 8, 100),
            one_of(0, 1, 2, 4) if gpus else 0,
            tuple(
                (int(rng.integers(1, 4)), 1.0 if alike else one_of(1.0, 2.0), one_of(10.0, 20.0), one_of(4.0, 8.0))
                for _ in range(one_of(1, 1, 2))
            ),
        )
        for _ in range(one_of(1, 2, 2, 2, 3, 3, 4))
    )
    cores = [sum(processor[0] for processor in node[2]) for node in nodes]
    most = max(cores) if whole else sum(cores)
    computes = rng.random() < 0.5
    exact = rng.random() < 0.5
    rows = []
    last = one_of(2, 4, 9)
    for _ in range(rng.integers(3, 9)):
        seconds = int(rng.integers(1, 9))
        rows.append(
            (
                int(rng.integers(0, last)),
                seconds,
                seconds if exact else int(rng.integers(1, 11)),
                int(rng.integers(1, 1 + max(1, most * one_of(1, 1, 2) // 2))),
                one_of(0, 1, 2, 4) if memory else 0,
                0.0 if computes else one_of(0.0, 1.0, 3.0),
                one_of(0, 0, 1, 2) if gpus else 0,
                computes,
            )
        )
    order = one_of(*KEYS)
    placement = one_of(*(PACKINGS if mode == "packing" else (name for name in PLACEMENTS if name != "random")))
    times = one_of("", "", "P")
    options = one_of("", ":1:4", ":2:3", ":0") if mode == "reserve" else ""
    if mode == "bounded":
        options = one_of("", ":0.1", ":0.5", ":2")
        rows = [tuple(value * SLOW if column < 3 else value for column, value in enumerate(row)) for row in rows]
    capped = int(rng.integers(1 + most // 2, most + 1)) if constraint in ("cap", "all") else 0
    placement = f"scored:{placed}" if placed else placement
    name = f"scored:{learned}-{placement}" if learned else f"{order}+{mode}{options}{times}-{placement}"
    world = World(name, clock, whole, capped, nodes, tuple(sorted(rows)))
    return with_partitions(world, rng) if "partitions" in constraint else world


def with_partitions(world, rng):
    """Return a world whose nodes belong to one or both of two partitions, and whose jobs request one of them."""
    belongs = [(0, 1), (0,), (1,)] if rng.random() < 0.7 else [(0, 1)]
    nodes = [
        (float(rng.integers(1, 3)), bool(rng.random() < 0.7), belongs[rng.integers(len(belongs))]) for _ in world.nodes
    ]
    nodes[0] = (*nodes[0][:2], (0, 1))  # no partition is empty
    asks = []
    for row in world.jobs:
        many = 0 if world.whole or rng.random() < 0.7 else int(rng.integers(1, 3))
        asks.append(
            Demand(
                partition=("", "a", "b")[rng.integers(3)],
                constraint="f" if rng.random() < 0.2 else "",
                nodes=min(many, row[3]),
                task=2 if rng.random() < 0.2 and row[3] % 2 == 0 else 1,
                exclusive=bool(rng.random() < 0.2),
                gpus_per_node=float(rng.integers(0, 2)) if row[6] else 0.0,
            )
        )
    rows = [(*row[:6], 0 if ask.gpus_per_node else row[6], row[7]) for row, ask in zip(world.jobs, asks, strict=True)]
    return world._replace(partitions=tuple(nodes), jobs=tuple(rows), demands=tuple(asks))


def built(world):
    """Return platform and workload of a world."""
    cluster = platform(
        *((memory, list(processors)) for memory, _, processors in world.nodes), gpus=[n[1] for n in world.nodes]
    )
    if world.capped:
        watts = cluster.most_watts[min(world.capped, cluster.cores)]
        cluster = replace(cluster, power_cap=float(watts) + 0.5)
    submit, seconds, estimate, size, memory, bandwidth, gpus, computes = zip(*world.jobs, strict=True)
    delay = [-1.0 if one else float(time) for one, time in zip(computes, seconds, strict=True)]
    workload = jobs(submit, seconds, size, memory, bandwidth, estimate, gpus=gpus, delay=delay)
    if not world.partitions:
        return cluster, workload
    weights, features, belongs = zip(*world.partitions, strict=True)
    partitions = partitions_of(
        {name: [q in of for of in belongs] for q, name in enumerate("ab")},
        features=tuple(frozenset({"f"} if one else ()) for one in features),
        weights=np.array(weights),
    )
    return replace(cluster, partitions=partitions), replace(workload, demands=demands_of(world.demands))


def difference(world):
    """Play a world with engine and reference; return what differs first, or nothing."""
    cluster, workload = built(world)
    actions = PolicyActions([baseline(world.name)])
    state = State(cluster, workload, needs=actions.needs, whole=world.whole, log=False)
    kind = PartitionReference if world.partitions else Reference
    simulator, reference = Stepper(state, workload, world.clock), kind(cluster, workload, world.name, world.whole)
    clock = Watch(cluster, workload, world.clock)
    while (instant := simulator.next_instant()) is not None:
        wrong = clock.wrong(instant)
        state.receive(instant)
        actions.apply(0, state)
        commands = state.drain()
        reference.receive(instant.now, instant.completed, instant.submitted)
        found, wanted = [(j, sorted(cores)) for j, cores in commands.starts], reference.decide()
        found = [(j, list(map(int, cores))) for j, cores in found]
        if wrong or found != wanted or len(reference.waiting) != state.tables.clock["waiting"][0]:
            return wrong or f"at {instant.now:g} starts {found}, by the reference {wanted}"
        clock.start(instant.now, found, commands.wake_at)
        simulator.apply(commands)
    return f"{len(reference.waiting)} jobs wait for ever" if reference.waiting else ""


class Watch:
    """The textbook's clock: what happens next, and when."""

    def __init__(self, cluster, workload, clock):
        self.cluster, self.jobs, self.clock = cluster, workload, clock
        self.ends, self.came, self.call = {}, 0, np.inf

    def start(self, now, started, call):
        """Note when jobs end that start now: after their delay, or as the slowest of their cores computes."""
        if call < np.inf:
            self.call = max(call, now + SAME_DATE)
        elif self.call <= now:
            self.call = np.inf
        for j, cores in started:
            speed = min(self.cluster.processor_flops[self.cluster.core_processor[core]][0] for core in cores)
            self.ends[j] = now + (self.jobs.delay[j] if self.jobs.delay[j] >= 0 else self.jobs.ops[j] / speed)

    def wrong(self, instant):
        """Fail if an instant is not the expected next one; Batsim's clock is not known here."""
        pending = self.jobs.submit[self.came :]
        date = min([*pending[:1], *self.ends.values(), self.call])
        if self.call < min([*pending[:1], *self.ends.values(), np.inf]) - TOGETHER and self.clock != "batsim":
            alone = abs(instant.now - self.call) <= TOGETHER and not instant.completed and not instant.submitted
            return "" if alone else f"instant {instant}; a call was expected at {self.call:g}"
        if self.clock == "textbook":
            ended = {j for j, end in self.ends.items() if end <= date + TOGETHER}
            came = int((pending <= date + TOGETHER).sum())
            if abs(instant.now - date) > TOGETHER or set(instant.completed) != ended or instant.submitted != came:
                return f"instant {instant}; at {date:g} end {ended}, and {came} come"
        elif self.clock == "one-by-one" and (
            abs(instant.now - date) > TOGETHER or len(instant.completed) + instant.submitted != 1
        ):
            return f"instant {instant}; one event was expected at {date:g}"
        for j in instant.completed:
            del self.ends[j]
        self.came += instant.submitted
        return ""


def shrunk(world):
    """Return the smallest world found that differs, too: fewer jobs and nodes, then smaller numbers."""
    smaller = True
    while smaller:
        smaller = next((one for one in simpler(world) if differs(one)), None)
        world = smaller or world
    return world


def differs(world):
    try:
        return bool(difference(world))
    except (ValueError, ArithmeticError):
        return False


def simpler(world):
    """Yield worlds that are a bit simpler."""
    for i in range(len(world.jobs)):
        if len(world.jobs) > 1:
            yield world._replace(**{name: without(getattr(world, name), i) for name in ("jobs", "demands")})
    for i in range(len(world.nodes)):
        if len(world.nodes) > 1:
            yield world._replace(**{name: without(getattr(world, name), i) for name in ("nodes", "partitions")})
    for i, ask in enumerate(world.demands):
        for name, least in Demand()._asdict().items():
            if getattr(ask, name) != least:
                asks = (*world.demands[:i], ask._replace(**{name: least}), *world.demands[i + 1 :])
                yield world._replace(demands=asks)
    for i, (memory, gpus, processors) in enumerate(world.nodes):
        for p in range(len(processors)):
            if len(processors) > 1:
                yield with_node(world, i, (memory, gpus, processors[:p] + processors[p + 1 :]))
            for column, least in enumerate((1, 1.0, 10.0, 4.0)):
                if processors[p][column] > least:
                    one = (*processors[p][:column], least, *processors[p][column + 1 :])
                    yield with_node(world, i, (memory, gpus, (*processors[:p], one, *processors[p + 1 :])))
    if world.capped:
        yield world._replace(capped=0)
    rule, placement = re.fullmatch(r"(.+?)-(scored:.+|\w+)", world.name).groups()
    order, _, mode = rule.rpartition("+")
    names = [f"{rule}-first_fit"] if "packing" not in rule else []
    names += [f"fcfs+{mode}-{placement}", f"{rule.removesuffix('P')}-{placement}"] if order else []
    yield from (world._replace(name=name) for name in names if name != world.name)
    for i, row in enumerate(world.jobs):
        for column, least in enumerate((0, 1, 1, 1, 0, 0.0, 0)):
            for value in dict.fromkeys((least, row[column] - 1)):
                if least <= value < row[column]:
                    one = (*row[:column], value, *row[column + 1 :])
                    rows = (*world.jobs[:i], one, *world.jobs[i + 1 :])
                    if list(rows) == sorted(rows):  # demands stay with their jobs
                        yield world._replace(jobs=rows)


def without(rows, i):
    return rows[:i] + rows[i + 1 :]


def with_node(world, i, node):
    return world._replace(nodes=(*world.nodes[:i], node, *world.nodes[i + 1 :]))
