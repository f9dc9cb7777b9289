"""The commands of docs/import.md, run as they are typed, one after the other."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from logs import ROOT

PAGE = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
SHOWN = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder that looks like a clone; one command finds there what those before it left."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("tests", "workloads"):
        (folder / name).symlink_to(ROOT / name)
    (options,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    (folder / "mine").mkdir()
    (folder / "mine" / "options.json").write_text(options)
    command = folder / "bin" / "hdeeprm-like"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    return folder


# launches what was imported; each import has tests of its own
@pytest.mark.more
@pytest.mark.parametrize("line", SHOWN)
def test_a_command_of_the_page_works_as_typed(clone, line):
    environment = os.environ | {"PATH": f"{clone / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        shlex.split(line), cwd=clone, env=environment, timeout=600, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    if "jobs.swf --platform mine/platform.json" in line and "import" in line:
        assert done.stdout in PAGE


def test_there_are_commands_to_run():
    assert len(SHOWN) >= 9


def test_the_map_on_the_page_is_the_beginning_of_eagles():
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert shown in (ROOT / "hdeeprm_like" / "importers" / "maps" / "eagle.toml").read_text()
