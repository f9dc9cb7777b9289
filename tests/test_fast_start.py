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


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import hdeeprm_like; dir(hdeeprm_like)") & HEAVY == set()


def test_an_error_of_the_package_is_at_hand_without_loading_anything_heavy():
    assert loaded_after("from hdeeprm_like import HDeepRMError") & HEAVY == set()


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


def test_a_heavy_package_would_be_seen():
    assert "numpy" in loaded_after("import hdeeprm_like.cluster.platform")


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


def test_what_hands_a_sweep_to_its_workers_does_not_load_what_they_simulate_with():
    names = ("run", "comparisons")
    loaded = loaded_after("import " + ", ".join(f"hdeeprm_like.studies.sweep.{name}" for name in names))
    assert "numpy" in loaded
    assert not loaded & {"numba", "torch", "pandas", "matplotlib", "scipy"}


def loaded_with_machine_code(statement):
    """The same where the machine code that the statement needs is there, which an earlier run may have to leave."""
    found = loaded_after(statement)
    return loaded_after(statement) if found & COMPILER else found


def command(*words):
    return f"from hdeeprm_like.cli.main import main; assert not main({[str(word) for word in words]})"


def test_a_launch_loads_neither_a_compiler_nor_what_draws_or_makes_tables(tmp_path):
    options = ROOT / "agents" / "worked-three.json"
    found = loaded_with_machine_code(
        command("launch", "--options", options, "--output", tmp_path / "run", "--overwrite")
    )
    assert {"numpy", "pydantic"} <= found
    assert found & (COMPILER | TABLES_AND_PICTURES | SERVERS | {"tqdm", "torch"}) == set()


def test_a_comparison_loads_neither_a_compiler_nor_what_draws_or_makes_tables(tmp_path):
    trace = ROOT / "workloads" / "lublin_256.swf.gz"
    words = ("--trace", trace, "--policies", "fcfs,sjf+easy", "--windows", "1x20", "--output", tmp_path / "compared")
    found = loaded_with_machine_code(command("compare", *words))
    assert "numpy" in found
    assert found & (COMPILER | TABLES_AND_PICTURES | {"torch", "gymnasium", "tqdm"}) == set()


def test_the_first_step_of_environments_loads_neither_a_compiler_nor_what_draws_or_makes_tables():
    step = (
        "import gymnasium, hdeeprm_like.gym; envs = gymnasium.make_vec('hdeeprm_like/SMDP-v0', num_envs=2); "
        "_, info = envs.reset(seed=1); envs.step(info['action_mask'].argmax(1))"
    )
    found = loaded_with_machine_code(step)
    assert "gymnasium" in found
    assert found & (COMPILER | TABLES_AND_PICTURES | {"torch"}) == set()


def test_the_server_in_the_place_of_batsim_loads_nothing_that_a_session_does_not_use(tmp_path):
    options = write_inputs(
        tmp_path, workload([(0, 2, "sleep", None)], {"sleep": {"type": "delay", "delay": 5}}), CLUSTER
    )
    words = ("-p", options.platform, "-w", options.workloads[0], "-e", tmp_path / "out", "--no-sched")
    found = loaded_after(command("batsim", *words))
    assert (tmp_path / "out_jobs.csv").exists()
    assert (
        found & (HEAVY | SERVERS | {"tempfile", "gzip", "subprocess", "concurrent", "dataclasses", "inspect"}) == set()
    )


def test_what_launches_under_batsim_loads_no_simulator():
    found = loaded_after("import hdeeprm_like.launch.with_batsim", whole=True)
    assert "hdeeprm_like.batsim.session" in found
    assert {
        "hdeeprm_like.run.loop",
        "hdeeprm_like.engine.batsim_clock",
        "hdeeprm_like.results.run_log",
    } & found == set()


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


def test_the_endpoint_that_batsim_talks_to_loads_nothing_of_pybatsim():
    found = loaded_after("import hdeeprm_like.batsim.endpoint")
    assert "zmq" in found
    assert found & (COMPILER | TABLES_AND_PICTURES | SERVERS) == set()
