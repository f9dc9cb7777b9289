"""Nothing heavy is loaded before a command needs it; asked in a fresh interpreter, for here everything is loaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from server_inputs import CLUSTER, workload, write_inputs

from hdeeprm_like.cli import main

ROOT = Path(__file__).parent.parent
COMPILER = {"numba", "llvmlite"}
TABLES_AND_PICTURES = {"pandas", "matplotlib", "evalys", "seaborn", "scipy", "jinja2"}
HEAVY = COMPILER | TABLES_AND_PICTURES | {"numpy", "torch", "pydantic", "gymnasium", "zmq", "tqdm"}
SERVERS = {"ssl", "http", "asyncio", "batsim"}
PARSER = "from hdeeprm_like.cli.main import parser; parser().parse_args(['metrics', 'a-run'])"
COMMANDS = [name for added in main.COMMANDS for name in added[2:]]


def loaded_after(statement, whole=False):
    """Names of the packages, or of all modules, that are loaded once a fresh interpreter has run a statement."""
    name = "name" if whole else "name.split('.')[0]"
    report = f"import json, sys; sys.stderr.write(json.dumps(sorted({{{name} for name in sys.modules}})))"
    code = f"try:\n    {statement}\nexcept SystemExit:\n    pass\n{report}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(ended.stderr.splitlines()[-1]))


def test_building_the_whole_parser_loads_nothing_heavy():
    found = loaded_after(PARSER, whole=True)
    assert "argparse" in found
    assert found & HEAVY == set()
    assert len(found) < 200  # not one in four of those that a launch loads


HELP = """
import io, json, sys
from contextlib import redirect_stdout, suppress
from hdeeprm_like.cli.main import main
loaded = {}
for command in [*sys.argv[1:], ""]:
    before = set(sys.modules)
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        main([command, "--help"] if command else ["--help"])
    loaded[command] = sorted({name.split(".")[0] for name in set(sys.modules) - before})
print(json.dumps(loaded))
"""


def test_the_help_of_no_command_loads_anything_heavy():
    ended = subprocess.run([sys.executable, "-c", HELP, *COMMANDS], capture_output=True, text=True, check=True)
    loaded = json.loads(ended.stdout)
    assert set(loaded) == {*COMMANDS, ""}
    assert "textwrap" in set().union(*loaded.values())  # argparse loads it to print
    assert {command: HEAVY & set(found) for command, found in loaded.items() if HEAVY & set(found)} == {}


def test_every_command_is_asked_for_its_help():
    (commands,) = (action for action in main.parser()._actions if action.dest == "command")
    assert list(commands.choices) == [*COMMANDS, "batsim", "batsim5"]


@pytest.mark.parametrize("command", ["launch", "cut"])
def test_a_command_is_read_without_the_others(command):
    (own,) = (action for action in main.parser(command)._actions if action.dest == "command")
    names = next(added[2:] for added in main.COMMANDS if command in added[2:])
    assert set(own.choices) == set(names)
    found = loaded_after(f"from hdeeprm_like.cli.main import main; main(['{command}', '--help'])", whole=True)
    assert not {"hdeeprm_like.cli.slurm", "hdeeprm_like.cli.sweep"} & found


def command(*words):
    return f"from hdeeprm_like.cli.main import main; assert not main({[str(word) for word in words]})"


LAUNCH = ("launch", "--options", ROOT / "agents" / "worked-three.json", "--output", "run")
COMPARE = ("compare", "--trace", ROOT / "workloads" / "lublin_256.swf.gz", "--policies", "fcfs,sjf+easy")
STEP = (
    "import gymnasium, hdeeprm_like.gym; envs = gymnasium.make_vec('hdeeprm_like/SMDP-v0', num_envs=2); "
    "_, info = envs.reset(seed=1); envs.step(info['action_mask'].argmax(1))"
)
SWEEPS = "import hdeeprm_like.studies.sweep.run, hdeeprm_like.studies.sweep.comparisons"
LOADED = {  # what is done: the statement, some of what it loads, and what it does not load

    "an error of the package": ("from hdeeprm_like import HDeepRMError", {"hdeeprm_like"}, HEAVY),
    "a heavy package would be seen": ("import hdeeprm_like.cluster.platform", {"numpy"}, set()),
    "handing a sweep to its workers": (SWEEPS, {"numpy"}, COMPILER | TABLES_AND_PICTURES | {"torch"}),
    "the endpoint of Batsim": (
        "import hdeeprm_like.batsim.endpoint", {"zmq"}, COMPILER | TABLES_AND_PICTURES | SERVERS
    ),
    "a launch": (command(*LAUNCH), {"numpy", "pydantic"}, COMPILER | TABLES_AND_PICTURES | SERVERS | {"tqdm", "torch"}),
    "a comparison": (
        command(*COMPARE, "--windows", "1x20", "--output", "compared"), {"numpy"},
        COMPILER | TABLES_AND_PICTURES | {"torch", "gymnasium", "tqdm"},
    ),
    "the first step of environments": (STEP, {"gymnasium"}, COMPILER | TABLES_AND_PICTURES | {"torch"}),
}  # fmt: skip


@pytest.mark.parametrize("done", LOADED)
def test_what_is_done_loads_no_more_than_it_needs(done, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    statement, there, not_there = LOADED[done]
    found = loaded_after(statement)
    if found & COMPILER and not_there & COMPILER:  # of machine code that an earlier run may have to leave
        found = loaded_after(statement.replace("'run'", "'again'").replace("'compared'", "'again'"))
    assert there <= found
    assert found & not_there == set()


def test_what_launches_under_batsim_loads_no_simulator():
    found = loaded_after("import hdeeprm_like.launch.with_batsim", whole=True)
    assert "hdeeprm_like.batsim.session" in found
    simulator = {"run.loop", "engine.batsim_clock", "results.run_log"}
    assert {f"hdeeprm_like.{name}" for name in simulator} & found == set()


def test_the_server_in_the_place_of_batsim_loads_nothing_that_a_session_does_not_use(tmp_path):
    sleep = {"sleep": {"type": "delay", "delay": 5}}
    options = write_inputs(tmp_path, workload([(0, 2, "sleep", None)], sleep), CLUSTER)
    words = ("-p", options.platform, "-w", options.workloads[0], "-e", tmp_path / "out", "--no-sched")
    found = loaded_after(command("batsim", *words))
    assert (tmp_path / "out_jobs.csv").exists()
    unused = {"tempfile", "gzip", "subprocess", "concurrent", "dataclasses", "inspect"}
    assert found & (HEAVY | SERVERS | unused) == set()


def test_validators_of_options_are_built_with_the_first_file():
    built = "Options.__pydantic_validator__.__class__.__name__ != 'MockValSer'"
    late = f"from hdeeprm_like.options import Options; import sys; assert not ({built}); Options(seed=1, policy='fcfs')"
    assert "pydantic" in loaded_after(f"{late}; assert {built}")


GARBAGE = """
import gc, sys
from hdeeprm_like.cli.main import main
usual = gc.get_threshold()
sys.argv = ["hdeeprm-like", "example"]
assert not main()
assert gc.get_threshold()[0] > 100 * usual[0], "a start looks for garbage"
gc.collect()
assert gc.get_threshold() == usual, "a run does not"
import atexit
atexit._run_exitfuncs()
assert gc.get_freeze_count() > 1000
"""


def test_a_command_looks_for_no_garbage_at_its_start_and_end_but_between_them():
    ended = subprocess.run([sys.executable, "-c", GARBAGE], capture_output=True, text=True)
    assert ended.stderr == ""
    assert ended.returncode == 0
