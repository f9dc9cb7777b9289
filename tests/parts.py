"""A small training whose updates are played in three parts, and what such a training leaves."""

import json
from pathlib import Path

import torch
from robust_inputs import machine, workload

ROOT = Path(__file__).parents[1]
AGENT = ROOT / "agents" / "ppo.py"


def write_training(folder, **training):
    """Write options and inputs of a training of eight episodes in two updates; return the path of the options."""
    (folder / "machine.json").write_text(json.dumps(machine()))
    (folder / "jobs.json").write_text(json.dumps(workload(60)))
    content = {
        "seed": 5,
        "workload_file_path": "jobs.json",
        "platform_file_path": "machine.json",
        "pybatsim": {
            "env": {"objective": "avg_job_slowdown", "observation": "minimal"},
            "agent": {"type": "LEARNING", "run": "train", "hidden": 8, "lr": 0.01, "gamma": 0.9},
        },
        "training": {"episodes": 8, "envs": 4, "parts": 3, "fragment_jobs": 6, "checkpoint_every": 4, **training},
    }
    (folder / "options.json").write_text(json.dumps(content))
    return folder / "options.json"


def left_in(folder):
    """The checkpoint as bytes of its tensors and the logs, but for what tells how long it took."""
    content = torch.load(folder / "checkpoint.pt", weights_only=True)
    parts = {name: content[name] for name in ("parameters", "optimizer", "generators", "counters")}
    return repr(plain(parts)), (folder / "rewards.log").read_text(), (folder / "losses.log").read_text()


def plain(content):
    """Nested content with lists in the place of tensors, and all their digits."""
    if isinstance(content, torch.Tensor):
        return content.tolist()
    if isinstance(content, dict):
        return {name: plain(value) for name, value in content.items()}
    return [plain(one) for one in content] if isinstance(content, list | tuple) else content
