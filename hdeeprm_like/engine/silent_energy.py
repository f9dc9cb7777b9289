"""The energy of the machines in a silent session, integrated as in `batsim_server.energy`, to the last bit.

A row of ``out_consumed_energy.csv`` has the exact sum of the joules of all machines, rounded once, and where little was
used since the row before, a difference of sums in C's long doubles, which are rounded to 64 bits at each addition.
"""

from math import inf

import numpy as np

from hdeeprm_like.engine.compiled import compiled, inlined, zeros_above
from hdeeprm_like.engine.rounds import MOST_ROUNDS
from hdeeprm_like.engine.silent_session import Session, add_row
from hdeeprm_like.engine.speeds import has_changed, share_of

NOISE = 1e-6  # of two sums that differ by less than this share the rounding shows in the sixth decimal of a mean power
REST = 1e-5  # flop/s of a machine, below which it counts as fully used

FRACTION, HIDDEN, BIAS = (1 << 52) - 1, 1 << 52, 1075  # of a double
FINEST = -80  # binary digits behind the point that a long sum has
ONE, NONE, TOP = np.uint64(1), np.uint64(0), np.uint64(1 << 63)
LAST, LAST_BIT, WORD = np.uint64(63), 63, 64


# --- exact sums


@compiled
def exact_sum(session: Session, count: int) -> float:
    """Return the sum of the first gathered numbers, rounded once.

    The sum so far is kept as partial sums that do not overlap, as in Shewchuk, "Adaptive precision floating-point
    arithmetic" (1997).
    """
    used = 0
    for i in range(count):
        number, kept = session.gathered[i], 0
        for k in range(used):
            part = session.parts[k]
            total = number + part
            rest = part - (total - number) if abs(number) >= abs(part) else number - (total - part)
            if rest != 0.0:
                session.parts[kept] = rest
                kept += 1
            number = total
        session.parts[kept] = number
        used = kept + 1
    return rounded(session, used)


@inlined
def rounded(session: Session, used: int) -> float:
    """Return the sum of the partial sums, rounded half to even: what is below the last bit decides between halves."""
    total, rest, k = 0.0, 0.0, used
    while k > 0 and rest == 0.0:
        k -= 1
        before = total
        total = before + session.parts[k]
        rest = session.parts[k] - (total - before)
    if k > 0 and (session.parts[k - 1] > 0.0) == (rest > 0.0):
        other = total + 2.0 * rest
        if other - total == 2.0 * rest:
            return float(other)
    return float(total)


@inlined
def sum_joules(session: Session) -> float:
    """Return the joules of all machines."""
    for m in range(len(session.machines)):
        session.gathered[m] = session.joules[m]
    return exact_sum(session, len(session.machines))


@compiled
def joules_of(session: Session, j: int) -> float:
    """Return the joules of the machines of a job at their last updates."""
    job = session.tasks[j]
    m = job.first
    for i in range(job.size):
        session.gathered[i] = session.joules[m]
        m = session.machines[m].next
    return exact_sum(session, job.size)


@compiled
def least_watts(session: Session) -> float:
    """Return the W of all machines at their least load."""
    meter = session.meter[0]
    if not meter.least_known:
        for m in range(len(session.machines)):
            machine = session.machines[m]
            session.gathered[m] = session.powers[machine.power + machine.pstate].least
        meter.least, meter.least_known = exact_sum(session, len(session.machines)), 1
    return float(meter.least)


@compiled
def long_difference(session: Session) -> float:
    """Return the joules of all machines less those at the last call, both as sums of long doubles.

    A sum is its first 64 bits and an exponent. Of two sums that differ by more than `NOISE` the difference is not used,
    so it fits into 64 bits.
    """
    bits, exponent = NONE, 0
    for m in range(len(session.joule_bits)):
        word = session.joule_bits[m]
        other, power = (word & FRACTION) | HIDDEN, (word >> 52) - BIAS
        if power < FINEST:
            other, power = other >> min(FINEST - power, LAST_BIT), FINEST
        if other == 0:
            continue
        zeros = zeros_above(other)
        added, power = np.uint64(other) << np.uint64(zeros), power - zeros
        if bits == NONE or power > exponent or (power == exponent and added > bits):
            bits, added, exponent, power = added, bits, power, exponent
        gap, rest = exponent - power, NONE
        if added == NONE or gap > WORD:
            continue
        if gap == WORD:
            added, rest = NONE, added
        elif gap > 0:
            added, rest = added >> np.uint64(gap), added << np.uint64(WORD - gap)
        total = bits + added
        if total < bits:
            rest = (rest >> ONE) | (rest & ONE) | (total << LAST)
            total, exponent = (total >> ONE) | TOP, exponent + 1
        if rest > TOP or (rest == TOP and total & ONE == ONE):
            total += ONE
            if total == NONE:
                total, exponent = TOP, exponent + 1
        bits = total
    meter, before = session.meter[0], session.sum[0]
    more = (bits << np.uint64(min(exponent - meter.exponent, LAST_BIT)) if exponent > meter.exponent else bits) - before
    last = meter.exponent if bits != NONE and before != NONE else exponent
    session.sum[0], meter.exponent = bits, exponent
    return float(float(more) * 2.0 ** float(last))


# --- the power of machines


@inlined
def refresh(session: Session, m: int) -> None:
    """Compute the power of a machine; joules until now must be counted before."""
    machine = session.machines[m]
    power = session.powers[machine.power + machine.pstate]
    used = machine.flops * session.tasks[machine.worker - 1].rate if machine.worker > 0 else 0.0
    full = power.speed * power.cores
    load = min(used / full, 1.0) if full > 0.0 else 1.0
    machine.watts = power.least + load * (power.most - power.least) if load > 0.0 else power.idle


@compiled
def refresh_all(session: Session, j: int) -> None:
    """Compute the power of the machines of a job, if energy is measured."""
    if session.meter[0].measures:
        m = session.tasks[j].first
        for _ in range(session.tasks[j].size):
            refresh(session, m)
            m = session.machines[m].next


@inlined
def update(session: Session, m: int) -> None:
    """Count the joules of a machine until now."""
    count_joules(session, m, session.actions.pace[0].now)


@inlined
def count_joules(session: Session, m: int, date: float) -> None:
    """Count the joules of a machine until a date in s."""
    machine = session.machines[m]
    span = date - machine.seen
    if span > 0.0:
        session.joules[m] += machine.watts * span
        machine.seen = date


@inlined
def core_speed(session: Session, m: int) -> float:
    """Return the flop/s of a core of a machine now."""
    power = session.powers[session.machines[m].power + session.machines[m].pstate]
    return float(power.speed * share_of(session.speeds, m))


@compiled
def end_use(session: Session, j: int) -> None:
    """Count the joules of the machines of a job until now, and end its work on them."""
    job = session.tasks[j]
    m = job.first
    for _ in range(job.size):
        update(session, m)
        session.machines[m].worker = 0
        refresh(session, m)
        m = session.machines[m].next


@compiled
def begin_use(session: Session, j: int) -> float:
    """Begin the work of a job on its machines, and compute its speed there; return the share of it that is left."""
    job, left = session.tasks[j], 0.0
    m = job.first
    for _ in range(job.size):
        session.machines[m].worker = j + 1
        if session.machines[m].flops > 0.0:
            left = 1.0
        m = session.machines[m].next
    compute_rate(session, j)
    return left


@compiled
def compute_rate(session: Session, j: int) -> None:
    """Compute the share of its work that a job does per s, and the power of its machines."""
    job = session.tasks[j]
    rate, least, limit, rest, m = 1.0, inf, inf, 0.0, job.first
    for _ in range(job.size):
        machine = session.machines[m]
        if machine.flops > 0.0:
            cores, core = session.powers[machine.power + machine.pstate].cores, core_speed(session, m)
            speed = core * cores
            if speed / machine.flops < least:
                rate = least = speed / machine.flops
                rest = speed - machine.flops * least
            if cores > 1.0:
                limit = min(limit, core / machine.flops)
        m = machine.next
    if limit <= least and limit < inf:
        rate, rest = limit, 0.0
    job.rate = rate if rest < REST else rate_in_steps(session, j, limit)
    refresh_all(session, j)


@compiled
def rate_in_steps(session: Session, j: int, limit: float) -> float:
    """Return the rate of a job where rounding leaves a rest of each machine: that is offered again, as in SimGrid.

    Args:
        limit: 1/s, by the speed of single cores.
    """
    job, rate, grows = session.tasks[j], 0.0, True
    m = job.first
    for i in range(job.size):
        power = session.powers[session.machines[m].power + session.machines[m].pstate]
        session.gathered[i] = core_speed(session, m) * power.cores
        m = session.machines[m].next
    while grows:
        step, m = inf, job.first
        for i in range(job.size):
            if session.machines[m].flops > 0.0:
                step = min(step, session.gathered[i] / session.machines[m].flops)
            m = session.machines[m].next
        step = min(step, limit - rate)
        rate += step
        grows = rate != limit and step > 0.0
        m = job.first
        for i in range(job.size):
            if session.machines[m].flops > 0.0:
                session.gathered[i] -= session.machines[m].flops * step
                grows = grows and session.gathered[i] >= REST
            m = session.machines[m].next
    return rate


@compiled
def set_pstate(session: Session, m: int, pstate: int) -> None:
    """Change the P-state of a machine; the speed of its job is computed before the clock moves."""
    update(session, m)
    session.machines[m].pstate = pstate
    session.meter[0].least_known = 0
    refresh(session, m)
    note_change(session, m)


@compiled
def note_changes(tables: Session, simulation: Session, session: Session) -> None:
    """Note the machines whose speed has just changed, whose joules until then are counted."""
    for m in range(len(session.machines)):
        if has_changed(session.speeds, m):
            if session.meter[0].measures:
                count_joules(session, m, session.speeds.changes[0].latest)
            if session.meter[0].measures and not session.meter[0].judged:
                refresh(session, m)
            note_change(session, m)


@inlined
def note_change(session: Session, m: int) -> None:
    """Note that the speed of the job on a machine is to be computed before the clock moves."""
    talk, machine = session.talk[0], session.machines[m]
    if machine.worker > 0 and not session.tasks[machine.worker - 1].changed:
        session.tasks[machine.worker - 1].changed = 1
        session.changed[talk.changed] = machine.worker - 1
        talk.changed += 1


# --- looks at all machines


@compiled
def look_again(session: Session) -> int:
    """Return how many rounds it takes an actor to look at the energy: one for each machine not updated now."""
    meter, now, late = session.meter[0], session.actions.pace[0].now, 0
    if not meter.measures or meter.date == now:
        return 0
    for m in range(len(session.machines)):
        if session.machines[m].seen < now:
            late += 1
            if late == MOST_ROUNDS:
                break
    return late


@compiled
def look(session: Session) -> float:
    """Count the joules of all machines until now; return their sum."""
    meter, now = session.meter[0], session.actions.pace[0].now
    if meter.date != now:
        for m in range(len(session.machines)):
            machine = session.machines[m]
            session.joules[m] += machine.watts * (now - machine.seen)
            machine.seen = now
        meter.date, meter.joules = now, sum_joules(session)
    if not meter.judged:
        meter.judged = 1
        for m in range(len(session.machines)):
            refresh(session, m)
    return float(meter.joules)


@compiled
def trace(session: Session, kind: int, number: int) -> None:
    """Add a row of the energy used so far, and of the mean power since the row before, -1 if no time has passed."""
    joules, meter, row = look(session), session.meter[0], session.rows[session.talk[0].rows]
    add_row(session, kind, number)
    row.watts = -1.0
    span = row.time - meter.noted
    if span > 0.0:
        more, difference = joules - meter.noted_joules, long_difference(session)
        row.watts = (more if more > NOISE * joules else difference) / span
    meter.noted, meter.noted_joules = row.time, joules
    row.joules, row.least = joules, least_watts(session)
