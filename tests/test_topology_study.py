"""The table of docs/notebook/networks.md is what the script prints, and its two claims hold on one of the workloads."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
sys.path.append(str(DOCS))

import topology_study  # noqa: E402


def test_compact_placement_lengthens_jobs_less(monkeypatch):
    monkeypatch.setattr(topology_study, "JOBS", 60)
    monkeypatch.setattr(topology_study, "SEEDS", 1)
    for topology in topology_study.TOPOLOGIES.values():
        compact, spread = (topology_study.figures(topology, name)[:, 0].mean() for name in ("compact", "spread"))
        assert 1.0 <= compact < spread


@pytest.mark.more  # simulates 48,000 jobs that send
def test_the_page_shows_what_the_script_prints():
    assert topology_study.table() in (DOCS / "notebook" / "networks.md").read_text()
