"""The endpoint for a Batsim that we launch.

It receives the messages that PyBatsim's loop would receive, on a socket of the same kind, but notices when Batsim has
ended, and creates no object per job and event. It does not import PyBatsim, which is slow to load.
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
from hdeeprm_like.values import PORT

POLL = 0.1  # s between two checks that Batsim still runs
LINGER = 2000  # ms, limit for sending the last answer
PARTING = 5.0  # s to wait for Batsim's next message in order to refuse it
LARGEST_MESSAGE = 1 << 28  # bytes; the first one of a million machines has 150 MB
HAPPENING = struct.Struct("=hi")  # event of a monitored socket, and the connection


def refuse(socket: Any, why: str, patience: float = PARTING) -> None:
    """Answer Batsim's request, or its next one within *patience* s, with an invalid reply, so that it ends at once.

    Batsim has no reply that ends a simulation, but it aborts on one without ``now``.
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
    """A socket that serves one Batsim after the other.

    Attributes:
        address: where it is bound.
        thinking_since: `time.monotonic` when the unanswered message arrived; None while it is Batsim's turn.
    """

    def __init__(self, address: str) -> None:
        """Bind a socket; port ``*`` picks a free one.

        Raises:
            OptionsError: the address is invalid, or in use.
        """
        self.thinking_since: float | None = None
        port = address.rpartition(":")[2]
        if address.startswith("tcp:") and port != "*":
            PORT.in_text(port, OptionsError, f"cannot listen on {address!r}", "its port")
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REP)
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_MESSAGE)  # before it is bound, or it limits nothing
        try:
            self._socket.bind(address)
        except zmq.ZMQError as cause:
            self._socket.close(linger=0)
            self._context.term()
            raise OptionsError(f"cannot listen on {address!r}: {cause}") from None
        self._socket.setsockopt(zmq.RCVTIMEO, int(POLL * 1000))
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
            gone: returns why Batsim will send nothing any more, None while it may. seen: called after each answer.
            patience: s that Batsim may be silent, *first_patience* before its first message; None for ever.

        Raises:
            ProtocolError: Batsim sent something invalid, is silent or has ended.
        """
        while not conversation.ended:
            limit = patience if conversation.begun else first_patience
            message = self._receive(gone, limit)
            try:
                self._socket.send(conversation.answer(message).encode())
            except zmq.ZMQError:  # further parts must be received before anything can be sent
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
                if why is not None:  # a last message may have arrived while Batsim ended
                    raise ProtocolError(why) from None
                why = gone()
                if why is None and patience is not None and time.monotonic() - begin > patience:
                    raise ProtocolError(f"Batsim has said nothing for {patience:g} s") from None
                continue
            self.thinking_since = time.monotonic()
            return message

    def connected(self) -> bool:
        """Return whether a peer is connected."""
        while self._monitor.poll(0):
            event, connection = HAPPENING.unpack(self._monitor.recv_multipart()[0])
            if event == zmq.EVENT_ACCEPTED:
                self._connections.add(connection)
            else:
                self._connections.discard(connection)
        return bool(self._connections)

    def refuse(self, why: str) -> None:
        """Refuse Batsim's next message, if Batsim is connected; see the function."""
        refuse(self._socket, why, PARTING if self.connected() else 0.0)

    def close(self, linger: int = LINGER) -> None:
        """Free the address."""
        if not self._socket.closed:
            self._socket.disable_monitor()
            self._monitor.close(linger=0)
            self._socket.close(linger=linger)
        self._context.term()
