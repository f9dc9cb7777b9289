"""A whole run under a baseline on the embedded simulator, in compiled code."""

from collections.abc import Iterator

from hdeeprm_like.decision.policies.easy import decide
from hdeeprm_like.decision.policies.priorities import Plan
from hdeeprm_like.engine.batsim_clock import begin_answer, next_message, take_news
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.event_clock import Clockwork, Textbook, begin, next_event
from hdeeprm_like.engine.lifecycle import log_blocked, receive, room_for_an_instant
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.run.simulator import INSTANTS_AT_A_TIME, Simulator


def run_planned(simulator: Simulator, plan: Plan) -> Iterator[int]:
    """Run to the end under a baseline; yield now and then how many jobs are over."""
    state = simulator.state
    clock = state.tables.clock[0]
    while run_plan(state.tables, simulator.simulation, plan, INSTANTS_AT_A_TIME):
        state.make_room()
        yield int(clock["completed"] + clock["rejected"])
    yield int(clock["completed"] + clock["rejected"])


@compiled
def run_plan(t: Tables, s: Simulation, plan: Plan, instants: int) -> bool:
    """Run so many instants under a baseline, fewer if the log gets full; False at the end of the simulation."""
    for _ in range(instants):
        if len(t.log) > 0 and t.clock[0].logged + room_for_an_instant(t) > len(t.log):
            break
        if not next_message(t, s):
            return False
        take_news(t, s)
        decide(t, plan)
        log_blocked(t)
        begin_answer(t, s)
    return True


def run_on_events(driver: Textbook, plan: Plan) -> Iterator[int]:
    """Run to the end under a baseline on the clock of events; yield now and then how many jobs are over."""
    state = driver.state
    clock = state.tables.clock[0]
    while run_textbook(state.tables, driver.simulation, driver.clockwork, plan, INSTANTS_AT_A_TIME):
        state.make_room()
        yield int(clock["completed"] + clock["rejected"])
    yield int(clock["completed"] + clock["rejected"])


@compiled
def run_textbook(t: Tables, s: Simulation, c: Clockwork, plan: Plan, instants: int) -> bool:
    """Run so many instants under a baseline, fewer if the log gets full; False at the end of the simulation."""
    sim = s.sim[0]
    for _ in range(instants):
        if len(t.log) > 0 and t.clock[0].logged + room_for_an_instant(t) > len(t.log):
            break
        if not next_event(t, s, c):
            return False
        receive(t, sim.clock, s.completed[: sim.completed], sim.submitted, sim.over == 1)
        decide(t, plan)
        log_blocked(t)
        begin(t, s, c)
    return True
