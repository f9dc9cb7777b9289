"""The smaller actors on Batsim's clock: the submitter, the callers (one per requested call), and the killer."""

from hdeeprm_like.engine.batsim_actors import (
    CALLED,
    CALLER,
    JOBS,
    KILLER,
    KILLS_DONE,
    NO_MORE,
    SKIP,
    SLEEP,
    STOP,
    SUBMIT,
    SUBMITTER,
    BatsimClock,
    issue,
    look_at_all,
    rounds_to_look,
    send,
    wake,
)
from hdeeprm_like.engine.batsim_jobs import AWAKE, GONE, end_timer, finish
from hdeeprm_like.engine.batsim_work import end_work
from hdeeprm_like.engine.compiled import inlined
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import KILLED, Simulation

# Stages: what each does at its next turn
GREETED, SUBMITTED, ARRIVED, GATHER = 0, 1, 2, 3  # the submitter
CHOOSE, STOPPED, LOOK_AT_ENERGY, READ = 0, 1, 2, 3  # the killer


# --- the submitter


@inlined
def run_submitter(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Run the submitter: submit the jobs of one time, or wait for the next time.

    It does not read the clock again after submitting, which delays the next date by the time of the message.
    """
    talk, sim, now = timing.talk[0], simulation.sim[0], timing.actions.pace[0].now
    if talk.submitter_stage in (GREETED, ARRIVED):
        talk.reached = now
    if talk.submitter_stage in (GREETED, SUBMITTED):
        if sim.next_job == sim.jobs:
            send(timing, SUBMITTER, NO_MORE, 0)
            return
        if simulation.submit[sim.next_job] > talk.reached:
            talk.submitter_stage = ARRIVED
            issue(timing, SUBMITTER, SLEEP)
            return
    if talk.submitter_stage != GATHER:
        talk.submitter_stage = GATHER
        first = sim.next_job == 0  # Batsim reads the energy before
        talk.submitter_rounds = rounds_to_look(tables, timing) if first else 0
    if talk.submitter_rounds > 0:
        talk.submitter_rounds -= 1
        issue(timing, SUBMITTER, SKIP)
        return
    if sim.next_job == 0:
        look_at_all(timing)
    gather(simulation, timing)
    send(timing, SUBMITTER, SUBMIT, 0)


@inlined
def gather(simulation: Simulation, timing: BatsimClock) -> None:
    """Collect the jobs of the time that the submitter has reached, to submit them together."""
    talk, sim = timing.talk[0], simulation.sim[0]
    talk.batch = 1
    while sim.next_job + talk.batch < sim.jobs and simulation.submit[sim.next_job + talk.batch] <= talk.reached:
        talk.batch += 1
    sim.next_job += talk.batch
    talk.submitter_stage = SUBMITTED


# --- the callers and the killer


@inlined
def run_caller(timing: BatsimClock, actor: int) -> None:
    """Run a caller: begin its wait, or report to the server that its time has come."""
    if actor == CALLER:
        issue(timing, actor, SLEEP)
    else:
        send(timing, actor, CALLED, 0)


@inlined
def run_killer(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """Run the killer: end the next running job, or report to the server that all are done.

    To read the progress of a job that computes takes a round; its own actor reads the energy then.
    """
    talk, sim = timing.talk[0], simulation.sim[0]
    if talk.killer_stage == READ:
        talk.killer_stage = STOPPED
        issue(timing, KILLER, STOP)
        return
    if talk.killer_stage == STOPPED:
        j = simulation.kills[talk.killer_at]
        talk.killer_stage, talk.killer_rounds = LOOK_AT_ENERGY, 0
        if simulation.tasks[j].delay >= 0.0:
            finish(tables, simulation, timing, j)
            simulation.tasks[j].stage = GONE
            talk.killer_rounds = rounds_to_look(tables, timing)
    if talk.killer_stage == LOOK_AT_ENERGY:
        if talk.killer_rounds > 0:
            talk.killer_rounds -= 1
            issue(timing, KILLER, SKIP)
            return
        if simulation.tasks[simulation.kills[talk.killer_at]].delay >= 0.0:
            look_at_all(timing)
        simulation.kills[talk.killed] = simulation.kills[talk.killer_at]
        talk.killed += 1
        talk.killer_at += 1
        talk.killer_stage = CHOOSE
    while talk.killer_at < sim.kills and simulation.tasks[simulation.kills[talk.killer_at]].stage != AWAKE:
        talk.killer_at += 1
    if talk.killer_at < sim.kills:
        computes = simulation.tasks[simulation.kills[talk.killer_at]].delay < 0.0
        talk.killer_stage = READ if computes else STOPPED
        issue(timing, KILLER, SKIP if computes else STOP)
    else:
        send(timing, KILLER, KILLS_DONE, 0)


@inlined
def stop(tables: Tables, simulation: Simulation, timing: BatsimClock) -> None:
    """End the action that the current job of the killer waits for."""
    j = simulation.kills[timing.talk[0].killer_at]
    simulation.tasks[j].outcome = KILLED
    end_work(tables, timing, j)
    end_timer(timing, j)
    if simulation.tasks[j].delay < 0.0:
        wake(timing, JOBS + j)
    wake(timing, KILLER)
