"""The loop: the only place where compiled code goes from one instant to the next.

    advance:  next instant -> receive events -> decide, or stop for an agent -> apply the decisions -> ...

A run is everything that belongs to one simulation. The types of its parts determine its clock, its actions and its
observation, so that each kind of run is compiled with just the parts that it has.
`run.batch` executes many runs with the same functions; `run.python_loop` calls the parts that are Python.
"""

from hdeeprm_like.decision.actions import Choices, apply_policy
from hdeeprm_like.decision.job_actions import OpenChoices, SlotChoices, act_by_slot, write_open_mask, write_slot_mask
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
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.window import is_over
from hdeeprm_like.engine import batsim_clock, event_clock
from hdeeprm_like.engine.batsim_actors import BatsimClock
from hdeeprm_like.engine.bundles import Bundle, BundleType
from hdeeprm_like.engine.compiled import by_type, compiled, inlined
from hdeeprm_like.engine.lifecycle import has_room, log_blocked
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.types import Bools, Floats

OVER, WANTED, PAUSED = 0, 1, 2  # why a run stops: end, decision, work for Python
FOREVER = 1 << 62  # instants
BEGIN = -1  # instead of the first action


class NoChoices(Bundle):
    """Stand-in for actions in Python."""

    nothing: Floats


class NoView(Bundle):
    """Stand-in for an observation in Python, or for none."""

    nothing: Floats


class Run(Bundle):
    """Everything that belongs to one simulation; F features, A actions.

    Attributes:
        core: cluster, window and reward. simulation, clock: the simulator. observer: the observation's arrays.
        choices: the actions. observation: (F,) float32 and mask: (A,) outputs of `look`.
    """

    core: Core
    simulation: Simulation
    clock: BatsimClock | event_clock.EventClock
    observer: ViewArrays | NoView
    choices: Choices | SlotChoices | NoChoices
    observation: Floats
    mask: Bools


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


@by_type
def apply_constant(tables: BundleType, choices: BundleType) -> object:
    """Take the constant action, if any; return False if an agent decides."""
    return constant_policy if choices.kind == "Choices" else never


@by_type
def carry_out(tables: BundleType, window: BundleType, choices: BundleType, action: object) -> object:
    """Apply an action; return whether the agent may act again in this instant."""
    return act_by_policy if choices.kind == "Choices" else act_by_slot


@by_type
def write_mask(tables: BundleType, window: BundleType, choices: BundleType, mask: object) -> object:
    """Write which actions are legal."""
    return MASKS.get(choices.kind, write_void)


@inlined
def never(tables: Tables, choices: NoChoices) -> bool:
    """Return False: an agent decides."""
    return False


@inlined
def constant_policy(tables: Tables, choices: Choices) -> bool:
    """Apply the constant policy, if there is one; return whether there is."""
    if choices.params[0].constant < 0:
        return False
    apply_policy(tables, choices, choices.params[0].constant)
    return True


@inlined
def act_by_policy(tables: Tables, window: Window, choices: Choices, action: int) -> bool:
    """Apply the policy of an action; return False: an instant takes one action."""
    apply_policy(tables, choices, action)
    return False


@inlined
def write_void(tables: Tables, window: Window, choices: Choices, mask: Bools) -> None:
    """Write whether the void action is legal, if there is one; policies always are."""
    if choices.params[0].void == 1:
        mask[len(mask) - 1] = not is_over(tables)


@inlined
def write_slot_mask_of(tables: Tables, window: Window, choices: SlotChoices, mask: Bools) -> None:
    """Write which jobs of the window can start."""
    write_slot_mask(tables, window, mask)


@inlined
def write_open_mask_of(tables: Tables, window: Window, choices: OpenChoices, mask: Bools) -> None:
    """Write that all actions may be chosen."""
    write_open_mask(tables, window, mask)


MASKS = {"SlotChoices": write_slot_mask_of, "OpenChoices": write_open_mask_of}


# --- the loop


@compiled
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
        if apply_constant(t, run.choices):
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
        again = carry_out(t, core.window, run.choices, action)
        note_action(core, before)
        wanted = bool(again and wants_decision(t, core.window))
    if not wanted:
        wanted = advance(run, FOREVER) == WANTED
    settle_reward(core)
    return wanted


@inlined
def look(run: Run, out: Floats, mask: Bools) -> None:
    """Write the observation, (F,) float32, and the mask, (A,); policies are always legal."""
    write_view(run.core.tables, run.core.window, run.observer, out)  # type: ignore[arg-type]  # NoView is never read
    write_mask(run.core.tables, run.core.window, run.choices, mask)


@compiled
def step(run: Run, action: int) -> bool:
    """Apply an action, or BEGIN, run to the next decision and look; return False when the run is over."""
    wanted = take_step(run, action)
    look(run, run.observation, run.mask)
    return wanted


@compiled
def see(run: Run) -> None:
    """Write the present observation and mask."""
    look(run, run.observation, run.mask)
