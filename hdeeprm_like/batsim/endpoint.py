"""The endpoint that Batsim talks to where we launch.

It hears the messages that PyBatsim's loop would hear, on a socket of the same kind, but notices when Batsim is gone,
and builds no object for each job and each event. Of PyBatsim it needs nothing, which takes a while to load.
"""

import contextlib
import json
import struct
import time
from collections.abc import Callable
from typing import Any

import zmq

from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.errors import OptionsError, ProtocolError

POLL = 0.1  # s between two looks at whether Batsim is still there
LINGER = 2000  # ms that the last answer may take to leave
PARTING = 5.0  # s that Batsim may take to say its next thing, when it must be told that nobody listens any more
LARGEST_MESSAGE = 1 << 30  # bytes
HAPPENING = struct.Struct("=hi")  # of a socket that is monitored: what, and to which connection


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
        self.thinking_since: float | None = None
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REP)
        try:
            self._socket.bind(address)
        except zmq.ZMQError as cause:
            self._socket.close(linger=0)
            self._context.term()
            raise OptionsError(f"cannot listen on {address!r}: {cause}") from None
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
        """Return whether something is connected."""
        while self._monitor.poll(0):
            event, connection = HAPPENING.unpack(self._monitor.recv_multipart()[0])
            if event == zmq.EVENT_ACCEPTED:
                self._connections.add(connection)
            else:
                self._connections.discard(connection)
        return bool(self._connections)

    def refuse(self, why: str) -> None:
        """Tell Batsim why it is left alone, if it is there, see the function."""
        refuse(self._socket, why, PARTING if self.connected() else 0.0)

    def close(self, linger: int = LINGER) -> None:
        """Free the address."""
        if not self._socket.closed:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=linger)
        self._context.term()
