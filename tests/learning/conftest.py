"""What all tests of learning share."""

import pytest


@pytest.fixture(autouse=True)
def on_one_thread(one_thread):
    """Torch on one thread."""
