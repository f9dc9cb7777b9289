"""PyBatsim's own schedulers run against the server to the end, unchanged."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from server_inputs import free_port, platform_xml, random_workload

from hdeeprm_like.batsim_server import cli

PYBATSIM = Path(sys.executable).with_name("pybatsim")


# a long run of PyBatsim
@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheduler", "delays_only"),
    [
        ("fillerSched", False),
        ("easyBackfill", False),
        ("schedFcfs", True),  # this one supports profiles of Batsim 2; only delays remain
    ],
)
def test_a_scheduler_of_pybatsim_runs_800_jobs_to_the_end(scheduler, delays_only, tmp_path):
    (tmp_path / "p.xml").write_text(platform_xml(32))
    (tmp_path / "w.json").write_text(json.dumps(random_workload(7, 800, 32, delays_only)))
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    words = [str(PYBATSIM), scheduler, "-s", endpoint, "-t", "300000", "-v", "error"]
    log = tmp_path / "pybatsim.log"
    with log.open("w") as file, subprocess.Popen(words, cwd=tmp_path, stdout=file, stderr=file) as peer:
        try:
            files = ["-p", str(tmp_path / "p.xml"), "-w", str(tmp_path / "w.json"), "-e", str(tmp_path / "out")]
            assert cli.main([*files, "-E", "-q", "-s", endpoint, "--timeout", "300"]) == 0
            peer.wait(timeout=300)
        finally:
            peer.kill()
    assert peer.returncode == 0, log.read_text()[-2000:]
    jobs = list(csv.DictReader((tmp_path / "out_jobs.csv").read_text().splitlines()))
    assert len(jobs) == 800
    assert {job["final_state"] for job in jobs} == {"COMPLETED_SUCCESSFULLY"}
    assert not (tmp_path / "out_INCOMPLETE").exists()
