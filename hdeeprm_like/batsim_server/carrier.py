"""The ZeroMQ connection: Batsim sends requests (REQ, connects), the scheduler answers (REP, binds)."""

import math
import time

import zmq

from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.values import PORT

LARGEST_REPLY = 1 << 28  # bytes
SLICE = 0.25  # s between two chances for Python to handle a signal that came just before a wait


class Carrier:
    """A connection to the scheduler."""

    def __init__(self, endpoint: str, timeout: float | None = None) -> None:
        """Connect, whether or not a scheduler is there yet.

        Args:
            timeout: s to wait for each reply; None waits for ever, as Batsim does.

        Raises:
            OptionsError: the endpoint is invalid.
        """
        self._timeout = math.inf if timeout is None else timeout
        if endpoint.startswith("tcp:"):
            PORT.in_text(endpoint.rpartition(":")[2], OptionsError, f"socket endpoint {endpoint!r}", "its port")
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.REQ)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, int(1000 * min(SLICE, self._timeout)))
        self._socket.setsockopt(zmq.MAXMSGSIZE, LARGEST_REPLY)
        try:
            self._socket.connect(endpoint)
        except zmq.ZMQError as cause:
            self.close()
            raise OptionsError(f"socket endpoint {endpoint!r}: {cause}") from cause

    def ask(self, text: str | bytes) -> bytes:
        """Send a message and return the reply.

        Raises:
            ProtocolError: no reply came in time, or one with several parts.
        """
        self._socket.send(text.encode() if isinstance(text, str) else text)
        end = time.monotonic() + self._timeout
        parts: list[bytes] = []
        while not parts:
            try:
                parts = self._socket.recv_multipart()
            except zmq.Again:
                if time.monotonic() >= end:
                    raise ProtocolError(f"the scheduler has not answered for {self._timeout:g} s") from None
        if len(parts) != 1:
            raise ProtocolError(f"reply: has {len(parts)} parts; one is needed")
        return parts[0]

    def close(self) -> None:
        """Close the connection; unsent data is dropped."""
        self._socket.close(linger=0)
        self._context.term()
