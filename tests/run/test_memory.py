"""The memory of runs side by side: what each has for itself."""

from dataclasses import replace

import numpy as np
from small import jobs, platform

from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.presets import PRESETS
from hdeeprm_like.envs.vector import SchedulingVectorEnv
from hdeeprm_like.envs.windows import Windows
from hdeeprm_like.run.memory import arrays_of, bundles_of, stack

CLUSTER = platform((1000.0, [(4, 1.0, 100.0, 10.0)]), (500.0, [(2, 2.0, 80.0, 10.0)]))
WINDOWS = Windows(jobs(np.arange(12.0), np.full(12, 9.0), np.full(12, 2)), 4)
PAIRS = replace(PRESETS["PolicySelect"], pairs=(("shortest", "high_gflops"), ("first", "low_power")))
BASELINES = replace(PAIRS, pairs=(baseline("fcfs+easy"), ("first", "low_power")))


def made(space):
    """Five environments of a space."""
    return SchedulingVectorEnv(space, CLUSTER, WINDOWS, 5, clock="textbook")


def test_a_run_without_baselines_has_no_memory_of_theirs():
    names = [{type(bundle).__name__ for bundle in bundles_of(made(space).runs.run(0))} for space in (PAIRS, BASELINES)]
    assert "Plans" not in names[0]
    assert "Plans" in names[1]


def test_no_two_runs_share_an_array_of_their_own():
    runs = made(BASELINES).runs
    places = [{array.ctypes.data for array in arrays_of(runs.run(place)) if array.nbytes} for place in range(5)]
    assert len(set.union(*places)) == sum(map(len, places))


def test_arrays_that_are_written_before_they_are_read_come_after_those_that_are_restored():
    kept, passing = np.arange(3), np.ones(40)
    blocks, (passings, kepts), restored = stack([passing, kept], [True, False], 2)
    assert restored == 32  # the three words, in units of 16 bytes
    assert [kepts[1].tolist(), passings[1].tolist()] == [kept.tolist(), passing.tolist()]
    assert passings.ctypes.data == blocks.ctypes.data + restored
