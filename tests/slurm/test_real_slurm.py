"""The watch of a real Slurm: shortest first, and nothing left behind whatever happens to it."""

import contextlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from real_slurm import RealSlurm, free_ports, missing, wait_until
from small import jobs

from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.run.python_loop import Play
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.slurm.rest import Rest
from hdeeprm_like.slurm.shown import RUNS, WAITS

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.skipif(bool(missing()), reason=f"no real Slurm here: {missing()}")


class OneWatch:
    """``hdeeprm-like slurm watch`` of a Slurm in a process of its own."""

    def __init__(self, slurm, *options):
        self.slurm = slurm
        self.state, self.log = slurm.folder / "factors.json", slurm.folder / "watch.jsonl"
        self.environment = slurm.environment | {"PYTHONPATH": str(ROOT)}
        command = ("watch", "--interval", 1, "--rate", 200, "--log", self.log, *options)
        self.process = subprocess.Popen(
            self.words(*command), env=self.environment, stderr=subprocess.PIPE, start_new_session=True, text=True
        )
        slurm.ends_with.append(self.kill)

    def kill(self):
        """Kill it and its guard, whatever it still does."""
        if (guard := self.guard()) is not None:
            os.kill(guard, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def words(self, *command):
        state = ("--state", self.state)
        return [str(word) for word in (sys.executable, "-m", "hdeeprm_like", "slurm", *command, *state)]

    def events(self, name):
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [event for line in lines if (event := json.loads(line))["event"] == name]

    def guard(self):
        """The number of the process that puts factors back when the watch is killed."""
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--when-closed" in words and str(self.state).encode() in words:
                return int(path.parent.name)
        return None

    def restore(self, *options):
        return subprocess.run(
            self.words("restore", *options), env=self.environment, capture_output=True, text=True, check=False
        )

    def stop(self):
        """End it as a service manager does; its exit status."""
        self.process.terminate()
        _, said = self.process.communicate(timeout=300)
        self.said = said
        return self.process.returncode


def sixty_jobs():
    """Seconds that each job sleeps; it asks for as many minutes."""
    draw = random.Random(5)
    return [draw.choice((1, 1, 1, 2, 2, 3, 8, 12)) for _ in range(60)]


def play_sixty(*options):
    """Submit 60 jobs behind one that holds the machine; what Slurm tells of each, and the log of the watch."""
    with RealSlurm(nodes=2, cpus=4) as slurm:
        holders = [slurm.submit(14, cpus=4, limit=60) for _ in range(2)]
        wait_until(lambda: len(slurm.jobs(RUNS)) == 2, "the first jobs")
        watch = OneWatch(slurm, "--policy", "sjf", *options)
        jobs = {slurm.submit(seconds, cpus=2, limit=seconds): seconds for seconds in sixty_jobs()}
        wait_until(lambda: len(slurm.ended()) == 62, "60 jobs", patience=1000.0)
        assert watch.stop() == 0, watch.said
        assert slurm.factors() == {}
        ended = {job: told for job, told in slurm.ended().items() if job not in holders}
        return jobs, ended, watch.events("started"), watch.events("set")


def mean_slowdown(jobs, ended):
    """Of jobs that sleep for some s, with those shorter than 1 s counted as 1 s long."""

    def turnaround(told):
        return (datetime.fromisoformat(told["EndTime"]) - datetime.fromisoformat(told["SubmitTime"])).total_seconds()

    return float(np.mean([max(turnaround(ended[job]) / seconds, 1.0) for job, seconds in jobs.items()]))


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
def test_shortest_first_lets_the_mean_slowdown_of_a_real_slurm_fall_and_loses_no_job():
    jobs, ended, started, changed = play_sixty("--dry-run")
    assert not changed
    assert set(ended) == set(jobs)
    assert len([event for event in started if event["job"] in jobs]) == 60
    own = mean_slowdown(jobs, ended)
    jobs, ended, _, changed = play_sixty("--apply")
    assert changed
    assert set(ended) == set(jobs)
    assert {told["JobState"] for told in ended.values()} == {"COMPLETED"}
    assert mean_slowdown(jobs, ended) < 0.8 * own


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
def test_slurm_outlives_ten_kills_of_the_watch_and_all_factors_go_back_to_0():
    with RealSlurm(nodes=1, cpus=2) as slurm:
        holder = slurm.submit(600, cpus=2, limit=60)
        wait_until(lambda: [job.number for job in slurm.jobs(RUNS)] == [holder], "the first job begins")
        waiting = [slurm.submit(1, cpus=2, limit=limit) for limit in range(20, 0, -1)]
        draw, found_set = random.Random(7), 0
        for n in range(10):
            watch = OneWatch(slurm, "--policy", "sjf", "--apply", "--max-factor", 10_000 + n)
            wait_until(watch.guard, "the guard")
            if n < 5:
                time.sleep(draw.uniform(0.0, 4.0))  # while it begins, on most computers
            else:
                wait_until(slurm.factors, "factors")
                time.sleep(draw.uniform(0.0, 1.0))
            guard = watch.guard()
            if n % 2:
                os.kill(guard, signal.SIGKILL)
            watch.process.kill()
            watch.process.communicate()
            found_set += bool(slurm.factors())
            if n % 2:
                done = watch.restore("--unless-watched")  # as a timer does when both are gone
                assert done.returncode == 0, done.stderr
            else:
                wait_until(lambda watch=watch: watch.guard() is None, "the guard puts factors back")
            assert slurm.factors() == {}
            assert json.loads(watch.state.read_text())["factors"] == {} if watch.state.exists() else True
            assert {job.number for job in slurm.jobs(WAITS)} == set(waiting)
            assert [job.number for job in slurm.jobs(RUNS)] == [holder]
        assert found_set >= 3  # where the guard was killed after factors were set


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
def test_a_watch_survives_a_slurmctld_that_is_killed_and_one_that_stays_away():
    with RealSlurm(nodes=1, cpus=2) as slurm:
        slurm.submit(600, cpus=2, limit=60, options=("-J", "holder"))
        waiting = [slurm.submit(1, cpus=2, limit=limit, options=("-J", f"kept-{limit}")) for limit in range(8, 0, -1)]
        # those that slurmctld has not saved it loses when it is killed
        wait_until(lambda: slurm.has_saved("holder", *(f"kept-{limit}" for limit in range(8, 0, -1))), "saved jobs")
        watch = OneWatch(slurm, "--policy", "sjf", "--apply", "--patience", 6)
        wait_until(lambda: len(slurm.factors()) == 8, "factors")
        slurm.kill_controller()
        slurm.start_controller()
        wait_until(lambda: watch.events("restarted"), "a short loss")
        wait_until(lambda: len(slurm.factors()) == 8, "factors are still set, or set again")
        slurm.kill_controller()
        time.sleep(12)
        slurm.start_controller()
        wait_until(lambda: watch.events("restored"), "a long loss puts factors back")
        wait_until(lambda: len(slurm.factors()) == 8, "factors are set again")
        slurm.run("scancel", waiting[3])
        slurm.run("scontrol", "hold", waiting[4])
        wait_until(lambda: len(slurm.factors()) == 6, "a job is cancelled, another held")
        order = sorted(slurm.factors().items(), key=lambda pair: -pair[1])
        assert [job for job, _ in order] == [job for job in reversed(waiting) if job not in waiting[3:5]]
        assert watch.stop() == 0, watch.said
        assert slurm.factors() == {}
        slurm.run("scontrol", "release", waiting[4])
        assert slurm.factors() == {}


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
def test_a_user_who_is_no_operator_is_told_so_and_a_slurm_that_heeds_no_factors_is_refused():
    with RealSlurm(nodes=1, cpus=2) as slurm:
        slurm.submit(600, cpus=2)
        slurm.submit(1, cpus=2)
        (slurm.folder / "bin").mkdir()
        for name in ("squeue", "sinfo", "scontrol"):  # what the watch calls is run as nobody
            program = slurm.folder / "bin" / name
            program.write_text(f'#!/bin/sh\nexec setpriv --reuid=65534 --clear-groups {shutil.which(name)} "$@"\n')
            program.chmod(0o755)
        slurm.environment["PATH"] = f"{slurm.folder}/bin:{slurm.environment['PATH']}"
        watch = OneWatch(slurm, "--policy", "sjf", "--apply")
        _, said = watch.process.communicate(timeout=300)
        assert watch.process.returncode == 2
        assert "AdminLevel=Operator" in said
        assert len(said.splitlines()) == 1
        assert slurm.factors() == {}
        assert json.loads(watch.state.read_text())["factors"] == {}
    with RealSlurm(nodes=1, cpus=2, priority="priority/basic") as slurm:
        watch = OneWatch(slurm, "--policy", "sjf", "--apply")
        _, said = watch.process.communicate(timeout=300)
        assert watch.process.returncode == 2
        assert "PriorityType is priority/basic" in said


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
@pytest.mark.parametrize("policy", ["zoo:balanced", "saf", "multifactor"])
def test_a_policy_orders_the_jobs_of_a_real_slurm_as_the_simulator_does_when_fed_with_their_arrivals(policy):
    draw = random.Random(3)
    with RealSlurm(nodes=2, cpus=8) as slurm:
        holders = [slurm.submit(600, cpus=8, limit=60 + n) for n in range(2)]
        wait_until(lambda: len(slurm.jobs(RUNS)) == 2, "the first jobs")
        time.sleep(2)  # Slurm's times are whole seconds; what comes in one would come at once in the simulation
        for _ in range(40):
            slurm.submit(1, cpus=draw.randint(1, 8), limit=draw.randint(1, 300))
        shown = sorted(slurm.jobs(), key=lambda job: (job.eligible, job.number))
        assert [job.number for job in shown if job.phase == RUNS] == holders
        watch = OneWatch(slurm, "--policy", policy, "--dry-run")
        wait_until(lambda: watch.events("look"), "a look", patience=1000.0)
        watch.stop()
        told = watch.events("would set")
    looked = told[0]["time"]
    assert len(told) == 40
    ordered = [event["job"] for event in sorted(told, key=lambda event: event["place"])]
    assert ordered == simulated_order(shown, policy, looked)
    assert holders[0] not in ordered


def simulated_order(shown, policy, at):
    """The order of the jobs that wait at a time in s since 1970, in a simulation of what Slurm shows."""
    begin = min(job.eligible for job in shown)
    limits = np.array([job.limit for job in shown])
    run_times = np.array([600.0 if job.phase == RUNS else 1.0 for job in shown])
    made = jobs(
        submit=np.array([job.eligible - begin for job in shown]),
        size=np.array([job.cpus for job in shown]),
        estimate=limits,
        delay=run_times,
        walltime=limits,
    )
    workload = replace(made, capacity=16, user=np.ones(len(shown), np.int64))
    actions = PolicyActions([baseline(policy)])
    state = State(pool(16), workload, needs=actions.needs, named=False, log=False)
    play = Play(Simulator(state, workload, "textbook"), DecisionSystem(state, actions))
    while play.advance() and state.known > int(state.tables.clock["submitted"][0]):
        play.act(0)
    ranked = actions.rank(0, state)  # at the instant of the last arrival; what changes with time does so for all alike
    assert state.now <= at - begin
    return [shown[row].number for row in ranked.jobs.tolist()]


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("slurmrestd") is None, reason="slurmrestd is not installed")
def test_a_real_slurmrestd_shows_what_the_programs_show_and_a_watch_looks_through_it():
    with RealSlurm(nodes=2, cpus=4) as slurm:
        address = slurm.folder / "rest.socket"
        slurm.environment |= {"SLURMRESTD_SECURITY": "disable_user_check"}  # it would not run as root
        slurm.start(
            "slurmrestd", "-f", slurm.configuration, "-s", "openapi/v0.0.38", "-a", "rest_auth/local", f"unix:{address}"
        )
        wait_until(address.exists, "slurmrestd")
        jobs = [slurm.submit(20, cpus=3) for _ in range(5)]
        wait_until(lambda: len(slurm.jobs(RUNS)) == 2, "the first jobs")
        through = Rest(f"unix:{address}", {})
        assert {(job.number, job.phase) for job in through.jobs()} == {(job.number, job.phase) for job in slurm.jobs()}
        assert set(through.nodes()) == {"n1", "n2"}
        watch = OneWatch(slurm, "--policy", "sjf", "--apply", "--rest", f"unix:{address}")
        wait_until(lambda: set(slurm.factors()) & set(jobs), "factors")
        assert watch.stop() == 0, watch.said
        assert slurm.factors() == {}


# starts a real Slurm, whose jobs last some seconds each
@pytest.mark.slow
def test_the_page_that_records_a_log_works_as_typed(tmp_path):
    page = (ROOT / "docs" / "own_log.md").read_text()
    folder, port = tempfile.mkdtemp(prefix="small-"), free_ports(5)  # a short path, for it holds a socket
    page = page.replace("/tmp/small", folder).replace("18901", str(port))
    page = page.replace("18902-18905", f"{port + 1}-{port + 4}")
    (configuration,) = re.findall(r"```ini\n(.*?)```", page, re.DOTALL)
    (Path(folder) / "slurm.conf").write_text(configuration)
    program = tmp_path / "hdeeprm-like"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    program.chmod(0o755)
    _, *blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)  # the first installs
    try:
        done = subprocess.run(
            ["bash", "-ec", "".join(blocks)], capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "36 of them used: 36 COMPLETED" in done.stdout
        assert (Path(folder) / "answer" / "report.html").exists()
    finally:
        for path in Path(folder).glob("*.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(path.read_text()), signal.SIGKILL)
        shutil.rmtree(folder)
