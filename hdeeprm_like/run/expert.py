"""A baseline as one who chooses jobs in slots: starts what the baseline's own schedule has started by then.

The baseline schedules the same jobs by itself first, in its own way. Whoever then starts each job when its time has
come makes the same decisions in terms of slots, whatever the baseline looks at and however it decides.
"""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import Policy, PolicyActions
from hdeeprm_like.decision.window.arrays import NONE
from hdeeprm_like.engine.bundles import at_address
from hdeeprm_like.engine.compiled import released
from hdeeprm_like.run.batch import Batch
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.types import Bools, Floats, Ints

LATENCY = 0.1  # s that Batsim takes at most from a decision to the start of a job


def planned_starts(platform: Platform, jobs: Workload, policy: Policy, clock: Clock) -> Floats:
    """Return (J,) when a policy starts each job, in s; infinity for those that it never starts.

    Raises:
        OptionsError: the policy looks at actual run times, which nobody knows.
    """
    starts = run_to_end(platform, jobs, PolicyActions([policy]), clock).simulation.tasks["start"]
    return np.where(np.isfinite(starts), starts, np.inf)


@released
def follow(batch: Batch, starts: Floats, masks: Bools, actions: Ints) -> None:
    """Write the action of each place: the job of a slot whose time has come first, or to wait; what is legal, if not.

    Args:
        starts: (B, J) s, when each job is to start. masks: (B, M + 1). actions: (B,) to write to.
    """
    for i in range(len(actions)):
        if batch.episodes[i].over:
            continue
        run = at_address(batch.first, batch.runs[i])
        slots, now = run.core.window.slots, run.core.tables.clock[0].now
        waiting, best, least = len(slots), -1, np.inf
        for slot in range(waiting):
            if slots[slot] != NONE and masks[i, slot] and (best < 0 or starts[i, slots[slot]] < least):
                best, least = slot, starts[i, slots[slot]]
        wait = masks[i, waiting] and (best < 0 or least > now + LATENCY)
        actions[i] = waiting if wait else best
