"""The cores that a placement score chooses, by a look at every processor; for the slow schedulers."""

import numpy as np


class LookAtAll:
    """The cores that a placement score chooses, found by scoring every processor from the definitions."""

    def __init__(self, cluster, workload, weights):
        self.cluster, self.jobs = cluster, workload
        self.terms = [(*name.split("*"), weight) for name, weight in weights.items()]
        self.cores = [np.flatnonzero(cluster.core_processor == p) for p in range(cluster.processors)]
        self.of_node = np.bincount(cluster.processor_node, cluster.processor_cores, cluster.nodes)
        self.running = {}  # job to its cores

    def look(self, taken):
        """Free cores, bandwidth, memory and GPUs, with the cores *taken* for the job so far: job to cores."""
        c = self.cluster
        free = [set(one.tolist()) for one in self.cores]
        bandwidth, memory, gpus = np.zeros(c.processors), c.node_memory.copy(), np.array(c.node_gpus)
        for j, cores in (*self.running.items(), *taken.items()):
            for core in cores:
                p = c.core_processor[core]
                free[p].discard(core)
                bandwidth[p] += self.jobs.bandwidth[j]
                memory[c.processor_node[p]] -= self.jobs.memory[j]
                gpus[c.processor_node[p]] -= self.jobs.gpus[j]
        return free, bandwidth, memory, gpus

    def job_features(self, j, now, waiting):
        """Features of the job and the moment."""
        c, w = self.cluster, self.jobs
        busy = sum(map(len, self.running.values()))
        return {
            "one": 1.0,
            "log_cores": np.log(w.size[j] / c.cores),
            "memory_share": min(w.memory[j] / (c.node_memory.sum() / c.cores), 4.0),
            "bandwidth_share": min(w.bandwidth[j] / (c.processor_bandwidth.sum() / c.cores), 4.0),
            "on_gpus": float(w.gpus[j] > 0),
            "log_wait_hours": np.log1p((now - w.submit[j]) / 3600),
            "free": 1.0 - busy / c.cores,
            "queue": np.log1p(waiting) / 3.0,
        }

    def core_features(self, j, p, count, wanted, slowest, state):
        """Features of some cores of a processor."""
        c, w, (free, bandwidth, memory, _) = self.cluster, self.jobs, state
        n, cores, watts = c.processor_node[p], c.processor_cores[p], c.processor_watts[p]
        busy = cores - len(free[p])
        idle = watts[2] if busy else watts[3]
        after = watts[0] * (busy + count) + watts[2] * (cores - busy - count)
        used = bandwidth[p] + count * w.bandwidth[j]
        over, before = (
            used > c.processor_bandwidth[p] * (1 + 1e-12),
            bandwidth[p] > c.processor_bandwidth[p] * (1 + 1e-12),
        )
        of = c.processor_cores
        free_there = sum(len(free[q]) for q in np.flatnonzero(c.processor_node == n))
        return {
            "speed": np.log(c.processor_flops[p][0] / np.average(c.processor_flops[:, 0], weights=of)),
            "power": np.log(watts[0] / np.average(c.processor_watts[:, 0], weights=of)),
            "bandwidth": np.log(c.processor_bandwidth[p] / cores / (c.processor_bandwidth.sum() / c.cores)),
            "memory": np.log(c.node_memory[n] / self.of_node[n] / np.average(
                c.node_memory[c.processor_node] / self.of_node[c.processor_node], weights=of)),
            "gpus": float(c.node_gpus[n] > 0),
            "asleep": float(busy == 0),
            "added_power": (after - watts[0] * busy - idle * (cores - busy)) / count
            / np.average(c.processor_watts[:, 0], weights=of),
            "contended": float(over),
            "slowed": busy / cores if over and not before else 0.0,
            "bandwidth_left": max(1.0 - used / c.processor_bandwidth[p], -1.0),
            "memory_left": (memory[n] - count * w.memory[j]) / c.node_memory[n],
            "cores_left": (len(free[p]) - count) / cores,
            "node_left": (free_there - count) / self.of_node[n],
            "elsewhere": (wanted - count) / wanted,
            "lag": max(np.log(slowest / c.processor_flops[p][0]), 0.0) if slowest > 0.0 else 0.0,
        }  # fmt: skip

    def choose(self, j, now, waiting):
        """The cores of a job, and how clear the closest choice was."""
        found, own, slowest, margin = [], self.job_features(j, now, waiting), np.inf, np.inf
        while len(found) < self.jobs.size[j]:
            state, wanted, scores = self.look({j: found}), int(self.jobs.size[j]) - len(found), []
            free, bandwidth, memory, gpus = state
            for p in range(self.cluster.processors):
                n, count = self.cluster.processor_node[p], min(wanted, len(free[p]))
                for has, each in ((memory[n], self.jobs.memory[j]), (gpus[n], self.jobs.gpus[j])):
                    count = min(count, int(has / each + 1e-9)) if each > 0 else count
                left, each = self.cluster.processor_bandwidth[p] - bandwidth[p], self.jobs.bandwidth[j]
                counts = {count}
                if each > 0 and count * each > left + 1e-9:
                    counts.add(int(left / each + 1e-12))
                for some in sorted((one for one in counts if one >= 1), reverse=True):
                    seen = self.core_features(j, p, some, wanted, slowest if slowest < np.inf else 0.0, state)
                    scores.append((sum(weight * seen[a] * own[b] for a, b, weight in self.terms), p, some))
            best = min(score for score, *_ in scores)
            _, p, count = next(one for one in scores if one[0] <= best + 1e-9)
            margin = min([margin, *(score - best for score, *_ in scores if score > best + 1e-9)])
            found += sorted(free[p])[:count]
            slowest = min(slowest, self.cluster.processor_flops[p][0])
        return found, margin
