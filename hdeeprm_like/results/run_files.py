"""Where the files of a run are: under Batsim 4's names, packed, or under those that Batsim 5 gives them.

| what | names |
|---|---|
| ``out_jobs.csv`` | or ``jobs.csv``, in the folder or in its ``out/``, which is Batsim 5's default prefix |
| ``out_schedule.csv`` | or ``out_schedule.json``, ``schedule.json``, ``out/schedule.json`` |
"""

from collections.abc import Iterator
from pathlib import Path

PREFIX = "out_"  # of the files that Batsim 4 writes
SCHEDULE = "out_schedule.csv"


def as_left(path: Path) -> Path:
    """Return the file of that name or of another name for it, *path* itself if there is none."""
    return next((other for other in _names(path) if other.exists()), path)


def _names(path: Path) -> Iterator[Path]:
    for name in _spelled(path.name):
        yield path.with_name(name)
        yield path.with_name(f"{name}.gz")
    if path.name.startswith(PREFIX):
        for name in _spelled(path.name.removeprefix(PREFIX)):
            yield path.with_name(name)
            yield path.parent / "out" / name


def _spelled(name: str) -> Iterator[str]:
    yield name
    if name.endswith("schedule.csv"):
        yield name.replace(".csv", ".json")
