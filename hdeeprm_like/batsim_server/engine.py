"""The clock: actors that run until they block, and the actions (sleeps, messages, parallel tasks) that wake them.

It follows SimGrid 3.32 to the rounding of its sums, because Batsim's answers show nanoseconds. One round: every ready
actor runs until it issues a request, then the requests are granted in that order, until no actor is ready. Then the
clock moves to the nearest end of an action; all actions advance by that step, and those with less than 1e-9 s (timers)
or 1e-14 of their work left (unless SimGrid's options differ) end together and wake their actors in the order in which
the actions were created; alarms, which end at exact dates, come after them.

An actor is a generator. It yields requests, tuples ``(method of Engine, arguments...)``, and receives their answers.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from math import inf
from typing import Any, NamedTuple

from hdeeprm_like.batsim_server.countdowns import MOST_STEPS, Action, Alarms, Countdown, Works
from hdeeprm_like.batsim_server.sharing import Sharing, Variable, Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions

Request = tuple[Any, ...]
Script = Generator[Request, Any, Any]

SIMGRID = SimgridOptions()
DONE, TIMEOUT, CANCELLED = "done", "timeout", "cancelled"


class Actor:
    """A running script, its host, and what it waits for."""

    __slots__ = ("alive", "host", "script", "waits_for")

    def __init__(self, script: Script, host: str) -> None:
        """Start unblocked."""
        self.script = script
        self.host = host
        self.alive = True
        self.waits_for: Any = None


class Message:
    """A message in a mailbox, with a size in bytes; its sender, if any, waits until it has arrived."""

    __slots__ = ("content", "host", "mailbox", "sender", "size")

    def __init__(self, sender: Actor | None, host: str, content: Any, mailbox: "Mailbox", size: float) -> None:
        """Wait for a receiver."""
        self.sender = sender
        self.host = host
        self.content = content
        self.mailbox = mailbox
        self.size = size


class Mailbox:
    """Messages that wait for a receiver, or the receiver that waits for a message."""

    __slots__ = ("pending", "receiver", "transfer")

    def __init__(self) -> None:
        """Start empty."""
        self.pending: deque[Message] = deque()
        self.receiver: Actor | None = None
        self.transfer: Action | None = None  # transfer of the message under way to the receiver


class Way(NamedTuple):
    """The way of a message to the server that shares nothing: latency in s, then work that is *left* at a rate in 1/s."""

    latency: float
    left: float
    rate: float


class _Arriving:
    """A message on its way to the server that shares nothing: one at a time, as the server receives one at a time."""

    __slots__ = ("latency", "left", "message", "rate", "receiver", "sender_first", "sequence")

    def __init__(self, sequence: int, message: Message, receiver: Actor, sender_first: bool, way: Way) -> None:
        """Start at the beginning of the way."""
        self.sequence = sequence
        self.message = message
        self.receiver = receiver
        self.sender_first = sender_first
        self.latency, self.left, self.rate = way

    def nearest(self) -> float:
        """Return the s until the latency or the work is over."""
        return self.latency or self.left / self.rate

    def advance(self, step: float, timing: float, precision: float) -> bool:
        """Advance by *step* s; return whether the message has arrived."""
        if self.latency:
            self.latency -= step
            if self.latency >= timing:
                return False
            self.latency = 0.0
            return not self.left
        self.left -= self.rate * step
        return self.left < precision


class Engine:
    """The clock, the actors and the actions.

    Attributes:
        server: the mailbox of the server.
        silent: whether only messages to the server use links, and no energy is measured.
        in_round: number of the actors in the round that runs, if they are several.
    """

    def __init__(
        self,
        message_work: Callable[[str, str, float], Work | float],
        on_rates: Callable[[Sequence[Variable]], None] | None = None,
        before_end: Callable[[Sequence[int]], None] | None = None,
        simgrid: SimgridOptions = SIMGRID,
        exact_timeouts: bool = False,
    ) -> None:
        """Start at time 0 without actors.

        Args:
            message_work: returns the load of a message of some bytes from one host to another, or just its rate in 1/s
            if it shares nothing.
            on_rates: called with the tasks that have a new rate.
            before_end: called with the machines of an action that ends, before others get its share of them.
            simgrid: the tolerances of SimGrid's model.
            exact_timeouts: whether waits with a limit end exactly at that date, as in SimGrid 4, and not up to 1e-9 s
            before.
        """
        self.now = 0.0
        self.sharing = Sharing(simgrid.work_amount)
        self._steps: list[float] = []  # the latest ones, in s
        self._message_work = message_work
        self._on_rates = on_rates
        self._before_end = before_end
        self._ready: list[tuple[Actor, Any]] = []
        self.in_round = 0
        self.server = Mailbox()
        self._sequence = 0
        self._timing = simgrid.timing
        self._precision = simgrid.timing * simgrid.work_amount  # of works
        self._works = Works(self._precision, self._steps)
        self._timers = Countdown(simgrid.timing, self._steps)
        self._latencies = Countdown(simgrid.timing, self._steps)  # of tasks and messages, which then become works
        self._alarms = Alarms()
        self._exact_timeouts = exact_timeouts
        self._arriving: _Arriving | None = None
        self._ways: dict[tuple[str, str], Way | None] = {}
        self.silent = False
        self._tcp_gamma = simgrid.tcp_gamma
        self._plain = not exact_timeouts
        self._before_step: Callable[[float, float], float] | None = None

    # Requests ---------------------------------------------------------------------------------------------------

    def sleep(self, actor: Actor, seconds: float, machine: int = -1) -> None:
        """Wake the actor after some time (more than 0)."""
        actor.waits_for = self._timer(seconds, lambda: self.wake(actor, None), machine)

    def spawn(self, actor: Actor, script: Script, host: str) -> None:
        """Start another actor, which runs before the requesting one; answer the new actor."""
        self._ready.append((other := Actor(script, host), None))
        self.wake(actor, other)

    def skip(self, actor: Actor) -> None:
        """Yield to the other actors, like a SimGrid kernel call that takes no time."""
        self.wake(actor, None)

    def put(self, actor: Actor, content: Any, mailbox: Mailbox | None = None, size: float = 1.0) -> None:
        """Send to a mailbox, by default the server's; the actor continues when the message has arrived."""
        message = actor.waits_for = Message(actor, actor.host, content, mailbox or self.server, size)
        self._send(message)

    def post(self, actor: Actor, content: Any, mailbox: Mailbox) -> None:
        """Send to a mailbox without waiting for the arrival."""
        self._send(Message(None, actor.host, content, mailbox, 1.0))
        self.wake(actor, None)

    def get(self, actor: Actor, mailbox: Mailbox | None = None) -> None:
        """Answer the next message of a mailbox, by default the server's, when it has arrived."""
        mailbox = mailbox or self.server
        if mailbox.pending:
            self._transfer(mailbox.pending.popleft(), actor, sender_first=True)
        else:
            mailbox.receiver = actor

    def get_within(self, actor: Actor, mailbox: Mailbox, seconds: float) -> None:
        """Answer the next message of a mailbox, or TIMEOUT if it has not arrived (exact: not been sent) in time."""

        def give_up() -> None:
            mailbox.receiver = None
            if mailbox.transfer is not None:
                self.remove(mailbox.transfer)
            self.wake(actor, TIMEOUT)

        actor.waits_for = self._timeout(seconds, give_up)
        self.get(actor, mailbox)

    def start(self, actor: Actor, work: Work) -> None:
        """Start a parallel task; answer its action."""
        action = self._new_action(lambda: None, work.machines)
        self._begin_work(action, work)
        if self._before_end and work.ranks == 1:  # SimGrid's energy plugin ignores the start of any other task
            self._before_end(work.machines)
        self.wake(actor, action)

    def wait(self, actor: Actor, action: Action, timeout: float) -> None:
        """Answer DONE, CANCELLED, or (after *timeout* s, unless negative) TIMEOUT; in that case the task continues."""
        timer: Action | None = None

        def end(how: str) -> None:
            if how != TIMEOUT:
                self.remove(action)
            if timer is not None:
                self.remove(timer)
            action.on_end = lambda: None
            self.wake(actor, how)

        action.on_end = lambda: end(DONE)
        if timeout >= 0.0:
            timer = self._timeout(timeout, lambda: end(TIMEOUT), action.machines[0])
        actor.waits_for = end

    def cancel(self, actor: Actor, target: Actor) -> None:
        """Stop the parallel task that another actor waits for."""
        if callable(target.waits_for):
            target.waits_for(CANCELLED)
        self.wake(actor, None)

    def kill(self, actor: Actor, target: Actor) -> None:
        """End another actor at once."""
        target.alive = False
        if isinstance(target.waits_for, Action):
            self.remove(target.waits_for)
        elif isinstance(target.waits_for, Message):
            target.waits_for.sender = None
            if target.waits_for in target.waits_for.mailbox.pending:
                target.waits_for.mailbox.pending.remove(target.waits_for)
        elif callable(target.waits_for):
            target.waits_for(CANCELLED)
        target.script.close()
        self.wake(actor, None)

    # A conversation in which nothing else happens ---------------------------------------------------------------

    def rate_alone(self, host: str) -> float:
        """Return the rate in 1/s of a message from the server's host to itself; 0 if it has a latency or may share."""
        way = self._way(host, host)
        return way.rate if way is not None and not way.latency and way.left else 0.0

    def next_sequence(self) -> int:
        """Return the number of an action that begins now."""
        self._sequence += 1
        return self._sequence

    def pass_alone(self, rate: float) -> bool:
        """Advance by the way of a message to the server, at a rate in 1/s, if no action ends before or with it.

        Returns:
            Whether that was so; if not, nothing has changed.
        """
        if not self._plain:
            return False
        if self.sharing.dirty:
            self._share()
        step = 1.0 / rate
        date = self.now + step
        if 1.0 - rate * step >= self._precision:
            return False
        if date >= min(self._works.safe, self._timers.safe, self._latencies.safe):
            return False
        self._note(step)
        self.now = date
        return True

    def spawn_within(self, script: Script, host: str, then: Script) -> int:
        """Start an actor while the server and the conversation are the only ready ones, up to where it waits.

        Args:
            then: what the server does with the actor in the same round, after the actor's first step.

        Returns:
            The number of the server's next message, which it gets in that round.
        """
        actor = Actor(script, host)
        request = next(script, None)
        with suppress(StopIteration):
            then.send(actor)
        if request is None:
            actor.alive = False
        else:
            request[0](actor, *request[1:])
        sequence = self.next_sequence()
        while self._ready:
            self._run_ready()
        return sequence

    def put_first(self, actor: Actor, content: Any) -> None:
        """Send to the server before the messages that wait."""
        message = actor.waits_for = Message(actor, actor.host, content, self.server, 1.0)
        self.server.pending.appendleft(message)

    def get_numbered(self, actor: Actor, sequence: int) -> None:
        """Answer the next message to the server, whose way got its number before."""
        later, self._sequence = self._sequence, sequence - 1
        self.get(actor)
        self._sequence = later

    # The loop ---------------------------------------------------------------------------------------------------

    @property
    def mailbox_empty(self) -> bool:
        """Whether no message waits for the server."""
        return not self.server.pending

    def change_before_steps(self, before: Callable[[float, float], float]) -> None:
        """Let changes come from outside: *before* takes the time and the next step in s, returns a step up to one."""
        self._before_step = before
        self._plain = False

    def begin(self, script: Script, host: str) -> Actor:
        """Add an actor from outside."""
        actor = Actor(script, host)
        self._ready.append((actor, None))
        return actor

    def run(self) -> None:
        """Run until nothing more can happen."""
        while True:
            while len(self._ready) == 1:  # the usual case: its request is granted at once
                actor, answer = self._ready.pop()
                if actor.alive:
                    try:
                        request = actor.script.send(answer)
                    except StopIteration:
                        actor.alive = False
                    else:
                        request[0](actor, *request[1:])
            if self._ready:
                self._run_ready()
            elif not self._advance():
                return

    def work_left(self, action: Action) -> float:
        """Return the remaining share of a task."""
        if action.countdown is self._works:
            return self._works.left(action)
        return 0.0 if action.countdown is None else 1.0

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

    def _run_ready(self) -> None:
        ran, self._ready = self._ready, []
        self.in_round = len(ran)
        asking: list[tuple[Actor, Request]] = []
        for actor, answer in ran:
            if actor.alive:
                try:
                    asking.append((actor, actor.script.send(answer)))
                except StopIteration:
                    actor.alive = False
        for actor, request in asking:
            if actor.alive:
                request[0](actor, *request[1:])

    def wake(self, actor: Actor, answer: Any) -> None:
        """Schedule an actor, with the answer to its request."""
        actor.waits_for = None
        self._ready.append((actor, answer))

    def _send(self, message: Message) -> None:
        mailbox = message.mailbox
        if mailbox.receiver is None:
            mailbox.pending.append(message)
        else:
            receiver, mailbox.receiver = mailbox.receiver, None
            self._transfer(message, receiver, sender_first=False)

    def _transfer(self, message: Message, receiver: Actor, sender_first: bool) -> None:
        mailbox = message.mailbox
        if mailbox is self.server:
            way = self._way(message.host, receiver.host)
            if way is not None:
                self._sequence += 1
                self._arriving = _Arriving(self._sequence, message, receiver, sender_first, way)
                return
        if self._exact_timeouts and isinstance(receiver.waits_for, Action):
            self.remove(receiver.waits_for)

        def arrive() -> None:
            mailbox.transfer = None
            if isinstance(receiver.waits_for, Action):
                self.remove(receiver.waits_for)  # the timer of `get_within`
            sender = message.sender
            if sender is not None and sender_first:
                self.wake(sender, None)
            self.wake(receiver, message.content)
            if sender is not None and not sender_first:
                self.wake(sender, None)

        mailbox.transfer = self.carry(message.host, receiver.host, message.size, arrive)

    def carry(self, source: str, destination: str, size: float, on_end: Callable[[], None]) -> Action:
        """Begin to transfer bytes from one host to another."""
        work = self._message_work(source, destination, size)
        if isinstance(work, float):
            action = self._new_action(on_end, ())
            self._works.add(action, 1.0, self.now, work)
        else:
            action = self._new_action(on_end, work.machines)
            self._begin_work(action, work)
        return action

    def _timer(self, seconds: float, on_end: Callable[[], None], machine: int) -> Action:
        action = self._new_action(on_end, (machine,) if machine >= 0 else ())
        self._timers.add(action, seconds, self.now)
        return action

    def _timeout(self, seconds: float, on_end: Callable[[], None], machine: int = -1) -> Action:
        if not self._exact_timeouts:
            return self._timer(seconds, on_end, machine)
        action = self._new_action(on_end, ())
        self._alarms.add(action, self.now + seconds)
        return action

    def _new_action(self, on_end: Callable[[], None], machines: Sequence[int]) -> Action:
        self._sequence += 1
        return Action(self._sequence, on_end, machines)

    def _begin_work(self, action: Action, work: Work) -> None:
        action.variable = Variable(work.weights, work.crowds, action)
        action.bytes_delay = work.bytes_delay
        action.empty = not any(work.weights.values())
        if work.latency > 0.0:
            self._latencies.add(action, work.latency, self.now)
        else:
            self._go_on(action)

    def _go_on(self, action: Action) -> None:
        """Start a task's use of its hosts and links."""
        assert action.variable is not None
        self._works.add(action, 0.0 if action.empty else 1.0, self.now)
        self.sharing.enable(action.variable)

    def _advance(self) -> bool:
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
                    self._arrive(arriving)
                return True
        return self._advance_to_nearest()

    def _advance_to_nearest(self) -> bool:
        works, timers, latencies, arriving = self._works, self._timers, self._latencies, self._arriving
        now = self.now
        step = arriving.nearest() if arriving is not None else inf
        step = min(step, timers.nearest(now, step))
        step = min(step, works.nearest(now, step))
        if latencies:
            step = min(step, latencies.nearest(now, step))
        rings = False
        if self._exact_timeouts:
            date = self._alarms.next_date()
            rings = date - self.now <= step
            if rings:
                step = date - self.now
        if step == inf:
            return False
        if self._before_step is not None and (cut := self._before_step(self.now, step)) < step:
            step, rings = cut, False
        self.now = date if rings else self.now + step
        self._note(step)
        ended = works.advance(step)
        ended += timers.advance(step)
        if latencies:
            ended += self._end_latencies(latencies.advance(step))
        if arriving is not None:
            if arriving.advance(step, self._timing, self._precision):
                self._arriving = None
            else:
                arriving = None
        if ended:
            self._end_all(ended, arriving)
        elif arriving is not None:
            self._arrive(arriving)
        while rings and self._alarms.next_date() <= self.now:
            self._end(self._alarms.pop())
        return True

    def _note(self, step: float) -> None:
        """Remember a step, for the actions that do not follow each one."""
        if len(self._steps) >= MOST_STEPS:
            for countdown in (self._works, self._timers, self._latencies):
                countdown.forget_steps()
            self._steps.clear()
        self._steps.append(step)

    def _way(self, source: str, destination: str) -> Way | None:
        """Return the way of a message to the server, None if it may share something."""
        try:
            return self._ways[source, destination]
        except KeyError:
            way = self._ways[source, destination] = self._find_way(self._message_work(source, destination, 1.0))
            return way

    def _find_way(self, work: Work | float) -> Way | None:
        if isinstance(work, float):
            return Way(0.0, 1.0, work)
        if not self.silent:
            return None
        variable, sharing = Variable(work.weights), Sharing(self.sharing.precision)
        if work.latency > 0.0:
            variable.way_limit = self._tcp_gamma / (2.0 * work.bytes_delay)
        sharing.enable(variable)
        sharing.solve()
        rate = variable.value
        sharing.remove(variable)
        return Way(work.latency, 1.0 if any(work.weights.values()) else 0.0, rate)

    def _share(self) -> None:
        """Give the tasks whose shares have changed their new rates."""
        changed = self.sharing.solve()
        for variable in changed:
            self._works.set_rate(variable.owner, variable.value, self.now)
        if self._on_rates:
            self._on_rates(changed)

    def _end_all(self, ended: list[Action], arriving: _Arriving | None) -> None:
        """End actions, and the arrival of a message, in the order in which they began."""
        if len(ended) > 1:
            ended.sort(key=_sequence)
        for action in ended:
            if arriving is not None and arriving.sequence < action.sequence:
                self._arrive(arriving)
                arriving = None
            self._end(action)
        if arriving is not None:
            self._arrive(arriving)

    def _arrive(self, arriving: _Arriving) -> None:
        """Wake the server with a message, and its sender."""
        sender = arriving.message.sender
        if sender is not None and arriving.sender_first:
            self.wake(sender, None)
        self.wake(arriving.receiver, arriving.message.content)
        if sender is not None and not arriving.sender_first:
            self.wake(sender, None)

    def _end_latencies(self, over: list[Action]) -> list[Action]:
        """Start the use of hosts and links by tasks whose latency is over; return those without any work."""
        for action in sorted(over, key=_sequence):
            self._latencies.drop(action)
            assert action.variable is not None
            action.variable.way_limit = self._tcp_gamma / (2.0 * action.bytes_delay)
            self._go_on(action)
        return [action for action in over if action.empty]

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


def _sequence(action: Action) -> int:
    return action.sequence
