"""What Batsim's clock does at once is what its actors do in turns."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def different(first, end):
    """The random worlds, of some numbers, in which turns alone change any bit; found in plain Python."""
    environment = {
        **os.environ,
        "HDEEPRM_LIKE_PYTHON": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("turns.py")), str(first), str(end)]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, env=environment).stdout.strip()


@pytest.mark.compiled
def test_what_is_done_at_once_ends_in_the_same_state_as_turns_to_the_last_bit():
    assert different(0, 6) == "[]"


@pytest.mark.more
def test_the_same_in_more_worlds():
    assert different(6, 400) == "[]"
