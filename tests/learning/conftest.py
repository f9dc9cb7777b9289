"""What all tests of learning share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Torch on one thread: networks are small, and other tests run beside."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch, request):
    """Commands name files as from its top."""
    monkeypatch.chdir(request.config.rootpath)
