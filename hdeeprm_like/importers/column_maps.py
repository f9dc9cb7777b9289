"""Logs of other origin, read by a map of their columns: one TOML file a data set, no code.

name = "NREL Eagle"
separator = ","                 # one character, or "blanks"
timezone = "America/Denver"     # where the clock stood; leave it out for UTC
clock = "dates"                 # or "seconds", on a clock of the log's own that may begin with 0
comment = ";"                   # lines that begin so are no jobs
names = ["job", "submit"]       # of the columns, for a file without a header
form = "pbs"                    # of logs that are no tables: pbs, lsf or kubernetes; see `line_forms`

[columns]                       # what we call it = how the file does; of a list, the first that is there
submit = "submit_time"
run = ["run_time", "duration"]
gpus = "tres_alloc"             # a number, or GPUs in a list of gres or tres: billing=4,cpu=4,gres/gpu:a100=2

[units]                         # s, min, h, ms for times; B, KB, MB, GB (of 1024) for memory
requested_time = "s"
memory = "MB"

[memory]
of = "job"                      # or "node" or "cpu": what the requested memory is for; columns memory_of_node and
                                # memory_of_cpu hold that of a node or CPU of the jobs that have it

[states]                        # words of the file for Slurm's states; its own words need no line
done = "COMPLETED"
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.importers.fields import STATE_NUMBER
from hdeeprm_like.importers.jobs import NAMES
from hdeeprm_like.importers.line_forms import FORMS
from hdeeprm_like.inputs import read_text

SECONDS = {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0}
KILOBYTES = {"B": 1 / 1024, "KB": 1.0, "MB": 1024.0, "GB": 1024.0**2}
DATES = ("submit", "eligible", "start", "end")
SPANS = ("wait", "run", "requested_time", "cpu_time")
MEMORIES = ("memory", "memory_of_node", "memory_of_cpu", "used_memory")
COUNTS = ("cpus", "requested_cpus", "nodes", "gpus")
COLUMNS = ("job", *DATES, *SPANS, *COUNTS, *MEMORIES, "state", *(name for name in NAMES if name != "gres"))
KEYS = (
    "name",
    "about",
    "separator",
    "timezone",
    "clock",
    "comment",
    "names",
    "form",
    "columns",
    "units",
    "memory",
    "states",
)


@dataclass(frozen=True)
class ColumnMap:
    """How a log is read; the docstring of the module explains each key of its file."""

    path: str
    name: str
    columns: Mapping[str, tuple[str, ...]]
    separator: str = ","
    timezone: str | None = None
    clock: str = "dates"
    comment: str = ""
    names: tuple[str, ...] = ()
    units: Mapping[str, str] | None = None
    memory_of: str = "job"
    states: Mapping[str, str] | None = None
    form: str = ""


def known_maps() -> list[str]:
    """Return the names of the maps that come along."""
    folder = resources.files("hdeeprm_like.importers").joinpath("maps")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def read_map(name: str) -> ColumnMap:
    """Read a map: a file, or the name of one that comes along, with or without its ending.

    Raises:
        OptionsError: there is none, or it has a mistake.
    """
    path = Path(name)
    own = path.name.removesuffix(".toml")
    if path.is_file():
        text = read_text(path, OptionsError)
    elif path.parent == Path() and own in known_maps():
        text = resources.files("hdeeprm_like.importers").joinpath("maps", f"{own}.toml").read_text(encoding="utf-8")
    else:
        raise OptionsError(f"--map: {name[:80]}: no such file or map{did_you_mean(own, known_maps())}")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionsError(f"{name}: is no TOML: {error}") from None
    except RecursionError:
        raise OptionsError(f"{name}: nested too deeply") from None
    return _map(content, name)


def _map(content: Mapping[str, Any], path: str) -> ColumnMap:
    def wrong(what: str) -> OptionsError:
        return OptionsError(f"{path}: {what}")

    def words(key: str, known: Sequence[str] = ()) -> dict[str, Any]:
        value = content.get(key, {})
        if not isinstance(value, dict):
            raise wrong(f"{key}: a table [{key}] is needed")
        for name in value:
            if known and name not in known:
                raise wrong(f"{key}.{name} is not known{did_you_mean(name, known)}")
        return value

    for key in content:
        if key not in KEYS:
            raise wrong(f"{key!r} is not known{did_you_mean(key, KEYS)}")
    columns = {key: tuple(v) if isinstance(v, list) else (v,) for key, v in words("columns", COLUMNS).items()}
    for key, names in columns.items():
        if not names or not all(isinstance(name, str) for name in names):
            raise wrong(f"columns.{key}: the name of a column, or a list of names, is needed")
    if not {"submit", "eligible"} & set(columns) or not {"run", "end"} & set(columns):
        raise wrong("columns: submit is needed, and run or end")
    if not {"cpus", "requested_cpus"} & set(columns):
        raise wrong("columns: cpus or requested_cpus is needed")
    units = words("units", (*SPANS, *MEMORIES))
    for key, unit in units.items():
        known = SECONDS if key in SPANS else KILOBYTES
        if unit not in known:
            raise wrong(f"units.{key}: {unit!r} is none of {', '.join(known)}")
    memory_of = words("memory", ("of",)).get("of", "job")
    if memory_of not in ("job", "node", "cpu"):
        raise wrong(f"memory.of: {memory_of!r} is none of job, node, cpu")
    states = words("states")
    for word, state in states.items():
        if state not in STATE_NUMBER:
            raise wrong(f"states.{word}: {state!r} is no state{did_you_mean(str(state), STATE_NUMBER)}")
    separator = str(content.get("separator", ","))
    if len(separator) != 1 and separator != "blanks":
        raise wrong(f"separator: {separator!r}: one character, or blanks, is needed")
    form = str(content.get("form", ""))
    if form and form not in FORMS:
        raise wrong(f"form: {form[:40]!r} is not known{did_you_mean(form, FORMS)}")
    if content.get("clock", "dates") not in ("dates", "seconds"):
        raise wrong(f"clock: {content['clock']!r} is neither dates nor seconds")
    return ColumnMap(
        path=path,
        name=str(content.get("name", Path(path).stem)),
        columns=columns,
        separator=separator,
        timezone=content.get("timezone"),
        clock=content.get("clock", "dates"),
        comment=str(content.get("comment", "")),
        names=tuple(map(str, content.get("names", ()))),
        units=units,
        memory_of=memory_of,
        states=states,
        form=form,
    )
