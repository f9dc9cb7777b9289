"""HDeepRM's decision system as a scheduler of PyBatsim 3.1, and the endpoint that Batsim talks to.

`Scheduler` works under PyBatsim's own launcher (see ``hdeeprm_like.entry``). `Endpoint` takes the place of PyBatsim's
loop where we launch: it hears the same messages on PyBatsim's socket, but notices when Batsim is gone, and builds no
object for each job and each event.
"""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import zmq
from batsim.batsim import BatsimScheduler, NetworkHandler
from zmq.utils.monitor import recv_monitor_message

from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import OptionsError, ProtocolError

POLL = 0.1  # s between two looks at whether Batsim is still there
LINGER = 2000  # ms that the last answer may take to leave
PARTING = 5.0  # s that Batsim may take to say its next thing, when it must be told that nobody listens any more
LARGEST_MESSAGE = 1 << 30  # bytes
PYBATSIM_EVENTS = ("SIMULATION_BEGINS", "SIMULATION_ENDS")  # what PyBatsim's own loop begins and ends with


def refuse(socket: Any, why: str, patience: float = PARTING) -> None:
    """Answer what Batsim asks, or asks within *patience* s, with what it cannot use, so that it ends and does not wait.

    Batsim knows no answer that ends a simulation, but it aborts on one without ``now``.
    """
    answer = json.dumps({"error": why}).encode()
    with contextlib.suppress(zmq.ZMQError):
        with contextlib.suppress(zmq.ZMQError):  # it is Batsim's turn, or more of its message is to be received
            socket.send(answer, zmq.NOBLOCK)
            return
        if socket.poll(int(patience * 1000)):
            socket.recv_multipart()
            socket.send(answer, zmq.NOBLOCK)


class Scheduler(BatsimScheduler):  # type: ignore[misc]
    """Hears what Batsim says and answers in PyBatsim's loop, which need not make an object of each job and event.

    Attributes:
        conversation: with Batsim.
    """

    def __init__(self, conversation: Conversation, options: dict[str, Any] | None = None) -> None:
        super().__init__(options or {})
        self.conversation = conversation
        self._batsim: Any = None
        self._commands = Commands()

    @property
    def bs(self) -> Any:
        """PyBatsim, which sets this before it receives its first message."""
        return self._batsim

    @bs.setter
    def bs(self, batsim: Any) -> None:
        self._batsim = batsim
        network = batsim.network
        network.recv = lambda blocking=False: self.listen(network, blocking)
        network.send = lambda message: network.send_string(self.conversation.write(self._commands))

    def listen(self, network: Any, blocking: bool) -> Any:
        """Hear a message before PyBatsim does; return what concerns it too, None if no message came in time."""
        try:
            text = network.recv_string(blocking=blocking)
        except UnicodeDecodeError as cause:
            raise ProtocolError(f"the message is not UTF-8 (byte {cause.start})") from None
        if text is None:
            return None
        if network.connection.rcvmore:
            raise ProtocolError("a message has several parts; one is needed")
        message = self.conversation.parse(text)
        self._commands = self.conversation.hear(message)
        return message | {"events": [event for event in message["events"] if event["type"] in PYBATSIM_EVENTS]}

    def refuse(self, why: str, patience: float = PARTING) -> None:
        """Tell Batsim why it is left alone, and free the address."""
        network = self._batsim.network if self._batsim is not None else None
        if network is not None and network.connection is not None:
            refuse(network.connection, why, patience)
            network.connection.close(linger=LINGER)
            network.connection = None
            network.context.term()

    def onDeadlock(self) -> None:
        """Say that Batsim is silent.

        Raises:
            ProtocolError: always.
        """
        raise ProtocolError(f"Batsim has said nothing for {self._batsim.network.timeout / 1000:g} s")

    def onSimulationBegins(self) -> None:
        """Check that the message has been heard.

        Raises:
            OptionsError: PyBatsim's validating machine stands between, and keeps messages to itself.
        """
        if not self.conversation.begun:
            raise OptionsError("pybatsim --protect keeps messages from schedulers; run without it")


class Endpoint:
    """The socket that one Batsim after the other talks to.

    Attributes:
        address: where it is bound.
        thinking_since: when the message came that has no answer yet, on `time.monotonic`; None while Batsim's turn is.
    """

    def __init__(self, address: str) -> None:
        """Bind a socket; a port ``*`` takes a free one.

        Raises:
            OptionsError: the address is none, or in use.
        """
        self.network = NetworkHandler(address)
        self.thinking_since: float | None = None
        try:
            self.network.bind()
        except zmq.ZMQError as cause:
            self.network.connection.close(linger=0)
            self.network.context.term()
            raise OptionsError(f"cannot listen on {address!r}: {cause}") from None
        self._socket = self.network.connection
        self._socket.setsockopt(zmq.RCVTIMEO, int(POLL * 1000))
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_MESSAGE)
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
        self._connections: set[int] = set()
        self.address = str(self._socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"))

    def play(
        self,
        conversation: Conversation,
        gone: Callable[[], str | None] = lambda: None,
        seen: Callable[[Conversation], None] = lambda conversation: None,
        patience: float | None = None,
        first_patience: float | None = None,
    ) -> None:
        """Answer one simulation to its end.

        Args:
            gone: returns why Batsim will say nothing any more, None while it may. seen: is called after each answer.
            patience: s that Batsim may be silent, *first_patience* before its first message; None for ever.

        Raises:
            ProtocolError: Batsim said nonsense, is silent or gone.
        """
        while not conversation.ended:
            limit = patience if conversation.begun else first_patience
            message = self._receive(gone, limit)
            try:
                self._socket.send(conversation.answer(message).encode())
            except zmq.ZMQError:  # there is more to be received before anything can be sent
                raise ProtocolError("a message has several parts; one is needed") from None
            self.thinking_since = None
            seen(conversation)

    def _receive(self, gone: Callable[[], str | None], patience: float | None) -> bytes:
        """Return the next message."""
        begin = time.monotonic()
        why: str | None = None
        while True:
            try:
                message: bytes = self._socket.recv()
            except zmq.Again:
                if why is not None:  # a last message may have come while Batsim went
                    raise ProtocolError(why) from None
                why = gone()
                if patience is not None and time.monotonic() - begin > patience:
                    raise ProtocolError(f"Batsim has said nothing for {patience:g} s") from None
                continue
            self.thinking_since = time.monotonic()
            return message

    def connected(self) -> bool:
        """Tell whether somebody is connected."""
        while self._monitor.poll(0):
            happening = recv_monitor_message(self._monitor)
            if happening["event"] == zmq.EVENT_ACCEPTED:
                self._connections.add(happening["value"])
            else:
                self._connections.discard(happening["value"])
        return bool(self._connections)

    def refuse(self, why: str) -> None:
        """Tell Batsim why it is left alone, if it is there, see the function."""
        refuse(self._socket, why, PARTING if self.connected() else 0.0)

    def close(self, linger: int = LINGER) -> None:
        """Free the address."""
        if self.network.connection is not None:
            self.network.connection.disable_monitor()
            self._monitor.close(linger=0)
            self.network.connection.close(linger=linger)
            self.network.connection = None
        self.network.context.term()
