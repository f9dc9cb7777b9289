"""Timers, latencies and remaining work, which run out as the clock moves.

All advance by every step, one by one, as in SimGrid: its sums are rounded in that way.
"""

from collections.abc import Callable, Sequence
from itertools import compress, repeat
from math import inf
from operator import lt, mul, sub, truediv
from typing import Any

from hdeeprm_like.batsim_server.sharing import Variable


class Action:
    """Something that takes simulated time."""

    def __init__(self, sequence: int, on_end: Callable[[], None], machines: Sequence[int]) -> None:
        """Create an action outside of the countdown; the energy of *machines* is updated when it ends."""
        self.sequence = sequence
        self.on_end = on_end
        self.machines = machines
        self.variable: Variable | None = None
        self.bytes_delay = 0.0  # max over flows of latency (s) times bytes
        self.empty = False  # a task without work ends when its latency is over
        self.delayed = False  # a task whose latency is not over
        self.over = False
        self.slot = -1  # in the countdown


class Countdown:
    """Actions with something that runs out at a rate; one with less than its limit left ends."""

    def __init__(self) -> None:
        """Start empty."""
        self._actions: list[Action] = []
        self._left: list[float] = []
        self._rates: list[float] = []  # 1/s
        self._limits: list[float] = []

    def add(self, action: Action, left: float, limit: float, rate: float = 1.0) -> None:
        """Make an action count down from *left*."""
        action.slot = len(self._actions)
        self._actions.append(action)
        self._left.append(left)
        self._rates.append(rate)
        self._limits.append(limit)

    def drop(self, action: Action) -> None:
        """Remove an action."""
        self._actions[-1].slot = action.slot
        columns: tuple[list[Any], ...] = self._actions, self._left, self._rates, self._limits
        for column in columns:
            column[action.slot] = column[-1]
            column.pop()

    def left(self, action: Action) -> float:
        """Return the amount left of an action."""
        return self._left[action.slot]

    def set_rate(self, action: Action, rate: float) -> None:
        """Set the rate of an action in 1/s."""
        self._rates[action.slot] = rate

    def nearest(self) -> float:
        """Return the s until the first end, infinity if there is none."""
        try:
            return min(map(truediv, self._left, self._rates), default=inf)
        except ZeroDivisionError:  # some have no rate
            known = zip(self._left, self._rates, strict=True)
            return min([left / rate for left, rate in known if rate > 0.0], default=inf)

    def advance(self, step: float) -> list[Action]:
        """Advance by *step* s; return the actions that end and still must be dropped."""
        self._left = list(map(sub, self._left, map(mul, self._rates, repeat(step))))
        return list(compress(self._actions, map(lt, self._left, self._limits)))
