"""Fast path of Batsim's clock: no rounds where the next event is certain.

As a rule one thing happens at a time: a job ends, its message crosses the network, the server receives it and informs
the decision system; the answerer sends one decision after the other, and the server starts a job or changes P-states
before it waits for the next one. The order of turns is known then, so `run_at_once` does what the actors would do
(`batsim_clock`), in the same order and with the same steps of the clock, without a search for ready actors. Where
anything else may happen at the same time, it leaves that time to the rounds: both end in the same state.
"""

import numpy as np

from hdeeprm_like.engine.actions import ROUNDED, STEPS, TIMER_PRECISION, WORK_PRECISION, Actions, number, settle
from hdeeprm_like.engine.actor_fields import (
    ANSWERER,
    ANSWERS,
    ARRIVED,
    ASK,
    AWAKE,
    COME,
    GONE,
    JOBS,
    LISTEN,
    NEXT,
    SENT,
    SERVER,
    SUBMITTED,
)
from hdeeprm_like.engine.actors import gather, set_timer
from hdeeprm_like.engine.batsim_actors import LOOPBACK, BatsimClock, look_at_all, look_at_lowest
from hdeeprm_like.engine.batsim_answers import begin_answer, deliver, find_next
from hdeeprm_like.engine.batsim_jobs import apply_pstate, begin, finish, look_before
from hdeeprm_like.engine.batsim_work import end_work, start_work
from hdeeprm_like.engine.compiled import compiled, inlined
from hdeeprm_like.engine.lifecycle import started_job
from hdeeprm_like.engine.rounds import COMMAND, END, KINDS, NO_MORE, READY, SUBMIT, wake
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import KILLED, Simulation
from hdeeprm_like.engine.turns import get, put, transfer


@compiled
def run_at_once(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Continue while the next event is certain; return True as soon as a decision is due.

    No actor may be ready except jobs, see `only_jobs_end`.
    """
    talk, pace = timing.talk[0], timing.actions.pace[0]
    if talk.ready > 0:
        end_together(tables, simulation, timing)
    while True:
        kind = talk.on_the_way % KINDS
        if pace.message == np.inf:
            if pace.answer < np.inf:
                goes_on = end_sleep(tables, simulation, timing)
            else:
                goes_on = submit_alone(tables, simulation, timing)
        elif pace.answer < np.inf or pace.message != 1.0:
            return False
        elif kind == END:
            goes_on = receive_end(tables, simulation, timing)
        elif kind == READY:
            goes_on = receive_ready(tables, simulation, timing)
        elif talk.messages > 0:
            return False
        elif kind == COMMAND:
            goes_on = receive_commands(tables, simulation, timing)
        elif kind == SUBMIT:
            goes_on = receive_submission(tables, simulation, timing)
        else:
            return False
        if not goes_on:
            return False
        if talk.answerer_stage == ANSWERS:
            return True


@inlined
def take_short_step(actions: Actions, step: float) -> bool:
    """Move the clock by a step; return False, with nothing moved, if the submitter or an action may end by then.

    The caller handles the message under way and the answerer.
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


@inlined
def pass_message(timing: BatsimClock) -> bool:
    """Move the clock until a message on the loopback has arrived; False, with nothing moved, if more may happen."""
    if not take_short_step(timing.actions, 1.0 / LOOPBACK):
        return False
    timing.talk[0].received = timing.talk[0].on_the_way
    timing.actions.pace[0].message = np.inf
    return True


@compiled
def inform_scheduler(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Make the server inform the decision system, if the last answer is applied, and wait again."""
    talk = timing.talk[0]
    if not talk.scheduler_ready:
        talk.server_waits = 1
        return
    talk.scheduler_ready, talk.answerer_stage = 0, ASK
    if deliver(tables, simulation, timing):
        talk.answerer_stage, talk.server_stage = ANSWERS, LISTEN
        wake(timing, ANSWERER)
        wake(timing, SERVER)
    else:
        send_first(tables, simulation, timing)


# --- jobs end and arrive


@inlined
def only_jobs_end(simulation: Simulation, timing: BatsimClock) -> bool:
    """Return whether jobs that have ended are the only ready actors, at the beginning of a round."""
    talk = timing.talk[0]
    if talk.ready == 0 or talk.at > 0:
        return False
    for i in range(talk.ready):
        j = timing.ready[i] - JOBS
        if j < 0 or simulation.tasks[j].stage != AWAKE or simulation.tasks[j].outcome == KILLED:
            return False
    return True


@compiled
def end_together(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Make the ready jobs report their end: each reads the energy for as many rounds."""
    for i in range(timing.talk[0].ready):
        finish(tables, simulation, timing, timing.ready[i] - JOBS)
    look_at_all(timing)
    for i in range(timing.talk[0].ready):
        j = timing.ready[i] - JOBS
        simulation.tasks[j].stage, simulation.tasks[j].rounds = GONE, 0
        put(tables, simulation, timing, j * KINDS + END)
    timing.talk[0].ready = 0


@inlined
def receive_end(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Process the end of a job at the server; return False if more may happen meanwhile."""
    talk, sim, pace = timing.talk[0], simulation.sim[0], timing.actions.pace[0]
    if pace.latency < np.inf:
        if not take_short_step(timing.actions, pace.latency):
            return False
        pace.latency, pace.speed = np.inf, pace.speed_then
    step = 1.0 / pace.speed
    if 1.0 - pace.speed * step >= WORK_PRECISION or not take_short_step(timing.actions, step):
        return False
    pace.message, talk.received = np.inf, talk.on_the_way
    j = talk.on_the_way // KINDS
    look_at_lowest(tables, simulation, timing, j)
    end_work(tables, timing, j)
    simulation.completed[sim.completed] = j
    sim.completed += 1
    if talk.messages > 0:
        get(tables, simulation, timing)
    else:
        inform_scheduler(tables, simulation, timing)
    return True


@inlined
def submit_alone(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Wake the submitter, which submits the jobs of one time; False if it does not sleep, or more may happen."""
    talk, sim, pace = timing.talk[0], simulation.sim[0], timing.actions.pace[0]
    step = pace.submission
    if step == np.inf:
        return False
    pace.submission = np.inf
    if not take_short_step(timing.actions, step):
        pace.submission = step
        return False
    talk.reached = pace.now
    if sim.next_job == 0:
        look_at_all(timing)
    gather(simulation, timing)
    put(tables, simulation, timing, SUBMIT)
    return True


@inlined
def receive_submission(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Process arrivals at the server, and make the submitter wait for the next ones; False if more may happen."""
    talk, sim, pace = timing.talk[0], simulation.sim[0], timing.actions.pace[0]
    more = sim.next_job < sim.jobs
    if talk.submitter_stage != SUBMITTED:
        return False
    if more and simulation.submit[sim.next_job] <= talk.reached:
        return False
    if not pass_message(timing):
        return False
    sim.submitted += talk.batch
    sender_first = talk.sender_first == 1
    if not talk.scheduler_ready and not sender_first:
        talk.server_waits = 1
    if more:
        talk.submitter_stage = ARRIVED
        pace.submission = simulation.submit[sim.next_job] - talk.reached
        pace.submission_made = number(timing.actions)
    else:
        put(tables, simulation, timing, NO_MORE)
    if talk.scheduler_ready:
        inform_scheduler(tables, simulation, timing)
    elif sender_first:
        get(tables, simulation, timing)
    return True


# --- answers


@compiled
def next_message(tables: Tables, simulation: Simulation, timing: BatsimClock) -> int:
    """Return the message with the next decision, or the one that the whole answer is applied."""
    timing.talk[0].answerer_stage = SENT
    return int(timing.talk[0].command * KINDS + COMMAND if find_next(tables, simulation, timing) else READY)


@inlined
def send_next(tables: Tables, simulation: Simulation, timing: BatsimClock, sender_first: bool) -> None:
    """Start the transfer of the next decision, or of the message that the whole answer is applied."""
    transfer(tables, simulation, timing, next_message(tables, simulation, timing), sender_first)


@compiled
def send_first(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Begin an answer: send its first decision, or make the answerer sleep until its date."""
    talk, pace = timing.talk[0], timing.actions.pace[0]
    begin_answer(tables, simulation, timing)
    talk.answerer_stage, talk.command = NEXT, 0
    if talk.answer_date > pace.now:
        talk.answerer_stage = COME
        pace.answer, pace.answer_made = talk.answer_date - pace.now, number(timing.actions)
        get(tables, simulation, timing)
    elif talk.messages == 0:
        send_next(tables, simulation, timing, True)
    else:
        put(tables, simulation, timing, next_message(tables, simulation, timing))
        get(tables, simulation, timing)


@inlined
def end_sleep(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """End the sleep of the answerer and send the next decision; return False if more may happen."""
    talk, pace, step = timing.talk[0], timing.actions.pace[0], timing.actions.pace[0].answer
    if talk.answerer_stage != COME or not talk.server_waits or not take_short_step(timing.actions, step):
        return False
    pace.answer = np.inf
    send_next(tables, simulation, timing, False)
    return True


@inlined
def receive_commands(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Process rejections, starts and P-states at the server, one after the other; False if the first must wait.

    The next decision waits in the mailbox until the server has done the work of a turn; then its sender runs before
    the server. After a rejection the order is as before. What the transfer of a message leaves is only written for the
    one that comes next: another message, or a decision during whose transfer more may happen.
    """
    talk, clock, pace = timing.talk[0], tables.clock[0], timing.actions.pace[0]
    if not is_simple(tables, talk.on_the_way) or talk.answer_date > pace.now or not pass_message(timing):
        return False
    goes_on = True
    while goes_on:
        start = talk.command - clock.rejected_now
        talk.command += 1
        if start < 0:
            announce_next(tables, simulation, timing)
        elif start < clock.started_now:
            start_at_once(tables, simulation, timing, started_job(tables, start))
            talk.sender_first = 1
        else:
            apply_pstate(tables, simulation, timing, start - clock.started_now)
            announce_next(tables, simulation, timing)
            talk.server_rounds, talk.sender_first = 0, 1
        goes_on = is_simple(tables, talk.on_the_way) and take_short_step(timing.actions, 1.0 / LOOPBACK)
    talk.server_waits, pace.message, pace.speed = 0, 1.0, LOOPBACK
    return True


@inlined
def is_simple(tables: Tables, message: int) -> bool:
    """Return whether a message of an answer is a rejection, a start or P-states."""
    clock = tables.clock[0]
    return message % KINDS == COMMAND and message // KINDS < clock.rejected_now + clock.started_now + 4


@inlined
def announce_next(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Make the next decision, or the message that the whole answer is applied, the one under way."""
    timing.talk[0].on_the_way = next_message(tables, simulation, timing)
    timing.actions.pace[0].message_made = number(timing.actions)


@compiled
def start_at_once(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Start a job; the next decision is sent meanwhile, before the work if energy is read."""
    task = simulation.tasks[j]
    begin(tables, simulation, timing, j)
    looks = task.rounds > 0
    if looks:
        announce_next(tables, simulation, timing)
    look_before(tables, simulation, timing, j)
    if task.delay < 0.0:
        start_work(tables, simulation, timing, j)
    else:
        set_timer(simulation, timing, j)
    if not looks:
        announce_next(tables, simulation, timing)
    if task.delay < 0.0:
        set_timer(simulation, timing, j)
    task.stage, task.rounds = AWAKE, 0


@inlined
def receive_ready(tables: Tables, simulation: Simulation, timing: BatsimClock) -> bool:
    """Process at the server that a whole answer is applied; return False if something else happens next.

    The server reports changed P-states, or the end of submissions, if any; mostly the answer to that is empty.
    """
    talk, sim = timing.talk[0], simulation.sim[0]
    news = sim.completed + sim.submitted + sim.called > 0
    if (news and talk.messages == 0) or not pass_message(timing):
        return False
    talk.scheduler_ready = 1
    if talk.messages > 0:
        get(tables, simulation, timing)
    elif talk.acknowledged or sim.over == 1:
        inform_scheduler(tables, simulation, timing)
    else:
        talk.server_waits = 1
    return True
