"""Over Batsim 5's messages the schedule is the one over Batsim 4's and in process; recordings are read to the end."""

import csv
import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from batsim_replay import messages_of
from batsim_talk import assert_same_schedule, jobs_of, play_on_server, play_on_server5, talk, write_inputs
from hypothesis import given, settings
from hypothesis import strategies as st
from random_worlds import platforms, workloads
from small import jobs, platform, run
from test_launch_batsim import experiment_file

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.codec5 import Codec5
from hdeeprm_like.batsim.session import Conversation
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.names import CORE_POLICIES, JOB_POLICIES
from hdeeprm_like.decision.system import FirstAction
from hdeeprm_like.engine.state import Commands
from hdeeprm_like.errors import PlatformError, ProtocolError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats.batsim_numbers import read_number
from hdeeprm_like.formats.platform_hosts import read_platform_xml
from hdeeprm_like.formats.platform_properties import figures_of, properties_of
from hdeeprm_like.formats.workload_json import read_workload
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.in_process import launch
from hdeeprm_like.launch.peers import Peer, is_of_batsim5, peer_of
from hdeeprm_like.launch.run_folder import write_inputs as write_run_inputs

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim5"
CASES = sorted(path.name for path in GOLDEN.iterdir())
ENDED = [case for case in CASES if (GOLDEN / case / "out" / "schedule.json").exists()]


def recorded(case, direction):
    """What one side said in a recorded conversation after the handshake."""
    return [one["raw"] for one in messages_of(GOLDEN / case) if one["dir"] == direction and "handshake" not in one]


# -- one truth


@settings(max_examples=50)
@given(
    platform=platforms,
    workload=workloads(ties=False),
    pair=st.tuples(st.sampled_from(sorted(JOB_POLICIES)), st.sampled_from(sorted(CORE_POLICIES))),
)
def test_the_schedule_of_a_pair_is_the_same_with_batsim_4_and_5_and_in_process(
    platform, workload, pair, tmp_path_factory
):
    folder = tmp_path_factory.mktemp("both")
    exact = write_inputs(platform, workload, folder)
    platform = read_platform_xml(folder / "platform.xml")
    workload = read_workload(folder / "workload.json", reference_flops=platform.reference_flops)
    finished = run(platform, workload, pair, 3)
    four, jobs_of_5 = play_both(folder, lambda: talk_of(platform, pair, exact))
    assert_same_schedule(finished, jobs_of_5)
    mine, theirs = four.system.state.tables, finished.state.tables
    for column in ("status", "size", "requested_time", "requested_ops", "memory", "bandwidth"):
        assert mine.jobs[column][: len(workload)].tolist() == theirs.jobs[column].tolist()
    assert (mine.words[["low", "high"]] == theirs.words[["low", "high"]]).all()  # the P-states
    assert mine.clock["joules"][0] == pytest.approx(theirs.clock["joules"][0], rel=1e-6, abs=1e-3)


@pytest.mark.parametrize("pair", [("random", "high_gflops"), ("shortest", "random")])
@pytest.mark.parametrize("world", [(0, 160, 2, 20), (1, 160, 2, 20), (2, 160, 2, 20), (3, 160, 2, 20), (2, 60, 1, 8)])
def test_pairs_that_draw_have_one_schedule_where_walltimes_end_as_jobs_arrive(world, pair, tmp_path):
    seed, seconds, shortest, longest = world
    rng, count = np.random.default_rng(seed), 40
    many = jobs(
        submit=np.sort(rng.integers(0, seconds, count)).astype(float),
        seconds=rng.uniform(2.0, 30.0, count),
        walltime=np.where(rng.random(count) < 0.3, np.inf, rng.integers(shortest, longest, count)),
        size=rng.integers(1, 5, count),
    )
    cluster = platform((4000.0, [(2, 1.0, 100.0, 10.0), (2, 2.0, 80.5, 10.0)]))
    exact = write_inputs(cluster, many, tmp_path)
    cluster = read_platform_xml(tmp_path / "platform.xml")
    many = read_workload(tmp_path / "workload.json", reference_flops=cluster.reference_flops)
    assert play_on_server5(talk_of(cluster, pair, exact)(Codec5()), tmp_path)[1]
    assert_same_schedule(run(cluster, many, pair, 3), tmp_path / "five_jobs.csv")


def talk_of(platform, pair, exact):
    return lambda codec: talk(platform, pair, 3, exact, codec=codec)


def play_both(folder, new_talk):
    """Play a folder with both servers, whose files must say the same; return the talk with Batsim 4 and 5's jobs."""
    four, five = new_talk()(Codec4()), new_talk()(Codec5())
    assert play_on_server(four, folder)[1]
    assert play_on_server5(five, folder)[1]
    assert four.ended
    assert five.ended
    theirs, ours = jobs_of(folder / "out_jobs.csv"), jobs_of(folder / "five_jobs.csv")
    assert list(theirs) == list(ours)
    for job, row in theirs.items():
        compared = dict(ours[job], profile=row["profile"], consumed_energy=row["consumed_energy"])
        assert compared == row
        assert float(ours[job]["consumed_energy"] or 0) == pytest.approx(float(row["consumed_energy"] or 0), rel=1e-5)
        assert ours[job]["profile"] == f"w0!{row['profile']}"
    return four, folder / "five_jobs.csv"


# reads everything that changes: power, contention, what is left, the run times of users, and the queue
PLACEMENT = {
    **{"speed*trusted_log_time": -0.3, "added_power": 0.2, "contended*bandwidth_share": 0.1, "slowed*queue": 0.2},
    **{"memory_left*memory_share": 0.1, "cores_left*log_cores": 0.1, "node_left*free": 0.1, "lag*log_wait_hours": 0.1},
}


# takes 3 s
@pytest.mark.more
@pytest.mark.parametrize(
    ("policy", "jobs"),
    [
        *((name, 120) for name in ("sjf+easy-high_gflops", "fcfs+conservative-low_power", "tetris", "multifactor")),
        *(("bfbp", 120), ("scored:placed.json", 120), ("scored:placed.json-high_gflops", 120)),
        ("zoo:balanced", 200),  # learned policies keep more of each job, for which room is made on the way
    ],
)
def test_the_schedule_of_a_baseline_or_a_learned_policy_is_the_same_too(policy, jobs, tmp_path):
    scores = {"queue": {"trusted_log_time": 1.0, "placement": 0.5}, "placement": PLACEMENT}
    (tmp_path / "placed.json").write_text(json.dumps(scores))
    experiment = load_experiment(experiment_file(tmp_path, jobs, pair=policy.replace("placed", f"{tmp_path}/placed")))
    write_run_inputs(experiment, tmp_path)
    limits = experiment.workload.limits()

    def new_talk():
        decide = Classic(experiment).system
        text = (tmp_path / "workload.json").read_text()
        exact = {"w0": json.loads(text, parse_float=read_number)["profiles"]}
        return lambda codec: Conversation(decide, FirstAction(), codec, experiment.platform, limits, exact)

    ours = jobs_of(play_both(tmp_path, new_talk)[1])
    launch(Classic(experiment), tmp_path / "here", progress=False)
    mine = jobs_of(tmp_path / "here" / "out_jobs.csv")
    for column in ("allocated_resources", "starting_time", "finish_time"):
        assert {job: row[column] for job, row in ours.items()} == {job: row[column] for job, row in mine.items()}


def test_profiles_and_users_come_with_the_jobs_if_no_file_has_them(tmp_path):
    cluster = platform((1000.0, [(4, 1.0, 100.0, 10.0)]))
    many = jobs(submit=[0.0, 1.0, 2.0], seconds=[5.0, 4.0, 3.0], size=[4, 2, 1], memory=[10.0, 20.0, 0.0])
    many = replace(many, user=np.array([3, 1, 2]))
    write_inputs(cluster, many, tmp_path)
    ours = talk(policy=("shortest", "high_gflops"), codec=Codec5())  # knows neither the platform nor the profiles
    assert play_on_server5(ours, tmp_path)[1]
    rows = ours.system.state.tables.jobs[:3]
    assert rows["memory"].tolist() == [10.0, 20.0, 0.0]
    assert rows["user"].tolist() == [3, 1, 2]
    assert rows["requested_time"].tolist() == [5.0, 4.0, 3.0]
    rebuilt = ours.system.state.platform
    assert (rebuilt.processor_flops == cluster.processor_flops).all()


# -- what was recorded


class Ear:
    """Notes what a codec says."""

    def __init__(self):
        self.begun = self.ended = self.over = False
        self.hosts, self.times, self.jobs, self.outcomes, self.calls = [], [], {}, {}, 0

    def time_is(self, now):
        self.times.append(now)

    def simulation_begins(self, hosts, profiles, registration):
        self.begun, self.hosts = True, hosts

    def simulation_ends(self):
        self.ended = True

    def job_submitted(self, submission):
        self.jobs[submission.identifier] = submission

    def job_completed(self, identifier, outcome):
        self.outcomes[identifier] = outcome

    def called(self):
        self.calls += 1

    def arrivals_over(self):
        self.over = True


@pytest.mark.parametrize("case", CASES)
def test_everything_that_batsim_5_said_is_understood(case):
    codec, ear = Codec5(), Ear()
    for text in recorded(case, "batsim->edc"):
        codec.deliver(codec.parse(text + "\0"), ear)
    assert [name for name, _ in ear.hosts][:3] == ["a0", "a1", "a2"]  # in the order of numbers
    assert ear.hosts[12][1]["hdeeprm_speed"] == "2000000000.0f, 1500000000.0f, 1000000000.0f, 0.001f"
    assert ear.times == sorted(ear.times)
    assert ear.times == [round(time, 6) for time in ear.times]
    if case in ENDED:
        rows = list(csv.DictReader((GOLDEN / case / "out" / "jobs.csv").read_text().splitlines()))
        assert ear.ended
        assert ear.over
        assert set(ear.jobs) == {f"{row['workload_name']}!{row['job_id']}" for row in rows}
        for row in rows:
            job = ear.jobs[f"{row['workload_name']}!{row['job_id']}"]
            limit = float(row["requested_time"])
            assert (job.size, job.walltime) == (int(row["requested_number_of_resources"]), None if limit < 0 else limit)
            assert job.submit == pytest.approx(float(row["submission_time"]), abs=1e-6)
            assert f"{row['workload_name']}!{job.profile}" == row["profile"]
            if row["final_state"] != "REJECTED":
                assert ear.outcomes[job.identifier] == row["final_state"]
    assert ear.calls == sum(text.count("RequestedCallEvent") for text in recorded(case, "batsim->edc"))
    with_profile = {name: job.forwarded for name, job in ear.jobs.items() if job.forwarded}
    assert bool(with_profile) == (case in ("fwd", "kill"))
    if case == "fwd":
        assert with_profile["w0!1"]["type"] == "composed"
        assert with_profile["w0!0"] == {
            "type": "parallel_homogeneous",
            "cpu": 1e10,
            "com": 0.0,
            "generation_strategy": "DefinedAmountsUsedForEachValue",
        }


def test_what_we_say_has_the_form_of_what_was_said_to_batsim_5():
    said = {}
    for case in CASES:
        for text in recorded(case, "edc->batsim"):
            said |= {event["event_type"]: event for event in json.loads(text)["events"]}
    commands = Commands(starts=[], rejects=[1], kills=[0], pstates={0: 2, 1: 2, 3: 0}, wake_at=4.5)
    ours = talk(platform((1000.0, [(4, 1.0, 100.0, 10.0)])), codec=Codec5())
    answer(ours, begins(platform((1000.0, [(4, 1.0, 100.0, 10.0)]))), message(1.0, submitted(2)))
    ours.identifiers[:] = ["w0!0", "w0!1"]
    listed = json.loads(ours.write(commands))["events"]
    listed += json.loads(answer(talk(codec=Codec5()), begins(platform()), message(0.0, submitted(1))))["events"]
    kinds = ["RejectJobEvent", "ChangeHostsPStateEvent", "KillJobsEvent", "CallMeLaterEvent", "ExecuteJobEvent"]
    assert set(kinds) == {event["event_type"] for event in listed}
    for event in listed:
        assert form(event) == form(said[event["event_type"]]) or event["event_type"] == "CallMeLaterEvent"
    call = next(event["event"] for event in listed if event["event_type"] == "CallMeLaterEvent")
    assert call["when"] == {"time": 4500, "time_unit": "Millisecond"}


def form(content):
    """The keys and types of some JSON."""
    if isinstance(content, dict):
        return {key: form(value) for key, value in content.items()}
    return [form(content[0])] if isinstance(content, list) and content else type(content)


# -- the handshake, and what is refused


def hello(text="init"):
    return struct.pack("=I", len(text)) + text.encode()


def message(now, *events):
    listed = [{"timestamp": now, "event_type": kind, "event": content} for kind, content in events]
    return json.dumps({"now": now, "events": listed}) + "\0"


def begins(cluster, **changes):
    hosts, figures = [], figures_of(cluster)
    for core, processor in enumerate(cluster.core_processor.tolist()):
        properties = properties_of(figures[processor])
        speeds = cluster.processor_flops[processor].tolist()
        pairs = [{"key": key, "value": value} for key, value in sorted(properties.items())]
        host = {"id": core, "name": cluster.core_names[core], "pstate_count": 4, "computation_speed": speeds}
        hosts.append(host | {"properties": pairs} | changes)
    return message(0.0, ("SimulationBeginsEvent", {"computation_hosts": hosts}))


def submitted(number, **changes):
    job = {"resource_request": 1, "walltime": None, "extra_data": "", "profile_id": "w0!p"} | changes
    profile = {"id": "w0!p", "profile_type": "DelayProfile", "profile": {"delay": 5.0}}
    return "JobSubmittedEvent", {"job_id": f"w0!{number}", "job": job, "submission_time": 0.0, "profile": profile}


def answer(ours, *messages):
    ours.answer(hello())
    return [ours.answer(text) for text in messages][-1]


def test_the_first_message_is_answered_with_who_we_are():
    answer = talk(codec=Codec5()).answer(hello("{}")).encode()
    assert struct.unpack_from("=I", answer) == (2,)
    (event,) = json.loads(answer[4:])["events"]
    assert event["event_type"] == "EDCHelloEvent"
    assert event["event"]["decision_component_name"] == "hdeeprm_like"
    assert event["event"]["requested_simulation_features"]["forward_profiles_on_job_submission"] is True


CLUSTER = platform()


@pytest.mark.parametrize(
    ("messages", "hint"),
    [
        ([begins(CLUSTER, computation_speed=[1e9])], "P-states, each with its computation_speed"),
        ([begins(CLUSTER, properties=[{"key": "a"}])], "keys and values"),
        ([begins(CLUSTER, id=7)], r"computation_hosts\[0\]"),
        ([message(0.0, ("SimulationBeginsEvent", {}))], "must list machines"),
        ([message(0.0, submitted(1))], "before the simulation begins"),
        ([begins(CLUSTER), begins(CLUSTER)], "comes again"),
        ([begins(CLUSTER), message(0.0, ("NoEvent", {}))], "'NoEvent' are not known"),
        ([begins(CLUSTER), message(0.0, submitted(1, resource_request=0))], "resource_request"),
        ([begins(CLUSTER), message(0.0, submitted(1, profile_id=3))], "profile_id"),
        ([begins(CLUSTER), message(0.0, submitted(1, walltime=-2))], "walltime"),
        ([begins(CLUSTER), message(0.0, submitted(1), submitted(1))], "submitted before"),
        ([begins(CLUSTER), message(0.0, ("JobCompletedEvent", {"job_id": "w0!9", "state": "X"}))], "does not run"),
        ([begins(CLUSTER), '{"now": 0.0}'], "now and events"),
        ([begins(CLUSTER), "\0"], "not valid JSON"),
        ([begins(CLUSTER), message(0.0, submitted(1)), message(1.0, ("SimulationEndsEvent", {}))], "1 jobs run"),
    ],
)
def test_nonsense_is_refused_in_one_line(messages, hint):
    with pytest.raises(ProtocolError, match=hint) as error:
        answer(talk(CLUSTER, codec=Codec5()), *messages)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("first", [b"", b"\5\0\0\0abc", begins(CLUSTER).encode()])
def test_a_peer_that_does_not_greet_is_no_batsim_5(first):
    with pytest.raises(ProtocolError, match="no handshake of Batsim 5"):
        talk(CLUSTER, codec=Codec5()).answer(first)


def test_a_platform_with_other_speeds_is_refused_with_its_first_host():
    with pytest.raises(PlatformError, match="hdeeprm_speed"):
        answer(talk(CLUSTER, codec=Codec5()), begins(CLUSTER, computation_speed=[2e9, 1e9, 0.1, 0.1]))
    strange = begins(CLUSTER, computation_speed=[2e9, 1e9, 0.1, 0.1], properties=[])  # of another program's XML
    with pytest.raises(PlatformError, match="the speed is '2000000000"):
        answer(talk(CLUSTER, codec=Codec5()), strange)


# -- how Batsim 5 is started


@pytest.mark.parametrize(
    ("image", "five"),
    [
        ("oarteam/batsim:5.0.0-rc2", True),
        ("host:5000/batsim:v5", True),
        ("oarteam/batsim:4.2.1", False),
        ("host:5000/batsim", False),
        ("batsim5:latest", False),
    ],
)
def test_the_tag_of_an_image_gives_the_version(image, five):
    assert is_of_batsim5(image) is five


def test_batsim_5_writes_all_files_under_the_names_of_batsim_4(tmp_path):
    peer = peer_of("batsim5", tmp_path, command="hdeeprm-like batsim5 --imitate rc2", timeout=5)
    words = peer.command(tmp_path, "tcp://127.0.0.1:9")
    assert words[2:6] == ["hdeeprm_like", "batsim5", "--imitate", "rc2"]
    assert words[-3:] == ["-s", "tcp://127.0.0.1:9", ""]
    assert words[words.index("-e") + 1] == f"{tmp_path}/out_"
    assert {"--energy-host", "--trace-machine-state", "--trace-pstate-changes"} <= set(words)
    assert Peer("docker", ("docker",), folder="/x", version=5).command(tmp_path, "a")[-4] == "/x/out_"


def test_limits_that_are_missing_are_one():
    ours = Conversation(lambda platform, limits: limits, FirstAction(), Codec5())
    ours.answer(hello())
    ours._codec.deliver(ours._codec.parse(begins(CLUSTER)), ours)
    assert ours.system == JobLimits(1.0, 1.0, 1.0, 1.0)
