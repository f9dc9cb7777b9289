"""Running an experiment with Batsim at the other end of a socket: our own process decides, Batsim simulates.

Batsim is a program from ``PATH``, any command that takes its place, a container, or one that somebody starts by hand;
or our own server of Batsim's protocol in this process, which is how the embedded simulator plays networks.
The directory of the run says "incomplete" from the beginning until all of it is there.
"""

import csv
import json
import logging
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.codec5 import Codec5
from hdeeprm_like.batsim.process import ReapedProcess, Stopped, interruptible
from hdeeprm_like.batsim.session import Conversation, Decider
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.presets import check_whole, classic_policies
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError, ResultsError
from hdeeprm_like.experiment import WORKLOAD_OF_RUN, Experiment
from hdeeprm_like.formats.batsim5_json import as_batsim5
from hdeeprm_like.formats.files import write_json
from hdeeprm_like.inputs import read_json
from hdeeprm_like.launch.in_process import INPUTS, LACKS, RECORD, description, listed_files, write_inputs
from hdeeprm_like.learning.logs import FILES as LEARNING_LOGS
from hdeeprm_like.results.decision_log import DECISIONS
from hdeeprm_like.results.overutilization import overutilizations

if TYPE_CHECKING:
    from hdeeprm_like.batsim.endpoint import Endpoint

log = logging.getLogger(__name__)

LOG = "batsim.log"
SCHEDULE, SCHEDULE5 = "out_schedule.csv", "out_schedule.json"
WORKLOAD5 = "workload5.json"  # the workload in Batsim 5's JSON
OUTPUTS = (  # what can be there at the end; what is not there is not listed then
    "makespans.log",
    "out_INCOMPLETE",
    "out_consumed_energy.csv",
    "out_jobs.csv",
    "out_machine_states.csv",
    "out_pstate_changes.csv",
    "out_real_exec_info.json",
    SCHEDULE,
    SCHEDULE5,
    "out_schedule.trace",
    "overutilizations.json",
    WORKLOAD5,
    LOG,
    *LEARNING_LOGS,
    DECISIONS,
)
IMAGE = "oarteam/batsim:4.2.1"
OWN_SERVER = "hdeeprm-like"
MOUNTED = "/hdeeprm"  # the directory of the run inside a container
TIMEOUT = 300.0  # s
SETTLING = 10.0  # s that the files of a Batsim started by hand may take to appear
LOOPBACK = "tcp://127.0.0.1"
REFRESH = 0.2  # s between two pictures of the progress bar


@dataclass(frozen=True)
class Peer:
    """How Batsim is reached.

    Attributes:
        simulator: for ``run.json``, ``batsim``, ``batsim5``, ``docker`` or, with no socket between, ``embedded``.
        words: the command to start it with; none where somebody starts it by hand.
        address: where to listen. folder: the run's directory as Batsim sees it; None where that is the same.
        timeout: s that either side may be silent. version: of Batsim, 4 or 5.
    """

    simulator: str
    words: tuple[str, ...] = ()
    address: str = f"{LOOPBACK}:*"
    folder: str | None = None
    timeout: float = TIMEOUT
    version: int = 4

    @property
    def inside(self) -> bool:
        """Whether Batsim is our own server in this process."""
        return self is EMBEDDED

    @property
    def schedule(self) -> str:
        """The name of the file that Batsim writes last of those that we read."""
        return SCHEDULE5 if self.version == 5 else SCHEDULE

    def command(self, output: Path, address: str) -> list[str]:
        """Return the whole command line of Batsim for the inputs in a directory."""
        folder = self.folder or str(output.resolve())
        if self.version == 5:
            files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/{WORKLOAD5}", "-e", f"{folder}/out_"]
            traces = ["--energy-host", "--trace-machine-state", "--trace-pstate-changes", "-q"]
            return [*(self.words or ("batsim",)), *traces, *files, "-s", address, ""]
        files = ["-p", f"{folder}/platform.xml", "-w", f"{folder}/workload.json", "-e", f"{folder}/out"]
        return [*(self.words or ("batsim",)), "-E", "-q", "--disable-schedule-tracing", "-s", address, *files]


EMBEDDED = Peer("embedded")


def peer_of(
    simulator: str, output: Path, *, command: str = "batsim", image: str = IMAGE, socket: str = "", timeout: float
) -> Peer:
    """Return how Batsim is reached, as the command line says it.

    Args:
        simulator: ``batsim``, ``batsim5`` or ``docker``. command: for the first two. image: for the last; its tag tells
            the version.
        socket: where to listen for a Batsim started by hand; a port alone is one of this machine only.

    Raises:
        OptionsError: there is no such program.
    """
    version = 5 if simulator == "batsim5" or (simulator == "docker" and is_of_batsim5(image)) else 4
    if socket:
        return Peer(simulator, address=socket_address(socket), timeout=timeout, version=version)
    if simulator == "docker":
        found(["docker"], "install Docker, or choose --simulator batsim")
        words = docker_words(image, output.resolve())
        return Peer(simulator, words, folder=MOUNTED, timeout=timeout, version=version)
    words = tuple(shlex.split(command))
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


def classic_decider(experiment: Experiment) -> Decider:
    """Return what makes the decision system of a classic experiment once Batsim has told its platform."""

    def decide(platform: Platform, limits: JobLimits) -> DecisionSystem:
        actions, whole = classic_policies(*experiment.options.classic_pair), experiment.options.whole
        if whole:
            check_whole(actions.policies)
        state = State(platform, None, seed=experiment.policy_seed, limits=limits, needs=actions.needs, whole=whole)
        return DecisionSystem(state, actions)

    return decide


class FirstAction:
    """The agent of a classic experiment: its only action."""

    def act(self, observation: object, mask: object) -> int:
        """Return it."""
        return 0


def launch_batsim(
    experiment: Experiment,
    output: Path,
    peer: Peer,
    *,
    runs: int = 1,
    progress: bool = True,
    decider: Decider | None = None,
    agent: Agent | None = None,
    after: Callable[[DecisionSystem], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Simulate an experiment with Batsim and write its directory.

    What an earlier run has left there is replaced. When something goes wrong what was written stays, ``run.json`` says
    "incomplete", and its ``problem`` says why.

    Args:
        runs: simulations, one after the other with the same agent; the last one's files stay.
        decider: makes the decision system of each; None for the experiment's classic one. agent: decides there.
        after: is called with the decision system of each simulation at its end; returns more of ``run.json``.

    Returns:
        The content of ``run.json``.

    Raises:
        OptionsError: the address is in use.
        ResultsError: the directory cannot be written.
    """
    from hdeeprm_like.batsim.endpoint import Endpoint

    endpoint = None if peer.inside else Endpoint(peer.address)
    began = time.perf_counter()
    try:
        run = prepared(experiment, output, peer, runs)
        limits = experiment.workload.limits()
        exact = {"w0": read_json(output / "workload.json", ResultsError)["profiles"]}
        talks: list[Conversation] = []

        def over() -> bool:  # who started Batsim by hand may end us when Batsim has ended
            return not (peer.words or peer.inside) and len(talks) == runs and talks[-1].ended

        def thinking_since() -> float | None:
            return None if endpoint is None else endpoint.thinking_since

        with interruptible(thinking_since, peer.timeout, over):
            for _ in range(runs):
                decide = decider or classic_decider(experiment)
                codec = Codec5() if peer.version == 5 else Codec4()
                talk = Conversation(decide, agent or FirstAction(), experiment.platform, limits, exact, codec)
                talks.append(talk)
                jobs = len(experiment.workload) if progress else 0
                if endpoint is None:
                    simulate_inside(talk, output, peer, jobs)
                else:
                    simulate(talk, endpoint, output, peer, jobs)
                if after is not None:
                    run |= after(talk.system)
                finish_run(run, talk, output / peer.schedule)
            run["status"] = "complete"
    except (HDeepRMError, Stopped) as problem:
        run["problem"] = str(problem)
        if endpoint is not None and not peer.words:  # somebody else's Batsim; our own has been ended
            endpoint.refuse(str(problem))
    finally:
        if endpoint is not None:
            endpoint.close()
    run["wall_seconds"] = round(time.perf_counter() - began, 6)
    run["files"] = sorted({*INPUTS, RECORD, *(name for name in OUTPUTS if (output / name).exists())})
    write_json(output / RECORD, run)
    return run


def prepared(experiment: Experiment, output: Path, peer: Peer, runs: int) -> dict[str, Any]:
    """Clear a directory of an earlier run, write the inputs and a ``run.json`` that says "incomplete"."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        for name in {*listed_files(output), *OUTPUTS}:
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{output}: cannot be written: {error.strerror or error}") from error
    run = {**description(experiment, runs), "status": "incomplete", "simulator": peer.simulator}
    run |= {"problem": "it has not ended", "files": sorted({*INPUTS, *OUTPUTS, RECORD})}
    write_json(output / RECORD, run)
    write_inputs(experiment, output)
    if peer.version == 5:
        workload = read_json(output / WORKLOAD_OF_RUN, ResultsError)
        write_json(output / WORKLOAD5, as_batsim5(workload, str(output / WORKLOAD_OF_RUN)), indent=None)
    return run


def simulate(talk: Conversation, endpoint: "Endpoint", output: Path, peer: Peer, jobs: int) -> None:
    """Play one simulation to its end, with Batsim started if that is ours to do.

    Args:
        jobs: for the progress bar, 0 for none.
    """
    (output / peer.schedule).unlink(missing_ok=True)
    command = peer.command(output, endpoint.address)
    if not peer.words:
        log.warning("waiting for Batsim at %s; start it with: %s", endpoint.address, shlex.join(command))

        def gone() -> str | None:
            return "Batsim has gone before the simulation ended" if talk.begun and not endpoint.connected() else None

        with progress_bar(jobs) as seen:
            endpoint.play(talk, gone, seen, peer.timeout, peer.timeout)
        wait_for(output / peer.schedule)
        return
    with ReapedProcess("Batsim", command, output / LOG) as batsim, progress_bar(jobs) as seen:
        endpoint.play(talk, batsim.gone, seen, peer.timeout, peer.timeout)
        status = batsim.wait(peer.timeout)
        if status != 0:
            how = f"does not end within {peer.timeout:g} s" if status is None else f"failed with exit status {status}"
            raise ProtocolError(f"Batsim {how} after the end of the simulation")


def simulate_inside(talk: Conversation, output: Path, peer: Peer, jobs: int) -> None:
    """Play one simulation to its end with our own server of Batsim's protocol, message by message in this process.

    Args:
        jobs: for the progress bar, 0 for none.
    """
    from hdeeprm_like.batsim_server.cli import play, read_command_line

    _, *words = peer.command(output, "")
    options, _ = read_command_line(words)
    with progress_bar(jobs) as seen:

        def ask(message: str | bytes) -> bytes:
            reply = talk.answer(message).encode()
            seen(talk)
            return reply

        if not play(options, ask):
            raise ProtocolError("jobs are left that never end: nothing more can happen")


@contextmanager
def progress_bar(jobs: int) -> Iterator[Callable[[Conversation], None]]:
    """Give a function that shows how many jobs are over and what time it is in the simulation."""
    shown = 0.0
    with tqdm(total=jobs, unit=" jobs", desc="simulating", delay=1.0, disable=not jobs, leave=False) as bar:

        def seen(talk: Conversation) -> None:
            nonlocal shown
            if jobs and time.perf_counter() > shown + REFRESH:
                shown = time.perf_counter()
                bar.set_postfix_str(f"at {talk.now:.0f} s", refresh=False)
                bar.update(talk.completed - bar.n)

        yield seen


def wait_for(path: Path) -> None:
    """Give a file of a Batsim started by hand some time to appear; it may also write elsewhere."""
    deadline = time.monotonic() + SETTLING
    while not path.exists() or path.read_text(encoding="utf-8", errors="replace").count("\n") < 2:
        if time.monotonic() > deadline:
            log.warning("%s has not appeared: Batsim writes its files elsewhere, or not as -e says", path)
            return
        time.sleep(0.05)


def finish_run(run: dict[str, Any], talk: Conversation, schedule: Path) -> None:
    """Take the results of one simulation into the record, and write what the decision system knows beside them."""
    state = talk.system.state
    lacks = state.tables.jobs["lacks"].tolist()
    run["rejected"] = {
        identifier: LACKS[lack] for identifier, lack in zip(talk.identifiers, lacks, strict=False) if lack
    }
    run["unfinished"] = state.known - talk.completed - len(run["rejected"])
    run["metrics"] = read_schedule(schedule)
    run.pop("problem", None)
    write_json(schedule.with_name("overutilizations.json"), overutilizations(state), indent=None)
    with schedule.with_name("makespans.log").open("a", encoding="utf-8") as file:
        file.write(f"{run['metrics'].get('makespan', talk.now):f}\n")


def read_schedule(path: Path) -> dict[str, Any]:
    """Return the figures of Batsim's ``out_schedule`` that hold something; none if there is no such file."""
    if not path.exists():
        return {}
    if path.suffix == ".json":
        content = read_json(path, ResultsError)
        if not isinstance(content, dict):
            raise ResultsError(f"{path}: is not what Batsim writes: an object is needed")
        return {name: value for name, value in content.items() if value is not None}
    try:
        with path.open(encoding="utf-8", newline="") as file:
            row = next(csv.DictReader(file))
        return {name: as_number(text) for name, text in row.items() if "nan" not in text}
    except (OSError, StopIteration, TypeError, ValueError) as cause:
        raise ResultsError(f"{path}: is not what Batsim writes: {cause}") from cause


def as_number(text: str) -> str | int | float:
    """Return a number where the text is one."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) else text
