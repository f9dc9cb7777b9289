"""A type of profile is one `ProfileType` in one table: adding one takes no more, and those not there are refused."""

import pytest
from server_inputs import Filler, Script, at, rows, start, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.batsim_server.jobs import ProfileType
from hdeeprm_like.batsim_server.profile_types import PROFILE_TYPES
from hdeeprm_like.errors import WorkloadError


def read_naps(fields, find):
    naps = fields.data.get("naps")
    if not isinstance(naps, int):
        raise fields.refusal("naps must be an integer")
    return naps


def take_naps(running, task, naps):
    for _ in range(naps):
        if code := (yield from running.sleep(2.0)):
            return code
    return 0


NAPS = ProfileType(
    "sleeps ``naps`` times 2 s", read_naps, take_naps, progress=lambda running, task, naps: {"progress": 0.5}
)


def finish_times(folder, jobs, profiles):
    assert play(write_inputs(folder, workload(jobs, profiles)), Filler().ask)
    return {row["job_id"]: (float(row["finish_time"]), row["final_state"]) for row in rows(folder)}


def test_a_type_that_is_added_to_the_table_runs_alone_and_inside_others(tmp_path, monkeypatch):
    monkeypatch.setitem(PROFILE_TYPES, "naps", NAPS)
    profiles = {
        "three": {"type": "naps", "naps": 3},
        "failing": {"type": "naps", "naps": 1, "ret": 3},
        "twice": {"type": "composed", "seq": ["three"], "repeat": 2},
    }
    jobs = [(0, 1, "three", None), (0, 1, "three", 5), (0, 1, "failing", None), (0, 1, "twice", None)]
    assert finish_times(tmp_path, jobs, profiles) == {
        "0": (6.0, "COMPLETED_SUCCESSFULLY"),
        "1": (5.0, "COMPLETED_WALLTIME_REACHED"),
        "2": (2.0, "COMPLETED_FAILED"),
        "3": (12.0, "COMPLETED_SUCCESSFULLY"),
    }


def test_the_progress_of_a_killed_job_is_what_its_type_says(tmp_path, monkeypatch):
    monkeypatch.setitem(PROFILE_TYPES, "naps", NAPS)
    profiles = {"three": {"type": "naps", "naps": 3}, "once": {"type": "composed", "seq": ["three"]}}
    options = write_inputs(tmp_path, workload([(0, 1, "once", None)], profiles))
    kill = at(1.0, ("KILL_JOB", {"job_ids": ["w0!0"]}))
    script = Script([], [start(), ("CALL_ME_LATER", {"timestamp": 1.0})], *[kill] * 4)
    assert play(options, script.ask)
    (killed,) = [data["job_progress"] for data in script.heard_of("JOB_KILLED")]
    part = {"profile_name": "three", "progress": 0.5}
    assert killed == {"w0!0": {"profile_name": "once", "current_task_index": 0, "current_task": part}}


def test_what_a_type_refuses_is_one_line_that_says_where(tmp_path, monkeypatch):
    monkeypatch.setitem(PROFILE_TYPES, "naps", NAPS)
    options = write_inputs(tmp_path, workload([(0, 1, "x", None)], {"x": {"type": "naps", "naps": "many"}}))
    with pytest.raises(WorkloadError, match=r"w\.json: jobs\[0\] \(id 0\): profile 'x': naps must be an integer$"):
        play(options, Script().ask)


@pytest.mark.parametrize("kind", ["siesta", "replay_usage", None, ["delay"], {}])
def test_types_that_are_not_in_the_table_are_refused_with_those_that_are(kind, tmp_path, monkeypatch):
    monkeypatch.setitem(PROFILE_TYPES, "naps", NAPS)
    options = write_inputs(tmp_path, workload([(0, 1, "x", None)], {"x": {"type": kind}}))
    with pytest.raises(WorkloadError, match=r"profile 'x': .*(; known: .*naps|did you mean)") as error:
        play(options, Script().ask)
    assert "\n" not in str(error.value)


def test_every_type_says_what_it_does():
    for name, kind in PROFILE_TYPES.items():
        assert kind.summary, name
        assert "\n" not in kind.summary
