"""The tasks of ``reproduce``: an experiment of the documents each, on any engine of a sweep."""

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from hdeeprm_like.option_sections import Section
from hdeeprm_like.studies.reproduction.experiment import experiment
from hdeeprm_like.studies.reproduction.place import Place, Scale, Settings
from hdeeprm_like.studies.reproduction.run import check_learning, result_of
from hdeeprm_like.studies.sweep.tasks import REPRODUCE, Content, Task, combinations, task_of, validated

FOLDER = "reproduction"  # in the folder of the sweep


class ReproductionOptions(Section):
    """The keys beside ``reproduce`` in one combination of a sweep file; as the flags of the command."""

    reproduce: str
    scale: Scale = "small"
    seeds: Annotated[int, Field(ge=1)] | None = None
    traces: list[str] = Field([])


def reproduction_tasks(path: Path, entry: Content) -> Iterator[Task]:
    """Yield the tasks of an object of a sweep file that reproduces.

    Raises:
        OptionsError: it cannot be used, or an experiment needs torch, which is not installed.
    """
    for combination in combinations(path, entry):
        options = validated(path, ReproductionOptions, combination)
        found = experiment(options.reproduce.upper())
        check_learning([found])
        traces = [os.path.normpath(path.parent.absolute() / name) for name in options.traces]
        content: Content = {**options.model_dump(), "reproduce": found.id, "traces": traces}
        decides = Place(found, settings_of(content, Path())).key()  # includes the code that measures it
        values = {"experiment": found.id, "scale": options.scale, "seeds": options.seeds}
        yield task_of(REPRODUCE, {**content, "decides": decides}, values, [])


def settings_of(content: Content, folder: Path) -> Settings:
    """Return the settings of a task in the folder of a sweep: one folder for each combination, whatever the ids."""
    traces = content["traces"]
    parts = [content["scale"]] * (content["scale"] != "small")
    parts += [f"seeds-{content['seeds']}"] * (content["seeds"] is not None)
    parts += [hashlib.sha256("\0".join(traces).encode()).hexdigest()[:8]] * bool(traces)
    return Settings(folder / "-".join((FOLDER, *parts)), content["scale"], content["seeds"], tuple(map(Path, traces)))


def reproduced(task: Task, folder: Path) -> dict[str, float]:
    """Return the count of the published numbers of an experiment by verdict, and its CPU time in s.

    An experiment begun in the folder of the sweep is continued.
    """
    result = result_of(experiment(task.content["reproduce"]), settings_of(task.content, folder))
    verdicts = Counter(row["verdict"] for row in result["numbers"])
    return {**{verdict: float(count) for verdict, count in verdicts.items()}, "cpu_seconds": result["cpu_seconds"]}
