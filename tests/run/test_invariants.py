"""What holds of every schedule, whoever decides: no core, memory or GPU serves twice, and work takes what it takes.

A run is judged from outside, by when each job started and on which cores. Speeds and power follow from the thesis'
rules (3.1.2): a core that serves a job computes at its peak, at three quarters while the jobs of its processor request
more memory bandwidth than that has; the slowest core of a job holds it up.
"""

from itertools import pairwise

import numpy as np
import pytest
from random_worlds import world
from small import step_baseline

from hdeeprm_like.decision.names import MODES, ORDERS, PACKINGS, PLACEMENTS
from hdeeprm_like.engine.tables import REJECTED

CHUNKS = 25  # that share out all baselines, which `make test-all` runs; `make test` knows one
CLOCKS = ("textbook", "batsim", "one-by-one")
ZOO = ("zoo:balanced", "zoo:slowdown")
BASELINES = [
    *(
        f"{order}+{mode}-{placement}"
        for mode in MODES
        if mode not in ("scored", "slurm")  # one is learned, and ZOO has two; the other needs partitions
        for order in ORDERS
        for placement in (PACKINGS if mode == "packing" else PLACEMENTS)
    ),
    *ZOO,
]
SLOWER, IDLE, ASLEEP = 0.75, 0.25, 0.05  # of the peak flop/s; of the peak W
MESSAGE = 0.02  # s that messages between Batsim, its hosts and the scheduler take in all around one job
SHORT = 1e-6


class Watched:
    """A run seen from outside: the machine, the jobs, and which cores each held from when to when."""

    def __init__(self, cluster, workload, simulator):
        self.cluster, self.workload = cluster, workload
        self.start, self.finish = (simulator.simulation.tasks[name] for name in ("start", "finish"))
        self.ran = np.flatnonzero(np.isfinite(self.start))
        self.rejected = np.flatnonzero(simulator.state.tables.jobs["status"] == REJECTED)
        self.cores = {j: simulator.state.cores_of(j) for j in self.ran}
        self.joules, self.end = simulator.state.joules, float(simulator.simulation.sim["now"][0])
        self.node = cluster.processor_node[cluster.core_processor]
        self.peak = cluster.processor_flops[:, 0][cluster.core_processor]
        self.watts = cluster.processor_watts[:, 0][cluster.core_processor]

    def check_requests(self):
        """Each job got what it requested, or the machine does not have it."""
        assert sorted([*self.ran, *self.rejected]) == list(range(len(self.workload)))
        for j, cores in self.cores.items():
            assert len(set(cores.tolist())) == self.workload.size[j] == len(cores)
            assert self.start[j] >= self.workload.submit[j] - SHORT
        for j in range(len(self.workload)):
            assert (self.room_of(j) < self.workload.size[j]) == (j in self.rejected)

    def room_of(self, j):
        """How many cores the empty machine has for a job, with the memory and the GPUs that each brings along."""
        room = np.bincount(self.node, minlength=self.cluster.nodes).astype(float)
        for had, asked in (
            (self.cluster.node_memory, self.workload.memory[j]),
            (self.cluster.node_gpus, self.workload.gpus[j]),
        ):
            if asked > 0:
                room = np.minimum(room, np.floor(had / asked + 1e-9))
        return room.sum()

    def check_stretches(self):
        """Nothing is used twice, and work done and power drawn add up."""
        moments = np.unique(np.concatenate([[0.0, self.end], self.start[self.ran], self.finish[self.ran]]))
        done, joules = np.zeros(len(self.workload)), 0.0
        for begin, end in pairwise(moments):
            running = [j for j in self.ran if self.start[j] <= begin and self.finish[j] >= end]
            speed, power = self.stretch(running)
            joules += power * (end - begin)
            for j in running:
                done[j] += speed[self.cores[j]].min() * (end - begin)
        for j in self.ran:
            self.check_end(j, done[j])
        assert self.joules == pytest.approx(joules, rel=1e-6, abs=MESSAGE * self.watts.sum() * (1 + 2 * len(self.ran)))

    def stretch(self, running):
        """Check what running jobs hold; return the (C,) flop/s of cores that serve, and W of the machine."""
        free = np.ones(self.cluster.cores, bool)
        memory, gpus = self.cluster.node_memory.copy(), self.cluster.node_gpus.copy()
        asked = np.zeros(self.cluster.processors)
        for j in running:
            cores = self.cores[j]
            assert free[cores].all(), "a core serves two jobs"
            free[cores] = False
            held = np.bincount(self.node[cores], minlength=self.cluster.nodes)
            memory -= held * self.workload.memory[j]
            gpus -= held * self.workload.gpus[j]
            asked += self.workload.bandwidth[j] * np.bincount(
                self.cluster.core_processor[cores], minlength=self.cluster.processors
            )
        assert memory.min() >= -SHORT, "a node has no such memory"
        assert gpus.min() >= -SHORT, "a node has no such GPUs"
        short = asked > self.cluster.processor_bandwidth + SHORT
        serves = np.bincount(self.cluster.core_processor, ~free, self.cluster.processors) > 0
        idle = np.where(serves, IDLE, ASLEEP)[self.cluster.core_processor]
        speed = self.peak * np.where(short, SLOWER, 1.0)[self.cluster.core_processor]
        return speed, float((self.watts * np.where(free, idle, 1.0)).sum())

    def check_end(self, j, done):
        """A job ends when its work is done, its delay is over, or its walltime is."""
        work, took = self.workload, self.finish[j] - self.start[j]
        late = took - work.walltime[j]
        assert late <= MESSAGE, "a job ran beyond its walltime"
        if work.delay[j] >= 0:
            assert took == pytest.approx(min(work.delay[j], work.walltime[j]), abs=MESSAGE)
            return
        fastest = self.peak[self.cores[j]].min()
        assert done <= work.ops[j] + MESSAGE * fastest, "more was computed than there was"
        assert done >= work.ops[j] - MESSAGE * fastest or late >= -MESSAGE, "a job ended before its work was done"


def check(seed, name, clock):
    cluster, workload, _ = world(seed)
    watched = Watched(cluster, workload, step_baseline(cluster, workload, name, clock))
    try:
        watched.check_requests()
        watched.check_stretches()
    except AssertionError as error:
        raise AssertionError(f"world {seed}, {name}, clock {clock}: {error}") from error


@pytest.mark.parametrize("name", ["sjf+easy", "first-high_gflops", "shortest-low_power", "random-random"])
def test_every_schedule_serves_each_job_once_with_what_there_is(name):
    for seed in range(60 if name == "sjf+easy" else 24):
        check(seed, name, CLOCKS[seed % len(CLOCKS)])


# 5,000 worlds with all baselines, which are compiled for it
@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_order_mode_placement_and_clock_keeps_to_the_machine(chunk):
    for seed in range(chunk, len(BASELINES) * len(CLOCKS), CHUNKS):
        which, clock = divmod(seed, len(CLOCKS))
        name = BASELINES[which]
        if which % 3 == 0 and name not in ZOO:
            order, _, rest = name.partition("+")
            mode, _, placement = rest.partition("-")
            name = f"{order}+{mode}P-{placement}"  # knows the real run times
        check(seed, name, CLOCKS[clock])
