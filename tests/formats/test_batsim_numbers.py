"""Numbers in JSON: whatever we write for Batsim is read as that number, by Batsim and by us."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdeeprm_like.batsim_server.workload import read_workload as read_for_server
from hdeeprm_like.formats.batsim_numbers import json_text, read_number, write_number
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.formats.workload_json_writer import write_workload


@given(st.floats(1e-9, 1e30) | st.floats(0.0, 1e9))
def test_a_number_is_read_as_it_was_written(value):
    assert read_number(write_number(value)) == pytest.approx(value, rel=3e-16)
    assert float(write_number(value)) == pytest.approx(value, rel=3e-16)


def test_hardly_any_number_has_no_text_that_batsim_reads_as_it():
    dice = np.random.default_rng(3)
    values = [value for most in (1.0, 1e3, 1e6, 1e12, 1e20) for value in dice.uniform(0.0, most, 2000).tolist()]
    missed = [value for value in values if read_number(write_number(value)) != value]
    assert len(missed) <= 1  # of 10,000
    assert sum(read_number(repr(value)) != value for value in values) > 200  # what it takes a text of its own for


@given(st.dictionaries(st.text(max_size=5), st.lists(st.floats(0, 1e12) | st.integers() | st.none() | st.booleans())))
def test_json_holds_the_same_with_these_numbers(content):
    again = json.loads(json_text(content))
    assert again.keys() == content.keys()
    for key, values in content.items():
        assert again[key] == [
            pytest.approx(value, rel=3e-16) if isinstance(value, float) else value for value in values
        ]


def long_numbers(folder, seed):
    dice = np.random.default_rng(seed)
    jobs = [
        {
            "id": number,
            "subtime": dice.uniform(0, 1e5),
            "res": 2,
            "profile": f"p{number}",
            "walltime": dice.uniform(1, 1e4),
        }
        for number in range(200)
    ]
    profiles = {
        f"p{number}": {"type": "delay", "delay": dice.uniform(0.1, 1e4)}
        if number % 2
        else {"type": "parallel_homogeneous", "cpu": dice.uniform(1e6, 1e13), "com": 0, "req_time": 5.0}
        for number in range(200)
    }
    path = folder / "long.json"
    path.write_text(json.dumps({"nb_res": 4, "jobs": jobs, "profiles": profiles}))
    return path


@pytest.mark.parametrize("seed", range(3))
def test_the_embedded_simulator_and_the_server_read_the_same_bits(seed, tmp_path):
    """Of a given file, and of the file that `launch` writes of its jobs for Batsim."""
    path = long_numbers(tmp_path, seed)
    ours = read_workload(path, reference_flops=1e9)
    write_workload(ours, tmp_path / "written.json")
    for name in (path, tmp_path / "written.json"):
        _, server, _ = read_for_server(name, "w0")
        jobs = [server[identifier.partition("!")[2]] for identifier in ours.ids]
        assert [job.submit for job in jobs] == ours.submit.tolist()
        assert [job.walltime for job in jobs] == ours.walltime.tolist()
        for job, delay, flops in zip(jobs, ours.delay.tolist(), ours.ops.tolist(), strict=True):
            assert job.profile.parameters == delay if delay >= 0 else job.profile.parameters.flops == flops
