"""Batsim workloads: what is read, what stands in for what is missing, what is refused, what is written."""

import json
import logging
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from calls import calls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from small import jobs

from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.formats.job_reading import Reading
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.formats.trace_jobs import convert
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.formats.workload_json_writer import write_workload

ROOT = Path(__file__).parents[2]
FLOPS = 1e9
SECONDS = "a number of seconds from 0 to 1e+12 is needed"
CORES = "a whole number of cores from 1 to 2,147,483,647 is needed"
LIMIT = "a number of seconds above 0 and up to 1e+12, or -1 for no limit, is needed"
PLAIN = {"type": "parallel_homogeneous"}
HOMOGENEOUS = PLAIN | {"com": 0, "cpu": 4e9, "req_time": 5, "req_ops": 5e9, "mem": 100, "mem_bw": 8, "gpus": 6}


def content(*jobs, **profiles):
    """A workload of jobs with what they need, each using profile ``A`` where it names none."""
    standard = {"subtime": 0, "res": 1, "profile": "A"}
    listed = [{"id": i} | standard | job for i, job in enumerate(jobs or ({},))]
    return {"nb_res": 4, "jobs": listed, "profiles": profiles or {"A": HOMOGENEOUS}}


def read(tmp_path: Path, *contents, **options) -> Workload:
    paths = []
    for i, one in enumerate(contents):
        paths.append(tmp_path / f"workload{i}.json")
        paths[-1].write_text(one if isinstance(one, str) else json.dumps(one))
    return read_workload(paths, **({"reference_flops": FLOPS} | options))


def refused(tmp_path: Path, one) -> str:
    with pytest.raises(WorkloadError) as error:
        read(tmp_path, one)
    message = str(error.value)
    assert "\n" not in message
    assert message.startswith(f"{tmp_path / 'workload0.json'}")
    return message.removeprefix(f"{tmp_path / 'workload0.json'}")


def same(one: Workload, other: Workload) -> bool:
    names = [field.name for field in fields(Workload) if field.name != "account"]  # which is not in the file
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_job_takes_the_numbers_of_its_profile(tmp_path):
    one = read(tmp_path, content({"id": "a", "subtime": 1.5, "res": 3, "walltime": 60, "user": "alice"}))
    assert {field.name: list(np.atleast_1d(getattr(one, field.name))) for field in fields(Workload)} == {
        "ids": ["w0!a"],
        "profiles": ["A"],
        "submit": [1.5],
        "size": [3],
        "requested_time": [5.0],
        "requested_ops": [5e9],
        "ops": [4e9],
        "delay": [-1.0],
        "memory": [100.0],
        "bandwidth": [8.0],
        "walltime": [60.0],
        "capacity": [4],
        "gpus": [2.0],  # of the 6 of all 3 cores
        "user": [-1],  # a name is no number
        "program": [-1],
        "demands": [None],  # of partitions, which only logs have
        "bytes": [0.0],
        "account": [None],  # `open.load_workload` adds it
    }


def test_what_the_profile_leaves_out_is_filled_in(tmp_path):
    plain = PLAIN | {"com": 0}
    profiles = {
        "cpu": plain | {"cpu": 3e9},
        "time": plain | {"req_time": 7},
        "ops": plain | {"req_ops": 9e9},
        "cpu_and_time": plain | {"cpu": 3e9, "req_time": 7},
        "delay": {"type": "delay", "delay": 2},
        "delay_and_time": {"type": "delay", "delay": 2, "req_time": 7, "mem": 1, "mem_bw": 4},
    }
    names = [*profiles, "cpu", "delay", "time"]
    limits: list[dict[str, float]] = [{}] * len(profiles) + [{"walltime": 20}] * 3
    jobs = [{"profile": name} | limit for name, limit in zip(names, limits, strict=True)]
    filled = read(tmp_path, content(*jobs, **profiles))
    assert filled.requested_time.tolist() == [3, 7, 9, 7, 2, 7, 20, 20, 7]
    assert filled.requested_ops.tolist() == [3e9, 7e9, 9e9, 7e9, 2e9, 7e9, 20e9, 20e9, 7e9]
    assert filled.ops.tolist() == [3e9, 7e9, 9e9, 3e9, 0, 0, 3e9, 0, 7e9]
    assert filled.delay.tolist() == [-1, -1, -1, -1, 2, 2, -1, 2, -1]
    assert filled.memory.tolist() == [0, 0, 0, 0, 0, 1, 0, 0, 0]
    assert filled.bandwidth.tolist() == [0, 0, 0, 0, 0, 4, 0, 0, 0]
    assert filled.walltime.tolist() == [np.inf] * 6 + [20] * 3


def test_jobs_of_one_time_stand_in_the_order_of_the_bytes_of_their_ids(tmp_path):
    first = content({"id": 2}, {"id": 10}, {"id": "1", "subtime": 0.0}, {"id": 0, "subtime": 3})
    second = content({"id": "b"}, {"id": "a"}, {"id": "w1!c", "subtime": 2}, {"id": "é"}, {"id": "z"})
    both = read(tmp_path, first, second | {"nb_res": 9})
    assert both.ids == ("w0!1", "w0!10", "w0!2", "w1!a", "w1!b", "w1!z", "w1!é", "w1!c", "w0!0")
    assert both.capacity == 9
    assert read(tmp_path, first, capacity=2).capacity == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": None}, ".id: is null; an integer or a string is needed"),
        ({"id": 1.5}, ".id: is 1.5; an integer or a string is needed"),
        ({"id": True}, ".id: is true; an integer or a string is needed"),
        ({"id": ""}, ".id: '' is no id; it may not be empty nor hold '!'"),
        ({"id": "w1!4"}, ".id: 'w1!4' is no id; it may not be empty nor hold '!'"),
        ({"id": 0}, ".id: 0 is also the id of jobs[0]"),
        ({"id": "0"}, ".id: '0' is also the id of jobs[0]"),
        ({"subtime": -1}, f".subtime: is -1; {SECONDS}"),
        ({"subtime": "0"}, f".subtime: is '0'; {SECONDS}"),
        ({"subtime": 10**39}, f".subtime: is a number of more than 20 digits; {SECONDS}"),
        ({"res": 0}, f".res: is 0; {CORES}"),
        ({"res": 2.0}, f".res: is 2.0; {CORES}"),
        ({"res": True}, f".res: is true; {CORES}"),
        ({"res": 10**30}, f".res: is a number of more than 20 digits; {CORES}"),
        ({"profile": 3}, ".profile: is 3; the name of a profile is needed"),
        ({"profile": "Lung"}, ".profile: 'Lung' is not known; did you mean 'Long'?"),
        ({"walltime": 0}, f".walltime: is 0; {LIMIT}"),
        ({"walltime": -2}, f".walltime: is -2; {LIMIT}"),
        ({"walltime": []}, f".walltime: is a list; {LIMIT}"),
    ],
)
def test_a_wrong_job_is_named_with_its_place(tmp_path, change, message):
    assert refused(tmp_path, content({}, change, A=HOMOGENEOUS, Long=HOMOGENEOUS)) == f": jobs[1]{message}"


@pytest.mark.parametrize("key", ["id", "subtime", "res", "profile"])
def test_a_key_that_a_job_lacks_is_named(tmp_path, key):
    whole = content()
    del whole["jobs"][0][key]
    assert refused(tmp_path, whole) == f": jobs[0]: has no '{key}'"


def test_an_unknown_profile_lists_the_known_ones_only_where_they_are_few(tmp_path):
    job = {"profile": "none"}
    assert refused(tmp_path, content(job, A=1, B=1)) == ": jobs[0].profile: 'none' is not known; known: A, B"
    many = {f"{i}_4_8": 1 for i in range(1000)}
    assert refused(tmp_path, content(job, **many)) == ": jobs[0].profile: 'none' is not known"


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (3, ': profiles["A"]: is 3; an object is needed'),
        ({}, ": profiles[\"A\"]: has no 'type'"),
        ({"type": 3}, ': profiles["A"].type: is 3; one of delay, parallel_homogeneous is needed'),
        ({"type": "delay"}, ": profiles[\"A\"]: has no 'delay'"),
        ({"type": "delay", "delay": -1}, f': profiles["A"].delay: is -1; {SECONDS}'),
        (PLAIN, ": profiles[\"A\"]: has no 'cpu', the operations of each core"),
        (HOMOGENEOUS | {"cpu": None}, ': profiles["A"].cpu: is null; a number from 0 to 1e+30 is needed'),
        (HOMOGENEOUS | {"com": -1}, ': profiles["A"].com: is -1; a number from 0 to 1e+30 is needed'),
        (HOMOGENEOUS | {"mem": "8"}, ": profiles[\"A\"].mem: is '8'; a number from 0 to 1e+30 is needed"),
        (PLAIN | {"req_time": 1e13}, f': profiles["A"].req_time: is 10000000000000.0; {SECONDS}'),
        (
            {"type": "composed", "seq": []},
            ": jobs[0]: profile 'A' is of type 'composed'; the embedded simulator knows delay and "
            "parallel_homogeneous; launch with 'network': true in the options file plays all others",
        ),
    ],
)
def test_a_wrong_profile_is_named_with_its_place(tmp_path, profile, message):
    assert refused(tmp_path, content(A=profile)) == message


def test_numbers_that_no_float_can_hold_are_refused(tmp_path):
    told = refused(tmp_path, json.dumps(content()).replace('"subtime": 0', '"subtime": 1e999'))
    assert told == f": jobs[0].subtime: is inf; {SECONDS}"
    assert "too large" in refused(tmp_path, json.dumps(content()).replace('"subtime": 0', f'"subtime": 1{"0" * 5000}'))


def test_no_file_and_a_reference_speed_of_nothing_are_refused(tmp_path):
    with pytest.raises(WorkloadError, match="no workload file was given"):
        read_workload([], reference_flops=FLOPS)
    with pytest.raises(WorkloadError, match="the reference speed is 0 flop/s; a positive number is needed"):
        read(tmp_path, content(), reference_flops=0)
    with pytest.raises(WorkloadError, match=r"none\.json: no such file"):
        read_workload(tmp_path / "none.json", reference_flops=FLOPS)


def test_data_sent_over_the_network_is_warned_of_once_for_each_file(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        read(tmp_path, content({}, {}, A=HOMOGENEOUS | {"com": 5}), content())
    assert [record.getMessage() for record in caplog.records] == [
        f"{tmp_path / 'workload0.json'}: some jobs send data (com > 0), "
        "which takes no time in the embedded simulator without 'network': true"
    ]


def test_profiles_that_no_job_uses_are_not_looked_at(tmp_path):
    assert len(read(tmp_path, content(A=HOMOGENEOUS, B={"type": "send"}, C=3))) == 1


def test_equal_profiles_are_written_once_and_others_of_the_name_get_a_number(tmp_path):
    jobs = [{"walltime": 5}, {"walltime": 6}, {"walltime": 5}, {"id": "x y"}]
    write_workload(read(tmp_path, content(*jobs, A=PLAIN | {"cpu": 1e9})), tmp_path / "out.json")
    assert (tmp_path / "out.json").read_text().splitlines() == [
        '{"nb_res": 4, "jobs": [',
        '{"id": 0, "subtime": 0, "res": 1, "profile": "A", "walltime": 5},',
        '{"id": 1, "subtime": 0, "res": 1, "profile": "A_2", "walltime": 6},',
        '{"id": 2, "subtime": 0, "res": 1, "profile": "A", "walltime": 5},',
        '{"id": "x y", "subtime": 0, "res": 1, "profile": "A_3"}',
        '], "profiles": {',
        '"A": {"type": "parallel_homogeneous", "com": 0, "cpu": 1000000000, "req_time": 5, "req_ops": 5000000000, '
        '"mem": 0, "mem_bw": 0},',
        '"A_2": {"type": "parallel_homogeneous", "com": 0, "cpu": 1000000000, "req_time": 6, "req_ops": 6000000000, '
        '"mem": 0, "mem_bw": 0},',
        '"A_3": {"type": "parallel_homogeneous", "com": 0, "cpu": 1000000000, "req_time": 1, "req_ops": 1000000000, '
        '"mem": 0, "mem_bw": 0}',
        "}}",
    ]


@pytest.mark.parametrize("column", ["seconds", "estimate", "delay", "memory", "bandwidth", "gpus"])
def test_profiles_of_one_name_that_differ_in_one_request_are_told_apart(column, tmp_path):
    some = jobs(**{column: [1.0, 2.0]}, size=[1, 1])
    write_workload(some, tmp_path / "out.json")
    again = read_workload(tmp_path / "out.json", reference_flops=FLOPS)
    for name in ("requested_time", "requested_ops", "ops", "delay", "memory", "bandwidth", "gpus"):
        assert getattr(again, name).tolist() == getattr(some, name).tolist(), name


def test_the_jobs_of_two_workloads_do_not_fit_into_one_file(tmp_path):
    with pytest.raises(WorkloadError, match=r"cannot hold the jobs of several workloads \(w0, w1\)"):
        write_workload(read(tmp_path, content(), content()), tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


amounts = st.one_of(st.integers(0, 10**6), st.floats(0, 1e18), st.sampled_from([0, 2**53, 2**53 + 2, 5e-324, 0.1]))
times = st.one_of(st.integers(0, 10**6), st.floats(0, 1e12), st.sampled_from([0, 10**12, 5e-324, 0.1]))
OPTIONAL = dict.fromkeys(("req_ops", "mem", "mem_bw"), amounts) | {"req_time": times, "gpus": st.integers(0, 10**6)}
homogeneous = {"type": st.just("parallel_homogeneous"), "com": st.just(0), "cpu": amounts}
delays = {"type": st.just("delay"), "delay": times}
profiles = st.one_of(st.fixed_dictionaries(needed, optional=OPTIONAL) for needed in (homogeneous, delays))
any_job = st.fixed_dictionaries(
    {
        "id": st.one_of(st.integers(-20, 200), st.text('ab0 é"\\\n', min_size=1, max_size=4)),
        "subtime": st.one_of(st.integers(0, 2), times),
        "res": st.integers(1, 9),
        "profile": st.sampled_from("AB"),
    },
    optional={
        "walltime": st.one_of(st.just(-1), st.integers(1, 9), st.floats(0.01, 1e9)),
        "user": st.integers(0, 2**53 - 1),
        "program": st.integers(0, 2**53 - 1),
    },
)


@settings(deadline=None)
@given(st.lists(any_job, min_size=1, max_size=9, unique_by=lambda job: str(job["id"])), profiles, profiles)
def test_what_is_written_reads_back_equal_and_in_order(tmp_path_factory, jobs, a, b):
    folder = tmp_path_factory.getbasetemp()
    once = read(folder, {"nb_res": 9, "jobs": jobs, "profiles": {"A": a, "B": b}})
    assert sorted(once.ids) == sorted(f"w0!{job['id']}" for job in jobs)
    assert sorted(once.user.tolist()) == sorted(job.get("user", -1) for job in jobs)
    assert sorted(once.program.tolist()) == sorted(job.get("program", -1) for job in jobs)
    keys = list(zip(once.submit, (name.encode() for name in once.ids), strict=True))
    assert keys == sorted(keys)
    write_workload(once, folder / "out.json")
    again = read_workload(folder / "out.json", reference_flops=123.0)
    assert again.profiles == once.profiles or len(set(again.profiles)) > len(set(once.profiles))
    for field in fields(Workload):
        if field.name != "profiles":
            assert np.array_equal(getattr(again, field.name), getattr(once, field.name)), field.name


def test_all_of_gaia_is_written_and_read_quickly(tmp_path):
    trace = read_swf(ROOT / "workloads" / "gaia.swf.gz")
    path = tmp_path / "gaia.json"

    def converted(**how):
        rng = np.random.default_rng(0)
        return convert(trace, Reading(), rng=rng, reference_flops=1e10, capacity=2280, skip=4, **how)

    for some in (converted(), converted(first=2000, runtimes="trace"), part := converted(first=1000)):
        write_workload(some, path)
        assert same(read_workload(path, reference_flops=1e10), some)
    assert calls_of(lambda: write_workload(part, path)) < 12_000
    assert calls_of(lambda: read_workload(path, reference_flops=1e10)) < 120_000
