"""Which Python code a command runs that is named in files: options files, learned policies and records of trainings.

A file that another person wrote can name code, as an agent, a part of the decision space or a predictor. What lies in
the folder that the user names came with it and is run; other files of this computer and installed modules are not,
whatever a file in that folder says, unless ``--trust`` is given. A training goes on without it with the files that the
same user named when it began: `note_named` keeps a digest of each outside of the training, so that they are run as long
as they are unchanged.
"""

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hdeeprm_like.decision.agent_names import FROM_A_FILE
from hdeeprm_like.decision.policy_words import AGENT
from hdeeprm_like.engine.sources import kept_in
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.shipped import examples_folder
from hdeeprm_like.inputs import read_json, read_object, sha256
from hdeeprm_like.plugins import Place, python_files, real

LEARNED = "learned:"
NAMED = "named"  # folder of notes, in that for what is kept for a user
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
    given = [getattr(options, name, None) or "" for name in POLICIES]
    lists = [",".join(one) if isinstance(one, list) else str(one) for one in given]  # of benchmark a list
    policies = [one.strip() for several in lists for one in several.split(",")]
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
        yield from (path for path in _files_of_training(options.resume / "run.json") if _note_of(path).exists())


def note_named(options: argparse.Namespace) -> None:
    """Note the Python files that the beginning of a training has named, so that it can go on without ``--trust``."""
    content = read_json(options.options, OptionsError)
    for path in python_files(options.agent or "") + python_files(content, options.options.parent):
        if path.is_file():
            with suppress(OSError):  # such a training needs --trust
                _note_of(path).parent.mkdir(parents=True, exist_ok=True)
                _note_of(path).touch()


def _files_of_training(record: Path) -> list[Path]:
    """Return the Python files that the record of a training names; none if it is no record."""
    try:
        run = read_object(record, ResultsError)
    except ResultsError:
        return []
    begun = run.get("resumable")
    if not isinstance(begun, dict):
        return []
    folder = Path(str(begun.get("options"))).parent
    files = python_files(str(begun.get("agent"))) + python_files(run.get("options"), folder)
    return [path for path in files if path.is_file()]


def _note_of(path: Path) -> Path:
    """Return the place of the note that this user has named a file as it is now."""
    import hashlib  # loads OpenSSL

    digest = hashlib.sha256(f"{real(path)} {sha256(path)}".encode(errors="surrogateescape")).hexdigest()
    return kept_in() / NAMED / digest


def _unless_root(folder: Path) -> Iterator[Path]:
    """Yield a folder, but not that of the whole computer."""
    if real(folder) != Path(real(folder).anchor):
        yield folder
