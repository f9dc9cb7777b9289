"""Actors that do as Batsim's do, on SimGrid itself: what a scheduler hears; started with the system's Python.

Only what decides when messages come: submissions, registrations, delays, parallel tasks, sequences, messages of jobs,
walltimes, kills, calls, P-states, and events from outside. Every message between two actors is a put of 1 byte, as
Batsim sends it.

They are ours, so they show whether our clock is SimGrid's, and not that Batsim has no other actors.

Source: the order of the messages that Batsim 4.2.1 was recorded with, and what its actors do in versions 3 to 5.
"""

import ctypes
import json
import math
import os
import sys
from pathlib import Path

from batsim_peer_jobs import Job, JobActors, put
from batsim_peer_machines import IDLE, Machines, bring_events
from scenario_scheduler import Reciter, Scheduler, interval_set
from simgrid import Actor, Engine, Host, Mailbox, NetworkFailureException, this_actor

LIBRARY = ctypes.CDLL("libsimgrid.so.3.32")
LIBRARY.sg_host_by_name.restype = ctypes.c_void_p
LIBRARY.sg_host_get_consumed_energy.argtypes = (ctypes.c_void_p,)
LIBRARY.sg_host_get_consumed_energy.restype = ctypes.c_double
SHORTEST_WAIT = 1e-5  # s


def abort(why):
    """End where Batsim aborts; our server's message must contain the reason."""
    sys.stdout.write(json.dumps({"aborts": why}) + "\n")
    sys.stdout.flush()
    os._exit(0)


class Batsim(JobActors):
    """The server and what it knows."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.profiles = dict(scenario["profiles"])
        self.hosts = [Host.by_name(name) for name in scenario["hosts"]]
        self.machines = Machines(self.hosts, scenario.get("sleeps", {}))
        self.jobs = {job["id"]: Job(job) for job in scenario["jobs"]}
        self.scheduler = Reciter(scenario["replies"]) if "replies" in scenario else Scheduler(scenario)
        self.messages, self.outbox = [], []
        self.ready = self.ended = self.ends_sent = self.jobs_over = False
        self.events_over = "outside" not in scenario
        self.registering = "dynamic" in scenario
        self.submitted = self.completed = self.running = self.waiters = self.killers = 0
        names = scenario["hosts"] if scenario.get("energy") else []
        self.meters = [LIBRARY.sg_host_by_name(name.encode()) for name in names]

    def read_energy(self):
        """Return the J of each machine, which SimGrid brings up to date one by one."""
        return [LIBRARY.sg_host_get_consumed_energy(meter) for meter in self.meters]

    def add(self, kind, **data):
        """Record an event for the scheduler."""
        self.outbox.append((Engine.clock, kind, data))

    def job_of(self, data):
        """Return the job of a message."""
        return self.jobs[data["job_id"].partition("!")[2]]

    def submit(self):
        """Submit the jobs, those of one date together."""
        put(("HELLO", None))
        reached, batch, first = Engine.clock, [], True
        static = [job for job in self.jobs.values() if job.identifier.startswith("w0!")]
        for job in sorted(static, key=lambda job: (job.submit, job.identifier)):
            if job.submit > reached:
                if batch:
                    put(("SUBMITTED", batch))
                    batch = []
                this_actor.sleep_for(job.submit - reached)
                reached = Engine.clock
            if first:
                self.read_energy()
                first = False
            batch.append(job)
        if batch:
            put(("SUBMITTED", batch))
        put(("BYE", None))

    def abort(self, why):
        """End where Batsim aborts."""
        abort(why)

    def submit_workflow(self, tasks):
        """Submit tasks, each when those before it are over."""
        put(("HELLO", None))
        this_actor.sleep_for(0.0)
        waits = {name: set(task["after"]) for name, task in tasks.items()}
        ready = [name for name, before in sorted(waits.items()) if not before]
        told = Mailbox.by_name("workflow")
        known = {}
        while ready or known:
            while ready:
                name = ready.pop(0)
                job = Job({"id": str(len(self.jobs)), "subtime": 0.0, "profile": name})
                job.walltime = float(f"{tasks[name]['runtime'] + 10.0:f}")
                job.told = told
                self.profiles[name] = {"type": "delay", "delay": tasks[name]["runtime"]}
                self.jobs[job.name] = job
                known[job.name] = name
                put(("SUBMITTED", [job]))
            over = known.pop(told.get())
            for name in tasks[over]["before"]:
                waits[name].discard(over)
                if not waits[name]:
                    ready.append(name)
        put(("BYE", None))

    def converse(self, now, events):
        """Hear what the scheduler answers, and bring it to the server event by event."""
        now, replies = self.scheduler.answer(float(f"{now:f}"), [event[1:] for event in events])
        for time, kind, data in replies:
            if time > Engine.clock:
                this_actor.sleep_for(time - Engine.clock)
            put((kind, data))
        if now > Engine.clock:
            this_actor.sleep_for(now - Engine.clock)
        put(("READY", None))

    def send(self):
        """Send the recorded events to the scheduler."""
        self.ready = False
        events, self.outbox = self.outbox, []
        self.messages.append({"now": Engine.clock, "events": events})
        Actor.create("conversation", this_actor.get_host(), self.converse, Engine.clock, events)

    def serve(self):
        """Receive, handle and report, until the end."""
        self.add("SIMULATION_BEGINS")
        self.send()
        while not self.ended:
            try:
                kind, content = Mailbox.by_name("server").get()  # each look for a mailbox is a round, in Batsim, too
            except NetworkFailureException:  # Batsim does not catch it
                abort("on its way to the server")
            getattr(self, f"on_{kind.lower()}")(content)
            if self.ready and not self.ends_sent and not LIBRARY.sg_mailbox_listen(b"server"):
                if not self.outbox and self.is_finished():
                    self.add("SIMULATION_ENDS")
                    self.ends_sent = True
                if self.outbox:
                    self.send()

    def is_finished(self):
        """Return whether nothing more can happen."""
        if not self.jobs_over or not self.events_over or self.registering:
            return False
        if self.waiters or self.killers or self.running or self.machines.switching:
            return False
        return self.completed == self.submitted

    def on_hello(self, _):
        """Do nothing."""

    def on_bye(self, _):
        """Note that no more jobs will come."""
        self.jobs_over = True
        self.add("NOTIFY", type="no_more_static_job_to_submit")

    def on_events_bye(self, _):
        """Note that no more events will come."""
        self.events_over = True
        self.add("NOTIFY", type="no_more_external_event_to_occur")

    def on_ready(self, _):
        """Note that the reply is applied."""
        self.ready = True
        self.ended = self.ends_sent

    def on_submitted(self, jobs):
        """Announce jobs."""
        for job in jobs:
            self.submitted += 1
            self.add("JOB_SUBMITTED", job_id=job.identifier)

    def on_events(self, events):
        """Report events from outside."""
        for event in events:
            if "machines" not in event:
                self.add("NOTIFY", type=event["type"])
                continue
            if not self.machines.change(event):
                abort("Batsim aborts there")
            self.add("NOTIFY", type=f"event_{event['type']}", resources=event["resources"])

    def on_execute_job(self, data):
        """Start a job."""
        job = self.job_of(data)
        job.machines = [int(number) for number in data["alloc"].split()]
        if any(self.machines.state[number] != IDLE for number in job.machines):
            abort("not IDLE")
        job.state = "RUNNING"
        self.running += 1
        self.start_job(job)

    def on_reject_job(self, data):
        """Refuse a job."""
        self.job_of(data).state = "REJECTED"
        self.completed += 1

    def on_call_me_later(self, data):
        """Call the scheduler when a time has come."""
        if data["timestamp"] <= Engine.clock:
            abort("requests a call at")
        self.waiters += 1
        Actor.create("waiter", this_actor.get_host(), self.wait_until, data["timestamp"])

    def on_waiting_done(self, _):
        """Report a call."""
        self.waiters -= 1
        self.add("REQUESTED_CALL")

    def on_kill_job(self, data):
        """Kill jobs whose kill was not requested before."""
        jobs = [self.job_of({"job_id": name}) for name in data["job_ids"]]
        jobs = [job for job in jobs if not job.kill_asked]
        for job in jobs:
            job.kill_asked = True
        if jobs:
            self.killers += 1
            Actor.create("killer", this_actor.get_host(), self.kill, jobs)

    def on_killing_done(self, content):
        """Report which jobs have been killed."""
        jobs, progress = content
        for job in jobs:
            if job.state == "COMPLETED_KILLED":
                self.over(job)
        self.add("JOB_KILLED", job_ids=[job.identifier for job in jobs], job_progress=progress)
        self.killers -= 1

    def on_completed(self, job):
        """Report that a job has ended."""
        if job.told is not None:
            Mailbox.by_name("workflow").put(job.name, 1)
        self.over(job)

    def on_set_resource_state(self, data):
        """Change the P-state of machines; the energy is noted before and after."""
        self.read_energy()
        numbers = [int(number) for number in data["resources"].split()]
        self.machines.set_pstate(numbers, int(data["state"]), self.report_pstate)

    def on_switched(self, content):
        """Note that a machine sleeps or is awake."""
        self.machines.switching -= 1
        self.machines.note_reached(*content, self.report_pstate)

    def report_pstate(self, numbers, pstate):
        """Report that machines have reached a P-state."""
        self.read_energy()
        self.add("RESOURCE_STATE_CHANGED", resources=interval_set(numbers), state=str(pstate))

    def on_query(self, _):
        """Report the energy of all machines."""
        self.add("ANSWER", consumed_energy=math.fsum(self.read_energy()))

    def on_from_job_msg(self, content):
        """Pass on what a job says."""
        job, message = content
        self.add("FROM_JOB_MSG", job_id=job.identifier, msg=message)

    def on_to_job_msg(self, data):
        """Keep a message for a job."""
        self.job_of(data).messages.append(data["msg"])

    def on_register_profile(self, data):
        """Keep a profile of the scheduler's."""
        self.profiles[data["profile_name"]] = data["profile"]

    def on_register_job(self, data):
        """Take in a job of the scheduler's."""
        workload, _, name = data["job_id"].partition("!")
        self.jobs[name] = Job({**data["job"], "id": name}, workload)
        self.submitted += 1
        if self.scenario["dynamic"]["acknowledged"]:
            self.add("JOB_SUBMITTED", job_id=data["job_id"])

    def on_notify(self, _):
        """Note that the scheduler registers no more jobs."""
        self.registering = False

    def over(self, job):
        """Count a job that is over and report it."""
        job.reported = True
        self.running -= 1
        self.completed += 1
        self.add("JOB_COMPLETED", job_id=job.identifier, job_state=job.state, return_code=job.code)

    def wait_until(self, date):
        """Report to the server when a date has come."""
        if Engine.clock < date:
            this_actor.sleep_for(max(date - Engine.clock, SHORTEST_WAIT))
        if self.ends_sent:
            self.waiters -= 1
        else:
            put(("WAITING_DONE", None))


def main():
    """Play a scenario; print the messages, and when each job has started and ended."""
    scenario = json.loads(Path(sys.argv[1]).read_text())
    more = [*scenario["cfg"], *(["--cfg=plugin:host_energy"] if scenario.get("energy") else [])]
    engine = Engine(["batsim_peer", "--cfg=host/model:ptask_L07", "--log=root.thresh:critical", *more])
    engine.load_platform(scenario["platform"])
    batsim = Batsim(scenario)
    master = Host.by_name(scenario.get("master", "master_host"))
    if scenario["jobs"]:
        Actor.create("submitter", master, batsim.submit)
    if "workflow" in scenario:
        Actor.create("workflow submitter", master, batsim.submit_workflow, scenario["workflow"])
    if "outside" in scenario:
        Actor.create("event submitter", master, bring_events, scenario["outside"])
    Actor.create("server", master, batsim.serve)
    engine.run()
    times = {job.name: (job.start, job.end if job.reported else None) for job in batsim.jobs.values()}
    joules = {job.name: job.joules for job in batsim.jobs.values() if job.joules is not None}
    sys.stdout.write(json.dumps({"messages": batsim.messages, "times": times, "joules": joules}) + "\n")


main()
