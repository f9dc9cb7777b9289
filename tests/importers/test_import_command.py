"""``import`` from the command line: what it writes is simulated, and what it cannot read is told in one line."""

import csv
import json
import shlex

import numpy as np
import pytest
from logs import EAGLE, RECORDED, log

import hdeeprm_like as hl
from hdeeprm_like.cli.main import main
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.importers.sacct import COMMAND, FORMAT

LOG = str(RECORDED / "sacct.txt")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The recorded machine and its jobs in both forms."""
    folder = tmp_path_factory.mktemp("imported")
    assert main(["import", "slurm-conf", str(RECORDED / "slurm.conf"), "-q", "-o", str(folder / "platform.json")]) == 0
    for name in ("jobs.swf", "jobs.csv"):
        platform = ["--platform", str(folder / "platform.json")]
        assert main(["import", "sacct", LOG, "-q", "-o", str(folder / name), *platform]) == 0
    return folder


@pytest.mark.parametrize("name", ["jobs.swf", "jobs.csv"])
def test_imported_jobs_run_on_the_imported_machine(files, name):
    """All 104 arrive when the log says so, none before, and each runs as long as it did."""
    schedule = hl.simulate(files / "platform.json", files / name, "sjf+easy", clock="textbook")
    trace = read_swf(files / "jobs.swf")
    frame = schedule.to_pandas()
    assert len(frame) == len(trace) == 104
    assert sorted(frame["submit"]) == sorted(trace.submit.tolist())
    assert (frame["start"] >= frame["submit"]).all()
    if name == "jobs.csv":  # of a SWF, launch draws the run times unless it is told to take them
        assert np.allclose(sorted(frame["finish"] - frame["start"]), sorted(trace.run.tolist()))


def test_both_forms_hold_the_same_jobs(files):
    trace = read_swf(files / "jobs.swf")
    with (files / "jobs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    with (files / "jobs.extra.csv").open(newline="") as file:
        extra = list(csv.DictReader(file))
    assert [float(row["SubmitTime"]) for row in rows] == trace.submit.tolist()
    assert [float(row["ActualDuration"]) for row in rows] == trace.run.tolist()
    assert [int(row["RequestedCPUs"]) for row in rows] == trace.requested_processors.tolist()
    for key in ("JobID", "GPUs", "User", "Partition", "Constraints"):
        assert [row[key] for row in rows] == [row[key] for row in extra]
    assert sum(float(row["RequestedGPUs"]) for row in rows) > 12
    assert f"MaxProcs: {96}" in trace.header


def test_the_sample_of_eagle_is_simulated(tmp_path):
    assert main(["import", "table", str(EAGLE), "--map", "eagle", "-q", "-o", str(tmp_path / "e.swf")]) == 0
    schedule = hl.simulate(30_000, tmp_path / "e.swf", "sjf+easy", clock="textbook")
    assert len(schedule.to_pandas()) == 1000


def test_the_command_for_sacct_asks_for_what_is_read(capsys):
    assert main(["import", "sacct", "--command"]) == 0
    printed = capsys.readouterr().out.strip()
    assert printed == COMMAND
    words = shlex.split(printed)
    assert words[:6] == ["SLURM_TIME_FORMAT=%s", "sacct", "-a", "-X", "-P", "-S"]
    with open(LOG) as file:  # was recorded with this very command
        assert file.readline().strip().split("|") == [name for name in FORMAT if name != "Suspended"]
    assert f"--format={','.join(FORMAT)}" in words


def test_names_are_hashed_on_request_and_the_same_for_the_same_salt(tmp_path, capsys):
    names = ("games", "news", "backup", "physics", "biology", "mendel", "urgent")
    texts = []
    for number, salt in enumerate((["--salt", "s"], ["--salt", "s"], [])):
        folder = tmp_path / str(number)
        assert main(["import", "sacct", LOG, "-o", str(folder / "j.swf"), "--anonymize", *salt]) == 0
        texts.append([(folder / name).read_text() for name in ("j.swf", "j.extra.csv")])
    assert texts[0] == texts[1] != texts[2]
    assert not [name for name in names for text in texts for part in text if name in part]
    assert not [name for name in names if name in capsys.readouterr().out]
    plain = tmp_path / "plain.swf"
    assert main(["import", "sacct", LOG, "-q", "-o", str(plain)]) == 0
    numbers = [[line for line in text.splitlines() if line[0] != ";"] for text in (plain.read_text(), texts[0][0])]
    assert numbers[0] == numbers[1]


def test_the_report_is_written_for_programs_too(tmp_path):
    report = tmp_path / "report.json"
    assert main(["import", "sacct", LOG, "-q", "-o", str(tmp_path / "j.swf"), "--report", str(report)]) == 0
    content = json.loads(report.read_text())
    assert content["jobs"] == 106
    assert content["left_out"]["that ended before they began, as those cancelled while waiting"]["jobs"] == 2
    assert content["form"] == "Slurm's sacct"
    assert content["states"]["COMPLETED"] == 99


def test_the_limit_of_a_partition_stands_in_for_one_that_is_not_told(tmp_path, files):
    path = log(tmp_path, {"Timelimit": "Partition_Limit", "Partition": "urgent"})
    out = tmp_path / "j.swf"
    assert main(["import", "sacct", str(path), "-q", "-o", str(out), "--platform", str(files / "platform.json")]) == 0
    assert read_swf(out).requested_time.tolist() == [3600]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["sacct"], "FILE is missing"),
        (["sacct", LOG], "--output: is missing"),
        (["sacct", LOG, "-o", "jobs.json"], "a name that ends in .swf, .swf.gz, .csv or .csv.gz is needed"),
        (["sacct", "gone.txt", "-o", "jobs.swf"], "gone.txt: no such file"),
        (["sacct", ".", "-o", "jobs.swf"], "is a folder; a file is needed"),
        (["sacct", LOG, "-o", "j.swf", "--separator", ";"], "columns are separated by '|', not by ';'"),
        (["sacct", LOG, "-o", "j.swf", "--timezone", "Mars"], "'Mars' is no time zone"),
        (["sacct", LOG, "-o", "j.swf", "--time-limit", "soon"], "a time such as 2-00:00:00 is needed"),
        (["sacct", LOG, "-o", "j.swf", "--salt", "x"], "--salt: needs --anonymize"),
        (["table", LOG, "-o", "j.swf", "--map", "nowhere"], "no such file or map"),
        (["table", LOG, "-o", "j.swf", "--map", "eagle"], "column 'submit_time', which eagle names, is missing"),
        (["slurm-conf", LOG, "-o", "p.json"], "names no nodes"),
        (["slurm-conf", LOG, "-o", "p.xml"], "a name that ends in .json is needed"),
        (["scontrol", LOG, "-o", "p.json"], "is nothing that scontrol show nodes"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert main(["import", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "table", "in.csv", "--map", "eagle", "-o", "in.csv"],
        ["import", "table", "in.csv", "--map", "eagle", "-o", "./in.csv"],
        ["import", "table", "in.csv", "--map", "eagle", "-o", "j.csv", "--report", "in.csv"],
        ["import", "sacct", "j.extra.csv", "-o", "j.swf"],
        ["import", "slurm-conf", "in.json", "-o", "in.json"],
        ["import", "scontrol", "nodes.txt", "in.json", "-o", "in.json"],
        ["convert", "in.json", "in.json"],
        ["cut", "in.swf", "-o", "in.swf"],
    ],
)
def test_a_command_never_replaces_what_it_reads(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("in.csv", "in.json", "in.swf", "j.extra.csv"):
        (tmp_path / name).write_text("mine")
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert "is read by the same command; the name of another file is needed" in error
    assert error.count("\n") == 1
    assert {path.read_text() for path in tmp_path.iterdir()} == {"mine"}
