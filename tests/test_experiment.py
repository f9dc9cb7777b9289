"""An experiment: what its options name, read and fit together."""

import json
import logging
import random
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.errors import OptionsError, PlatformError, WorkloadError
from hdeeprm_like.experiment import Overrides, Readers, experiment_of, generator, load_experiment
from hdeeprm_like.formats import swf
from hdeeprm_like.options import read_options

ROOT = Path(__file__).parent.parent
GAIA = ROOT / "workloads" / "gaia.swf.gz"
OPTIONS = {
    "seed": 7,
    "workload_file_path": "jobs.json",
    "platform_file_path": "p.json",
    "pybatsim": {"agent": {"policy_pair": "first-high_gflops"}},
}


@pytest.fixture
def files(tmp_path):
    (tmp_path / "p.json").write_bytes((ROOT / "platforms" / "learning.json").read_bytes())
    (tmp_path / "jobs.json").write_bytes((ROOT / "workloads" / "learning.json").read_bytes())
    write(tmp_path)
    return tmp_path


def write(folder, **changes):
    (folder / "exp.json").write_text(json.dumps(OPTIONS | changes))


def test_paths_in_the_file_are_relative_to_the_file(files, monkeypatch):
    monkeypatch.chdir("/")
    experiment = load_experiment(files / "exp.json")
    assert (experiment.platform.cores, len(experiment.workload)) == (4, 2)
    assert experiment.platform_path == files / "p.json"


def test_a_number_of_cores_is_a_pool_of_so_many(files):
    write(files, platform_file_path=240)
    machine = load_experiment(files / "exp.json").platform
    assert (machine.cores, machine.nodes) == (240, 1)
    for wrong, said in (
        (0, "platform_file_path: a pool of 0 cores is not possible"),
        (True, "platform_file_path: True"),
    ):
        write(files, platform_file_path=wrong)
        with pytest.raises(OptionsError, match=said):
            load_experiment(files / "exp.json")


def test_a_flag_takes_the_place_of_the_seed_in_the_file(files):
    experiment = load_experiment(files / "exp.json", Overrides(seed=11))
    assert experiment.options.seed == 11
    assert experiment.policy_seed != load_experiment(files / "exp.json").policy_seed


def test_the_streams_of_a_seed_are_apart_and_repeat():
    draws = [generator(seed, stream).random(4) for seed, stream in ((1, 0), (1, 0), (1, 1), (2, 0))]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert len({draw.tobytes() for draw in draws}) == 3


def test_a_platform_of_another_size_is_refused_unless_a_flag_gave_it(files, caplog):
    write(files, nb_resources=2280)
    with pytest.raises(OptionsError, match=r"nb_resources: 2280, but .* has 4 cores"):
        load_experiment(files / "exp.json")
    with caplog.at_level(logging.INFO, "hdeeprm_like"):
        load_experiment(files / "exp.json", Overrides(platform=files / "p.json"))
    assert "the platform counts" in caplog.text


def test_a_trace_is_converted_to_as_many_jobs_as_asked_for(files):
    write(files, nb_jobs=30, workload_file_path=str(GAIA), platform_file_path=str(ROOT / "platforms" / "gaia.json"))
    experiment = load_experiment(files / "exp.json")
    assert len(experiment.workload) == 30
    again = load_experiment(files / "exp.json")
    assert experiment.workload.bandwidth.tolist() == again.workload.bandwidth.tolist()
    other = load_experiment(files / "exp.json", Overrides(seed=8))
    assert experiment.workload.bandwidth.tolist() != other.workload.bandwidth.tolist()
    assert experiment.workload.submit[0] == 0.0


def test_limits_of_the_trace_leave_jobs_out(files):
    limits = {"skip": 4, "max_cores": 8, "max_time": 90000, "max_memory": 500}
    write(
        files,
        nb_jobs=200,
        workload_file_path=str(GAIA),
        platform_file_path=str(ROOT / "platforms" / "gaia.json"),
        workload=limits,
    )
    jobs = load_experiment(files / "exp.json").workload
    assert jobs.size.max() <= 8
    assert jobs.requested_time.max() <= 90000
    assert jobs.memory.max() <= 500


def test_types_extend_a_platform_in_json_but_not_in_xml(files):
    types = {"node_types.json": "{}"}
    for name, text in types.items():
        (files / name).write_text(text)
    write(files, type_file_paths=["node_types.json"])
    assert load_experiment(files / "exp.json").platform.cores == 4
    (files / "p.xml").write_text("<platform/>")
    write(files, type_file_paths=["node_types.json"], platform_file_path="p.xml")
    with pytest.raises(PlatformError, match="types extend a platform in JSON"):
        load_experiment(files / "exp.json")


def line_of_trace(number, requested=60, memory=1000):
    """A job that comes at *number* s, runs for 30 s, uses 40 s of CPU time, and requests 60 s and 1 MB."""
    return f"{number} {number} 0 30 2 40 {memory} 2 {requested} {memory} 1 1 1 1 1 -1 -1 -1"


def loaded_from(files, monkeypatch, lines, whole, **changes):
    """The workload of a trace, read whole or in parts of one line until there is enough."""
    (files / "t.swf").write_text("\n".join(lines) + "\n")
    write(files, workload_file_path="t.swf", **changes)
    monkeypatch.setattr(swf, "READ_FIRST", 1)
    monkeypatch.setattr(swf, "READ_AT_ONCE", 2)
    readers = Readers(trace=lambda path, enough: swf.read_swf(path, None if whole else enough))
    found = experiment_of(files / "exp.json", read_options(files / "exp.json"), readers=readers)
    return found.workload, {one.reason: one.jobs for one in found.workload.account.entries.values()}


PERFECT = "the run time replaces it, a perfect estimate"
BROKEN = "here a trace is broken"


def test_a_trace_is_read_no_further_than_its_first_jobs(files, monkeypatch):
    lines = [*map(line_of_trace, range(6)), BROKEN]
    workload, _ = loaded_from(files, monkeypatch, lines, False, nb_jobs=4, workload={"skip": 2})
    assert workload.submit.tolist() == [0.0, 1.0, 2.0, 3.0]
    with pytest.raises(WorkloadError, match=r"t\.swf:7: has 5 fields"):
        loaded_from(files, monkeypatch, lines, False, nb_jobs=5, workload={"skip": 2})
    with pytest.raises(WorkloadError, match=r"t\.swf:7: has 5 fields"):
        loaded_from(files, monkeypatch, lines, False)


@pytest.mark.parametrize("late", ["requested", "memory"])
def test_a_trace_is_read_on_while_its_later_jobs_may_change_the_first_ones(files, monkeypatch, late):
    lines = [line_of_trace(number, **{late: -1 if number < 4 else 90}) for number in range(8)]
    found = loaded_from(files, monkeypatch, lines, False, nb_jobs=2, workload={"reading": "hdeeprm"})
    assert found[0].requested_time.tolist() == ([30.0, 30.0] if late == "requested" else [60.0, 60.0])
    assert found[0].submit.tolist() == [0.0, 1.0]
    assert found[1]["of unknown memory" if late == "memory" else f"without a requested time (field 9): {PERFECT}"] == 4


@pytest.mark.parametrize("seed", range(20))
def test_the_start_of_a_trace_gives_the_jobs_that_the_whole_trace_gives(files, monkeypatch, seed):
    dice = random.Random(seed)
    lines = [line_of_trace(number, dice.choice([-1, 60, 90]), dice.choice([-1, 500, 2000])) for number in range(30)]
    changes = {"nb_jobs": dice.randint(1, 12), "workload": {"skip": dice.randint(0, 5), "max_time": 80.0}}
    part, whole = (loaded_from(files, monkeypatch, lines, whole, **changes) for whole in (False, True))
    for name in ("ids", "profiles", "submit", "size", "requested_time", "ops", "memory", "bandwidth", "user"):
        np.testing.assert_array_equal(getattr(part[0], name), getattr(whole[0], name), err_msg=name)
    assert part[1] == whole[1]
