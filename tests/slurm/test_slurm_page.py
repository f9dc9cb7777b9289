"""The commands of docs/slurm.md, run as they are typed one after the other, with programs in the place of Slurm's."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from test_commands import ROOT, Stands, wait_until

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
    if " watch " in line:
        wait_until(lambda: log.exists() and log.read_text().count('"look"') > looks, run)
        run.terminate()
    _, said = run.communicate(timeout=300)
    assert run.returncode == 0, said


def test_there_are_commands_to_run_and_lines_that_the_log_has(folder):
    assert len(SHOWN) == 5
    told = {event["event"]: event for event in map(json.loads, (folder / "watch.jsonl").read_text().splitlines())}
    assert {line["event"] for line in LINES} == {"would set", "started"}
    for line in LINES:
        assert list(line) == list(told[line["event"]])


def commands_of(unit):
    """What the lines of a unit of systemd that begin a command say, by their names."""
    text = (ROOT / "systemd" / f"{unit}.service").read_text()
    lines = re.findall(r"^(Exec\w+)=\S+/hdeeprm-like (.*)$", text, re.MULTILINE)
    return {name: parser().parse_args(shlex.split(words)) for name, words in lines}


def test_the_units_run_commands_that_there_are_and_restore_what_the_watch_has_set():
    watch, after = commands_of("hdeeprm-like-slurm").values()
    timer = commands_of("hdeeprm-like-slurm-restore")["ExecStart"]
    assert not watch.apply
    assert watch.state == after.state == timer.state
    assert timer.unless_watched
