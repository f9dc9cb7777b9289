"""Which Python code a command runs that is named in files: options files and records of trainings.

A file that another person wrote can name code, as an agent, a part of the decision space or a predictor. What lies in
the folder that the user names came with it and is run; other files of this computer and installed modules are not,
whatever a file in that folder says, unless ``--trust`` is given.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.plugins import Place, python_files

AGENT = "agent:"


def trusted_by(options: argparse.Namespace) -> tuple[Place, ...]:
    """Return the folders, files and modules whose code a command may run; none for no bounds."""
    if getattr(options, "trust", True):  # commands without the flag read no file that names code
        return ()
    return (our_agents(), *_named(options))


def our_agents() -> Path:
    """Return the folder of the agents that come with the package."""
    return examples_folder() / "agents"


def _named(options: argparse.Namespace) -> Iterator[Place]:
    """Yield what the command line names; what stands in the files there names nothing."""
    agent = getattr(options, "agent", None) or ""
    policies = (getattr(options, "policies", None) or "").split(",")
    yield from python_files([agent, *policies])
    if agent and not list(python_files(agent)):
        yield agent.partition(":")[0]
    for policy in policies:
        place = policy.partition("learned:")[2].partition(".py")[0]
        if place:
            yield Path(place + ".py")
        if policy.strip().startswith(AGENT):
            yield from _unless_root(Path(policy.strip().removeprefix(AGENT)))
    for named in ("options", "sweep_file"):
        if getattr(options, named, None) is not None:
            yield from _unless_root(getattr(options, named).absolute().parent)  # of a link, not of what it leads to
    if getattr(options, "resume", None) is not None:
        yield from _unless_root(options.resume)


def _unless_root(folder: Path) -> Iterator[Path]:
    """Yield a folder, but not that of the whole computer."""
    if folder.resolve() != Path(folder.resolve().anchor):
        yield folder
