"""What sets the pace of Batsim's clock: its network, and nodes whose speed follows a file.

As in SimGrid, a change of a speed comes between two steps: it ends the step at its date, where the rates of the jobs on
its nodes change. Source: SimGrid 3.32, `EngineImpl::solve`.
"""

from hdeeprm_like.engine.actions import set_rate, take_step
from hdeeprm_like.engine.batsim_actors import BatsimClock, begin_look, look_at, rates_change
from hdeeprm_like.engine.batsim_jobs import mark
from hdeeprm_like.engine.batsim_work import set_speed, speed_of, works
from hdeeprm_like.engine.compiled import compiled, inlined, of_two
from hdeeprm_like.engine.speeds import has_changed, touches_change
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.traffic import has_routes, open_traffic


@inlined
def open_links(timing: BatsimClock) -> None:
    """Begin a simulation with a network."""
    open_traffic(timing.traffic)


@inlined
def no_links(timing: BatsimClock) -> None:
    """Do nothing: there is no network."""


open_network = of_two(rates_change, open_links, no_links)


@inlined
def sends(timing: BatsimClock) -> bool:
    """Return whether what jobs send takes time."""
    return has_routes(timing.traffic)


@inlined
def give_rate(timing: BatsimClock, j: int, rate: float) -> None:
    """Give the work of a job that sends its rate."""
    set_rate(timing.actions, timing.actions.places[2 * j], rate)


@inlined
def take_step_alone(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Move the clock without a network, at constant speeds."""
    return take_step(timing.actions)


# --- speeds


@inlined
def mark_users(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Mark the jobs at work on nodes whose speed has just changed."""
    actions = timing.actions
    for place in range(actions.pace[0].count):
        owner = actions.heap[place].owner
        j = owner >> 1
        if owner < 0 or owner & 1 == 1 or simulation.tasks[j].marked:
            continue
        if touches_change(tables, timing.speeds, j):
            mark(simulation, timing, j)


@inlined
def follow_changes(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Update the energy of the cores whose speed has just changed, and the rates of the marked jobs."""
    if timing.speeds.changes[0].latest >= timing.actions.pace[0].now:
        look_at_changed(tables, timing)
    for i in range(timing.talk[0].marked):
        j = timing.marked[i]
        simulation.tasks[j].marked = 0
        if works(timing, j) and simulation.tasks[j].ops > 0.0:
            set_speed(simulation, timing, j, speed_of(tables, timing, j, False))
    timing.talk[0].marked = 0


@compiled
def look_at_changed(tables: Tables, timing: BatsimClock) -> None:
    """Note that the energy of the cores that have just changed is up to date."""
    begin_look(timing)
    for p in range(len(tables.processors)):
        if has_changed(timing.speeds, p):
            processor = tables.processors[p]
            for w in range(processor.first_word, processor.first_word + processor.words):
                look_at(timing, w, tables.words[w].cores)
