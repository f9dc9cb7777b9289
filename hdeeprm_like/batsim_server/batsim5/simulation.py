"""The differences of a simulation from Batsim 4's: names, numbers of machines, files, and reports about jobs."""

import re
from functools import partial
from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.batsim5.outbox import KillProgress, Outbox5, progress_of
from hdeeprm_like.batsim_server.batsim5.workload import WorkloadReader5
from hdeeprm_like.batsim_server.engine import Mailbox, Script
from hdeeprm_like.batsim_server.jobs import Job, Profiles, RunningJob
from hdeeprm_like.batsim_server.json_text import encode5
from hdeeprm_like.batsim_server.options import RC2, Options5
from hdeeprm_like.batsim_server.outside_events import Content, OutsideEvent, read_events
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.batsim_server.workload import read_workload
from hdeeprm_like.errors import WorkloadError


class Simulation5(Simulation):
    """Everything that the actors of one simulation share.

    Attributes:
        periodic: the mailbox of the actor of periodic calls.
        unused: a profile without jobs, "" if there is none.
        stopped: whether the scheduler has requested the end of the simulation as it is.
    """

    options: Options5
    outbox: Outbox5
    exact_timeouts = True  # SimGrid 4

    def __init__(self, options: Options5) -> None:
        """Read the platform, the workloads and the events.

        Raises:
            HDeepRMError: one of them is invalid.
        """
        self.unused = ""
        self.periodic = Mailbox()
        self.stopped = False
        super().__init__(options)
        self.machines.idle_again = options.imitate != RC2

    def machine_order(self, name: str) -> Any:
        """Return the sort key of host names: numbers in them count as numbers."""
        return [int(word) if odd % 2 else word for odd, word in enumerate(re.split(r"([0-9]{1,18})", name))]

    def read_workload(self, path: Path, name: str) -> tuple[int, dict[str, Job], Profiles]:
        """Return the number of machines that a workload was made for, its jobs and profiles."""
        machines, jobs, profiles = read_workload(path, name, partial(WorkloadReader5, others=self.profiles), f"{name}!")
        self.unused = self.unused or profiles.unused.removeprefix(f"{name}!")
        return machines, jobs, profiles

    def read_events(self, path: Path, number: int) -> list[OutsideEvent]:
        """Return the external events of file *number*; Batsim 5 only has events that it forwards."""

        def read_event(content: Content, time: float, where: str, before: int) -> OutsideEvent:
            kind, data = content["type"], content.get("data")
            if kind != "generic":
                raise WorkloadError(f"{where}: type {kind[:40]!r} is not known; Batsim 5 knows 'generic' events only")
            if not isinstance(data, str):
                raise WorkloadError(f"{where}: data must be a text")
            event = {"external_event_type": "GenericExternalEvent", "external_event": {"data": data}}
            return OutsideEvent(time, kind, (), encode5({"id": f"ee{number}!{before}"} | event))

        return read_events(path, read_event)

    def new_outbox(self) -> Outbox5:
        """Return an empty outbox for messages to the scheduler."""
        return Outbox5(self.options.imitate == RC2, self.options.profiles_of_killed)

    def progress_of(self, running: RunningJob) -> KillProgress:
        """Return the progress of a killed job, as sent to the scheduler."""
        return progress_of(running, running.task), running.job.profile

    def stop(self) -> Script:
        """End all actors but the server, and drop unsent events."""
        jobs = [running.actor for running in self.running.values()]
        for actor in [*self.submitters, *self.killing, *jobs, self.conversing]:
            if actor is not None and actor.alive:
                yield (self.engine.kill, actor)
        self.engine.server.pending.clear()
        self.outbox.clear(self.engine.now)
        self.stopped = True
