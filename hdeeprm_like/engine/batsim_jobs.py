"""Jobs on Batsim's clock: the actor of each job, its speed, and P-states.

A job's progress follows the slowest of its cores and survives P-state changes, as with SimGrid's parallel tasks.
"""

from typing import Any

from hdeeprm_like.cluster.pstates import P1
from hdeeprm_like.engine.actor_fields import AWAKE
from hdeeprm_like.engine.batsim_actors import BatsimClock, look_at_all
from hdeeprm_like.engine.batsim_work import forget_sending, power, power_alike, set_speed, speed_of, works
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, lowest_bit
from hdeeprm_like.engine.core_pstates import pstates_of, put_pstate
from hdeeprm_like.engine.joined_words import MANY, head_of, joins_words, run_from, separate, set_bits
from hdeeprm_like.engine.lifecycle import write_log
from hdeeprm_like.engine.tables import IDLE_CORE, LOG_END, LOG_PSTATE, LOG_REQUEST, LOG_START, PSTATE_BITS, Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.words import bits, common_pstate, highest_bit, of_pstate, stretch_at


@inlined
def has_begun(simulation: Simulation, timing: BatsimClock, j: int) -> bool:
    """Return whether a job runs, or its task continues past its walltime until the server learns of the job's end."""
    stage = simulation.tasks[j].stage
    return bool(stage == AWAKE or (stage > AWAKE and works(timing, j)))


@compiled
def book_energy(tables: Tables, simulation: Simulation, j: int, now: float, pstate: int) -> None:
    """Add the energy of a job's cores until now, if a log is kept, and recompute their power, see `power_alike`."""
    task = simulation.tasks[j]
    if len(tables.log) > 0:
        task.joules += task.watts * (now - task.as_of)
        task.watts = power_alike(tables, j, pstate)
    task.as_of = now


# --- the actor


@compiled
def begin(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Start a job on its cores."""
    task, job, now = simulation.tasks[j], tables.jobs[j], timing.actions.pace[0].now
    task.start = task.as_of = now
    task.watts = task.joules = 0.0
    task.lowest = tables.allocation[job.first].first
    for i in range(job.first + 1, job.first + job.stretches):
        task.lowest = min(task.lowest, tables.allocation[i].first)
    if len(tables.log) > 0:
        task.watts = power(tables, j)
    timing.actions.places[2 * j] = timing.actions.places[2 * j + 1] = -1
    forget_sending(timing, j)


@inlined
def finish(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Release a job's cores on the simulator's clock."""
    task, now = simulation.tasks[j], timing.actions.pace[0].now
    task.joules += task.watts * (now - task.as_of)
    task.as_of = task.finish = now
    write_log(tables, now, LOG_END, j, 0)


@inlined
def look_before(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Read the energy before a job, and log its start."""
    look_at_all(timing)
    write_log(tables, timing.actions.pace[0].now, LOG_START, j, 0)


@inlined
def look_after(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Read the energy after a job."""
    look_at_all(timing)


@inlined
def kills(simulation: Simulation, timing: BatsimClock, j: int) -> bool:
    """Return True: a job that runs can be killed."""
    return True


# --- P-states


@compiled
def find_changes(tables: Tables, timing: BatsimClock) -> None:
    """Count the cores that change to each P-state in this instant, and drop words without any."""
    talk, clock, kept = timing.talk[0], tables.clock[0], 0
    for pstate in range(4):
        talk.changes[pstate] = 0
    if joins_words(tables):
        find_changes_joined(tables, timing)
        return
    p, serving, idle = -1, 0, 0
    for i in range(clock.touched):
        word = tables.words[tables.touched[i]]
        if word.processor != p:
            p = word.processor
            serving, idle = pstates_of(tables, p)
        serve = word.serving & ~of_pstate(word, serving)
        rest = word.cores & ~word.serving & ~of_pstate(word, idle)
        if serve | rest:
            talk.changes[serving] += count_bits(serve)
            talk.changes[idle] += count_bits(rest)
            tables.touched[kept] = tables.touched[i]
            kept += 1
        else:
            word.touched = 0
    clock.touched = kept


@compiled
def apply_pstate(tables: Tables, simulation: Simulation, timing: BatsimClock, pstate: int) -> None:
    """Change cores to a P-state, and recompute the rates of their jobs.

    Each core takes the server one round.
    """
    talk, now, sim = timing.talk[0], timing.actions.pace[0].now, simulation.sim[0]
    request = begin_request(tables, now, pstate, talk.changes[pstate])
    if joins_words(tables):
        change_joined(tables, simulation, timing, request, pstate)
    else:
        change_words(tables, simulation, timing, request, pstate)
    settled = pstate == P1 or talk.changes[P1] == 0
    for i in range(talk.marked):
        j = timing.marked[i]
        simulation.tasks[j].marked = 0
        if simulation.tasks[j].stage == AWAKE:
            book_energy(tables, simulation, j, now, pstate)
        if works(timing, j) and simulation.tasks[j].ops > 0.0:
            set_speed(simulation, timing, j, speed_of(tables, timing, j, settled))
    talk.marked = 0
    sim.grouped_switches += 1
    sim.machine_switches += talk.changes[pstate]
    talk.acknowledged = 1
    talk.server_rounds = talk.changes[pstate]
    look_at_all(timing)


@inlined
def change_words(tables: Tables, simulation: Simulation, timing: BatsimClock, request: int, pstate: int) -> None:
    """Change cores of the touched words to a P-state, and mark the jobs on them."""
    p, serving, idle = -1, 0, 0
    for i in range(tables.clock[0].touched):
        word = tables.words[tables.touched[i]]
        if word.processor != p:
            p = word.processor
            serving, idle = pstates_of(tables, p)
        if pstate not in (serving, idle):
            continue
        changed = (word.serving if pstate == serving else word.cores & ~word.serving) & ~of_pstate(word, pstate)
        if changed == 0:
            continue
        log_pstates(tables, request, word, 1, changed, pstate)
        put_pstate(word, changed, pstate)
        if pstate == serving:
            mark_jobs(tables, simulation, timing, word, changed)


@inlined
def mark(simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Note that the rate of a job must be recomputed."""
    simulation.tasks[j].marked = 1
    timing.marked[timing.talk[0].marked] = j
    timing.talk[0].marked += 1


@inlined
def mark_jobs(tables: Tables, simulation: Simulation, timing: BatsimClock, word: Any, changed: int) -> None:
    """Mark the started jobs on some cores of a word, once each."""
    while changed != 0:
        bit = lowest_bit(changed)
        first = highest_bit(word.begins & bits(0, bit + 1))
        later = word.begins & ~bits(0, bit + 1)
        changed &= 0 if later == 0 else ~bits(0, lowest_bit(later))
        j = tables.owners[word.first + first]
        if not simulation.tasks[j].marked and has_begun(simulation, timing, j):
            mark(simulation, timing, j)


@inlined
def begin_request(tables: Tables, now: float, pstate: int, cores: int) -> int:
    """Log that cores change to a P-state; return the place of that entry."""
    place = tables.clock[0].logged
    write_log(tables, now, LOG_REQUEST, 0, pstate)
    if len(tables.log) > 0:
        tables.log[place].cores = cores
    return int(place)


@inlined
def log_pstates(tables: Tables, request: int, word: Any, words: int, changed: int, pstate: int) -> None:
    """Log that some cores of a word change to a P-state, neighbours with the same former state together.

    Args:
        words: of this one and those behind it that are equal; more than one if all of their cores change alike.
    """
    if len(tables.log) == 0:
        return
    common = common_pstate(word, changed)
    first, end = (0, 4) if common < 0 else (common, common + 1)
    for before in range(first, end):
        cores = changed & of_pstate(word, before)
        while cores != 0:
            bit = lowest_bit(cores)
            count = stretch_at(cores, bit)
            cores &= ~bits(bit, count)
            log_stretch(tables, request, word.first + bit, count * words, (before << PSTATE_BITS) + pstate)


@inlined
def log_stretch(tables: Tables, request: int, first: int, cores: int, value: int) -> None:
    """Log that neighbouring cores change, merged with the entry before where they draw the same power."""
    clock = tables.clock[0]
    if tables.log[request].row > 0:
        entry = tables.log[clock.logged - 1]
        if entry.value == value and entry.row + entry.cores == first and draw_alike(tables, first - 1, first):
            entry.cores += cores
            return
    write_log(tables, tables.log[request].time, LOG_PSTATE, first, value)
    tables.log[clock.logged - 1].cores = cores
    tables.log[request].row += 1


@inlined
def draw_alike(tables: Tables, core: int, other: int) -> bool:
    """Return whether two cores draw the same power in every P-state."""
    p, q = tables.core_processor[core], tables.core_processor[other]
    if p == q:
        return True
    ours, theirs, alike = tables.processors[p], tables.processors[q], True
    for pstate in range(4):
        alike &= ours.watts[pstate] == theirs.watts[pstate]
    return alike


# --- P-states where equal words are joined


@compiled
def find_changes_joined(tables: Tables, timing: BatsimClock) -> None:
    """Count the cores that change to each P-state in this instant, and drop neighbouring words without any."""
    clock, kept = tables.clock[0], 0
    for i in range(clock.touched):
        first, words = tables.touched[i], tables.touched_words[i]
        if count_changes(tables, timing, first, first + words) > 0:
            tables.touched[kept], tables.touched_words[kept] = first, words
            kept += 1
        else:
            set_bits(tables.touching, first, words, False)
    clock.touched = kept


@inlined
def count_changes(tables: Tables, timing: BatsimClock, w: int, end: int) -> int:
    """Count the cores that change in neighbouring words of a processor; return how many do."""
    serving, idle = pstates_of(tables, tables.words[w].processor)
    found = 0
    while w < end:
        words = run_from(tables, w, end) if end - w >= MANY else 1
        word = tables.words[head_of(tables, w)]
        serve = words * count_bits(word.serving & ~of_pstate(word, serving))
        rest = words * count_bits(word.cores & ~word.serving & ~of_pstate(word, idle))
        timing.talk[0].changes[serving] += serve
        timing.talk[0].changes[idle] += rest
        found += serve + rest
        w += words
    return int(found)


@compiled
def change_joined(tables: Tables, simulation: Simulation, timing: BatsimClock, request: int, pstate: int) -> None:
    """Change cores of the touched words to a P-state, and mark the jobs on them."""
    for i in range(tables.clock[0].touched):
        change_span(tables, simulation, timing, i, request, pstate)


@inlined
def change_span(tables: Tables, simulation: Simulation, timing: BatsimClock, i: int, request: int, pstate: int) -> None:
    """Change cores of touched neighbouring words: those that serve jobs, which are marked, or the others."""
    w, last = tables.touched[i], IDLE_CORE
    end = w + tables.touched_words[i]
    of_serving, idle = pstates_of(tables, tables.words[w].processor)
    serving = pstate == of_serving
    while w < end and (serving or pstate == idle):
        word, words = tables.words[head_of(tables, w)], 1
        changed = (word.serving if serving else word.cores & ~word.serving) & ~of_pstate(word, pstate)
        if end - w >= MANY and (changed == 0 or (changed == -1 and common_pstate(word, -1) >= 0)):
            words = run_from(tables, w, end)
        if changed != 0:
            separate(tables, w, w + words)
            word = tables.words[w]
            log_pstates(tables, request, word, words, changed, pstate)
            put_pstate(word, changed, pstate)
            if serving and (word.begins != 1 or tables.owners[word.first] != last):
                mark_jobs(tables, simulation, timing, word, changed)
                last = tables.owners[word.first] if word.begins == 1 else IDLE_CORE
        w += words
