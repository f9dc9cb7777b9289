"""Running an experiment in process and leaving its directory behind: inputs, outputs and ``run.json``."""

import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.files import alone_in, write_json, write_lines
from hdeeprm_like.launch.drivers import Driver
from hdeeprm_like.launch.run_folder import INPUTS, RECORD, description, listed_files, rejected_jobs, write_inputs
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.results.run_log import Record
from hdeeprm_like.results.run_reader import Run

log = logging.getLogger(__name__)

STAGE = ".run-"  # begins the names of folders that a run is written into before it is whole


class Launched(NamedTuple):
    """A launch that has ended.

    Attributes:
        record: the content of ``run.json``. run: its last run, as it would be read from the folder.
    """

    record: dict[str, Any]
    run: Run


def launch(driver: Driver, output: Path, runs: int = 1, progress: bool = True) -> Launched:
    """Simulate an experiment and write its directory; nothing of it appears before all of it is there.

    Args:
        runs: simulations, one after the other; the last one's files stay.

    Raises:
        ResultsError: the directory cannot be written.
    """
    experiment = driver.experiment
    with staged(output) as stage, closing(driver):
        begin = time.perf_counter()
        driver.begin(stage, runs)
        makespans, found = [], dict[str, Any]()
        with progress_bar(runs, progress and runs > 1, " runs") as show:
            for number in range(runs):
                begun = time.perf_counter()
                simulator, system = driver.play(progress and runs == 1)
                record = Record(simulator, experiment.workload)
                schedule = record.schedule(scheduling_time=0.0, simulation_time=time.perf_counter() - begun)
                makespans.append(schedule["makespan"])
                found = driver.after(system)
                show(number + 1)
        if simulator.unfinished and experiment.platform.speeds is not None:
            log.warning("%d jobs never end: at a speed of 0 nothing more happens, as in SimGrid", simulator.unfinished)
        record.write(stage, schedule)
        write_lines(stage / "makespans.log", (f"{makespan:f}" for makespan in makespans))
        write_inputs(experiment, stage)
        run = {
            **description(experiment, runs),
            **driver.entries,
            **found,
            "wall_seconds": round(time.perf_counter() - begin, 6),
            "metrics": {name: value for name, value in schedule.items() if value == value},
            "rejected": rejected_jobs(record.state, experiment.workload.ids),
            "unfinished": simulator.unfinished,
            "files": sorted({*(path.name for path in stage.iterdir()), RECORD}),
        }
        write_json(stage / RECORD, run)
    driver.finish()
    return Launched(run, record.as_run(output, schedule))


@contextmanager
def staged(output: Path) -> Iterator[Path]:
    """Give a folder whose files move into *output* when the block ends well, and vanish when it does not.

    The files of an earlier run in *output* are replaced; nothing else in there is touched.

    Raises:
        ResultsError: *output* cannot be written, or holds files of the same names that no run has left there.
    """
    with alone_in(output):
        earlier = listed_files(output)
        refuse_to_overwrite(output, INPUTS, earlier)
        try:
            stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=output))
        except OSError as error:
            raise ResultsError(f"{output}: cannot be written: {error.strerror or error}") from error
        for left in set(output.glob(f"{STAGE}*")) - {stage}:  # of a launch that was killed: no other process works here
            shutil.rmtree(left, ignore_errors=True)
        try:
            yield stage
            refuse_to_overwrite(output, sorted(path.name for path in stage.iterdir()), earlier)
            move_into(output, stage, earlier)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def move_into(output: Path, stage: Path, earlier: Sequence[str]) -> None:
    """Put the files of a run in the place of those of an earlier one.

    The record says "incomplete" until the last file is there, and lists the old files and the new ones: a launch that
    is killed here leaves what the next one into this folder replaces, and what ``clean`` deletes.
    """
    names = sorted(path.name for path in stage.iterdir() if path.name != RECORD)
    write_json(output / RECORD, {"status": "incomplete", "files": sorted({*earlier, *names, RECORD})})
    for name in set(earlier) - {*names, RECORD}:
        (output / name).unlink(missing_ok=True)
    for name in [*names, RECORD]:
        (stage / name).replace(output / name)


def refuse_to_overwrite(folder: Path, names: Sequence[str], earlier: Sequence[str]) -> None:
    """Raise a ResultsError if one of the files to be written is there and is none of an earlier run."""
    for name in names:
        if name not in earlier and (folder / name).exists():
            raise ResultsError(f"{folder}: holds a {name} that is of no run and would be overwritten; choose another")
