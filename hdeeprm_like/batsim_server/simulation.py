"""The parts of one simulation: machines, network, clock, jobs, and the messages to be sent."""

from pathlib import Path
from typing import Any

from hdeeprm_like.batsim_server.engine import Actor, Engine, Script
from hdeeprm_like.batsim_server.jobs import Job, Profiles, RunningJob
from hdeeprm_like.batsim_server.machines import MASTER, Machine, Machines, roles_of
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.batsim_server.options import ServerOptions
from hdeeprm_like.batsim_server.outbox import Outbox
from hdeeprm_like.batsim_server.outside_events import OutsideEvent, event_of, read_events
from hdeeprm_like.batsim_server.simgrid_options import read_simgrid_options
from hdeeprm_like.batsim_server.workload import read_workload
from hdeeprm_like.formats.simgrid_xml import read_simgrid_xml
from hdeeprm_like.formats.simgrid_zones import loopback
from hdeeprm_like.results.batsim_files import JobRow

MOST_ROUNDS = 3  # reading the energy takes SimGrid one round per machine; more rounds than this change no order


class Simulation:
    """Everything that the actors of one simulation share.

    Attributes:
        jobs: those not over, by identifier; running: those that run.
        profiles: by workload.
        master: the host of the server.
        workloads, events: the jobs and the outside events of each file.
        rows: of the jobs that are over.
        submitters, killing, conversing: the actors that bring jobs and events, those that kill jobs, and the one that
        delivers the latest reply.
        submitted, completed: numbers of jobs.
        waiters, killers, switching: actors that will still report to the server.
        registering: whether the scheduler may register jobs.
        ends_sent: whether the end of the simulation has been sent to the scheduler.
        joules_at_first: of all machines before the first job; -1 until one has arrived.
        scheduling_time: s of wall clock used by the scheduler.
        quiet: whether no job communicates, and nothing else uses the links but messages to the server.
        exact_timeouts: whether walltimes are exact below a nanosecond.
    """

    exact_timeouts = False

    def __init__(self, options: ServerOptions) -> None:
        """Read the platform, the workloads and the events.

        Raises:
            HDeepRMError: one of them is invalid.
        """
        self.options = options
        platform = read_simgrid_xml(options.platform)
        simgrid = read_simgrid_options([*platform.settings, *options.simgrid])
        platform.routing.loopback = loopback(simgrid.loopback_bandwidth, simgrid.loopback_latency)
        self.jobs: dict[str, Job] = {}
        self.profiles: dict[str, Profiles] = {}
        self.workloads: list[list[Job]] = []
        largest = 0
        for number, path in enumerate(options.workloads):
            name = f"w{number}"
            machines, jobs, self.profiles[name] = self.read_workload(path, name)
            largest = max(largest, machines)
            self.workloads.append(list(jobs.values()))
            self.jobs.update((job.identifier, job) for job in jobs.values())
        files = [(path, f"wf{number}", 0.0) for number, path in enumerate(options.workflows)]
        files += [(path, f"wfc{number}", begin) for number, (path, begin) in enumerate(options.late_workflows)]
        if files:  # few simulations have any
            from hdeeprm_like.batsim_server.workflows import read_workflow
        self.workflows = [read_workflow(*file) for file in files]
        self.profiles.update((workflow.name, Profiles(workflow.name)) for workflow in self.workflows)
        limit = min(filter(None, (options.mmax, largest if options.mmax_workload else 0)), default=0)
        roles = roles_of(platform, {options.master: MASTER, **options.roles})
        self.master = next(name for name, role in roles.items() if role == MASTER)
        self.machines = Machines(platform, roles, limit, options.energy, self.machine_order)
        self.events = [self.read_events(path, number) for number, path in enumerate(options.events)]
        self.network = Network(platform, self.machines)
        simgrid = simgrid._replace(exact_timeouts=self.exact_timeouts)
        self.engine = Engine(self.network.message_work, self.machines.meter, simgrid)
        if any(machine.host.profile for machine in self.machines.all):
            from hdeeprm_like.batsim_server.speed_profiles import SpeedProfiles  # few platforms have any

            self.engine.before_step = SpeedProfiles(self.machines.all, self.change_speed).before
        self.quiet = self._is_quiet()
        self.outbox = self.new_outbox()
        self.running: dict[str, RunningJob] = {}
        self.rows: list[JobRow] = []
        self._closed: list[Job] = []
        self.submitters: list[Actor] = []
        self.killing: list[Actor] = []
        self.conversing: Actor | None = None
        self.ends_sent = False
        self.registering = options.dynamic_jobs
        self.waiters = self.killers = self.switching = 0
        self.submitted = self.completed = 0
        self.joules_at_first = -1.0
        self.scheduling_time = 0.0

    def _is_quiet(self) -> bool:
        options = self.options
        if options.dynamic_jobs or self.workflows or self.exact_timeouts:
            return False
        used = (profile for known in self.profiles.values() for profile in known.values())
        return all(profile.type.silent(profile.parameters) for profile in used)

    # Differences between versions of Batsim  --------------------------------------------------------------------

    def machine_order(self, name: str) -> Any:
        """Return the sort key of host names for their numbering."""
        return name.encode()

    def read_workload(self, path: Path, name: str) -> tuple[int, dict[str, Job], Profiles]:
        """Return the number of machines that a workload was made for, its jobs and profiles."""
        return read_workload(path, name)

    def read_events(self, path: Path, number: int) -> list[OutsideEvent]:
        """Return the external events of file *number*."""
        machines, forward_unknown = len(self.machines), self.options.forward_unknown_events
        return read_events(
            path, lambda content, time, where, _: event_of(content, time, where, machines, forward_unknown)
        )

    def new_outbox(self) -> Outbox:
        """Return an empty outbox for messages to the scheduler."""
        return Outbox()

    def progress_of(self, running: RunningJob) -> Any:
        """Return the progress of a killed job, as sent to the scheduler."""
        return running.task.progress(running)

    # -----------------------------------------------------------------------------------------------------------

    def submit(self, job: Job, announce: bool = True) -> None:
        """Add a job, and announce it to the scheduler."""
        job.state = "SUBMITTED"
        self.submitted += 1
        if announce:
            self.outbox.job_submitted(job, self.options.forward_profiles, self.engine.now)

    def start(self, job: Job) -> RunningJob:
        """Record that a submitted job runs from now on."""
        job.state = "RUNNING"
        profiles = self.profiles[job.workload]
        running = RunningJob(job, self.engine, self.machines, self.network, profiles)
        self.running[job.identifier] = running
        return running

    def close(self, job: Job) -> None:
        """Write the row of a job that is over; the scheduler may still name the job until it has learned of its end."""
        self.completed += 1
        self.running.pop(job.identifier, None)
        self._closed.append(job)
        self.rows.append(row_of(job))

    def forget_closed(self) -> None:
        """Drop ended jobs that have now been reported to the scheduler, and their profiles."""
        for job in self._closed:
            del self.jobs[job.identifier]
            if not self.options.profile_reuse:
                self.profiles[job.workload].forget(job.profile)
        self._closed.clear()

    def look_at_energy(self) -> Script:
        """Yield to the other actors, as SimGrid does when the energy of machines must be updated."""
        meter = self.machines.meter
        rounds = meter.out_of_date(self.engine.now, MOST_ROUNDS) if meter else 0
        for _ in range(rounds):
            yield (self.engine.skip,)

    def note_first_submission(self) -> Script:
        """Record the energy before the first job."""
        meter = self.machines.meter
        if meter is not None and self.joules_at_first < 0.0:
            yield from self.look_at_energy()
            self.joules_at_first = meter.total(self.engine.now)

    def set_pstate(self, machine: Machine, pstate: int) -> Script:
        """Change the P-state of a machine at once."""
        machine.pstate = pstate
        self.engine.sharing.set_host_speed(machine.constraint, machine.host.speeds[pstate], machine.constraint.share)
        if self.machines.meter is not None:
            self.machines.meter.set_pstate(machine.number, pstate, self.engine.now)
        yield (self.engine.skip,)

    def change_speed(self, machine: Machine, share: float, date: float) -> None:
        """Give a machine a share of its speed from a date in s on."""
        if self.machines.meter is not None:
            self.machines.meter.update((machine.number,), date)
        self.engine.sharing.set_host_speed(machine.constraint, machine.constraint.core_speed, share)


def row_of(job: Job) -> JobRow:
    """Return the row of a job that is over."""
    ran = job.state != "REJECTED"
    return JobRow(
        job_id=job.number,
        workload=job.workload,
        profile=job.profile.name,
        submission_time=job.submit,
        size=job.size,
        walltime=job.walltime,
        success=job.state == "COMPLETED_SUCCESSFULLY",
        final_state=job.state,
        starting_time=job.start if ran else None,
        execution_time=job.run if ran else None,
        allocated=job.alloc,
        energy=job.joules,
        metadata=job.metadata,
    )
