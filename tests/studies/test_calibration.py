"""Calibrated overheads of a Slurm, on the recordings of `golden/slurm/mechanism`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed

from hdeeprm_like.decision.names import baseline
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.progress import progress_bar
from hdeeprm_like.studies.whatif.calibration import Calibration, Part, calibrate, tau
from hdeeprm_like.studies.whatif.inputs import load_log
from hdeeprm_like.studies.whatif.outcome import Overheads, simulate

RECORDED = Path(__file__).parent.parent / "golden" / "slurm" / "mechanism"
NOW = baseline("multifactor+slurm")
HELD_OUT = ("kept_plain", "kept_epilog", "kept_small")  # no part of the model was made with these


def recorded(name, folder):
    """The machine and the log of a recording, as an administrator would import them."""
    platform, jobs = folder / "platform.json", folder / "jobs.csv"
    files = {flag: RECORDED / name / file for flag, file in (("--associations", "assoc.txt"), ("--qos", "qos.txt"))}
    more = [word for flag, file in files.items() if file.exists() for word in (flag, file)]
    printed("import", "slurm-conf", RECORDED / name / "slurm.conf", "-o", platform, "--quiet", *more)
    log = ("import", "jobcomp", RECORDED / name / "jobcomp.txt.gz", "-o", jobs, "--requeues", "one")
    printed(*log, "--platform", platform, "--quiet")
    machine = load_platform(platform)
    return machine, load_log(jobs, machine)


def assert_retold(rest, order, within):
    """Check how well the half of a log is retold that nothing was fitted to."""
    (wait, model), (median, of_model) = rest.wait, rest.median
    assert abs(model / wait - 1) <= 0.07
    assert abs(of_model / median - 1) <= 0.15
    assert rest.order >= order
    assert rest.within >= within


# plays a recorded queue a hundred times
@pytest.mark.more
@pytest.mark.parametrize("name", HELD_OUT)
def test_the_half_of_a_log_that_nothing_was_fitted_to_is_retold(name, tmp_path):
    assert_retold(calibrate(*recorded(name, tmp_path), NOW).rest, order=0.95, within=0.8)


# plays a recorded queue a hundred times
@pytest.mark.more
def test_limits_of_a_tree_of_accounts_and_of_qos_are_retold(tmp_path):
    machine, log = recorded("tree", tmp_path)  # no part of the model was made with it
    assert_retold(calibrate(machine, log, NOW).rest, order=0.88, within=0.69)
    partitions = machine.partitions
    without = replace(machine, partitions=replace(partitions, settings=dict(partitions.settings) | {"limits": {}}))
    kept, free = (simulate(one, log, NOW).start - log.jobs.submit - log.wait for one in (machine, without))
    assert np.mean(np.abs(kept)) < 0.6 * np.mean(np.abs(free))


# plays a recorded queue a hundred times
@pytest.mark.more
def test_an_epilog_is_found_in_the_log(tmp_path):
    found = calibrate(*recorded("epilog", tmp_path), NOW)  # it sleeps for 3 s
    assert found.overheads.end_latency == pytest.approx(3.1, abs=0.4)
    error = [abs(part.wait[1] / part.wait[0] - 1) for part in (found.before, found.rest)]
    assert error[0] > 0.2
    assert error[1] < 0.07


def test_memory_that_slurm_does_not_hand_out_keeps_no_job_waiting(tmp_path):
    _, log = recorded("quick", tmp_path)  # CR_Core; the log shows each job with all memory of a node
    assert not log.jobs.memory.any()
    _, log = recorded("plain", tmp_path)  # CR_Core_Memory
    assert log.jobs.memory.all()


def test_a_job_of_whole_nodes_asks_for_as_many_as_it_had(tmp_path):
    _, log = recorded("whole", tmp_path)
    assert set(log.jobs.demands.nodes.tolist()) == {1, 2, 3, 5}


def test_a_policy_that_is_no_slurm_cannot_be_calibrated(tmp_path):
    with pytest.raises(OptionsError, match="needs a Slurm"):
        calibrate(*recorded("plain", tmp_path), baseline("fcfs+easy"))


def test_a_log_has_a_line_each_ten_seconds(monkeypatch, capsys):
    monkeypatch.setattr("hdeeprm_like.progress.time.monotonic", iter([0.0, 4.0, 11.0, 20.0, 22.0]).__next__)
    with progress_bar(200, True, " simulations", "calibrating", in_log=True) as show:
        for done in range(1, 5):
            show(done)
    assert capsys.readouterr().err.splitlines() == [
        "calibrating: 2 of at most 200 simulations, 11 s",
        "calibrating: 4 of at most 200 simulations, 22 s",
    ]


@pytest.mark.parametrize(
    ("wait", "within", "gained"), [(100.0, 0.8, False), (90.0, 0.8, True), (60.0, 0.8, False), (100.0, 0.81, True)]
)
def test_a_calibration_that_gains_nothing_says_so(wait, within, gained):
    before = Part(jobs=9, wait=(80.0, 100.0), median=(1.0, 1.0), order=1.0, within=0.8, interval=30.0)
    rest = replace(before, wait=(80.0, wait), within=within)
    found = Calibration(Overheads(1.0), before, rest, before, np.ones(9, np.bool_))
    assert found.as_json()["gained"] == gained
    assert any("gains nothing" in line for line in found.lines()) == (not gained)


def test_taus():
    rising = np.arange(5.0)
    assert tau(rising, rising) == pytest.approx(1.0)
    assert tau(rising, -rising) == pytest.approx(-1.0)
    assert tau(rising, np.array([0.0, 1.0, 2.0, 4.0, 3.0])) == pytest.approx(0.8)
    assert tau(np.ones(3), np.ones(3)) == pytest.approx(1.0)
