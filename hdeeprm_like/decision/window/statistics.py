"""What a window knows of the queue and of the running jobs as a whole, read from the changes of the cluster."""

from hdeeprm_like.decision.window.rows import BACKLOG, FREE, QUEUE, REMAINING, WORK, Window
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.job_lists import BLOCK
from hdeeprm_like.engine.tables import ENDED, KINDS_OF_CHANGES, SUBMITTED, Tables


@inlined
def pace_of(time: float) -> float:
    """Return 1 / *time* in 1/s; no time counts as 1 s."""
    return 1.0 / time if time > 0.0 else 1.0


@compiled
def remaining_work(t: Tables, w: Window) -> float:
    """Return the core x s that the running jobs have still to do, by their requested times."""
    now, total, v = t.clock[0].now, 0.0, w.rule[0].ends
    for place in range(t.running.lists[v].blocks - 1, -1, -1):
        b = t.running.directory[v, place]
        for i in range(b * BLOCK + t.running.sizes[v, b] - 1, b * BLOCK - 1, -1):
            if t.running.keys[v, i] <= now:
                return total
            total += t.running.cores[v, i] * (t.running.keys[v, i] - now)
    return total


@compiled
def copy_ends(t: Tables, w: Window, until: float) -> int:
    """Write the running jobs by requested end, the ends and the cores; return how many end until a time (s)."""
    v, count = w.rule[0].ends, 0
    for place in range(t.running.lists[v].blocks):
        b = t.running.directory[v, place]
        for i in range(b * BLOCK, b * BLOCK + t.running.sizes[v, b]):
            if t.running.keys[v, i] > until:
                return count
            w.running[count], w.ends[count] = t.running.jobs[v, i], t.running.keys[v, i]
            w.widths[count] = t.running.cores[v, i]
            count += 1
    return count


@compiled
def note_submission(t: Tables, w: Window, j: int) -> None:
    """Take note of a job that has come, and of what it finds."""
    rule, job = w.rule[0], t.jobs[j]
    if rule.finds:
        w.found[j, QUEUE], w.found[j, WORK], w.found[j, FREE] = rule.queue, rule.queued_work, t.clock[0].free_cores
        w.found[j, REMAINING] = remaining_work(t, w)
        w.found[j, BACKLOG] = max(rule.queue - rule.head - rule.tail, 0)
    w.paces[j] = pace_of(job.requested_time)
    rule.queue += 1
    rule.urgency += w.paces[j]
    rule.queued_work += job.size * job.requested_time
    rule.sum_of_submissions += job.submit


@compiled
def note_start(t: Tables, w: Window, j: int) -> None:
    """Take note of a job that has started."""
    rule, job = w.rule[0], t.jobs[j]
    rule.queue -= 1
    rule.queued_work -= job.size * job.requested_time
    rule.sum_of_submissions -= job.submit
    if rule.queue == 0:  # no rounding error survives an empty queue
        rule.queued_work = rule.sum_of_submissions = 0.0
    rule.started += 1
    rule.waited += job.start - job.submit
    rule.running += 1


@compiled
def read_changes(t: Tables, w: Window) -> None:
    """Take in what has happened to jobs since the last look."""
    rule, clock = w.rule[0], t.clock[0]
    while rule.cursor < clock.changes:
        change = t.changes[rule.cursor]
        kind, j = change % KINDS_OF_CHANGES, change // KINDS_OF_CHANGES
        rule.cursor += 1
        rule.stale = 1
        if kind == SUBMITTED:
            note_submission(t, w, j)
        elif kind == ENDED:
            rule.running -= 1
            rule.urgency = rule.urgency - w.paces[j] if rule.running + rule.queue > 0 else 0.0
        else:
            note_start(t, w, j)


@compiled
def arrive(t: Tables, w: Window) -> None:
    """Bring a window to a new instant."""
    rule, clock = w.rule[0], t.clock[0]
    read_changes(t, w)
    rule.stale = 1
    rule.submitted = clock.submitted
    rule.longest_queue = max(rule.longest_queue, rule.queue)
    rule.longest_wait = max(rule.longest_wait, rule.queue * clock.now - rule.sum_of_submissions)
