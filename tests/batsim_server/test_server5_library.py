"""Batsim 5's schedulers as C libraries: the same jobs as behind a socket, and one line where something is wrong."""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from server5_inputs import profiles5
from server_inputs import platform_xml, workload

from hdeeprm_like.batsim_server.batsim5 import cli

SOURCE = Path(__file__).with_name("one_by_one.c")
PROFILES = {"sleep5": {"type": "delay", "delay": 5}, "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0}}
JOBS = [(0, 2, "sleep5", None), (0, 4, "work4", None), (1, 1, "sleep5", None), (30, 1, "work4", 2)]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return what compiles C into a library; the name of each is its text's place in the folder."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no compiler of C here")
    folder = tmp_path_factory.mktemp("libraries")

    def library(name, source):
        path = folder / f"lib{name}.so"
        if not path.exists():
            text = folder / f"{name}.c"
            text.write_text(source)
            subprocess.run([compiler, "-shared", "-fPIC", "-o", path, text], check=True)
        return str(path)

    return library


@pytest.fixture
def one_by_one(compiled):
    return compiled("one_by_one", SOURCE.read_text())


@pytest.fixture
def words(tmp_path):
    (tmp_path / "p.xml").write_text(platform_xml(4))
    (tmp_path / "w.json").write_text(json.dumps(workload(JOBS, profiles5(PROFILES))))
    return ["-p", str(tmp_path / "p.xml"), "-w", str(tmp_path / "w.json"), "-e", f"{tmp_path}/out/", "-q"]


def test_a_library_runs_jobs_one_after_the_other_and_a_second_time_the_same(words, one_by_one, tmp_path):
    for how in (["-l", one_by_one, ""], ["-L", one_by_one, str(tmp_path / "init")]):
        (tmp_path / "init").write_text("a text of its own")
        assert cli.main([*words, *how]) == 0
        found = list(csv.DictReader((tmp_path / "out" / "jobs.csv").read_text().splitlines()))
        assert [row["job_id"] for row in found] == ["0", "1", "2", "3"]
        assert [float(row["starting_time"]) for row in found] == pytest.approx([0.0, 5.0, 9.0, 30.0], abs=0.01)
        ends = [5.0, 9.0, 14.0, 32.0]  # the last one reaches its walltime
        assert [float(row["finish_time"]) for row in found] == pytest.approx(ends, abs=0.01)
        assert found[-1]["final_state"] == "COMPLETED_WALLTIME_REACHED"


@pytest.mark.parametrize(
    ("init", "line"), [("fail", "batsim_edc_init has failed with 3"), ("binary", "request JSON (flags 2)")]
)
def test_a_library_that_fails_or_wants_another_format_is_one_line(init, line, words, one_by_one, capsys):
    assert cli.main([*words, "-l", one_by_one, init]) == 1
    errors = capsys.readouterr().err
    assert line in errors
    assert errors.count("\n") == 1


def test_a_decision_that_fails_ends_the_simulation_and_marks_its_files(words, compiled, tmp_path, capsys):
    source = SOURCE.read_text().replace("strlen(text) + 1 != size", "now > 1.0")
    assert cli.main([*words, "-l", compiled("failing", source), ""]) == 1
    assert "batsim_edc_take_decisions has failed with 4" in capsys.readouterr().err
    assert list((tmp_path / "out").glob("*INCOMPLETE"))


def test_what_is_no_library_or_no_scheduler_is_one_line(words, compiled, tmp_path, capsys):
    (tmp_path / "text.so").write_text("no library")
    missing = compiled("missing", "int batsim_edc_init(void) { return 0; }\n")
    for path, line in (
        (tmp_path / "none.so", "cannot be loaded as a library"),
        (tmp_path / "text.so", "cannot be loaded as a library"),
        (missing, "has no function batsim_edc_take_decisions"),
    ):
        assert cli.main([*words, "-l", str(path), ""]) == 2
        errors = capsys.readouterr().err
        assert line in errors
        assert errors.count("\n") == 1


TWO = ["-l", "a.so", "", "-s", "tcp://127.0.0.1:1", ""]


@pytest.mark.parametrize("more", [[], TWO, ["-l", "a.so", "", "-l", "b.so", ""], ["-l", "a.so"]])
def test_one_scheduler_is_needed(more, words, capsys):
    assert cli.main([*words, *more]) == 2
    assert capsys.readouterr().err.count("\n") == 1
