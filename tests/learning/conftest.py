"""What all tests of learning share."""

import pytest


@pytest.fixture(autouse=True)
def on_one_thread(one_thread):
    """Torch on one thread."""


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch, request):
    """Commands name files as from its top."""
    monkeypatch.chdir(request.config.rootpath)
