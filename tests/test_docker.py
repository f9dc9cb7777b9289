"""The containers: what the files say is whole, and their commands do what they promise outside of containers."""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
import yaml
from server_inputs import free_port

from hdeeprm_like import __version__

ROOT = Path(__file__).parent.parent
DOCKER = ROOT / "docker"
COMPOSE = yaml.safe_load((DOCKER / "compose.yaml").read_text())
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
SERVICES = COMPOSE["services"]
# of a service, as the compose specification names them
KEYS = {"build", "image", "entrypoint", "command", "user", "volumes", "networks", "init", "depends_on", "healthcheck",
        "stop_grace_period"}  # fmt: skip


def test_the_compose_file_has_two_services_that_share_a_network_and_a_volume():
    assert set(COMPOSE) == {"name", "services", "networks", "volumes"}
    assert set(SERVICES) == {"hdeeprm", "batsim"}
    for service in SERVICES.values():
        assert set(service) <= KEYS
        assert service["networks"] == list(COMPOSE["networks"])
        assert service["volumes"] == [f"{volume}:/data" for volume in COMPOSE["volumes"]]
        assert all(isinstance(word, str) for word in service["command"])
    assert SERVICES["batsim"]["depends_on"] == {"hdeeprm": {"condition": "service_healthy"}}


def test_the_image_of_batsim_is_pinned_and_can_be_another():
    match = re.fullmatch(r"\$\{BATSIM_IMAGE:-(\S+):(\S+)\}", SERVICES["batsim"]["image"])
    assert match
    assert match[2] != "latest"


def test_the_image_runs_as_a_user_who_is_not_root_and_owns_the_volume():
    user = re.findall(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[-1]
    assert user == SERVICES["batsim"]["user"]
    assert not user.startswith(("0", "root"))
    assert "slim" in re.search(r"^ARG PYTHON=(\S+)$", DOCKERFILE, re.MULTILINE)[1]
    assert 'ARG TORCH_INDEX=""' in DOCKERFILE
    assert "://" not in DOCKERFILE


def test_everything_that_the_image_is_made_of_is_there():
    kept = re.findall(r"^!(\S+)$", (DOCKER / "Dockerfile.dockerignore").read_text(), re.MULTILINE)
    copied = [word for line in re.findall(r"^COPY (?!--)(.+)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]]
    assert set(copied) == set(kept)
    assert all((ROOT / name).exists() for name in copied)
    assert (ROOT / default("${EXPERIMENT:-agents/gaia-shortest-high_gflops.json}")).exists()


def default(text):
    """Return a word of the compose file as it is with no variable set."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def outside(words, folder, port):
    """Return a command of the compose file as it is run here: in a folder, on this machine's network."""
    places = {
        "/data": str(folder),
        "tcp://*:28000": f"tcp://127.0.0.1:{port}",
        "tcp://hdeeprm:28000": f"tcp://127.0.0.1:{port}",
    }
    words = [default(word) for word in words]
    for inside, here in places.items():
        words = [word.replace(inside, here) for word in words]
    return words


# the same once more
@pytest.mark.lane(more="False", slow="True")
@pytest.mark.parametrize("impatient", [False, True])
def test_the_commands_run_the_experiment_to_its_end(impatient, tmp_path):
    """*impatient*: as with --abort-on-container-exit, the one is told to stop as soon as the other has ended."""
    port = free_port()
    ours = json.loads(re.search(r"^ENTRYPOINT (\[.*\])$", DOCKERFILE, re.MULTILINE)[1])
    assert ours == ["hdeeprm-like"]
    program = [sys.executable, "-m", "hdeeprm_like"]
    launch = outside(SERVICES["hdeeprm"]["command"], tmp_path, port)
    ((shell, healthy),) = [outside(SERVICES["hdeeprm"]["healthcheck"]["test"], tmp_path, port)]
    assert shell == "CMD-SHELL"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*program, *launch], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as hdeeprm:
        try:
            deadline = time.monotonic() + 300
            while subprocess.run(["sh", "-c", healthy], timeout=300, stderr=subprocess.DEVNULL).returncode:
                assert time.monotonic() < deadline
                assert hdeeprm.poll() is None
                time.sleep(0.1)
            assert SERVICES["batsim"]["entrypoint"] == ["batsim"]
            batsim = outside(SERVICES["batsim"]["command"], tmp_path, port)
            subprocess.run([*program, "batsim", *batsim], cwd=ROOT, timeout=600, check=True)
            if impatient:
                hdeeprm.terminate()
            _, told = hdeeprm.communicate(timeout=300)
        finally:
            hdeeprm.kill()
    assert "Traceback" not in told
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["status"] == "complete", told
    assert run["metrics"]["nb_jobs_success"] == 1000
    assert hdeeprm.returncode in ((0, -15) if impatient else (0,))


def test_the_recipe_for_conda_says_what_pyproject_says():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "conda" / "meta.yaml").read_text()
    assert f'{{% set version = "{__version__}" %}}' in text
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text()
    text = re.sub(r"{%.*%}", "", text).replace("{{ version }}", __version__).replace("{{ PYTHON }}", "python")
    recipe = yaml.safe_load(text)
    assert recipe["package"]["version"] == project["version"] == __version__
    wanted = {re.sub(r"(?=[<>=])", " ", one, count=1) for one in project["dependencies"]}
    wanted.add(f"python {project['requires-python']}")
    named = {one.replace("matplotlib-base", "matplotlib") for one in recipe["requirements"]["run"]}
    by_pip = {one for one in wanted if one.startswith(("evalys", "pybatsim"))}  # are on no channel
    assert named == wanted - by_pip
    assert {name.rpartition("=")[0].strip() for name in recipe["build"]["entry_points"]} == set(project["scripts"])


def test_the_devcontainer_builds_what_is_there():
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    assert (ROOT / ".devcontainer" / settings["build"]["dockerfile"]).exists()
    assert f"\n{settings['postCreateCommand'].split()[1]}:" in (ROOT / "Makefile").read_text()
