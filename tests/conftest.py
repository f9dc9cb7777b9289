"""Settings of all tests; the clusters and workloads that they share are in ``small.py``."""

import logging

import pytest
from hypothesis import settings

settings.register_profile("project", deadline=None, max_examples=50)
settings.load_profile("project")


@pytest.fixture(autouse=True)
def as_talkative_as_before():
    """Undo what a command line in a test says about the log."""
    loggers = logging.getLogger(), logging.getLogger("hdeeprm_like")
    levels = [logger.level for logger in loggers]
    yield
    for logger, level in zip(loggers, levels, strict=True):
        logger.setLevel(level)
