"""The examples that come with the package, and how one of them is copied into a folder of the user's, ready to run.

Their files are the ``agents/``, ``platforms/`` and ``workloads/`` of the repository. In an installed package these
three folders lie in ``examples/`` beside this file (setup.py puts them there); in a clone, also one installed with
``pip install -e``, they lie at its top. `formats.shipped.examples_folder` finds them in both.

To add an example, add a line to `EXAMPLES`; the command line, its help and the tests read that table.
"""

import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.files import replacing_bytes
from hdeeprm_like.formats.shipped import examples_folder


@dataclass(frozen=True)
class Example:
    """An example: its files and the commands to run.

    Attributes:
        shows: what it shows, in one line.
        files: name of each file in the copy -> its path below `examples_folder`.
        commands: to run next, one after the other; ``{folder}`` stands for the folder of the copy.
        extra: the extra of the package that the commands need; empty for none.
    """

    shows: str
    files: Mapping[str, str]
    commands: tuple[str, ...]
    extra: str = ""


def copied(*paths: str) -> dict[str, str]:
    """Return the files of an example that keep their names in the copy."""
    return {path.rpartition("/")[2]: path for path in paths}


def trained(name: str, agent: str, shows: str, files: dict[str, str]) -> Example:
    """Return the example that trains an agent.

    Args:
        name: of its options file in ``agents/``, without the ending.
        agent: the same of the agent's file.
        shows: what it shows, in one line.
        files: the platform, the workload and what else is copied, as in `Example`.
    """
    sources = copied(f"agents/{name}.json", f"agents/{agent}.py") | files
    commands = (
        f"hdeeprm-like train --options {{folder}}/{name}.json --agent {{folder}}/{agent}.py",
        f"hdeeprm-like visual rewards --run train-{name} --save rewards.png",
    )
    return Example(shows, sources, commands, "learn")


DISSERTATION = tuple(f"dissertation-5-{name}" for name in ("1-pg", "1-a2c", "1-ppo", "2"))
LUBLIN = copied("platforms/pool_256.csv", "workloads/lublin_256.swf.gz")
EXAMPLES: Mapping[str, Example] = {
    "gaia": Example(
        "the thesis' two experiments: first arrived or shortest job first, 1000 jobs on 2280 cores of Gaia",
        {
            "first.json": "agents/gaia-first-high_gflops.json",
            "shortest.json": "agents/gaia-shortest-high_gflops.json",
            **copied("agents/ppo.json", "platforms/gaia.json", "workloads/gaia.swf.gz"),
        },
        (
            "hdeeprm-like launch --options {folder}/first.json",
            "hdeeprm-like launch --options {folder}/shortest.json",
            "hdeeprm-like metrics run-first run-shortest --save metrics.png",
        ),
    ),
    "compare": Example(
        "policies and backfilling compared on windows of a trace of the Lublin-Feitelson model, 256 cores",
        copied("workloads/lublin_256.swf.gz", "agents/sweep.json"),
        (
            "hdeeprm-like compare --trace {folder}/lublin_256.swf.gz --policies fcfs,sjf+easy,f1,fcfs+conservative "
            "--windows 4x512 --output compared",
        ),
    ),
    "frontier": Example(
        "2,000 jobs on Frontier's 602,112 cores, their energy and its power over time; and LUMI",
        copied("agents/frontier-easy.json", "platforms/frontier.json", "platforms/lumi.json", "agents/tariff.csv"),
        (
            "hdeeprm-like launch --options {folder}/frontier-easy.json",
            "hdeeprm-like metrics run-frontier-easy --short --tariff {folder}/tariff.csv",
            "hdeeprm-like visual power --run run-frontier-easy --save power.png",
        ),
    ),
    "learning": trained(
        "reinforce",
        "reinforce",
        "the thesis' learning example: REINFORCE, or actor-critic, learns which job to run where",
        {
            **copied("agents/actor_critic.json", "agents/actor_critic.py"),
            "platform.json": "platforms/learning.json",
            "jobs.json": "workloads/learning.json",
        },
    ),
    "two-kinds": Example(
        "an agent that chooses among the 36 policy pairs beats each of them, on 64 fast and 256 thrifty cores",
        copied("agents/two-kinds.json", "agents/ppo.py", "platforms/two_kinds.json"),
        (
            "hdeeprm-like train --method policy_iteration --options {folder}/two-kinds.json --agent {folder}/ppo.py",
            "hdeeprm-like visual rewards --run train-two-kinds --save rewards.png",
        ),
        "learn",
    ),
    "ppo-window": trained(
        "ppo-window",
        "ppo",
        "PPO chooses the next job from a window of 128 on the Lublin-Feitelson trace",
        LUBLIN,
    ),
    "smdp": trained(
        "smdp",
        "ppo",
        "PPO on the semi-Markov decision process of Cunha's dissertation, jobs of Mao et al. on 64 cores",
        copied("platforms/pool_64.csv"),
    ),
    "deep-backfilling": trained(
        "deep-backfilling",
        "ppo",
        "PPO on Deep Back-Filling (Wang et al. 2022), jobs of Mao et al. on 64 cores",
        copied("platforms/pool_64.csv"),
    ),
    "job-machine": trained(
        "job-machine",
        "ppo",
        "PPO chooses a job and a machine for it (Hutchison et al.), nine machines, two of them with GPUs",
        copied("platforms/nine_machines.csv"),
    ),
    "inspector": trained(
        "sched-inspector",
        "ppo",
        "PPO says of each job that shortest job first takes next whether it starts now (after SchedInspector)",
        LUBLIN,
    ),
    "dissertation": trained(
        "dissertation-5-5",
        "ppo",
        "the published numbers of Cunha's dissertation, tables 5.1, 5.2 and 5.5: policy gradient, A2C and PPO",
        copied(
            *(f"agents/{name}.json" for name in DISSERTATION),
            *("agents/reinforce.py", "agents/actor_critic.py"),
            *(f"platforms/{name}" for name in ("pool_10_10.csv", "pool_64.csv", "pool_256.csv")),
        ),
    ),
    "kernel": trained(
        "kernel",
        "kernel",
        "one network for every job imitates saf+reserve and learns on, on jobs of Lublin's model",
        copied("platforms/pool_256.csv", "agents/attention.py", "agents/recurrent.py"),
    ),
    "worked": Example(
        "examples small enough for paper: three and seven jobs of Cunha's dissertation, one of the thesis",
        {
            **{f"{name}.json": f"agents/worked-{name}.json" for name in ("three", "seven", "events")},
            **{f"{name}_jobs.json": f"workloads/worked_{name}_jobs.json" for name in ("three", "seven")},
            "three_jobs_swapped.json": "workloads/worked_three_jobs_swapped.json",
            "one_job.json": "workloads/worked_one_job.json",
            "void.json": "workloads/worked_void.json",
            **copied("platforms/two_cores.json", "platforms/pool_2.csv", "platforms/pool_3.csv"),
        },
        (
            "hdeeprm-like launch --options {folder}/three.json",
            "hdeeprm-like launch --options {folder}/three.json --workload {folder}/three_jobs_swapped.json "
            "--output run-swapped",
            "hdeeprm-like metrics run-three run-swapped --short",
        ),
    ),
    "gymnasium": Example(
        "Gymnasium environments learned by sb3-contrib's MaskablePPO, and parts of your own for them",
        copied(
            *(f"agents/{name}_ppo.py" for name in ("train_maskable", "cleanrl", "torchrl", "tianshou", "rllib")),
            *(f"agents/{name}.py" for name in ("sb3_vector", "sb3_network", "own_parts", "own_predictor")),
        ),
        ("python {folder}/train_maskable_ppo.py SMDP --steps 20000",),
        "rl",
    ),
}


def example_named(name: str) -> Example:
    """Return an example.

    Raises:
        OptionsError: no example has that name; the message names the nearest one.
    """
    if name not in EXAMPLES:
        raise OptionsError(f"example {name[:80]!r} is not known{did_you_mean(name, EXAMPLES)}")
    return EXAMPLES[name]


def commands_for(example: Example, folder: Path) -> list[str]:
    """Return the commands to run after an example was copied into *folder*, as a shell takes them."""
    return [shlex.join(word.format(folder=folder) for word in command.split()) for command in example.commands]


def copy_example(name: str, folder: Path) -> list[Path]:
    """Copy an example into a folder, which is made if it is not there; return the files.

    Either all files are there afterwards or none is. The options files of the copy name their platform and workload
    relative to themselves.

    Raises:
        OptionsError: there is no such example, or the folder holds a file that would be overwritten.
        ResultsError: the folder cannot be written.
    """
    example = example_named(name)
    is_new = not os.path.lexists(folder)
    if not is_new and not folder.is_dir():
        raise OptionsError(f"{folder}: is not a folder; name another folder for the example")
    for target in example.files:
        if os.path.lexists(folder / target):
            raise OptionsError(f"{folder / target}: is there already; name another folder for the example")
    contents = {folder / target: content_of(example, target) for target in example.files}
    written: list[Path] = []
    try:
        for path, content in contents.items():
            with replacing_bytes(path) as file:
                file.write(content)
            written.append(path)
    except BaseException:  # an interruption too
        for path in written:
            path.unlink(missing_ok=True)
        if is_new:
            with suppress(OSError):
                folder.rmdir()
        raise
    return written


def content_of(example: Example, target: str) -> bytes:
    """Return the content of a file of the copy: that of its source, with the other files' paths as they are there."""
    source = example.files[target]
    content = (examples_folder() / source).read_bytes()
    if source.startswith("agents/") and source.endswith(".json"):
        for name, path in example.files.items():
            content = content.replace(f'"../{path}"'.encode(), f'"{name}"'.encode())
    return content
