"""Actors that do as Batsim's do, on SimGrid itself: what a scheduler hears; started with the system's Python.

Only what decides when messages come: submissions, delays, parallel tasks, sequences, walltimes, kills and calls. Every
message between two actors is a put of 1 byte, as Batsim sends it.

They are ours, so they show whether our clock is SimGrid's, and not that Batsim has no other actors.

Source: the order of the messages that Batsim 4.2.1 was recorded with, and what its actors do in versions 3 to 5.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

from scenario_scheduler import Scheduler
from simgrid import Actor, CancelException, Engine, Host, Mailbox, TimeoutException, this_actor

LIBRARY = ctypes.CDLL("libsimgrid.so.3.32")
LIBRARY.sg_host_by_name.restype = ctypes.c_void_p
LIBRARY.sg_host_get_consumed_energy.argtypes = (ctypes.c_void_p,)
LIBRARY.sg_host_get_consumed_energy.restype = ctypes.c_double
SHORTEST_WAIT = 1e-5  # s
WALLTIME, KILLED = -1, -2


def put(content):
    """Send to the server; go on when it has arrived."""
    Mailbox.by_name("server").put(content, 1)


class Job:
    """A job and where it is."""

    told = None  # mailbox for the report of its end

    def __init__(self, description):
        self.name = description["id"]
        self.submit = description["subtime"]
        self.walltime = description.get("walltime", -1.0)
        self.profile = description["profile"]
        self.state = "SUBMITTED"
        self.kill_asked = False
        self.machines, self.actor, self.path = [], None, []
        self.start = self.end = self.code = self.joules = None


class Task:
    """Where a job is in one profile."""

    def __init__(self, name):
        self.name, self.index = name, 0
        self.exec = None
        self.began = None
        self.delay = 0.0
        self.part = None


class Batsim:
    """The server and what it knows."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.hosts = [Host.by_name(name) for name in scenario["hosts"]]
        self.jobs = {job["id"]: Job(job) for job in scenario["jobs"]}
        self.scheduler = Scheduler(scenario)
        self.messages, self.outbox = [], []
        self.ready = self.ended = self.ends_sent = self.jobs_over = False
        self.submitted = self.completed = self.running = self.waiters = self.killers = 0
        names = scenario["hosts"] if scenario.get("energy") else []
        self.meters = [LIBRARY.sg_host_by_name(name.encode()) for name in names]

    def read_energy(self):
        """Return the J of each machine, which SimGrid brings up to date one by one."""
        return [LIBRARY.sg_host_get_consumed_energy(meter) for meter in self.meters]

    def add(self, kind, **data):
        """Record an event for the scheduler."""
        self.outbox.append((Engine.clock, kind, data))

    def submit(self):
        """Submit the jobs, those of one date together."""
        put(("HELLO", None))
        reached, batch, first = Engine.clock, [], True
        for job in sorted(self.jobs.values(), key=lambda job: (job.submit, f"w0!{job.name}")):
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
                self.scenario["profiles"][name] = {"type": "delay", "delay": tasks[name]["runtime"]}
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
            kind, content = Mailbox.by_name("server").get()  # each look for a mailbox is a round, in Batsim, too
            getattr(self, f"on_{kind.lower()}")(content)
            if self.ready and not self.ends_sent and not LIBRARY.sg_mailbox_listen(b"server"):
                if not self.outbox and self.is_finished():
                    self.add("SIMULATION_ENDS")
                    self.ends_sent = True
                if self.outbox:
                    self.send()

    def is_finished(self):
        """Return whether nothing more can happen."""
        if not self.jobs_over or self.waiters or self.killers or self.running:
            return False
        return self.completed == self.submitted

    def on_hello(self, _):
        """Do nothing."""

    def on_bye(self, _):
        """Note that no more jobs will come."""
        self.jobs_over = True
        self.add("NOTIFY", type="no_more_static_job_to_submit")

    def on_ready(self, _):
        """Note that the reply is applied."""
        self.ready = True
        self.ended = self.ends_sent

    def on_submitted(self, jobs):
        """Announce jobs."""
        for job in jobs:
            self.submitted += 1
            self.add("JOB_SUBMITTED", job_id=f"w0!{job.name}")

    def on_execute_job(self, data):
        """Start a job."""
        job = self.jobs[data["job_id"].partition("!")[2]]
        job.machines = [int(number) for number in data["alloc"].split()]
        job.state = "RUNNING"
        self.running += 1
        job.actor = Actor.create(f"job {job.name}", self.hosts[job.machines[0]], self.run_job, job)

    def on_reject_job(self, data):
        """Refuse a job."""
        self.jobs[data["job_id"].partition("!")[2]].state = "REJECTED"
        self.completed += 1

    def on_call_me_later(self, data):
        """Call the scheduler when a time has come."""
        if data["timestamp"] <= Engine.clock:  # Batsim aborts
            sys.stdout.write("null\n")
            sys.stdout.flush()
            os._exit(0)
        self.waiters += 1
        Actor.create(
            "waiter", Host.by_name(self.scenario.get("master", "master_host")), self.wait_until, data["timestamp"]
        )

    def on_waiting_done(self, _):
        """Report a call."""
        self.waiters -= 1
        self.add("REQUESTED_CALL")

    def on_kill_job(self, data):
        """Kill jobs whose kill was not requested before."""
        jobs = [self.jobs[name.partition("!")[2]] for name in data["job_ids"]]
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
        self.add("JOB_KILLED", job_ids=[f"w0!{job.name}" for job in jobs], job_progress=progress)
        self.killers -= 1

    def on_completed(self, job):
        """Report that a job has ended."""
        if job.told is not None:
            job.told.put_async(job.name, 1)
        self.over(job)

    def over(self, job):
        """Count a job that is over and report it."""
        self.running -= 1
        self.completed += 1
        self.add("JOB_COMPLETED", job_id=f"w0!{job.name}", job_state=job.state, return_code=job.code)

    def wait_until(self, date):
        """Report to the server when a date has come."""
        if Engine.clock < date:
            this_actor.sleep_for(max(date - Engine.clock, SHORTEST_WAIT))
        if self.ends_sent:
            self.waiters -= 1
        else:
            put(("WAITING_DONE", None))

    def run_job(self, job):
        """Run a job to its end, then report to the server."""
        job.start, job.left = Engine.clock, job.walltime
        job.before = self.read_energy()
        job.task = Task(job.profile)
        job.code = self.perform(job, job.task)
        if job.code == KILLED:
            job.state = "COMPLETED_KILLED"
        elif job.code == WALLTIME:
            job.state = "COMPLETED_WALLTIME_REACHED"
        else:
            job.state = "COMPLETED_FAILED" if job.code else "COMPLETED_SUCCESSFULLY"
        job.end = Engine.clock
        self.note_energy(job)
        if job.code != KILLED:
            put(("COMPLETED", job))

    def note_energy(self, job):
        """Note the J that a job's machines have used since its start."""
        now = self.read_energy()
        if self.meters:
            job.joules = sum(now[number] - job.before[number] for number in job.machines)

    def perform(self, job, task):
        """Run through one profile; return its code, 0 or one below."""
        profile = self.scenario["profiles"][task.name]
        if profile["type"] == "delay":
            task.began, task.delay = Engine.clock, profile["delay"]
            code = self.sleep(job, profile["delay"])
        elif profile["type"] == "composed":
            code = 0
            for index in range(profile.get("repeat", 1) * len(profile["seq"])):
                task.index = index
                task.part = Task(profile["seq"][index % len(profile["seq"])])
                code = self.perform(job, task.part)
                if code:
                    return code
        else:
            code = self.compute(job, task, *amounts(profile, len(job.machines)))
        return code or profile.get("ret", 0)

    def sleep(self, job, seconds):
        """Sleep, at most up to the walltime."""
        if job.left < 0.0 or seconds < job.left:
            this_actor.sleep_for(seconds)
            if job.left > 0.0:
                job.left -= seconds
            return 0
        this_actor.sleep_for(job.left)
        job.left = 0.0
        return WALLTIME

    def compute(self, job, task, flops, sizes):
        """Run a parallel task, up to the walltime."""
        task.exec = this_actor.exec_init([self.hosts[number] for number in job.machines], flops, sizes)
        began, code = Engine.clock, 0
        try:
            task.exec.start()
            if job.left < 0.0:
                task.exec.wait()
            else:
                task.exec.wait_for(job.left)
        except TimeoutException:
            code = WALLTIME
        except CancelException:
            code = KILLED
        if job.left >= 0.0:
            job.left -= Engine.clock - began
        if code != WALLTIME:
            task.exec = None
        return code

    def kill(self, jobs):
        """Kill the jobs that run."""
        progress = {}
        for job in jobs:
            if job.state != "RUNNING":
                continue
            progress[f"w0!{job.name}"] = progress_of(job.task)
            task = job.task
            while task.part is not None:
                task = task.part
            if task.exec is not None:
                task.exec.cancel()
            else:
                job.actor.kill()
                job.state, job.code, job.end = "COMPLETED_KILLED", -1, Engine.clock
                self.note_energy(job)
        put(("KILLING_DONE", (jobs, progress)))


def amounts(profile, ranks):
    """Return the flops of each rank, and the bytes between each two."""
    if profile["type"] == "parallel":
        return profile["cpu"], profile["com"]
    share = ranks if profile["type"] == "parallel_homogeneous_total" else 1
    com = profile["com"] / share
    sizes = [com if i != j else 0.0 for i in range(ranks) for j in range(ranks)] if com else []
    return [profile["cpu"] / share] * ranks, sizes


def progress_of(task):
    """Return how far a task is."""
    if task.part is not None:
        return {"profile_name": task.name, "current_task_index": task.index, "current_task": progress_of(task.part)}
    if task.began is not None:
        return {"profile_name": task.name, "progress": (Engine.clock - task.began) / task.delay}
    return {"profile_name": task.name, "progress": 1.0 - task.exec.remaining_ratio if task.exec else 0.0}


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
    Actor.create("server", master, batsim.serve)
    engine.run()
    times = {job.name: (job.start, job.end) for job in batsim.jobs.values()}
    joules = {job.name: job.joules for job in batsim.jobs.values() if job.joules is not None}
    sys.stdout.write(json.dumps({"messages": batsim.messages, "times": times, "joules": joules}) + "\n")


main()
