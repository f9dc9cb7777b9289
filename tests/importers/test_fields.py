"""The cells of a log: states, durations and amounts of memory."""

import pytest

from hdeeprm_like.importers.fields import STATE_NUMBER, duration, memory, state, time_limit


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("02:03:04", 7384.0),
        ("1-02:03:04", 93784.0),
        ("1-02:03", 93780.0),
        ("1-02", 93600.0),
        ("03:04.5", 184.5),
        ("12", 12.0),
    ],
)
def test_a_duration_counts_its_days_hours_minutes_and_seconds(text, seconds):
    assert duration(text) == seconds


def test_a_bare_number_is_minutes_in_a_limit():
    assert time_limit("12") == 720.0
    assert time_limit("1-02") == 93600.0


def test_memory_of_zero_is_unknown():
    assert memory("0n") == (-1.0, "n")
    assert memory("4Gn") == (4.0 * 1024.0**2, "n")


def test_a_state_that_is_cut_is_read_only_where_one_state_begins_so():
    assert state("OUT_OF_ME+") == STATE_NUMBER["OUT_OF_MEMORY"]
    with pytest.raises(ValueError, match="REQUEUE_"):
        state("REQUEUE_")
    with pytest.raises(ValueError, match="COM"):
        state("COM+")
