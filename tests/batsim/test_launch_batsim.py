"""``launch --simulator batsim`` leaves a whole directory, or one that says what is missing, and no process behind."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from batsim_talk import jobs_of
from server_inputs import free_port
from small import RUN_FILES

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.in_process import launch
from hdeeprm_like.launch.peers import peer_of, socket_address
from hdeeprm_like.launch.run_folder import clean
from hdeeprm_like.launch.with_batsim import claim, first_record, launch_batsim

ROOT = Path(__file__).parent.parent.parent
OURS = "hdeeprm-like batsim"
FILES = RUN_FILES | {"batsim.log"}


def experiment_file(folder, jobs=40, platform=ROOT / "platforms" / "learning.json", pair="shortest-high_gflops"):
    """An options file with random jobs for a platform of four cores."""
    rng = np.random.default_rng(5)
    profiles = {
        f"p{k}": {
            "type": "parallel_homogeneous", "com": 0, "cpu": int(rng.integers(1, 40)) * 10**9, "req_time": k + 1,
            "mem": 9000 if k == 0 else int(rng.integers(1, 8000)), "mem_bw": int(rng.integers(4, 24)),
        }
        for k in range(8)
    }  # fmt: skip
    listed = [
        {"id": j, "subtime": int(rng.integers(0, 2 * jobs)), "res": int(rng.integers(1, 5)), "profile": f"p{j % 8}"}
        for j in range(jobs)
    ]
    for job in listed:
        job["user"] = job["id"] % 3
    (folder / "jobs.json").write_text(json.dumps({"nb_res": 4, "jobs": listed, "profiles": profiles}))
    options = {
        "seed": 3,
        "workload_file_path": "jobs.json",
        "platform_file_path": str(platform),
        "pybatsim": {"agent": {"policy_pair": pair}},
    }
    (folder / "exp.json").write_text(json.dumps(options))
    return folder / "exp.json"


@pytest.fixture
def experiment(tmp_path):
    return load_experiment(experiment_file(tmp_path))


def launch_by(command, tmp_path, *more, out="out"):
    """Launch with a command in the place of Batsim; return the exit status."""
    words = ["launch", "-q", "-o", str(experiment_file(tmp_path)), "--output", str(tmp_path / out)]
    return main([*words, "--simulator", "batsim", "--batsim-command", str(command), *more])


def record(folder):
    return json.loads((folder / "run.json").read_text())


def test_the_directory_is_the_one_of_a_run_in_process(experiment, tmp_path):
    there, here = tmp_path / "batsim", tmp_path / "here"
    run = launch_batsim(
        Classic(experiment), there, peer_of("batsim", there, command=OURS, timeout=300), runs=2, progress=False
    )
    own = launch(Classic(experiment), here, progress=False).record
    assert run["status"] == "complete"
    assert run == record(there)
    assert "problem" not in run
    assert set(run["files"]) == FILES == {path.name for path in there.iterdir()}
    assert run["rejected"] == own["rejected"] != {}
    assert run["unfinished"] == 0
    for name, value in own["metrics"].items():
        if name not in ("scheduling_time", "simulation_time", "batsim_version"):
            assert run["metrics"][name] == pytest.approx(value, rel=1e-6), name
    theirs, mine = jobs_of(there / "out_jobs.csv"), jobs_of(here / "out_jobs.csv")
    assert theirs.keys() == mine.keys()
    assert [row["allocated_resources"] for row in theirs.values()] == [
        row["allocated_resources"] for row in mine.values()
    ]
    spans = [json.loads((folder / "overutilizations.json").read_text()) for folder in (there, here)]
    for kind in ("core", "mem"):
        assert np.allclose(spans[0][kind], spans[1][kind], rtol=0, atol=2e-6)
    assert len((there / "makespans.log").read_text().splitlines()) == 2
    clean(there)
    assert not list(there.iterdir())


def test_a_directory_that_cannot_be_is_one_line(tmp_path, capsys):
    file = tmp_path / "file"
    file.touch()
    assert launch_by(OURS, tmp_path, out="file/out") == 2
    assert capsys.readouterr().err == f"hdeeprm-like: {file / 'out'}: cannot be written: Not a directory\n"


def test_a_record_that_is_of_no_run_stays_with_what_lies_beside_it(tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    kept = {out / "run.json": '{"my": "record"}', out / "out_jobs.csv": "mine"}
    for file, content in kept.items():
        file.write_text(content)
    assert launch_by(OURS, tmp_path) == 2
    assert capsys.readouterr().err == f"hdeeprm-like: {out / 'run.json'}: lists no files; this is no record of a run\n"
    assert {file: file.read_text() for file in out.iterdir()} == kept


def test_batsim_5_leaves_a_directory_that_is_read_drawn_and_cleaned_as_the_others(tmp_path, capsys):
    path, there, here = experiment_file(tmp_path), tmp_path / "there", tmp_path / "here"
    arguments = ["launch", "-o", str(path), "--output", str(there), "--simulator", "batsim5", "--timeout", "300"]
    assert main([*arguments, "--batsim-command", f"{OURS}5"]) == 0
    assert "Makespan" in capsys.readouterr().out
    own = launch(Classic(load_experiment(path)), here, progress=False).record
    run = record(there)
    five = {"out_real_exec_info.json", "out_schedule.json", "workload5.json"}
    assert set(run["files"]) == FILES - {"out_schedule.csv"} | five == {path.name for path in there.iterdir()}
    assert (run["simulator"], run["status"], run["rejected"]) == ("batsim5", "complete", own["rejected"])
    first = min(float(row["submission_time"]) for row in jobs_of(here / "out_jobs.csv").values())
    for name in ("consumed_joules", "mean_waiting_time", "nb_jobs_finished"):
        assert run["metrics"][name] == pytest.approx(own["metrics"][name], rel=1e-6), name
    assert run["metrics"]["makespan"] == pytest.approx(own["metrics"]["makespan"] - first, abs=2e-6)
    assert main(["metrics", str(here), str(there), "--short", "--csv", str(tmp_path / "m.csv")]) == 0
    rows = [line.split(",") for line in (tmp_path / "m.csv").read_text().splitlines()[1:]]
    assert len(rows) > 30
    for name, mine, theirs in rows:
        assert theirs == mine or float(theirs) == pytest.approx(float(mine), rel=1e-5), name
    assert main(["visual", "gantt", "--run", str(there), "--save", str(tmp_path / "gantt.svg")]) == 0
    again = launch(Classic(load_experiment(there / "options.json")), tmp_path / "again", progress=False).record
    assert again["metrics"]["makespan"] == own["metrics"]["makespan"]
    clean(there)
    assert not list(there.iterdir())


def test_the_agent_lives_through_all_runs_and_each_has_a_system_of_its_own(experiment, tmp_path):
    class Agent:
        """Counts."""

        asked = 0

        def act(self, observation, mask):
            self.asked += 1
            return 0

    class Counting(Classic):
        """Keeps the systems."""

        agent = Agent()

        def after(self, system):
            systems.append(system)
            return {}

    systems, driver = [], Counting(experiment)
    peer = peer_of("batsim", tmp_path, command=OURS, timeout=300)
    launch_batsim(driver, tmp_path / "out", peer, runs=2, progress=False)
    assert len(systems) == len(set(map(id, systems))) == 2
    assert driver.agent.asked == sum(len(system.episode) for system in systems) > 0


def test_an_agent_that_hangs_is_cut_short(experiment, tmp_path, monkeypatch):
    """Its clock runs ahead once it was called, so that Batsim may take any time to begin."""
    ahead = []
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(ahead))
    monkeypatch.setattr("hdeeprm_like.batsim.process.time", clock)

    class Hangs:
        """Never decides."""

        def act(self, observation, mask):
            ahead.append(301.0)
            while True:
                time.sleep(0.01)

    class Hanging(Classic):
        agent = Hangs()

    peer = peer_of("batsim", tmp_path, command=OURS, timeout=300)
    run = launch_batsim(Hanging(experiment), tmp_path / "out", peer, progress=False)
    assert run["status"] == "incomplete"
    assert run["problem"] == "the decision system has not decided for 300 s"


SLEEPS = [f"sleep {60 + place}.{os.getpid()}" for place in range(4)]  # of this process alone
SCRIPTS = {  # what takes Batsim's place, and what is said of it
    "ends at once": ("exit 0", "Batsim has ended before the simulation did (exit status 0)"),
    "fails": ("echo no such host >&2; exit 3", "Batsim has ended before the simulation did (exit status 3)"),
    "says nothing": (SLEEPS[0], "Batsim has said nothing for 1 s"),
    "is killed": ("kill -9 $$", "Batsim has ended before the simulation did (SIGKILL)"),
    "leaves others": (
        f"{SLEEPS[1]} & {SLEEPS[2]} & exit 1",
        "Batsim has ended before the simulation did (exit status 1)",
    ),
    "does not listen": (f"trap '' TERM; echo; while true; do {SLEEPS[3]}; done", "Batsim has said nothing for 1 s"),
}


def script(folder, text):
    path = folder / "fake-batsim"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def left_behind(words):
    """Return the processes whose command line holds some text."""
    found = subprocess.run(["ps", "-wweo", "pid,stat,args"], capture_output=True, text=True, timeout=300, check=True)
    lines = [line.split(None, 2) for line in found.stdout.splitlines()]
    return [line for line in lines if words in line[-1] and not line[1].startswith("Z") and "ps -wweo" not in line[-1]]


@pytest.mark.parametrize("what", SCRIPTS)
def test_a_batsim_that_fails_is_shown_and_leaves_no_process(what, tmp_path, capsys):
    text, problem = SCRIPTS[what]
    patience = "1" if problem.endswith("for 1 s") else "300"  # a shell may take long to begin
    assert launch_by(script(tmp_path, text), tmp_path, "--timeout", patience) == 1
    errors = capsys.readouterr().err
    assert problem in errors
    assert "marked incomplete" in errors
    if "echo no such" in text:
        assert "no such host" in errors
    run = record(tmp_path / "out")
    assert run["status"] == "incomplete"
    assert run["problem"] == problem
    assert set(run["files"]) == {path.name for path in (tmp_path / "out").iterdir()}
    assert left_behind(str(tmp_path)) == []
    assert [line for line in left_behind("sleep 6") if line[-1] in SLEEPS] == []


def test_a_platform_that_batsim_does_not_have_is_refused_with_its_first_host(tmp_path, capsys):
    (tmp_path / "other").mkdir()
    other = load_experiment(experiment_file(tmp_path / "other", platform=ROOT / "platforms" / "das2.json"))
    launch(Classic(other), tmp_path / "das2", progress=False)
    serve = f"{sys.executable} -m hdeeprm_like batsim -p {tmp_path}/das2/platform.xml -E -q"
    command = script(tmp_path, f'exec {serve} -s "$5" -w "$9" -e "${{11}}"')
    assert launch_by(command, tmp_path, "--timeout", "300") == 1
    assert "Batsim's machines are not those of the platform: there are" in capsys.readouterr().err


def test_flags_that_do_not_fit_are_refused(tmp_path, capsys):
    arguments = ["launch", "-o", str(experiment_file(tmp_path)), "--output", str(tmp_path / "out"), "-q"]
    assert main([*arguments, "--timeout", "3"]) == 2
    assert "--timeout: needs --simulator batsim, batsim5 or docker" in capsys.readouterr().err
    assert launch_by("no-such-batsim", tmp_path) == 2
    assert "there is no program 'no-such-batsim' in PATH" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_docker_runs_batsim_as_this_user_on_this_network_with_the_folder_mounted(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    peer = peer_of("docker", tmp_path, image="some/batsim:1", timeout=5)
    docker, _, batsim = " ".join(peer.command(tmp_path, "tcp://127.0.0.1:5000")).partition(" some/batsim:1 ")
    assert docker.startswith("docker run ")
    user, volume = f"--user {os.getuid()}:{os.getgid()}", f"--volume {tmp_path}:/hdeeprm --workdir /hdeeprm"
    assert all(words in docker for words in ("--rm --init --network host", user, volume))
    assert batsim == (  # paths inside the container
        "-E -q --disable-schedule-tracing -s tcp://127.0.0.1:5000 "
        "-p /hdeeprm/platform.xml -w /hdeeprm/workload.json -e /hdeeprm/out"
    )
    assert peer.simulator == "docker"


def test_a_port_alone_is_one_of_this_machine_only():
    assert socket_address("28000") == "tcp://127.0.0.1:28000"
    assert socket_address("tcp://localhost:28000") == "tcp://127.0.0.1:28000"
    assert socket_address("tcp://*:28000") == "tcp://*:28000"


def test_a_port_in_use_is_refused_before_anything_is_written(experiment, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        peer = peer_of("batsim", tmp_path, socket=str(taken.getsockname()[1]), timeout=5)
        with pytest.raises(OptionsError, match="cannot listen on"):
            launch_batsim(Classic(experiment), tmp_path / "out", peer)
    assert not (tmp_path / "out").exists()


def launch_words(options, out, *peer):
    """The command line of a launch with Batsim."""
    words = [sys.executable, "-m", "hdeeprm_like", "launch", "-o", str(options), "--output", str(out), "-q"]
    return [*words, "--simulator", "batsim", "--timeout", "300", *peer]


def test_a_batsim_started_by_hand_finds_the_inputs_and_the_way(tmp_path):
    port, out = free_port(), tmp_path / "out"
    launch = launch_words(experiment_file(tmp_path), out, "--socket", str(port))
    with subprocess.Popen(launch, stderr=subprocess.PIPE, text=True) as ours:
        try:
            wait_until(lambda: (out / "workload.json").exists() and (out / "platform.xml").exists())
            files = ["-p", f"{out}/platform.xml", "-w", f"{out}/workload.json", "-e", f"{out}/out"]
            batsim = [sys.executable, "-m", "hdeeprm_like", "batsim", "-E", "-q", "-s", f"tcp://127.0.0.1:{port}"]
            subprocess.run([*batsim, *files, "--timeout", "300"], timeout=300, check=True)
            assert ours.wait(300) == 0
        finally:
            ours.kill()
    assert record(out)["status"] == "complete"
    assert set(record(out)["files"]) == FILES - {"batsim.log"}
    assert record(out)["metrics"]["nb_jobs"] == 40


def wait_until(true, seconds=300.0):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


# -- signals at any moment


def test_there_is_a_record_while_an_earlier_run_is_cleared(experiment, tmp_path, monkeypatch):
    peer = SimpleNamespace(simulator="batsim")
    claim(tmp_path / "out", first_record(Classic(experiment), peer, runs=1))
    (tmp_path / "out" / "out_jobs.csv").touch()
    unlink, statuses = Path.unlink, []

    def unlink_and_look(path, missing_ok=False):
        unlink(path, missing_ok)
        statuses.append(record(path.parent)["status"])

    monkeypatch.setattr(Path, "unlink", unlink_and_look)
    claim(tmp_path / "out", first_record(Classic(experiment), peer, runs=1))
    assert set(statuses) == {"incomplete"}


def batsim_of(folder):
    """The process ids of the server that works in a folder."""
    return [
        int(line[0]) for line in left_behind(str(folder)) if "batsim -E" in line[-1] and "reaper.py" not in line[-1]
    ]


def interrupt_once(folder, number, victim, delay):
    """Launch, send a signal to one side after a while, look at what is left, and return how the run ended.

    Without a delay the endpoint is held meanwhile: such a run cannot end before its signal, on any machine.
    """
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    launch = launch_words(folder / "exp.json", out, "--batsim-command", OURS)
    with subprocess.Popen(launch, stderr=subprocess.PIPE, text=True) as ours:
        try:
            wait_until(lambda: (out / "run.json").exists() or ours.poll() is not None)
            if victim == "batsim":
                wait_until(lambda: batsim_of(folder) or ours.poll() is not None)
            if delay:
                time.sleep(delay)
            else:
                ours.send_signal(signal.SIGSTOP)
            for target in [ours.pid] if victim == "endpoint" else batsim_of(folder):
                if ours.poll() is None:
                    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
                        os.kill(target, number)
            ours.send_signal(signal.SIGCONT)
            _, output = ours.communicate(timeout=300)
        finally:
            ours.kill()
    wait_until(lambda: left_behind(str(folder)) == [])
    assert "Traceback" not in output, output
    run = record(out)
    assert run["status"] in ("complete", "incomplete")
    if run["status"] == "incomplete":
        assert ours.returncode != 0
        assert run["problem"]
    if run["status"] == "complete":
        assert set(run["files"]) == FILES
        assert run["metrics"]["nb_jobs"] == 400
    return run["status"]


def interrupt(tmp_path, number, victim, tries, seed):
    """Interrupt at once, then at random moments within the time that the first whole run takes on this machine."""
    experiment_file(tmp_path, jobs=400)
    assert interrupt_once(tmp_path, number, victim, delay=None) == "incomplete"
    dice = random.Random(seed)
    begun = time.monotonic()
    assert interrupt_once(tmp_path, 0, victim, delay=0.01) == "complete"  # the signal 0 only looks for the process
    whole = time.monotonic() - begun
    for _ in range(tries - 1):
        interrupt_once(tmp_path, number, victim, dice.uniform(0.01, whole))


# launches of some seconds each; a signal during a launch without Batsim stays in tests/test_cli.py
@pytest.mark.lane(more=r"2-(15-batsim|9-endpoint)", slow=r"2-(15-endpoint|9-batsim)|50-.*")
@pytest.mark.parametrize("victim", ["endpoint", "batsim"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("tries", [2, 50])
def test_a_signal_at_any_moment_leaves_a_marked_directory_and_no_process(tries, number, victim, tmp_path):
    interrupt(tmp_path, number, victim, tries, seed=2 * tries + int(number))


def test_a_policy_pair_under_batsim_loads_no_baselines_no_decision_spaces_and_nothing_of_agents_that_learn():
    code = """
import sys
import hdeeprm_like.batsim.endpoint, hdeeprm_like.experiment, hdeeprm_like.launch.with_batsim
from hdeeprm_like.decision.actions import PolicyActions, policy_named
assert len(PolicyActions([policy_named("shortest-high_gflops")]).needs.searched) == 1
print(*sys.modules, sep="\\n")
"""
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    unused = "decision.policies.baselines", "decision.policies.plans", "decision.presets", "decision.named_parts"
    unused += "decision.observations", "batsim.codec5", "learning", "results.report", "run"
    assert "hdeeprm_like.decision.actions" in loaded
    assert not [name for name in loaded for part in unused if f"{name}.".startswith(f"hdeeprm_like.{part}.")]
