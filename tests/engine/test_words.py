"""Cores in words and stretches, against sets of cores."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import jobs, jobs_in_words, platform

from hdeeprm_like.cluster.pstates import P0, P2, P3
from hdeeprm_like.engine import tables
from hdeeprm_like.engine.allocation import choose_cores
from hdeeprm_like.engine.compiled import compiled, count_bits, lowest_bit
from hdeeprm_like.engine.cores import available_in, set_available
from hdeeprm_like.engine.lifecycle import receive, start_job
from hdeeprm_like.engine.numbers import FIRST_FIT
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import IDLE_CORE, NOTHING
from hdeeprm_like.engine.words import LARGE, bits, highest_bit, of_cores, stretch_at, without_lowest
from hdeeprm_like.results.core_intervals import intervals_of
from hdeeprm_like.results.job_lines import interval_sets

sizes = st.lists(st.sampled_from([1, 5, 63, 64, 65, 128, 150, 448, 1000]), min_size=1, max_size=4)
steps = st.lists(st.tuples(st.sampled_from(["start", "end", "withdraw"]), st.integers(0, 10**6)), max_size=40)


@pytest.mark.parametrize("large", [1, LARGE])
@given(sizes, steps)
def test_jobs_get_the_lowest_free_cores_as_they_do_from_a_set_of_cores(large, processors, moves):
    cluster = platform(*[(1000.0, [(cores, 1.0, 100.0, 1e6)]) for cores in processors])
    total = cluster.cores
    asked = [1 + number % total for move, number in moves if move == "start"]
    with patch.object(tables, "LARGE", large):
        state = State(cluster, jobs(size=[*asked, 1], submit=0.0), log=False)
    t = state.tables
    free, served, withdrawn, running, job = set(range(total)), {}, set(), [], 0
    requested = np.full(total, P3)  # P-state of each core
    receive(t, 0.0, np.zeros(0, np.int32), 0, len(asked), True)
    for move, number in moves:
        state.make_room()
        if move == "start":
            fits = choose_cores(t, FIRST_FIT, job) == NOTHING
            assert fits == (asked[job] <= len(free))
            if fits:
                start_job(t, job)
                served[job] = sorted(free)[: asked[job]]
                free -= set(served[job])
                running.append(job)
            job += 1
        elif move == "end" and running:
            ended = running.pop(number % len(running))
            receive(t, float(state.now), np.array([ended], np.int32), 1, 0, True)
            free |= set(served[ended]) - withdrawn
        elif move == "withdraw":
            core = number % total
            set_available(t, core, core in withdrawn)
            withdrawn ^= {core}
            busy = {core for j in running for core in served[j]}
            free = set(range(total)) - busy - withdrawn
        owners = np.full(total, IDLE_CORE)
        for j in running:
            owners[served[j]] = j
            assert state.cores_of(j).tolist() == served[j]
        assert jobs_in_words(t).tolist() == owners.tolist() == state.core_job.tolist()
        assert set(np.flatnonzero(~of_cores(t.words, "available")).tolist()) == withdrawn
        states = required(cluster, owners)
        changed = {core: int(states[core]) for core in np.flatnonzero(states != requested).tolist()}
        assert state.drain().pstates == state.drain(requested=True).pstates == changed
        requested = states
        assert t.clock["free_cores"][0] == len(free) == t.loads["free"].sum()
    texts = interval_sets(intervals_of(t))
    for j, cores in served.items():
        assert text_of(cores) == texts[j]


def required(cluster, owners):
    """The P-state of each core: P0 if it serves a job, P2 if another core of its processor does, otherwise P3."""
    states = np.full(len(owners), P3)
    for p in range(cluster.processors):
        own = cluster.core_processor == p
        if (owners[own] != IDLE_CORE).any():
            states[own] = np.where(owners[own] != IDLE_CORE, P0, P2)
    return states


def text_of(cores):
    """Cores as Batsim writes them."""
    parts, first = [], cores[0]
    for core, later in zip(cores, [*cores[1:], None], strict=True):
        if later != core + 1:
            parts.append(f"{first}-{core}" if core > first else f"{core}")
            first = later
    return " ".join(parts)


def test_the_available_ones_of_a_stretch_are_counted():
    state = State(platform((1000.0, [(3, 1.0, 100.0, 1e6), (150, 1.0, 100.0, 1e6)])), jobs(size=1), log=False)
    for core in (2, 10, 66, 67, 152):
        set_available(state.tables, core, False)
    assert [available_in(state.tables, 3, cores) for cores in (7, 8, 64, 65, 150)] == [7, 7, 62, 62, 146]


@compiled
def look_at(word: int, out: np.ndarray) -> None:
    out[0], out[1], out[2] = count_bits(word), lowest_bit(word), highest_bit(word)


@compiled
def write_stretch(first: int, count: int, at: int, out: np.ndarray) -> None:
    out[0], out[1] = bits(first, count), stretch_at(bits(first, count), at)


def looked_at(word):
    out = np.zeros(3, np.int64)
    look_at(word, out)
    return tuple(out.tolist())


def stretch(first, count, at):
    out = np.zeros(2, np.int64)
    write_stretch(first, count, at, out)
    return out.tolist()


@pytest.mark.parametrize("first", [0, 1, 31, 62, 63])
def test_bits_are_those_of_the_word(first):
    for count in {1, 2, 64 - first} - ({2} if first == 63 else set()):
        word, length = stretch(first, count, first)
        assert word % 2**64 == sum(1 << bit for bit in range(first, first + count))
        assert length == count
        assert looked_at(word) == (count, first, first + count - 1)
    assert looked_at(0) == (0, 64, -1)


@compiled
def write_without_lowest(word: int, out: np.ndarray) -> None:
    out[0] = without_lowest(word)


@pytest.mark.parametrize("upper", [[], [63], [62, 63], [5, 40]])
@pytest.mark.parametrize("lowest", [0, 3, 63])
def test_a_word_loses_its_lowest_bit_in_machine_code_and_in_plain_python(lowest, upper):
    upper = [bit for bit in upper if bit > lowest]
    word, rest = (
        int(np.array([sum(1 << bit for bit in some)], np.uint64).view(np.int64)[0])
        for some in ([lowest, *upper], upper)
    )
    out = np.zeros(1, np.int64)
    write_without_lowest(word, out)
    plain = getattr(without_lowest, "__wrapped__", without_lowest)
    assert out[0] == plain(word) == rest
