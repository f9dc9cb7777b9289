"""Machines whose speed follows a file, on clusters whose answers fit on paper."""

import pytest
from server_inputs import HEAD, Filler, rows, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.simgrid_profiles import read_speed_profile

PLATFORM = (
    f'{HEAD}<zone id="z" routing="Full"><host id="master_host" speed="1Gf"/>'
    '<host id="h0" speed="1Gf" speed_file="speed.txt"/><host id="h1" speed="1Gf"/></zone></platform>'
)
PROFILES = {"work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}, "sleep4": {"type": "delay", "delay": 4}}


@pytest.mark.parametrize(
    ("lines", "profile", "end"),
    [
        ("1 0.5", "work4", 7.0),  # 1 + 6 * 0.5
        ("0 0.5", "work4", 8.0),
        ("1 0.1\n5 1", "work4", 7.6),  # 1 + 4 * 0.1 + 2.6
        ("1 0.5\n2 1\nLOOPAFTER 1", "work4", 5.0),  # 1, 1 * 0.5, 2 (until 4), 1 * 0.5
        ("1 0.5\n2 1\nPERIODICITY 3", "work4", 5.0),
        ("# nights\n\n1 0.5  # slower", "work4", 7.0),
        ("1 0.5", "sleep4", 4.0),
    ],
)
@pytest.mark.parametrize("machines", [1, 2])
def test_a_job_follows_the_speed_of_its_machine(lines, profile, end, machines, tmp_path):
    (tmp_path / "speed.txt").write_text(lines)
    options = write_inputs(tmp_path, workload([(0, machines, profile, None)], PROFILES), PLATFORM)
    assert play(options, Filler().ask)
    (row,) = rows(tmp_path)
    assert float(row["finish_time"]) == pytest.approx(end, abs=1e-6)


def test_a_simulation_ends_although_a_speed_goes_on_changing(tmp_path):
    (tmp_path / "speed.txt").write_text("1 0.5\nLOOPAFTER 1\n")
    assert play(write_inputs(tmp_path, workload([], PROFILES), PLATFORM), Filler().ask)


def test_nothing_more_happens_where_the_only_machine_at_work_stops_as_in_simgrid(tmp_path):
    (tmp_path / "speed.txt").write_text("1 0\n5 1\n")
    assert not play(write_inputs(tmp_path, workload([(0, 1, "work4", None)], PROFILES), PLATFORM), Filler().ask)


@pytest.mark.parametrize(
    ("lines", "why"),  # tests/formats/test_speed_files.py has those that a platform's file meets
    [
        ("1", "speed.txt:1: '1' is not a date and a share"),
        ("x 1", "date in s"),
        ("1 0.5\nLOOPAFTER 0", "number of s above 0"),
        ("2 0.5\nPERIODICITY 2", "ends before the last change"),
    ],
)
def test_a_file_without_speeds_is_refused_in_a_line(lines, why, tmp_path):
    path = tmp_path / "speed.txt"
    path.write_text(lines)
    with pytest.raises(PlatformError, match=r"speed\.txt") as caught:
        read_speed_profile(path)
    assert why in str(caught.value)
    assert "\n" not in str(caught.value)
