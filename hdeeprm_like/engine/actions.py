"""What takes time in SimGrid, exact to the last bit: sleeps, parallel tasks, and the message under way.

SimGrid finds the action that ends next, adds the seconds until then to its clock, and subtracts that step from what
is left of every action. Actions with less than 1e-9 s or 1e-14 of their work left end together. Each addition rounds,
so at a nominal tie the rounding errors decide what happens first; beyond a million seconds a message no longer moves
the clock at all. We therefore subtract every step from every action, one after the other, with the same roundings.

This is cheap: steps are recorded and subtracted from all actions at once when many have accumulated (``settle``), or
earlier from the actions that may end now (``catch_up``). A heap finds these: it holds for each action a date before
which it cannot end, however the sums round. Source: SimGrid 3.32, host model ptask_L07, ``update_actions_state``.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.types import Floats, Ints, Records

TIMER_PRECISION = 1e-9  # s
WORK_PRECISION = 1e-14  # share of the whole work

STEPS = 64  # recorded before they are subtracted from all actions
SETTLEMENTS = 64  # after this many the dates of the heap are recomputed
# STEPS * SETTLEMENTS = 4096 steps, each rounding a share of at most 1 by 2**-54, make a sum of shares wrong by at most
# 2.3e-13, and a sum of seconds by that share of itself.
ROUNDED = 1.0 + 2e-12
SHARE_SLACK, TIMER_SLACK = 1e-12, 2e-9

CALL = -2  # owner of a call: the wake-up that the decision system requested

PACE = np.dtype(
    [
        ("now", "f8"),  # s, SimGrid's clock
        ("count", "i8"),  # number of actions
        ("steps", "i8"),  # recorded
        ("settlements", "i8"),  # settlements since the dates were computed
        ("created", "i8"),  # actions created so far; actions that end together end in the order of their creation
        ("submission", "f8"),  # s left until the submitter wakes up, infinite while it does not sleep
        ("submission_made", "i8"),  # its number among the created ones
        ("answer", "f8"),  # the same for the answerer
        ("answer_made", "i8"),
        ("latency", "f8"),  # s of latency left for the message under way, infinite without one or when over
        ("message", "f8"),  # share of the message's byte left, infinite without one
        ("speed", "f8"),  # transfer rate in 1/s, 0 until the latency is over
        ("speed_then", "f8"),  # transfer rate in 1/s after the latency
        ("message_made", "i8"),
        ("ended", "i8"),  # used entries of Actions.ended
        ("arrival", "f8"),  # s until the message under way arrives at its present rate, see `note_arrival`
    ],
    align=True,
)

SUBMISSION, ANSWER, MESSAGE = -3, -4, -5  # what has ended, besides actions of jobs and CALL
ARRIVING = -6  # in a network: the latency of the message under way
LATENCY = -7  # in a network: owner of the latency of job 0; that of job j is LATENCY - j


ACTION = np.dtype(
    [
        ("date", "f8"),  # s, it does not end before
        ("made", "i8"),  # creation number
        ("owner", "i8"),  # 2 * row of a job, plus 1 for its timer, or CALL
        ("since", "i8"),  # the first step not yet subtracted
    ],
    align=True,
)


Action = tuple[float, int, int, int]  # the fields of an ACTION


class Actions(Bundle, written_first=("steps",)):
    """The actions of one simulation; A is the capacity: all actions that can exist at once.

    Attributes:
        pace: (1,) PACE.
        heap: (A,) ACTION, a heap by date. left, rates: (A,) of these, share and 1/s for a task, s and 1 for a timer.
        places: (2 J,) heap places of the actions of jobs, -1 for none.
        steps: (STEPS,) s, recorded steps. scratch: (A,).
        ended: (A,) owners of the actions that end in this step, made_ended: (A,) their creation numbers.
    """

    pace: Records
    heap: Records
    left: Floats
    rates: Floats
    places: Ints
    steps: Floats
    scratch: Floats
    ended: Ints
    made_ended: Ints


def calls_at_once(jobs: int) -> int:
    """Return how many calls can be pending at once in a simulation of some jobs.

    The decision system requests at most one call per instant, and calls that end together make one instant. Other
    instants: each job arrives, ends, may be killed, and changes the P-states of its cores at its start and its end.
    """
    return 5 * jobs + 8


def new_actions(jobs: int) -> Actions:
    """Return the actions of a simulation before its first event."""
    room = 2 * jobs + calls_at_once(jobs)  # a job has two actions
    pace = np.zeros(1, PACE)
    for name in ("submission", "answer", "latency", "message", "arrival"):
        pace[name] = np.inf
    return Actions(
        pace=pace,
        heap=np.empty(room, ACTION),
        left=np.empty(room),
        rates=np.empty(room),
        places=np.full(2 * jobs, -1, np.int64),
        steps=np.zeros(STEPS),
        scratch=np.empty(room),
        ended=np.empty(room, np.int64),
        made_ended=np.empty(room, np.int64),
    )


@inlined
def number(actions: Actions) -> int:
    """Return the creation number of an action that is created now."""
    actions.pace[0].created += 1
    return int(actions.pace[0].created)


@inlined
def note_arrival(actions: Actions) -> None:
    """Note when the message under way arrives, after its share left or its rate has changed."""
    actions.pace[0].arrival = actions.pace[0].message / actions.pace[0].speed


# --- the heap


@inlined
def is_task(owner: int) -> bool:
    """Return whether an action is the task of a job, no timer."""
    return owner >= 0 and owner & 1 == 0


@inlined
def date_of(actions: Actions, place: int) -> float:
    """Return a date before which an action cannot end; all steps must have been subtracted from it."""
    left = actions.left[place]
    slack = SHARE_SLACK if is_task(actions.heap[place].owner) else TIMER_SLACK + left * 1e-12
    return float(actions.pace[0].now + (left - slack) / actions.rates[place])


@inlined
def put(actions: Actions, place: int, action: Action, left: float, rate: float) -> None:
    """Put an action at a place."""
    row = actions.heap[place]
    row.date, row.made, row.owner, row.since = action
    actions.left[place], actions.rates[place] = left, rate
    if row.owner >= 0:
        actions.places[row.owner] = place


@inlined
def at(actions: Actions, place: int) -> Action:
    """Return the row of the action at a place."""
    row = actions.heap[place]
    return row.date, row.made, row.owner, row.since


@compiled
def sift(actions: Actions, place: int) -> None:
    """Restore the heap order for the action at a place."""
    count, heap, left, rate = actions.pace[0].count, actions.heap, actions.left[place], actions.rates[place]
    action = at(actions, place)
    date = action[0]
    while place > 0 and date < heap[(place - 1) >> 1].date:
        move(actions, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    while True:
        child = 2 * place + 1
        if child + 1 < count and heap[child + 1].date < heap[child].date:
            child += 1
        if child >= count or heap[child].date >= date:
            break
        move(actions, child, place)
        place = child
    put(actions, place, action, left, rate)


@inlined
def move(actions: Actions, source: int, place: int) -> None:
    """Copy an action to another place."""
    put(actions, place, at(actions, source), actions.left[source], actions.rates[source])


@inlined
def add(actions: Actions, owner: int, left: float, rate: float) -> None:
    """Create an action: a task with a share *left* of its work, or a timer of *left* seconds with rate 1."""
    add_numbered(actions, owner, left, rate, number(actions))


@compiled
def add_numbered(actions: Actions, owner: int, left: float, rate: float, made: int) -> None:
    """Add an action that was created before, with its number."""
    pace = actions.pace[0]
    place = pace.count
    pace.count += 1
    put(actions, place, (0.0, made, owner, pace.steps), left, rate)
    actions.heap[place].date = date_of(actions, place)
    sift(actions, place)


@compiled
def remove_at(actions: Actions, place: int) -> None:
    """Remove the action at a place."""
    pace, owner = actions.pace[0], actions.heap[place].owner
    if owner >= 0:
        actions.places[owner] = -1
    pace.count -= 1
    if place < pace.count:
        move(actions, pace.count, place)
        sift(actions, place)


@compiled
def remove_numbered(actions: Actions, made: int) -> None:
    """Remove the action with a creation number."""
    for place in range(actions.pace[0].count):
        if actions.heap[place].made == made:
            remove_at(actions, place)
            return


@compiled
def set_rate(actions: Actions, place: int, rate: float) -> None:
    """Change the rate of the task at a place."""
    catch_up(actions, place)
    actions.rates[place] = rate
    actions.heap[place].date = date_of(actions, place)
    sift(actions, place)


# --- steps


@compiled
def catch_up(actions: Actions, place: int) -> None:
    """Subtract all recorded steps from one action."""
    left, rate = actions.left[place], actions.rates[place]
    for k in range(actions.heap[place].since, actions.pace[0].steps):
        left -= rate * actions.steps[k]
    actions.left[place], actions.heap[place].since = left, actions.pace[0].steps


@compiled
def settle(actions: Actions) -> None:
    """Subtract the STEPS recorded steps from all actions, and clear them."""
    pace = actions.pace[0]
    count = pace.count
    for a in range(count):
        if actions.heap[a].since > 0:  # some steps are subtracted already: handle it separately and write it back below
            catch_up(actions, a)
            actions.scratch[a] = actions.left[a]
    for k in range(0, STEPS, 8):  # eight at a time, so that the rest of an action stays in a register
        s0, s1, s2, s3 = actions.steps[k], actions.steps[k + 1], actions.steps[k + 2], actions.steps[k + 3]
        s4, s5, s6, s7 = actions.steps[k + 4], actions.steps[k + 5], actions.steps[k + 6], actions.steps[k + 7]
        for a in range(count):
            rate = actions.rates[a]
            left = actions.left[a] - rate * s0 - rate * s1 - rate * s2 - rate * s3
            actions.left[a] = left - rate * s4 - rate * s5 - rate * s6 - rate * s7
    for a in range(count):
        if actions.heap[a].since > 0:
            actions.left[a], actions.heap[a].since = actions.scratch[a], 0
    pace.steps = 0
    pace.settlements += 1
    if pace.settlements == SETTLEMENTS:
        pace.settlements = 0
        for a in range(count):  # into the heap of those before it
            actions.heap[a].date, pace.count = date_of(actions, a), a + 1
            sift(actions, a)


@compiled
def following(actions: Actions, place: int, until: float) -> int:
    """Return the next place, in heap order from the root, whose action may end until a date; -1 after the last one."""
    count = actions.pace[0].count
    child = 2 * place + 1
    if child < count and actions.heap[child].date <= until:
        return child
    if child + 1 < count and actions.heap[child + 1].date <= until:
        return child + 1
    while place > 0:
        if place & 1 == 1 and place + 1 < count and actions.heap[place + 1].date <= until:
            return place + 1
        place = (place - 1) >> 1
    return -1


@compiled
def shortest(actions: Actions, step: float) -> float:
    """Return the seconds until the action that ends next, at most *step*."""
    now = actions.pace[0].now
    place = 0 if actions.pace[0].count > 0 and actions.heap[0].date <= (now + step) * ROUNDED else -1
    while place >= 0:
        catch_up(actions, place)
        step = min(step, actions.left[place] / actions.rates[place])
        place = following(actions, place, (now + step) * ROUNDED)
    return step


@compiled
def note_end(actions: Actions, owner: int, made: int) -> None:
    """Record that an action ends in this step, in the order of creation."""
    pace = actions.pace[0]
    place = pace.ended
    pace.ended += 1
    while place > 0 and actions.made_ended[place - 1] > made:
        actions.made_ended[place], actions.ended[place] = actions.made_ended[place - 1], actions.ended[place - 1]
        place -= 1
    actions.made_ended[place], actions.ended[place] = made, owner


@compiled
def note_ends(actions: Actions) -> None:
    """Record which actions end now, and remove the calls among them."""
    until = actions.pace[0].now * ROUNDED
    place = 0 if actions.pace[0].count > 0 and actions.heap[0].date <= until else -1
    while place >= 0:
        catch_up(actions, place)
        action = actions.heap[place]
        if actions.left[place] < (WORK_PRECISION if is_task(action.owner) else TIMER_PRECISION):
            note_end(actions, action.owner, action.made)
        place = following(actions, place, until)
    for i in range(actions.pace[0].ended):
        if actions.ended[i] == CALL:
            remove_numbered(actions, actions.made_ended[i])


@inlined
def take_step(actions: Actions) -> bool:
    """Move the clock to the end of the action that ends next, and record what ends there; False if nothing does."""
    step = next_step(actions)
    if step == np.inf:
        return False
    pass_step(actions, step)
    return True


@inlined
def next_step(actions: Actions) -> float:
    """Return the seconds until the action that ends next, infinite for none."""
    pace = actions.pace[0]
    step = min(pace.submission, pace.answer, pace.latency, pace.arrival)
    if pace.count > 0 and actions.heap[0].date <= (pace.now + step) * ROUNDED:
        step = shortest(actions, step)
    return float(step)


@inlined
def pass_step(actions: Actions, step: float) -> None:
    """Move the clock by a step, after which no action would have ended before, and record what ends there."""
    pace = actions.pace[0]
    pace.ended = 0
    pace.now += step
    actions.steps[pace.steps] = step
    pace.steps += 1
    pace.submission -= step
    pace.answer -= step
    pace.latency -= step
    pace.message -= pace.speed * step
    if pace.submission < TIMER_PRECISION:
        pace.submission = np.inf
        note_end(actions, SUBMISSION, pace.submission_made)
    if pace.answer < TIMER_PRECISION:
        pace.answer = np.inf
        note_end(actions, ANSWER, pace.answer_made)
    if pace.latency < TIMER_PRECISION:
        pace.latency, pace.speed = np.inf, pace.speed_then
    if pace.message < WORK_PRECISION:
        pace.message = pace.arrival = np.inf
        note_end(actions, MESSAGE, pace.message_made)
    elif pace.message < np.inf:
        note_arrival(actions)
    if pace.count > 0 and actions.heap[0].date <= pace.now * ROUNDED:
        note_ends(actions)
    if pace.steps == STEPS:
        settle(actions)
