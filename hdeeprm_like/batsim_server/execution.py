"""How a job runs through its profile: the actor of a job, and the one that kills jobs."""

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server.engine import CANCELLED, TIMEOUT, Action, Actor, Request, Script, Work
from hdeeprm_like.batsim_server.jobs import PTASKS, Job, Profile
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.errors import ProtocolError, WorkloadError

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.session import Session

WALLTIME_REACHED = -1
KILLED = -2
SHORTEST_RUN = 1e-5  # s
Steps = Generator[Request, Any, int]


class Task:
    """Where a job is in its profile."""

    def __init__(self, profile: Profile) -> None:
        """Start before the first step."""
        self.profile = profile
        self.began = 0.0  # s
        self.action: Action | None = None
        self.index = 0
        self.part: Task | None = None

    def leaf(self) -> "Task":
        """Return the task that runs now."""
        return self if self.part is None else self.part.leaf()

    def progress(self, session: "Session") -> dict[str, Any]:
        """Return how far it is, as Batsim tells it of killed jobs."""
        told: dict[str, Any] = {"profile_name": self.profile.name}
        if self.profile.kind == "composed":
            told["current_task_index"] = self.index
            if self.part is not None:
                told["current_task"] = self.part.progress(session)
        elif self.action is not None:
            told["progress"] = 1.0 - session.engine.work_left(self.action)
        elif self.profile.kind == "delay":
            told["progress"] = (session.engine.now - self.began) / self.profile.delay
        else:
            told["progress"] = 0.0
        return told


class Run:
    """A running job: its actor and its task."""

    def __init__(self, job: Job) -> None:
        """Start before its actor exists."""
        self.job = job
        self.actor: Actor | None = None
        self.task = Task(job.profile)
        self.left = job.walltime  # s of walltime, negative: no limit
        self.joules_before = 0.0
        self.overdue: Action | None = None  # the parallel task that the walltime cut


def run_job(session: "Session", run: Run) -> Script:
    """Run a job from start to end, then tell the server."""
    engine, job = session.engine, run.job
    job.start = engine.now
    yield from begin_energy(session, run)
    session.machines.begin_job(job.identifier, job.machines, engine.now)
    code = yield from run_task(session, run, run.task)
    if code == KILLED:
        return  # who killed it does the rest
    job.return_code = code
    if code == 0:
        job.state = "COMPLETED_SUCCESSFULLY"
    elif code > 0:
        job.state = "COMPLETED_FAILED"
    else:
        job.state = "COMPLETED_WALLTIME_REACHED"
    yield from end_job(session, run)
    yield (engine.put, ("JOB_COMPLETED", run))


def begin_energy(session: "Session", run: Run) -> Script:
    """Note the energy before a job."""
    meter = session.machines.meter
    if meter is not None:
        yield from session.look_at_energy()
        meter.total(session.engine.now)
        run.joules_before = meter.of(run.job.machines)
        session.machines.trace_energy("s", session.engine.now)


def end_job(session: "Session", run: Run) -> Script:
    """Take a job off its machines and note its run time and energy."""
    job, now = run.job, session.engine.now
    session.machines.end_job(job.identifier, job.machines, now)
    job.run = (now - job.start) or SHORTEST_RUN
    meter = session.machines.meter
    if meter is not None:
        yield from session.look_at_energy()
        meter.total(now)
        job.joules = meter.of(job.machines) - run.joules_before
        session.machines.trace_energy("e", now)


def run_task(session: "Session", run: Run, task: Task) -> Steps:
    """Run one profile; return 0, its code, WALLTIME_REACHED or KILLED."""
    profile, engine = task.profile, session.engine
    task.began = engine.now
    if profile.kind == "composed":
        for index in range(profile.repeat * len(profile.sequence)):
            task.index = index
            task.part = Task(profile.sequence[index % len(profile.sequence)])
            if code := (yield from run_task(session, run, task.part)):
                return code
    elif profile.kind in PTASKS:
        code = yield from _parallel_task(session, run, task)
        if code:
            return code
    elif profile.kind == "delay":
        if code := (yield from _sleep(session, run, profile.delay)):
            return code
    elif profile.kind == "send":
        yield (engine.put, ("FROM_JOB_MSG", (run.job, profile.message)))
        if code := (yield from _sleep(session, run, profile.delay)):
            return code
    elif code := (yield from _receive(session, run, task)):
        return code
    return profile.ret


def _sleep(session: "Session", run: Run, seconds: float) -> Steps:
    engine, machine = session.engine, run.job.machines[0]
    if run.left < 0.0 or seconds < run.left:
        yield (engine.sleep, seconds, machine)
        if run.left > 0.0:
            run.left -= seconds
        return 0
    if run.left > 0.0:
        yield (engine.sleep, run.left, machine)
    run.left = 0.0
    return WALLTIME_REACHED


def _receive(session: "Session", run: Run, task: Task) -> Steps:
    job, profile = run.job, task.profile
    if not job.messages and not profile.timeout:
        while not job.messages:
            if code := (yield from _sleep(session, run, profile.delay)):
                return code
    following = profile.timeout
    if job.messages:
        assert profile.pattern is not None
        following = profile.success if profile.pattern.fullmatch(job.messages.pop(0)) else profile.failure
    if not following:
        return 0
    found = session.profiles[job.workload].get(following)
    if found is None:
        raise WorkloadError(f"job {job.identifier}: profile {profile.name!r} needs {following!r}, which is gone")
    task.part = Task(found)
    return (yield from run_task(session, run, task.part))


def _parallel_task(session: "Session", run: Run, task: Task) -> Steps:
    engine = session.engine
    began = engine.now
    task.action = yield (engine.start, work_of(session, task.profile, run.job))
    how = yield (engine.wait, task.action, run.left)
    if how == TIMEOUT:
        run.overdue = task.action  # Batsim lets it go on until the server hears of the job's end
    task.action = None
    if how == TIMEOUT:
        return WALLTIME_REACHED
    if how == CANCELLED:
        return KILLED
    if run.left >= 0.0:
        run.left = max(run.left - (engine.now - began), 0.0)
    return 0


def work_of(session: "Session", profile: Profile, job: Job) -> Work:
    """Return what a parallel task asks of the hosts and links of a job."""
    count = len(job.ranks)
    hosts = [session.machines[number].constraint for number in job.ranks]
    share = count if profile.kind == "parallel_homogeneous_total" else 1
    weights: dict[Constraint, float] = {}
    for rank, host in enumerate(hosts):
        flops = profile.cpu[rank] if profile.kind == "parallel" else profile.cpu[0] / share
        weights[host] = weights.get(host, 0.0) + flops
    latency = bytes_delay = 0.0
    if any(profile.com):
        names = [session.machines[number].host.name for number in job.ranks]
        common = profile.com[0] / share if profile.kind != "parallel" else None
        latency, bytes_delay = _add_flows(session, names, common, profile.com, weights)
    return Work(weights, sorted(set(job.ranks)), latency, bytes_delay)


def _add_flows(
    session: "Session",
    names: Sequence[str],
    common: float | None,
    matrix: Sequence[float],
    weights: dict[Constraint, float],
) -> tuple[float, float]:
    """Add the bytes between each two hosts to the links they cross; return largest latency, and latency times bytes."""
    latency = bytes_delay = 0.0
    count = len(names)
    for i, source in enumerate(names):
        for j, destination in enumerate(names):
            amount = matrix[i * count + j] if common is None else common if i != j else 0.0
            if amount <= 0.0:
                continue
            links, delay = session.route(source, destination)
            latency = max(latency, delay)
            bytes_delay = max(bytes_delay, delay * amount)
            for link in links:
                used = weights.get(link, 0.0)
                weights[link] = max(used, amount) if link.fatpipe else used + amount
    return latency, bytes_delay


def kill_jobs(session: "Session", identifiers: Sequence[str]) -> Script:
    """Kill those jobs that still run, then tell the server."""
    engine = session.engine
    progress: dict[str, Any] = {}
    for identifier in identifiers:
        run = session.runs.get(identifier)
        if run is None or run.job.state != "RUNNING":
            continue
        progress[identifier] = run.task.progress(session)
        assert run.actor is not None
        run.job.state = "COMPLETED_KILLED"
        if run.task.leaf().action is not None:
            run.job.return_code = KILLED
            yield (engine.cancel, run.actor)
        else:
            run.job.return_code = -1
            yield (engine.kill, run.actor)
        yield from end_job(session, run)
    yield (engine.put, ("KILLING_DONE", (identifiers, progress)))


def check_startable(job: Job, machines: Sequence[int], ranks: Sequence[int], where: str) -> None:
    """Refuse a job that got another number of machines than it asks for.

    Raises:
        ProtocolError: it got too many or too few.
    """
    if len(ranks) != job.size and not (job.profile.any_size and len(ranks) == len(machines)):
        raise ProtocolError(f"{where}: job {job.identifier} asks for {job.size} machines and got {len(ranks)}")
