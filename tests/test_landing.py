"""The first page of the site: what plays there is small and needs nothing else, and its figures are computed."""

import re
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

from make_landing import POLICIES, RECOMMENDED, REFERENCE, compared, gain, player, write_landing  # noqa: E402


def test_the_player_is_small_and_needs_nothing_else():
    shown = player()
    assert len(shown.encode()) < 300_000
    assert not re.search(r'(src|href)="|https?://|@import|import\(', shown)
    for title in POLICIES.values():
        assert f"<strong>{title}</strong>" in shown


def test_the_sentence_tells_ratio_interval_and_longest_wait_of_the_comparison():
    names = ["bounded_slowdown_ratio", "bounded_slowdown_ratio_low", "bounded_slowdown_ratio_high", "wait_max"]
    table = pd.DataFrame([[1.0, 1.0, 1.0, 200.0], [0.514, 0.4, 0.666, 300.0]], [REFERENCE, RECOMMENDED], names)
    sentence = gain(table)
    assert "**0.51 (0.40 to 0.67) of EASY's bounded slowdown**" in sentence
    assert "1.50 of its longest wait" in sentence


def test_the_sentence_is_of_the_comparison_and_written_once(tmp_path):
    write_landing(tmp_path)
    first = (tmp_path / "gain.md").read_text()
    assert first == gain(compared())
    before = (tmp_path / "player.html").stat().st_mtime_ns
    write_landing(tmp_path)
    assert (tmp_path / "player.html").stat().st_mtime_ns == before
