"""The clock: actors that run until they block, and the actions (sleeps, messages, parallel tasks) that wake them.

It imitates SimGrid 3.32 to the rounding of its sums, because Batsim's answers show nanoseconds. One round: every ready
actor runs until it asks for something, then what they asked is done in that order, until nobody is ready. Then the
clock moves to the nearest end of an action; all actions advance by that step, and those with less than 1e-9 s (timers)
or 1e-14 of their work left end together and wake their actors in the order in which the actions were created.

An actor is a generator. It yields requests, tuples ``(method of Engine, arguments...)``, and receives their answers.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from heapq import heappop, heappush
from typing import Any

import numpy as np

from hdeeprm_like.batsim_server.sharing import Constraint, Sharing, Variable
from hdeeprm_like.types import Floats

Request = tuple[Any, ...]
Script = Generator[Request, Any, Any]

TIMER_PRECISION = 1e-9  # s
WORK_PRECISION = 1e-14  # share of the whole work
TCP_GAMMA = 4194304.0  # bytes in flight at most, which limits what crosses a long route

DONE, TIMEOUT, CANCELLED = "done", "timeout", "cancelled"


class Actor:
    """A running script, where it runs, and what it waits for."""

    __slots__ = ("alive", "host", "script", "waits_for")

    def __init__(self, script: Script, host: str) -> None:
        """Start unblocked."""
        self.script = script
        self.host = host
        self.alive = True
        self.waits_for: Any = None


class Action:
    """Something that takes simulated time."""

    __slots__ = ("bytes_delay", "machines", "on_end", "sequence", "slot", "variable")

    def __init__(self, sequence: int, on_end: Callable[[], None], machines: Sequence[int]) -> None:
        """Start outside of the clock; *machines* have their energy brought up to date when it ends."""
        self.sequence = sequence
        self.on_end = on_end
        self.machines = machines
        self.variable: Variable | None = None
        self.bytes_delay = 0.0  # max over flows of latency (s) times bytes
        self.slot = -1


class Work:
    """What a parallel task or a message asks for."""

    __slots__ = ("bytes_delay", "latency", "machines", "weights")

    def __init__(
        self, weights: dict[Constraint, float], machines: Sequence[int], latency: float, bytes_delay: float
    ) -> None:
        """Keep the weights per constraint; latency in s, *bytes_delay* the largest latency times bytes of a flow."""
        self.weights = weights
        self.machines = machines
        self.latency = latency
        self.bytes_delay = bytes_delay


class Message:
    """One put in a mailbox."""

    __slots__ = ("content", "receiver", "sender")

    def __init__(self, sender: Actor | None, content: Any) -> None:
        """Wait for a receiver."""
        self.sender = sender
        self.receiver: Actor | None = None
        self.content = content


class Mailbox:
    """Where one actor receives what others send.

    Attributes:
        pending: what has been sent and not been asked for. receiver: who waits for the next message.
        alarm: that ends the wait.
    """

    __slots__ = ("alarm", "pending", "receiver")

    def __init__(self) -> None:
        """Start empty."""
        self.pending: deque[Message] = deque()
        self.receiver: Actor | None = None
        self.alarm: Alarm | None = None


class Alarm:
    """Something to be done at an exact date, unless it is turned *off* before."""

    __slots__ = ("off", "on_ring")

    def __init__(self, on_ring: Callable[[], None]) -> None:
        """Be ready to ring."""
        self.on_ring = on_ring
        self.off = False


class Engine:
    """The clock, the actors, the actions and the mailboxes.

    Attributes:
        server: the mailbox of the server; who names no mailbox means this one.
    """

    def __init__(
        self,
        message_work: Callable[[str], Work | float],
        on_rates: Callable[[Sequence[Variable]], None] | None = None,
        before_end: Callable[[Sequence[int]], None] | None = None,
        exact_timeouts: bool = False,
    ) -> None:
        """Start at time 0 without actors.

        Args:
            message_work: what a message from a host asks for, or simply its rate in 1/s when it shares nothing.
            on_rates: called with the tasks that have a new rate.
            before_end: called with the machines of an action that ends, before others get its share of them.
            exact_timeouts: waits for tasks end when their time is over, as in SimGrid 4, not up to 1e-9 s before.
        """
        self.now = 0.0
        self.sharing = Sharing()
        self.steps = 0
        self._message_work = message_work
        self._on_rates = on_rates
        self._before_end = before_end
        self._ready: list[tuple[Actor, Any]] = []
        self.server = Mailbox()
        self._alarms: list[tuple[float, int, Alarm]] = []  # a heap: date (s), number, what rings then
        self._exact_timeouts = exact_timeouts
        self._sequence = 0
        self._actions: list[Action] = []
        # per action: share of the work left, s of its timer left, s of latency left; and what 1 s takes off each
        self._left: Floats = np.full((3, 64), np.inf)
        self._rates: Floats = np.ones((3, 64))
        self._precision: Floats = np.array([[WORK_PRECISION], [TIMER_PRECISION], [TIMER_PRECISION]])

    # Requests ---------------------------------------------------------------------------------------------------

    def sleep(self, actor: Actor, seconds: float, machine: int = -1) -> None:
        """Wake the actor after some time (more than 0)."""
        actor.waits_for = self._timer(seconds, lambda: self._wake(actor, None), machine)

    def spawn(self, actor: Actor, script: Script, host: str) -> None:
        """Start another actor, which runs before the one that asked; answer it."""
        self._ready.append((other := Actor(script, host), None))
        self._wake(actor, other)

    def skip(self, actor: Actor) -> None:
        """Let the others go first: what in SimGrid is a call to the kernel that takes no time."""
        self._wake(actor, None)

    def put(self, actor: Actor, content: Any, mailbox: Mailbox | None = None) -> None:
        """Send to a mailbox; the actor goes on when the message has arrived."""
        mailbox = mailbox or self.server
        message = Message(actor, content)
        actor.waits_for = message
        if mailbox.receiver is None:
            mailbox.pending.append(message)
        else:
            receiver, mailbox.receiver = mailbox.receiver, None
            if mailbox.alarm is not None:
                mailbox.alarm.off = True
            self._transfer(message, receiver, sender_first=False)

    def get(self, actor: Actor, mailbox: Mailbox | None = None, timeout: float = np.inf) -> None:
        """Answer the next message of a mailbox, when it has arrived, or TIMEOUT if none is sent for *timeout* s."""
        mailbox = mailbox or self.server
        if mailbox.pending:
            self._transfer(mailbox.pending.popleft(), actor, sender_first=True)
            return

        def give_up() -> None:
            mailbox.receiver = None
            self._wake(actor, TIMEOUT)

        mailbox.receiver = actor
        mailbox.alarm = self._alarm(timeout, give_up) if timeout < np.inf else None

    def start(self, actor: Actor, work: Work) -> None:
        """Start a parallel task; answer its action."""
        action = self._new_action(lambda: None, work.machines)
        self._insert(action, work=work)
        if self._before_end and len(work.machines) == 1:
            self._before_end(work.machines)
        self._wake(actor, action)

    def wait(self, actor: Actor, action: Action, timeout: float) -> None:
        """Answer DONE, CANCELLED, or (after *timeout* s, unless negative) TIMEOUT; then the task goes on."""
        timer: Action | None = None
        alarm: Alarm | None = None

        def end(how: str) -> None:
            if how != TIMEOUT:
                self.remove(action)
            if timer is not None:
                self.remove(timer)
            if alarm is not None:
                alarm.off = True
            action.on_end = lambda: None
            self._wake(actor, how)

        action.on_end = lambda: end(DONE)
        if timeout >= 0.0 and self._exact_timeouts:
            alarm = self._alarm(timeout, lambda: end(TIMEOUT))
        elif timeout >= 0.0:
            timer = self._timer(timeout, lambda: end(TIMEOUT), action.machines[0])
        actor.waits_for = end

    def cancel(self, actor: Actor, target: Actor) -> None:
        """Stop the parallel task that another actor waits for."""
        if callable(target.waits_for):
            target.waits_for(CANCELLED)
        self._wake(actor, None)

    def kill(self, actor: Actor, target: Actor) -> None:
        """End another actor where it stands."""
        target.alive = False
        if isinstance(target.waits_for, Action):
            self.remove(target.waits_for)
        elif isinstance(target.waits_for, Message):
            target.waits_for.sender = None
            if target.waits_for in self.server.pending:
                self.server.pending.remove(target.waits_for)
        target.script.close()
        self._wake(actor, None)

    # The loop ---------------------------------------------------------------------------------------------------

    @property
    def mailbox_empty(self) -> bool:
        """Whether nobody waits for the server to receive."""
        return not self.server.pending

    def begin(self, script: Script, host: str) -> Actor:
        """Add an actor from outside."""
        actor = Actor(script, host)
        self._ready.append((actor, None))
        return actor

    def run(self) -> None:
        """Go on until nothing more can happen."""
        with np.errstate(divide="ignore", invalid="ignore"):
            while True:
                while self._ready:
                    self._run_ready()
                if not self._advance():
                    return

    def work_left(self, action: Action) -> float:
        """Return the share of a task that is still to be done."""
        return float(self._left[0, action.slot]) if action.slot >= 0 else 0.0

    def remove(self, action: Action, unseen: bool = False) -> None:
        """Take an action off the clock; its machines' energy is brought up to date first, unless it goes *unseen*."""
        slot = action.slot
        if slot < 0:
            return
        variable = action.variable
        if variable is not None:
            if self._before_end and not unseen:
                self._before_end(action.machines)
            freed = variable.enabled
            self.sharing.remove(variable)
            if freed and self._on_rates:
                self._on_rates([variable])
        last = self._actions.pop()
        if last is not action:
            self._actions[slot] = last
            self._left[:, slot] = self._left[:, last.slot]
            self._rates[:, slot] = self._rates[:, last.slot]
            last.slot = slot
            if last.variable is not None:
                last.variable.slot = slot
        action.slot = -1

    def _run_ready(self) -> None:
        ran, self._ready = self._ready, []
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

    def _wake(self, actor: Actor, answer: Any) -> None:
        actor.waits_for = None
        self._ready.append((actor, answer))

    def _transfer(self, message: Message, receiver: Actor, sender_first: bool) -> None:
        sender = message.sender
        assert sender is not None
        work = self._message_work(sender.host)

        def arrive() -> None:
            actors = [(message.sender, None), (receiver, message.content)]
            for actor, answer in actors if sender_first else reversed(actors):
                if actor is not None:
                    self._wake(actor, answer)

        action = self._new_action(arrive, () if isinstance(work, float) else work.machines)
        if isinstance(work, float):
            self._insert(action, rate=work)
        else:
            self._insert(action, work=work)

    def _timer(self, seconds: float, on_end: Callable[[], None], machine: int) -> Action:
        action = self._new_action(on_end, (machine,) if machine >= 0 else ())
        self._insert(action, seconds=seconds)
        return action

    def _new_action(self, on_end: Callable[[], None], machines: Sequence[int]) -> Action:
        self._sequence += 1
        return Action(self._sequence, on_end, machines)

    def _insert(self, action: Action, *, seconds: float = np.inf, rate: float = 0.0, work: Work | None = None) -> None:
        slot = action.slot = len(self._actions)
        self._actions.append(action)
        if slot == self._left.shape[1]:
            self._left = np.concatenate([self._left, np.full_like(self._left, np.inf)], axis=1)
            self._rates = np.concatenate([self._rates, np.ones_like(self._rates)], axis=1)
        self._left[:, slot] = (1.0 if rate else np.inf, seconds, np.inf)
        self._rates[0, slot] = rate
        if work is None:
            return
        variable = action.variable = Variable(work.weights)
        variable.slot = slot
        action.bytes_delay = work.bytes_delay
        self._left[0, slot] = 1.0 if any(work.weights.values()) else 0.0
        if work.latency > 0.0:
            self._left[2, slot] = work.latency
        else:
            self.sharing.enable(variable)

    def _advance(self) -> bool:
        """Move the clock to the nearest end of an action; return whether there was one."""
        if self.sharing.dirty:
            changed = self.sharing.solve()
            for variable in changed:
                self._rates[0, variable.slot] = variable.value
            if self._on_rates:
                self._on_rates(changed)
        count = len(self._actions)
        if not count and not self._alarms:
            return False
        left, rates = self._left[:, :count], self._rates[:, :count]
        step = float((left / rates).min()) if count else np.inf
        date = self._next_alarm() if self._alarms else np.inf
        rings = date - self.now <= step
        if rings:
            step = date - self.now
        if step == np.inf:
            return False
        self.steps += 1
        self.now = date if rings else self.now + step
        left -= rates * step
        ended: dict[int, Action] = {}
        rows, slots = (left < self._precision).nonzero()
        for row, slot in zip(rows.tolist(), slots.tolist(), strict=True):
            action = self._actions[slot]
            if row == 2:
                self._end_latency(action)
            else:
                ended[action.sequence] = action
        for sequence in sorted(ended) if len(ended) > 1 else ended:
            self._end(ended[sequence])
        if rings:
            self._ring_alarms()
        return True

    def _alarm(self, seconds: float, on_ring: Callable[[], None]) -> Alarm:
        self._sequence += 1
        alarm = Alarm(on_ring)
        heappush(self._alarms, (self.now + seconds, self._sequence, alarm))
        return alarm

    def _next_alarm(self) -> float:
        """Return the date of the next alarm that is on, inf if there is none; forget those before it."""
        while self._alarms and self._alarms[0][2].off:
            heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else np.inf

    def _ring_alarms(self) -> None:
        """Do what is to be done now, after the actions that end now; SimGrid 4 has its timeouts in that order."""
        while self._next_alarm() <= self.now:
            heappop(self._alarms)[2].on_ring()

    def _end_latency(self, action: Action) -> None:
        self._left[2, action.slot] = np.inf
        assert action.variable is not None
        action.variable.bound = TCP_GAMMA / (2.0 * action.bytes_delay)
        self.sharing.enable(action.variable)

    def _end(self, action: Action) -> None:
        if action.slot < 0:
            return  # another action that ended now has taken it away
        if self._before_end and action.machines and action.variable is None:
            self._before_end(action.machines)
        self.remove(action)
        action.on_end()
