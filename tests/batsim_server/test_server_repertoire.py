"""What recordings of the real Batsim 4.2.1 show, on small inputs: roles, storage, traces, kills, options."""

import json

import pytest
from server_inputs import CLUSTER, HEAD, Filler, Script, platform_xml, reply, rows, storage_xml, workload, write_inputs

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.cli import play, read_command_line
from hdeeprm_like.batsim_server.energy import GRID, MANY, EnergyMeter, long_sum
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.errors import HDeepRMError, OptionsError, ProtocolError, WorkloadError
from hdeeprm_like.formats.batsim_numbers import read_number

PROFILES = {
    "sleep5": {"type": "delay", "delay": 5},
    "work4": {"type": "parallel_homogeneous", "cpu": 4e9, "com": 0},
}


def events_of(script, kind):
    said = [event for text in script.texts for event in json.loads(text)["events"]]
    return [event["data"] for event in said if event["type"] == kind]


def start(alloc="0", number=0, **more):
    return ("EXECUTE_JOB", {"job_id": f"w0!{number}", "alloc": alloc, **more})


def at(now, answer):
    """Give *answer* once, when the simulation has come to *now*."""
    left = [answer]
    return lambda message: left.pop() if left and message["now"] >= now else reply(message["now"])


# -- roles


def roles_xml(**roles):
    hosts = "".join(
        f'<host id="{name}" speed="1Gf">' + (f'<prop id="role" value="{role}"/>' if role else "") + "</host>"
        for name, role in roles.items()
    )
    return f'{HEAD}<zone id="z" routing="Full">{hosts}</zone></platform>\n'


def resources(folder, xml, *words):
    """The compute and storage machines in SIMULATION_BEGINS."""
    write_inputs(folder, workload([], PROFILES), xml)
    options, _ = read_command_line(["-p", str(folder / "p.xml"), "-e", str(folder / "out"), *words])
    script = Script()
    play(options, script.ask)
    (begins,) = events_of(script, "SIMULATION_BEGINS")
    return [
        [(r["id"], r["name"], r["properties"]["role"]) for r in begins[f"{k}_resources"]]
        for k in ("compute", "storage")
    ]


def test_the_platform_or_the_command_line_names_master_and_storage(tmp_path):
    xml = roles_xml(boss="master", a="storage", b="", c="compute_node")
    assert resources(tmp_path, xml) == [[(0, "b", ""), (1, "c", "compute_node")], [(2, "a", "storage")]]
    xml = roles_xml(boss="", a="", b="")
    found = resources(tmp_path, xml, "-m", "boss", "-r", "b,nobody:storage")
    assert found == [[(0, "a", "")], [(1, "b", "storage")]]


@pytest.mark.parametrize(
    ("roles", "words", "hint"),
    [
        ({"boss": "master", "a": ""}, ["-m", "a"], "two master hosts"),
        ({"boss": "master", "a": ""}, ["-m", "boss"], "'master,master'"),
        ({"boss": "", "a": ""}, [], "no host with the role master, nor a host 'master_host'"),
        ({"boss": "master", "a": "judge"}, [], "'judge'"),
        ({"boss": "master", "a": "storage"}, ["-r", "a:compute_node"], "'storage,compute_node'"),
        ({"boss": "master", "a": ""}, ["-r", "a"], "one colon"),
    ],
)
def test_roles_that_batsim_aborts_on_are_refused(roles, words, hint, tmp_path):
    with pytest.raises(OptionsError, match=hint) as error:
        resources(tmp_path, roles_xml(**roles), *words)
    assert "\n" not in str(error.value)


# -- kills, and time


def test_the_second_kill_of_a_job_is_not_even_answered(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "sleep5", None)], PROFILES))
    kill = reply(2.0, *[("KILL_JOB", {"job_ids": ["w0!0", "w0!0"]})] * 2)
    script = Script(reply(0.0), reply(0.0, start(), ("CALL_ME_LATER", {"timestamp": 2.0})), *[at(2.0, kill)] * 4)
    assert play(options, script.ask)
    assert [killed["job_ids"] for killed in events_of(script, "JOB_KILLED")] == [["w0!0"]]
    assert [(row["final_state"], row["execution_time"]) for row in rows(tmp_path)] == [("COMPLETED_KILLED", "2.000000")]


def test_a_job_that_has_ended_unheard_can_be_killed_and_one_that_was_heard_of_cannot(tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "sleep5", None)], PROFILES))
    late = reply(6.0, ("KILL_JOB", {"job_ids": ["w0!0"]}))  # what comes at 5 s waits until this reply is over
    begin = reply(0.0, start(), ("CALL_ME_LATER", {"timestamp": 1.0}))
    script = Script(reply(0.0), begin, *[at(1.0, late)] * 3)
    assert play(options, script.ask)
    assert [job["job_state"] for job in events_of(script, "JOB_COMPLETED")] == ["COMPLETED_SUCCESSFULLY"]
    assert events_of(script, "JOB_KILLED") == [{"job_ids": ["w0!0"], "job_progress": {}}]
    script = Script(reply(0.0), reply(0.0, start()), *[at(5.0, reply(5.0, ("KILL_JOB", {"job_ids": ["w0!0"]})))] * 4)
    with pytest.raises(ProtocolError, match="does not exist"):
        play(options, script.ask)


PARTS = {
    "sleep5": {"type": "delay", "delay": 5},
    "use": {"type": "usage_trace", "trace": "use.txt"},
    "say": {"type": "send", "msg": {}, "sleeptime": 5},
    "hear": {"type": "recv", "polltime": 1},
    "first": {"type": "composed", "seq": ["use", "sleep5"]},
    "answer": {"type": "recv", "timeout": "sleep5"},
    "far": {"type": "parallel_homogeneous", "cpu": 0, "com": 1e6},
}


def killed(folder, profile, xml=None, when=0.0):
    """Return the progress of a job on two machines that is killed some s after its start, or in the same reply."""
    for name, text in (("use.txt", "rank.txt\n"), ("rank.txt", "0 m_usage 1 9e9\n")):
        (folder / name).write_text(text)
    options = write_inputs(folder, workload([(0, 2, profile, None), (99, 1, "sleep5", None)], PARTS), xml)
    kill = ("KILL_JOB", {"job_ids": ["w0!0"]})
    if when:
        later = [reply(0.0, start("0-1"), ("CALL_ME_LATER", {"timestamp": when})), *[at(when, reply(when, kill))] * 2]
    script = Script(reply(0.0), *(later if when else [reply(0.0, start("0-1"), kill)]))
    play(options, script.ask)
    return events_of(script, "JOB_KILLED")[0]["job_progress"]["w0!0"]


@pytest.mark.parametrize("when", [0.0, 1.5])
def test_a_killed_job_that_is_neither_a_task_nor_a_delay_has_no_progress(when, tmp_path):
    for profile in ("use", "say", "hear"):
        nothing = {"profile_name": profile, "current_task_index": -1}
        assert killed(tmp_path, profile, when=when) == nothing
    inside = {"current_task_index": 0, "current_task": {"profile_name": "use", "current_task_index": -1}}
    assert killed(tmp_path, "first", when=when) == {"profile_name": "first", **inside}


def test_batsim_aborts_where_a_job_is_killed_in_what_follows_a_message(tmp_path):
    with pytest.raises(ProtocolError, match="is killed in 'sleep5' after 'answer'; Batsim aborts there"):
        killed(tmp_path, "answer")


def test_a_task_that_only_waits_for_a_latency_has_done_all_its_work(tmp_path):
    hosts = "".join(f'<host id="h{i}" speed="1Gf" coordinates="{9 * i} 0 0"/>' for i in range(2))
    master = '<host id="master_host" speed="1Gf" coordinates="0 0 0"/>'
    xml = f'{HEAD}<zone id="z" routing="Vivaldi">{master}{hosts}</zone></platform>'
    assert killed(tmp_path, "far", xml)["progress"] == 1.0
    assert killed(tmp_path, "far", CLUSTER)["progress"] == pytest.approx(0.0, abs=1e-3)


def test_a_reply_from_the_past_is_taken_at_once(tmp_path):
    options = write_inputs(tmp_path, workload([(3, 1, "sleep5", None)], PROFILES))
    assert play(options, Script(reply(0.0), reply(1.0, start())).ask)
    assert float(rows(tmp_path)[0]["starting_time"]) == pytest.approx(3.0, abs=1e-6)


def test_times_of_a_far_future_are_reached(tmp_path):
    options = write_inputs(tmp_path, workload([(1e17, 1, "sleep5", None)], PROFILES))
    assert play(options, Filler().ask)
    assert float(rows(tmp_path)[0]["starting_time"]) == 1e17


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("-12.25", -12.25),
        ("1e3", 1000.0),
        ("1.5E-3", 0.0015),
        ("853.95008", 853.95008),
        ("1e-400", 0.0),
        ("1234567890123456789.5", 1234567890123456789.5),
        ("9" * 400 + ".5", float("inf")),
        ("1e999", float("inf")),
    ],
)
def test_numbers_are_read_as_they_are_written(text, value):
    assert read_number(text) == value


def test_long_numbers_are_read_as_batsim_does_and_not_exactly():
    assert read_number("853.9500877017445") == pytest.approx(853.9500877017445, rel=1e-15)
    # 16 digits make an integer above 2^53, the 17th is added in floating point, then the places are divided
    assert read_number("1440.4900000000123") == (14404900000000123.0) / 1e13
    assert read_number("0.12345678901234567") == (1234567890123456.0 * 10.0 + 7) * 1.0 / 1e17


# -- several ranks and cores


def cores_xml(cores):
    return (
        platform_xml(2)
        .replace('speed="1Gf,0.5Gf"', f'speed="1Gf" core="{cores}"')
        .replace("30:40:100, 30:40:80", "30:40:100")
    )


@pytest.mark.parametrize(
    ("cores", "mapping", "seconds"),
    [  # what SimGrid 3.32 needs for 4e9 flops per rank on cores of 1e9 flop/s
        (1, {"0": "0", "1": "1"}, 4.0),
        (1, {"0": "0", "1": "0"}, 8.0),
        (4, {"0": "0", "1": "0"}, 4.0),
        (4, {str(rank): "0" for rank in range(5)}, 5.0),
    ],
)
def test_each_rank_takes_a_core(cores, mapping, seconds, tmp_path):
    options = write_inputs(tmp_path, workload([(0, len(mapping), "work4", None)], PROFILES), cores_xml(cores))
    alloc = "0-1" if "1" in mapping.values() else "0"
    assert play(options, Script(reply(0.0), reply(0.0, start(alloc, mapping=mapping))).ask)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("jobs", "ends"),
    [  # what SimGrid 3.32 answered; each job: when it comes, its flops per rank, its machines, the machine of each rank
        ([(0, [4e9, 4e9], "0", "00"), (1, [4e9], "0", "0")], [11.5, 12.0]),
        ([(0, [3e9, 3e9, 6e9], "0-1", "001"), (0, [6e9], "0", "0")], [9.0, 12.0]),
        ([(0, [1e9, 3e9], "0", "00")], [4.0]),
    ],
)
def test_ranks_on_one_host_share_it_with_all_others_as_in_simgrid(jobs, ends, tmp_path):
    profiles = {str(n): {"type": "parallel", "cpu": f, "com": [0] * len(f) ** 2} for n, (_, f, _, _) in enumerate(jobs)}
    listed = [(submit, len(flops), str(number), None) for number, (submit, flops, _, _) in enumerate(jobs)]
    options = write_inputs(tmp_path, workload(listed, profiles)).replaced(compute_sharing=True)

    def answer(message):
        came = [event["data"]["job_id"] for event in message["events"] if event["type"] == "JOB_SUBMITTED"]
        decisions = []
        for number in (int(identifier.removeprefix("w0!")) for identifier in came):
            _, _, alloc, places = jobs[number]
            decisions.append(start(alloc, number, mapping={str(r): place for r, place in enumerate(places)}))
        return reply(message["now"], *decisions)

    assert play(options, Script(*[answer] * 9).ask)
    found = {row["job_id"]: float(row["finish_time"]) for row in rows(tmp_path)}
    assert [found[str(number)] for number in range(len(jobs))] == pytest.approx(ends, abs=1e-6)


# -- storage


@pytest.mark.parametrize(
    ("stores", "profile", "mapping", "seconds"),
    [
        (1, {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1e8}, {}, 10.0),
        (1, {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1e8, "bytes_to_write": 5e7}, {}, 15.0),
        (2, {"type": "parallel_homogeneous_pfs", "bytes_to_write": 1e8, "storage": "big"}, {"big": 3}, 10.0),
        (2, {"type": "data_staging", "nb_bytes": 1e8, "from": "x", "to": "y"}, {"x": 2, "y": 3}, 20.0),
    ],
)
def test_bytes_go_to_and_from_storage_hosts(stores, profile, mapping, seconds, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "p", None)], {"p": profile}), storage_xml(stores))
    more = {"storage_mapping": mapping} if mapping else {}
    assert play(options, Script(reply(0.0), reply(0.0, start("0-1", **more))).ask)
    assert float(rows(tmp_path)[0]["execution_time"]) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    ("profile", "alloc", "more", "hint"),
    [
        ({"type": "parallel_homogeneous_pfs", "bytes_to_read": 1}, "0-1", {}, "which of 2 storage hosts"),
        (
            {"type": "parallel_homogeneous_pfs", "bytes_to_read": 1},
            "0-1",
            {"storage_mapping": {"pfs": 0}},
            "a storage host",
        ),
        ({"type": "data_staging", "nb_bytes": 1, "from": "x", "to": "y"}, "0-1", {}, "'x': must be a storage host"),
        ({"type": "parallel_homogeneous", "cpu": 1, "com": 0}, "1-2", {}, "cannot compute"),
    ],
)
def test_what_storage_hosts_cannot_do_is_refused(profile, alloc, more, hint, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "p", None)], {"p": profile}), storage_xml(2))
    with pytest.raises(ProtocolError, match=hint):
        play(options, Script(reply(0.0), reply(0.0, start(alloc, **more))).ask)


# -- traces


def write_trace(folder, *ranks):
    (folder / "t.txt").write_text("".join(f"rank{rank}.txt\n" for rank in range(len(ranks))))
    for rank, lines in enumerate(ranks):
        (folder / f"rank{rank}.txt").write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    ("kind", "ranks", "walltime", "seconds"),
    [
        ("usage_trace", [["0 m_usage 1 4e9"], ["1 m_usage 0.5 2e9", "1 m_usage 0.1 1e9"]], None, 4.0),
        ("usage_trace", [["0 m_usage 1 4e9"]], 3, 3.0),
        ("smpi", [["0 init", "0 compute 1e9", "0 finalize"], ["1 init", "1 compute 3e9"]], None, 3.0),
        ("smpi", [["0 send 1 0 125e7", "0 compute 1e9"], ["1 sleep 2", "1 recv 0 0 125e7"]], None, 4.0),
        ("smpi", [["0 send 1 0 125e7", "0 compute 1e9"], ["1 sleep 2", "1 recv 0 0 125e7"]], 2.5, 2.5),
        ("smpi", [["0 bcast 125e6 0 0", "0 barrier"], ["1 bcast 125e6 0 0", "1 barrier"]], None, 0.8),
    ],
)
def test_a_trace_lasts_as_long_as_its_slowest_rank(kind, ranks, walltime, seconds, tmp_path):
    write_trace(tmp_path, *ranks)
    profiles = {"t": {"type": kind, "trace": "t.txt"}}
    xml = cores_xml(4) if kind == "usage_trace" else CLUSTER
    options = write_inputs(tmp_path, workload([(0, 2, "t", walltime)], profiles), xml)
    assert play(options, Script(reply(0.0), reply(0.0, start("0-1"))).ask)
    (row,) = rows(tmp_path)
    assert float(row["execution_time"]) == pytest.approx(seconds, abs=1e-6)
    assert row["final_state"] == ("COMPLETED_SUCCESSFULLY" if walltime is None else "COMPLETED_WALLTIME_REACHED")


def test_a_job_can_be_killed_while_its_ranks_talk(tmp_path):
    write_trace(tmp_path, ["0 irecv 1 7 125e7", "0 send 1 0 125e7"], ["1 isend 0 7 125e7", "1 recv 0 0 125e7"])
    jobs = [(0, 2, "t", None), (2, 2, "t", None)]
    options = write_inputs(tmp_path, workload(jobs, {"t": {"type": "smpi", "trace": "t.txt"}}), CLUSTER)
    filler, killed = Filler(), []

    def ask(text):
        answer = json.loads(filler.ask(text))
        if '"w0!0"' in text and not killed:
            killed.append("w0!0")
            answer["now"] = 0.5
            answer["events"].append({"timestamp": 0.5, "type": "KILL_JOB", "data": {"job_ids": killed}})
        return json.dumps(answer).encode()

    assert play(options, ask)
    first, second = rows(tmp_path)
    assert (first["final_state"], first["execution_time"]) == ("COMPLETED_KILLED", "0.500000")
    assert second["final_state"] == "COMPLETED_SUCCESSFULLY"
    assert float(second["execution_time"]) == pytest.approx(1.0, abs=1e-6)  # the links are free again


STATE = {"job_id": "w0!0", "job_state": "RUNNING"}


@pytest.mark.parametrize(
    ("events", "hint"),
    [
        ([STATE | {"job_state": "REJECTED"}], "Batsim aborts where job w0!0, which is SUBMITTED, is made REJECTED"),
        ([STATE, STATE | {"job_state": "COMPLETED_SUCCESSFULLY"}], "Batsim aborts where .* COMPLETED_SUCCESSFULLY"),
        ([STATE | {"job_state": "COMPLETED_KILLED"}], "which is SUBMITTED, is made COMPLETED_KILLED"),
        ([STATE, STATE], "which is RUNNING, is made RUNNING"),
        ([STATE | {"job_state": "DANCING"}], "'DANCING' is none of NOT_SUBMITTED, "),
        ([STATE | {"job_id": "w0!9"}], "does not exist"),
    ],
)
def test_a_job_state_is_changed_only_as_batsim_survives_it(events, hint, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "work4", None)], PROFILES))
    said = reply(0.0, *(("CHANGE_JOB_STATE", event) for event in events))
    with pytest.raises(ProtocolError, match=hint):
        play(options, Script(reply(0.0), said).ask)


@pytest.mark.parametrize(
    ("then", "hint"),
    [(("KILL_JOB", {"job_ids": ["w0!0"]}), "nothing to kill"), (start("0-1"), "is RUNNING, not SUBMITTED")],
)
def test_a_job_that_only_counts_as_running_never_ends(then, hint, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 2, "work4", None)], PROFILES))
    with pytest.raises(ProtocolError, match=hint):
        play(options, Script(reply(0.0), reply(0.0, ("CHANGE_JOB_STATE", STATE), then)).ask)
    patient = Script(reply(0.0), reply(0.0, ("CHANGE_JOB_STATE", STATE)), reply(0.0), reply(0.0))
    assert not play(options, patient.ask)  # as Batsim: nothing more can happen


def test_a_job_that_replays_a_trace_can_be_killed(tmp_path):
    write_trace(tmp_path, ["0 m_usage 1 4e9"], ["1 m_usage 1 9e9"])
    options = write_inputs(tmp_path, workload([(0, 2, "t", None)], {"t": {"type": "usage_trace", "trace": "t.txt"}}))
    kill = reply(2.0, ("KILL_JOB", {"job_ids": ["w0!0"]}))
    begin = reply(0.0, start("0-1"), ("CALL_ME_LATER", {"timestamp": 2.0}))
    assert play(options, Script(reply(0.0), begin, *[at(2.0, kill)] * 4).ask)
    assert (rows(tmp_path)[0]["final_state"], rows(tmp_path)[0]["execution_time"]) == ("COMPLETED_KILLED", "2.000000")


@pytest.mark.parametrize(
    ("kind", "ranks", "hint"),
    [
        ("usage_trace", [["0 m_usage 2 1e9"]], r"rank0\.txt:1"),
        ("smpi", [["0 compute 1", "0 test 0 1 0"]], r"rank0\.txt:2.*test is not replayed: how often"),
        ("smpi", [["0 fly 1"]], r"rank0\.txt:1.*fly is not replayed: the operations are init, .*barrier"),
        ("smpi", [["0 send 1 0"]], r"rank0\.txt:1.*needs a rank, a tag and a number of elements"),
        ("smpi", [["0 send 0 0 1e9 77"]], r"rank0\.txt:1.*type: is '77'; a whole number from 0 to 29 is needed"),
        ("smpi", [["0 send 0 0 3e9"]], r"rank0\.txt:1.*word 3: is '3e9'; a number of elements from 0 to"),
        ("smpi", [["0 send 5 0 8"]], r"rank0\.txt:1.*rank: is '5'; a whole number from 0 to 0 is needed"),
        ("smpi", [["0 recv 1 0 -1"], ["1 send 0 0 1"]], r"rank0\.txt:1"),
        ("smpi", [["0 recv 1 0 8"], ["1 send 0 0 9"]], "rank 0 takes 8 bytes from rank 1, which sends it 9"),
        ("usage_trace", [["0 m_usage 1 1"]] * 3, "3 different hosts, the job has 2"),
    ],
)
def test_traces_that_cannot_be_replayed_are_one_line(kind, ranks, hint, tmp_path):
    write_trace(tmp_path, *ranks)
    options = write_inputs(tmp_path, workload([(0, 2, "t", None)], {"t": {"type": kind, "trace": "t.txt"}}))
    with pytest.raises(WorkloadError, match=hint) as error:
        play(options, Script(reply(0.0), reply(0.0, start("0-1"))).ask)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("unused", "hint"),
    [
        ({"type": "smpi", "trace": "missing.txt"}, "missing"),
        ({"type": "delay", "delay": 0}, "delay"),
        ({"type": "composed", "seq": []}, "seq"),
        ({"type": "composed", "seq": ["nothing"]}, None),
    ],
)
def test_profiles_that_no_job_has_are_checked_too_but_for_their_parts(unused, hint, tmp_path):
    options = write_inputs(tmp_path, workload([(0, 1, "sleep5", None)], PROFILES | {"unused": unused}))
    if hint is None:
        assert play(options, Filler().ask)
        return
    with pytest.raises(WorkloadError, match=f"profile 'unused': .*{hint}"):
        play(options, Filler().ask)


# -- options


def test_without_a_scheduler_all_jobs_run_at_once_and_none_is_listed(tmp_path):
    write_inputs(tmp_path, workload([(0, 2, "work4", None), (7, 2, "work4", 6), (0, 1, "sleep5", None)], PROFILES))
    files = ["-p", tmp_path / "p.xml", "-w", tmp_path / "w.json", "-e", tmp_path / "out"]
    assert cli.main([*map(str, files), "--no-sched", "-q"]) == 0
    assert rows(tmp_path) == []
    # the two tasks share 2 machines until the walltime ends one at 6 s; the other has done 3 s of its 4 s
    assert [row["time"] for row in rows(tmp_path, "out_machine_states.csv")] == ["0", "0", "0", "5", "6", "7"]
    (figures,) = rows(tmp_path, "out_schedule.csv")
    assert (figures["nb_jobs"], figures["time_computing"]) == ("0", "14.000000")


def test_the_execution_context_is_printed_and_nothing_is_simulated(tmp_path, capsys):
    words = ["-p", "missing.xml", "-s", "tcp://x:1", "-e", str(tmp_path / "out"), "--redis-port", "7"]
    assert cli.main([*words, "--dump-execution-context"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "socket_endpoint": "tcp://x:1",
        "redis_enabled": False,
        "redis_hostname": "127.0.0.1",
        "redis_port": 7,
        "redis_prefix": "default",
        "export_prefix": str(tmp_path / "out"),
        "external_scheduler": True,
    }
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "submitted"),
    [("network/model:CM02", 1.0), ("network/loopback-lat:0.25", 1.25), ("network/loopback-bw:4", 1.25)],
)
def test_an_option_of_simgrid_changes_what_it_changes_there(setting, submitted, tmp_path):
    options = write_inputs(tmp_path, workload([(1, 1, "sleep5", None)], PROFILES))
    script = Script(reply(0.0), lambda message: reply(message["now"], start()))
    assert play(options.replaced(simgrid=(setting,)), script.ask)
    (time,) = [json.loads(text)["now"] for text in script.texts if "JOB_SUBMITTED" in text]
    assert time == pytest.approx(submitted, abs=2e-6)  # 1 s, and the way of one byte to the server


def test_a_platform_sets_options_too_and_the_command_line_has_the_last_word(tmp_path):
    xml = platform_xml(2).replace(
        '<zone id="main"', '<config id="General"><prop id="network/loopback-lat" value="0.5"/></config><zone id="main"'
    )
    options = write_inputs(tmp_path, workload([(1, 1, "sleep5", None)], PROFILES), xml)
    for more, submitted in (((), 1.5), (("network/loopback-lat:0.25",), 1.25)):
        script = Script(reply(0.0), lambda message: reply(message["now"], start()))
        assert play(options.replaced(simgrid=more), script.ask)
        (time,) = [json.loads(text)["now"] for text in script.texts if "JOB_SUBMITTED" in text]
        assert time == pytest.approx(submitted, abs=2e-6)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--sg-cfg", "network/model"], "NAME:VALUE"),
        (["--sg-cfg", "host/solver:bmf"], "fairbottleneck"),
        (["--sg-cfg", "network/TCP-gama:1"], "did you mean"),
        (["--sg-cfg", "surf/precision:0"], "number"),
        (["--enable-redis"], "redis"),
    ],
)
def test_options_that_are_not_imitated_are_one_line(words, hint):
    with pytest.raises(HDeepRMError, match=hint) as error:
        read_command_line(["-p", "p.xml", *words])
    assert "\n" not in str(error.value)


OPTIONS = """platform workload workflow WS events master-host add-role-to-hosts energy socket-endpoint enable-redis
redis-hostname redis-port redis-prefix export disable-schedule-tracing disable-machine-state-tracing mmax mmax-workload
forward-profiles-on-submission enable-dynamic-jobs acknowledge-dynamic-jobs enable-profile-reuse verbosity quiet
workflow-jobs-limit ignore-beyond-last-workflow dump-execution-context enable-compute-sharing disable-storage-sharing
no-sched sched-cfg sched-cfg-file sg-cfg sg-log forward-unknown-events version simgrid-version"""


def test_all_options_of_batsim_are_in_the_help(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    shown = capsys.readouterr().out
    assert [name for name in OPTIONS.split() if f"--{name}" not in shown] == []


def test_a_sum_is_rounded_like_a_long_double_whoever_takes_it():
    values = [1.1e7 / (number + 1) for number in range(MANY)]
    one_by_one, by_numpy = long_sum(values), long_sum([*values, 0.0])
    assert one_by_one == by_numpy
    assert one_by_one / GRID == pytest.approx(sum(values), rel=1e-14)


def test_the_mean_power_of_a_microsecond_is_the_difference_of_long_sums():
    meter = EnergyMeter([Constraint(1e9)] * 3, [((100.0 + 7 * k, 120.0, 170.3),) for k in range(3)], [0, 0, 0])
    meter.mean_watts(40.612897)
    before = long_sum(meter.joules)
    assert meter.mean_watts(40.612898) == (long_sum(meter.joules) - before) / GRID / (40.612898 - 40.612897)
