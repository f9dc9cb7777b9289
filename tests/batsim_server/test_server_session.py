"""What a session does, on clusters whose answers fit on paper."""

import json
import logging

import pytest
from calls import calls_of
from server_inputs import CLUSTER, Filler, Script, platform_xml, random_workload, reply, rows, workload, write_inputs

from hdeeprm_like.batsim_server.cli import play
from hdeeprm_like.errors import PlatformError, WorkloadError

PROFILES = {
    "sleep5": {"type": "delay", "delay": 5},
    "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
    "talk": {"type": "parallel_homogeneous", "cpu": 0, "com": 1.25e9},
    "total": {"type": "parallel_homogeneous_total", "cpu": 8e9, "com": 0},
    "twice": {"type": "composed", "seq": ["sleep5", "work4"], "repeat": 2},
    "fails": {"type": "composed", "seq": ["bad", "sleep5"]},
    "bad": {"type": "delay", "delay": 1, "ret": 7},
}


def ends(folder, jobs):
    options = write_inputs(folder, workload(jobs, PROFILES), CLUSTER)
    filler = Filler()
    assert play(options, filler.ask)
    return {row["job_id"]: (float(row["finish_time"]), row["final_state"]) for row in rows(folder)}


@pytest.mark.parametrize(
    ("profile", "walltime", "end", "state"),
    [
        ("sleep5", None, 5.0, "COMPLETED_SUCCESSFULLY"),
        ("sleep5", 5, 5.0, "COMPLETED_WALLTIME_REACHED"),
        ("work4", 4, 4.0, "COMPLETED_SUCCESSFULLY"),
        ("work4", 3, 3.0, "COMPLETED_WALLTIME_REACHED"),
        ("total", None, 4.0, "COMPLETED_SUCCESSFULLY"),
        ("talk", None, 1.0, "COMPLETED_SUCCESSFULLY"),  # 1.25e9 bytes out of and into each host, 10 Gbps each way
        ("twice", None, 18.0, "COMPLETED_SUCCESSFULLY"),
        ("twice", 12, 12.0, "COMPLETED_WALLTIME_REACHED"),
        ("fails", None, 1.0, "COMPLETED_FAILED"),
    ],
)
def test_a_job_ends_as_its_profile_and_walltime_say(profile, walltime, end, state, tmp_path):
    assert ends(tmp_path, [(0, 2, profile, walltime)]) == {"0": (pytest.approx(end, abs=1e-6), state)}


def test_the_host_with_the_highest_number_is_not_the_last_in_byte_order(tmp_path):
    options = write_inputs(tmp_path, workload([], {}), platform_xml(12))
    filler = Filler()
    play(options, filler.ask)
    names = [machine["name"] for machine in filler.heard_of("SIMULATION_BEGINS")[0][1]["compute_resources"]]
    assert names[:4] == ["h0", "h1", "h10", "h11"]


def test_a_slower_machine_slows_the_whole_job(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "work4", None)], PROFILES))
    start = reply(0.0, ("EXECUTE_JOB", {"job_id": "w0!0", "alloc": "0-1"}), ("CALL_ME_LATER", {"timestamp": 2.0}))
    slow = reply(2.0, ("SET_RESOURCE_STATE", {"resources": "1", "state": "1"}))

    def when_called(message):
        return slow if message["now"] == 2.0 else reply(message["now"])

    play(options.replaced(energy=True), Script(reply(0.0), start, when_called, when_called).ask)
    row = rows(tmp_path)[0]
    assert float(row["finish_time"]) == pytest.approx(6.0, abs=1e-6)
    # 2 s at 200 W; then 4 s of one machine at 80 W and of one at half load: 40 + (100 - 40) / 2 W
    assert float(row["consumed_energy"]) == pytest.approx(2 * 200 + 4 * (80 + 70), abs=1e-4)


def test_two_jobs_share_a_machine_when_that_is_allowed(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "work4", None)] * 2, PROFILES)).replaced(compute_sharing=True)
    both = [("EXECUTE_JOB", {"job_id": f"w0!{number}", "alloc": "2"}) for number in (0, 1)]
    assert play(options, Script(reply(0.0), reply(0.0, *both)).ask)
    assert [float(row["finish_time"]) for row in rows(tmp_path)] == pytest.approx([8.0, 8.0], abs=1e-6)


def test_a_mapping_puts_two_ranks_on_one_machine(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "work4", None)], PROFILES))
    start = ("EXECUTE_JOB", {"job_id": "w0!0", "alloc": "3", "mapping": {"0": "0", "1": "0"}})
    assert play(options, Script(reply(0.0), reply(0.0, start)).ask)
    assert float(rows(tmp_path)[0]["finish_time"]) == pytest.approx(8.0, abs=1e-6)


def test_250_jobs_on_128_machines_cost_the_server_little(tmp_path):
    """Calls of functions are counted, for a third of a second is not the same on every machine: 320,000 take 0.17 s."""
    options = write_inputs(tmp_path, random_workload(1, 250, 128), platform_xml(128)).replaced(energy=True)
    assert play(options, Filler().ask)
    assert calls_of(lambda: play(options, Filler().ask)) < 400_000


def test_a_job_that_is_never_started_is_a_deadlock_with_complete_files(tmp_path, caplog):
    options = write_inputs(tmp_path, workload([(0, 1, "sleep5", None)], PROFILES))
    script = Script()
    with caplog.at_level(logging.WARNING):
        assert not play(options, script.ask)
    assert "deadlock" in caplog.text
    assert not any("SIMULATION_ENDS" in text for text in script.texts)
    assert rows(tmp_path) == []
    assert rows(tmp_path, "out_schedule.csv")[0]["nb_jobs"] == "0"
    assert not (tmp_path / "out_INCOMPLETE").exists()


def test_nothing_is_lost_in_a_thousand_jobs(tmp_path):
    options = write_inputs(tmp_path, random_workload(3, 1000, 16), platform_xml(16))
    filler = Filler()
    assert play(options.replaced(energy=True), filler.ask)
    assert len(rows(tmp_path)) == 1000 == len(filler.heard_of("JOB_COMPLETED"))
    assert filler.free == set(range(16))
    joules = [float(row["energy"]) for row in rows(tmp_path, "out_consumed_energy.csv")]
    assert joules == sorted(joules)
    times = rows(tmp_path, "out_schedule.csv")[0]
    busy = sum(float(r["execution_time"]) * int(r["requested_number_of_resources"]) for r in rows(tmp_path))
    assert float(times["time_computing"]) == pytest.approx(busy, rel=1e-6)


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"nb_res": 0}, "nb_res"),
        ({"jobs": {}}, "list"),
        ({"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "slep5"}]}, "did you mean 'sleep5'"),
        ({"jobs": [{"id": 1, "subtime": -1, "res": 1, "profile": "sleep5"}]}, "subtime: is -1; a number from 0"),
        ({"jobs": [{"id": 1, "subtime": 0, "res": 1.5, "profile": "sleep5"}]}, "res"),
        ({"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "sleep5", "walltime": 0}]}, "walltime"),
        ({"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "sleep5"}] * 2}, "already"),
        ({"jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "x"}], "profiles": {"x": {"type": "smpi"}}}, "trace"),
        (
            {
                "jobs": [{"id": 1, "subtime": 0, "res": 1, "profile": "x"}],
                "profiles": {"x": {"type": "composed", "seq": ["x"]}},
            },
            "hold themselves",
        ),
    ],
)
def test_a_workload_that_cannot_be_used_is_refused_in_one_line(change, hint, tmp_path):
    options = write_inputs(tmp_path, workload([], PROFILES) | change)
    with pytest.raises(WorkloadError, match=hint) as error:
        play(options, Script().ask)
    assert "\n" not in str(error.value)


def test_energy_needs_the_property_of_today(tmp_path):
    options = write_inputs(tmp_path, workload([], {}), platform_xml(2, prop="watt_per_state"))
    with pytest.raises(PlatformError, match="older watt_per_state"):
        play(options.replaced(energy=True), Script().ask)


def test_batsim_reports_a_job_as_in_the_workload(tmp_path):
    content = workload([(1.25, 1, "sleep5", None)], PROFILES)
    content["jobs"][0] |= {"user": "ada", "tags": [1, 2.5, None, True]}
    options = write_inputs(tmp_path, content)
    script = Script(reply(0.0), lambda message: reply(message["now"], ("REJECT_JOB", {"job_id": "w0!0"})))
    assert play(options, script.ask)
    assert '"job":{"id":"w0!0","subtime":1.250000,"res":1,' in script.texts[1]
    assert '"tags":[1,2.500000,null,true]' in script.texts[1]
    assert json.loads(script.texts[1])["events"][0]["data"]["job"]["user"] == "ada"
    assert rows(tmp_path)[0]["final_state"] == "REJECTED"
