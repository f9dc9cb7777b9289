"""What a policy makes of a window of a trace, for baselines and for trained agents."""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import Schedule
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.engine.state import countable
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.run.schedules import jobs_that_ran, run_to_end, schedule_of
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.studies.compare.policies import Policy, Trained


def schedule(machine: Platform, window: Window, policy: Policy, clock: Clock = "textbook") -> Schedule:
    """Return what a policy makes of a window.

    Args:
        clock: ``"textbook"``: all that has one time happens at once; ``"one-by-one"``: RLScheduler's, a decision
            after each event; ``"batsim"``: the embedded simulator's.

    Raises:
        OptionsError: a trained agent does not fit the machine.
        WorkloadError: a job was never run.
    """
    jobs = window.workload
    if isinstance(policy, Trained):
        from hdeeprm_like.studies.compare.trained import play_trained

        simulator = play_trained(policy, machine, jobs, clock)
    else:
        simulator = run_to_end(
            machine,
            jobs,
            PolicyActions([policy]),
            clock,
            named=clock == "batsim" or not countable(machine, jobs),
            epoch=window.epoch,
        )
    ran = jobs_that_ran(simulator)
    if not ran.all():
        job = int(np.argmin(ran))
        raise WorkloadError(
            f"job {job} of the window that begins at {window.epoch:g} s was never run by {policy.name} on "
            f"{machine.name}: it asks for {jobs.size[job]} cores with {jobs.memory[job]:g} MB each"
        )
    return schedule_of(simulator, jobs)
