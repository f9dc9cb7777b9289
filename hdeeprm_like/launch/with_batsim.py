"""Running an experiment with Batsim at the other end of a socket: our own process decides, Batsim simulates.

Who simulates is a `hdeeprm_like.launch.peers.Peer`: Batsim or, where the embedded simulator plays networks, our own
server of Batsim's protocol in this process. The run's directory says "incomplete" until all of it is there.
"""

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.process import Stopped, interruptible
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.decision.names import case_of
from hdeeprm_like.engine.node_sets import NumberedSets
from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.experiment import WORKLOAD_OF_RUN, Experiment, is_left_by_run
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.files import alone_in, write_json
from hdeeprm_like.formats.platform_hosts import master_to_name
from hdeeprm_like.formats.training_logs import FILES as LEARNING_LOGS
from hdeeprm_like.inputs import read_json, read_rows
from hdeeprm_like.launch.drivers import Driver
from hdeeprm_like.launch.peers import LOG, SCHEDULE, SCHEDULE5, WORKLOAD5, Peer
from hdeeprm_like.launch.run_folder import RECORD, description, inputs_of, listed_files, rejected_jobs, write_inputs
from hdeeprm_like.refusals import BATSIM, Case, refuse
from hdeeprm_like.results.decision_log import DECISIONS
from hdeeprm_like.results.overutilization import overutilizations

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
    "checkpoint.pt",
    *LEARNING_LOGS,
    DECISIONS,
)


def launch_batsim(driver: Driver, output: Path, peer: Peer, *, runs: int = 1, progress: bool = True) -> dict[str, Any]:
    """Simulate an experiment with Batsim and write its directory.

    What an earlier run has left there is replaced. When something goes wrong what was written stays, ``run.json`` says
    "incomplete", and its ``problem`` says why.

    Args:
        runs: simulations, one after the other; the last one's files stay.

    Returns:
        The content of ``run.json``.

    Raises:
        OptionsError: the address is in use, or a policy does not go with Batsim or the platform.
        ResultsError: the directory cannot be written.
        WorkloadError: our server does not know a profile.
    """
    peer = fit_for(driver, peer)
    run = first_record(driver, peer, runs)
    line = peer.meet(output)  # from here on a message of Batsim may be pending, and is always answered
    began, claimed = time.perf_counter(), False
    talks: list[Conversation] = []

    def over() -> bool:  # who started Batsim by hand may end us when Batsim has ended
        return peer.by_hand and len(talks) == runs and talks[-1].ended

    locked = ExitStack()
    try:
        with interruptible(lambda: line.thinking_since, peer.timeout, over):
            locked.enter_context(alone_in(output))
            claim(output, run)
            claimed = True
            prepare(driver.experiment, output, peer)
            driver.begin(output, runs)
            for talk in conversations(driver, output, peer, runs):
                talks.append(talk)
                line.simulate(talk, len(driver.experiment.workload) if progress else 0)
                run |= driver.after(talk.system)
                finish_run(run, talk, output / peer.schedule)
            run["status"] = "complete"
    except (HDeepRMError, Stopped) as problem:
        run["problem"] = str(problem)
        line.refuse(str(problem))
        if not claimed:  # what is there, if anything, is of others
            raise ResultsError(str(problem)) from problem
    except BaseException:
        line.refuse("launch has failed")
        raise
    finally:
        line.close()
        driver.close()
        if not claimed:
            locked.close()
    run["wall_seconds"] = round(time.perf_counter() - began, 6)
    inputs = inputs_of(driver.experiment.platform)
    run["files"] = sorted({*inputs, RECORD, *(name for name in OUTPUTS if (output / name).exists())})
    with locked:
        write_json(output / RECORD, run)
    driver.finish()
    return run


def fit_for(driver: Driver, peer: Peer) -> Peer:
    """Return the peer as an experiment needs it; raise if the jobs or a policy do not go with Batsim or the platform.

    Raises:
        HDeepRMError: why, see `refusals`.
    """
    experiment, exclusive = driver.experiment, False
    if is_left_by_run(experiment.workload_path, "workload"):  # what this program writes has known profiles
        peer.check(experiment.workload_path)
    if experiment.platform.partitions is not None and experiment.workload.demands is not None:
        rows = NumberedSets(experiment.platform.partitions).rows(experiment.workload.demands, experiment.workload.size)
        exclusive = bool(rows["exclusive"].any())
    for case in [case_of(policy, BATSIM) for policy in driver.policies] or [Case(driver=BATSIM)]:
        refuse(case.on(experiment.platform, experiment.options.whole)._replace(exclusive=exclusive))
    if experiment.platform.links_of_file is not None and experiment.options.network:
        return peer.replaced(master=master_to_name(experiment.platform_path))
    return peer


def conversations(driver: Driver, output: Path, peer: Peer, runs: int) -> Iterator[Conversation]:
    """Yield our side of each simulation; Batsim 4 gets the profiles in full from the workload in the directory."""
    experiment, agent = driver.experiment, driver.agent
    limits = experiment.workload.limits()
    exact = {"w0": read_json(output / WORKLOAD_OF_RUN, ResultsError, read_number)["profiles"]}
    for _ in range(runs):
        yield Conversation(driver.system, agent, codec_of(peer), experiment.platform, limits, exact)


def codec_of(peer: Peer) -> Codec4:
    """Return a new codec for the messages of the peer's version of Batsim."""
    if peer.version == 5:
        from hdeeprm_like.batsim.codec5 import Codec5

        return Codec5()
    return Codec4()


def first_record(driver: Driver, peer: Peer, runs: int) -> dict[str, Any]:
    """Return the content of ``run.json`` while the run has not ended."""
    run = {**description(driver.experiment, runs), "status": "incomplete", "simulator": peer.simulator}
    run |= driver.entries
    return run | {
        "problem": "it has not ended",
        "files": sorted({*inputs_of(driver.experiment.platform), *OUTPUTS, RECORD}),
    }


def claim(output: Path, run: dict[str, Any]) -> None:
    """Clear a directory of an earlier run, and write the record of one that has not ended.

    That record takes the place of the earlier one before anything else goes: killed at any moment, there is one.

    Raises:
        ResultsError: it cannot be written, or its ``run.json`` is of no run.
    """
    try:
        earlier = {*listed_files(output), *OUTPUTS} - {RECORD}
        write_json(output / RECORD, run)
        for name in earlier:
            (output / name).unlink(missing_ok=True)
    except OSError as error:
        raise ResultsError(f"{output}: cannot be written: {error.strerror or error}") from error


def prepare(experiment: Experiment, output: Path, peer: Peer) -> None:
    """Write the inputs."""
    write_inputs(experiment, output)
    if peer.version == 5:
        from hdeeprm_like.formats.batsim5_json import write_batsim5

        write_batsim5(output / WORKLOAD_OF_RUN, output / WORKLOAD5, ResultsError)


def finish_run(run: dict[str, Any], talk: Conversation, schedule: Path) -> None:
    """Take the results of one simulation into the record, and write what the decision system knows beside them."""
    state = talk.system.state
    run["rejected"] = rejected_jobs(state, talk.identifiers)
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
    rows = read_rows(path, (), ResultsError)
    if len(rows) != 1:
        raise ResultsError(f"{path}: is not what Batsim writes: one row is needed, not {len(rows)}")
    return {name: as_number(text) for name, text in rows[0].items() if "nan" not in text}


def as_number(text: str) -> str | int | float:
    """Return a number where the text is one."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float) else text
