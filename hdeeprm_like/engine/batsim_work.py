"""The work of jobs on Batsim's clock: speed and power of their cores, and their parallel tasks, alone or in a network.

In a network a job that sends has a flow, see `traffic`; its rate follows from what others send. Without one the parts
for it are not compiled.
"""

from typing import Any

from hdeeprm_like.engine.actions import LATENCY, add, add_numbered, number, remove_at, remove_numbered, set_rate
from hdeeprm_like.engine.batsim_actors import TCP_GAMMA, BatsimClock, look_at_cores, rates_change
from hdeeprm_like.engine.compiled import compiled, count_bits, inlined, of_two
from hdeeprm_like.engine.cores import begin_words
from hdeeprm_like.engine.flows import add_load, begin_flow, end_flow, note_changed
from hdeeprm_like.engine.joined_words import MANY, head_of, joins_words, last_word, run_from
from hdeeprm_like.engine.speeds import slowest_share
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.tasks import Simulation
from hdeeprm_like.engine.traffic import forget_flow, has_routes, load_links
from hdeeprm_like.engine.words import BITS, bits, common_pstate, of_pstate

FASTEST = 1e300  # flop/s, faster than any core


@inlined
def works(timing: BatsimClock, j: int) -> bool:
    """Return whether the parallel task of a started job exists."""
    return bool(timing.actions.places[2 * j] >= 0)


@inlined
def speed_and_power(tables: Tables, j: int, measures: bool) -> tuple[float, float]:
    """Return the flop/s of the slowest core of a job, and if that is measured the W of all, in the current P-states."""
    if joins_words(tables):
        return speed_and_power_joined(tables, j, measures)
    job, speed, watts = tables.jobs[j], FASTEST, 0.0
    for i in range(job.first, job.first + job.stretches):
        w, bit, left = begin_words(tables, tables.allocation[i])
        while left > 0:
            word = tables.words[w]
            processor = tables.processors[word.processor]
            count = min(left, count_bits(word.cores) - bit)
            common = common_pstate(word, bits(bit, count))
            if common >= 0:
                speed = min(speed, processor.flops[common])
                watts += count * processor.watts[common] if measures else 0.0
            else:
                speed, watts = add_pstates(word, processor, bits(bit, count), measures, speed, watts)
            w, bit, left = w + 1, 0, left - count
    return speed, watts


@compiled
def slowest(tables: Tables, j: int) -> float:
    """Return the flop/s of the slowest core of a job in the current P-states."""
    return speed_and_power(tables, j, False)[0]


@compiled
def power(tables: Tables, j: int) -> float:
    """Return the W of the cores of a job in the current P-states."""
    return speed_and_power(tables, j, True)[1]


@inlined
def speed_in_full(tables: Tables, timing: BatsimClock, j: int, settled: bool) -> float:
    """Return the flop/s of the slowest core of a job where no speed follows a file."""
    return float(tables.jobs[j].speed) if settled else slowest(tables, j)


@inlined
def speed_at_share(tables: Tables, timing: BatsimClock, j: int, settled: bool) -> float:
    """Return the flop/s of the slowest core of a job where speeds may follow files."""
    if len(timing.speeds.profiles) == 0:
        return speed_in_full(tables, timing, j, settled)
    return slowest_share(tables, timing.speeds, j)


speed_of = of_two(rates_change, speed_at_share, speed_in_full)


@inlined
def power_alike(tables: Tables, j: int, pstate: int) -> float:
    """Return the same, given the P-state of the job's cores if all are on one processor."""
    if len(tables.processors) > 1:
        return power(tables, j)
    job, watts, cores = tables.jobs[j], tables.processors[0].watts[pstate], 0
    for i in range(job.first, job.first + job.stretches):
        cores += tables.allocation[i].cores
    found = cores * watts
    return found if sums_exactly(watts, found) else power(tables, j)


# --- speed and power where equal words are joined


@inlined
def speed_and_power_joined(tables: Tables, j: int, measures: bool) -> tuple[float, float]:
    """Return what `speed_and_power` does where equal words are joined, see `joined_words`."""
    job, speed, watts = tables.jobs[j], FASTEST, 0.0
    for i in range(job.first, job.first + job.stretches):
        w, bit, left = begin_words(tables, tables.allocation[i])
        while left > 0:
            word, processor = tables.words[head_of(tables, w)], tables.processors[tables.words[w].processor]
            count = min(left, count_bits(word.cores) - bit)
            common = common_pstate(word, bits(bit, count))
            if common >= 0:
                more = equal_cores(tables, w, count, left)
                speed = min(speed, processor.flops[common])
                if measures:
                    watts = sum_of(watts, count * processor.watts[common], more // count)
                count = more
            else:
                speed, watts = add_pstates(word, processor, bits(bit, count), measures, speed, watts)
            w, bit, left = w + max(count // BITS, 1), 0, left - count
    return speed, watts


@inlined
def add_pstates(
    word: Any, processor: Any, cores: int, measures: bool, speed: float, watts: float
) -> tuple[float, float]:
    """Return the flop/s of the slowest core so far, and the W so far, with some cores of a word in several P-states."""
    for pstate in range(4):
        found = of_pstate(word, pstate) & cores
        if found:
            speed = min(speed, processor.flops[pstate])
        if measures:
            watts += count_bits(found) * processor.watts[pstate]
    return speed, watts


@inlined
def equal_cores(tables: Tables, w: int, count: int, left: int) -> int:
    """Return how many of the next cores of a job are equal, given *count* in this word: more if it is a whole one."""
    if count < BITS or left < MANY * BITS:
        return count
    return BITS * run_from(tables, w, last_word(tables, w, left // BITS))


@inlined
def sum_of(total: float, part: float, times: int) -> float:
    """Return a total after adding a part some times, rounded each time."""
    found = total + times * part
    if sums_exactly(total, found) and sums_exactly(part, found):
        return found
    for _ in range(times):
        total += part
    return total


@inlined
def sums_exactly(part: float, total: float) -> bool:
    """Return whether sums of multiples of a part, up to a total, never round."""
    large = 4.0 * total
    return (part + large) - large == part


# --- jobs that send nothing


@compiled
def start_alone(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Create the parallel task of a job that sends nothing.

    One without work ends with the next step, which takes no time.
    """
    ops = simulation.tasks[j].ops
    if ops > 0.0:
        add(timing.actions, 2 * j, 1.0, speed_of(tables, timing, j, False) / ops)
    else:
        add(timing.actions, 2 * j, 0.0, 1.0)


@inlined
def end_alone(tables: Tables, timing: BatsimClock, j: int) -> None:
    """Remove the parallel task of a job that sends nothing, if it exists."""
    place = timing.actions.places[2 * j]
    if place >= 0:
        look_at_cores(timing, j)
        remove_at(timing.actions, place)


# --- jobs that send, in a network


@inlined
def no_flow(timing: BatsimClock, j: int) -> None:
    """Do nothing: there is no network."""


@inlined
def forget_flow_of(timing: BatsimClock, j: int) -> None:
    """Note that a job has no flow yet."""
    forget_flow(timing.traffic, j)


@inlined
def set_speed_alone(simulation: Simulation, timing: BatsimClock, j: int, speed: float) -> None:
    """Change the rate of a job that sends nothing."""
    set_rate(timing.actions, timing.actions.places[2 * j], speed / simulation.tasks[j].ops)


@inlined
def set_speed_of_flow(simulation: Simulation, timing: BatsimClock, j: int, speed: float) -> None:
    """Change the speed of a job's cores; the rate of one that sends follows at the next `solve`."""
    traffic = timing.traffic
    if traffic.flows[j + 1].runs:
        traffic.capacities[len(traffic.routes.bandwidth) + j].bound = speed
        note_changed(traffic, j + 1)
    else:
        set_speed_alone(simulation, timing, j, speed)


@compiled
def start_flow(tables: Tables, simulation: Simulation, timing: BatsimClock, j: int) -> None:
    """Create the parallel task of a job, which sends after the latency of its longest route."""
    traffic, size = timing.traffic, simulation.tasks[j].bytes
    flow = traffic.flows[j + 1]
    if size <= 0.0 or tables.jobs[j].size < 2 or not has_routes(traffic):
        start_alone(tables, simulation, timing, j)
        return
    load_links(tables, traffic, j, size)
    if simulation.tasks[j].ops > 0.0:
        add_load(traffic, j + 1, len(traffic.routes.bandwidth) + j, simulation.tasks[j].ops)
    elif flow.first < 0:  # nothing to compute, and no link between cores of one node
        start_alone(tables, simulation, timing, j)
        return
    flow.waits, flow.bound = number(timing.actions), -1.0
    if flow.delay > 0.0:
        flow.bound = TCP_GAMMA / (2.0 * (flow.delay * size))
        add_numbered(timing.actions, LATENCY - j, flow.delay, 1.0, flow.waits)
    else:
        begin_sending(tables, timing, j)


@compiled
def begin_sending(tables: Tables, timing: BatsimClock, j: int) -> None:
    """Start a job's work when its latency is over."""
    traffic = timing.traffic
    traffic.capacities[len(traffic.routes.bandwidth) + j].bound = speed_of(tables, timing, j, False)
    begin_flow(traffic, j + 1)
    add_numbered(timing.actions, 2 * j, 1.0, 0.0, traffic.flows[j + 1].waits)
    traffic.flows[j + 1].waits = 0


@compiled
def stop_flow(tables: Tables, timing: BatsimClock, j: int) -> None:
    """Remove the parallel task of a job, or its latency, if it exists."""
    place, waits = timing.actions.places[2 * j], timing.traffic.flows[j + 1].waits
    if place < 0 and waits == 0:
        return
    look_at_cores(timing, j)
    if place >= 0:
        remove_at(timing.actions, place)
    else:
        remove_numbered(timing.actions, waits)
    if has_routes(timing.traffic):
        end_flow(timing.traffic, j + 1)


start_work = of_two(rates_change, start_flow, start_alone)
end_work = of_two(rates_change, stop_flow, end_alone)
set_speed = of_two(rates_change, set_speed_of_flow, set_speed_alone)
forget_sending = of_two(rates_change, forget_flow_of, no_flow)
