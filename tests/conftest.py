"""Settings of all tests; the clusters and workloads that they share are in ``small.py``."""

import logging
import re

import pytest
from hypothesis import HealthCheck, settings

# `make test` draws the same worlds in each run, so that it fails for a change alone; `make test-all` draws new ones.
settings.register_profile(
    "drawn", deadline=None, max_examples=50, derandomize=False, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("project", settings.get_profile("drawn"), derandomize=True, database=None)
settings.load_profile("project")


def pytest_collection_modifyitems(items):
    """Mark the parameters that a test leaves to ``make test-more`` or ``make test-all``.

    ``@pytest.mark.lane(more="a|b")`` takes regular expressions of whole sets of parameters, as pytest shows them.
    """
    for item in items:
        for lane in item.iter_markers("lane"):
            shown = getattr(item, "callspec", None)
            for name, pattern in lane.kwargs.items():
                if shown is not None and re.fullmatch(pattern, shown.id, re.DOTALL):
                    item.add_marker(name)


@pytest.fixture(autouse=True)
def quiet_as_at_the_beginning():
    """Undo what a command line in a test, or in what several tests share, says about the log."""
    for logger, level in ((logging.getLogger(), logging.WARNING), (logging.getLogger("hdeeprm_like"), logging.NOTSET)):
        logger.setLevel(level)
