"""Jobs on SimGrid as Batsim's actors run and kill them; part of ``batsim_peer.py``."""

import re

from simgrid import Actor, CancelException, Engine, Mailbox, TimeoutException, this_actor

WALLTIME, KILLED = -1, -2


def put(content):
    """Send to the server; go on when it has arrived."""
    Mailbox.by_name("server").put(content, 1)


class Job:
    """A job and where it is."""

    told = None  # mailbox for the report of its end
    reported = False  # whether the server knows of its end

    def __init__(self, description, workload="w0"):
        self.name = description["id"]
        self.identifier = f"{workload}!{self.name}"
        self.submit = description["subtime"]
        self.walltime = description.get("walltime", -1.0)
        self.profile = description["profile"]
        self.state = "SUBMITTED"
        self.kill_asked = False
        self.machines, self.actor, self.path = [], None, []
        self.messages = []  # from the scheduler
        self.start = self.end = self.code = self.joules = None


class Task:
    """Where a job is in one profile."""

    def __init__(self, name):
        self.name, self.index = name, 0
        self.exec = None
        self.began = None
        self.delay = 0.0
        self.part = None


class JobActors:
    """The actors of jobs, and those that kill them."""

    def run_job(self, job):
        """Run a job to its end, then report to the server."""
        job.start, job.left = Engine.clock, job.walltime
        job.before = self.read_energy()
        self.machines.begin_job(job)
        job.task = Task(job.profile)
        job.code = self.perform(job, job.task)
        if job.code == KILLED:
            job.state = "COMPLETED_KILLED"
        elif job.code == WALLTIME:
            job.state = "COMPLETED_WALLTIME_REACHED"
        else:
            job.state = "COMPLETED_FAILED" if job.code else "COMPLETED_SUCCESSFULLY"
        self.end_job(job)
        if job.code != KILLED:
            put(("COMPLETED", job))

    def end_job(self, job):
        """Release a job's machines, and note the J that they have used since its start."""
        job.end = Engine.clock
        self.machines.end_job(job)
        now = self.read_energy()
        if self.meters:
            job.joules = sum(now[number] - job.before[number] for number in job.machines)

    def perform(self, job, task):
        """Run through one profile; return its code, 0 or one below."""
        profile = self.profiles[task.name]
        kind = profile["type"]
        if kind == "delay":
            task.began, task.delay = Engine.clock, profile["delay"]
            code = self.sleep(job, profile["delay"])
        elif kind == "composed":
            code = 0
            for index in range(profile.get("repeat", 1) * len(profile["seq"])):
                task.index = index
                task.part = Task(profile["seq"][index % len(profile["seq"])])
                code = self.perform(job, task.part)
                if code:
                    return code
        elif kind == "send":
            put(("FROM_JOB_MSG", (job, profile["msg"])))
            code = self.sleep(job, profile.get("sleeptime", 1e-7))
        elif kind == "recv":
            code = self.receive(job, task, profile)
        else:
            code = self.compute(job, task, *amounts(profile, len(job.machines)))
        return code or profile.get("ret", 0)

    def receive(self, job, task, profile):
        """Look for a message again and again, or once where a profile follows if there is none; run what follows."""
        following = profile.get("timeout", "")
        if not job.messages and not following:
            while not job.messages:
                code = self.sleep(job, profile.get("polltime", 0.005))
                if code:
                    return code
        if job.messages:
            fits = re.fullmatch(profile.get("regex", ".*"), job.messages.pop(0))
            following = profile.get("success" if fits else "failure", "")
        if not following:
            return 0
        task.part = Task(following)
        return self.perform(job, task.part)

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
            progress[job.identifier] = self.progress_of(job.task)
            task = job.task
            while task.part is not None:
                task = task.part
            if task.exec is not None:
                task.exec.cancel()
            else:
                job.actor.kill()
                job.state, job.code = "COMPLETED_KILLED", -1
                self.end_job(job)
        put(("KILLING_DONE", (jobs, progress)))

    def progress_of(self, task):
        """Return how far a task is."""
        if task.part is not None and self.profiles[task.name]["type"] == "composed":
            inside = self.progress_of(task.part)
            return {"profile_name": task.name, "current_task_index": task.index, "current_task": inside}
        if task.part is not None:
            self.abort("Batsim aborts there")
        if task.began is not None:
            return {"profile_name": task.name, "progress": (Engine.clock - task.began) / task.delay}
        if task.exec is None and not self.profiles[task.name]["type"].startswith("parallel"):
            return {"profile_name": task.name, "current_task_index": -1}
        return {"profile_name": task.name, "progress": 1.0 - task.exec.remaining_ratio if task.exec else 0.0}

    def start_job(self, job):
        """Start the actor of a job."""
        job.actor = Actor.create(f"job {job.name}", self.hosts[job.machines[0]], self.run_job, job)


def amounts(profile, ranks):
    """Return the flops of each rank, and the bytes between each two."""
    if profile["type"] == "parallel":
        return profile["cpu"], profile["com"]
    share = ranks if profile["type"] == "parallel_homogeneous_total" else 1
    com = profile["com"] / share
    sizes = [com if i != j else 0.0 for i in range(ranks) for j in range(ranks)] if com else []
    return [profile["cpu"] / share] * ranks, sizes
