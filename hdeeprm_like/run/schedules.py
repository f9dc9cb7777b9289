"""Jobs and policies to a finished schedule, in one call."""

import numpy as np

from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.engine.compiled import entry
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.to_end import run_policy
from hdeeprm_like.types import Bools, Float64s

ROUNDED = 1e-6  # s, by which SimGrid's sums of time may be wrong


def run_to_end(state: State, policies: PolicyActions, clock: Clock) -> Simulator:
    """Simulate the jobs of a state under the first of some policies, whose lists it has; return the finished simulator.

    Raises:
        OptionsError: unknown clock, or the policy needs actual run times that are unknown.
    """
    assert state.jobs is not None
    simulator = Simulator(state, state.jobs, clock)
    for _ in run_policy(simulator, policies):
        pass
    return simulator


def jobs_that_ran(simulator: Simulator) -> Bools:
    """Return (J,) which jobs have run to their end; the others were rejected or never fitted."""
    tasks, clock = simulator.simulation.tasks, simulator.state.tables.clock[0]
    if clock["completed"] == len(tasks):  # without a look at each
        return np.ones(len(tasks), np.bool_)
    ran: Bools = np.isfinite(tasks["finish"])
    return ran


def schedule_of(simulator: Simulator, jobs: Workload) -> Schedule:
    """Return the schedule of a finished simulation: the jobs that have run, in the order of the workload.

    On Batsim's clock a start may be earlier than the submission by the rounding of SimGrid's sums of time; it counts as
    the submission then.
    """
    which, state = jobs_that_ran(simulator), simulator.state
    ran = slice(None) if which.all() else which  # taking all of them is the quicker way
    times = np.empty(len(jobs)), np.empty(len(jobs))
    copy_times(simulator.simulation, *times)
    start, finish = (of[ran] for of in times)
    submit = jobs.submit[ran].copy()
    early = np.flatnonzero(start < submit)
    rounded = early[start[early] > submit[early] - ROUNDED]
    submit[rounded] = start[rounded]
    # only where nodes are given whole has a job another size
    sizes = jobs.size if state.platform.partitions is None else state.tables.jobs["size"][: len(jobs)]
    return Schedule(
        submit,
        start,
        finish,
        sizes[ran].astype(np.int64),
        state.platform.cores,
        requested_time=jobs.requested_time[ran],
        user=jobs.user[ran] if (jobs.user >= 0).any() else None,
        energy=state.joules,
    )


@entry
def copy_times(simulation: Simulation, start: Float64s, finish: Float64s) -> None:
    """Write when each job has started and finished, in one pass over their rows."""
    for j in range(len(start)):
        start[j], finish[j] = simulation.tasks[j].start, simulation.tasks[j].finish
