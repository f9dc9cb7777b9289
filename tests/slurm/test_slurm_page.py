"""The commands of docs/slurm.md, run as they are typed one after the other, with programs in the place of Slurm's."""

import json
import os
import re
import shlex
import subprocess
import sys
import time

import pytest
from test_commands import ROOT, Stands

from hdeeprm_like.cli.main import parser

PAGE = (ROOT / "docs" / "slurm.md").read_text(encoding="utf-8")
SHOWN = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
LINES = [json.loads(line) for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which one command finds what those before it left."""
    folder = tmp_path_factory.mktemp("room")
    Stands(folder)
    command = folder / "hdeeprm-like"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_of_the_page_works_as_typed(folder, line):
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    log = folder / "watch.jsonl"
    looks = log.read_text().count('"look"') if log.exists() else 0
    run = subprocess.Popen(shlex.split(line), cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while " watch " in line and (not log.exists() or log.read_text().count('"look"') == looks):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    if " watch " in line:
        run.terminate()
    _, said = run.communicate(timeout=300)
    assert run.returncode == 0, said


def test_there_are_commands_to_run_and_lines_that_the_log_has(folder):
    assert len(SHOWN) == 5
    told = {event["event"]: event for event in map(json.loads, (folder / "watch.jsonl").read_text().splitlines())}
    assert {line["event"] for line in LINES} == {"would set", "started"}
    for line in LINES:
        assert list(line) == list(told[line["event"]])


def test_the_unit_runs_commands_that_there_are():
    unit = (ROOT / "systemd" / "hdeeprm-like-slurm.service").read_text()
    commands = re.findall(r"^Exec\w+=\S+/hdeeprm-like (.*)$", unit, re.MULTILINE)
    watch, restore = [parser().parse_args(shlex.split(words)) for words in commands]
    assert not watch.apply
    assert watch.state == restore.state


def test_the_timer_restores_the_file_of_the_watch_and_leaves_a_watch_alone():
    units = [(ROOT / "systemd" / f"hdeeprm-like-slurm{name}.service").read_text() for name in ("", "-restore")]
    watch, restore = [
        parser().parse_args(shlex.split(re.search(r"^ExecStart=\S+/hdeeprm-like (.*)$", unit, re.MULTILINE)[1]))
        for unit in units
    ]
    assert restore.unless_watched
    assert restore.state == watch.state
