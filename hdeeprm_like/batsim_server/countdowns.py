"""Timers, latencies and remaining work, which run out as the clock moves; and alarms, which end at exact dates.

Except for alarms, all advance by every step, one by one, as in SimGrid: its sums are rounded in that way. An action
that ends later than others need not follow each step: it is kept with its approximate date, and makes up for the steps
since then, in their order, when that date is near.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from heapq import heapify, heappop, heappush
from itertools import repeat
from math import inf
from operator import mul, sub, truediv

from hdeeprm_like.batsim_server.sharing import Variable

NEAR = 1e-3  # s; what ends within that follows each step
ROUNDING = 4.5e-16  # of a date or a duration, per step: more than two roundings
MOST_STEPS = 4096  # that are remembered


class Action:
    """Something that takes simulated time."""

    __slots__ = (
        "bytes_delay",
        "countdown",
        "date",
        "empty",
        "left",
        "machines",
        "on_end",
        "rate",
        "sequence",
        "since",
        "slot",
        "variable",
    )

    def __init__(self, sequence: int, on_end: Callable[[], None], machines: Sequence[int]) -> None:
        """Create an action outside of the countdowns; the energy of *machines* is updated when it ends."""
        self.sequence = sequence
        self.on_end = on_end
        self.machines = machines
        self.variable: Variable | None = None
        self.bytes_delay = 0.0  # max over flows of latency (s) times bytes
        self.empty = False  # a task without work ends when its latency is over
        self.countdown: Countdown | Alarms | None = None  # where it is; None when it is over
        self.slot = -1  # among those near their end; -1 for the others, which had
        self.left = 0.0  # this left, before
        self.since = 0  # this step, of those remembered
        self.date = inf  # s, about when that runs out
        self.rate = 0.0  # 1/s, of a work


class Countdown:
    """Actions with something that runs out.

    Attributes:
        steps: the latest ones of the clock, in s, for all countdowns.
        safe: a date in s before which nothing ends.
    """

    def __init__(self, precision: float, steps: list[float]) -> None:
        """Start empty; an action with less than *precision* left ends."""
        self.steps = steps
        self._precision = precision
        self._near: list[Action] = []
        self._left: list[float] = []  # of those near
        self._least = inf  # least amount left at the last call of `nearest`
        self._later: list[tuple[float, int, Action]] = []  # a heap: date (s), sequence, action; some are over
        self._waiting = 0  # of these, those not over
        self._longest = 1.0  # s
        self._passed = 0  # steps forgotten
        self.safe = inf

    def add(self, action: Action, left: float, now: float) -> None:
        """Make an action count down from *left*, from a time in s on."""
        action.countdown = self
        if left > NEAR:
            self._keep(action, left, now, left)
        else:
            self._follow(action, left)

    def drop(self, action: Action) -> None:
        """Remove an action."""
        slot, action.countdown, action.date = action.slot, None, inf
        if slot < 0:
            self._waiting -= 1
            if len(self._later) > 64 + 2 * self._waiting:
                self._later = [entry for entry in self._later if entry[0] == entry[2].date]
                heapify(self._later)
            return
        last, left = self._near.pop(), self._left.pop()
        if last is not action:
            self._near[slot], self._left[slot], last.slot = last, left, slot
        if not self._near:
            self._set_safe()

    def left(self, action: Action) -> float:
        """Return the amount left of an action."""
        return self._left[action.slot] if action.slot >= 0 else self._left_of(action)

    def nearest(self, now: float, limit: float) -> float:
        """Return the s until the first end, infinity if that is after *limit* s or there is none."""
        self._least = min(self._left) if self._left else inf
        while self._later and self._later[0][0] - now <= min(limit, self._least) + self._slack(now):
            self._bring()
            self._least = min(self._left) if self._left else inf
        return self._least

    def advance(self, step: float) -> list[Action]:
        """Advance by *step* s after `nearest`; return the actions that end and still must be dropped."""
        if not self._left:
            return []
        self._left = [left - step for left in self._left]
        return self._ended() if self._least - step < self._precision else []

    def forget_steps(self) -> None:
        """Bring all actions up to date, since the steps so far will be forgotten."""
        for action in {action for date, _, action in self._later if date == action.date}:
            action.left, action.since = self._left_of(action), 0
        self._passed += len(self.steps)
        if not self._near:
            self._set_safe()

    def _follow(self, action: Action, left: float) -> None:
        action.slot, action.date = len(self._near), inf
        self._near.append(action)
        self._left.append(left)
        self.safe = -inf

    def _keep(self, action: Action, left: float, now: float, seconds: float) -> None:
        action.slot, action.left, action.since = -1, left, len(self.steps)
        self._waiting += 1
        self._longest = max(self._longest, seconds)
        action.date = date = now + seconds
        heappush(self._later, (date, action.sequence, action))
        self.safe = min(self.safe, date - self._slack(date))

    def _set_safe(self) -> None:
        """Note the date before which nothing ends, where no action is near its end."""
        self.safe = self._later[0][0] - self._slack(self._later[0][0]) if self._later else inf

    def _bring(self) -> None:
        """Make the first one of the others follow each step, unless it is over."""
        date, _, action = heappop(self._later)
        if action.date == date:
            self._waiting -= 1
            self._follow(action, self._left_of(action))
        elif not self._near:
            self._set_safe()

    def _slack(self, now: float) -> float:
        """Return how much in s an approximate date may be wrong, and the clock may round."""
        rounded = (self._passed + 2 * MOST_STEPS) * ROUNDING * (now + self._longest)
        return NEAR + 2.0 * self._precision * self._longest + rounded

    def _left_of(self, action: Action) -> float:
        return reduce(sub, self.steps[action.since :], action.left)

    def _ended(self) -> list[Action]:
        precision = self._precision
        return [action for action, left in zip(self._near, self._left, strict=True) if left < precision]


class Works(Countdown):
    """Actions with individual rates: shares per s of 1."""

    def __init__(self, precision: float, steps: list[float]) -> None:
        """Start empty."""
        super().__init__(precision, steps)
        self._rates: list[float] = []  # of those near

    def add(self, action: Action, left: float, now: float, rate: float = 0.0) -> None:
        """Add an action with a rate in 1/s."""
        action.countdown, action.rate = self, rate
        self._follow(action, left)

    def set_rate(self, action: Action, rate: float, now: float) -> None:
        """Set the rate of an action in 1/s, from a time in s on."""
        left = self.left(action)
        self.drop(action)
        action.countdown, action.rate = self, rate
        seconds = left / rate if rate > 0.0 else 0.0
        if NEAR < seconds < inf:
            self._keep(action, left, now, seconds)
        else:
            self._follow(action, left)

    def drop(self, action: Action) -> None:
        """Remove an action."""
        slot = action.slot
        super().drop(action)
        if slot >= 0:
            last = self._rates.pop()
            if slot < len(self._rates):
                self._rates[slot] = last

    def nearest(self, now: float, limit: float) -> float:
        """Return the s until the first end, infinity if that is after *limit* s or there is none."""
        least = self._least_left()
        while self._later and self._later[0][0] - now <= min(limit, least) + self._slack(now):
            self._bring()
            least = self._least_left()
        return least

    def advance(self, step: float) -> list[Action]:
        """Advance by *step* s; return the actions that end and still must be dropped."""
        if not self._left:
            return []
        self._left = list(map(sub, self._left, map(mul, self._rates, repeat(step))))
        return self._ended() if min(self._left) < self._precision else []

    def _follow(self, action: Action, left: float) -> None:
        super()._follow(action, left)
        self._rates.append(action.rate)

    def _left_of(self, action: Action) -> float:
        left, rate = action.left, action.rate
        for step in self.steps[action.since :]:
            left -= rate * step
        return left

    def _least_left(self) -> float:
        try:
            return min(map(truediv, self._left, self._rates), default=inf)
        except ZeroDivisionError:  # some have no rate
            known = zip(self._left, self._rates, strict=True)
            return min([left / rate for left, rate in known if rate > 0.0], default=inf)


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
