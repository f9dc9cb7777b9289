"""The connection to the scheduler: Batsim sends requests and connects, the scheduler answers and listens."""

import math
import time
from types import TracebackType

from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.zmtp import Lost, Requester

LARGEST_REPLY = 1 << 28  # bytes


class Carrier:
    """A connection to the scheduler."""

    def __init__(self, endpoint: str, timeout: float | None = None) -> None:
        """Prepare to connect, whether or not a scheduler is there yet.

        Args:
            timeout: s to wait for each reply; None waits for ever, as Batsim does.

        Raises:
            OptionsError: the endpoint is invalid.
        """
        self._timeout = math.inf if timeout is None else timeout
        self._endpoint = endpoint
        try:
            self._requester = Requester(endpoint, LARGEST_REPLY)
        except ValueError as cause:
            raise OptionsError(f"socket endpoint {endpoint!r}: {cause}") from cause

    def __enter__(self) -> "Carrier":
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the connection."""
        self.close()

    def ask(self, text: str | bytes) -> bytes:
        """Send a message and return the reply.

        Raises:
            ProtocolError: no reply came in time, or one with several parts, or the scheduler is gone.
        """
        message = text.encode() if isinstance(text, str) else text
        try:
            parts = self._requester.ask(message, time.monotonic() + self._timeout)
        except Lost as cause:
            raise ProtocolError(f"the scheduler at {self._endpoint} is gone: {cause}") from None
        if parts is None:
            raise ProtocolError(f"the scheduler has not answered for {self._timeout:g} s")
        if len(parts) != 1:
            raise ProtocolError(f"reply: has {len(parts)} parts; one is needed")
        return parts[0]

    def close(self) -> None:
        """Close the connection."""
        self._requester.close()
