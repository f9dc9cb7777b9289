"""What an agent sees of the demand of late, on paper."""

import numpy as np
import pytest
from small import jobs
from test_views import cores, playing, seen

SHORT, DAY = 21600.0, 86400.0  # s in which short jobs, and all, count for less by a factor of e
OF_SHORT, OF_ALL = 400 * np.exp(-10 / SHORT) + 600, 10400 * np.exp(-10 / DAY) + 600  # core x s after ten seconds
NARROW, WIDE, SMALL = (5000, 2), (100, 4), (600, 1)  # requested s and cores, on four cores


def slot(job, free, wait=0.0):
    """What is seen of a job in a slot."""
    seconds, size = job
    return [seconds, size, max(free - size, 0), seconds * size, wait, wait / max(seconds, 10)]


@pytest.mark.parametrize(
    ("actions", "of_all", "slots"),
    [
        ((), [4, 2, 10400, 400 / SHORT, 10400 / DAY, 0, 0], [*slot(NARROW, 4), *slot(WIDE, 4)]),  # nothing runs
        ((0,), [2, 1, 400, 400 / SHORT, 10400 / DAY, 0, 5000], [*slot(WIDE, 2), *[0] * 6]),
        ((0, 2), [2, 2, 1000, OF_SHORT / SHORT, OF_ALL / DAY, 0, 4990], [*slot(WIDE, 2, 10), *slot(SMALL, 2)]),
        ((0, 2, 1), [1, 1, 400, OF_SHORT / SHORT, OF_ALL / DAY, 1, 600], [*slot(WIDE, 1, 10), *[0] * 6]),
    ],
    ids=["none runs", "the first runs", "at 10 s the third comes", "and runs"],
)
def test_the_demand_after_some_actions(actions, of_all, slots):
    requests, size = zip(NARROW, WIDE, SMALL, strict=True)
    play = playing(cores(4), jobs([0, 0, 10], seconds=requests, size=size), "demand", raw=True)
    assert seen(play, *actions) == pytest.approx([*of_all, *slots], rel=1e-6)
