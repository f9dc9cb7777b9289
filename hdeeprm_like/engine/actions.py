"""What takes time in SimGrid, to the last bit of its sums: sleeps, parallel tasks, and the message on the way.

SimGrid looks for the action that ends next, adds the seconds until then to its clock, and takes that step off what is
left of every action; those with less than 1e-9 s or 1e-14 of their work left end together. Each of these additions
rounds. At a nominal tie the rounding errors say what happens first, and beyond a million seconds a message no longer
moves the clock at all. So every action here has every step taken off, one after the other, with the same roundings.

To do so costs little: steps are written down, and taken off all actions at once when there are many (``settle``), or
earlier off those that may end now (``catch_up``). Which these are, a heap knows: of dates before which an action cannot
end however the sums round. Source: SimGrid 3.32, host model ptask_L07, ``update_actions_state``.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.types import Floats, Ints, Records

TIMER_PRECISION = 1e-9  # s
WORK_PRECISION = 1e-14  # share of the whole work

STEPS = 64  # that are written down before they are taken off all actions
SETTLEMENTS = 64  # after which the dates of the heap are found again
# In STEPS * SETTLEMENTS = 4096 steps, of which each rounds a share of at most 1 by 2**-54, a sum of shares is wrong by
# 2.3e-13, and one of seconds by that part of itself.
ROUNDED = 1.0 + 2e-12
SHARE_SLACK, TIMER_SLACK = 1e-12, 2e-9

NOBODY = -1  # who waits, where nobody does
CALL = -2  # who waits: not a job's action, but the end of a wait that the decision system asked for

PACE = np.dtype(
    [
        ("now", "f8"),  # s, SimGrid's clock
        ("count", "i8"),  # of the actions
        ("steps", "i8"),  # written down
        ("settlements", "i8"),  # since the dates were found
        ("created", "i8"),  # actions ever; those that end together do so in the order in which they were created
        ("submission", "f8"),  # s left until the submitter wakes up, infinite while it does not sleep
        ("submission_made", "i8"),  # its number among the created ones
        ("answer", "f8"),  # the same of the answerer
        ("answer_made", "i8"),
        ("latency", "f8"),  # s left of the message on the way, infinite without one or when it is through
        ("message", "f8"),  # share of its byte left, infinite without one
        ("speed", "f8"),  # 1/s of that, 0 until the latency is over
        ("speed_then", "f8"),  # 1/s after it
        ("message_made", "i8"),
        ("ended", "i8"),  # used entries of Actions.ended
    ],
    align=True,
)

SUBMISSION, ANSWER, MESSAGE = -3, -4, -5  # what has ended, beside actions of jobs and CALL


class Actions(Bundle):
    """The actions of one simulation; A is room for all that there can be at once.

    The columns are a heap by date. An owner is twice the row of a job, 1 more for its timer, or CALL.

    Attributes:
        pace: (1,) PACE.
        dates: (A,) s, before which an action cannot end. left, rates: (A,) share and 1/s of a task, s and 1 of a timer.
        made: (A,) number among the created ones. since: (A,) the first step that is not yet taken off.
        owners: (A,). places: (2 J,) where the actions of jobs are, -1 for none.
        steps: (STEPS,) s, written down. scratch: (A,).
        ended: (A,) owners of what ends in this step, made_ended: (A,) and their numbers.
    """

    pace: Records
    dates: Floats
    left: Floats
    rates: Floats
    made: Ints
    since: Ints
    owners: Ints
    places: Ints
    steps: Floats
    scratch: Floats
    ended: Ints
    made_ended: Ints


def calls_at_once(jobs: int) -> int:
    """Return how many calls can be under way at once in a simulation of some jobs.

    The decision system asks for one at an instant at most, and calls that end at once make one instant. The others:
    each job comes, ends, may be killed, and changes the P-states of its cores when it starts and when it ends.
    """
    return 5 * jobs + 8


def new_actions(jobs: int) -> Actions:
    """Return the actions of a simulation of some jobs before its first event."""
    room = 2 * jobs + calls_at_once(jobs)  # a job has two
    pace = np.zeros(1, PACE)
    for name in ("submission", "answer", "latency", "message"):
        pace[name] = np.inf
    floats = [np.zeros(room) for _ in range(4)]
    words = [np.zeros(room, np.int64) for _ in range(5)]
    return Actions(
        pace=pace,
        dates=floats[0],
        left=floats[1],
        rates=floats[2],
        made=words[0],
        since=words[1],
        owners=words[2],
        places=np.full(2 * jobs, -1, np.int64),
        steps=np.zeros(STEPS),
        scratch=floats[3],
        ended=words[3],
        made_ended=words[4],
    )


@inlined
def number(actions: Actions) -> int:
    """Return the number of an action that is created now."""
    actions.pace[0].created += 1
    return int(actions.pace[0].created)


# --- the heap


@inlined
def date_of(actions: Actions, place: int) -> float:
    """Return a date before which an action cannot end; all steps are taken off it."""
    left, rate = actions.left[place], actions.rates[place]
    slack = SHARE_SLACK if actions.owners[place] >= 0 and actions.owners[place] & 1 == 0 else TIMER_SLACK + left * 1e-12
    return float(actions.pace[0].now + (left - slack) / rate)


@inlined
def move(actions: Actions, source: int, place: int) -> None:
    """Copy an action to another place."""
    actions.dates[place], actions.left[place] = actions.dates[source], actions.left[source]
    actions.rates[place], actions.made[place] = actions.rates[source], actions.made[source]
    actions.since[place] = actions.since[source]
    owner = actions.owners[place] = actions.owners[source]
    if owner >= 0:
        actions.places[owner] = place


@inlined
def sift(actions: Actions, place: int) -> None:
    """Bring the action at a place where it belongs."""
    count, date = actions.pace[0].count, actions.dates[place]
    left, rate, made = actions.left[place], actions.rates[place], actions.made[place]
    since, owner = actions.since[place], actions.owners[place]
    while place > 0 and date < actions.dates[(place - 1) >> 1]:
        move(actions, (place - 1) >> 1, place)
        place = (place - 1) >> 1
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and actions.dates[child + 1] < actions.dates[child]:
            child += 1
        if actions.dates[child] >= date:
            break
        move(actions, child, place)
        place = child
    actions.dates[place], actions.left[place], actions.rates[place] = date, left, rate
    actions.made[place], actions.since[place], actions.owners[place] = made, since, owner
    if owner >= 0:
        actions.places[owner] = place


@inlined
def add(actions: Actions, owner: int, left: float, rate: float) -> None:
    """Create an action: work of which a share is *left*, or a timer of so many seconds, whose rate is 1."""
    pace = actions.pace[0]
    place = pace.count
    pace.count += 1
    actions.left[place], actions.rates[place], actions.owners[place] = left, rate, owner
    actions.made[place], actions.since[place] = number(actions), pace.steps
    actions.dates[place] = date_of(actions, place)
    sift(actions, place)


@inlined
def remove_at(actions: Actions, place: int) -> None:
    """Take the action at a place away."""
    pace, owner = actions.pace[0], actions.owners[place]
    if owner >= 0:
        actions.places[owner] = -1
    pace.count -= 1
    if place < pace.count:
        move(actions, pace.count, place)
        sift(actions, place)


@inlined
def remove_call(actions: Actions, made: int) -> None:
    """Take the call away that was created with a number."""
    for place in range(actions.pace[0].count):
        if actions.made[place] == made:
            remove_at(actions, place)
            return


@inlined
def set_rate(actions: Actions, place: int, rate: float) -> None:
    """Let the task at a place go on at another rate."""
    catch_up(actions, place)
    actions.rates[place] = rate
    actions.dates[place] = date_of(actions, place)
    sift(actions, place)


# --- steps


@inlined
def catch_up(actions: Actions, place: int) -> None:
    """Take all steps off one action."""
    left, rate = actions.left[place], actions.rates[place]
    for k in range(actions.since[place], actions.pace[0].steps):
        left -= rate * actions.steps[k]
    actions.left[place], actions.since[place] = left, actions.pace[0].steps


@inlined
def settle(actions: Actions) -> None:
    """Take the steps that are written down, STEPS of them, off all actions, and forget them."""
    pace = actions.pace[0]
    count = pace.count
    for a in range(count):
        if actions.since[a] > 0:  # some are taken off already: it is done by itself, and written back below
            catch_up(actions, a)
            actions.scratch[a] = actions.left[a]
    for k in range(0, STEPS, 8):  # eight at a time: what is left of an action stays in a register meanwhile
        s0, s1, s2, s3 = actions.steps[k], actions.steps[k + 1], actions.steps[k + 2], actions.steps[k + 3]
        s4, s5, s6, s7 = actions.steps[k + 4], actions.steps[k + 5], actions.steps[k + 6], actions.steps[k + 7]
        for a in range(count):
            rate = actions.rates[a]
            left = actions.left[a] - rate * s0 - rate * s1 - rate * s2 - rate * s3
            actions.left[a] = left - rate * s4 - rate * s5 - rate * s6 - rate * s7
    for a in range(count):
        if actions.since[a] > 0:
            actions.left[a], actions.since[a] = actions.scratch[a], 0
    pace.steps = 0
    pace.settlements += 1
    if pace.settlements == SETTLEMENTS:
        pace.settlements = 0
        for a in range(count):
            actions.dates[a] = date_of(actions, a)
        for a in range(count // 2 - 1, -1, -1):
            sift_down(actions, a)


@inlined
def sift_down(actions: Actions, place: int) -> None:
    """Bring the action at a place below those that may end earlier; what is above it is none of its business."""
    count = actions.pace[0].count
    while True:
        child = 2 * place + 1
        if child >= count:
            return
        if child + 1 < count and actions.dates[child + 1] < actions.dates[child]:
            child += 1
        if actions.dates[child] >= actions.dates[place]:
            return
        swap(actions, place, child)
        place = child


@inlined
def swap(actions: Actions, one: int, other: int) -> None:
    """Let two actions change places."""
    last = actions.pace[0].count  # room for one more: there is always more than there are actions
    move(actions, one, last)
    move(actions, other, one)
    move(actions, last, other)


@inlined
def following(actions: Actions, place: int, until: float) -> int:
    """Return the next place, from the root on, of those that may end until a date; -1 behind the last one."""
    count = actions.pace[0].count
    child = 2 * place + 1
    if child < count and actions.dates[child] <= until:
        return child
    if child + 1 < count and actions.dates[child + 1] <= until:
        return child + 1
    while place > 0:
        if place & 1 == 1 and place + 1 < count and actions.dates[place + 1] <= until:
            return place + 1
        place = (place - 1) >> 1
    return -1


@inlined
def shortest(actions: Actions, step: float) -> float:
    """Return the s until the action that ends next, at most *step*."""
    now = actions.pace[0].now
    place = 0 if actions.pace[0].count > 0 and actions.dates[0] <= (now + step) * ROUNDED else -1
    while place >= 0:
        catch_up(actions, place)
        step = min(step, actions.left[place] / actions.rates[place])
        place = following(actions, place, (now + step) * ROUNDED)
    return step


@inlined
def note_end(actions: Actions, owner: int, made: int) -> None:
    """Write down that something ends in this step, in the order in which it was created."""
    pace = actions.pace[0]
    place = pace.ended
    pace.ended += 1
    while place > 0 and actions.made_ended[place - 1] > made:
        actions.made_ended[place], actions.ended[place] = actions.made_ended[place - 1], actions.ended[place - 1]
        place -= 1
    actions.made_ended[place], actions.ended[place] = made, owner


@inlined
def note_ends(actions: Actions) -> None:
    """Write down which actions end now, and take the calls among them away."""
    until = actions.pace[0].now * ROUNDED
    place = 0 if actions.pace[0].count > 0 and actions.dates[0] <= until else -1
    while place >= 0:
        catch_up(actions, place)
        owner = actions.owners[place]
        precision = WORK_PRECISION if owner >= 0 and owner & 1 == 0 else TIMER_PRECISION
        if actions.left[place] < precision:
            note_end(actions, owner, actions.made[place])
        place = following(actions, place, until)
    for i in range(actions.pace[0].ended):
        if actions.ended[i] == CALL:
            remove_call(actions, actions.made_ended[i])


@inlined
def take_step(actions: Actions) -> bool:
    """Move the clock to the end of the action that ends next, and write down what ends there; False if nothing does."""
    pace = actions.pace[0]
    pace.ended = 0
    step = min(pace.submission, pace.answer, pace.latency, pace.message / pace.speed)
    if pace.count > 0 and actions.dates[0] <= (pace.now + step) * ROUNDED:
        step = shortest(actions, step)
    if step == np.inf:
        return False
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
        pace.message = np.inf
        note_end(actions, MESSAGE, pace.message_made)
    if pace.count > 0 and actions.dates[0] <= pace.now * ROUNDED:
        note_ends(actions)
    if pace.steps == STEPS:
        settle(actions)
    return True


@inlined
def take_short_step(actions: Actions, step: float) -> bool:
    """Move the clock by a step; False, and nothing is moved, if the submitter or an action may end by then.

    What does end then is up to the caller, who knows of the message on the way and of the answerer.
    """
    pace = actions.pace[0]
    now = pace.now + step
    if pace.submission - step < TIMER_PRECISION or (pace.count > 0 and actions.dates[0] <= now * ROUNDED):
        return False
    pace.now = now
    actions.steps[pace.steps] = step
    pace.steps += 1
    pace.submission -= step
    if pace.steps == STEPS:
        settle(actions)
    return True
