"""The peer at the other end: a Batsim that we start, one that a user starts, or our own server in this process.

A `Peer` says how Batsim is reached; `Peer.meet` opens a line to it, over which simulations are played.
"""

import logging
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hdeeprm_like.batsim.process import ReapedProcess
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.errors import OptionsError, ProtocolError, ResultsError
from hdeeprm_like.inputs import read_text
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.records import Record

log = logging.getLogger(__name__)

LOG = "batsim.log"
SCHEDULE, SCHEDULE5 = "out_schedule.csv", "out_schedule.json"
WORKLOAD5 = "workload5.json"  # the workload in Batsim 5's JSON
IMAGE = "oarteam/batsim:4.2.1"
OWN_SERVER = "hdeeprm-like"
MOUNTED = "/hdeeprm"  # the directory of the run inside a container
TIMEOUT = 300.0  # s
SETTLING = 10.0  # s that the files of a Batsim started by hand may take to appear
LOOPBACK = "tcp://127.0.0.1"
REFRESH = 0.2  # s between two pictures of the progress bar


class Peer(Record):
    """How Batsim is reached.

    Attributes:
        simulator: for ``run.json``, ``batsim``, ``batsim5``, ``docker`` or, with no socket between, ``embedded``.
        words: the command to start it with; none if a user starts it by hand.
        address: where to listen. folder: the run's directory as Batsim sees it; None where that is the same.
        timeout: s that either side may be silent. version: of Batsim, 4 or 5.
        master: name of the master host in a user's own platform, whose hosts may have no power; None for ours.
    """

    simulator: str
    words: tuple[str, ...] = ()
    address: str = f"{LOOPBACK}:*"
    folder: str | None = None
    timeout: float = TIMEOUT
    version: int = 4
    master: str | None = None

    @property
    def in_process(self) -> bool:
        """Whether it is our own server of Batsim's protocol, in this process."""
        return self.simulator == "embedded"

    @property
    def by_hand(self) -> bool:
        """Whether a user starts Batsim."""
        return not self.words and not self.in_process

    @property
    def schedule(self) -> str:
        """The name of the file that Batsim writes last of those that we read."""
        return SCHEDULE5 if self.version == 5 else SCHEDULE

    def meet(self, output: Path) -> "OverSocket | InProcess":
        """Open a line for the runs of a directory, over which simulations are played.

        Raises:
            OptionsError: the address is in use.
        """
        return InProcess(self, output) if self.in_process else OverSocket(self, output)

    def check(self, workload: Path) -> None:
        """Check a workload before anything is written; Batsim does that itself.

        Raises:
            WorkloadError: it has a profile that our server does not know.
        """
        if self.in_process:
            from hdeeprm_like.batsim_server.workload import read_workload  # not needed with Batsim

            read_workload(workload, "w0")

    def command(self, output: Path, address: str) -> list[str]:
        """Return the whole command line of Batsim for the inputs in a directory."""
        folder = self.folder or str(output.resolve())
        if self.version == 5:
            files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/{WORKLOAD5}", "-e", f"{folder}/out_"]
            energy = ["--energy-host"] if self.master is None else ["-m", self.master]
            traces = [*energy, "--trace-machine-state", "--trace-pstate-changes", "-q"]
            return [*(self.words or ("batsim",)), *traces, *files, "-s", address, ""]
        files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/workload.json", "-e", f"{folder}/out"]
        energy = ["-E"] if self.master is None else ["-m", self.master, "--enable-compute-sharing"]
        return [*(self.words or ("batsim",)), *energy, "-q", "--disable-schedule-tracing", "-s", address, *files]


EMBEDDED = Peer("embedded")


def peer_of(
    simulator: str,
    output: Path,
    *,
    command: str = "batsim",
    image: str = IMAGE,
    socket: str = "",
    timeout: float = TIMEOUT,
) -> Peer:
    """Return how Batsim is reached, as the command line says it.

    Args:
        simulator: ``batsim``, ``batsim5`` or ``docker``. command: for the first two. image: for the last; its tag sets
            the version.
        socket: where to listen for a Batsim started by hand; a port alone is one of this machine only.

    Raises:
        OptionsError: there is no such program, or it is no command.
    """
    version = 5 if simulator == "batsim5" or (simulator == "docker" and is_of_batsim5(image)) else 4
    if socket:
        return Peer(simulator, address=socket_address(socket), timeout=timeout, version=version)
    if simulator == "docker":
        found(["docker"], "install Docker, or choose --simulator batsim")
        words = docker_words(image, output.resolve())
        return Peer(simulator, words, folder=MOUNTED, timeout=timeout, version=version)
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:  # a quotation mark that is not closed
        raise OptionsError(f"--batsim-command: {command!r:.80}: {error}") from None
    if not words:
        raise OptionsError("--batsim-command: must name a program")
    advice = f"try --batsim-command '{OWN_SERVER} {simulator}'"
    return Peer(simulator, tuple(found(words, advice)), timeout=timeout, version=version)


def is_of_batsim5(image: str) -> bool:
    """Return whether the tag of a container image says that it holds Batsim 5: ``oarteam/batsim:5.0.0-rc2``."""
    return re.match(r"(v|batsim-?)?5\b", image.rpartition("/")[2].partition(":")[2]) is not None


def found(words: Sequence[str], advice: str) -> list[str]:
    """Return the words of a command with the program's place."""
    if words[0] == OWN_SERVER:
        return [sys.executable, "-m", "hdeeprm_like", *words[1:]]
    place = shutil.which(words[0])
    if place is None:
        raise OptionsError(f"there is no program {words[0]!r} in PATH; {advice}")
    return [place, *words[1:]]


def docker_words(image: str, folder: Path) -> tuple[str, ...]:
    """Return the words that run Batsim in a container, as this user and on this machine's network."""
    user = f"{os.getuid()}:{os.getgid()}"
    mount = f"{folder}:{MOUNTED}"
    how = ("--rm", "--init", "--network", "host", "--user", user, "--volume", mount, "--workdir", MOUNTED)
    return ("docker", "run", *how, image)


def socket_address(text: str) -> str:
    """Return the endpoint that ``28000``, ``tcp://localhost:28000`` or ``tcp://*:28000`` stand for."""
    if text.isascii() and text.isdigit():
        return f"{LOOPBACK}:{text}"
    return text.replace("tcp://localhost:", f"{LOOPBACK}:")


class OverSocket:
    """A line to a Batsim in another process."""

    def __init__(self, peer: Peer, output: Path) -> None:
        """Listen at the peer's address."""
        from hdeeprm_like.batsim.endpoint import Endpoint

        self._peer = peer
        self._output = output
        self._endpoint = Endpoint(peer.address)

    @property
    def thinking_since(self) -> float | None:
        """Start of the current decision on `time.monotonic`; None if there is none or no peer waits for it."""
        return self._endpoint.thinking_since

    def simulate(self, talk: Conversation, jobs: int) -> None:
        """Play one simulation to its end, with Batsim started if that is ours to do."""
        peer, output, endpoint = self._peer, self._output, self._endpoint
        (output / peer.schedule).unlink(missing_ok=True)
        command = peer.command(output, endpoint.address)
        if peer.by_hand:
            log.warning("waiting for Batsim at %s; start it with: %s", endpoint.address, shlex.join(command))

            def gone() -> str | None:
                lost = talk.begun and not endpoint.connected()
                return "Batsim has gone before the simulation ended" if lost else None

            with progress_of(jobs) as seen:
                endpoint.play(talk, gone, seen, peer.timeout, peer.timeout)
            wait_for(output / peer.schedule)
            return
        with ReapedProcess("Batsim", command, output / LOG) as batsim, progress_of(jobs) as seen:
            endpoint.play(talk, batsim.gone, seen, peer.timeout, peer.timeout)
            status = batsim.wait(peer.timeout)
            if status != 0:
                how = (
                    f"does not end within {peer.timeout:g} s" if status is None else f"failed with exit status {status}"
                )
                raise ProtocolError(f"Batsim {how} after the end of the simulation")

    def refuse(self, problem: str) -> None:
        """Answer the pending message of a Batsim started by hand with the problem; our own was ended."""
        if self._peer.by_hand:
            self._endpoint.refuse(problem)

    def close(self) -> None:
        """Stop listening."""
        self._endpoint.close()


class InProcess:
    """A line to our own server of Batsim's protocol: message by message, without a socket."""

    thinking_since = None

    def __init__(self, peer: Peer, output: Path) -> None:
        """Play in a directory."""
        self._peer = peer
        self._output = output

    def simulate(self, talk: Conversation, jobs: int) -> None:
        """Play one simulation to its end."""
        from hdeeprm_like.batsim_server.arguments import read_command_line
        from hdeeprm_like.batsim_server.cli import play

        _, *words = self._peer.command(self._output, "")
        options, _ = read_command_line(words)
        with progress_of(jobs) as seen:

            def ask(message: str | bytes) -> bytes:
                reply = talk.answer(message).encode()
                seen(talk)
                return reply

            if not play(options, ask):
                raise ProtocolError("jobs are left that never end: nothing more can happen")

    def refuse(self, problem: str) -> None:
        """Do nothing: there is no peer."""

    def close(self) -> None:
        """There is nothing to close."""


@contextmanager
def progress_of(jobs: int) -> Iterator[Callable[[Conversation], None]]:
    """Give a function that shows how many jobs are over and what time it is in the simulation."""
    shown = 0.0
    with progress_bar(jobs, bool(jobs)) as show:

        def seen(talk: Conversation) -> None:
            nonlocal shown
            if jobs and time.perf_counter() > shown + REFRESH:
                shown = time.perf_counter()
                show(talk.completed, f"at {talk.now:.0f} s")

        yield seen


def wait_for(path: Path) -> None:
    """Give a file of a Batsim started by hand some time to appear; it may also write elsewhere."""
    deadline = time.monotonic() + SETTLING
    while not path.exists() or read_text(path, ResultsError, errors="replace").count("\n") < 2:
        if time.monotonic() > deadline:
            log.warning("%s has not appeared: Batsim writes its files elsewhere, or not as -e says", path)
            return
        time.sleep(0.05)
