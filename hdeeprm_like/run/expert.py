"""A baseline as an expert that chooses jobs in slots: it starts the jobs that the baseline's own schedule has started.

First the baseline schedules the same jobs in its own way. An agent that then starts each job at its time in that
schedule makes the same decisions in terms of slots, whatever the baseline reads and however it decides.
"""

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import Policy, PolicyActions
from hdeeprm_like.decision.window.arrays import NONE
from hdeeprm_like.engine.bundles import at_address
from hdeeprm_like.engine.compiled import released
from hdeeprm_like.engine.state import State
from hdeeprm_like.run.batch import Batch
from hdeeprm_like.run.schedules import run_to_end
from hdeeprm_like.run.simulator import Clock
from hdeeprm_like.types import FlagGrid, Float64Grid, Floats, Int64s

LATENCY = 0.1  # s, upper limit of Batsim's delay from a decision to the job start


def planned_starts(platform: Platform, jobs: Workload, policy: Policy, clock: Clock) -> Floats:
    """Return (J,) the start time of each job under a policy in s; infinity for jobs that never start.

    Raises:
        OptionsError: the policy needs actual run times, which are unknown.
    """
    policies = PolicyActions([policy])
    state = State(platform, jobs, log=False, needs=policies.needs)
    starts = run_to_end(state, policies, clock).simulation.tasks["start"]
    return np.where(np.isfinite(starts), starts, np.inf)


@released
def follow(batch: Batch, starts: Float64Grid, masks: FlagGrid, actions: Int64s) -> None:
    """Write the action of each place: start the job in a slot whose time came first, or wait; if illegal, another.

    Args:
        starts: (B, J) s, planned starts. masks: (B, M + 1). actions: (B,) output.
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
