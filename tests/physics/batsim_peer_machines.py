"""Machines on SimGrid as Batsim switches them, and events from outside; part of ``batsim_peer.py``."""

from batsim_peer_jobs import put
from simgrid import Actor, Engine, this_actor

IDLE, COMPUTING, SLEEPING, SWITCHING, UNAVAILABLE = "IDLE", "COMPUTING", "SLEEPING", "SWITCHING", "UNAVAILABLE"
EVENT_ORDER = {"machine_available": 0, "machine_unavailable": 1}


class Machines:
    """The states of the hosts, and which of them change."""

    def __init__(self, hosts, sleeps):
        """Begin idle; *sleeps* has for each sleep P-state those of the ways to it and back."""
        self.hosts = hosts
        self.sleeps = {int(pstate): ways for pstate, ways in sleeps.items()}
        self.state = [IDLE] * len(hosts)
        self.jobs = [set() for _ in hosts]
        self.switches = []  # each a P-state, all its machines, and those that are not there yet
        self.switching = 0

    def begin_job(self, job):
        """Note that machines compute."""
        for number in job.machines:
            self.jobs[number].add(job.name)
            self.state[number] = COMPUTING

    def end_job(self, job):
        """Note that machines are free, unless they have left meanwhile."""
        for number in job.machines:
            self.jobs[number].discard(job.name)
            if self.state[number] == COMPUTING:
                self.state[number] = IDLE

    def set_pstate(self, numbers, pstate, reached):
        """Change the P-state of machines; *reached* is called with all machines of a change that is over."""
        self.switches.append((pstate, numbers, set(numbers)))
        for number in numbers:
            host = self.hosts[number]
            if pstate in self.sleeps:
                self.begin_way(number, pstate, self.sleeps[pstate][0], SLEEPING)
            elif host.pstate in self.sleeps:
                self.begin_way(number, pstate, self.sleeps[host.pstate][1], IDLE)
            else:
                host.pstate = pstate
                self.note_reached(number, pstate, reached)

    def begin_way(self, number, pstate, through, state):
        """Start an actor that brings a machine to or from sleep."""
        self.state[number] = SWITCHING
        self.switching += 1
        Actor.create(f"switch {number}", self.hosts[number], self.go, number, pstate, through, state)

    def go(self, number, pstate, through, state):
        """Compute one operation in the P-state of the way."""
        host = self.hosts[number]
        host.pstate = through
        this_actor.execute(1.0)
        host.pstate = pstate
        self.state[number] = state
        put(("SWITCHED", (number, pstate)))

    def note_reached(self, number, pstate, reached):
        """Note that a machine is there."""
        for switch in self.switches:
            if switch[0] == pstate and number in switch[2]:
                switch[2].remove(number)
                if not switch[2]:
                    self.switches.remove(switch)
                    reached(switch[1], pstate)
                return

    def change(self, event):
        """Take machines away or give them back; return whether Batsim goes on."""
        leaves = event["type"] == "machine_unavailable"
        for number in event["machines"]:
            if leaves == (self.state[number] == UNAVAILABLE):
                return False
            self.state[number] = UNAVAILABLE if leaves else COMPUTING if self.jobs[number] else IDLE
        return True


def bring_events(events):
    """Deliver events, those of one date together."""
    put(("HELLO", None))
    reached, batch = Engine.clock, []
    for event in sorted(events, key=lambda event: (event["timestamp"], EVENT_ORDER.get(event["type"], 2))):
        if event["timestamp"] > reached:
            if batch:
                put(("EVENTS", batch))
                batch = []
            this_actor.sleep_for(event["timestamp"] - reached)
            reached = Engine.clock
        batch.append(event)
    if batch:
        put(("EVENTS", batch))
    put(("EVENTS_BYE", None))
