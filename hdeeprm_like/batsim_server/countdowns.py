"""Timers, latencies and remaining work, which run out as the clock moves; and alarms, which end at exact dates.

Except for alarms, all advance by every step, one by one, as in SimGrid: its sums are rounded in that way.
"""

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from math import inf
from operator import mul, sub, truediv

from hdeeprm_like.batsim_server.sharing import Variable


class Action:
    """Something that takes simulated time."""

    __slots__ = ("bytes_delay", "countdown", "empty", "machines", "on_end", "sequence", "slot", "variable")

    def __init__(self, sequence: int, on_end: Callable[[], None], machines: Sequence[int]) -> None:
        """Create an action outside of the countdowns; the energy of *machines* is updated when it ends."""
        self.sequence = sequence
        self.on_end = on_end
        self.machines = machines
        self.variable: Variable | None = None
        self.bytes_delay = 0.0  # max over flows of latency (s) times bytes
        self.empty = False  # a task without work ends when its latency is over
        self.countdown: Countdown | Alarms | None = None  # where it is; None when it is over
        self.slot = -1


class Countdown:
    """Actions with something that runs out.

    Attributes:
        actions: all of them, in no order.
    """

    def __init__(self, precision: float) -> None:
        """Start empty; an action with less than *precision* left ends."""
        self.actions: list[Action] = []
        self._precision = precision
        self._left: list[float] = []
        self._least = inf  # least amount left at the last call of `nearest`

    def add(self, action: Action, left: float) -> None:
        """Make an action count down from *left*."""
        action.countdown, action.slot = self, len(self.actions)
        self.actions.append(action)
        self._left.append(left)

    def drop(self, action: Action) -> None:
        """Remove an action."""
        slot, action.countdown = action.slot, None
        last, left = self.actions.pop(), self._left.pop()
        if last is not action:
            self.actions[slot], self._left[slot], last.slot = last, left, slot

    def left(self, action: Action) -> float:
        """Return the amount left of an action."""
        return self._left[action.slot]

    def nearest(self) -> float:
        """Return the s until the first end, infinity if there is none."""
        self._least = min(self._left, default=inf)
        return self._least

    def advance(self, step: float) -> list[Action]:
        """Advance by *step* s after `nearest`; return the actions that end and still must be dropped."""
        self._left = [left - step for left in self._left]
        return self._ended() if self._least - step < self._precision else []

    def _ended(self) -> list[Action]:
        precision = self._precision
        return [action for action, left in zip(self.actions, self._left, strict=True) if left < precision]


class Works(Countdown):
    """Actions with individual rates: shares per s of 1."""

    def __init__(self, precision: float) -> None:
        """Start empty."""
        super().__init__(precision)
        self._rates: list[float] = []

    def add(self, action: Action, left: float, rate: float = 0.0) -> None:
        """Add an action with a rate in 1/s."""
        super().add(action, left)
        self._rates.append(rate)

    def set_rate(self, action: Action, rate: float) -> None:
        """Set the rate of an action in 1/s."""
        self._rates[action.slot] = rate

    def drop(self, action: Action) -> None:
        """Remove an action."""
        slot, last = action.slot, self._rates.pop()
        super().drop(action)
        if slot < len(self._rates):
            self._rates[slot] = last

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
        return self._ended() if min(self._left) < self._precision else []


class Alarms:
    """Actions that end at dates exact to the last bit: the timeouts of SimGrid 4."""

    def __init__(self) -> None:
        """Start empty."""
        self._dated: list[tuple[float, int, Action]] = []  # a heap: date (s), sequence of the action, the action

    def add(self, action: Action, date: float) -> None:
        """Make an action end at a date in s."""
        action.countdown = self
        heappush(self._dated, (date, action.sequence, action))

    def drop(self, action: Action) -> None:
        """Remove an action; its heap entry is removed when its date is the nearest."""
        action.countdown = None

    def next_date(self) -> float:
        """Return the nearest date in s, infinity if there is none."""
        while self._dated and self._dated[0][2].countdown is None:
            heappop(self._dated)
        return self._dated[0][0] if self._dated else inf

    def pop(self) -> Action:
        """Return the action at the date of `next_date`; it still must be dropped."""
        return heappop(self._dated)[2]
