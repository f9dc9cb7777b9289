"""How the speed of nodes changes in time, as if others used a share of their cores: SimGrid's ``speed_file``.

Source: SimGrid 3.32, "Modeling hosts' external load" of its documentation.
"""

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

NO_PROFILE = -1


class SpeedProfile(NamedTuple):
    """How a speed changes from the beginning of a simulation on.

    Attributes:
        dates: s, of each change, never decreasing.
        shares: of the full speed, from each change on.
        again: s from the last change to the beginning of the next round; 0 for one round.
    """

    dates: tuple[float, ...]
    shares: tuple[float, ...]
    again: float = 0.0

    @property
    def steps(self) -> tuple[float, ...]:
        """S from each change to the next one, the first from time 0; SimGrid adds these up."""
        return tuple([date - before for date, before in zip(self.dates, (0.0, *self.dates), strict=False)])

    def dated(self) -> Iterator[tuple[float, float]]:
        """Yield the date in s and the share of each change, without an end if there are rounds."""
        date, steps = 0.0, self.steps
        for turn in count():
            for place, (after, share) in enumerate(zip(steps, self.shares, strict=True)):
                date += after + (self.again if turn and not place else 0.0)
                yield date, share
            if not self.again:
                return


class NodeSpeeds(NamedTuple):
    """Which nodes of a platform have a speed that changes.

    Attributes:
        profiles: all different.
        of_node: the number of the profile of each node, `NO_PROFILE` for a constant speed.
    """

    profiles: tuple[SpeedProfile, ...]
    of_node: tuple[int, ...]


NO_FILES = NodeSpeeds((), ())
"""The speeds of a platform where all are constant."""
