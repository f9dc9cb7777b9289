"""The folder of one experiment: what it reads, the options files that it uses, and parts that are not done twice."""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from hdeeprm_like.errors import ResultsError, WorkloadError
from hdeeprm_like.formats.archive import TRACES, fetch_trace, trace_folder
from hdeeprm_like.formats.files import replacing, replacing_bytes, write_json
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json, read_packed, sha256
from hdeeprm_like.studies.reproduction.experiment import Experiment
from hdeeprm_like.version import __version__

log = logging.getLogger(__name__)

Scale: TypeAlias = Literal["small", "full"]
RESULT, PARTS, INPUTS = "result.json", "parts", "inputs"
CPU = "cpu-"  # before the names of the parts that hold the CPU times of trainings
PLENTY = 1_000_000  # MB


@dataclass(frozen=True)
class Settings:
    """The settings of the command line.

    Attributes:
        output: the folder of all experiments. scale: of the budgets. seeds: in place of the experiments' own number.
        traces: folders that are searched for traces before that of downloaded ones. fetch: whether to use the network.
    """

    output: Path
    scale: Scale = "small"
    seeds: int | None = None
    traces: tuple[Path, ...] = ()
    fetch: bool = False


@dataclass
class Findings:
    """What was measured.

    Attributes:
        values: by key of the published number: a value, a text, or a list over seeds or windows.
        notes: by key, or "" for one on the whole experiment.
        budgets: by key, the budget of the measurement if it does not follow from the scale and the seeds.
        reduced: keys that were measured on less than the document's budget whatever the scale.
        tables: further ones for the report: title, column titles and rows.
    """

    values: dict[str, Any] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    budgets: dict[str, str] = field(default_factory=dict)
    reduced: set[str] = field(default_factory=set)
    tables: list[dict[str, Any]] = field(default_factory=list)

    def table(self, title: str, columns: list[str], rows: list[list[Any]]) -> None:
        """Add a table."""
        self.tables.append({"title": title, "columns": columns, "rows": rows})


class Place:
    """Where an experiment is measured.

    Attributes:
        experiment, settings: what and how. folder: ``R05`` in the output.
    """

    def __init__(self, experiment: Experiment, settings: Settings) -> None:
        self.experiment = experiment
        self.settings = settings
        self.folder = settings.output / experiment.id

    @property
    def full(self) -> bool:
        """Whether the published budgets are used."""
        return self.settings.scale == "full"

    @property
    def seeds(self) -> range:
        """The seeds, from 1 on."""
        own = self.experiment.seeds[self.settings.scale]
        return range(1, 1 + (own if self.settings.seeds is None else self.settings.seeds))

    def trace(self, name: str) -> Path | None:
        """Return the file of a trace of the archive, None if it is not there and must not, or cannot, be fetched."""
        for folder in (*self.settings.traces, trace_folder()):
            for ending in (".swf.gz", ".swf"):
                if (folder / f"{name}{ending}").exists():
                    return folder / f"{name}{ending}"
        if self.settings.fetch and name in TRACES:
            try:
                return fetch_trace(name)[0]
            except (WorkloadError, ResultsError) as error:
                log.warning("%s", error)
        return None

    def example(self, name: str, target_name: str = "") -> Path:
        """Return the path of a file of the examples, which is copied beside the options files.

        Args:
            target_name: of the copy, where two files would have the same.
        """
        target = self.settings.output / INPUTS / (target_name or Path(name).name)
        source = examples_folder() / name
        if not target.exists() or target.stat().st_size != source.stat().st_size:
            with replacing_bytes(target) as file:
                file.write(read_packed(source, source.stat().st_size, ResultsError))
        return target

    def pool(self, name: str) -> Path:
        """Write a machine of alike cores, as ``pool_128.csv``, or ``pool_10_20.csv`` with 20 MB of memory."""
        cores, _, memory = name.removeprefix("pool_").removesuffix(".csv").partition("_")
        path = self.settings.output / INPUTS / name
        with replacing(path) as file:
            file.write(f"MachineName,TotalMemory,TotalCPUs,TotalGPUs\npool,{memory or PLENTY},{cores},0\n")
        return path

    def options(self, name: str, **changes: Any) -> Path:
        """Write an options file of the experiment and return its path.

        Args:
            name: in ``experiment.options``. changes: what is said in place of it, at the top of the file.
        """
        return self.written(name, {**self.experiment.options[name], **changes})

    def written(self, name: str, content: Mapping[str, Any]) -> Path:
        """Write an options file, unless it is there and says the same, and return its path."""
        path = self.folder / "options" / f"{name}.json"
        if not path.exists() or read_json(path, ResultsError) != content:
            write_json(path, content)
        return path

    def prepare(self) -> None:
        """Write the inputs and the options files."""
        for name in self.experiment.inputs:
            if "/" in name:
                self.example(name)
            else:
                self.pool(name)
        for name in self.experiment.options:
            self.options(name)

    def part(self, name: str, make: Callable[..., Any], *given: Any) -> Any:
        """Return what *make* returns of what is *given*, as JSON holds it; a part that is there is not made again."""
        path = self.folder / PARTS / f"{name}.json"
        key = self.key()
        with suppress(ResultsError):
            kept = read_json(path, ResultsError)
            if isinstance(kept, dict) and kept.get("key") == key:
                return kept["value"]
        value = make(*given)
        write_json(path, {"key": key, "value": value}, indent=None)
        return value

    def cpu_seconds_of_trainings(self) -> float:
        """Return the CPU time in s of the trainings that were done before, as far as it is known."""
        contents = (read_json(path, ResultsError) for path in sorted((self.folder / PARTS).glob(f"{CPU}*.json")))
        return sum(content["value"] or 0.0 for content in contents)

    def key(self) -> str:
        """Return everything that a finished result depends on, except the machine: code, experiment, scale, seeds,
        traces."""
        found = {name: path.stat().st_size for name in self.experiment.traces if (path := self.trace(name))}
        told = [__version__, repr(self.experiment), code_of(self.experiment), self.settings.scale, self.settings.seeds]
        return hashlib.sha256(json.dumps([*told, sorted(found.items())]).encode()).hexdigest()


def measure_of(experiment: Experiment) -> Callable[[Place], Findings]:
    """Return the function that measures an experiment."""
    import importlib

    module = importlib.import_module(f"hdeeprm_like.studies.reproduction.measures.{experiment.id.lower()}")
    found: Callable[[Place], Findings] = module.measure
    return found


def code_of(experiment: Experiment) -> str:
    """Return the SHA-256 of the code that measures an experiment."""
    source = Path(inspect.getfile(measure_of(experiment)))
    return sha256(source)


def kept_result(folder: Path) -> Mapping[str, Any] | None:
    """Return the result in the folder of an experiment, None if there is none that is whole."""
    try:
        content = read_json(folder / RESULT, ResultsError)
    except ResultsError:
        return None
    return content if isinstance(content, dict) and "numbers" in content else None
