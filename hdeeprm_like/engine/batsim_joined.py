"""Speed and power of the cores of a job on Batsim's clock where equal words are joined, see `joined_words`."""

from typing import Any

from hdeeprm_like.engine.compiled import count_bits, inlined
from hdeeprm_like.engine.cores import begin_words
from hdeeprm_like.engine.joined_words import MANY, head_of, last_word, run_from
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.engine.words import BITS, bits, common_pstate, of_pstate

FASTEST = 1e300  # flop/s, faster than any core


@inlined
def speed_and_power_joined(tables: Tables, j: int, measures: bool) -> tuple[float, float]:
    """Return what `batsim_work.speed_and_power` does."""
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
