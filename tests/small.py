"""Platforms and workloads small enough to work out on paper, and runs of them; shared by the tests of all folders."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from agents_for_tests import ClassicAgent

from hdeeprm_like.cluster.partitions import Partitions
from hdeeprm_like.cluster.platform import Platform, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions, policy_named
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES, baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.state import Instant, State
from hdeeprm_like.engine.tables import IDLE_CORE
from hdeeprm_like.results.overutilization import overutilizations
from hdeeprm_like.results.run_log import Record
from hdeeprm_like.run import loop
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import run_policy

# what `launch` leaves behind
RUN_FILES = {"makespans.log", "options.json", "out_consumed_energy.csv", "out_jobs.csv", "out_machine_states.csv",
             "out_pstate_changes.csv", "out_schedule.csv", "overutilizations.json", "platform.xml", "run.json",
             "workload.json"}  # fmt: skip
MOMENT = 1e-6  # s; Batsim's messages take nanoseconds each


def scheduled(machine, workload, policies, clock, log=False, **how):
    """The finished simulation of jobs under the first of some policies; *how* as for a State."""
    return run_to_end(State(machine, workload, log=log, needs=policies.needs, **how), policies, clock)


def platform(*nodes, network=None, gpus=()):
    """Nodes as (MB of memory, processors), processors as (cores, GFLOP/s, W, GB/s); one core of 1 GFLOP/s if none.

    *gpus* is the number on each node.
    """
    nodes = nodes or ((1000.0, [(1, 1.0, 100.0, 10.0)]),)
    processors = [(node, *figures) for node, (_, own) in enumerate(nodes) for figures in own]
    node, cores, gflops, watts, bandwidth = (np.array(column) for column in zip(*processors, strict=True))
    core_processor = np.repeat(np.arange(len(processors)), cores.astype(np.int64))
    return Platform(
        name="small",
        cluster_names=("c",),
        node_cluster=np.zeros(len(nodes), np.int64),
        node_memory=np.array([memory for memory, _ in nodes], np.float64),
        node_types=("n",) * len(nodes),
        processor_node=node.astype(np.int64),
        processor_bandwidth=bandwidth.astype(np.float64),
        processor_types=("p",) * len(processors),
        processor_flops=np.array([flops_by_pstate(figure) for figure in gflops]),
        processor_watts=np.array([watts_by_pstate(figure) for figure in watts]),
        core_processor=core_processor,
        core_names=tuple(f"cor_{core:04}" for core in range(len(core_processor))),
        network=network,
        node_gpus=np.array(gpus, np.float64),
    )


def partitions_of(nodes, **more):
    """Partitions by their names, each with whether a node is in it; nothing sets them apart but what *more* says."""
    names, members = tuple(nodes), np.array(list(nodes.values()), np.bool_)
    count, each = members.shape
    usual = {"tiers": np.ones(count), "factors": np.ones(count), "exclusive": np.zeros(count, np.bool_)}
    usual |= {"features": (frozenset(),) * each, "weights": np.ones(each)}
    return Partitions(names=names, nodes=members, **(usual | more))


def cluster(settings, cores=1):
    """One node of some cores in one partition of a Slurm with settings."""
    partitions = partitions_of({"all": [True]}, settings=settings)
    return replace(platform((1000.0, [(cores, 1.0, 4.0, 10.0)])), partitions=partitions)


def parted(settings=None):
    """Four nodes of four cores; the partition ``fast`` has the last two, ``all`` has all; *settings* of a Slurm."""
    partitions = partitions_of(
        {"all": [True] * 4, "fast": [False, False, True, True]},
        features=(frozenset({"ib"}),) * 2 + (frozenset({"big"}),) * 2,
        weights=np.array([1.0, 1.0, 2.0, 2.0]),
        settings=settings or {},
    )
    return replace(platform(*[(1000.0, [(4, 1.0, 4.0, 10.0)])] * 4), partitions=partitions)


def jobs(submit=0.0, seconds=1.0, size=1, memory=0.0, bandwidth=0.0, estimate=None, **more):
    """Jobs that compute so many seconds on a core of 1 GFLOP/s, as their users *estimate* by default.

    *gpus* are those of the whole job.
    """
    columns = {"submit": submit, "seconds": seconds, "size": size, "memory": memory, "bandwidth": bandwidth, **more}
    columns["estimate"] = seconds if estimate is None else estimate
    columns = {"delay": -1.0, "walltime": np.inf, "gpus": 0.0} | columns
    ids = columns.pop("ids", None)
    count = max([np.size(column) for column in columns.values()] + [len(ids or ())])
    columns = {name: np.broadcast_to(np.asarray(column, np.float64), count) for name, column in columns.items()}
    ids = ids or [f"w0!{j:06}" for j in range(count)]
    order = sorted(range(count), key=lambda j: (columns["submit"][j], ids[j].encode()))
    columns = {name: column[order].copy() for name, column in columns.items()}
    computes = columns["delay"] < 0
    return Workload(
        ids=tuple(ids[j] for j in order),
        profiles=("p",) * count,
        submit=columns["submit"],
        size=columns["size"].astype(np.int64),
        requested_time=columns["estimate"],
        requested_ops=columns["estimate"] * 1e9,
        ops=np.where(computes, columns["seconds"] * 1e9, 0.0),
        delay=columns["delay"],
        memory=columns["memory"],
        bandwidth=columns["bandwidth"],
        walltime=columns["walltime"],
        capacity=4,
        gpus=columns["gpus"] / columns["size"],
    )


@dataclass(frozen=True, eq=False)
class Finished:
    """A run that is over, by job row."""

    simulator: Simulator
    workload: Workload

    @property
    def state(self):
        """The cluster at the end."""
        return self.simulator.state

    @cached_property
    def record(self):
        """What the run leaves behind."""
        return Record(self.simulator, self.workload)

    @property
    def overutilizations(self):
        """Spans in which cores, memory or bandwidth were short."""
        return overutilizations(self.state)

    @property
    def start_time(self):
        """(J,) s, without the nanoseconds of the messages."""
        return np.round(self.simulator.simulation.tasks["start"], 6)

    @property
    def finish_time(self):
        """(J,) s, without the nanoseconds of the messages."""
        return np.round(self.simulator.simulation.tasks["finish"], 6)

    @property
    def energy(self):
        """(J,) J of the cores of each job."""
        return self.simulator.simulation.tasks["joules"]

    @property
    def status(self):
        """(J,) as the decision system knows it."""
        return self.state.tables.jobs["status"]

    @property
    def cores(self):
        """(J,) lists of the cores of each job, None for one that never started."""
        started = np.isfinite(self.simulator.simulation.tasks["start"])
        return [self.state.cores_of(j).tolist() if started[j] else None for j in range(len(self.workload))]


class Stepper(Simulator):
    """A simulator that is moved from instant to instant, as Batsim is over the wire."""

    def next_instant(self):
        """Run until there is something to decide and return what happened; None when nothing can happen any more."""
        self.state.make_room()
        sim = self.simulation.sim[0]
        if not sim["opened"]:
            sim["opened"] = 1
            open_it(self.state.tables, self.simulation, self.clock)
        if not move(self.state.tables, self.simulation, self.clock):
            return None
        completed = self.simulation.completed[: sim["completed"]].tolist()
        instant = Instant(float(sim["now"]), completed, int(sim["submitted"]), bool(sim["no_more"]))
        sim["completed"] = sim["submitted"] = sim["called"] = 0
        return instant

    def apply(self, commands):
        """Begin to apply what was decided."""
        self.kill(commands.kills)
        self.simulation.sim["call_requested"] = commands.wake_at
        answer(self.state.tables, self.simulation, self.clock)


@compiled
def open_it(t: object, s: object, c: object) -> None:
    loop.open_clock(t, s, c)


@compiled
def move(t: object, s: object, c: object) -> bool:
    return loop.next_instant(t, s, c)


@compiled
def answer(t: object, s: object, c: object) -> None:
    loop.apply_decisions(t, s, c)


def textbook(state, workload, one_by_one=False):
    """A stepper on the clock of events."""
    return Stepper(state, workload, "one-by-one" if one_by_one else "textbook")


def begun(platform, workload, policy=("first", "high_gflops"), seed=0):
    """A simulator before its first event, and the numbers of the policy pair."""
    pair = JOB_POLICIES[policy[0]], CORE_POLICIES[policy[1]]
    return Stepper(State(platform, workload, seed=seed), workload), pair


def run(platform, workload, policy=("first", "high_gflops"), seed=0):
    """Run a workload to its end under one policy pair."""
    simulator, _ = begun(platform, workload, policy, seed)
    list(run_policy(simulator, PolicyActions([policy])))
    return Finished(simulator, workload)


def run_baseline(platform, workload, name, clock="textbook", **state):
    """The simulator of a workload that has run to its end under a baseline."""
    actions = PolicyActions([baseline(name)])
    simulator = Simulator(State(platform, workload, needs=actions.needs, **state), workload, clock)
    list(run_policy(simulator, actions))
    return simulator


def step_baseline(platform, workload, name, clock="textbook", **state):
    """The same, with the policy called at each decision from Python: quick to compile, even with index checks."""
    actions = PolicyActions([policy_named(name)])
    state = State(platform, workload, needs=actions.needs, **state)
    simulator = Simulator(state, workload, clock)
    play(simulator, DecisionSystem(state, actions), ClassicAgent(0))
    return simulator


def check_that_the_future_is_unknown(name, seed):
    """Run jobs twice; until some moment a baseline does the same.

    The second time those that end later run longer, and of those that come later each makes the request of another.
    """
    rng, count = np.random.default_rng(seed), 40
    four = platform((1000.0, [(4, 1.0, 100.0, 10.0)]))
    seconds = rng.integers(1, 60, count).astype(np.float64)
    workload = jobs(
        submit=np.sort(rng.integers(0, 200, count)),
        seconds=seconds,
        estimate=seconds * rng.integers(1, 4, count),
        size=rng.integers(1, 5, count),
    )
    workload = replace(workload, user=rng.integers(0, 4, count), program=rng.integers(0, 4, count))
    before = step_baseline(four, workload, name).simulation.tasks
    moment = float(rng.integers(10, 300))
    still = before["finish"] > moment
    longer = replace(workload, ops=np.where(still, workload.ops * rng.uniform(1.0, 3.0, count), workload.ops))
    requests = np.arange(count)
    requests[workload.submit > moment] = rng.permutation(requests[workload.submit > moment])
    columns = ("size", "requested_time", "requested_ops", "ops", "user", "program")
    other = replace(longer, **{column: getattr(longer, column)[requests] for column in columns})
    after = step_baseline(four, other, name).simulation.tasks
    started = before["start"] <= moment
    assert np.array_equal(before["start"][started], after["start"][started])
    assert (after["start"][~started] > moment).all()


def jobs_in_words(tables):
    """The job that each core serves, by the words of a cluster; IDLE_CORE for none."""
    found = []
    for w in range(len(tables.words)):
        if not len(tables.repeats) or not (int(tables.repeats[w // 64]) >> (w % 64)) & 1:
            word = tables.words[w]  # otherwise the one before counts
        job = None
        for bit in range(64):
            if not (int(word["cores"]) >> bit) & 1:
                break
            if (int(word["begins"]) >> bit) & 1:
                job = int(tables.owners[word["first"] + bit])
            found.append(job if (int(word["serving"]) >> bit) & 1 else IDLE_CORE)
    return np.array(found)
