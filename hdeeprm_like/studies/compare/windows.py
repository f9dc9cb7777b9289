"""Windows of a trace on a machine, as the literature compares scheduling policies.

The machine is a pool of alike processors unless a platform is given: there a job takes whole processors for as long as
the trace says, and asks for nothing else.
"""

from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.platform import Platform, flops_by_pstate, watts_by_pstate
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.engine.state import State, countable
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.platform_json import core_names
from hdeeprm_like.formats.swf import Trace, memory_of
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.run.python_loop import play
from hdeeprm_like.run.simulator import Clock, Simulator, run_policy
from hdeeprm_like.studies.compare.policies import Policy, Trained
from hdeeprm_like.types import Floats, Ints

UNKNOWN_RUN = 10.0  # s, what RLScheduler takes for a run time that the trace does not have


@dataclass(frozen=True, eq=False)
class Window:
    """Consecutive jobs of a trace as a workload whose clock begins with the first of them.

    Attributes:
        workload: the jobs. users: (J,) as the trace numbers them.
        epoch: s on the trace's clock when the workload's shows 0.
    """

    workload: Workload
    users: Ints
    epoch: float


def pool(cores: int) -> Platform:
    """Return a machine of one node with so many alike cores of 1 GFLOP/s and 1 W, less when idle."""
    return Platform(
        name=f"pool of {cores}",
        cluster_names=("pool",),
        node_cluster=np.zeros(1, np.int64),
        node_memory=np.ones(1),
        node_types=("pool",),
        processor_node=np.zeros(1, np.int64),
        processor_bandwidth=np.ones(1),
        processor_types=("pool",),
        processor_flops=np.array([flops_by_pstate(1.0)]),
        processor_watts=np.array([watts_by_pstate(1.0)]),
        core_processor=np.zeros(cores, np.int64),
        core_names=core_names(cores),
    )


def run_times(trace: Trace) -> Floats:
    """Return (J,) s that the jobs of a trace run, those it does not know made up as RLScheduler does."""
    return np.where(trace.run < 0.0, UNKNOWN_RUN, trace.run)


def sizes(trace: Trace) -> Ints:
    """Return (J,) processors: what was allocated or, if more, requested."""
    return np.maximum(trace.processors, trace.requested_processors)


def usable(trace: Trace) -> Trace:
    """Return the jobs of a trace that ran for some time on some processors, in the order of the file."""
    return take(trace, np.flatnonzero((run_times(trace) > 0.0) & (sizes(trace) > 0)))


def window(trace: Trace, cores: int, platform: Platform | None = None) -> Window:
    """Return all jobs of a trace as a window; those submitted at one time stay in the order of the file.

    Args:
        platform: the machine, where it is not just a pool: jobs then last as long as in the trace on its mean core, and
            ask for their memory in the trace.

    Raises:
        WorkloadError: a job asks for more than there is.
    """
    order = np.argsort(trace.submit, kind="stable")
    run, size = run_times(trace)[order], sizes(trace)[order]
    if size.max() > cores:
        job = trace.job[order][np.argmax(size)]
        raise WorkloadError(f"{trace.path}: job {job} asks for {size.max()} processors, the machine has {cores}")
    submit, requested, jobs = trace.submit[order], trace.requested_time[order], len(trace)
    requested = np.where(requested > 0.0, requested, run).astype(np.float64)
    speed = 1e9 if platform is None else platform.reference_flops
    digits = len(str(jobs))
    workload = Workload(
        ids=tuple(f"w0!{number:0{digits}}" for number in range(jobs)),
        profiles=("window",) * jobs,
        submit=(submit - submit[0]).astype(np.float64),
        size=size.astype(np.int64),
        requested_time=requested,
        requested_ops=requested * speed,
        ops=np.zeros(jobs) if platform is None else run * speed,
        delay=run.astype(np.float64) if platform is None else np.full(jobs, -1.0),
        memory=np.zeros(jobs) if platform is None else memory_of(trace, missing=0.0)[order],
        bandwidth=np.zeros(jobs),
        walltime=np.full(jobs, np.inf),
        capacity=cores,
    )
    return Window(workload, trace.user[order], float(submit[0]))


def schedule(machine: Platform, window: Window, policy: Policy, clock: Clock = "textbook", seed: int = 0) -> Schedule:
    """Return what a policy makes of a window.

    Args:
        clock: ``"textbook"``: all that has one time happens at once; ``"one-by-one"``: RLScheduler's, a decision
            after each event; ``"batsim"``: the embedded simulator's.
        seed: of random placement by a baseline.

    Raises:
        OptionsError: a trained agent does not fit the machine.
        WorkloadError: a job was never run.
    """
    jobs = window.workload
    if isinstance(policy, Trained):
        from hdeeprm_like.studies.compare.trained import restored, system_of

        system = system_of(policy, machine, jobs)
        driver = Simulator(system.state, jobs, clock)
        play(driver, system, restored(policy.folder).agent)
    else:
        named = clock == "batsim" or not countable(machine, jobs)
        actions = PolicyActions([policy])
        state = State(
            machine,
            jobs,
            seed=seed,
            log=False,
            named=named,
            needs=actions.needs,
            users=window.users,
            epoch=window.epoch,
        )
        driver = Simulator(state, jobs, clock)
        for _ in run_policy(driver, actions):
            pass
    tasks = driver.simulation.tasks
    if not np.isfinite(tasks["finish"]).all():
        job = int(np.argmin(np.isfinite(tasks["finish"])))
        raise WorkloadError(
            f"job {job} of the window that begins at {window.epoch:g} s was never run by {policy.name} on "
            f"{machine.name}: it asks for {jobs.size[job]} cores with {jobs.memory[job]:g} MB each"
        )
    return Schedule(
        jobs.submit,
        tasks["start"].copy(),
        tasks["finish"].copy(),
        jobs.size,
        machine.cores,
        requested_time=jobs.requested_time,
        user=window.users if (window.users >= 0).any() else None,
        energy=driver.state.joules,
    )
