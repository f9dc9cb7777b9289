"""The clock: actions (sleeps, messages, parallel tasks) that end, and the steps between their ends.

It follows SimGrid 3.32 to the rounding of its sums, because Batsim's answers show nanoseconds. The clock moves to the
nearest end of an action; all actions advance by that step, and those with less than 1e-9 s (timers) or 1e-14 of their
work left (unless SimGrid's options differ) end together, in the order in which they were created; alarms, which end at
exact dates, come after them.
"""

from collections.abc import Callable, Sequence
from itertools import compress, repeat
from math import inf
from operator import lt, mul, sub, truediv
from typing import Any, TypeAlias

from hdeeprm_like.batsim_server.energy import EnergyMeter
from hdeeprm_like.batsim_server.sharing import Sharing, Variable, Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions

MessageWork: TypeAlias = Callable[[str, str, float], Work]  # load of a message of some bytes between two hosts


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
    """Actions with a time or work that runs out at a rate; one with less than its limit left ends."""

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


class Clock:
    """The clock and the actions.

    Attributes:
        now: s.
        simgrid: the options of SimGrid's model.
        before_step: takes the time and the next step in s, makes changes from outside, and returns the step to them.
    """

    def __init__(self, message_work: MessageWork, meter: EnergyMeter | None, simgrid: SimgridOptions) -> None:
        """Start at time 0; the arguments are those of the `Engine`."""
        self.now = 0.0
        self.simgrid = simgrid
        self.sharing = Sharing(simgrid.work_amount)
        self.before_step: Callable[[float, float], float] | None = None
        self._message_work = message_work
        self._meter = meter
        self._precision = simgrid.timing * simgrid.work_amount  # of works
        self._sequence = 0
        self._countdown = Countdown()
        self._alarms: dict[Action, float] = {}  # the timeouts of SimGrid 4, each with its date in s

    @property
    def is_usual(self) -> bool:
        """Whether steps have SimGrid's own tolerances."""
        usual = SimgridOptions(*self.simgrid[:3])  # the limits of links are no tolerances
        return self.simgrid == usual

    def work_left(self, action: Action) -> float:
        """Return the remaining share of a task."""
        if action.over or action.delayed:
            return 0.0 if action.over or action.empty else 1.0
        return self._countdown.left(action)

    def remove(self, action: Action) -> None:
        """Remove an action from the clock; the energy of its machines is updated first."""
        if action.over:
            return
        variable = action.variable
        if variable is not None:
            if self._meter:
                self._meter.update(action.machines, self.now)
            freed = variable.enabled
            self.sharing.remove(variable)
            if freed and self._meter:
                self._meter.on_rates([variable])
        action.over = True
        if self._alarms.pop(action, None) is None:
            self._countdown.drop(action)

    def carry(self, source: str, destination: str, size: float, on_end: Callable[[], None]) -> Action:
        """Begin to transfer bytes from one host to another."""
        return self.begin_work(self._message_work(source, destination, size), on_end)

    def advance(self) -> bool:
        """Move the clock to the nearest end of an action; return whether there was one."""
        if self.sharing.dirty:
            self._share()
        step = self._countdown.nearest()
        date = min(self._alarms.values(), default=inf)
        rings = date - self.now <= step
        if rings:
            step = date - self.now
        if step == inf:
            return False
        if self.before_step is not None and (cut := self.before_step(self.now, step)) != step:
            step, rings = cut, False
        self.now = date if rings else self.now + step
        over = sorted(self._countdown.advance(step), key=lambda action: action.sequence)
        ended = [action for action in over if action.empty or not action.delayed]
        for action in over:
            if action.delayed:
                self._begin_use(action)
        for action in ended:
            self._end(action)
        while rings and self._alarms and min(self._alarms.values()) <= self.now:
            self._end(min(self._alarms, key=lambda action: (self._alarms[action], action.sequence)))
        return True

    def _end(self, action: Action) -> None:
        if action.over:
            return  # another action that ended now has removed it
        if action.variable is None and self._meter:
            self._meter.update(action.machines, self.now)
        self.remove(action)
        action.on_end()

    def _share(self) -> None:
        """Give the tasks whose shares have changed their new rates."""
        changed = self.sharing.solve()
        for variable in changed:
            self._countdown.set_rate(variable.owner, variable.value)
        if self._meter:
            self._meter.on_rates(changed)

    def timer(self, seconds: float, on_end: Callable[[], None], machine: int) -> Action:
        """Begin a time of some s, on a machine unless that is negative."""
        action = self._new_action(on_end, (machine,) if machine >= 0 else ())
        self._countdown.add(action, seconds, self.simgrid.timing)
        return action

    def timeout(self, seconds: float, on_end: Callable[[], None], machine: int = -1) -> Action:
        """Begin a time that limits a wait."""
        if not self.simgrid.exact_timeouts:
            return self.timer(seconds, on_end, machine)
        action = self._new_action(on_end, ())
        self._alarms[action] = self.now + seconds
        return action

    def begin_work(self, work: Work, on_end: Callable[[], None]) -> Action:
        """Begin an action that does work, after its latency."""
        action = self._new_action(on_end, work.machines)
        action.variable = Variable(work.weights, work.crowds, action)
        action.bytes_delay = work.bytes_delay
        action.empty = not any(work.weights.values())
        if work.latency > 0.0:
            action.delayed = True
            self._countdown.add(action, work.latency, self.simgrid.timing)
        else:
            self._use(action, action.variable)
        return action

    def _begin_use(self, action: Action) -> None:
        """Start the use of hosts and links by a task whose latency is over."""
        assert action.variable is not None
        self._countdown.drop(action)
        action.delayed = False
        action.variable.way_limit = self.simgrid.tcp_gamma / (2.0 * action.bytes_delay)
        self._use(action, action.variable)

    def _use(self, action: Action, variable: Variable) -> None:
        """Start a task's use of its hosts and links."""
        self._countdown.add(action, 0.0 if action.empty else 1.0, self._precision, rate=0.0)
        self.sharing.enable(variable)

    def _new_action(self, on_end: Callable[[], None], machines: Sequence[int]) -> Action:
        """Return an action that begins now; the energy of the machines is updated when it ends."""
        self._sequence += 1
        return Action(self._sequence, on_end, machines)
