"""Which Python code a command runs that is named in files: options files, learned policies and records of trainings.

A file that another person wrote can name code, as an agent, a part of the decision space or a predictor. What lies in
the folder that the user names came with it and is run; other files of this computer and installed modules are not,
whatever a file in that folder says, unless ``--trust`` is given.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.launch.agent_names import AGENT, FROM_A_FILE
from hdeeprm_like.plugins import Place, python_files, real

LEARNED = "learned:"
POLICIES = ("policy", "policies", "now", "predictors")  # options that hold names of policies, or of predictors


def trusted_by(options: argparse.Namespace) -> tuple[Place, ...]:
    """Return the folders, files and modules whose code a command may run; none for no bounds."""
    if getattr(options, "trust", False):
        return ()
    return (our_agents(), *_named(options))


def our_agents() -> Path:
    """Return the folder of the agents that come with the package."""
    return examples_folder() / "agents"


def _named(options: argparse.Namespace) -> Iterator[Place]:
    """Yield what the command line names; what stands in the files there names nothing."""
    agent = getattr(options, "agent", None) or ""
    policies = [one.strip() for name in POLICIES for one in str(getattr(options, name, None) or "").split(",")]
    bare = [policy.removeprefix(AGENT) for policy in policies]
    yield from python_files([agent, *bare, *(getattr(options, "log_to", None) or "").split(",")])
    if agent and not list(python_files(agent)):
        yield agent.partition(":")[0]
    if getattr(options, "part", None) is not None:  # of the command check
        yield from python_files(options.name)
        yield from _unless_root(Path(options.name.removeprefix(AGENT)))
    for policy in policies:
        for rest in policy.split(LEARNED)[1:]:
            if ".py" in rest:
                yield Path(rest.partition(".py")[0] + ".py")
        if policy.startswith(AGENT):
            of_file = FROM_A_FILE.fullmatch(policy.removeprefix(AGENT))
            place = Path(policy.removeprefix(AGENT)) if of_file is None else Path(of_file["options"] or of_file["file"])
            yield from _unless_root(place if of_file is None else place.absolute().parent)
    for named in ("options", "sweep_file"):
        if getattr(options, named, None) is not None:
            yield from _unless_root(getattr(options, named).absolute().parent)  # of a link, not of what it leads to
    if isinstance(getattr(options, "resume", None), Path):  # of reproduce it is a flag: what it resumes is not named
        yield from _unless_root(options.resume)


def _unless_root(folder: Path) -> Iterator[Path]:
    """Yield a folder, but not that of the whole computer."""
    if real(folder) != Path(real(folder).anchor):
        yield folder
