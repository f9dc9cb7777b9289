"""The loop: the only place where compiled code goes from one instant to the next.

    advance:  next instant -> take in what happened -> decide, or stop for an agent -> apply what was decided -> ...

A run is all that belongs to one simulation. Which clock it has, how its actions are carried out and what is shown
follows from the types of its parts, so that each kind of run is compiled with those that it has and no others.
`run.batch` plays many runs by the same functions, Python's own parts are asked by `run.python_loop`.
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

OVER, WANTED, PAUSED = 0, 1, 2  # why a run stops: its end, a decision, something that Python has to do
FOREVER = 1 << 62  # instants
BEGIN = -1  # instead of the first action


class NoChoices(Bundle):
    """Stands for actions that are Python's."""

    nothing: Floats


class NoView(Bundle):
    """Stands for an observation that is Python's, or none."""

    nothing: Floats


class Run(Bundle):
    """All that belongs to one simulation; F features, A actions.

    Attributes:
        core: cluster, window and reward. simulation, clock: what moves them. observer: what is shown.
        choices: what can be done. observation: (F,) float32 and mask: (A,) what `look` writes.
    """

    core: Core
    simulation: Simulation
    clock: BatsimClock | event_clock.EventClock
    observer: ViewArrays | NoView
    choices: Choices | SlotChoices | NoChoices
    observation: Floats
    mask: Bools


# --- what follows from the types of a run's parts


@by_type
def next_instant(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Move to the next instant and gather what happened; False when nothing can happen any more."""
    return batsim_clock.next_instant if timing.kind == "BatsimClock" else event_clock.next_instant


@by_type
def apply_decisions(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Let the simulator begin to apply what was decided."""
    return batsim_clock.apply_decisions if timing.kind == "BatsimClock" else event_clock.apply_decisions


@by_type
def open_clock(tables: BundleType, simulation: BundleType, timing: BundleType) -> object:
    """Begin a simulation."""
    return batsim_clock.open_clock if timing.kind == "BatsimClock" else event_clock.open_clock


@by_type
def apply_constant(tables: BundleType, choices: BundleType) -> object:
    """Take the action that is taken at every instant; False where an agent is asked."""
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
    """Tell that an agent is asked."""
    return False


@inlined
def constant_policy(tables: Tables, choices: Choices) -> bool:
    """Apply the policy that is applied at every instant, if there is one."""
    if choices.params[0].constant < 0:
        return False
    apply_policy(tables, choices, choices.params[0].constant)
    return True


@inlined
def act_by_policy(tables: Tables, window: Window, choices: Choices, action: int) -> bool:
    """Apply the policy of an action; an instant takes one action."""
    apply_policy(tables, choices, action)
    return False


@inlined
def write_void(tables: Tables, window: Window, choices: Choices, mask: Bools) -> None:
    """Write whether the void action is legal, if there is one; policies always are."""
    if choices.params[0].void == 1:
        mask[len(mask) - 1] = not is_over(tables)


@inlined
def write_slot_mask_of(tables: Tables, window: Window, choices: SlotChoices, mask: Bools) -> None:
    """Write which jobs of the window can be started."""
    write_slot_mask(tables, window, mask)


@inlined
def write_open_mask_of(tables: Tables, window: Window, choices: OpenChoices, mask: Bools) -> None:
    """Write that all may be chosen."""
    write_open_mask(tables, window, mask)


MASKS = {"SlotChoices": write_slot_mask_of, "OpenChoices": write_open_mask_of}


# --- the loop


@compiled
def advance(run: Run, instants: int) -> int:
    """Run to the next instant at which a decision is wanted, or over so many instants; return why it stopped.

    It stops too before the log or the allocation has no room for one more instant or before its submissions are not
    known yet, and after each instant for objectives that are Python's. What was decided at the present instant is
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
            sim.call_asked = next_call(t, core.window)
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
    """Apply an action, or BEGIN, and go to the next decision; False when the run is over. The reward is in ``last``."""
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
    """Write what is to be seen, (F,) float32, and which actions are legal, (A,) of which policies always are."""
    write_view(run.core.tables, run.core.window, run.observer, out)  # type: ignore[arg-type]  # nobody looks at NoView
    write_mask(run.core.tables, run.core.window, run.choices, mask)


@compiled
def step(run: Run, action: int) -> bool:
    """Apply an action, or BEGIN, go to the next decision and look; False when the run is over."""
    wanted = take_step(run, action)
    look(run, run.observation, run.mask)
    return wanted


@compiled
def see(run: Run) -> None:
    """Look at what is to be seen now."""
    look(run, run.observation, run.mask)
