"""The cells of a log: states, durations and amounts of memory."""

import pytest

from hdeeprm_like.importers.fields import STATE_NUMBER, duration, memory, state, time_limit


@pytest.mark.parametrize(
    ("read", "text", "seconds"),
    [
        *((duration, "02:03:04", 7384.0), (duration, "1-02:03:04", 93784.0), (duration, "1-02:03", 93780.0)),
        *((duration, "1-02", 93600.0), (duration, "03:04.5", 184.5), (duration, "12", 12.0)),
        *((time_limit, "12", 720.0), (time_limit, "1-02", 93600.0)),  # a bare number is minutes in a limit
    ],
)
def test_a_duration_counts_its_days_hours_minutes_and_seconds(read, text, seconds):
    assert read(text) == seconds


@pytest.mark.parametrize(
    ("text", "megabytes", "of"),
    [
        ("2147487648Mn", 4000, "c"),  # 2^31 + 4000: the flag of memory for each CPU, printed as a number
        ("2147487648Mc", 4000, "c"),
        ("2147487648", 4000, "c"),
        ("2097156Gn", 4096, "c"),  # 2^31 + 4096
        ("9223372036854779808", 4000, "c"),  # 2^63 + 4000: the flag of newer versions, in a column of the database
        ("2147483648Mn", -1 / 1024, "c"),  # nothing but the flag
        ("0n", -1 / 1024, "n"),  # none is unknown
        ("4Gn", 4 * 1024, "n"),
        ("4294967295", -1 / 1024, ""),  # infinite
        ("18446744073709551614", -1 / 1024, ""),  # not set
        ("512000Mn", 512000, "n"),  # half a TB for each node is a request
        ("4.80P", 4.8 * 1024**3, ""),  # and so is this for all of a large machine
    ],
)
def test_slurms_flag_of_memory_for_each_cpu_is_no_amount(text, megabytes, of):
    found = memory(text)
    assert found.amount == pytest.approx(megabytes * 1024.0)
    assert found.of == of


def test_a_state_that_is_cut_is_read_only_where_one_state_begins_so():
    assert state("OUT_OF_ME+") == STATE_NUMBER["OUT_OF_MEMORY"]
    with pytest.raises(ValueError, match="REQUEUE_"):
        state("REQUEUE_")
    with pytest.raises(ValueError, match="COM"):
        state("COM+")
