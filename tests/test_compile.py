"""The command ``compile`` leaves machine code on disk that other processes then find."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from hdeeprm_like.ahead import Step, compile_ahead, steps_for
from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError

ROOT = Path(__file__).parent.parent
EXPERIMENT = ROOT / "agents" / "gaia-shortest-high_gflops.json"
TRACE = ROOT / "workloads" / "lublin_256_500.swf.gz"


def in_a_fresh_process(*arguments):
    """What a command writes to both streams."""
    done = subprocess.run(
        [sys.executable, "-m", "hdeeprm_like", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout + done.stderr


def test_afterwards_launch_and_compare_and_a_second_call_compile_nothing(tmp_path):
    in_a_fresh_process("compile")
    again = in_a_fresh_process("compile")
    assert "nothing to do: all was compiled before" in again
    assert again.count("was compiled before") == len(steps_for()) + 1
    assert "compiling" not in in_a_fresh_process("launch", "--options", EXPERIMENT, "--output", tmp_path / "run")
    policies = ("--policies", "fcfs,f1+conservative", "--windows", "2x50", "--output", tmp_path / "compared")
    assert "compiling" not in in_a_fresh_process("compare", "--trace", TRACE, *policies)
    streamed = ("--policy", "fcfs+easy", "--output", tmp_path / "streamed")
    assert "compiling" not in in_a_fresh_process("stream", "--trace", TRACE, *streamed)


def test_what_is_compiled_is_counted_also_for_further_types_of_a_function():
    def double(number):
        return 2 * number

    double.__module__ = "hdeeprm_like.test"  # Other packages' functions are not counted.
    twice = numba.njit(double)
    twice(1)
    steps = [Step(name, lambda: twice(1.0)) for name in ("first", "again")]
    assert [(done.name, done.functions) for done in compile_ahead(steps)] == [("first", 1), ("again", 0)]


def test_environments_are_compiled_for_both_clocks_and_each_preset_once():
    names = [step.name for step in steps_for(["SMDP", "SMDP"])][len(steps_for()) :]
    assert names == [
        "environment SMDP on the batsim clock",
        "vector environment SMDP on the batsim clock",
        "environment SMDP on the textbook clock",
        "vector environment SMDP on the textbook clock",
    ]


def test_the_environments_of_a_preset_are_compiled_by_playing_them(capsys):
    assert main(["compile", "--env", "PolicySelect"]) == 0
    *steps, total = capsys.readouterr().out.splitlines()
    assert [line.split(" s  ")[1].removesuffix(", was compiled before") for line in steps] == [
        step.name for step in steps_for(["PolicySelect"])
    ]
    assert "compiled" in total


def test_a_preset_that_is_not_known_is_refused_before_anything_is_compiled(capsys):
    assert main(["compile", "--env", "SDMP"]) == 2
    told = capsys.readouterr()
    assert (told.out, "did you mean 'SMDP'?" in told.err) == ("", True)
    with pytest.raises(OptionsError, match="not known"):
        steps_for(["nothing"])
