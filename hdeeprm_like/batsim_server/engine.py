"""Actors that run until they block, and the clock's actions (sleeps, messages, parallel tasks) that wake them.

It follows SimGrid 3.32. One round: every ready actor runs until it issues a request, then the requests are granted in
that order, until no actor is ready. Then the clock moves to the nearest end of an action, which wakes its actor.

An actor is a generator. It yields requests, tuples ``(method of Engine, arguments...)``, and receives their answers.
"""

from collections import deque
from collections.abc import Generator
from typing import Any

from hdeeprm_like.batsim_server.clock import Action, Clock, MessageWork
from hdeeprm_like.batsim_server.energy import EnergyMeter
from hdeeprm_like.batsim_server.sharing import Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions
from hdeeprm_like.errors import ProtocolError

Request = tuple[Any, ...]
Script = Generator[Request, Any, Any]

SIMGRID = SimgridOptions()
DONE, TIMEOUT, CANCELLED = "done", "timeout", "cancelled"


class Actor:
    """A running script, its host, and what it waits for."""

    def __init__(self, script: Script, host: str) -> None:
        """Start unblocked."""
        self.script = script
        self.host = host
        self.alive = True
        self.waits_for: Any = None


class Message:
    """A message in a mailbox, with a size in bytes; its sender, if any, waits until it has arrived."""

    def __init__(self, sender: Actor | None, host: str, content: Any, mailbox: "Mailbox", size: float) -> None:
        """Wait for a receiver."""
        self.sender = sender
        self.host = host
        self.content = content
        self.mailbox = mailbox
        self.size = size


class Mailbox:
    """Messages that wait for a receiver, or the receiver that waits for a message."""

    def __init__(self) -> None:
        """Start empty."""
        self.pending: deque[Message] = deque()
        self.receiver: Actor | None = None
        self.transfer: Action | None = None  # transfer of the message under way to the receiver


class Engine(Clock):
    """The clock, the actors and the actions.

    Attributes:
        server: the mailbox of the server.
    """

    def __init__(self, message_work: MessageWork, meter: EnergyMeter | None = None, simgrid: SimgridOptions = SIMGRID):
        """Start at time 0 without actors.

        Args:
            meter: measures the energy of the machines, if that is wanted.
            simgrid: the tolerances of SimGrid's model.
        """
        super().__init__(message_work, meter, simgrid)
        self._ready: list[tuple[Actor, Any]] = []
        self.server = Mailbox()

    # Requests ---------------------------------------------------------------------------------------------------

    def sleep(self, actor: Actor, seconds: float, machine: int = -1) -> None:
        """Wake the actor after some time (more than 0)."""
        actor.waits_for = self.timer(seconds, lambda: self.wake(actor, None), machine)

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

        actor.waits_for = self.timeout(seconds, give_up)
        self.get(actor, mailbox)

    def start(self, actor: Actor, work: Work) -> None:
        """Start a parallel task; answer its action."""
        action = self.begin_work(work, lambda: None)
        if self._meter and work.ranks == 1:  # SimGrid's energy plugin ignores the start of any other task
            self._meter.update(work.machines, self.now)
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
            timer = self.timeout(timeout, lambda: end(TIMEOUT), action.machines[0])
        actor.waits_for = end

    def cancel(self, actor: Actor, target: Actor) -> None:
        """Stop the parallel task that another actor waits for."""
        if callable(target.waits_for):
            target.waits_for(CANCELLED)
        self.wake(actor, None)

    def kill(self, actor: Actor, target: Actor) -> None:
        """End another actor at once.

        Raises:
            ProtocolError: its message is on the way to the server, whose receipt fails in SimGrid then.
        """
        target.alive = False
        if isinstance(target.waits_for, Action):
            self.remove(target.waits_for)
        elif isinstance(target.waits_for, Message):
            target.waits_for.sender = None
            if target.waits_for in target.waits_for.mailbox.pending:
                target.waits_for.mailbox.pending.remove(target.waits_for)
            elif target.waits_for.mailbox is self.server:
                raise ProtocolError("a job is killed while a message of it is on its way to the server; Batsim aborts")
        elif callable(target.waits_for):
            target.waits_for(CANCELLED)
        target.script.close()
        self.wake(actor, None)

    # The loop ---------------------------------------------------------------------------------------------------

    def begin(self, script: Script, host: str) -> Actor:
        """Add an actor from outside."""
        actor = Actor(script, host)
        self._ready.append((actor, None))
        return actor

    def run(self) -> None:
        """Run until nothing more can happen."""
        while True:
            while self._ready:
                self._run_ready()
            if not self.advance():
                return

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
        if self.simgrid.exact_timeouts and isinstance(receiver.waits_for, Action):
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
