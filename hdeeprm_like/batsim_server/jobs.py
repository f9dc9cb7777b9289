"""Jobs, their profiles, and the execution of a job's profile step by step.

This module has what all profile types share; each type is a `ProfileType` in ``profile_types``.
"""

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from hdeeprm_like.batsim_server.clock import Action
from hdeeprm_like.batsim_server.engine import CANCELLED, TIMEOUT, Actor, Engine, Request, Script
from hdeeprm_like.batsim_server.fields import Fields
from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.batsim_server.sharing import Work

WALLTIME_REACHED = -1
KILLED = -2

Steps: TypeAlias = Generator[Request, Any, int]  # requests of an actor to the engine; 0 or a return code at the end
FindProfile: TypeAlias = Callable[[Any], "Profile"]  # finds a profile by a field's value; raises if there is none
Parameters = TypeVar("Parameters")


def part_done(running: "RunningJob", task: "Task", _: Any) -> dict[str, Any]:
    """Return which part of a job runs, and its progress; -1 for one that consists of no others."""
    if task.part is None:
        return {"current_task_index": task.index}
    return {"current_task_index": task.index, "current_task": task.part.progress(running)}


def share_done(running: "RunningJob", task: "Task", _: Any) -> dict[str, Any]:
    """Return the progress of the running parallel task."""
    return {"progress": 0.0 if task.action is None else 1.0 - running.engine.work_left(task.action)}


class ProfileType(NamedTuple, Generic[Parameters]):
    """One type of profile: its reader and its execution.

    Attributes:
        summary: what a job with such a profile does, in one line.
        read: checks the JSON and returns the parameters; raises ``fields.refusal(...)``.
        run: the steps of a job; returns 0, `WALLTIME_REACHED` or `KILLED`.
        progress: Batsim's report on a killed job, besides the name of its profile.
        hosts: the only number of hosts that the profile allows, None for any.
        any_size: whether a job may get another number of machines than it requests.
        parts: the profiles that it consists of.
        silent: whether a job with it surely uses no link.
    """

    summary: str
    read: Callable[[Fields, FindProfile], Parameters]
    run: Callable[["RunningJob", "Task", Parameters], Steps]
    progress: Callable[["RunningJob", "Task", Parameters], dict[str, Any]] = part_done
    hosts: Callable[[Parameters], int | None] = lambda _: None
    any_size: Callable[[Parameters], bool] = lambda _: False
    parts: Callable[[Parameters], Sequence["Profile"]] = lambda _: ()
    silent: Callable[[Parameters], bool] = lambda _: False


class Profile:
    """How a job runs."""

    def __init__(self, name: str, type: ProfileType[Any], parameters: Any, text: str, ret: int = 0) -> None:
        """Describe a profile.

        Args:
            type: names the attributes that it gives the profile.
            parameters: result of the type's reader.
            text: the profile as Batsim prints it.
            ret: return code of a job that completed.
        """
        self.name = name
        self.type = type
        self.parameters = parameters
        self.text = text
        self.ret = ret
        self.hosts = type.hosts(parameters)
        self.any_size = type.any_size(parameters)
        self.parts = type.parts(parameters)


class Job:
    """One job and its results.

    Attributes:
        identifier: its name in messages.
        messages: from the scheduler.
        start, run: s.
        ranks: the machine of each rank.
        storage: machines by their names in profiles.
    """

    def __init__(
        self, workload: str, number: str, profile: Profile, submit: float, size: int, walltime: float, text: str
    ) -> None:
        """Describe a job before its submission.

        Args:
            submit: s. walltime: s, -1 without limit.
            text: the job as Batsim prints it.
        """
        self.workload = workload
        self.number = number
        self.identifier = f"{workload}!{number}"
        self.profile = profile
        self.submit = submit
        self.size = size
        self.walltime = walltime
        self.text = text
        self.state = "NOT_SUBMITTED"
        self.metadata = self.alloc = ""
        self.kill_asked = False
        self.messages: list[str] = []
        self.start = self.run = 0.0
        self.machines: list[int] = []
        self.ranks: list[int] = []
        self.storage: dict[str, int] = {}
        self.joules = -1.0
        self.return_code = 0


class Profiles(dict[str, Profile]):
    """The profiles of one workload; those of jobs that are over are dropped.

    Attributes:
        unused: one of the file that no job has, "" if there is none.
        gone: names of those that are there no more, or that no job has; no other profile can have them.
    """

    def __init__(self, workload: str) -> None:
        """Start empty."""
        super().__init__()
        self.workload = workload
        self.unused = ""
        self.gone: set[str] = set()

    def forget(self, profile: Profile) -> None:
        """Drop a profile and those that it consists of, as Batsim does even if other jobs have them."""
        if self.pop(profile.name, None) is not None:
            self.gone.add(profile.name)
            for part in profile.parts:
                self.forget(part)


class Task:
    """Position of a job in one profile.

    Attributes:
        began: s. action: the running parallel task, None if there is none.
        part: the task of the profile inside this one that runs now. index: its position in a sequence; -1 before one.
    """

    def __init__(self, profile: Profile) -> None:
        """Start before the first step."""
        self.profile = profile
        self.began = 0.0
        self.action: Action | None = None
        self.index = -1
        self.part: Task | None = None

    def innermost(self) -> "Task":
        """Return the task that runs now."""
        return self if self.part is None else self.part.innermost()

    def progress(self, running: "RunningJob") -> dict[str, Any]:
        """Return its progress, as Batsim reports it for killed jobs."""
        profile = self.profile
        return {"profile_name": profile.name, **profile.type.progress(running, self, profile.parameters)}


class RunningJob:
    """A running job: its actor, its task, and its resources.

    Attributes:
        actor: None until it exists.
        walltime_left: s; negative without limit.
        joules_before: energy of its machines when it began.
        overdue: the parallel task cut by the walltime.
        helpers: the actors that replay traces for it.
        profiles: of its workload.
    """

    def __init__(self, job: Job, engine: Engine, machines: Machines, network: Network, profiles: Profiles) -> None:
        """Start before its actor exists."""
        self.job = job
        self.engine = engine
        self.machines = machines
        self.network = network
        self.profiles = profiles
        self.actor: Actor | None = None
        self.task = Task(job.profile)
        self.walltime_left = job.walltime
        self.joules_before = 0.0
        self.overdue: Action | None = None
        self.helpers: list[Actor] = []

    def kill_helpers(self) -> Script:
        """End the actors that replay traces for the job."""
        for helper in self.helpers:
            yield (self.engine.kill, helper)
        self.helpers.clear()

    def perform(self, task: Task) -> Steps:
        """Execute one profile; return 0, its code, `WALLTIME_REACHED` or `KILLED`."""
        profile = task.profile
        task.began = self.engine.now
        return (yield from profile.type.run(self, task, profile.parameters)) or profile.ret

    def perform_part(self, task: Task, profile: Profile) -> Steps:
        """Execute a profile inside the one of *task*."""
        task.part = Task(profile)
        task.index += 1
        return (yield from self.perform(task.part))

    def sleep(self, seconds: float) -> Steps:
        """Sleep, at most up to the walltime."""
        machine = self.job.machines[0]
        if self.walltime_left < 0.0 or seconds < self.walltime_left:
            yield (self.engine.sleep, seconds, machine)
            if self.walltime_left > 0.0:
                self.walltime_left -= seconds
            return 0
        if self.walltime_left > 0.0:
            yield (self.engine.sleep, self.walltime_left, machine)
        self.walltime_left = 0.0
        return WALLTIME_REACHED

    def compute(self, task: Task, work: Work) -> Steps:
        """Run a parallel task, at most up to the walltime."""
        engine = self.engine
        began = engine.now
        task.action = yield (engine.start, work)
        how = yield (engine.wait, task.action, self.walltime_left)
        if how == TIMEOUT:
            self.overdue = task.action  # in Batsim it continues until the server learns of the job's end
        task.action = None
        if how == TIMEOUT:
            return WALLTIME_REACHED
        if how == CANCELLED:
            return KILLED
        if self.walltime_left >= 0.0:  # may fall below 0 by rounding: then there is no limit, as in Batsim
            self.walltime_left -= engine.now - began
        return 0
