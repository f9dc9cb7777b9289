"""Objectives in compiled code; `decision.specs.OBJECTIVES` names them, and its order numbers them."""

from collections.abc import Callable

from hdeeprm_like.cluster.pstates import P0, P1
from hdeeprm_like.decision.specs import code_of, objective_codes
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.decision.window.statistics import bounded_slowdown_at, execution_time, pace_of
from hdeeprm_like.decision.window.window import fill_slots, slots_behind
from hdeeprm_like.engine.compiled import compiled, entry, inlined
from hdeeprm_like.engine.dispatch import by_number
from hdeeprm_like.engine.tables import Tables

NUMBER_OF_OBJECTIVES = len(objective_codes())


@inlined
def pace_in(tables: Tables, window: Window, executes: bool, i: int) -> float:
    """Return 1 / requested time of the job in a slot, or 1 / execution time, in 1/s."""
    return float(pace_of(execution_time(tables, window.slots[i])) if executes else window.paces[window.slots[i]])


@compiled
def urgency_in_window(tables: Tables, window: Window, executes: bool) -> float:
    """Return the sum of `pace_in` over the jobs in the slots."""
    fill_slots(tables, window)
    total, head = 0.0, window.params[0].head
    for i in range(window.params[0].filled):
        total += pace_in(tables, window, executes, i)
    for i in range(head, head + slots_behind(window)):
        total += pace_in(tables, window, executes, i)
    return total


@compiled
def busy_cores(tables: Tables) -> int:
    """Return the number of busy cores."""
    busy = 0
    for p in range(len(tables.processors)):
        busy += tables.loads[p].busy
    return busy


@compiled
def cores_in_all(tables: Tables) -> int:
    """Return the number of all cores."""
    cores = 0
    for p in range(len(tables.processors)):
        cores += tables.processors[p].cores
    return cores


@compiled
def time_in_queue(tables: Tables, window: Window, ahead: float) -> float:
    """Return the total waiting time in s of the waiting jobs, *ahead* s from now."""
    params = window.params[0]
    return float(params.queue * (tables.clock[0].now + ahead) - params.sum_of_submissions)


@compiled
def share_of_longest_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the total time in the queue, *ahead* s from now, as a share of its maximum until then."""
    waited = time_in_queue(tables, window, ahead)
    most = max(window.params[0].longest_wait, waited)
    return -waited / most if window.params[0].queue > 0 and most > 0.0 else 0.0


# --- the objectives *ahead* s from now if nothing happens until then


@inlined
def slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the sum of 1 / requested time over the jobs in the system."""
    return float(-window.params[0].urgency)


@inlined
def completion(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the number of jobs in the system."""
    return float(-(tables.clock[0].waiting + tables.clock[0].running))


@inlined
def utilization(tables: Tables, window: Window, ahead: float) -> float:
    """Return the number of busy cores."""
    return float(busy_cores(tables))


@compiled
def makespan(tables: Tables, window: Window, ahead: float) -> float:
    """Return the GFLOP/s of the busy cores."""
    total = 0.0
    for p in range(len(tables.processors)):
        load = tables.loads[p]
        if load.busy > 0:
            total += load.busy * tables.processors[p].flops[P1 if load.oversubscribed else P0]
    return total / 1e9


@inlined
def energy(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the power in W."""
    return float(-tables.clock[0].watts)


@inlined
def energy_delay(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the growth rate of energy times elapsed time."""
    clock = tables.clock[0]
    return float(-(clock.watts * (clock.now + ahead) + clock.joules + clock.watts * ahead))


@inlined
def window_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the sum of 1 / requested time over the jobs in the window."""
    return -urgency_in_window(tables, window, False)


@inlined
def used_cores(tables: Tables, window: Window, ahead: float) -> float:
    """Return the share of busy cores."""
    return busy_cores(tables) / cores_in_all(tables)


@inlined
def unused_cores(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the share of cores that are not busy."""
    return busy_cores(tables) / cores_in_all(tables) - 1.0


@inlined
def execution_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the sum of 1 / execution time over the jobs in the system."""
    return float(-window.params[0].execution_urgency)


@inlined
def window_execution_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the sum of 1 / execution time over the jobs in the window."""
    return -urgency_in_window(tables, window, True)


@compiled
def bounded_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the mean bounded slowdown of all jobs so far, as if those that wait started *ahead* s from now."""
    params, clock = window.params[0], tables.clock[0]
    total = params.slowdowns
    for i in range(clock.waiting):
        total += bounded_slowdown_at(tables, tables.members[i], clock.now + ahead)
    jobs = params.started + clock.waiting
    return float(-total / jobs) if jobs > 0 else 0.0


@inlined
def queue_length(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the number of waiting jobs as a share of its maximum until now."""
    params = window.params[0]
    return float(-params.queue / params.longest_queue) if params.queue > 0 else 0.0


@inlined
def avg_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the mean wait in s of all jobs, *ahead* s from now, for jobs that still wait until then."""
    params = window.params[0]
    jobs = params.started + params.queue
    return float(-(params.waited + time_in_queue(tables, window, ahead)) / jobs) if jobs > 0 else 0.0


VALUES: dict[int, Callable[[Tables, Window, float], float]] = {
    number: code_of("objectives", code, f"objectives:{code}") for number, code in enumerate(objective_codes())
}
"""The objectives by number."""


value_of = by_number(VALUES)


@entry
def objective_value(tables: Tables, window: Window, objective: int, ahead: float) -> float:
    """Return a built-in objective, *ahead* s from now if nothing happens until then; nan if there is none."""
    return value_of(objective, tables, window, ahead)
