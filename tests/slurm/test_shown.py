"""What Slurm shows is read alike in the forms of all its versions; what is odd is refused in one line."""

import json
import math

import pytest
from slurm_shows import BEGIN, HOUR, JOBS, VERSIONS, scontrol_jobs, scontrol_nodes, sinfo, squeue

from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm.shown import (
    OVER,
    RUNS,
    UNLIMITED,
    WAITS,
    Node,
    jobs_of_json,
    jobs_of_text,
    nodes_of_json,
    nodes_of_text,
    phase_of,
)

NODES = {"n1": Node(16, True, ("normal", "debug")), "n2": Node(16, False, ("normal",))}


def comparable(jobs):
    """Jobs with None for nan, which equals nothing."""
    return [
        tuple(None if isinstance(value, float) and math.isnan(value) else value for value in job)
        for job in sorted(jobs)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_jobs_and_nodes_of_each_version_are_the_same(version):
    jobs = {job.number: job for job in jobs_of_json(squeue(version))}
    assert {number: job.phase for number, job in jobs.items()} == {11: RUNS, 12: WAITS, 13: WAITS, 14: WAITS, 10: OVER}
    assert jobs[11].cpus == 8
    assert jobs[11].limit == HOUR
    assert (jobs[11].submit, jobs[11].start) == (BEGIN, BEGIN + 10)
    assert jobs[12].limit == UNLIMITED
    assert jobs[12].partitions == ("normal", "debug")
    assert math.isnan(jobs[12].start)
    assert math.isnan(jobs[13].eligible)
    assert jobs[13].priority == 0
    assert jobs[14].start == BEGIN + HOUR
    assert [job.array for job in jobs.values()] == [0, 0, 0, 14, 0]
    assert jobs[10].ran
    assert comparable(jobs.values()) == comparable(jobs_of_json(squeue("22.05")))
    assert nodes_of_json(sinfo(version)) == NODES


def test_scontrol_prints_the_same_and_what_users_write_into_names_and_comments_is_not_believed():
    assert comparable(jobs_of_text(scontrol_jobs())) == comparable(jobs_of_json(squeue("22.05")))
    assert nodes_of_text(scontrol_nodes()) == NODES


def test_an_empty_queue_is_no_error():
    assert jobs_of_json(squeue("24.05", jobs=())) == []
    assert jobs_of_text("No jobs in the system\n") == []


@pytest.mark.parametrize(
    ("states", "phase"),
    [
        (["PENDING", "REQUEUED"], WAITS),
        (["RUNNING", "COMPLETING"], RUNS),
        (["CANCELLED", "COMPLETING"], OVER),
        (["COMPLETING"], OVER),
        (["CONFIGURING"], RUNS),
        (["suspended"], RUNS),
        (["REQUEUE_HOLD"], WAITS),
        (["OUT_OF_MEMORY"], OVER),
        (["FUTURE_WORD", "RUNNING"], RUNS),
        (["FUTURE_WORD"], ""),
        ([], ""),
    ],
)
def test_the_phase_follows_from_states_and_flags(states, phase):
    assert phase_of(states) == phase


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"jobs": 5}',
        '{"jobs": "none"}',
        squeue("23.11")[:500],
        "slurm_load_jobs error: Unable to contact slurm controller",
        '{"errors": [{"error": "it is ill"}], "jobs": []}',
        '{"jobs": [{"job_id": 1}]}',
        '{"jobs": [[1]], "x": ' + "[" * 100_000,
    ],
)
def test_nonsense_is_refused_in_one_line(text):
    with pytest.raises(ProtocolError) as error:
        jobs_of_json(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("job_id", -3),
        ("job_id", None),
        ("job_id", {"set": False}),
        ("job_state", 7),
        ("job_state", ["NEW_STATE"]),
        ("submit_time", "yesterday"),
        ("submit_time", {"set": True, "infinite": True, "number": 0}),
    ],
)
def test_a_job_that_lacks_what_it_needs_is_left_out_and_the_others_stay(field, value):
    content = json.loads(squeue("23.11"))
    content["jobs"][0][field] = value
    assert {job.number for job in jobs_of_json(json.dumps(content))} == {10, 12, 13, 14}


@pytest.mark.parametrize("field", ["cpus", "time_limit", "priority", "start_time", "partition", "user_name"])
@pytest.mark.parametrize("value", [None, "x", [], {}, {"number": {"number": "x"}}, -1, 1e300, True, 2**64 - 1])
def test_odd_values_of_other_fields_count_as_not_told(field, value):
    content = json.loads(squeue("24.11"))
    for job in content["jobs"]:
        job[field] = value
    jobs = jobs_of_json(json.dumps(content))
    assert len(jobs) == len(JOBS)
    assert all(job.cpus >= 1 and 0 < job.limit <= UNLIMITED for job in jobs)


def test_groups_of_alike_nodes_share_out_their_cpus():
    group = {
        "node": {"state": ["IDLE"]},
        "nodes": {"nodes": ["g[1-3]", "h1"]},
        "cpus": {"total": 256},
        "partition": {"name": "gpu"},
    }
    nodes = nodes_of_json(json.dumps({"sinfo": [group]}))
    assert nodes == dict.fromkeys(("g1", "g2", "g3", "h1"), Node(64, True, ("gpu",)))
    with pytest.raises(ProtocolError, match="no nodes"):
        nodes_of_json('{"sinfo": []}')
