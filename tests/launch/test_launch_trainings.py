"""A launch that trains: the same runs, updates and schedules whoever moves the clock."""

import csv
import json
from pathlib import Path

import pytest

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.launch.in_process import launch
from hdeeprm_like.launch.learner import AgentChoice, Learner
from hdeeprm_like.launch.peers import EMBEDDED, peer_of
from hdeeprm_like.launch.run_by_run import RunByRun
from hdeeprm_like.launch.with_batsim import launch_batsim

ROOT = Path(__file__).parent.parent.parent
LOGS = ("losses.log", "rewards.log", "probs.json", "makespans.log", "decisions.jsonl")
RUNS = 3
AGENTS = {  # the options files of learning agents that are shipped, and who can learn with them
    "actor_critic": ("actor_critic", "reinforce"),
    "deep-backfilling": ("ppo",),
    "dissertation-5-1-a2c": ("actor_critic",),
    "dissertation-5-1-ppo": ("ppo",),
    "dissertation-5-2": ("ppo",),
    "dissertation-5-5": ("ppo",),
    "job-machine": ("ppo",),
    "kernel": ("kernel",),
    "ppo": ("ppo",),
    "ppo-window": ("ppo",),
    "reinforce": ("reinforce",),
    "sched-inspector": ("ppo",),
    "smdp": ("ppo",),
    "two-kinds": ("ppo",),
}
ONLY_TRAINED = {"dissertation-5-1-pg": "reinforce"}  # their agent learns from several episodes at a time
PAIRS = [(options, agent) for options, agents in AGENTS.items() for agent in agents]


def learner_of(folder, options, agent, jobs=40, **changes):
    """A shipped learning agent at the beginning of its training, on the first jobs of its workload."""
    content = json.loads((ROOT / "agents" / f"{options}.json").read_text())
    for key in ("workload_file_path", "platform_file_path"):
        if key in content:
            content[key] = str((ROOT / "agents" / content[key]).resolve())
    content["nb_jobs"] = min(jobs, content.get("nb_jobs", jobs))
    content["pybatsim"]["agent"] |= changes
    path = folder / "options.json"
    path.write_text(json.dumps(content))
    return Learner(load_experiment(path), AgentChoice(str(ROOT / "agents" / f"{agent}.py")))


def schedule(folder):
    with (folder / "out_jobs.csv").open() as file:
        return {row["job_id"]: (row["starting_time"], row["allocated_resources"]) for row in csv.DictReader(file)}


def assert_the_same_training(here, there, logs=LOGS):
    assert schedule(here)
    assert schedule(here) == schedule(there)
    for name in logs:
        assert (here / name).read_text() == (there / name).read_text(), name


def test_every_learning_agent_that_is_shipped_is_tried():
    read = {path.stem: json.loads(path.read_text()) for path in (ROOT / "agents").glob("*.json")}
    learning = {name for name, content in read.items() if _type(content) == "LEARNING"}
    assert learning == {*AGENTS, *ONLY_TRAINED}


def _type(content):
    return content.get("pybatsim", {}).get("agent", {}).get("type")


# compiles kinds of runs and plays hundreds of jobs message by message, for 5 to 20 s each
@pytest.mark.lane(more=r"(?!(actor_critic-reinforce|smdp-ppo)$).*")
@pytest.mark.parametrize(("options", "agent"), PAIRS, ids=[f"{options}-{agent}" for options, agent in PAIRS])
def test_a_training_is_the_same_message_by_message_as_in_process(options, agent, tmp_path):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        launched(learner_of(tmp_path, options, agent), tmp_path / name, batsim=name == "there", log=True)
    assert_the_same_training(tmp_path / "here", tmp_path / "there")


def launched(learner, output, batsim=False, log=False, peer=EMBEDDED, runs=RUNS):
    """The record of a launch that trains, in process or message by message."""
    training = RunByRun(learner, log)
    if batsim:
        return launch_batsim(training, output, peer, runs=runs, progress=False)
    return launch(training, output, runs, progress=False).record


@pytest.mark.parametrize("batsim", [False, True], ids=["in process", "messages"])
def test_an_agent_that_learns_from_several_episodes_at_a_time_is_not_launched_to_train(batsim, tmp_path):
    learner = learner_of(tmp_path, *next(iter(ONLY_TRAINED.items())))
    if batsim:
        assert "several episodes" in launched(learner, tmp_path / "out", batsim, runs=1)["problem"]
    else:
        with pytest.raises(OptionsError, match="several episodes"):
            launched(learner, tmp_path / "out", runs=1)


# starts a server for each of three runs, twice
@pytest.mark.more
@pytest.mark.parametrize("version", ["batsim", "batsim5"])
def test_a_training_is_the_same_over_a_socket_as_in_process(version, tmp_path):
    peer = peer_of(version, tmp_path / "there", command=f"hdeeprm-like {version}", timeout=300)
    for name in ("here", "there"):
        learner = learner_of(tmp_path, "ppo", "ppo", jobs=150)
        launched(learner, tmp_path / name, batsim=name == "there", log=True, peer=peer)
    assert_the_same_training(tmp_path / "here", tmp_path / "there")


@pytest.mark.parametrize("batsim", [False, True], ids=["in process", "messages"])
def test_the_learning_rate_falls_from_run_to_run(batsim, tmp_path):
    learner = learner_of(tmp_path, "reinforce", "reinforce", lr=0.004, lr_end=0.001)
    rates, step = [], learner.agent.step

    def noting(loss, largest_gradient=0.0):
        rates.append(learner.agent.optimizer.param_groups[0]["lr"])
        step(loss, largest_gradient)

    learner.agent.step = noting
    launched(learner, tmp_path / "out", batsim)
    assert rates == pytest.approx([0.004, 0.003, 0.002])


def test_the_files_of_a_training_are_those_of_its_last_run_and_its_logs_have_a_line_for_each(tmp_path):
    run = launched(learner_of(tmp_path, "reinforce", "reinforce"), tmp_path / "out")
    rewards = [float(line) for line in (tmp_path / "out" / "rewards.log").read_text().split()]
    makespans = [float(line) for line in (tmp_path / "out" / "makespans.log").read_text().split()]
    assert len(rewards) == len(makespans) == RUNS
    assert run["reward"] == rewards[-1]
    assert run["metrics"]["makespan"] == pytest.approx(makespans[-1], abs=1e-6)
    assert "checkpoint.pt" in run["files"]
