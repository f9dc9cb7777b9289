"""The links between the cores of a platform, and the way of a message over them."""

from dataclasses import dataclass

import numpy as np

from hdeeprm_like.types import Bools, Floats, Ints

NO_LINK = -1


@dataclass(frozen=True, eq=False)
class Routes:
    """Routes between cores: up from the place of one, from its group to the other group, down to the other place.

    Cores of one place have the same routes. L links, U places, G groups.

    Attributes:
        bandwidth: (L,) bytes/s. fatpipe: (L,) whether each message has all of it.
        place: (C,) place of each core. group: (U,) group of each place.
        up, down: (U,) the link between a place and its group in each direction, `NO_LINK` for none.
        limiter: (U,) the link that messages cross before `up` and after `down`, `NO_LINK` for none.
        first: (G * G + 1,) the links from group g to h are links[first[g * G + h] : first[g * G + h + 1]].
        delay: (G, G) s, latency of the whole route between cores of two groups, or of one.
        gate_first: (U + 1,) where the links from each place to the master begin in gate_links.
        gate_delay: (U,) s, latency of these.
    """

    bandwidth: Floats
    fatpipe: Bools
    place: Ints
    group: Ints
    up: Ints
    down: Ints
    limiter: Ints
    first: Ints
    links: Ints
    delay: Floats
    gate_first: Ints
    gate_links: Ints
    gate_delay: Floats


NO_ROUTES = Routes(
    bandwidth=np.zeros(0),
    fatpipe=np.zeros(0, np.bool_),
    **dict.fromkeys(("place", "group", "up", "down", "limiter", "first", "links"), np.zeros(0, np.int64)),
    delay=np.zeros((0, 0)),
    gate_first=np.zeros(0, np.int64),
    gate_links=np.zeros(0, np.int64),
    gate_delay=np.zeros(0),
)
"""The routes of a platform in which nothing is sent."""
