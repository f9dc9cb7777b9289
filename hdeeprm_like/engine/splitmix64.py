"""Random numbers of compiled code: splitmix64, whose whole state is one number (Steele, Lea and Flood 2014)."""

import numpy as np

from hdeeprm_like.engine.compiled import entry, inlined
from hdeeprm_like.types import Uint64s

STRIDE = 0x9E3779B97F4A7C15  # increment of the state per draw
SEEDS = 2**53  # number of seeds that give different draws


@inlined
def uniform(z: np.uint64) -> float:
    """Return the uniform number in [0, 1) of a state."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return float((z >> np.uint64(11)) * (1.0 / SEEDS))


@entry
def draw_below(states: Uint64s, i: int, n: int) -> int:
    """Advance the state at a place and return a uniform integer in [0, n)."""
    states[i] += np.uint64(STRIDE)
    return int(uniform(states[i]) * n)
