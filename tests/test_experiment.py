"""An experiment: what its options name, read and fit together."""

import json
import logging
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.errors import OptionsError, PlatformError
from hdeeprm_like.experiment import Overrides, generator, load_experiment

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
