"""Sessions in which jobs only delay, compute and send one another bytes, played in machine code.

The machine code does what the actors do, and says what to report to the scheduler. Some decisions it leaves to the
`Server`, valid or not: then the session is played again from its beginning, with the replies so far, and goes on there.
"""

from collections import deque
from functools import partial

from hdeeprm_like.batsim_server.jobs import Profile
from hdeeprm_like.batsim_server.profile_types.computing import COMPUTING, PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.server import Ask, Server
from hdeeprm_like.batsim_server.silent_decisions import is_possible, way_to_server
from hdeeprm_like.batsim_server.silent_session import Advance, MakeAdvance, SilentSession
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.engine.light_library import function_of
from hdeeprm_like.engine.silent_layout import Memory


def machine_code() -> MakeAdvance | None:
    """Return what makes `silent_clock.advance` for a session's memory, if a library of machine code has it."""
    function = function_of("hdeeprm_like.engine.silent_clock", "advance")
    if function is None:
        return None

    def make_advance(memory: Memory) -> Advance:
        return partial(function, memory.address())

    return make_advance


def is_silent(simulation: Simulation) -> bool:
    """Return whether jobs only delay, compute and send, each alone on its machines, and nothing else takes part."""
    options, machines = simulation.options, simulation.machines.all
    if not simulation.engine.is_usual or options.compute_sharing or simulation.events:
        return False
    if options.dynamic_jobs or simulation.workflows or simulation.exact_timeouts:
        return False
    if len(simulation.workloads) != 1 or not simulation.workloads[0]:
        return False
    if not machines or any(machine.stores for machine in machines):
        return False
    if not is_possible(way_to_server(simulation, simulation.master)):
        return False
    if options.energy and not all(machine.computes_in(machine.pstate) for machine in machines):
        return False
    to_itself = simulation.network.message_work(simulation.master, simulation.master, 1.0)
    if not simulation.quiet and (to_itself.latency or to_itself.weights.keys() != {simulation.network.loopback}):
        return False
    used = simulation.profiles["w0"].values()
    return all(profile.type in (DELAY, *COMPUTING) and profile.ret >= 0 and _is_usual(profile) for profile in used)


def _is_usual(profile: Profile) -> bool:
    """Return whether no rank of a job sends itself anything, which may share the capacity of the server's host."""
    if profile.type is not PARALLEL:
        return True
    return not any(profile.parameters.bytes[:: len(profile.parameters.flops) + 1])


def run(simulation: Simulation, ask: Ask) -> bool:
    """Run a simulation, in machine code if it is silent and there is any; return whether it ended or got stuck.

    Raises:
        ProtocolError: the scheduler sent something on which Batsim would abort.
    """
    make_advance = machine_code() if is_silent(simulation) else None
    return Server(simulation, ask).run() if make_advance is None else run_silent(simulation, ask, make_advance)


def run_silent(simulation: Simulation, ask: Ask, make_advance: MakeAdvance) -> bool:
    """Run a silent simulation; return whether it ended rather than got stuck.

    Raises:
        ProtocolError: the scheduler sent something on which Batsim would abort.
    """
    session = SilentSession(simulation, ask, make_advance)
    try:
        ended = session.run()
    except BaseException:
        session.note_results()
        raise
    if ended is None:
        replies = deque(session.replies)
        simulation.scheduling_time = session.scheduling_time
        return Server(simulation, lambda text: replies.popleft() if replies else ask(text)).run()
    session.note_results()
    return ended
