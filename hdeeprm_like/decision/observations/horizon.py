"""The event horizon of the semi-MDP: what is expected to happen next, and what each job found (000, section 4.7).

H events, the first of which is now; M slots. An event is an expected end of running jobs, by their requested times.

| index | what | limit, see ``rows`` | unit if raw |
|---|---|---|---|
| 0 | remaining work of the running jobs | log time | core x s |
| 1 | time until some core is free, 0 if one is | log time | s |
| 2, 3 | cores free and used then | cores | |
| 4 | jobs outside the window | log queue | |
| 5 | waiting jobs | log queue | |
| 6 + 3 k | event k: time until then | log time | s |
| 7 + 3 k, 8 + 3 k | cores free and used then | cores | |
| 6 + 3 H + 7 i | slot i: see ``features`` | | |

After the last event its state is repeated, one time step later each time (figure 4.5). Jobs past their requested times
are expected to end at the next event, one time step from now at the latest.
"""

from hdeeprm_like.cluster.tables import Tables
from hdeeprm_like.compiled import compiled
from hdeeprm_like.decision.observations.features import HORIZON_FEATURES, backlog_now, slot_names, write_slots
from hdeeprm_like.decision.observations.rows import ViewRows, log_share, share
from hdeeprm_like.decision.window import EARLY, Window, fill_slots, remaining_work
from hdeeprm_like.types import Floats

EVENT = ("offset", "free", "used")
NEXT_FREE, FIRST_EVENT = 1, 6  # where these features begin


def horizon_size(horizon: int, slots: int) -> int:
    """Return the number of features."""
    return FIRST_EVENT + len(EVENT) * horizon + len(HORIZON_FEATURES) * slots


def horizon_names(horizon: int, slots: int) -> tuple[str, ...]:
    """Return the name of each feature, ``"remaining work"`` to ``"job 127 can start"``."""
    summary = ("remaining work", *(f"next free {what}" for what in EVENT), "backlog", "queue size")
    events = (f"event {k} {what}" for k in range(horizon) for what in EVENT)
    return (*summary, *events, *slot_names(slots, HORIZON_FEATURES))


@compiled
def write_event(v: ViewRows, offset: float, free: int, cores: int, out: Floats, at: int) -> None:
    """Write one event."""
    rule = v.rule[0]
    out[at] = log_share(rule.raw, offset, rule.per_log_time)
    out[at + 1] = share(rule.raw, free, rule.per_core)
    out[at + 2] = share(rule.raw, cores - free, rule.per_core)


@compiled
def next_end(w: Window, ended: int, now: float, date: float, step: float) -> float:
    """Return when the next running job is expected to end, those before *ended* having done so until *date*."""
    running = w.rule[0].running
    if ended == running:
        return date + step
    if w.ends[ended] > now:
        return float(w.ends[ended])
    while ended < running and w.ends[ended] <= now:
        ended += 1
    return min(now + step, float(w.ends[ended])) if ended < running else now + step


@compiled
def write_events(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write the events, and the one at which some core is free next."""
    rule, now, running = v.rule[0], t.clock[0].now, w.rule[0].running
    cores, free, ended, date = len(t.core_job), t.clock[0].free_cores, 0, now
    full = free == 0 and running > 0
    write_event(v, 0.0, free, cores, out, NEXT_FREE)
    write_event(v, 0.0, free, cores, out, FIRST_EVENT)
    for k in range(1, max(rule.horizon, 2)):
        date = next_end(w, ended, now, date, rule.step)
        while ended < running and w.ends[ended] <= date + EARLY:
            free += w.widths[ended]
            ended += 1
        if full and k == 1:
            write_event(v, date - now, free, cores, out, NEXT_FREE)
        if k < rule.horizon:
            write_event(v, date - now, free, cores, out, FIRST_EVENT + 3 * k)


@compiled
def write_horizon(t: Tables, w: Window, v: ViewRows, out: Floats) -> None:
    """Write the features; O(what is shown + running jobs)."""
    fill_slots(t, w)
    rule = v.rule[0]
    work = remaining_work(t, w) * (1.0 if rule.raw else rule.per_core)
    out[0] = log_share(rule.raw, work, rule.per_log_time)
    write_events(t, w, v, out)
    out[4] = log_share(rule.raw, backlog_now(w), rule.per_log_queue)
    out[5] = log_share(rule.raw, w.rule[0].queue, rule.per_log_queue)
    write_slots(t, w, v, out, FIRST_EVENT + 3 * rule.horizon)
