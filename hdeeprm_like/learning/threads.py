"""How many threads torch computes with: more than one is slower for the small networks of this field."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from hdeeprm_like.learning.agents import LearningAgent

LARGE = (
    1_000_000  # weights from which on threads may pay; with 64 units two of them take four times the CPU time of one
)
VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")  # by which users choose

log = logging.getLogger(__name__)


@contextmanager
def one_thread() -> Iterator[None]:
    """Make torch compute with one thread within the block."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@contextmanager
def threads_for(agent: LearningAgent) -> Iterator[None]:
    """Make torch compute with one thread within the block if the network is small and the user has set no number."""
    weights = sum(part.numel() for part in agent.parameters())
    if weights >= LARGE or any(name in os.environ for name in VARIABLES):
        yield
        return
    log.info("torch computes with one thread, since the network has %d weights; OMP_NUM_THREADS changes that", weights)
    with one_thread():
        yield
