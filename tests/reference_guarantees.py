"""Guaranteed starts in the slow schedulers, by `docs/notebook/bounded.md`: each reservation is as late as it may be."""

import math

SLACK, LEAST_USED, JUST, OVERDUE, MEMORY = 43200.0, 0.1, 0.1, 1.0, 90 * 86400.0


class Guarantees:
    """What a reference scheduler does in the mode ``bounded``; `begins` has the reservation of each waiting job."""

    def begin_guarantees(self):
        self.begins, self.sets, self.dues, self.promised = {}, {}, {}, {}
        self.last_due, self.asked, self.spent = 0.0, 0.0, 0.0
        self.worst, self.worst_at = 0.0, 0.0
        self.on_nodes = bool(self.whole or self.platform.partitions is not None)

    def learn(self, j):
        """Record the end of a job: how much of its request it has used."""
        start, cores = self.running[j]  # those of whole nodes may be more than it requests
        self.asked += len(cores) * self.time(j)
        self.spent += len(cores) * (self.now - start)

    # --- the plan

    def spans(self, but=None):
        """(begin, end, cores) of what runs and of what is reserved."""
        ends = [(start, start + self.time(i), i) for i, (start, _) in self.running.items()]
        running = [(b, e if e > self.now else self.now + OVERDUE, self.jobs.size[i]) for b, e, i in ends]
        return running + [(b, b + self.time(i), self.jobs.size[i]) for i, b in self.begins.items() if i != but]

    def is_free(self, j, begin, end):
        """Whether so many cores are free all the time."""
        spans = self.spans(j)
        dates = [begin, *(b for b, _, _ in spans if begin < b < end)]
        return all(self.usable - sum(c for b, e, c in spans if b <= t < e) >= self.jobs.size[j] for t in dates)

    def apart(self, j, begin, end):
        """The nodes that no other reservation has at any time between two dates."""
        others = [i for i, b in self.begins.items() if i != j and b < end and b + self.time(i) > begin]
        anywhere = any(self.sets[i] is None for i in others) and self.sets[j] is not None
        taken = [self.sets[i] for i in others if self.sets[i] is not None]
        return set() if anywhere else set(self.nodes).difference(*taken)

    def nodes_at(self, j, begin):
        """The nodes that have room for a job at a date and are not reserved while it would run; None for no room."""
        allowed = self.apart(j, begin, begin + self.time(j))
        free = self.left([(i, self.by_node(cores)) for i, (_, cores) in self.running.items() if self.end(i) > begin])
        return self.nodes_for(j, free, allowed)

    def nodes_for(self, j, free, allowed):
        """The lowest allowed nodes and how many cores of each; None if they do not suffice."""
        beside = [list(node) if n in allowed else [0, 0.0, 0.0] for n, node in enumerate(free)]
        picked = self.lowest(j, beside)
        return picked if sum(picked.values()) == self.jobs.size[j] else None

    def reserve_at(self, j, dates):
        """Reserve for a job at the first of some dates at which there is room; return whether there is one."""
        for date in dates:
            if date >= self.now and self.is_free(j, date, date + self.time(j)):
                picked = self.nodes_at(j, date) if self.on_nodes else {}
                if picked is not None:
                    self.begins[j], self.sets[j] = date, set(picked) if self.on_nodes else None
                    return True
        return False

    def as_late(self, j, limit):
        """Dates up to a limit, the last one first."""
        return sorted({limit, *(b - self.time(j) for b, _, _ in self.spans(j) if b - self.time(j) < limit)})[::-1]

    def as_soon(self, j):
        """Dates from now on."""
        ends = {e for _, e, _ in self.spans(j)} | {self.end(i) for i in self.running}
        return sorted({self.now, *(e for e in ends if e > self.now)})

    def guarantee(self, j):
        """What a job is guaranteed as it comes."""
        self.on_nodes = bool(self.on_nodes or self.jobs.memory[j] > 0 or self.jobs.gpus[j] > 0)
        self.begins[j], self.sets[j] = math.inf, set()
        work = sum(self.jobs.size[i] * self.time(i) for i in self.begins)
        left = sum(len(cores) * (start + self.time(i) - self.now) for i, (start, cores) in self.running.items())
        backlog = (work + max(left, 0.0)) / self.usable
        used = min(1.0, max(LEAST_USED, self.spent / self.asked)) if self.asked else 1.0
        self.worst = max(backlog, self.worst * math.exp((self.worst_at - self.now) / MEMORY))
        self.worst_at = self.now
        longest = self.name.mode.bound * self.worst + SLACK
        self.last_due = max(self.last_due, self.now + longest * used)
        self.dues[j] = self.last_due
        if not self.reserve_at(j, self.as_late(j, self.now + longest / used)):
            self.reserve_at(j, self.as_soon(j))
        self.promised[j] = self.begins[j]

    def hasten(self, j):
        """Move a reservation to the first date with room, later only if its own date is past."""
        begin, nodes = self.begins[j], self.sets[j]
        self.begins[j], self.sets[j] = math.inf, set()
        self.reserve_at(j, self.as_soon(j))
        if self.now < begin < self.begins[j]:
            self.begins[j], self.sets[j] = begin, nodes

    # --- decisions

    def start_apart(self, j):
        """Start a job if it is in the way of no reservation."""
        end = self.now + self.time(j)
        if self.begins[j] > self.now and not self.is_free(j, self.now, min(end, self.begins[j])):
            return False
        cores = self.place(j)
        if cores is not None and self.on_nodes:
            allowed = self.apart(j, self.now, end)
            if not set(self.by_node(cores)) <= allowed:
                picked = self.nodes_for(j, self.left(self.holds()), allowed)
                cores = picked and [core for n, taken in picked.items() for core in self.lowest_cores(n, taken)]
        if cores:
            self.start(j, cores)
            del self.begins[j]
        return bool(cores)

    def bounded(self):
        """First whoever has a reservation for now, then whoever is due, then in order whatever fits."""
        for j in self.waiting:
            if j not in self.begins:
                self.guarantee(j)
        for j in list(self.waiting):
            if self.begins[j] <= self.now and not self.start_apart(j) and self.begins[j] < self.now - JUST:
                self.hasten(j)
        held = False
        for j in [i for i in self.waiting if self.dues[i] <= self.now]:
            if not self.start_apart(j) and not held:
                held = True
                if self.begins[j] > self.now:
                    self.hasten(j)
        for j in self.queue():
            self.start_apart(j)
