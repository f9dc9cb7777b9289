"""Following the queue and the running jobs from one instant to the next; compiled functions on ``Window``."""

from hdeeprm_like.decision.window.rows import BACKLOG, FREE, QUEUE, REMAINING, WORK, Window
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import WAITING, Tables
from hdeeprm_like.types import Ints


@compiled
def pace_of(time: float) -> float:
    """Return 1 / *time* in 1/s; no time counts as 1 s."""
    return 1.0 / time if time > 0.0 else 1.0


@compiled
def remaining_work(t: Tables, w: Window) -> float:
    """Return the core x s that the running jobs have still to do, by their requested times."""
    now, total = t.clock[0].now, 0.0
    for i in range(w.rule[0].running - 1, -1, -1):
        if w.ends[i] <= now:
            break
        total += w.widths[i] * (w.ends[i] - now)
    return total


@compiled
def append(t: Tables, w: Window, j: int) -> None:
    """Put a job behind the queue and note what it finds."""
    rule, job = w.rule[0], t.jobs[j]
    if rule.finds:
        found = w.found[j]
        found[QUEUE], found[WORK], found[FREE] = rule.queue, rule.queued_work, t.clock[0].free_cores
        found[REMAINING] = remaining_work(t, w)
        found[BACKLOG] = max(rule.queue - rule.head - rule.tail, 0)
    if rule.lists:
        w.line[rule.end] = j
        w.cores[rule.end] = -job.size if job.memory > 0.0 or job.gpus > 0.0 else job.size
        rule.end += 1
    w.paces[j] = pace_of(job.requested_time)
    rule.queue += 1
    rule.urgency += w.paces[j]
    rule.queued_work += job.size * job.requested_time
    rule.sum_of_submissions += job.submit


@compiled
def seat_in_line(w: Window, j: int) -> int:
    """Return the place of a waiting job in the line."""
    low, high = w.rule[0].first, w.rule[0].end
    while low < high:
        middle = (low + high) // 2
        if w.line[middle] < j:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def leave_line(w: Window, j: int) -> None:
    """Take a job out of the list of waiting ones."""
    rule, seat = w.rule[0], seat_in_line(w, j)
    if seat - rule.first < rule.end - seat:  # the shorter part closes the gap
        for i in range(seat, rule.first, -1):
            w.line[i], w.cores[i] = w.line[i - 1], w.cores[i - 1]
        rule.first += 1
    else:
        rule.end -= 1
        for i in range(seat, rule.end):
            w.line[i], w.cores[i] = w.line[i + 1], w.cores[i + 1]


@compiled
def seat_after(w: Window, end: float) -> int:
    """Return the first place among the running jobs that ends later."""
    low, high = 0, w.rule[0].running
    while low < high:
        middle = (low + high) // 2
        if w.ends[middle] <= end:
            low = middle + 1
        else:
            high = middle
    return int(low)


@compiled
def join_running(w: Window, j: int, end: float, size: int) -> None:
    """Put a job into the list of running ones, given when it is expected to end (s) and its cores."""
    seat = seat_after(w, end)
    for i in range(w.rule[0].running, seat, -1):
        w.running[i], w.ends[i], w.widths[i] = w.running[i - 1], w.ends[i - 1], w.widths[i - 1]
    w.running[seat], w.ends[seat], w.widths[seat] = j, end, size


@compiled
def began(t: Tables, w: Window, j: int) -> None:
    """Take note that a job of the queue has started."""
    rule, job = w.rule[0], t.jobs[j]
    if rule.lists:
        leave_line(w, j)
        join_running(w, j, job.start + job.requested_time, job.size)
    rule.queue -= 1
    rule.queued_work -= job.size * job.requested_time
    rule.sum_of_submissions -= job.submit
    if rule.queue == 0:  # no rounding error survives an empty queue
        rule.queued_work = rule.sum_of_submissions = 0.0
    rule.stale = 1
    rule.started += 1
    rule.waited += job.start - job.submit
    rule.running += 1


@compiled
def note_starts(t: Tables, w: Window) -> None:
    """Take note of the jobs that were started in this instant since the last look."""
    rule = w.rule[0]
    while rule.noted < t.clock[0].started_now:
        began(t, w, t.started_now[rule.noted])
        rule.noted += 1


@compiled
def leave_running(w: Window, j: int, end: float) -> bool:
    """Take a job out of the list of running ones, given when it was expected to end (s); False if it is not there."""
    seat = seat_after(w, end) - 1
    while seat >= 0 and w.running[seat] != j:
        seat -= 1
    if seat < 0:
        return False
    for i in range(seat, w.rule[0].running - 1):
        w.running[i], w.ends[i], w.widths[i] = w.running[i + 1], w.ends[i + 1], w.widths[i + 1]
    return True


@compiled
def ended(t: Tables, w: Window, j: int) -> None:
    """Take note that a running job has ended."""
    rule, job = w.rule[0], t.jobs[j]
    if rule.lists and not leave_running(w, j, job.start + job.requested_time):
        return
    rule.running -= 1
    rule.urgency = rule.urgency - w.paces[j] if rule.running + rule.queue > 0 else 0.0


@compiled
def follow(t: Tables, w: Window, completed: Ints) -> None:
    """Bring the window to a new instant: some jobs have completed, others were submitted."""
    rule, clock = w.rule[0], t.clock[0]
    rule.noted = 0
    for j in completed:
        ended(t, w, j)
    while rule.seen < clock.submitted:
        if t.jobs[rule.seen].status == WAITING:
            append(t, w, rule.seen)
        rule.seen += 1
    rule.stale = 1
    rule.longest_queue = max(rule.longest_queue, rule.queue)
    rule.longest_wait = max(rule.longest_wait, rule.queue * clock.now - rule.sum_of_submissions)
