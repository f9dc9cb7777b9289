"""The endpoint for a Batsim that we launch.

It receives the messages that PyBatsim's loop would receive, on a socket of the same kind, but notices when Batsim has
ended, and creates no object per job and event. It does not import PyBatsim, which is slow to load.
"""

import json
import time
from collections.abc import Callable

from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.zmtp import Replier

POLL = 0.1  # s between two checks that Batsim still runs
PARTING = 5.0  # s to wait for Batsim's next message in order to refuse it
LARGEST_MESSAGE = 1 << 30  # bytes


def refusal(why: str) -> bytes:
    """Return a reply without ``now``, on which Batsim aborts; none ends a simulation in good order."""
    return json.dumps({"error": why}).encode()


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
        try:
            self._socket = Replier(address, LARGEST_MESSAGE, POLL)
        except ValueError as cause:
            raise OptionsError(f"cannot listen on {address!r}: it {cause}") from None
        except OSError as cause:
            raise OptionsError(f"cannot listen on {address!r}: {cause.strerror or cause}") from None
        self.address = self._socket.endpoint

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
            self._socket.reply(conversation.answer(message).encode())
            self.thinking_since = None
            seen(conversation)

    def _receive(self, gone: Callable[[], str | None], patience: float | None) -> bytes:
        """Return the next message."""
        begin = time.monotonic()
        why: str | None = None
        while True:
            parts = self._socket.receive()
            if parts is None:
                if why is not None:  # a last message may have arrived while Batsim ended
                    raise ProtocolError(why)
                why = gone()
                if patience is not None and time.monotonic() - begin > patience:
                    raise ProtocolError(f"Batsim has said nothing for {patience:g} s")
                continue
            self.thinking_since = time.monotonic()
            if len(parts) != 1:
                raise ProtocolError("a message has several parts; one is needed")
            return parts[0]

    def connected(self) -> bool:
        """Return whether a peer is connected."""
        return self._socket.connected()

    def refuse(self, why: str) -> None:
        """Refuse Batsim's request, or its next one if Batsim is connected."""
        deadline = time.monotonic() + (PARTING if self._socket.owes or self.connected() else 0.0)
        while not self._socket.owes and time.monotonic() < deadline:
            self._socket.receive()
        if self._socket.owes:
            self._socket.reply(refusal(why))

    def close(self) -> None:
        """Free the address."""
        self._socket.close()
