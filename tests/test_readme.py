"""The commands of the README, run as they are typed, and its Python."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHOWN = [
    line
    for block in re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("hdeeprm-like ")
]


PYTHON = [
    block
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    if "import hdeeprm_like as hl" in block
]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder that looks like a clone; one command finds there what those before it left."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("agents", "platforms", "tests", "workloads"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    command = folder / "bin" / "hdeeprm-like"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize("line", SHOWN)
def test_a_command_of_the_readme_works_as_typed(clone, line):
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        shlex.split(line), cwd=clone, env=environment, timeout=120, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", PYTHON)
def test_what_the_readme_does_from_python_works_as_typed(clone, block):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        [sys.executable, "-c", f"{block}\nprint(len(jobs), list(table))"],
        cwd=clone,
        env=environment,
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "mean bounded slowdown" in done.stdout
    for name in ("runs/from-python/out_jobs.csv", "runs/gantt.png"):
        assert (clone / name).exists()


def test_there_is_python_to_run():
    assert len(PYTHON) == 1
