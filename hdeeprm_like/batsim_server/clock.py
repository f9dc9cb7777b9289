"""The clock: actions (sleeps, messages, parallel tasks) that end, and the steps between their ends.

It follows SimGrid 3.32 to the rounding of its sums, because Batsim's answers show nanoseconds. The clock moves to the
nearest end of an action; all actions advance by that step, and those with less than 1e-9 s (timers) or 1e-14 of their
work left (unless SimGrid's options differ) end together, in the order in which they were created; alarms, which end at
exact dates, come after them.
"""

from collections.abc import Callable, Sequence
from math import inf

from hdeeprm_like.batsim_server.countdowns import MOST_STEPS, Action, Alarms, Countdown, Works
from hdeeprm_like.batsim_server.sharing import Constraint, Sharing, Variable, Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions
from hdeeprm_like.batsim_server.ways import Arriving, Way, way_of


class Clock:
    """The clock and the actions.

    Attributes:
        now: s.
        quiet: whether only messages to the server use links.
        loopback: the capacity from a host to itself, as long as only messages to the server have used it.
        simgrid: the options of SimGrid's model.
    """

    def __init__(
        self,
        message_work: Callable[[str, str, float], Work],
        on_rates: Callable[[Sequence[Variable]], None] | None,
        before_end: Callable[[Sequence[int]], None] | None,
        simgrid: SimgridOptions,
        exact_timeouts: bool,
    ) -> None:
        """Start at time 0; the arguments are those of the `Engine`."""
        self.now = 0.0
        self.quiet = False
        self.loopback: Constraint | None = None
        self.sharing = Sharing(simgrid.work_amount)
        self._message_work = message_work
        self._on_rates = on_rates
        self._before_end = before_end
        self.simgrid = simgrid
        self._timing = simgrid.timing
        self._precision = simgrid.timing * simgrid.work_amount  # of works
        self._sequence = 0
        self._steps: list[float] = []  # the latest ones, in s
        self._works = Works(self._precision, self._steps)
        self._timers = Countdown(simgrid.timing, self._steps)
        self._latencies = Countdown(simgrid.timing, self._steps)  # of tasks and messages, which then become works
        self._alarms = Alarms()
        self._exact_timeouts = exact_timeouts
        self._arriving: Arriving | None = None  # one at a time, as the server receives one at a time
        self._ways: dict[tuple[str, str], Way | None] = {}
        self._before_step: Callable[[float, float], float] | None = None
        self._plain = not exact_timeouts  # whether steps depend on the actions alone

    def change_before_steps(self, before: Callable[[float, float], float]) -> None:
        """Take changes from outside: *before* takes the time and the next step in s, returns a step up to one."""
        self._before_step = before
        self._plain = False

    @property
    def is_usual(self) -> bool:
        """Whether steps depend on the actions alone, with SimGrid's own tolerances."""
        simgrid, usual = self.simgrid, SimgridOptions()
        tolerances = (simgrid.timing, simgrid.work_amount) == (usual.timing, usual.work_amount)
        return self._plain and tolerances

    def work_left(self, action: Action) -> float:
        """Return the remaining share of a task."""
        if action.countdown is self._works:
            return self._works.left(action)
        return 0.0 if action.countdown is None or action.empty else 1.0

    def remove(self, action: Action, unseen: bool = False) -> None:
        """Remove an action from the clock; the energy of its machines is updated first, unless *unseen*."""
        if action.countdown is None:
            return
        variable = action.variable
        if variable is not None:
            if self._before_end and not unseen:
                self._before_end(action.machines)
            freed = variable.enabled
            self.sharing.remove(variable)
            if freed and self._on_rates:
                self._on_rates([variable])
        action.countdown.drop(action)

    def carry(self, source: str, destination: str, size: float, on_end: Callable[[], None]) -> Action:
        """Begin to transfer bytes from one host to another."""
        work = self._message_work(source, destination, size)
        action = self.new_action(on_end, work.machines)
        self.begin_work(action, work)
        return action

    def advance(self) -> bool:
        """Move the clock to the nearest end of an action; return whether there was one."""
        if self.sharing.dirty:
            self._share()
        arriving = self._arriving
        if arriving is not None and self._plain:
            step = arriving.nearest()
            if self.now + step < min(self._works.safe, self._timers.safe, self._latencies.safe):
                self._note(step)
                self.now += step
                if arriving.advance(step, self._timing, self._precision):
                    self._arriving = None
                    arriving.on_end()
                return True
        return self._advance_to_nearest()

    def _advance_to_nearest(self) -> bool:
        works, timers, latencies, arriving = self._works, self._timers, self._latencies, self._arriving
        now = self.now
        step = arriving.nearest() if arriving is not None else inf
        for countdown in (timers, works, latencies):
            if countdown.safe <= now + step:
                step = min(step, countdown.nearest(now, step))
        rings = False
        if self._exact_timeouts:
            date = self._alarms.next_date()
            rings = date - self.now <= step
            if rings:
                step = date - self.now
        if step == inf:
            return False
        if self._before_step is not None and (cut := self._before_step(self.now, step)) != step:
            step, rings = cut, False
        self.now = date if rings else self.now + step
        self._note(step)
        ended = works.advance(step)
        ended += timers.advance(step)
        if latencies.safe < inf:
            ended += self._end_latencies(latencies.advance(step))
        if arriving is not None:
            if arriving.advance(step, self._timing, self._precision):
                self._arriving = None
            else:
                arriving = None
        if ended:
            self._end_all(ended, arriving)
        elif arriving is not None:
            arriving.on_end()
        while rings and self._alarms.next_date() <= self.now:
            self._end(self._alarms.pop())
        return True

    def _end_all(self, ended: list[Action], arriving: Arriving | None) -> None:
        """End actions, and the arrival of a message, in the order in which they began."""
        if len(ended) > 1:
            ended.sort(key=_sequence)
        for action in ended:
            if arriving is not None and arriving.sequence < action.sequence:
                arriving.on_end()
                arriving = None
            self._end(action)
        if arriving is not None:
            arriving.on_end()

    def _end(self, action: Action) -> None:
        if action.countdown is None:
            return  # another action that ended now has removed it
        if action.variable is None:
            if self._before_end and action.machines:
                self._before_end(action.machines)
            action.countdown.drop(action)
        else:
            self.remove(action)
        action.on_end()

    def _end_latencies(self, over: list[Action]) -> list[Action]:
        """Start the use of hosts and links by tasks whose latency is over; return those without any work."""
        for action in sorted(over, key=_sequence):
            self._latencies.drop(action)
            assert action.variable is not None
            action.variable.way_limit = self.simgrid.tcp_gamma / (2.0 * action.bytes_delay)
            self._go_on(action)
        return [action for action in over if action.empty]

    def _share(self) -> None:
        """Give the tasks whose shares have changed their new rates."""
        changed = self.sharing.solve()
        for variable in changed:
            self._works.set_rate(variable.owner, variable.value, self.now)
        if self._on_rates:
            self._on_rates(changed)

    def _note(self, step: float) -> None:
        """Remember a step, for the actions that do not follow each one."""
        if len(self._steps) >= MOST_STEPS:
            for countdown in (self._works, self._timers, self._latencies):
                countdown.forget_steps()
            self._steps.clear()
        self._steps.append(step)

    def way(self, source: str, destination: str) -> Way | None:
        """Return the way of a message to the server, None if it may share something."""
        try:
            return self._ways[source, destination]
        except KeyError:
            work = self._message_work(source, destination, 1.0)
            alone = self.quiet or (work.weights.keys() == {self.loopback} and not work.latency)
            measured = self._before_end is not None and work.machines
            way = self._ways[source, destination] = way_of(work, self.simgrid) if alone and not measured else None
            return way

    def begin_way(self, way: Way, on_end: Callable[[], None]) -> None:
        """Begin a message's way to the server."""
        self._sequence += 1
        self._arriving = Arriving(self._sequence, way, on_end)

    def timer(self, seconds: float, on_end: Callable[[], None], machine: int) -> Action:
        """Begin a time of some s, on a machine unless that is negative."""
        action = self.new_action(on_end, (machine,) if machine >= 0 else ())
        self._timers.add(action, seconds, self.now)
        return action

    def timeout(self, seconds: float, on_end: Callable[[], None], machine: int = -1) -> Action:
        """Begin a time that limits a wait."""
        if not self._exact_timeouts:
            return self.timer(seconds, on_end, machine)
        action = self.new_action(on_end, ())
        self._alarms.add(action, self.now + seconds)
        return action

    def new_action(self, on_end: Callable[[], None], machines: Sequence[int]) -> Action:
        """Return an action that begins now; the energy of the machines is updated when it ends."""
        self._sequence += 1
        return Action(self._sequence, on_end, machines)

    def begin_work(self, action: Action, work: Work) -> None:
        """Make an action one that does work, after its latency."""
        if self.loopback in work.weights:
            self._share_loopback(self.loopback)
        action.variable = Variable(work.weights, work.crowds, action)
        action.bytes_delay = work.bytes_delay
        action.empty = not any(work.weights.values())
        if work.latency > 0.0:
            self._latencies.add(action, work.latency, self.now)
        else:
            self._go_on(action)

    def _share_loopback(self, loopback: Constraint) -> None:
        """Make messages to the server share the capacity from a host to itself with what begins to use it."""
        self.loopback = None
        self._ways.clear()
        if (arriving := self._arriving) is not None:
            self._arriving = None
            action = Action(arriving.sequence, arriving.on_end, ())
            action.variable = Variable({loopback: 1.0}, owner=action)
            self._works.add(action, arriving.left, self.now)
            self.sharing.enable(action.variable)

    def _go_on(self, action: Action) -> None:
        """Start a task's use of its hosts and links."""
        assert action.variable is not None
        self._works.add(action, 0.0 if action.empty else 1.0, self.now)
        self.sharing.enable(action.variable)


def _sequence(action: Action) -> int:
    return action.sequence
