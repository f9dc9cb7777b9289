"""The folder of a run: its inputs, its record ``run.json``, and which files there are the run's.

The embedded simulator, Batsim and trainings leave such folders; what simulates is not imported here.
"""

import platform as machine
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, GPUS, MEMORY
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import PLATFORM_OF_RUN, WORKLOAD_OF_RUN, Experiment, is_left_by_run
from hdeeprm_like.formats.files import replacing, write_json
from hdeeprm_like.formats.open import write
from hdeeprm_like.formats.platform_xml import MOST_ROUTED, write_platform_xml
from hdeeprm_like.formats.simgrid_profiles import speed_file_name
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.plugins import whole_names
from hdeeprm_like.version import __version__

RECORD = "run.json"
OPTIONS = "options.json"
INPUTS = (OPTIONS, WORKLOAD_OF_RUN, PLATFORM_OF_RUN)
SPEED_FILES = speed_file_name(PLATFORM_OF_RUN, "*")  # a pattern
LACKS = {
    CORES: "more cores than the platform has",
    MEMORY: "more memory per core than the platform has for that many cores",
    GPUS: "more GPUs than the platform has for that many cores",
}
NO_NODES = "more than the nodes of its partition that meet its constraint have"


def write_inputs(experiment: Experiment, folder: Path) -> None:
    """Write the inputs as they were used, so that ``launch --options DIR/options.json`` runs the same again."""
    own_files = {"workload_file_path": WORKLOAD_OF_RUN, "platform_file_path": PLATFORM_OF_RUN, "type_file_paths": []}
    options = whole_names(experiment.options.model_dump(mode="json"), experiment.options_path.parent)
    write_json(folder / "options.json", options | own_files)
    if is_left_by_run(experiment.workload_path, "workload"):
        copy_text(experiment.workload_path, folder / WORKLOAD_OF_RUN)
    else:
        write(experiment.workload, folder / WORKLOAD_OF_RUN, "workload")
    of_run, foreign = folder / PLATFORM_OF_RUN, experiment.platform.links_of_file is not None
    if experiment.options.network and experiment.platform.network is not None and not foreign:
        routed = not experiment.platform.topology or experiment.platform.cores <= MOST_ROUTED
        write_platform_xml(experiment.platform, of_run, routed=routed)
    elif (
        foreign == experiment.options.network
        and is_left_by_run(experiment.platform_path, "platform")
        and experiment.platform.speeds is None
    ):  # it has the format of those in the folders of runs, and no further files
        copy_text(experiment.platform_path, of_run)
    else:
        write(experiment.platform, of_run, "platform")


def inputs_of(platform: Platform) -> list[str]:
    """Return the names of the inputs of a run on a platform."""
    profiles = () if platform.speeds is None else platform.speeds.profiles
    return [*INPUTS, *(speed_file_name(PLATFORM_OF_RUN, number) for number in range(len(profiles)))]


def copy_text(source: Path, target: Path) -> None:
    """Copy a text file, unpacked if it ends in ``.gz``."""
    with replacing(target) as file:
        file.write(read_text(source, ResultsError))


def description(experiment: Experiment, runs: int) -> dict[str, Any]:
    """Return what ``run.json`` says about where a run came from."""
    return {
        "status": "complete",
        "simulator": "embedded",
        "options": experiment.options.model_dump(mode="json"),
        "platform": {
            "file": str(experiment.platform_path),
            "nodes": experiment.platform.nodes,
            "processors": experiment.platform.processors,
            "cores": experiment.platform.cores,
        },
        "workload": {
            "file": str(experiment.workload_path),
            "jobs": len(experiment.workload),
            "account": None if experiment.workload.account is None else experiment.workload.account.content(),
        },
        "seed": experiment.options.seed,
        "runs": runs,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of everything that a result may depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"hdeeprm_like": __version__, "python": machine.python_version()}
    for package in ("numpy", "numba", "pandas", "torch", "pybatsim"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def rejected_jobs(state: State, identifiers: Sequence[str]) -> dict[str, str]:
    """Return the rejected jobs among those of some names, and why."""
    lacks = state.tables.jobs["lacks"].tolist()
    found = {name: LACKS[lack] for name, lack in zip(identifiers, lacks, strict=False) if lack}
    return found if state.platform.partitions is None else dict.fromkeys(found, NO_NODES)


def status_of(folder: Path) -> str:
    """Return the status in the ``run.json`` of a folder, e.g. ``complete``; empty if there is no such file.

    Raises:
        ResultsError: it cannot be read.
    """
    path = folder / RECORD
    content = read_json(path, ResultsError) if path.exists() else {}
    return str(content.get("status", "")) if isinstance(content, dict) else ""


def listed_files(folder: Path) -> list[str]:
    """Return the files that the ``run.json`` of a folder lists, none if there is no such file."""
    path = folder / RECORD
    if not path.exists():
        return []
    content = read_json(path, ResultsError)
    files = content.get("files") if isinstance(content, dict) else None
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise ResultsError(f"{path}: lists no files; this is no record of a run")
    outside = [name for name in files if Path(name).name != name or name in ("", "..") or "\0" in name]
    if outside:
        raise ResultsError(f"{path}: lists {outside[0]!r}, which is not in its folder")
    folders = [name for name in files if (folder / name).is_dir()]
    if folders:
        raise ResultsError(f"{path}: lists {folders[0]!r}, which is a folder and no file of a run")
    return files


def clean(folder: Path, soft: bool = False) -> list[str]:
    """Delete the files that ``run.json`` lists and nothing else; return their names.

    Args:
        soft: keep the inputs (options, workload, platform), and the record of them.

    Raises:
        ResultsError: the folder has no ``run.json``.
    """
    record = folder / RECORD
    if not record.exists():
        raise ResultsError(f"{folder}: has no {RECORD}, so nothing in there is known to be ours")
    names = listed_files(folder)
    kept = [name for name in names if soft and (name in (*INPUTS, RECORD) or fnmatchcase(name, SPEED_FILES))]
    gone = [name for name in names if name not in kept and (folder / name).exists()]
    for name in sorted(gone, key=lambda name: name == RECORD):
        (folder / name).unlink()
    if kept:
        write_json(record, {**read_json(record, ResultsError), "status": "cleaned", "files": kept})
    return gone
