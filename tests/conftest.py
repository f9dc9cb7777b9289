"""Settings of all tests; the clusters and workloads that they share are in ``small.py``."""

import datetime
import json
import logging
import os
import re
import sys
import zlib

import pytest
from hypothesis import HealthCheck, settings

from hdeeprm_like.engine import fingerprints, library, plain

# Random worlds are new each day: they follow from the date, or from what HDEEPRM_LIKE_SEED says in its place.
WORLDS = os.environ.setdefault("HDEEPRM_LIKE_SEED", datetime.date.today().isoformat())  # the workers inherit it

settings.register_profile(
    "project", deadline=None, max_examples=50, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Draw the random worlds of hypothesis from the seed, unless its own option names another one."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(zlib.crc32(WORLDS.encode()))


def pytest_terminal_summary(terminalreporter):
    """Say how to draw the same worlds again if a test has failed."""
    if terminalreporter.stats.get("failed"):
        terminalreporter.write_line(f"HDEEPRM_LIKE_SEED={WORLDS!r} draws the same random worlds again")


def pytest_collection_modifyitems(items):
    """Mark the parameters that a test leaves to ``make test-more`` or ``make test-all``; skip what is for machine code.

    ``@pytest.mark.lane(more="a|b")`` takes regular expressions of whole sets of parameters, as pytest shows them.
    """
    for item in items:
        for lane in item.iter_markers("lane"):
            shown = getattr(item, "callspec", None)
            for name, pattern in lane.kwargs.items():
                if shown is not None and re.fullmatch(pattern, shown.id, re.DOTALL):
                    item.add_marker(name)
        if plain.ENABLED and item.get_closest_marker("compiled"):
            item.add_marker(pytest.mark.skip(reason="is about machine code or texts, or takes long without it"))


@pytest.fixture
def one_thread():
    """Let torch take one core: networks are small, other tests run beside, and a second core would mostly wait."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def quiet_as_at_the_beginning():
    """Undo what a command line in a test, or in what several tests share, says about the log."""
    for logger, level in ((logging.getLogger(), logging.WARNING), (logging.getLogger("hdeeprm_like"), logging.NOTSET)):
        logger.setLevel(level)


def pytest_sessionfinish(session):
    """Fail a run of tests in which something was compiled that the library should have, in any of its processes."""
    if plain.ENABLED or hasattr(session.config, "workerinput") or not library.tables().whole:
        return  # of several processes the first one looks; and an old library lacks what has changed
    compiled = list(compiled_beside_the_library())
    if compiled:
        sys.stdout.write("\n  ".join(["\nThe library lacks, so that these were compiled:", *compiled]) + "\n")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def compiled_beside_the_library():
    """Yield the kinds of calls of entries and callbacks of the package that were compiled at their first use."""
    kept = library.tables().kept
    for path in kept.glob("*.json"):
        if path.stat().st_mtime <= (kept / library.WHOLE).stat().st_mtime:
            continue  # of the library
        for kind in json.loads(path.read_text())["entries"]:
            name = kind.removeprefix(library.BY_ADDRESS).partition(" ")[0]
            function = fingerprints.found(name) if name.startswith(library.PACKAGE.name) else None
            if getattr(function, "is_entry", False) or getattr(function, "is_callback", False):
                yield kind
