"""Slurm's programs are asked in the right words, and failures are told apart; programs of ours stand in for them."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from slurm_shows import JOBS, scontrol_jobs, scontrol_nodes, sinfo, sinfo_lines, squeue, squeue_fields, squeue_lines
from test_shown import comparable

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.slurm import commands
from hdeeprm_like.slurm.changes import JOB_COLUMNS
from hdeeprm_like.slurm.commands import ContactLost, Denied, Programs
from hdeeprm_like.slurm.factors import FactorFile
from hdeeprm_like.slurm.shown import JOB_FIELDS, jobs_of_json, nodes_of_json

ROOT = Path(__file__).parent.parent.parent
CONFIG = "PriorityType            = priority/multifactor\nClusterName             = small\n"


class Stands:
    """A folder of programs that print what they are told to, and note what they were asked."""

    def __init__(self, folder):
        self.folder = folder
        self.list_jobs()
        self.put("sinfo", sinfo_lines())
        for what, text in (("config", CONFIG), ("job", scontrol_jobs()), ("nodes", scontrol_nodes())):
            (folder / f"{what}.txt").write_text(text)
        self.scontrol = (
            f'case "$*" in *config) cat {folder}/config.txt;; *job) cat {folder}/job.txt;; '
            f"*nodes) cat {folder}/nodes.txt;; --all) cat > /dev/null; cat {folder}/job.txt;; "
            f"*) cat >> {folder}/set.txt; cat {folder}/said.txt >&2;; esac"
        )
        self.write("scontrol", self.scontrol)
        (folder / "said.txt").write_text("")

    def write(self, name, script):
        program = self.folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*|$TZ|$SLURM_TIME_FORMAT" >> {self.folder}/asked.txt\n{script}\n')
        program.chmod(0o755)

    def put(self, name, text):
        (self.folder / f"{name}.txt").write_text(text)
        self.write(name, f"cat {self.folder}/{name}.txt")

    def list_jobs(self, jobs=JOBS):
        (self.folder / "fields.txt").write_text(squeue_fields(jobs))
        (self.folder / "squeue.txt").write_text(squeue_lines(jobs))
        fields, lines = f"{self.folder}/fields.txt", f"{self.folder}/squeue.txt"
        self.write("squeue", f'case "$*" in *-O*) cat {fields};; *) cat {lines};; esac')

    def fail(self, name, said):
        self.write(name, f"echo '{said}' >&2; exit 1")

    def lines(self, name):
        path = self.folder / f"{name}.txt"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def stands(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SQUEUE_STATES", "RUNNING")
    return Stands(tmp_path)


def without_arrays(jobs):
    """Jobs, where 0 stands for the number of an array of its own."""
    return comparable([job._replace(array=job.array if job.array != job.number else 0) for job in jobs])


def test_jobs_and_nodes_are_listed_and_those_that_are_new_are_read(stands):
    programs = Programs()
    jobs = programs.jobs()
    assert without_arrays(jobs) == without_arrays(jobs_of_json(squeue("24.05")))
    assert programs.nodes() == nodes_of_json(sinfo("24.05"))
    assert programs.settings()["prioritytype"] == "priority/multifactor"
    assert stands.lines("asked")[:2] == [
        f"squeue -h -a -t all -o {JOB_COLUMNS}|UTC|%s",
        f"squeue -h -a -t all -O {JOB_FIELDS}|UTC|%s",
    ]
    before = len(stands.lines("asked"))
    again = programs.jobs()
    assert all(one is other for one, other in zip(jobs, again, strict=True))
    programs.nodes()
    assert [line.split()[0] for line in stands.lines("asked")[before:]] == ["squeue", "sinfo"]


def test_where_squeue_lists_no_such_fields_all_jobs_are_read_by_scontrol(stands):
    listed = without_arrays(Programs().jobs())
    (stands.folder / "fields.txt").write_text("Invalid field requested\n")
    assert without_arrays(Programs().jobs()) == listed
    assert any(line.startswith("scontrol --all show job") for line in stands.lines("asked"))


def test_jobs_that_cannot_be_read_are_no_jobs_that_have_ended(stands):
    programs = Programs()
    programs.jobs()
    stands.list_jobs((*JOBS, JOBS[1]._replace(number=99)))
    with pytest.raises(ProtocolError, match="scontrol"):  # 99 is not shown, and it is not said that it is gone
        programs.jobs()
    stands.write("scontrol", "cat > /dev/null; echo slurm_load_jobs error: Invalid job id specified >&2; exit 1")
    assert {job.number for job in programs.jobs()} == {job.number for job in JOBS}
    stands.write("scontrol", f"cat > /dev/null; echo {AWAY} >&2; exit 1")
    with pytest.raises(ContactLost, match="Unable to contact"):
        programs.jobs()


AWAY = "slurm_load_jobs error: Unable to contact slurm controller"


@pytest.mark.parametrize("said", [f"{AWAY} (connect failure)", "squeue: error: Munge encode failed: Failed", ""])
def test_a_slurm_that_does_not_answer_is_lost(stands, said):
    stands.fail("squeue", said)
    with pytest.raises(ContactLost, match="squeue"):
        Programs().jobs()


def test_a_program_that_is_not_there_or_does_not_end_is_a_loss_too(stands, monkeypatch):
    stands.write("squeue", "exec sleep 60")
    monkeypatch.setattr(commands, "TIMEOUT", 0.2)
    with pytest.raises(ContactLost, match="does not end"):
        Programs().jobs()
    monkeypatch.setenv("PATH", str(stands.folder / "nowhere"))
    with pytest.raises(ContactLost, match="programs are needed"):
        Programs().jobs()


def test_nonsense_is_told_from_a_loss(stands):
    stands.put("squeue", "12|PENDING")
    with pytest.raises(ProtocolError, match="is no line of") as error:
        Programs().jobs()
    assert not isinstance(error.value, ContactLost)


def test_many_factors_are_set_by_few_programs_and_those_of_jobs_that_are_gone_are_told(stands):
    (stands.folder / "said.txt").write_text("Invalid job id specified for job 7\nslurm_update error: odd for job 8\n")
    refused = Programs().set_factors({job: 2 * job for job in range(1, 251)})
    assert stands.lines("set") == [f"update JobId={job} SiteFactor={2 * job}" for job in range(1, 251)]
    assert sum(line.startswith("scontrol") for line in stands.lines("asked")) == 3
    assert set(refused) == {7, 8}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("Access/permission denied for job 7", Denied),
        ("Invalid user id for job 7", Denied),
        ("Unable to contact slurm controller (connect failure) for job 7", ContactLost),
    ],
)
def test_what_concerns_all_jobs_is_told_from_what_concerns_one(stands, said, error):
    (stands.folder / "said.txt").write_text(said + "\n")
    with pytest.raises(error):
        Programs().set_factors({7: 1})


# --- the command line


def test_restore_takes_the_factors_of_the_file_back(stands, capsys):
    path = stands.folder / "factors.json"
    FactorFile(path).write({11: 4, 12: 5, 999: 6})
    assert main(["slurm", "restore", "--state", str(path)]) == 0
    assert stands.lines("set") == ["update JobId=11 SiteFactor=0", "update JobId=12 SiteFactor=0"]
    assert "2 jobs have the site factor 0 again" in capsys.readouterr().out
    assert main(["slurm", "restore", "--state", str(path)]) == 0
    assert "no factors are set" in capsys.readouterr().out
    path.write_text("nonsense")
    assert main(["slurm", "restore", "--state", str(path)]) == 2
    assert main(["slurm", "restore", "--all", "--state", str(path)]) == 0
    assert len(stands.lines("set")) == 2 + 4  # all that wait or run


def test_a_restore_of_a_timer_leaves_the_factors_of_a_watch_alone(stands):
    file = FactorFile(stands.folder / "factors.json")
    file.write({11: 4})
    words = ["slurm", "restore", "--unless-watched", "--quiet", "--state", str(file.path)]
    with file.locked():
        assert main(words) == 0
        assert stands.lines("set") == []
    assert main(words) == 0
    assert stands.lines("set") == ["update JobId=11 SiteFactor=0"]


def test_status_tells_what_is_set(stands, capsys):
    path = stands.folder / "factors.json"
    assert main(["slurm", "status", "--state", str(path)]) == 0
    assert "no process sets factors" in capsys.readouterr().out
    FactorFile(path).write({11: 4, 12: 5})
    assert main(["slurm", "status", "--state", str(path)]) == 0
    assert "2 jobs have a factor, from 4 to 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--policy", "sjg"], "did you mean"),
        (["--policy", "sjf+easyP"], "actual run times"),
        (["--policy", "oracle"], "actual run times"),
        (["--policy", "scored:missing.json"], "missing.json"),
        (["--policy", "saf+bounded"], "cannot guarantee starts, because Slurm starts the jobs"),
    ],
)
def test_a_watch_that_cannot_be_is_refused_in_one_line(stands, words, why, capsys):
    assert main(["slurm", "watch", "--state", str(stands.folder / "f.json"), *words]) == 2
    said = capsys.readouterr().err
    assert why in said
    assert len(said.splitlines()) == 1


def test_numbers_that_slurm_does_not_know_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["slurm", "watch", "--policy", "sjf", "--max-factor", "3000000000"])
    assert "at most 2,000,000,000 are possible" in capsys.readouterr().err


def test_without_slurms_programs_there_is_no_watch(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["slurm", "watch", "--policy", "sjf", "--state", str(tmp_path / "f.json")]) == 2
    assert "squeue, sinfo, scontrol: not found in PATH" in capsys.readouterr().err


def start_watch(stands, *words, policy="sjf", **environment):
    """Start a watch in a process of its own."""
    words = ("watch", "--policy", policy, "--state", "f.json", "--log", "w.jsonl", *words)
    return subprocess.Popen(
        [sys.executable, "-m", "hdeeprm_like", "slurm", *words],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment, cwd=stands.folder, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip


def wait_until(true, watch=None):
    """Wait until something is true, while a watch still runs."""
    deadline = time.monotonic() + 600
    while not true():
        assert time.monotonic() < deadline
        assert watch is None or watch.poll() is None
        time.sleep(0.02)


def events_of(stands):
    """The events in the log of a watch, no line of which is half written."""
    return [json.loads(line)["event"] for line in (stands.folder / "w.jsonl").read_text().splitlines()]


# another moment
@pytest.mark.lane(more=r"while it sets factors")
@pytest.mark.parametrize("moment", ["while it sets factors", "afterwards"])
def test_a_watch_that_is_killed_leaves_nothing_behind(stands, moment):
    path = stands.folder / "f.json"
    early = moment != "afterwards"
    if early:  # what sets factors waits until the watch is dead, with which Linux has killed it then
        stands.write("scontrol", f'test -z "$1" && until test -e over; do sleep 0.05; done\n{stands.scontrol}')
    watch = start_watch(stands, "--apply")
    # of the two that wait and may start
    wait_until(lambda: len(FactorFile(path).factors if early else stands.lines("set")) == 2, watch)
    watch.send_signal(signal.SIGKILL)
    watch.stderr.close()
    watch.wait()
    (stands.folder / "over").touch()
    wait_until(lambda: not FactorFile(path).factors)
    assert sorted(stands.lines("set")[-2:]) == ["update JobId=12 SiteFactor=0", "update JobId=14 SiteFactor=0"]
    assert len(stands.lines("set")) == (2 if early else 4)


@pytest.mark.more
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_watch_ends_at_once_while_its_policy_is_compiled(stands, number):
    # an empty folder of machine code: the policy has to be compiled
    cache = str(stands.folder / "cache")
    watch = start_watch(stands, "--dry-run", policy="multifactor", HDEEPRM_LIKE_CACHE=cache)
    # at the beginning, and at the first look
    wait_until(lambda: sum("show config" in line for line in stands.lines("asked")) == 2, watch)
    time.sleep(1.0)
    assert watch.poll() is None
    watch.send_signal(number)
    _, error = watch.communicate(timeout=600)
    assert "Traceback" not in error
    if number != signal.SIGKILL:
        assert watch.returncode == 0, error
        events = events_of(stands)
        assert events[-1] == "end"
        assert "look" not in events  # the first look has the policy decide, when it is compiled
    assert not stands.lines("set")


def moments_of_a_watch():
    """Yield twenty moments of each signal; all but the first one are slow."""
    for moment in range(20):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            first = moment == 0 and number == signal.SIGTERM
            yield pytest.param(number, moment, marks=pytest.mark.more if first else pytest.mark.slow)


@pytest.mark.parametrize(("number", "moment"), [*moments_of_a_watch()])
def test_a_dry_watch_struck_at_any_moment_sets_nothing_and_another_goes_on(stands, number, moment):
    for signal_sent in (number, signal.SIGTERM):
        before = len(stands.lines("asked"))
        watch = start_watch(stands, "--dry-run", "--interval", "1")
        wait_until(lambda: len(stands.lines("asked")) >= before + 3, watch)  # it has begun to look  # noqa: B023
        time.sleep(random.Random(f"{number} {moment}").random() * 3.0)
        watch.send_signal(signal_sent)
        _, error = watch.communicate(timeout=600)
        assert "Traceback" not in error
        assert watch.returncode == (-signal_sent if signal_sent == signal.SIGKILL else 0), error
    assert not stands.lines("set")
    assert events_of(stands)[-1] == "end"
