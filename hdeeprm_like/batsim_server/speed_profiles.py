"""Machines whose speed follows a file: their changes come between two steps of the clock.

As in SimGrid, a change on a machine in use shortens the step to its date, and one on a machine without a task does not.

Source: SimGrid 3.32, `EngineImpl::solve`.
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
        """Make the changes of the next step in s, up to the first that concerns a task; return the step to that."""
        due = self._due
        while due and due[0][0] <= now + step:
            first = due[0][0]
            while due and due[0][0] <= first:
                date, place, share, machine, later = due[0]
                if machine.constraint.variables:
                    step = date - now
                self._change(machine, share, date)
                following = next(later, None)
                if following is None:
                    heappop(due)
                else:
                    heapreplace(due, (following[0], place, following[1], machine, later))
        return step
