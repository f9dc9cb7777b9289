"""What the compiled code does, once more in the most obvious way: a slow truth to hold it against."""

import math

from hdeeprm_like.cluster.pstates import P0, P1, P2, P3

JOB_KEYS = {
    "first": lambda workload, j: j,
    "shortest": lambda workload, j: workload.requested_time[j],
    "smallest": lambda workload, j: workload.size[j],
    "low_mem": lambda workload, j: workload.memory[j],
    "low_mem_bw": lambda workload, j: workload.bandwidth[j],
}
CORE_KEYS = {  # the core with the largest is taken
    "high_gflops": lambda cluster, p: cluster.platform.processor_flops[p, 0],
    "high_cores": lambda cluster, p: sum(cluster.processor(core) == p for core in cluster.free),
    "high_mem": lambda cluster, p: cluster.memory[cluster.platform.processor_node[p]],
    "high_mem_bw": lambda cluster, p: cluster.platform.processor_bandwidth[p] - cluster.used[p],
    "low_power": lambda cluster, p: -cluster.platform.processor_watts[p, 0],
}


class SlowCluster:
    """Free cores, free memory, free GPUs and used bandwidth, as a set and three lists."""

    def __init__(self, platform):
        self.platform = platform
        self.free = set(range(platform.cores))
        self.memory = platform.node_memory.tolist()
        self.gpus = platform.node_gpus.tolist()
        self.used = [0.0] * platform.processors

    def processor(self, core):
        return int(self.platform.core_processor[core])

    def node(self, core):
        return int(self.platform.processor_node[self.processor(core)])

    def take(self, core, memory, bandwidth, gpus):
        self.free.remove(core)
        self.memory[self.node(core)] -= memory
        self.gpus[self.node(core)] -= gpus
        self.used[self.processor(core)] += bandwidth

    def release(self, core, memory, bandwidth, gpus):
        self.free.add(core)
        self.memory[self.node(core)] += memory
        self.gpus[self.node(core)] += gpus
        self.used[self.processor(core)] -= bandwidth

    def fits(self, core, memory, gpus):
        node = self.node(core)
        return self.memory[node] >= memory and self.gpus[node] >= gpus - 1e-9

    def choose(self, policy, size, memory, bandwidth, gpus=0.0):
        """Take one core after the other and rank all again after each; None, and nothing taken, if too few fit."""
        before = set(self.free), list(self.memory), list(self.used), list(self.gpus)
        cores = []
        while len(cores) < size:
            fitting = [core for core in self.free if self.fits(core, memory, gpus)]
            if not fitting:
                self.free, self.memory, self.used, self.gpus = before
                return None
            key = CORE_KEYS[policy]
            best = max(fitting, key=lambda core: (key(self, self.processor(core)), -core))
            self.take(best, memory, bandwidth, gpus)
            cores.append(best)
        return sorted(cores)

    def pstate(self, core):
        """P-state of a core by its neighbours."""
        p = self.processor(core)
        if core not in self.free:
            return P1 if self.used[p] > self.platform.processor_bandwidth[p] * (1 + 1e-9) else P0
        own = {c for c in range(self.platform.cores) if self.processor(c) == p}
        return P2 if own - self.free else P3

    def watts(self):
        """Power of all cores in W."""
        watts = self.platform.processor_watts
        return math.fsum(watts[self.processor(core), self.pstate(core)] for core in range(self.platform.cores))


def slow_run(platform, workload, policy):
    """Start, finish and cores of each job and the energy of all cores, without nanoseconds.

    It knows jobs that compute, delays and walltimes; no two things may happen at the same time but for submissions.
    """
    cluster, jobs = SlowCluster(platform), range(len(workload))
    start, finish, cores, left = {}, {}, {}, {}
    waiting, coming, now, joules = [], list(jobs), 0.0, 0.0

    def seconds_left(j):
        if workload.delay[j] >= 0:
            natural = start[j] + workload.delay[j] - now
        else:
            speed = min(platform.processor_flops[cluster.processor(c), cluster.pstate(c)] for c in cores[j])
            natural = left[j] / speed
        return max(min(natural, start[j] + workload.walltime[j] - now), 0.0)

    while coming or start.keys() - finish.keys():
        running = sorted(start.keys() - finish.keys())
        ends = {j: seconds_left(j) for j in running}
        step = min([*ends.values(), *(workload.submit[j] - now for j in coming[:1])])
        for j in running:
            left[j] -= step * min(platform.processor_flops[cluster.processor(c), cluster.pstate(c)] for c in cores[j])
        joules += cluster.watts() * step
        now += step
        for j in running:
            if ends[j] <= step:
                finish[j] = now
                for core in cores[j]:
                    cluster.release(core, workload.memory[j], workload.bandwidth[j], workload.gpus[j])
        while coming and workload.submit[coming[0]] <= now:
            j = coming.pop(0)
            empty = SlowCluster(platform)
            if empty.choose("high_gflops", workload.size[j], workload.memory[j], 0.0, workload.gpus[j]) is not None:
                waiting.append(j)
        while waiting:
            j = min(waiting, key=lambda j: (JOB_KEYS[policy[0]](workload, j), j))
            request = workload.size[j], workload.memory[j], workload.bandwidth[j], workload.gpus[j]
            found = cluster.choose(policy[1], *request)
            if found is None:
                break
            waiting.remove(j)
            cores[j], start[j], left[j] = found, now, workload.ops[j]
    return start, finish, cores, joules
