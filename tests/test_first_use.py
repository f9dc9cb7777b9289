"""The first use where no library has the machine code: short runs begin at once, and leave what machine code leaves."""

import os
import subprocess
import sys
from math import inf

import pytest
from test_launch import content, experiment_file, launched

from hdeeprm_like.cli.main import main
from hdeeprm_like.decision.mode_specs import MODES as ALL_MODES
from hdeeprm_like.first_use import (
    COMPILING,
    SHOWN,
    SPENT,
    BeginAgain,
    Messages,
    begin_again_if_short,
    expect,
    is_read_once,
    replaceable,
)
from hdeeprm_like.launch.short_runs import MODES, seconds_for_a_job
from hdeeprm_like.studies.compare import run
from hdeeprm_like.studies.compare.policies import Paired, compared_policy

WITHOUT_NUMBA = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; "
COMMAND = "import sys; from hdeeprm_like.cli.main import main; sys.exit(main())"
MINUTE = ["-c", WITHOUT_NUMBA + "import hdeeprm_like.launch.short_runs as short; short.NAMED = 60.0; " + COMMAND]
COMPARED = (
    "compare",
    "--trace",
    "ctc-sp2",
    "--windows",
    "disjoint:2x60",
    "--policies",
    "fcfs,saf+easy,first-random,actual",
)


@pytest.fixture
def command_line(monkeypatch):
    """This process is one that may begin again."""
    monkeypatch.setattr(sys, "argv", ["hdeeprm-like"])
    with replaceable(True):
        yield


def process(folder, *arguments, python=("-m", "hdeeprm_like")):
    """A command in a process of its own, where nothing is built."""
    environment = {**os.environ, "HDEEPRM_LIKE_CACHE": str(folder / "cache")}
    command = [sys.executable, *python, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def typed(folder, *arguments, python=("-m", "hdeeprm_like")):
    """A launch in a process of its own, where nothing is built."""
    launch = ("launch", "-o", str(experiment_file(folder)), "--output", str(folder / "typed"))
    return process(folder, *launch, *arguments, python=python)


def test_a_short_launch_is_plain_python_says_so_in_one_line_and_leaves_the_same(tmp_path):
    done = typed(tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "this run is plain Python, about 1 s; python -m hdeeprm_like.build builds it, once" in line
    kept = [path.name for path in tmp_path.glob("cache/*/*")]
    assert kept == [SPENT]
    assert content(tmp_path / "typed") == launched(tmp_path / "exp.json", tmp_path / "built")


def test_a_warning_about_the_inputs_is_not_shown_a_second_time(tmp_path):
    ran = "{0} {0} -1 10 1 -1 100 1 20 100 1 1 1 1 1 1 -1 -1\n"
    trace = tmp_path / "trace.swf"
    trace.write_text(ran.format(1) + ran.format(2).replace(" 1 20 ", " -1 -1 ").replace(" 10 1 ", " -1 -1 "))
    done = typed(tmp_path, "--trace", str(trace))
    assert done.returncode == 0, done.stderr
    assert ["plain Python" in line for line in done.stderr.splitlines()] == [False, True]


def test_it_needs_no_compiler_and_is_quiet_where_that_is_wanted(tmp_path):
    done = typed(tmp_path, "--quiet", python=("-c", WITHOUT_NUMBA + COMMAND))
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "typed" / "run.json").exists()


def test_a_long_run_without_a_compiler_is_one_line_that_says_what_to_install(tmp_path):
    done = typed(tmp_path, python=MINUTE)
    assert done.returncode == 2
    assert 'pip install "hdeeprm_like[compile]"' in done.stderr.splitlines()[-1]
    assert not (tmp_path / "typed").exists()


def test_a_short_comparison_is_plain_python_says_so_in_one_line_and_leaves_the_same(tmp_path):
    done = process(tmp_path, *COMPARED, "--output", str(tmp_path / "typed"), python=("-c", WITHOUT_NUMBA + COMMAND))
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if "schedules" not in line)
    assert "this run is plain Python, about 1 s" in line
    assert main([*COMPARED, "--output", str(tmp_path / "built")]) == 0
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("typed", "built")]
    assert files[0] == files[1]
    assert len(files[0]) == 4


def test_an_interrupted_comparison_expects_only_what_is_missing(tmp_path, monkeypatch):
    expected = []
    monkeypatch.setattr(run, "expect", lambda seconds, shown: expected.append(seconds))
    output = ("-q", "--output", str(tmp_path / "out"))
    assert main([*COMPARED, *output]) == 0
    assert main([*COMPARED[:-1], "sjf,fcfs", *output]) == 0
    of_a_job = [seconds_for_a_job(policy_of(name), 338, named=False) for name in ("fcfs", "saf+easy", "first-random")]
    assert expected == pytest.approx([120 * sum(of_a_job), 120 * of_a_job[0]])


def test_a_comparison_by_several_processes_is_compiled_in_all_of_them(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "expect", lambda *_, **__: pytest.fail("one process might be plain Python"))
    assert main([*COMPARED, "-q", "--processes", "2", "--output", str(tmp_path / "out")]) == 0


def test_a_launch_with_its_machine_code_never_begins_again(tmp_path, monkeypatch):
    seconds = []
    monkeypatch.setattr("hdeeprm_like.first_use.expect", lambda seconds_of_run, shown: seconds.append(seconds_of_run))
    monkeypatch.setattr(sys, "argv", ["hdeeprm-like", "launch", "-q", "-o", str(experiment_file(tmp_path))])
    monkeypatch.chdir(tmp_path)
    assert main() == 0  # this process would be replaced
    assert seconds == [pytest.approx(60 * (0.003 + 0.001 + 4 * 2e-6))]  # jobs on random ones of 4 cores


def test_a_command_within_another_process_never_replaces_it(tmp_path):
    with replaceable(False):
        expect(1.0)
        begin_again_if_short(tmp_path, compiler=True)


def test_what_a_command_expects_is_forgotten_at_its_end(tmp_path, command_line):
    expect(1.0)
    with replaceable(True):
        pass
    begin_again_if_short(tmp_path, compiler=True)


def test_runs_are_plain_python_until_they_have_taken_as_long_as_compiling(tmp_path, command_line):
    expect(0.4 * COMPILING, shown=False)
    for _ in range(2):
        with pytest.raises(BeginAgain):
            begin_again_if_short(tmp_path, compiler=True)
    begin_again_if_short(tmp_path, compiler=True)
    assert float((tmp_path / SPENT).read_text()) == pytest.approx(0.8 * COMPILING)
    with pytest.raises(BeginAgain):  # nothing can compile it
        begin_again_if_short(tmp_path, compiler=False)


@pytest.mark.parametrize("seconds", [COMPILING + 0.1, inf])
def test_a_run_that_takes_long_is_compiled(tmp_path, command_line, seconds):
    expect(seconds)
    begin_again_if_short(tmp_path, compiler=True)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path, command_line, capsys):
    (tmp_path / "file").write_text("")
    expect(0.1)
    with pytest.raises(BeginAgain):
        begin_again_if_short(tmp_path / "file" / "folder", compiler=True)
    assert "plain Python" in capsys.readouterr().err


def test_inputs_that_can_be_read_only_once_are_not_read_again(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for source in ("-", str(tmp_path / "pipe")):
        monkeypatch.setattr(sys, "argv", ["hdeeprm-like", "launch", "--trace", source])
        with replaceable(True):
            expect(0.1)
            begin_again_if_short(tmp_path, compiler=True)


def policy_of(name):
    policy = compared_policy(name)
    return policy.pair if isinstance(policy, Paired) else policy


@pytest.mark.parametrize(
    ("name", "cores", "named", "milliseconds"),
    [
        ("shortest-high_gflops", 2280, True, 3.0),
        ("saf+easy", 2280, True, 3.0),
        ("saf+easy", 256, False, 0.5),
        ("wfp3", 256, False, 2.5),
        ("random-random", 2280, True, 8.56),
        ("random-random", 256, False, 2.012),
        ("fcfs+strict-random", 163_840, True, 331.68),
        ("fcfs+conservative", 256, False, inf),
        ("sjf@ewma+easy", 256, False, inf),
        ("sjf+easy-best_fit", 256, False, 0.5),
        ("zoo:steady", 256, False, inf),
    ],
    ids=str,
)
def test_the_estimate_follows_the_policy_and_the_machine(name, cores, named, milliseconds):
    assert 1000.0 * seconds_for_a_job(policy_of(name), cores, named) == pytest.approx(milliseconds)


def test_every_mode_with_an_estimate_is_a_mode():
    assert set(MODES) <= set(ALL_MODES)


@pytest.mark.parametrize("damaged", ["nan", "inf", "-1e9", "x", ""])
def test_a_damaged_count_of_seconds_counts_nothing(command_line, tmp_path, damaged):
    (tmp_path / SPENT).write_text(damaged)
    expect(0.03, shown=False)
    with pytest.raises(BeginAgain):
        begin_again_if_short(tmp_path, compiler=True)
    assert float((tmp_path / SPENT).read_text()) == pytest.approx(0.03)


def test_a_number_of_messages_that_is_none_hides_none(monkeypatch):
    monkeypatch.setenv(SHOWN, "abc")
    assert Messages().filter("a message")


def test_arguments_that_can_be_no_names_of_files_are_no_pipes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert all(map(is_read_once, [str(pipe), "-"]))
    assert not any(map(is_read_once, ["x" * 100_000, "a\0b", str(tmp_path)]))
