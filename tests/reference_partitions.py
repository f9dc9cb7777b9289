"""The reference scheduler on partitions, by `docs/reference/partitions.md`: reservations are of whole nodes.

Nodes are picked as Slurm does. A *run* is of neighbouring nodes of one weight that all have room; of the lightest runs
the smallest that suffices comes first, else the largest.
"""

import math

from reference_scheduler import Reference


class PartitionReference(Reference):
    """A cluster with partitions and what a baseline decides on it."""

    def __init__(self, platform, workload, name, whole=False):
        super().__init__(platform, workload, name, whole)
        self.partitions = platform.partitions
        self.asks = list(workload.demands.each())
        self.reservations = []  # (begin, end, nodes)

    def members(self, j):
        """The nodes that a job may run on."""
        ask = self.asks[j]
        q = self.partition(j)
        return {
            n
            for n in self.nodes
            if self.partitions.nodes[q][n] and {ask.constraint} - {""} <= self.partitions.features[n]
        }

    def partition(self, j):
        name = self.asks[j].partition
        return self.partitions.names.index(name) if name else self.partitions.default

    def exclusive(self, j):
        return self.asks[j].exclusive or self.partitions.exclusive[self.partition(j)]

    def give(self, free, j, by_node, share=1):
        super().give(free, j, by_node, share)
        for n in by_node:
            free[n][2] += share * self.asks[j].gpus_per_node

    # --- which nodes

    def cores_on(self, free, n, j):
        """How many cores of a node a job can have, in whole tasks; all or none of a node that it gets whole."""
        ask, cores, size = self.asks[j], free[n][0], int(self.jobs.size[j])
        if cores == 0 or ask.gpus_per_node > free[n][2]:
            return 0
        room = self.room_on(free[n], j)
        if self.exclusive(j):
            needed = max(min(cores, size / max(self.count(j), 1)), 1)
            return cores if cores == self.node.count(n) and room >= needed else 0
        if ask.gpus_per_node > 0 and self.count(j) == 1:
            room = min(room, size)
        return room - room % ask.task

    def count(self, j):
        """How many nodes a job requests, 0 for any number."""
        return 1 if self.whole else self.asks[j].nodes

    def pick(self, free, allowed, j):
        """The cores of each node that a job gets; None if there is no room."""
        rooms = {n: room for n in sorted(allowed) if (room := self.cores_on(free, n, j)) > 0}
        nodes = max(self.count(j), 1)
        least = 0
        if sum(rooms.values()) < self.jobs.size[j] or len(rooms) < self.count(j):
            return None
        picked, left = self.pick_runs(rooms, j), dict(rooms)
        while picked is None:  # without those that have least room, then with still fewer, but no fewer than requested
            larger = [room for room in rooms.values() if room > least]
            if len(left) == nodes or not larger:
                return None
            least, left = min(larger), dict(rooms)
            for n in rooms:
                if rooms[n] <= least and len(left) > nodes:
                    del left[n]
            picked = self.pick_runs(left, j)
        return picked if self.exclusive(j) else self.deal(picked, j)

    def pick_runs(self, rooms, j):
        """The rooms that are taken of one run after the other; one node alone if that suffices, the fullest."""
        ask, left, rooms, picked = self.asks[j], int(self.jobs.size[j]), dict(rooms), {}
        most, nodes = self.count(j) or max(left // ask.task, 1), max(self.count(j), 1)
        while most > 0 and rooms:
            run = self.best_run(rooms, left, nodes)
            alone = [n for n in run if rooms[n] >= left] if nodes <= 1 else []
            chosen = [min(alone, key=lambda n: (rooms[n], n))] if alone else run
            for n in chosen:
                if most == 0 or (left <= 0 and nodes <= 0) or (most == 1 and rooms[n] < left):
                    continue
                taken = rooms[n] if self.exclusive(j) else min(rooms[n], max(left - max(nodes - 1, 0), ask.task))
                picked[n], left, nodes, most = taken, left - taken, nodes - 1, most - 1
            for n in run:
                del rooms[n]
            if left <= 0 and nodes <= 0:
                return picked
        return None

    def best_run(self, rooms, left, nodes):
        runs, weights = [], self.partitions.weights
        for n in sorted(rooms):
            if runs and runs[-1][-1] == n - 1 and weights[n] == weights[n - 1]:
                runs[-1].append(n)
            else:
                runs.append([n])

        def rank(run):
            total = sum(rooms[n] for n in run)
            suffices = total >= left and len(run) >= nodes
            return weights[run[0]], not suffices, total if suffices else -total, run[0]

        return min(runs, key=rank)

    def deal(self, picked, j):
        """The tasks of a job dealt to the picked nodes, one to each in turn."""
        left, task, dealt = int(self.jobs.size[j]), self.asks[j].task, dict.fromkeys(picked, 0)
        while left > 0:
            for n in sorted(picked):
                if left > 0 and dealt[n] + task <= picked[n]:
                    taken = min(task, left)
                    dealt[n], left = dealt[n] + taken, left - taken
        return {n: cores for n, cores in dealt.items() if cores}

    def allowed(self, j, begin, end):
        """The nodes that a job may have from one date to another: its own that are not reserved then."""
        taken = [nodes for b, e, nodes in self.reservations if b < end and e > begin]
        return self.members(j).difference(*taken)

    def place(self, j, begin=None, end=None):
        picked = self.pick(self.left(self.holds()), self.allowed(j, self.now, self.now + self.time(j)), j)
        if picked is None:
            return None
        return [core for n in sorted(picked) for core in self.lowest_cores(n, picked[n])]

    def reserve_for(self, j):
        """Reserve nodes from the first date on at which some that are free of reservations have room."""
        time, releases = self.time(j), self.releases()
        dates = {self.now, *map(self.end, releases), *(end for _, end, _ in self.reservations if end > self.now)}
        for date in sorted(dates):
            allowed, free = self.allowed(j, date, date + time), self.left(self.holds())
            picked = self.pick(free, allowed, j)
            for other in releases:
                if picked is None and self.end(other) <= date:
                    self.give(free, other, self.by_node(self.running[other][1]))
                    picked = self.pick(free, allowed, j)
            if picked is not None:
                self.reservations.append((date, date + time, set(picked)))
                return

    # --- guaranteed starts

    def is_free(self, j, begin, end):
        """Decide by nodes alone."""
        return True

    def nodes_for(self, j, free, allowed):
        return self.pick(free, self.members(j) & allowed, j)

    def start_apart(self, j):
        free, apart = self.left(self.holds()), self.apart(j, self.now, self.now + self.time(j))
        picked = self.nodes_for(j, free, apart)
        if picked is None and self.begins[j] <= self.now:  # among fewer nodes others are picked, and these have room
            picked = self.nodes_for(j, free, apart & self.sets[j])
        if picked is None:
            return False
        self.start(j, [core for n in sorted(picked) for core in self.lowest_cores(n, picked[n])])
        del self.begins[j]
        return True

    # --- what happens

    def receive(self, now, completed, submitted):
        self.now = now
        for j in completed:
            self.learn(j)
            del self.running[j]
        for j in range(self.known, self.known + submitted):
            if self.pick(self.left([]), self.members(j), j) is not None:
                self.waiting.append(j)
        self.known += submitted

    def decide(self):
        self.reservations = []
        return super().decide()

    # --- modes

    def strict(self):
        """In order; the first of a partition that cannot start closes its nodes to those behind."""
        closed = set()
        for j in self.queue():
            q = self.partition(j)
            if q not in closed and not self.start_if_fits(j):
                closed.add(q)
                nodes = {n for n in self.nodes if self.partitions.nodes[q][n]}
                self.reservations.append((-math.inf, math.inf, nodes))

    def easy(self, candidates=None):
        """Nodes are reserved for the first of each partition that cannot start; others start around these."""
        self.in_order(1, skipping=candidates is not None)
        if candidates:
            for j in sorted(self.waiting, key=candidates):
                self.start_if_fits(j)

    def easyfcfs(self):
        """Heads of all partitions come before candidates; it is easy where these are in the order of the queue."""
        if self.name.order == "fcfs":
            self.easy()
        else:
            super().easyfcfs()

    def easysjf(self):
        """The same."""
        if self.name.order == "sjf" and self.name.order_times == self.name.times:
            self.easy()
        else:
            super().easysjf()

    def conservative(self):
        """Nodes are reserved for all that cannot start."""
        self.in_order(math.inf)

    def in_order(self, depth, skipping=False):
        taken = dict.fromkeys(range(len(self.partitions.names)), 0)
        for j in self.queue():
            q = self.partition(j)
            if skipping and taken[q] >= depth:
                continue
            if not self.start_if_fits(j) and taken[q] < depth:
                taken[q] += 1
                self.reserve_for(j)
