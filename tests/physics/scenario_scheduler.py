"""A scheduler that decides by dice, the same for the same messages; it runs in our tests and beside SimGrid."""

import random

WEARY = 60  # requested calls after which a scheduler of machines or of its own jobs kills what runs
FIRST_WAIT = 100.0  # s, so that a call is not in the past when the server hears of it


class Reciter:
    """Says what a scheduler has said before, reply by reply, whatever it hears."""

    def __init__(self, replies):
        """Take the replies: the clock of each, and its events, each with its time and data."""
        self.replies = iter(replies)

    def answer(self, now, events):
        """Return the next reply."""
        return next(self.replies)


class Scheduler:
    """Starts jobs on free machines, and now and then kills one or requests a call.

    With machines that change (``sleeps``, ``outside``) or jobs of its own (``dynamic``) it does what these allow, too,
    and requests calls until all is over.
    """

    def __init__(self, scenario):
        """Take machines, jobs and chances of a scenario."""
        self.dice = random.Random(scenario["seed"])
        self.chances = scenario["chances"]
        self.sizes = {job["id"]: job["res"] for job in scenario["jobs"]}
        self.all = set(range(scenario["machines"]))
        self.free = set(self.all)
        self.waiting = []
        self.running = {}
        self.calls = scenario["calls"]
        self.computing = scenario.get("computing", 1)  # P-states
        self.sleeps = scenario.get("sleeps", {})
        self.asleep, self.changing, self.away = set(), set(), set()
        self.dynamic = scenario.get("dynamic", {"jobs": [], "acknowledged": False})
        self.to_register = list(self.dynamic["jobs"])
        self.finished = "dynamic" not in scenario
        self.watchful = any(key in scenario for key in ("sleeps", "outside", "dynamic"))
        self.beats, self.asked = 0, False

    def answer(self, now, events):
        """Return the reply to a message: its clock, and its events, each with its time and data."""
        for kind, data in events:
            self.hear(kind, data)
        replies = self.start_jobs()
        replies += self.kill_jobs()
        while self.calls and self.dice.random() < self.chances["call"]:
            self.calls -= 1
            replies.append(self.call(now, self.dice.choice(self.chances["waits"])))
        if events and events[0][0] != "SIMULATION_ENDS" and not self.running and self.waiting:
            name = self.waiting.pop(0)  # too large for the machines
            replies.append(("REJECT_JOB", {"job_id": name}))
        if self.watchful and events[0][0] != "SIMULATION_ENDS":
            replies = self.mixed(replies, [*self.talk(), *self.change_machines()]) + self.register_jobs(now)
            replies += self.keep_watch(now)
        timed = []
        for kind, data in replies:
            if self.dice.random() < self.chances["late"]:
                now = round(now + self.dice.choice(self.chances["delays"]), 6)
            timed.append((now, kind, data))
        return now, timed

    def hear(self, kind, data):
        """Take in an event."""
        if kind == "JOB_SUBMITTED":
            self.waiting.append(data["job_id"])
        elif kind == "JOB_COMPLETED":
            self.free |= set(self.running.pop(data["job_id"], ()))
        elif kind == "RESOURCE_STATE_CHANGED":
            reached = numbers(data["resources"])
            self.changing -= reached
            if data["state"] in self.sleeps:
                self.asleep |= reached
        elif kind == "REQUESTED_CALL":
            self.asked = False
        elif kind == "NOTIFY" and "resources" in data:
            leave = data["type"] == "event_machine_unavailable"
            self.away = self.away | numbers(data["resources"]) if leave else self.away - numbers(data["resources"])

    def start_jobs(self):
        """Start waiting jobs where they fit, or reject them."""
        replies = []
        for name in list(self.waiting):
            size = self.sizes.get(name.partition("!")[2], 1)
            usable = self.free - self.asleep - self.changing - self.away
            if self.dice.random() < self.chances["reject"]:
                self.waiting.remove(name)
                replies.append(("REJECT_JOB", {"job_id": name}))
            elif size <= len(usable):
                self.waiting.remove(name)
                chosen = sorted(self.dice.sample(sorted(usable), size))
                self.free -= set(chosen)
                self.running[name] = chosen
                replies.append(("EXECUTE_JOB", {"job_id": name, "alloc": " ".join(map(str, chosen))}))
                if self.dice.random() < self.chances["kill_at_once"]:
                    replies.append(("KILL_JOB", {"job_ids": [name]}))
        return replies

    def kill_jobs(self):
        """Kill some of the jobs that run, together or one by one."""
        chosen = [name for name in sorted(self.running) if self.dice.random() < self.chances["kill"]]
        if chosen and self.dice.random() < 0.5:
            return [("KILL_JOB", {"job_ids": chosen})]
        return [("KILL_JOB", {"job_ids": [name]}) for name in chosen]

    def call(self, now, wait):
        """Request a call."""
        late = FIRST_WAIT if self.chances["late"] else 0.0
        return ("CALL_ME_LATER", {"timestamp": round(now + wait + late, 6)})

    def mixed(self, replies, more):
        """Put further events at random places."""
        for event in more:
            replies.insert(self.dice.randint(0, len(replies)), event)
        return replies

    def talk(self):
        """Send messages to jobs that run, and ask for the energy."""
        replies = [
            ("TO_JOB_MSG", {"job_id": name, "msg": self.dice.choice(["ok", "no", "x1"])})
            for name in sorted(self.running)
            if self.happens("message")
        ]
        if self.happens("query"):
            replies.append(("QUERY", {"requests": {"consumed_energy": {}}}))
        return replies

    def happens(self, what):
        """Throw the dice for something that only some scenarios have."""
        return self.dice.random() < self.chances.get(what, 0)

    def change_machines(self):
        """Change the speed of machines that are awake, and bring idle ones to sleep and back."""
        replies = []
        for wish in ("speed", "sleep", "wake"):
            if not self.happens(wish):
                continue
            awake = self.all - self.changing - self.asleep
            some = {"speed": awake, "sleep": awake & self.free - self.away, "wake": self.asleep - self.away}[wish]
            if not some:
                continue
            chosen = sorted(self.dice.sample(sorted(some), self.dice.randint(1, len(some))))
            awake_ones = [str(number) for number in range(self.computing)]
            pstate = self.dice.choice(sorted(self.sleeps) if wish == "sleep" else awake_ones)
            self.asleep -= set(chosen)
            self.changing |= set(chosen)
            replies.append(("SET_RESOURCE_STATE", {"resources": " ".join(map(str, chosen)), "state": pstate}))
        return replies

    def register_jobs(self, now):
        """Register jobs, each after its profile; say at last that there are no more."""
        replies = []
        while self.to_register and self.dice.random() < self.chances["register"]:
            new = self.to_register.pop(0)
            workload, _, name = new["job_id"].partition("!")
            self.sizes[name] = new["job"]["res"]
            for profile, content in new["profiles"].items():
                data = {"workload_name": workload, "profile_name": profile, "profile": content}
                replies.append(("REGISTER_PROFILE", data))
            replies.append(("REGISTER_JOB", {"job_id": new["job_id"], "job": new["job"] | {"subtime": now}}))
            if not self.dynamic["acknowledged"]:
                self.waiting.append(new["job_id"])
        if not self.finished and not self.to_register and self.dice.random() < 0.5:
            self.finished = True
            replies.append(("NOTIFY", {"type": "registration_finished"}))
        return replies

    def keep_watch(self, now):
        """Request a call while something is not over; kill in the end what never ends."""
        if self.asked or not (self.running or self.waiting or not self.finished):
            return []
        self.asked = True
        self.beats += 1
        replies = [self.call(now, self.dice.choice([0.3, 2.0, 11.0]))]
        if self.beats > WEARY and self.running:
            replies.insert(0, ("KILL_JOB", {"job_ids": sorted(self.running)}))
        return replies


def numbers(resources):
    """Return the machines of an interval set."""
    found = set()
    for part in resources.split():
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def interval_set(machines):
    """Return sorted numbers as Batsim writes them."""
    parts, first = [], None
    for place, number in enumerate(machines):
        first = number if first is None else first
        if place + 1 == len(machines) or machines[place + 1] != number + 1:
            parts.append(str(first) if first == number else f"{first}-{number}")
            first = None
    return " ".join(parts)
