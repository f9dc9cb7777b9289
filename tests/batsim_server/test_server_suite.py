"""Our server on a larger set of recordings of the real Batsim, and what the documentation says of it.

The recordings hold Batsim's own platforms and workloads, so they are no part of this repository. Whoever has them says
where: ``HDEEPRM_LIKE_BATSIM_SUITE=FOLDER pytest tests/batsim_server/test_server_suite.py``.
"""

import json
import os
import re
from pathlib import Path

import pytest
from batsim_replay import COMPLETE, NOTE, replay_suite, summary

from hdeeprm_like.batsim_server import cli

ROOT = Path(__file__).parent.parent.parent
VARIABLE = "HDEEPRM_LIKE_BATSIM_SUITE"
NOTED = json.loads(NOTE.read_text())


@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} does not name the folder of the recordings")
@pytest.mark.parametrize("fewest", [cli.FEWEST_JOBS, 0])  # jobs of sessions that machine code plays, where it can
def test_every_recording_is_answered_as_noted(fewest, monkeypatch):
    monkeypatch.setattr(cli, "FEWEST_JOBS", fewest)
    verdicts = list(replay_suite(Path(os.environ[VARIABLE])))
    assert [verdict for _, verdict in verdicts if verdict.startswith("different")] == []
    assert summary(verdicts) in ({key: NOTED[key] for key in summary(verdicts)}, NOTED[COMPLETE])


def test_the_documentation_says_what_is_noted():
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "notebook" / "batsim.md").read_text())
    here = len([path for path in (ROOT / "tests" / "golden" / "batsim4").iterdir() if path.is_dir()])
    assert NOTED["different"] == []
    assert f"| {here} conversations in `tests/golden/`" in page
    assert f"| {NOTED['cases']} more" in page
    assert f"| {NOTED['equal']} are equal to the microsecond, none differs; " in page
    assert f"none differs; {len(NOTED['refused'])} are refused, because" in page
    complete = NOTED[COMPLETE]
    assert f"all {complete['equal']} are equal" in page
    assert complete["equal"] == complete["cases"]
    assert complete["different"] == complete["refused"] == []


def test_the_documentation_says_how_many_mpi_traces_agree():
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "notebook" / "batsim.md").read_text())
    cases = json.loads((ROOT / "tests" / "golden" / "mpi" / "cases.json").read_text())
    refused = sum(case["ends"] is None for case in cases)
    ranks = [len(case["traces"]) for case in cases]
    assert f"| {len(cases)} MPI traces (`smpi`) of {min(ranks)} to {max(ranks)} ranks" in page
    assert f"| {len(cases) - refused} end at the same dates for every rank; {refused} are refused" in page
