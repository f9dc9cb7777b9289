"""Which Python files a command runs that are named in files: options files and records of trainings.

A file that somebody else wrote can name code, as an agent, a part of the decision space or a predictor. What lies
beside it came with it and is run; what lies elsewhere on this computer is not, unless ``--trust`` says so.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.errors import HDeepRMError, ResultsError
from hdeeprm_like.inputs import read_json
from hdeeprm_like.plugins import python_files

AGENT = "agent:"


def trusted_by(options: argparse.Namespace) -> tuple[Path, ...]:
    """Return the folders and files whose Python code a command may run; none for no bounds."""
    if getattr(options, "trust", True):  # commands without the flag read no file that names code
        return ()
    return tuple(_trusted(options))


def _trusted(options: argparse.Namespace) -> Iterator[Path]:
    yield Path(__file__).parents[1] / "examples"  # our own
    typed = [getattr(options, "agent", None) or "", *(getattr(options, "policies", None) or "").split(",")]
    yield from python_files(typed)
    for policy in typed:
        place = policy.partition("learned:")[2].partition(".py")[0]
        if place:
            yield Path(place + ".py")
    for named in ("options", "sweep_file"):
        if getattr(options, named, None) is not None:
            yield getattr(options, named).resolve().parent
    folders = [Path(policy.strip().removeprefix(AGENT)) for policy in typed if policy.strip().startswith(AGENT)]
    if getattr(options, "resume", None) is not None:
        folders.append(options.resume)
    for folder in folders:
        yield folder
        yield from _folder_of_options(folder / "run.json")


def _folder_of_options(record: Path) -> Iterator[Path]:
    """Yield the folder of the options file that a training was begun with; what is wrong is said where it is read."""
    try:
        content = read_json(record, ResultsError)
    except (HDeepRMError, OSError):
        return
    before = content.get("resumable") if isinstance(content, dict) else None
    place = before.get("options") if isinstance(before, dict) else None
    if isinstance(place, str) and place.isprintable():
        yield Path(place).parent
