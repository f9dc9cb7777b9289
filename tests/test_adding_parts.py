"""A part of each kind is added to a copy of the package in at most two files, and works at once under its name.

The copy runs as plain Python (``HDEEPRM_LIKE_PYTHON=1``), so that nothing is compiled; it has all parts at once, for
most of the time goes into importing the package.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "hdeeprm_like"
MOST_FILES = 2  # that CONTRIBUTING names for a part

BEGIN = """
JOBS = [(1, 50, 50, 1), (2, 40, 90, 2), (3, 10, 20, 2), (4, 30, 30, 1)]  # number, run time, request, user
Path("jobs.swf").write_text("; MaxProcs: 4\\n" + "".join(
    f"{n} {n - 1} -1 {t} 1 -1 -1 1 {r} -1 1 {u} 1 1 1 1 -1 -1\\n" for n, t, r, u in JOBS))
"""
SIMULATE = "print(hl.simulate({cores}, 'jobs.swf', {policy!r}, clock='textbook').start.tolist())"
PLAY = """
from hdeeprm_like.gym import environment
from hdeeprm_like.options import Options
parts = {parts}
Options.model_validate({{"seed": 1, "policy": "sjf", "pybatsim": {{"env": parts}}}})
env = environment("PolicySelect", platform=1, workload="jobs.swf", clock="textbook", **parts)
seen, _ = env.reset(seed=0)
over, rewards = False, []
while not over:
    seen, reward, *over, _ = env.step(0)
    over = any(over)
    rewards.append(round(float(reward), 3))
"""


SLACK = """
from hdeeprm_like.cli.names import policies_like
from hdeeprm_like.decision.modes import mode_named
jobs = [(0, 10, 1), (1, 10, 2), (2, 15, 1)]  # the third can start at once if the second may start 7 s later
Path("wide.swf").write_text("; MaxProcs: 2\\n" + "".join(
    f"{n} {s} -1 {t} {c} -1 -1 {c} {t} -1 1 1 1 1 1 1 -1 -1\\n" for n, (s, t, c) in enumerate(jobs, 1)))
for policy in ("fcfs+slack:6", "fcfs+slack:7"):
    print(hl.simulate(2, "wide.swf", policy, clock="textbook").start.tolist())
print("fcfs+slack" in policies_like("fcfs+"), *policies_like("fcfs+slack:"), mode_named("slack").form())
try:
    hl.simulate(2, "wide.swf", "fcfs+slack:x")
except hl.OptionsError as error:
    print(error)
"""
SLACK_PRINTS = """[0.0, 10.0, 20.0]
[0.0, 17.0, 2.0]
True fcfs+slack:60 slack[:SLACK]
baseline 'fcfs+slack:x': slack:x is not known; write slack[:SLACK], SLACK: s by which the head is delayed at most; as \
saf+slack:60"""


@dataclass(frozen=True)
class Part:
    """What is added.

    Attributes:
        text: by file and the line that it comes before; by file and "" for a new file.
        program: uses the part. prints: what it then prints, as worked out on paper.
    """

    text: dict[tuple[str, str], str]
    program: str
    prints: str


PARTS = {
    "order": Part(  # the first and third job before the second and fourth
        {
            ("engine/numbers.py", "# Assumed run times of jobs."): "ODD_FIRST = 17\n",
            ("engine/numbers.py", '    "wfp3": WFP3,'): '    "oddfirst": ODD_FIRST,\n',
            ("engine/job_keys.py", "KEYS: dict["): '''
@inlined
def odd_first(tables: Tables, time: float, j: int) -> float:
    """Return 0 for the first job, 1 for the second, 0 for the third."""
    return float(j % 2)


''',
            ("engine/job_keys.py", "    ORACLE: actual_run_time,"): "    17: odd_first,\n",
        },
        SIMULATE.format(cores=1, policy="oddfirst+strict"),
        "[0.0, 60.0, 50.0, 100.0]",
    ),
    "mode": Part(  # four cores, of which one works
        {
            ("decision/policies/single.py", ""): '''"""One job at a time."""

from hdeeprm_like.decision.modes import Mode
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.job_lists import job_at
from hdeeprm_like.engine.tables import Tables


@callback
def start_one(tables: Tables, plans: Plans, k: int) -> None:
    """Start the first job of the order on an idle machine."""
    if tables.clock[0].running == 0:
        start_if_fits(tables, plans, k, job_at(tables.waiting, plans.plans[k].list, 0, 0))


class Single(Mode):
    """Starts one job at a time."""

    name, starts, starts_on_nodes = "single", start_one, start_one
''',
            ("decision/modes.py", '    "easyfcfs": "'): '    "single": "single:Single",\n',
        },
        SIMULATE.format(cores=4, policy="sjf+single"),
        "[0.0, 90.0, 50.0, 60.0]",
    ),
    "mode with memory": Part(  # one at a time: the first of the order, the last one, the first one, ...
        {
            ("decision/policies/turns.py", ""): '''"""One job at a time, in turn the shortest and the longest."""

import numpy as np

from hdeeprm_like.decision.modes import Mode
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.plans import Plans
from hdeeprm_like.decision.policies.starting import start_if_fits
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.job_lists import copy_jobs
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Ints


class Taken(Bundle):
    """How many jobs have started."""

    taken: Ints


@callback
def start_in_turn(tables: Tables, plans: Plans, memory: Taken, k: int) -> None:
    """Start the next job on an idle machine."""
    if tables.clock[0].running == 0:
        last = copy_jobs(tables.waiting, plans.plans[k].list, plans.queue) - 1
        start_if_fits(tables, plans, k, plans.queue[last if memory.taken[0] % 2 == 1 else 0])
        memory.taken[0] += 1


class Turns(Mode):
    """Takes turns."""

    name, starts, starts_on_nodes = "turns", start_in_turn, start_in_turn

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Taken:
        """Return the memory before the first job."""
        return Taken(np.zeros(1, np.int64))
''',
            ("decision/modes.py", '    "strict": "'): '    "turns": "turns:Turns",\n',
        },
        SIMULATE.format(cores=4, policy="sjf+turns"),
        "[0.0, 50.0, 90.0, 100.0]",
    ),
    "mode with an option": Part(
        {
            ("decision/policies/slack.py", ""): '''"""EASY that may delay the head of the queue."""

from typing import Annotated

import numpy as np

from hdeeprm_like.decision.modes import Mode, Option
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.easy import start_all_that_fit, start_in_order
from hdeeprm_like.decision.policies.node_plans import start_around_heads
from hdeeprm_like.decision.policies.plans import NO_JOB, Plans
from hdeeprm_like.decision.policies.skyline import reserve
from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import callback
from hdeeprm_like.engine.job_lists import job_at
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats


class Due(Bundle):
    """When each job is to start at the latest, in s, since it was first the head; and by how much later."""

    start: Floats
    slack: Floats


@callback
def start_with_slack(tables: Tables, plans: Plans, memory: Due, k: int) -> None:
    """Start jobs in order, then those that delay the head no further than to its date."""
    start_in_order(tables, plans, k)
    if tables.clock[0].waiting > 1:
        plan = plans.plans[k]
        head = job_at(tables.waiting, plan.list, 0, 0)
        reserve(tables, plans, k, head, tables.jobs[head].size)
        memory.start[head] = min(memory.start[head], plan.shadow + memory.slack[0])
        plan.shadow = max(plan.shadow, memory.start[head])
        start_all_that_fit(tables, plans, k)
        plan.reserved = NO_JOB


class Slack(Mode):
    """As easy, but the head may be delayed."""

    name, starts, starts_on_nodes = "slack", start_with_slack, start_around_heads
    slack: Annotated[float, Option("s by which the head is delayed at most", "60")] = 600.0

    def new_memory(self, state: State, baseline: Baseline, jobs: int) -> Due:
        """Return the memory before the first head."""
        return Due(np.full(jobs, np.inf), np.array([self.slack]))
''',
            ("decision/modes.py", '    "commit": "'): '    "slack": "slack:Slack",\n',
        },
        SLACK,
        SLACK_PRINTS,
    ),
    "predictor": Part(  # 10, 20 and 30 s for the last three, since no prediction is longer than the request
        {
            ("engine/numbers.py", "}\nLEARNED = len"): '    "opposite": 7,\n',
            ("decision/policies/run_times.py", "PREDICTIONS: dict"): '''
@inlined
def opposite(tables: Tables, history: History, j: int) -> float:
    """Return what is left of 100 s."""
    return float(100.0 - tables.jobs[j].requested_time)


''',
            ("decision/policies/run_times.py", "    SURVIVAL_LONG: long_time,"): "    7: opposite,\n",
        },
        SIMULATE.format(cores=1, policy="sjf@opposite+strict"),
        "[0.0, 50.0, 90.0, 100.0]",
    ),
    "objective": Part(  # two jobs wait at 50, one at 60, none at 90
        {
            ("decision/objectives.py", "VALUES: dict"): '''
@inlined
def waiting_jobs(tables: Tables, window: Window, ahead: float) -> float:
    """Return minus the waiting jobs."""
    return float(-tables.clock[0].waiting)


''',
            ("decision/specs.py", "}\n\nREWARD_MODES"): '    "waiting_jobs": ObjectiveSpec("minus the waiting jobs", '
            'code="waiting_jobs"),\n',
        },
        PLAY.format(parts={"objective": "waiting_jobs", "reward": "sample"}) + "print(rewards[-4:])",
        "[-3.0, -2.0, -1.0, 0.0]",
    ),
    "observation": Part(
        {
            ("decision/observations/lengths.py", ""): '''"""The number of waiting jobs."""

from hdeeprm_like.decision.layout import Block
from hdeeprm_like.decision.observations.arrays import Observation, ViewArrays
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats


@compiled
def write_length(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write it as a share of 10."""
    out[0] = 0.1 * tables.clock[0].waiting


LENGTH = Observation(name="length", blocks=lambda sizes: (Block("", 1, ("waiting",)),), write=write_length)
''',
            ("decision/specs.py", "}\n\nACTIONS"): '    "length": ObservationSpec("the number of waiting jobs", '
            'code="lengths:LENGTH"),\n',
        },
        PLAY.format(parts={"observation": "length"}).replace("    rewards.append", "    print(seen);  rewards.append"),
        "[0.3]\n[0.2]\n[0.1]\n[0.]",
    ),
    "observation with memory": Part(  # seven decisions, each seen, and the end
        {
            ("decision/observations/looks.py", ""): '''"""The number of observations until now."""

from hdeeprm_like.decision.layout import Block
from hdeeprm_like.decision.observations.arrays import Observation, ViewArrays
from hdeeprm_like.decision.window.arrays import Window
from hdeeprm_like.engine.compiled import compiled
from hdeeprm_like.engine.tables import Tables
from hdeeprm_like.types import Floats


@compiled
def write_looks(tables: Tables, window: Window, view: ViewArrays, out: Floats) -> None:
    """Write it as a share of 8."""
    view.memory[0] += 1.0
    out[0] = view.memory[0] / 8.0


LOOKS = Observation("looks", lambda sizes: (Block("", 1, ("looks",)),), write_looks, memory=(0.0,))
''',
            ("decision/specs.py", "}\n\nACTIONS"): '    "looks": ObservationSpec("the number of observations", '
            'code="looks:LOOKS"),\n',
        },
        PLAY.format(parts={"observation": "looks"}).replace("    rewards.append", "    print(seen);  rewards.append"),
        "[0.25]\n[0.375]\n[0.5]\n[0.625]\n[0.75]\n[0.875]\n[1.]",
    ),
    "input format": Part(
        {
            ("formats/cores_txt.py", ""): '''"""A platform of as many cores as a text file says."""

from pathlib import Path

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.inputs import read_text


def read_cores(path: Path) -> Platform:
    """Read it."""
    return pool(int(read_text(path, PlatformError)))
''',
            ("formats/open.py", '    Format(\n        "Batsim\'s JSON",'): '    Format("text", "platform", (".txt",), '
            'f"{HERE}.cores_txt:read_cores"),\n',
        },
        'Path("two.txt").write_text("2")\n' + SIMULATE.format(cores='"two.txt"', policy="fcfs"),
        "[0.0, 1.0, 41.0, 50.0]",
    ),
    "plot": Part(
        {
            ("results/plots/starts.py", ""): '''"""When jobs start."""

from matplotlib.figure import Figure

from hdeeprm_like.results.run_reader import Run


def starts(figure: Figure, run: Run) -> None:
    """Draw it."""
    figure.subplots().plot(run.jobs.start)
''',
            ("results/plots/__init__.py", '    "losses": Plot('): '    "starts": Plot("Starts", '
            'f"{HERE}.starts:starts", JOBS),\n',
        },
        """
from hdeeprm_like.cli.main import main
Path("o.json").write_text(json.dumps({"seed": 1, "policy": "first-high_gflops", "nb_jobs": 3,
    "platform_file_path": "gaia", "workload_file_path": "gaia"}))
main(["launch", "--options", "o.json", "--output", "run", "--quiet"])
main(["visual", "starts", "--run", "run", "--save", "starts.png"])
print(Path("starts.png").stat().st_size > 1000)
""",
        "True",
    ),
    "figure": Part(  # of two cores, on which the first two jobs start at once
        {
            ("cluster/schedule.py", '    "makespan": Figure('): '    "at_once": Figure("Jobs at once", "jobs", '
            'lambda s: float(sum(s.wait == 0)), meaning="jobs that never waited"),\n',
        },
        """
from hdeeprm_like.cli.main import main
main(["compare", "--trace", "jobs.swf", "--policies", "fcfs,sjf", "--windows", "all", "--cores", "2",
      "--figures", "at_once,wait", "--report", "--output", "out"])
page, (head, *rows) = Path("out/report.html").read_text(), Path("out/results.csv").read_text().splitlines()
print("<th>jobs at once</th>" in page.replace(' class="number"', ""), "jobs that never waited" in page)
print([row.split(",")[head.split(",").index("at_once")] for row in rows])
""",
        "True True\n['2.0', '2.0']",
    ),
}


MODES = """
import hdeeprm_like as hl
from small import jobs, platform
from hdeeprm_like.decision.modes import MODES
DICE = random.Random(3)
ROWS = sorted((DICE.randrange(30), DICE.randrange(1, 40), DICE.randrange(1, 9)) for _ in range(60))
SUBMIT, SECONDS, SIZE = zip(*ROWS)
WORKLOAD = jobs(SUBMIT, SECONDS, SIZE, estimate=[2 * time for time in SECONDS])
NODES = platform((100.0, [(8, 1.0, 1.0, 1.0)]), (100.0, [(4, 1.0, 1.0, 1.0)]))
for mode in MODES:
    if mode not in ("single", "turns", "slack", "slurm", "scored"):
        ending = "-tetris" if mode == "packing" else ""
        print(mode, hl.simulate(NODES, WORKLOAD, f"laf+{mode}{ending}", clock="textbook").start.tolist())
"""
"""Prints what each mode starts when."""

RUN = """
import json, os, sys, traceback
from pathlib import Path
import hdeeprm_like as hl
for kind, program in json.loads(sys.argv[1]).items():
    print("=", kind)
    os.makedirs(kind)
    os.chdir(kind)
    try:
        exec(program, {"json": json, "Path": Path, "hl": hl})
    except BaseException:
        traceback.print_exc(file=sys.stdout)
    os.chdir("..")
"""


def add(part, copy):
    """Add a part to a copy of the package."""
    for (file, line), text in part.text.items():
        path = copy / file
        if line:
            content = path.read_text()
            assert content.count(line) == 1, line
            text = content.replace(line, text + line)
        path.write_text(text)


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What the program of each part prints, in one process of a copy of the package that has all parts."""
    folder = tmp_path_factory.mktemp("copy")
    copy = folder / "hdeeprm_like"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("*.so"))
    for data in ("platforms", "workloads", "agents"):
        (folder / data).symlink_to(PACKAGE.parent / data)
    for part in PARTS.values():
        add(part, copy)
    (folder / "runs").mkdir()
    programs = {kind: BEGIN + part.program for kind, part in PARTS.items()} | {"all modes": "import random" + MODES}
    done = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(programs)],
        env=os.environ | {"PYTHONPATH": f"{folder}:{TESTS}", "HDEEPRM_LIKE_PYTHON": "1", "MPLBACKEND": "agg"},
        cwd=folder / "runs",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[-1500:]
    return dict(text.split("\n", 1) for text in done.stdout.removeprefix("= ").split("\n= "))


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_works_at_once_under_its_name_and_is_added_in_two_files_at_most(printed, kind):
    assert printed[kind].strip().endswith(PARTS[kind].prints), printed[kind][-1500:]
    assert len({file for file, _ in PARTS[kind].text}) <= MOST_FILES
    assert kind != "figure" or [text.count("\n") for text in PARTS[kind].text.values()] == [1]  # is one line


def test_a_mode_inserted_anywhere_changes_no_other(printed, capsys):
    exec("import random" + MODES, {})
    assert printed["all modes"].split("\n") == capsys.readouterr().out.split("\n")
    starts = [line.split(" ", 1)[1] for line in printed["all modes"].splitlines()]
    assert len(set(starts)) >= len(starts) - 2  # most modes differ here, so an exchange of two is seen
