"""What a user of an installed package does, in an environment without numba and with an empty cache: ``make package``.

The commands and Python blocks of all pages run there, too: ``tests/test_docs.py`` with the same variable. Nothing may
be compiled, fall back to plain Python or show a traceback, and nothing in the package's folder may change.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from hdeeprm_like.example_files import EXAMPLES, commands_for

PYTHON = os.environ.get("HDEEPRM_LIKE_TRIED", "")  # of the environment in which the package is installed
COMMAND = str(Path(PYTHON).parent / "hdeeprm-like")
pytestmark = pytest.mark.skipif(not PYTHON, reason="make package installs the package and runs this")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder of the user's, far from the clone."""
    return tmp_path_factory.mktemp("user")


def run(place, *command, status=0):
    """The output of a command that ends as it should, and shows no traceback."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MPLBACKEND": "agg"}
    done = subprocess.run(
        list(map(str, command)), cwd=place, env=environment, capture_output=True, text=True, timeout=1800, check=False
    )
    assert done.returncode == status, f"{shlex.join(map(str, command))}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    assert "compil" not in done.stderr
    return done.stdout


def ours(place, line, status=0):
    """The output of one of our commands."""
    program, *arguments = shlex.split(line)
    assert program == "hdeeprm-like"
    return run(place, COMMAND, *arguments, status=status)


def test_there_is_no_compiler_and_all_machine_code_is_there(place):
    run(place, PYTHON, "-c", "import importlib.util, sys; sys.exit(importlib.util.find_spec('numba') is not None)")
    said = ours(place, "hdeeprm-like doctor")
    assert "machine code           whole" in said


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_copied_and_its_launches_run(name, place):
    ours(place, f"hdeeprm-like example {name} {name}")
    for line in commands_for(EXAMPLES[name], Path(name)):
        if line.startswith("hdeeprm-like launch ") and "simulator" not in line and "model" not in line:
            ours(place, f"{line} --overwrite")


TRAINED = (
    "hdeeprm-like example learning x",
    "hdeeprm-like train --options x/reinforce.json --agent x/reinforce.py --output runs/own --episodes 20 --trust",
    "hdeeprm-like launch --options x/reinforce.json --agent x/reinforce.py -im runs/own --output runs/played --trust",
    "hdeeprm-like compare --trust --trace lublin-1 --policies fcfs,agent:runs/own --windows 1x50 --output runs/beside",
    "hdeeprm-like explain zoo:balanced --trace ctc-sp2 --at 0.5",
)


def test_an_agent_is_trained_launched_and_compared_and_a_policy_explained(place):
    for line in TRAINED:
        ours(place, line)


AGENTS = sorted((Path(__file__).parents[2] / "agents").glob("*.py"))
SHOWN = [
    (path.stem, line.strip())
    for path in AGENTS
    for line in path.read_text().partition("import ")[0].splitlines()
    if line.startswith("    python agents/")
]


@pytest.mark.parametrize(("name", "line"), SHOWN, ids=[name for name, _ in SHOWN])
def test_the_command_that_an_agents_file_shows_runs(name, line, place):
    """For some steps; what another library trains needs that library."""
    shutil.copytree(AGENTS[0].parent, place / "agents", dirs_exist_ok=True)
    line = re.sub(r"--steps \d+", "--steps 600", re.sub(r"--iterations \d+", "--iterations 1", line))
    needed = {"torchrl_ppo": "torchrl", "tianshou_ppo": "tianshou", "rllib_ppo": "ray"}.get(name)
    if needed and subprocess.run([PYTHON, "-c", f"import {needed}"], capture_output=True, check=False).returncode:
        pytest.skip(f"{needed} is not installed")
    run(place, PYTHON, "-W", "ignore", *shlex.split(line)[1:])


BATSIM = {"env": {"objective": "avg_wait"}, "agent": {"type": "CLASSIC", "policy_pair": "zoo:steady"}}


@pytest.mark.parametrize("server", ["batsim", "batsim5"])
def test_the_servers_play_with_a_launch(server, place):
    options = {"seed": 1, "nb_jobs": 60, "workload_file_path": "lublin-1", "platform_file_path": "das2"}
    (place / "batsim.json").write_text(json.dumps(options | {"pybatsim": BATSIM}))
    command = f"--batsim-command '{COMMAND} {server}'"
    ours(place, f"hdeeprm-like launch -q -o batsim.json --output {server} --simulator {server} {command}")


API = """
import gymnasium, hdeeprm_like as hl, hdeeprm_like.gym
schedule = hl.simulate(256, "lublin-1", "zoo:balanced")
schedule.save("saved")
schedule.gantt("gantt.png")
alone = gymnasium.make("hdeeprm_like/SMDP-v0", platform=256, workload="lublin-1", jobs=50)
observation, info = alone.reset(seed=1)
alone.step(int(info["action_mask"].argmax()))
beside = gymnasium.make_vec("hdeeprm_like/SMDP-v0", num_envs=2, platform=256, workload="lublin-1", jobs=50)
beside.reset(seed=1)
"""


def test_python_saves_draws_and_steps_through_environments(place):
    run(place, PYTHON, "-W", "ignore", "-c", API)


def test_nothing_was_compiled_and_nothing_in_the_package_has_changed(place):
    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert [str(path) for path in cache.rglob("*.so") if "hdeeprm_like" in path.parts] == []
    package = Path(run(place, PYTHON, "-c", "import hdeeprm_like; print(hdeeprm_like.__path__[0])").strip())
    installed = Path(os.environ["HDEEPRM_LIKE_INSTALLED"]).stat().st_mtime  # a file that was written after installing
    assert [
        path
        for path in package.rglob("*")
        if path.suffix != ".pyc" and path.is_file() and path.stat().st_mtime > installed
    ] == []
