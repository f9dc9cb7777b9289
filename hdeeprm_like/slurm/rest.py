"""A Slurm that is looked at through slurmrestd, which answers as ``squeue --json`` and ``sinfo --json`` do.

Priorities are still set by ``scontrol``: slurmrestd knows no site factor (22.05 refuses it as an unknown key).
"""

import http.client
import os
import socket
from collections.abc import Mapping
from getpass import getuser
from urllib.parse import urlsplit

from hdeeprm_like.errors import OptionsError, one_line
from hdeeprm_like.slurm.commands import TIMEOUT, ContactLost, Programs
from hdeeprm_like.slurm.shown import Job, Node, jobs_of_json, nodes_of_json

PORT = 6820
VERSIONS = range(46, 35, -1)  # of the interface, v0.0.36 of Slurm 20.11 and later ones, the newest first
LARGEST = 1 << 29  # bytes of an answer; 10,000 jobs are some 50 MB
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOKEN, NAME = "X-SLURM-USER-TOKEN", "X-SLURM-USER-NAME"


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
        """Remember where it is; nobody is asked yet.

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
        parts = urlsplit(address)
        try:
            known = (scheme == "unix" and bool(path)) or (scheme in ("http", "https") and bool(parts.hostname))
            self._port = (parts.port or PORT) if known and scheme != "unix" else 0
        except ValueError:
            known = False
        if not known or parts.query or (scheme != "unix" and parts.path.strip("/")):
            raise OptionsError(f"--rest: {address!r:.80}: http://HOST:PORT, https://HOST:PORT or unix:PATH is needed")
        self._scheme, self._path, self._host = scheme, path, parts.hostname or ""
        if token := environment.get("SLURM_JWT"):
            if scheme == "http" and self._host not in LOOPBACK:
                raise OptionsError("--rest: http would send SLURM_JWT to another machine in the clear; use https")
            self._headers |= {TOKEN: token, NAME: environment.get("SLURM_USER_NAME") or getuser()}

    def jobs(self) -> list[Job]:
        """Return all jobs that are shown.

        Raises:
            ContactLost: nobody answers, or not to us. ProtocolError: the answer is nonsense.
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
            answer = connection.getresponse()
            content = answer.read(LARGEST + 1)
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ContactLost(f"slurmrestd at {self._address:.60}: {one_line(why)[:80]}") from None
        finally:
            connection.close()
        if len(content) > LARGEST:
            raise ContactLost(f"slurmrestd: an answer of more than {LARGEST >> 20} MB is none")
        return answer.status, content.decode("utf-8", "replace")

    def _connection(self) -> http.client.HTTPConnection:
        if self._scheme == "unix":
            return OverUnix(self._path)
        kind = http.client.HTTPSConnection if self._scheme == "https" else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=TIMEOUT)
