"""What jobs send takes as long in the embedded simulator as in the real Batsim 4.2.1, by recorded conversations.

A larger set of recordings is no part of this repository, see ``batsim_server/test_server_suite.py``.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from network_recordings import NOTE, compare_recording, noted, read_recording

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "batsim4"
VARIABLE = "HDEEPRM_LIKE_BATSIM_SUITE"


@pytest.mark.parametrize("case", ["fcfs_net", "firstfit_net"])
def test_recorded_jobs_start_and_end_at_the_same_microsecond(case, tmp_path):
    for path in [*(GOLDEN / case).iterdir(), *GOLDEN.glob("*.xml")]:
        shutil.copy(path, tmp_path)
    recording = read_recording(tmp_path, (tmp_path / "out_jobs.csv").read_text())
    assert compare_recording(recording) == (3, [])


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} does not name the folder of the recordings")
def test_every_recorded_job_that_sends_ends_as_noted():
    assert noted(Path(os.environ[VARIABLE])) == json.loads(NOTE.read_text())


def test_the_documentation_says_what_is_noted():
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "notebook" / "networks.md").read_text())
    note = json.loads(NOTE.read_text())
    assert note["different"] == []
    assert f"{note['jobs']} jobs of {note['equal']} recordings" in page
    assert f"in {note['left_out']} further recordings" in page
    assert f"| {note['equal'] + note['left_out']} conversations that the real Batsim 4.2.1 had" in page
