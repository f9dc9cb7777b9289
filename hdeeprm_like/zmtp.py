"""Messages over a socket as ZeroMQ frames them, for the two kinds of socket that Batsim uses: request and reply.

libzmq gives each socket a thread that reads and writes for it, and two threads take four to eight times the CPU time of
one for a message that must be answered before the next one is sent. There is never another kind of message here, so one
blocking socket is enough. Endpoints are ``tcp://HOST:PORT`` and ``ipc://PATH``.

Source: ZMTP 3.0 (RFC 23 of ZeroMQ), its mechanism NULL, and the envelopes of RFC 28.
"""

import contextlib
import select
import socket
import struct
import time
from pathlib import Path

MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame
SIGNATURE = b"\xff\0\0\0\0\0\0\0\1\x7f"
MECHANISM = b"NULL".ljust(20, b"\0")
GREETING = SIGNATURE + b"\3\0" + MECHANISM + bytes(32)
LARGEST_SHORT = 255  # bytes of a frame whose size is one byte
AT_ONCE = 1 << 16  # bytes to receive at a time
RETRY = 0.1  # s between two tries to connect
SLICE = 0.25  # s of a wait, then Python handles a signal that came just before it


class Lost(Exception):
    """The other side is gone, or does not speak ZeroMQ's protocol."""


class Connection:
    """One connection to a ZeroMQ socket.

    Attributes:
        ready: whether the other side has introduced itself.
        stranger: why what it said is not ZeroMQ's protocol as we speak it; empty if it is.
    """

    def __init__(self, plain: socket.socket, kind: bytes, largest: int, patience: float) -> None:
        """Introduce ourselves.

        Args:
            plain: a connected socket. kind: of ours, ``REQ`` or ``REP``.
            largest: bytes of a message. patience: s that `receive` waits.

        Raises:
            Lost: the other side is gone.
        """
        self.ready = False
        self.stranger = ""
        self._plain = plain
        self._largest = largest
        self._received = bytearray()
        self._greeted = False
        self._frames: list[bytes] = []  # of the message that is being received
        self._size = 0  # bytes of these
        whole, part = divmod(patience, 1.0)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(whole), int(1e6 * part)))
        if plain.family != socket.AF_UNIX:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ready = b"\5READY\x0bSocket-Type\0\0\0\3" + kind
        try:
            self._send(GREETING + bytes((COMMAND, len(ready))) + ready)
        except Lost:
            plain.close()
            raise

    def fileno(self) -> int:
        """Return the number by which the system knows it."""
        return self._plain.fileno()

    def send(self, content: bytes, envelope: bytes = b"\1\0") -> None:
        """Send a message of one part behind an envelope.

        Raises:
            Lost: the other side is gone.
        """
        self._send(envelope + _frame(content))

    def receive(self, flags: int = 0) -> list[bytes] | None:
        """Return the frames of the next message, None if it is not there in time.

        Args:
            flags: of the system call.

        Raises:
            Lost: the other side is gone or sends something else.
        """
        while (message := self._message()) is None:
            if not self._more(flags):
                return None
        return message

    def is_ready(self) -> bool:
        """Return whether the other side has introduced itself, or does so in time.

        Raises:
            Lost: the other side is gone or sends something else.
        """
        while not self.ready and self._more(0):
            self._message()
        return self.ready

    def is_closed(self) -> bool:
        """Return whether the other side has closed the connection and nothing more is to be received."""
        try:
            return not self._plain.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def close(self) -> None:
        """End the connection; what has been sent still arrives."""
        self._plain.close()

    def _more(self, flags: int) -> bool:
        """Receive more bytes; return whether any came in time."""
        try:
            data = self._plain.recv(AT_ONCE, flags)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Lost(error.strerror or str(error)) from None
        if not data:
            raise Lost("the connection was closed")
        self._received += data
        return True

    def _send(self, data: bytes) -> None:
        try:
            self._plain.sendall(data)
        except OSError as error:
            raise Lost(error.strerror or str(error)) from None

    def _message(self) -> list[bytes] | None:
        """Take the next message from what was received."""
        received = self._received
        if not self._greeted:
            start = bytes(received[: len(GREETING)])
            if start[:1] not in (b"", b"\xff") or start[9:10] not in (b"", b"\x7f"):
                self.stranger = "the other side does not speak ZeroMQ's protocol"
            if not self.stranger and len(start) < len(GREETING):
                return None
            if not self.stranger and (start[10] < 3 or start[12:32] != MECHANISM):
                self.stranger = "the other side speaks another version or mechanism of ZeroMQ's protocol"
            if self.stranger:
                raise Lost(self.stranger)
            del received[: len(GREETING)]
            self._greeted = True
        while len(received) >= 2:
            flags = received[0]
            begin = 9 if flags & LONG else 2
            if len(received) < begin:
                return None
            end = begin + (int.from_bytes(received[1:9], "big") if flags & LONG else received[1])
            if self._size + end - begin > self._largest:
                raise Lost(f"a message has more than {self._largest} bytes")
            if len(received) < end:
                return None
            content = bytes(received[begin:end])
            del received[:end]
            if flags & COMMAND:
                self._command(content)
                continue
            if not self.ready:
                raise Lost("a message came before the introduction")
            self._frames.append(content)
            self._size += len(content)
            if not flags & MORE:
                message, self._frames, self._size = self._frames, [], 0
                return message
        return None

    def _command(self, content: bytes) -> None:
        name = content[1 : 1 + content[0]] if content else b""
        if name == b"ERROR":
            raise Lost("the other side refuses the connection")
        self.ready |= name == b"READY"


def _frame(content: bytes, flags: int = 0) -> bytes:
    size = len(content)
    if size > LARGEST_SHORT:
        return bytes((flags | LONG,)) + size.to_bytes(8, "big") + content
    return bytes((flags, size)) + content


def _unwrapped(frames: list[bytes]) -> tuple[bytes, list[bytes]] | None:
    """Return the envelope of a message as it is sent, and its parts; None without envelope."""
    if b"" not in frames[:-1]:
        return None
    end = frames.index(b"") + 1
    if end == 1:
        return b"\1\0", frames[1:]
    return b"".join([_frame(frame, MORE) for frame in frames[:end]]), frames[end:]


def _place(endpoint: str, any_host: bool) -> tuple[str, int]:
    """Return host and port of an endpoint, or a path and -1.

    Args:
        any_host: whether ``*`` may stand for all addresses of this machine, and for any free port.

    Raises:
        ValueError: it is neither of the two forms.
    """
    kind, _, place = endpoint.partition("://")
    if kind == "ipc" and place:
        return place, -1
    host, _, port = place.rpartition(":")
    if kind != "tcp" or not host:
        raise ValueError("is neither tcp://HOST:PORT nor ipc://PATH")
    number = 0 if port == "*" and any_host else int(port) if port.isascii() and port.isdigit() else 0
    if not (0 < number < 1 << 16 or (port in ("*", "0") and any_host)):
        raise ValueError(f"{port[:20]!r} is no port")
    return "" if host == "*" and any_host else host.removeprefix("[").removesuffix("]"), number


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class Requester:
    """Sends requests to one endpoint, and waits for the reply to each."""

    def __init__(self, endpoint: str, largest: int) -> None:
        """Remember the endpoint; nothing need be there yet.

        Args:
            largest: bytes of a reply.

        Raises:
            ValueError: the endpoint is invalid.
        """
        self._host, self._port = _place(endpoint, any_host=False)
        self._largest = largest
        self._connection: Connection | None = None

    def ask(self, content: bytes, end: float) -> list[bytes] | None:
        """Send a request; return the parts of the reply, None if there is none until *end* on `time.monotonic`.

        Raises:
            Lost: the other side went away with the request, or does not speak ZeroMQ's protocol.
        """
        if self._connection is None:
            self._connection = self._connected(end)
        if self._connection is None:
            return None
        self._connection.send(content)
        while True:
            frames = self._connection.receive()
            if frames is None:
                if time.monotonic() >= end:
                    return None
            elif (found := _unwrapped(frames)) is not None:
                return found[1]

    def _connected(self, end: float) -> Connection | None:
        """Return a connection on which the other side has introduced itself; it may first have to be started."""
        patience = max(min(SLICE, end - time.monotonic()), 1e-3)
        while True:
            with contextlib.suppress(OSError):  # nothing listens there
                connection = Connection(self._plain(patience), b"REQ", self._largest, patience)
                try:
                    while not connection.is_ready() and time.monotonic() < end:
                        pass
                except Lost:  # as where something in between listens for a peer that is not there yet
                    pass
                if connection.ready:
                    return connection
                connection.close()
                if connection.stranger:
                    raise Lost(connection.stranger)
            if time.monotonic() >= end:
                return None
            time.sleep(min(RETRY, max(end - time.monotonic(), 0.0)))

    def _plain(self, patience: float) -> socket.socket:
        """Return a connected socket."""
        plain = socket.socket(socket.AF_UNIX if self._port < 0 else _family(self._host))
        try:
            plain.settimeout(max(patience, SLICE))
            plain.connect(self._host if self._port < 0 else (self._host, self._port))
            plain.settimeout(None)
        except BaseException:
            plain.close()
            raise
        return plain

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()


class Replier:
    """Listens at an endpoint; receives one request after the other, of any number of connections, and replies to each.

    Attributes:
        endpoint: where it listens, with the number of its port.
        owes: whether a request has not been replied to.
    """

    def __init__(self, endpoint: str, largest: int, patience: float) -> None:
        """Listen; port ``*`` picks a free one.

        Args:
            largest: bytes of a request. patience: s that `receive` waits.

        Raises:
            ValueError: the endpoint is invalid.
            OSError: it cannot be listened at.
        """
        host, port = _place(endpoint, any_host=True)
        self._path = Path(host) if port < 0 else None
        self._plain = socket.socket(socket.AF_UNIX if port < 0 else _family(host))
        try:
            if self._path is None:
                self._plain.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._plain.bind(host if port < 0 else (host, port))
            self._plain.listen()
        except BaseException:
            self._plain.close()
            raise
        self.endpoint = endpoint
        if port >= 0:
            self.endpoint = f"{endpoint.rpartition(':')[0]}:{self._plain.getsockname()[1]}"
        self.owes = False
        self._largest = largest
        self._patience = patience
        self._connections: list[Connection] = []
        self._latest: Connection | None = None  # the one that the latest request came from
        self._envelope = b""

    def receive(self) -> list[bytes] | None:
        """Return the parts of the next request, None if none comes in time."""
        if self._latest is None or self._latest not in self._connections:
            return self._from_any(self._patience)
        return self._from(self._latest, 0) or self._from_any(0.0)

    def reply(self, content: bytes) -> None:
        """Reply to the request; where the other side is gone, nothing happens."""
        assert self._latest is not None
        self.owes = False
        try:
            self._latest.send(content, self._envelope)
        except Lost:
            self._drop(self._latest)

    def connected(self) -> bool:
        """Return whether there is another side."""
        self._wait(0.0)
        for connection in list(self._connections):
            if connection.is_closed():
                self._drop(connection)
        return bool(self._connections)

    def close(self) -> None:
        """Close all connections, and free the endpoint."""
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._plain.close()
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _from(self, connection: Connection, flags: int) -> list[bytes] | None:
        """Return the parts of a request of one connection, None if none is there; drop the connection if it is lost."""
        found = None
        try:
            while found is None:
                frames = connection.receive(flags)
                if frames is None:
                    return None
                found = _unwrapped(frames)
        except Lost:
            self._drop(connection)
            return None
        self._latest, self.owes = connection, True
        self._envelope, parts = found
        return parts

    def _from_any(self, patience: float) -> list[bytes] | None:
        self._wait(patience)
        for connection in list(self._connections):
            parts = self._from(connection, socket.MSG_DONTWAIT)
            if parts is not None:
                return parts
        return None

    def _wait(self, patience: float) -> None:
        """Wait until something comes, and take in a new connection."""
        poll = select.poll()
        for number in (self._plain.fileno(), *[connection.fileno() for connection in self._connections]):
            poll.register(number, select.POLLIN)
        if self._plain.fileno() in dict(poll.poll(1000 * patience)):
            plain, _ = self._plain.accept()
            with contextlib.suppress(Lost):
                self._connections.append(Connection(plain, b"REP", self._largest, self._patience))

    def _drop(self, connection: Connection) -> None:
        connection.close()
        if connection in self._connections:
            self._connections.remove(connection)
