"""Machines whose speed follows a file: their changes come between two steps of the clock.

As in SimGrid, each change shortens the step to its date, whether or not the machine has a task.

Source: SimGrid 3.32, `EngineImpl::solve`; that idle machines count is measured on it.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from hdeeprm_like.batsim_server.machines import Machine


class SpeedProfiles:
    """The next change of each machine whose speed follows a file."""

    def __init__(self, machines: Sequence[Machine], change: Callable[[Machine, float, float], None]) -> None:
        """Begin at time 0.

        Args:
            change: gives a machine a share of its speed from a date in s on.
        """
        self._change = change
        rounds = [(machine, machine.host.profile.dated()) for machine in machines if machine.host.profile is not None]
        # a heap: date (s), place in the platform, share of the speed, machine, its later changes
        self._due: list[tuple[float, int, float, Machine, Iterator[tuple[float, float]]]] = []
        for place, (machine, later) in enumerate(rounds):
            date, share = next(later)
            self._due.append((date, place, share, machine, later))
        heapify(self._due)

    def before(self, now: float, step: float) -> float:
        """Make the changes at the first date in the next step in s; return the step to that date."""
        due = self._due
        while due and due[0][0] <= now + step:
            first = due[0][0]
            while due and due[0][0] <= first:
                date, place, share, machine, later = due[0]
                step = date - now
                self._change(machine, share, date)
                following = next(later, None)
                if following is None:
                    heappop(due)
                else:
                    heapreplace(due, (following[0], place, following[1], machine, later))
        return step
