"""Schedulers of PyBatsim 4 play on Batsim 5's server.

PyBatsim 4 needs Python 3.12 and cannot be installed beside PyBatsim 3, which this package uses. Whoever has it in an
environment of its own says where: ``HDEEPRM_LIKE_PYBATSIM4=FOLDER/bin/pybatsim pytest THIS_FILE``.
"""

import csv
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from server5_inputs import profiles5
from server_inputs import free_port, platform_xml, workload

from hdeeprm_like.batsim_server.batsim5 import cli

VARIABLE = "HDEEPRM_LIKE_PYBATSIM4"
GOLDEN = Path(__file__).parent.parent / "golden" / "batsim5" / "fcfs_zero"
PATIENCE = 300  # s

pytestmark = pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} does not name PyBatsim 4's command")


def play(folder, scheduler, options, *words):
    """Run a scheduler of PyBatsim 4, by its name there, against our server; return the rows of its jobs."""
    port = free_port()
    command = [os.environ[VARIABLE], "-s", f"tcp://127.0.0.1:{port}", "-o", json.dumps(options), scheduler]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as peer:
        try:
            status = cli.main([*words, "-s", f"tcp://127.0.0.1:{port}", "{}", "-q", "--timeout", str(PATIENCE)])
            assert (status, peer.wait(PATIENCE)) == (0, 0), peer.stderr.read()
        finally:
            peer.kill()
    return sorted(csv.DictReader((folder / "out" / "jobs.csv").read_text().splitlines()), key=lambda row: row["job_id"])


def test_its_own_scheduler_plays_a_recorded_workload_as_recorded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in GOLDEN.glob("*.*"):
        shutil.copy(path, tmp_path)
    found = play(tmp_path, "fcfs", {}, "-p", "two_zero.xml", "-w", "wl7.json", "--energy-host")
    recorded = csv.DictReader((GOLDEN / "out" / "jobs.csv").read_text().splitlines())
    assert found == sorted(recorded, key=lambda row: row["job_id"])


def test_each_decision_of_its_interface_is_carried_out_and_answered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.xml").write_text(platform_xml(4))
    profiles = {"sleep9": {"type": "delay", "delay": 9}}
    jobs = [(0, 1, "sleep9", None)] * 3
    (tmp_path / "w.json").write_text(json.dumps(workload(jobs, profiles5(profiles))))
    own = {"EDC_file": str(Path(__file__).with_name("pybatsim4_scheduler.py")), "EDC_class": "EachDecisionOnce"}
    found = play(tmp_path, "prototype", {**own, "notes": str(tmp_path / "heard")}, "-p", "p.xml", "-w", "w.json")
    ends = [(row["job_id"], row["final_state"], row["finish_time"][:3]) for row in found]
    killed = ("1", "COMPLETED_KILLED", "3.0")
    mine, ran = ("1", "COMPLETED_SUCCESSFULLY", "5.0"), ("2", "COMPLETED_SUCCESSFULLY", "9.0")
    assert sorted(ends) == sorted([("0", "REJECTED", ""), killed, mine, ran])
    heard = (tmp_path / "heard").read_text().split("\n")
    kinds = ["SimulationBegins", *["JobSubmitted"] * 3, "HostsPStateChanged", "AllStaticJobsHaveBeenSubmitted"]
    assert [line.split()[1] for line in heard if line.startswith("0.0 ")] == [f"{kind}Event" for kind in kinds]
    assert heard[len(kinds) :] == [
        "1.0 RequestedCallEvent",
        "3.0 RequestedCallEvent",
        "3.0 JobCompletedEvent",
        "3.0 JobsKilledEvent",
        "3.0 JobSubmittedEvent",
        "5.0 JobCompletedEvent",
        "9.0 JobCompletedEvent",
        "9.0 SimulationEndsEvent",
    ]
