"""Agents on two kinds of cores against the best of the 36 pairs in hindsight: prints the lines of R18, fails nothing.

SEEDS says how many agents are trained, about a CPU minute each; FOUND names a folder that keeps what is finished.
"""

import json
import os
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main

pytestmark = pytest.mark.bench


def test_agents_against_the_best_pair(tmp_path):
    found = Path(os.environ.get("FOUND", str(tmp_path)))
    line = ["reproduce", "R18", "--seeds", os.environ.get("SEEDS", "5"), "--output", str(found)]
    assert main([*line, "--resume"] if (found / "results.json").exists() else line) == 0
    (result,) = (one for one in json.loads((found / "results.json").read_text())["results"] if one["id"] == "R18")
    for row in result["numbers"]:
        print(f"{row['what']}: {row['ours']}")
    for row in result["tables"][0]["rows"]:
        print("  ".join(map(str, row)))
