"""A Slurm that is looked at through slurmrestd, which answers as ``squeue --json`` and ``sinfo --json`` do.

Priorities are still set by ``scontrol``: slurmrestd knows no site factor (22.05 refuses it as an unknown key).
"""

import http.client
import os
import re
import socket
import time
from collections.abc import Mapping
from getpass import getuser
from urllib.parse import urlsplit

from hdeeprm_like.errors import OptionsError, one_line
from hdeeprm_like.inputs import READ_AT_ONCE
from hdeeprm_like.slurm.commands import TIMEOUT, ContactLost, Programs
from hdeeprm_like.slurm.shown import Job, Node, jobs_of_json, nodes_of_json

PORT = 6820
VERSIONS = range(46, 35, -1)  # of the interface, v0.0.36 of Slurm 20.11 and later ones, the newest first
LARGEST_ANSWER = 1 << 29  # bytes of an answer; 10,000 jobs are some 50 MB
LOOPBACK = ("localhost", "127.0.0.1", "::1")
HOST = re.compile(r"[\w.:%-]+")
TOKEN, NAME = "X-SLURM-USER-TOKEN", "X-SLURM-USER-NAME"


def host_and_port(address: str) -> tuple[str, int]:
    """Return where ``http://HOST:PORT`` or ``https://HOST:PORT`` is.

    Raises:
        OptionsError: it is no such address; it is not shown where it may hold a password.
    """
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or PORT
        host.encode("idna")
        whole = not (parts.query or parts.fragment or parts.path.strip("/"))
        known = parts.scheme in ("http", "https") and HOST.fullmatch(host) is not None and whole
    except ValueError:
        parts, known = None, False
    if parts is not None and parts.username is not None:
        raise OptionsError("--rest: a name or password in the address is not used; SLURM_JWT holds the token")
    if not known:
        raise OptionsError(f"--rest: {address!r:.80}: http://HOST:PORT, https://HOST:PORT or unix:PATH is needed")
    return host, port


def own_name() -> str:
    """Return the name of who runs this.

    Raises:
        OptionsError: it is unknown.
    """
    try:
        return getuser()
    except (KeyError, OSError):
        raise OptionsError("--rest: your user name is unknown; set SLURM_USER_NAME") from None


def whole_of(answer: http.client.HTTPResponse) -> bytes:
    """Return what an answer says.

    Raises:
        ContactLost: it is too long, or does not end in time.
    """
    content, deadline = bytearray(), time.monotonic() + TIMEOUT
    while piece := answer.read1(READ_AT_ONCE):
        content += piece
        if len(content) > LARGEST_ANSWER:
            raise ContactLost(f"slurmrestd: an answer of more than {LARGEST_ANSWER >> 20} MB is none")
        if time.monotonic() > deadline:
            raise ContactLost(f"slurmrestd: its answer does not end within {TIMEOUT:g} s")
    return bytes(content)


class OverUnix(http.client.HTTPConnection):
    """A connection to a socket that is a file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT)
        self._path = path

    def connect(self) -> None:
        """Open it."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(self._path)


class Rest(Programs):
    """The Slurm behind a slurmrestd; ``SLURM_JWT`` of the environment is its token, if it wants one."""

    def __init__(self, address: str, environment: Mapping[str, str] = os.environ) -> None:
        """Store the address; nothing is sent yet.

        Args:
            address: ``http://HOST:PORT``, ``https://HOST:PORT`` or ``unix:PATH``.

        Raises:
            OptionsError: it is no such address, or would send the token to another machine in the clear.
        """
        super().__init__()
        self._address = address
        self._headers = {"Accept": "application/json"}
        self._version = ""
        scheme, _, path = address.partition(":")
        self._scheme, self._path, self._host, self._port = scheme, path, "", 0
        if scheme != "unix" or not path:
            self._host, self._port = host_and_port(address)
        if token := environment.get("SLURM_JWT"):
            if not (token.isascii() and token.isprintable()):
                raise OptionsError("--rest: SLURM_JWT is no token: it has a character that none has")
            if scheme == "http" and self._host not in LOOPBACK:
                raise OptionsError("--rest: http would send SLURM_JWT to another machine in the clear; use https")
            self._headers |= {TOKEN: token, NAME: environment.get("SLURM_USER_NAME") or own_name()}

    def jobs(self) -> list[Job]:
        """Return all jobs that are shown.

        Raises:
            ContactLost: no answer, or access denied. ProtocolError: the answer is invalid.
        """
        return jobs_of_json(self._get("jobs"))

    def nodes(self) -> dict[str, Node]:
        """Return all nodes by name; raises as `jobs`."""
        return nodes_of_json(self._get("nodes"))

    def _get(self, what: str) -> str:
        """Return what slurmrestd says of something, in the newest version of the interface that it has."""
        for version in [self._version] if self._version else [f"v0.0.{number}" for number in VERSIONS]:
            status, text = self._ask(f"/slurm/{version}/{what}")
            if status == http.HTTPStatus.OK:
                self._version = version
                return text
            if status != http.HTTPStatus.NOT_FOUND:
                token = "; SLURM_JWT has the token (scontrol token)" if status in (401, 403) else ""
                raise ContactLost(f"slurmrestd: answers {status} {one_line(text)[:60]!r}{token}")
        self._version = ""  # another one may stand there soon
        sought = f"/slurm/v0.0.{VERSIONS[-1]} to v0.0.{VERSIONS[0]}"
        raise ContactLost(f"slurmrestd at {self._address:.60} has no {what} in {sought}")

    def _ask(self, path: str) -> tuple[int, str]:
        """Return the status and the text of an answer."""
        connection = self._connection()
        try:
            connection.request("GET", path, headers=self._headers)
            with connection.getresponse() as answer:
                content = whole_of(answer)
        except (OSError, ValueError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ContactLost(f"slurmrestd at {self._address:.60}: {one_line(why)[:80]}") from None
        finally:
            connection.close()
        return answer.status, content.decode("utf-8", "replace")

    def _connection(self) -> http.client.HTTPConnection:
        if self._scheme == "unix":
            return OverUnix(self._path)
        kind = http.client.HTTPSConnection if self._scheme == "https" else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=TIMEOUT)
