"""A whole run under a baseline on the embedded simulator, in compiled code."""

from collections.abc import Iterator

from hdeeprm_like.cluster.kernels import log_blocked, room_for_an_instant
from hdeeprm_like.cluster.tables import Tables
from hdeeprm_like.compiled import compiled
from hdeeprm_like.decision.backfill import decide
from hdeeprm_like.decision.orders import Plan
from hdeeprm_like.drivers.server_clock import begin_answer, next_message, take_news
from hdeeprm_like.drivers.simulator import INSTANTS_AT_A_TIME, Simulator
from hdeeprm_like.drivers.tasks import Simulation


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
