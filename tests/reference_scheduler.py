"""A slow scheduler in plain Python, written from the definitions: what the engine must decide, instant by instant.

It has no events: its driver reports which jobs have ended and arrived (`Reference.receive`), and `Reference.decide`
answers which start now and on which cores. So it is the same for all clocks. It recomputes everything each time, from
what the platform has less what the running jobs hold. What each resource means is written down once:

- a core serves one job; no more cores serve jobs at once than a power cap allows (`usable`);
- each core of a job takes MB and GPUs from its node (`room`); where nodes take jobs *whole*, one node has room for all;
- bandwidth is shared, so it only moves the placement `high_mem_bw`.
"""

import math

from reference_guarantees import Guarantees
from reference_placement import LookAtAll

from hdeeprm_like.decision.names import baseline

NEARLY = 1e-9  # by which quotients of MB and GPUs may miss a whole number
OVERDUE, JUST = 1.0, 0.1  # s: an overdue job is taken to end in a second, one that should have ended just now at once

KEYS = {  # what orders minimize: time in s, cores, s waited, s since the trace's beginning, number, real s
    "fcfs": lambda time, size, wait, at, j, real: j,
    "lcfs": lambda time, size, wait, at, j, real: -j,
    "sjf": lambda time, size, wait, at, j, real: time,
    "ljf": lambda time, size, wait, at, j, real: -time,
    "smallest": lambda time, size, wait, at, j, real: size,
    "saf": lambda time, size, wait, at, j, real: time * size,
    "laf": lambda time, size, wait, at, j, real: -time * size,
    "oracle": lambda time, size, wait, at, j, real: real,
    "f1": lambda time, size, wait, at, j, real: math.log10(time) * size + 870.0 * math.log10(at or 0.1),
    "f2": lambda time, size, wait, at, j, real: math.sqrt(time) * size + 25600.0 * math.log10(at or 0.1),
    "f3": lambda time, size, wait, at, j, real: time * size + 6860000.0 * math.log10(at or 0.1),
    "f4": lambda time, size, wait, at, j, real: time * math.sqrt(size) + 530000.0 * math.log10(at or 0.1),
    "wfp3": lambda time, size, wait, at, j, real: -((wait / max(time, 1.0)) ** 3.0) * size,
    "unicep": lambda time, size, wait, at, j, real: (
        -(wait + 1e-15) / ((math.log2(size + 1e-15) if size > 1 else 1e-12) * max(time, 1.0))
    ),
    "xfactor": lambda time, size, wait, at, j, real: -(wait + time) / max(time, 10.0),
}
KEYS["wfp3_published"] = lambda time, size, wait, at, j, real: KEYS["wfp3"](time, size, -1.0 - at, at, j, real)
KEYS["unicep_published"] = lambda time, size, wait, at, j, real: KEYS["unicep"](time, size, -1.0 - at, at, j, real)


class Reference(Guarantees):
    """A cluster and what a baseline decides on it."""

    def __init__(self, platform, workload, name, whole=False):
        self.platform, self.jobs, self.whole, self.name = platform, workload, whole, baseline(name)
        self.processor = platform.core_processor.tolist()
        self.node = platform.processor_node[platform.core_processor].tolist()
        self.nodes = range(platform.nodes)
        self.usable, self.now, self.shadow = self.usable_cores(), 0.0, 0.0
        self.known, self.waiting = 0, []
        self.running = {}  # job: (start, cores), in the order of the starts
        self.held, self.picked_among, self.keys = -1, 0, {}  # of commit
        self.begin_guarantees()
        score = self.name.placement_score
        terms = {f"{of_core}*{of_job}": weight for of_core, of_job, weight in score.weights} if score else {}
        self.scorer = LookAtAll(platform, workload, terms) if terms else None

    def usable_cores(self):
        """How many cores may serve jobs so that all never draw more than the cap, whichever these are."""
        idle, more = 0.0, []
        for p in self.processor:
            serving, beside = max(self.platform.processor_watts[p][:2]), max(self.platform.processor_watts[p][2:])
            idle += beside
            more.append(max(serving - beside, 0.0))
        more.sort(reverse=True)
        cap = self.platform.power_cap * (1.0 + 1e-12)
        return max(count for count in range(len(more) + 1) if idle + sum(more[:count]) <= cap)

    # --- what is free

    def left(self, holds):
        """What each node has left of [cores, MB, GPUs] beside some jobs, given as (job, cores by node)."""
        free = [
            [self.node.count(n), float(self.platform.node_memory[n]), float(self.platform.node_gpus[n])]
            for n in self.nodes
        ]
        for j, by_node in holds:
            self.give(free, j, by_node, -1)
        return free

    def give(self, free, j, by_node, share=1):
        for n, cores in by_node.items():
            for kind, amount in enumerate((1, self.jobs.memory[j], self.jobs.gpus[j])):
                free[n][kind] += share * cores * amount

    def by_node(self, cores):
        return {n: sum(self.node[core] == n for core in cores) for n in {self.node[core] for core in cores}}

    def holds(self):
        return [(j, self.by_node(cores)) for j, (_, cores) in self.running.items()]

    def used(self):
        return sum(len(cores) for _, cores in self.running.values())

    def room_on(self, free, j):
        """For how many cores of a job a node has room."""
        room = free[0]
        for had, asked in ((free[1], self.jobs.memory[j]), (free[2], self.jobs.gpus[j])):
            if asked > 0:
                room = min(room, max(math.floor(had / asked + NEARLY), 0))
        return room

    def rooms(self, free, j):
        """The same for all nodes; where one must take the whole job, none has room for a part of it."""
        rooms = [self.room_on(free[n], j) for n in self.nodes]
        size = self.jobs.size[j]
        return [(size if room >= size else 0) if self.whole else room for room in rooms]

    def needs_nodes(self, j):
        return self.whole or self.jobs.memory[j] > 0 or self.jobs.gpus[j] > 0

    # --- placements

    def place(self, j):
        """The cores that a job gets if it starts now; None if it does not fit."""
        size, placement = int(self.jobs.size[j]), self.name.placement
        if size > self.usable - self.used():
            return None
        free = self.left(self.holds())
        if sum(self.rooms(free, j)) < size:
            return None
        if self.scorer:  # where no cap and no whole nodes bind
            self.scorer.running = {other: cores for other, (_, cores) in self.running.items()}
            return list(map(int, self.scorer.choose(j, self.now, len(self.waiting))[0]))
        if placement in ("best_fit", "tetris", "tetris_srtf"):
            return self.pack(j, free, placement)
        return self.pack(j, free, "best_fit") if self.whole else self.one_by_one(j, free, placement)

    def free_cores(self, taken=()):
        busy = {core for _, cores in self.running.values() for core in cores}.union(taken)
        return [core for core in range(len(self.processor)) if core not in busy]

    def one_by_one(self, j, free, placement):
        """Core after core of the processor that is best then; of equals the lowest, of which the lowest core."""
        taken, platform = [], self.platform
        asked = self.jobs.bandwidth
        while len(taken) < self.jobs.size[j]:
            cores = [core for core in self.free_cores(taken) if self.room_on(free[self.node[core]], j) >= 1]
            if placement in ("compact", "spread"):
                taken.append(self.neighbour(cores, taken, int(self.jobs.size[j]) - len(taken), placement))
                self.give(free, j, {self.node[taken[-1]]: 1}, -1)
                continue
            idle = [self.processor[core] for core in self.free_cores(taken)]
            used = [0.0] * platform.processors
            for other, core in [(i, c) for i, (_, cs) in self.running.items() for c in cs] + [(j, c) for c in taken]:
                used[self.processor[core]] += asked[other]
            best = max(
                cores, key=lambda core, at=(free, idle, used): (self.worth(placement, self.processor[core], *at), -core)
            )
            taken.append(best)
            self.give(free, j, {self.node[best]: 1}, -1)
        return taken

    def neighbour(self, cores, taken, wanted, placement):
        """The next core near the last one, or on the emptiest node; no world has a topology."""
        on = {n: [core for core in cores if self.node[core] == n] for n in {self.node[core] for core in cores}}
        if placement == "compact" and taken and self.node[taken[-1]] in on:
            return min(on[self.node[taken[-1]]])
        enough = [n for n in on if placement == "compact" and len(on[n]) >= wanted]
        n = min(enough, key=lambda n: (len(on[n]), n)) if enough else min(on, key=lambda n: (-len(on[n]), n))
        return min(on[n])

    def worth(self, placement, p, free, idle, used):
        """What a placement looks at in a processor; *idle* are the processors of the free cores, *used* their GB/s."""
        platform = self.platform
        return {
            "high_gflops": platform.processor_flops[p][0],
            "high_cores": idle.count(p),
            "high_mem": free[platform.processor_node[p]][1],
            "high_mem_bw": platform.processor_bandwidth[p] - used[p],
            "low_power": -platform.processor_watts[p][0],
            "first_fit": 0,
        }[placement]

    def score(self, j, free, n, wanted, placement):
        """How well a job and a node go together (`engine.packing`): whether it takes all, and what remains there."""
        taken = min(wanted, self.room_on(free[n], j))
        if taken < 1:
            return None
        found = 0.0
        totals = self.node.count(n), self.platform.node_memory[n], self.platform.node_gpus[n]
        for total, had, asked in zip(totals, free[n], (1, self.jobs.memory[j], self.jobs.gpus[j]), strict=True):
            if total > 0:
                found += (
                    -(had - taken * asked) / total if placement == "best_fit" else taken * asked / total * had / total
                )
        return taken == wanted, round(found, 9), -n

    def best(self, j, free, wanted, placement):
        """The best score and its node; a score of None is that of no node."""
        return max((score, n) for n in self.nodes if (score := self.score(j, free, n, wanted, placement)) is not None)

    def pack(self, j, free, placement):
        """All that the best node can take, then all that the next best can."""
        taken = []
        while (wanted := int(self.jobs.size[j]) - len(taken)) > 0:
            _, n = self.best(j, free, wanted, placement)
            cores = [core for core in self.free_cores(taken) if self.node[core] == n]
            cores = cores[: min(wanted, self.room_on(free[n], j))]
            taken += cores
            self.give(free, j, {n: len(cores)}, -1)
        return taken

    def start(self, j, cores):
        self.waiting.remove(j)
        self.running[j] = self.now, cores
        self.started.append((j, sorted(cores)))

    def start_if_fits(self, j):
        cores = self.place(j)
        if cores is not None:
            self.start(j, cores)
        return cores is not None

    # --- times and orders

    def real(self, j):
        return self.jobs.delay[j] if self.jobs.delay[j] >= 0 else self.jobs.ops[j] / self.platform.reference_flops

    def time(self, j, kind=None):
        return float(self.real(j) if (kind or self.name.times) == "actual" else self.jobs.requested_time[j])

    def key(self, j):
        time, wait = self.time(j, self.name.order_times), self.now - self.jobs.submit[j]
        return KEYS["sjf" if self.name.learned else self.name.order](
            time, int(self.jobs.size[j]), wait, self.jobs.submit[j], j, self.real(j)
        )

    def queue(self):
        return sorted(self.waiting, key=lambda j: (self.key(j), j))

    def end(self, j, overdue=True):
        """When a running job is expected to end."""
        end = self.running[j][0] + self.time(j)
        if end > self.now or not overdue:
            return end
        return math.nextafter(self.now, math.inf) if end > self.now - JUST else self.now + OVERDUE

    def releases(self, overdue=True):
        """Running jobs by expected ends; of those that end together by cores held, then by start."""
        order = list(self.running)
        return sorted(
            order, key=lambda j: (self.end(j, overdue), len(self.running[j][1]), self.end(j, False), order.index(j))
        )

    # --- what happens

    def receive(self, now, completed, submitted, rejected=()):
        """Move to an instant: these jobs have ended, and so many more have come."""
        self.now = now
        for j in completed:
            self.learn(j)
            del self.running[j]
        came = range(self.known, self.known + submitted)
        self.known += submitted
        empty = self.left([])
        for j in came:
            if self.jobs.size[j] <= self.usable and sum(self.rooms(empty, j)) >= self.jobs.size[j]:
                self.waiting.append(j)

    def decide(self):
        """The jobs that start now and their cores, in the order of the decisions."""
        self.started = []
        if self.waiting:
            getattr(self, self.name.mode.name)()
        return self.started

    # --- modes

    def strict(self):
        """In order, until one does not fit."""
        for j in self.queue():
            if not self.start_if_fits(j):
                return

    def greedy(self):
        """In order, all that fit."""
        for j in self.queue():
            self.start_if_fits(j)

    def reserve(self):
        """In order, all that fit; but only short ones on the kept cores, unless nothing runs."""
        kept = self.name.mode.kept_of(self.usable)
        for j in self.queue():
            leaves = self.usable - self.used() - self.jobs.size[j] >= kept
            if not self.running or leaves or self.time(j) <= self.name.mode.short:
                self.start_if_fits(j)

    def packing(self):
        """Job and node that go best together, again and again; little work counts for a job with tetris_srtf."""
        placement = self.name.placement
        while True:
            fitting = [j for j in self.queue() if self.place(j) is not None]
            if not fitting:
                return
            free = self.left(self.holds())
            scores = {j: self.best(j, free, int(self.jobs.size[j]), placement)[0] for j in fitting}
            work = {j: self.jobs.size[j] * self.time(j) for j in fitting}
            price = sum(found for _, found, _ in scores.values()) / sum(work.values())
            if placement != "tetris_srtf" or price <= 0:
                price = 0.0
            best = max(
                fitting, key=lambda j: (scores[j][0], round(scores[j][1] - price * work[j], 8), -fitting.index(j))
            )
            self.start_if_fits(best)

    def commit(self):
        """Start the picked job, then pick the next, until one blocks: that is held whatever comes."""
        while self.waiting:
            j = self.held if self.held >= 0 else self.queue()[0]
            if self.start_if_fits(j):
                self.held = -1
                continue
            if self.held < 0:
                self.held, self.picked_among = j, self.known
                self.keys = {other: self.key(other) for other in self.waiting}
                self.shadow = self.expected_start(j)
            return

    def commitbackfill(self):
        """The same, and what ends before the held job is expected to start goes first, in the order of submission."""
        self.commit()
        for j in sorted(self.waiting, key=lambda j: (self.jobs.submit[j], self.keys.get(j, math.inf), j)):
            if j != self.held and self.now + self.time(j) < self.shadow:
                self.start_if_fits(j)

    def expected_start(self, j):
        """When a job fits by the requested ends, even where these are over."""
        free, spare, at = self.left(self.holds()), self.usable - self.used() - self.jobs.size[j], self.now
        for other in self.releases(overdue=False):
            if spare >= 0 and sum(self.rooms(free, j)) >= self.jobs.size[j]:
                break
            self.give(free, other, self.by_node(self.running[other][1]))
            spare, at = spare + self.jobs.size[other], self.end(other, False)
        return at

    def easy(self, candidates=None):
        """In order until one does not fit; then others that end before that one starts, or leave enough for it."""
        self.strict()
        if not self.waiting:
            return
        head, *others = self.queue()
        shadow, free, spare = self.reservation(head, int(self.jobs.size[head]))
        for j in sorted(others, key=candidates) if candidates else others:
            cores = self.place(j)
            if cores is None:
                continue
            if self.now + self.time(j) > shadow:
                beside = [list(node) for node in free]
                self.give(beside, j, self.by_node(cores), -1)
                if len(cores) > spare or sum(self.rooms(beside, head)) < self.jobs.size[head]:
                    continue
                free, spare = beside, spare - len(cores)
            self.start(j, cores)

    def reservation(self, head, need):
        """When the head fits, what nodes have left then, and how many cores more than it needs may serve jobs."""
        free, spare = self.left(self.holds()), self.usable - self.used() - need
        for other in self.releases():
            self.give(free, other, self.by_node(self.running[other][1]))
            spare += int(self.jobs.size[other])
            if spare >= 0 and sum(self.rooms(free, head)) >= self.jobs.size[head]:
                return self.end(other), free, spare
        return math.inf, free, spare

    def easyfcfs(self):
        """The same, the others in the order of their submission."""
        self.easy(lambda j: (self.jobs.submit[j], self.key(j), j))

    def easysjf(self):
        """The same, the shortest of the others first."""
        self.easy(lambda j: (self.time(j), self.jobs.submit[j], self.key(j), j))

    def scored(self):
        """By a score that is the requested time."""
        self.easy()

    def conservative(self):
        """Each job in order gets the first date at which there is room for it for its time beside all before it."""
        nodes = any(self.needs_nodes(j) for j in self.waiting)
        self.reserved = []  # (begin, end, job, cores by node)
        for j in self.queue():
            begin, least = self.earliest(j, int(self.jobs.size[j]), nodes)
            if begin == math.inf:
                continue
            picked, cores = self.lowest(j, least), None
            if begin == self.now:
                cores = self.place(j)
                if nodes and any(self.room_on(least[n], j) < taken for n, taken in self.by_node(cores).items()):
                    cores = [core for n, taken in picked.items() for core in self.lowest_cores(n, taken)]
            if cores is not None:
                self.start(j, cores)
            else:
                self.reserved.append((begin, begin + self.time(j), j, picked))

    def earliest(self, j, need, nodes):
        """The first date at which a job could start, and what each node has at least while it would run."""
        ends = [(self.now, self.end(i), i, self.by_node(cores)) for i, (_, cores) in self.running.items()]
        spans = ends + self.reserved
        for begin in sorted({self.now, *(end for _, end, _, _ in spans)}):
            dates = [begin, *(b for b, _, _, _ in spans if begin < b < begin + self.time(j))]
            then = [[span for span in spans if span[0] <= date < span[1]] for date in dates]
            enough = all(self.usable - sum(self.jobs.size[i] for _, _, i, _ in held) >= need for held in then)
            lefts = [self.left([(i, by_node) for _, _, i, by_node in held]) for held in then]
            least = [[min(left[n][kind] for left in lefts) for kind in range(3)] for n in self.nodes]
            if enough and (not nodes or sum(self.rooms(least, j)) >= self.jobs.size[j]):
                return begin, least
        return math.inf, None

    def lowest(self, j, least):
        """Cores of a job by node where it takes what the lowest nodes have."""
        wanted, picked = int(self.jobs.size[j]), {}
        for n, room in enumerate(self.rooms(least, j)):
            if min(room, wanted) > 0:
                picked[n] = min(room, wanted)
                wanted -= picked[n]
        return picked

    def lowest_cores(self, n, count):
        return [core for core in self.free_cores() if self.node[core] == n][:count]
