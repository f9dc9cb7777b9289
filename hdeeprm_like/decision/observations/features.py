"""Features of a job fixed at its submission (000, tables 4.1 and 4.2), stored for copying into a slot.

| index | feature | limit, see ``arrays`` | unit if raw |
|---|---|---|---|
| 0 | submission time | log span | s |
| 1 | requested time | log time | s |
| 2 | requested processors | cores | |
| 3 | queue size: waiting jobs when it was submitted | log queue | |
| 4 | queued work: what these requested | log span | core x s |
| 5 | free processors when it was submitted | cores | |
| 6 | remaining work of the running jobs then, by their requests | log time | core x s |
| 7 | backlog: jobs outside the window then | log queue | |
| last | can start now: 1 or 0 | | |

A compact view shows all nine; a view of the event horizon leaves out 6 and 7. An empty slot is all 0.
"""

from hdeeprm_like.decision.observations.arrays import ViewArrays, log_share, share
from hdeeprm_like.decision.window.arrays import BACKLOG, FREE, QUEUE, REMAINING, WORK, Window
from hdeeprm_like.decision.window.window import fits_slot, slots_behind
from hdeeprm_like.engine.bundles import part
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats, Records

COMPACT_FEATURES = (
    "submission time",
    "requested time",
    "processors",
    "queue size",
    "queued work",
    "free processors",
    "remaining work",
    "backlog",
    "can start",
)
HORIZON_FEATURES = (*COMPACT_FEATURES[:6], "can start")


@compiled
def keep_features(tables: Tables, window: Window, view: ViewArrays) -> None:
    """Store the features of newly submitted jobs, except the last feature, which changes."""
    params, last = view.params[0], view.params[0].features - 1
    raw, per_core = params.raw, params.per_core
    while params.seen < window.params[0].submitted:
        job, found, own = tables.jobs[params.seen], window.found[params.seen], view.features[params.seen]
        to_cluster = 1.0 if raw else per_core
        own[0] = log_share(raw, job.submit, params.per_log_span)
        own[1] = log_share(raw, job.requested_time, params.per_log_time)
        own[2] = share(raw, job.size, per_core)
        own[3] = log_share(raw, found[QUEUE], params.per_log_queue)
        own[4] = log_share(raw, found[WORK] * to_cluster, params.per_log_span)
        own[5] = share(raw, found[FREE], per_core)
        if last > 6:
            own[6] = log_share(raw, found[REMAINING] * to_cluster, params.per_log_time)
            own[7] = log_share(raw, found[BACKLOG], params.per_log_queue)
        params.seen += 1


@compiled
def copy_features(tables: Tables, window: Window, view: ViewArrays, first: int, end: int, out: Floats) -> None:
    """Copy the features of the jobs in some slots, and which of these can start as far as cores go.

    Args:
        first, end: the first of these slots, all of which have jobs, and the one after them. out: from slot 0 on.
    """
    features, slots, wants, free = view.features, window.slots, window.wants, tables.clock[0].free_cores
    count = view.params[0].features
    last = count - 1
    for i in range(first, end):
        own, cell = features[slots[i]], part(out, i * count, i * count + count)
        a, b, c, d, e, f = own[0], own[1], own[2], own[3], own[4], own[5]  # all read before written: one move
        if last > 6:
            g, h = own[6], own[7]
            cell[6], cell[7] = g, h
        cell[0], cell[1], cell[2], cell[3], cell[4], cell[5] = a, b, c, d, e, f
        cell[last] = 1.0 if wants[i] <= free else 0.0


@inlined
def clear(out: Floats, first: int, end: int) -> None:
    """Write zeros, which is one call of the C library however many they are."""
    for feature in range(first, end):
        out[feature] = 0.0


@compiled
def write_slots(tables: Tables, window: Window, view: ViewArrays, out: Floats, at: int) -> None:
    """Write the features of the jobs in the slots, which must be filled."""
    if view.params[0].seen < window.params[0].submitted:
        keep_features(tables, window, view)
    params, slots, count = window.params[0], len(window.slots), view.params[0].features
    behind, shown = params.head + slots_behind(window), part(out, at, at + slots * count)
    copy_features(tables, window, view, 0, params.filled, shown)
    clear(shown, params.filled * count, params.head * count)
    if params.tail > 0:
        copy_features(tables, window, view, params.head, behind, shown)
        clear(shown, behind * count, slots * count)
    if params.least < 0:
        for i in range(slots):
            shown[i * count + count - 1] = 1.0 if fits_slot(tables, window, i) else 0.0


@compiled
def backlog_now(window: Records) -> int:
    """Return the number of waiting jobs outside a window, given its params; its slots must be filled."""
    params = window[0]
    return int(max(params.queue - params.filled - params.tail, 0))
