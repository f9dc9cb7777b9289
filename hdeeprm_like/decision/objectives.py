"""Objectives in compiled code, by the numbers under which `decision.rewards` names them."""

from hdeeprm_like.cluster.pstates import P0, P1
from hdeeprm_like.decision.window.arrays import NONE, Window
from hdeeprm_like.decision.window.statistics import bounded_slowdown_at, execution_time, pace_of
from hdeeprm_like.decision.window.window import fill_slots
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables

SLOWDOWN, COMPLETION, UTILIZATION, MAKESPAN, ENERGY, EDP = 0, 1, 2, 3, 4, 5
WINDOW_SLOWDOWN, UNUSED_CORES, QUEUE_LENGTH, QUEUE_WAIT, AVG_WAIT, USED_CORES = 6, 7, 8, 9, 10, 11
EXECUTION_SLOWDOWN, WINDOW_EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN = 12, 13, 14
NUMBER_OF_OBJECTIVES = 15
OF_WINDOW = (WINDOW_SLOWDOWN, QUEUE_LENGTH, QUEUE_WAIT, AVG_WAIT, WINDOW_EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN)
OF_EXECUTION = (EXECUTION_SLOWDOWN, BOUNDED_SLOWDOWN)
AT_END = (AVG_WAIT, BOUNDED_SLOWDOWN)  # tell of the whole schedule; the others are 0 when all jobs are over


@compiled
def urgency_in_window(tables: Tables, window: Window) -> float:
    """Return the sum of 1 / requested time in 1/s over the jobs in the slots."""
    fill_slots(tables, window)
    total = 0.0
    for i in range(len(window.slots)):
        if window.slots[i] != NONE:
            total += window.paces[window.slots[i]]
    return total


@compiled
def execution_urgency_in_window(tables: Tables, window: Window) -> float:
    """Return the sum of 1 / execution time in 1/s over the jobs in the slots."""
    fill_slots(tables, window)
    total = 0.0
    for i in range(len(window.slots)):
        if window.slots[i] != NONE:
            total += pace_of(execution_time(tables, window.slots[i]))
    return total


@compiled
def mean_bounded_slowdown(tables: Tables, window: Window, ahead: float) -> float:
    """Return the mean bounded slowdown of all jobs until now, as if those that wait started in *ahead* s."""
    params, clock = window.params[0], tables.clock[0]
    total = params.slowdowns
    for i in range(clock.waiting):
        total += bounded_slowdown_at(tables, tables.members[i], clock.now + ahead)
    jobs = params.started + clock.waiting
    return float(total / jobs) if jobs > 0 else 0.0


@compiled
def computing(tables: Tables) -> float:
    """Return the flop/s of the cores that serve jobs."""
    total = 0.0
    for p in range(len(tables.processors)):
        load = tables.loads[p]
        if load.busy > 0:
            total += load.busy * tables.processors[p].flops[P1 if load.oversubscribed else P0]
    return total


@compiled
def busy_cores(tables: Tables) -> int:
    """Return how many cores serve jobs."""
    busy = 0
    for p in range(len(tables.processors)):
        busy += tables.loads[p].busy
    return busy


@compiled
def cores_in_all(tables: Tables) -> int:
    """Return how many cores there are."""
    cores = 0
    for p in range(len(tables.processors)):
        cores += tables.processors[p].cores
    return cores


@compiled
def time_in_queue(tables: Tables, window: Window, ahead: float) -> float:
    """Return the s that the waiting jobs will have waited together in *ahead* s."""
    params = window.params[0]
    return float(params.queue * (tables.clock[0].now + ahead) - params.sum_of_submissions)


@compiled
def mean_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return the s that a job will have waited on average in *ahead* s, those that still wait until then."""
    params = window.params[0]
    jobs = params.started + params.queue
    return float((params.waited + time_in_queue(tables, window, ahead)) / jobs) if jobs > 0 else 0.0


@compiled
def share_of_longest_wait(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the time in the queue in *ahead* s as a share of the most until then."""
    waited = time_in_queue(tables, window, ahead)
    most = max(window.params[0].longest_wait, waited)
    return -waited / most if window.params[0].queue > 0 and most > 0.0 else 0.0


@compiled
def objective_value(tables: Tables, window: Window, objective: int, ahead: float) -> float:
    """Return a built-in objective as it will be in *ahead* s if nothing happens until then."""
    clock = tables.clock[0]
    if objective == SLOWDOWN:
        return float(-window.params[0].urgency)
    if objective == COMPLETION:
        return float(-(clock.waiting + clock.running))
    if objective == UTILIZATION:
        return float(busy_cores(tables))
    if objective == MAKESPAN:
        return computing(tables) / 1e9
    if objective == ENERGY:
        return float(-clock.watts)
    if objective == EDP:
        return float(-(clock.watts * (clock.now + ahead) + clock.joules + clock.watts * ahead))
    if objective == WINDOW_SLOWDOWN:
        return -urgency_in_window(tables, window)
    if objective == UNUSED_CORES:
        return busy_cores(tables) / cores_in_all(tables) - 1.0
    if objective == USED_CORES:
        return busy_cores(tables) / cores_in_all(tables)
    params = window.params[0]
    if objective == EXECUTION_SLOWDOWN:
        return float(-params.execution_urgency)
    if objective == WINDOW_EXECUTION_SLOWDOWN:
        return -execution_urgency_in_window(tables, window)
    if objective == BOUNDED_SLOWDOWN:
        return -mean_bounded_slowdown(tables, window, ahead)
    if objective == QUEUE_LENGTH:
        return float(-params.queue / params.longest_queue) if params.queue > 0 else 0.0
    if objective == QUEUE_WAIT:
        return share_of_longest_wait(tables, window, ahead)
    return -mean_wait(tables, window, ahead)
