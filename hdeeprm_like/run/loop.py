"""The loop: the only place where compiled code goes from one instant to the next.

    advance:  next instant -> receive events -> decide, or stop for an agent -> apply the decisions -> ...

A run is everything that belongs to one simulation. The types of its cluster and clock select the functions that it is
compiled with; its actions and its observation are compiled alone and called by address (`engine.calls`).
`run.batch` executes many runs with the same functions; `run.python_loop` calls the parts that are Python.
"""

import numpy as np

from hdeeprm_like.decision.actions import Choices, apply_policy
from hdeeprm_like.decision.job_actions import OpenChoices, SlotChoices, act_by_slot, write_open_mask, write_slot_mask
from hdeeprm_like.decision.observations.arrays import set_limits
from hdeeprm_like.decision.observations.view import ViewArrays, write_view
from hdeeprm_like.decision.system import (
    Core,
    ends_early,
    next_call,
    note_action,
    settle_reward,
    take_in_jobs,
    wants_decision,
)
from hdeeprm_like.decision.window.arrays import NoWindow, Window
from hdeeprm_like.decision.window.window import is_over
from hdeeprm_like.engine import batsim_clock, event_clock
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.bundles import Bundle, BundleType
from hdeeprm_like.engine.calls import NOWHERE, address_of, call_at, number_at
from hdeeprm_like.engine.compiled import by_type, callback, compiled, entry, inlined
from hdeeprm_like.engine.lifecycle import has_room, log_blocked
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.types import Bools, Flags, Floats, Ints

OVER, WANTED, PAUSED = 0, 1, 2  # why a run stops: end, decision, work for Python
FOREVER = 1 << 62  # instants
BEGIN = -1  # instead of the first action


class NoChoices(Bundle):
    """Stand-in for actions in Python."""

    nothing: Floats


class NoView(Bundle):
    """Stand-in for an observation in Python, or for none."""

    nothing: Floats


CONSTANT, ACT, MASK, VIEW, SCALE, NUMBER_OF_CALLS = range(6)  # places in Run.calls


class Run(Bundle, shared=("calls",), opaque=("observer", "choices")):
    """Everything that belongs to one simulation; F features, A actions.

    Attributes:
        core: cluster, window and reward. simulation, clock: the simulator. observer: the observation's arrays.
        choices: the actions. observation: (F,) float32 and mask: (A,) outputs of `look`.
        calls: addresses, NOWHERE for what the run does not have: CONSTANT applies the constant policy, ACT an action,
        MASK and VIEW write the mask and the observation, SCALE sets the limits of the latter.
    """

    core: Core
    simulation: Simulation
    clock: BatsimClock | event_clock.EventClock
    observer: ViewArrays | NoView
    choices: Choices | SlotChoices | NoChoices
    observation: Floats
    mask: Bools
    calls: Ints


# --- functions chosen by the types of a run's parts


@by_type
def next_instant(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Move to the next instant and collect its events; return False when nothing can happen any more."""
    return batsim_clock.next_instant if timing.kind == "BatsimClock" else event_clock.next_instant


@by_type
def apply_decisions(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Begin to apply the decisions in the simulator."""
    return batsim_clock.apply_decisions if timing.kind == "BatsimClock" else event_clock.apply_decisions


@by_type
def open_clock(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Begin a simulation."""
    return batsim_clock.open_clock if timing.kind == "BatsimClock" else event_clock.open_clock


# --- functions that a run calls by address: a run contains neither policies nor observations


@inlined
def apply_constant(run: Run) -> None:
    """Apply the constant policy: `apply_constantly`."""
    call_at(run.calls[CONSTANT], run.core.tables, run.choices)


@inlined
def act(run: Run, action: int) -> bool:
    """Apply an action, return whether another may follow at once: `act_by_policy`, `act_in_slot`."""
    return number_at(run.calls[ACT], run.core.tables, run.core.window, run.choices, action) != 0


@inlined
def write_observation(run: Run, out: Floats) -> None:
    """Write the observation, (F,) float32: `write_view`; Python writes its own."""
    if run.calls[VIEW] != NOWHERE:
        call_at(run.calls[VIEW], run.core.tables, run.core.window, run.observer, out)


@inlined
def write_mask(run: Run, mask: Bools) -> None:
    """Write which actions are legal, (A,): `write_void`, `write_slot_mask_of`, `write_open_mask_of`."""
    call_at(run.calls[MASK], run.core.tables, run.core.window, run.choices, mask)


@inlined
def scale(run: Run, limits: Floats) -> None:
    """Scale the features by the largest requests of jobs, (4,): `set_limits`."""
    if run.calls[SCALE] != NOWHERE:
        call_at(run.calls[SCALE], run.observer, limits)


@callback
def apply_constantly(tables: Tables, choices: Choices) -> None:
    """Apply the constant policy."""
    apply_policy(tables, choices, choices.params[0].constant)


@callback
def act_by_policy(tables: Tables, window: Window, choices: Choices, action: int) -> int:
    """Apply the policy of an action; return 0: an instant takes one action."""
    apply_policy(tables, choices, action)
    return 0


@callback
def act_in_slot(tables: Tables, window: Window, choices: SlotChoices | OpenChoices, action: int) -> int:
    """Start the job in a slot, or wait; return whether the agent may act again in this instant."""
    return int(act_by_slot(tables, window, choices, action))


@callback
def write_void(tables: Tables, window: Window, choices: Choices, mask: Flags) -> None:
    """Write whether the void action is legal, if there is one; policies always are."""
    if choices.params[0].void == 1:
        mask[len(mask) - 1] = not is_over(tables)


@callback
def write_slot_mask_of(tables: Tables, window: Window, choices: SlotChoices, mask: Flags) -> None:
    """Write which jobs of the window can start."""
    write_slot_mask(tables, window, mask)


@callback
def write_open_mask_of(tables: Tables, window: Window, choices: OpenChoices, mask: Flags) -> None:
    """Write that all actions may be chosen."""
    write_open_mask(tables, window, mask)


OF_CHOICES: dict[type, tuple[object, object]] = {
    Choices: (act_by_policy, write_void),
    SlotChoices: (act_in_slot, write_slot_mask_of),
    OpenChoices: (act_in_slot, write_open_mask_of),
}
"""How an action of some choices is applied, and which are legal."""


def new_run(
    core: Core,
    simulator: Simulator,
    observer: ViewArrays | NoView,
    choices: Choices | SlotChoices | NoChoices,
    observation: Floats,
    mask: Bools,
) -> Run:
    """Return a run of some parts, see `Run`."""
    calls, tables, window = np.full(NUMBER_OF_CALLS, NOWHERE, np.int64), core.tables, core.window
    if isinstance(choices, Choices) and choices.params["constant"][0] >= 0:
        calls[CONSTANT] = address_of(apply_constantly, tables, choices)
    elif type(choices) in OF_CHOICES and not isinstance(window, NoWindow):
        acts, legal = OF_CHOICES[type(choices)]
        calls[ACT] = address_of(acts, tables, window, choices, 0)
        calls[MASK] = address_of(legal, tables, window, choices, mask)
    if isinstance(observer, ViewArrays):
        calls[VIEW] = address_of(write_view, tables, window, observer, observation)
        calls[SCALE] = address_of(set_limits, observer, observer.limits)
    return Run(core, simulator.simulation, simulator.clock, observer, choices, observation, mask, calls)


# --- the loop


@entry
def advance(run: Run, instants: int) -> int:
    """Run to the next instant with a decision, or at most over *instants* instants; return why it stopped.

    It also stops before the log or the allocation runs out of capacity, before an instant whose submissions are not
    known yet, and after each instant if there are objectives in Python. The decisions of the present instant are
    applied first.
    """
    t, s, core = run.core.tables, run.simulation, run.core
    sim = s.sim[0]
    if not sim.opened:
        sim.opened = 1
        open_clock(t, s, run.clock)
    for _ in range(instants):
        if ends_early(t, core.window):
            return OVER
        if sim.deciding:
            log_blocked(t)
            sim.call_requested = next_call(t, core.window)
            apply_decisions(t, s, run.clock)
            sim.deciding = 0
        if not has_room(t) or sim.next_job >= sim.unsure_from:
            return PAUSED
        if not next_instant(t, s, run.clock):
            return OVER
        take_in_jobs(core, sim.now, s.completed, sim.completed, sim.submitted, sim.no_more == 1)
        sim.completed = sim.submitted = sim.called = 0
        sim.deciding = 1
        if run.calls[CONSTANT] != NOWHERE:
            apply_constant(run)
            continue
        if wants_decision(t, core.window):
            return WANTED
        if core.reward.params[0].pauses:
            return PAUSED
    return PAUSED


@compiled
def take_step(run: Run, action: int) -> bool:
    """Apply an action, or BEGIN, and run to the next decision; False at the end. The reward is in ``last``."""
    t, core = run.core.tables, run.core
    wanted = False
    if action != BEGIN:
        before = t.clock[0].started_now
        again = act(run, action)
        note_action(core, before)
        wanted = bool(again and wants_decision(t, core.window))
    if not wanted:
        wanted = advance(run, FOREVER) == WANTED
    settle_reward(core)
    return wanted


@inlined
def look(run: Run, out: Floats, mask: Bools) -> None:
    """Write the observation, (F,) float32, and the mask, (A,); policies are always legal."""
    write_observation(run, out)
    write_mask(run, mask)


@entry
def step(run: Run, action: int) -> bool:
    """Apply an action, or BEGIN, run to the next decision and look; return False when the run is over."""
    wanted = take_step(run, action)
    look(run, run.observation, run.mask)
    return wanted


@compiled
def see(run: Run) -> None:
    """Write the present observation and mask."""
    look(run, run.observation, run.mask)
