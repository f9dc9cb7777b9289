"""A scheduler that decides by dice, the same for the same messages; it runs in our tests and beside SimGrid."""

import random


class Scheduler:
    """Starts jobs on free machines, and now and then kills one or requests a call."""

    def __init__(self, scenario):
        """Take machines, jobs and chances of a scenario."""
        self.dice = random.Random(scenario["seed"])
        self.chances = scenario["chances"]
        self.sizes = {job["id"]: job["res"] for job in scenario["jobs"]}
        self.free = set(range(scenario["machines"]))
        self.waiting = []
        self.running = {}
        self.calls = scenario["calls"]

    def answer(self, now, events):
        """Return the reply to a message: its clock, and its events, each with its time and data."""
        for kind, data in events:
            if kind == "JOB_SUBMITTED":
                self.waiting.append(data["job_id"].partition("!")[2])
            elif kind == "JOB_COMPLETED":
                self.free |= set(self.running.pop(data["job_id"].partition("!")[2], ()))
        replies = []
        for name in list(self.waiting):
            size = self.sizes.get(name, 1)
            if self.dice.random() < self.chances["reject"]:
                self.waiting.remove(name)
                replies.append(("REJECT_JOB", {"job_id": f"w0!{name}"}))
            elif size <= len(self.free):
                self.waiting.remove(name)
                chosen = sorted(self.dice.sample(sorted(self.free), size))
                self.free -= set(chosen)
                self.running[name] = chosen
                replies.append(("EXECUTE_JOB", {"job_id": f"w0!{name}", "alloc": " ".join(map(str, chosen))}))
                if self.dice.random() < self.chances["kill_at_once"]:
                    replies.append(("KILL_JOB", {"job_ids": [f"w0!{name}"]}))
        chosen = [f"w0!{name}" for name in sorted(self.running) if self.dice.random() < self.chances["kill"]]
        if chosen and self.dice.random() < 0.5:
            replies.append(("KILL_JOB", {"job_ids": chosen}))
        else:
            replies.extend(("KILL_JOB", {"job_ids": [name]}) for name in chosen)
        while self.calls and self.dice.random() < self.chances["call"]:
            self.calls -= 1
            wait = self.dice.choice(self.chances["waits"])
            late = 100.0 if self.chances["late"] else 0.0  # so that it is not in the past when the server hears of it
            replies.append(("CALL_ME_LATER", {"timestamp": round(now + wait + late, 6)}))
        if events and events[0][0] != "SIMULATION_ENDS" and not self.running and self.waiting:
            name = self.waiting.pop(0)  # too large for the machines
            replies.append(("REJECT_JOB", {"job_id": f"w0!{name}"}))
        timed = []
        for kind, data in replies:
            if self.dice.random() < self.chances["late"]:
                now = round(now + self.dice.choice(self.chances["delays"]), 6)
            timed.append((now, kind, data))
        return now, timed
