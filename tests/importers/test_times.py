"""What a clock on a wall shows and what time it is, also in the hours that spring leaves out and autumn repeats."""

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from logs import imported, log, misread

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.importers.times import WallClock, left_out, repeated

ZONES = ("Europe/Madrid", "America/Denver", "Asia/Tokyo", "Australia/Lord_Howe", "UTC")


def clock(zone=None, form=None):
    return WallClock(zone, form, Account("log", form="test"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-01-10T10:00:00", 1704880800),
        ("2024-01-10 10:00:00", 1704880800),
        ("1704880800", 1704880800),
        ("2024-01-10T10:00:00Z", 1704880800),
        ("2024-01-10T11:00:00+01:00", 1704880800),
        ("2024-01-10T11:00:00+0100", 1704880800),
        ("2024-01-10 10:00:00.250000", 1704880800.25),
    ],
)
def test_forms_of_a_time(text, seconds):
    assert clock().read([text], "Submit").first.tolist() == [seconds]


@pytest.mark.parametrize(
    ("text", "misread_times"),
    [
        *((text, 0) for text in ("Unknown", "None", "", "N/A", "0")),
        *((f"1970-01-01T{time}", 0) for time in ("00:00:00", "12:00:00")),  # the first day of 1970 stands for no time
        ("2024-13-10T10:00:00", 1),
        *((f"2024-01-10T{time}", 1) for time in ("10:00:0Z", "10:00:-1", "10+1:00:0")),  # only look like times
    ],
)
def test_times_that_are_not_known_or_none_are_told_apart_and_the_others_are_read(text, misread_times):
    times = clock()
    found = times.read([text, "2024-01-10T10:00:00"], "Start").first
    assert misread(times.report) == ({"Start": misread_times} if misread_times else {})
    assert np.isnan(found[0])
    assert found[1] == 1704880800


def test_a_form_of_the_sites_own():
    assert clock(form="%d/%m/%y-%H:%M").read(["10/01/24-10:00"], "Submit").first.tolist() == [1704880800]


@given(st.integers(10**9, 2 * 10**9), st.sampled_from(ZONES))
def test_every_local_time_is_read_as_python_reads_it(seconds, zone):
    local = datetime.fromtimestamp(seconds, ZoneInfo(zone)).replace(tzinfo=None)
    moments = clock(zone).read([local.isoformat()], "Submit")
    for fold, found in enumerate(moments):
        assert found.tolist() == [local.replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()]
    assert seconds in (moments.first[0], moments.second[0])


@pytest.mark.parametrize(
    ("text", "both"),
    [  # the first and the last second of what is left out and repeated, and those around them
        ("2024-03-31T01:59:59", ("01:59:59+01:00", "01:59:59+01:00")),
        ("2024-03-31T02:00:00", ("02:00:00+01:00", "02:00:00+02:00")),
        ("2024-03-31T02:59:59", ("02:59:59+01:00", "02:59:59+02:00")),
        ("2024-03-31T03:00:00", ("03:00:00+02:00", "03:00:00+02:00")),
        ("2024-10-27T01:59:59", ("01:59:59+02:00", "01:59:59+02:00")),
        ("2024-10-27T02:00:00", ("02:00:00+02:00", "02:00:00+01:00")),
        ("2024-10-27T02:59:59", ("02:59:59+02:00", "02:59:59+01:00")),
        ("2024-10-27T03:00:00", ("03:00:00+01:00", "03:00:00+01:00")),
    ],
)
def test_an_hour_that_changes_begins_and_ends_on_the_second(text, both):
    found = clock("Europe/Madrid").read([text], "Start")
    assert [*found.first, *found.second] == [datetime.fromisoformat(f"{text[:11]}{one}").timestamp() for one in both]


def test_the_hours_that_are_left_out_and_repeated_are_seen():
    times = clock("Europe/Madrid").read(["2024-03-31T02:30:00", "2024-10-27T02:30:00", "2024-07-01T02:30:00"], "Start")
    assert (left_out(times).tolist(), repeated(times).tolist()) == ([0], [1])
    assert times.second[1] - times.first[1] == 3600


def test_a_wrong_time_zone_is_told_in_one_line():
    with pytest.raises(OptionsError, match="'Europe/Nowhere' is no time zone"):
        clock("Europe/Nowhere")


@pytest.mark.parametrize(
    ("submit", "start", "end", "elapsed", "wait"),
    [
        ("01:50:00", "02:10:00", "02:20:00", "00:10:00", 1200),  # which hour is open: the first
        ("01:50:00", "02:10:00", "02:20:00", "01:10:00", 1200),  # from the first to the second
        ("02:50:00", "02:10:00", "03:10:00", "01:00:00", 1200),  # it starts in the second, for it ends an hour later
        ("02:50:00", "02:10:00", "02:20:00", "00:10:00", 1200),  # it cannot start before it came
    ],
)
def test_in_the_hour_that_is_repeated_order_and_run_time_decide(tmp_path, submit, start, end, elapsed, wait):
    day = "2024-10-27T"
    row = {"Submit": day + submit, "Eligible": day + submit, "Start": day + start, "End": day + end, "Elapsed": elapsed}
    trace, _, report = imported(log(tmp_path, row), zone="Europe/Madrid")
    assert trace.wait.tolist() == [wait]
    assert "in an hour that autumn repeats" in report.text()


def test_run_times_over_the_change_of_the_clock_are_right_without_an_elapsed_time(tmp_path):
    row = {"Submit": "2024-03-31T01:00:00", "Eligible": "2024-03-31T01:00:00", "Start": "2024-03-31T01:30:00"}
    row |= {"End": "2024-03-31T03:30:00", "Elapsed": ""}
    assert imported(log(tmp_path, row), zone="Europe/Madrid")[0].run.tolist() == [3600]
    assert imported(log(tmp_path, row), zone=None)[0].run.tolist() == [7200]


def test_times_that_no_clock_showed_are_told(tmp_path):
    row = {"Submit": "2024-03-31T02:30:00", "Eligible": "2024-03-31T02:30:00", "Start": "2024-03-31T04:00:00"}
    row |= {"End": "2024-03-31T05:00:00", "Elapsed": "01:00:00"}
    _, _, report = imported(log(tmp_path, row), zone="Europe/Madrid")
    assert "2 times are in an hour that spring leaves out" in report.text()
