"""The first use where no library has the machine code: short runs begin at once, and leave what machine code leaves."""

import os
import subprocess
import sys

import pytest
from test_launch import content, experiment_file, launched

from hdeeprm_like import first_use
from hdeeprm_like.cli.main import main
from hdeeprm_like.first_use import COMPILING, SPENT, BeginAgain, begin_again_if_short, expect

WITHOUT_NUMBA = "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None; "
COMMAND = "import sys; from hdeeprm_like.cli.main import main; sys.exit(main())"
MINUTE = ["-c", "import hdeeprm_like.first_use as first; first.FOR_A_JOB['pair'] = 60.0; " + WITHOUT_NUMBA + COMMAND]


@pytest.fixture(autouse=True)
def nothing_expected(monkeypatch):
    monkeypatch.setattr(first_use, "_expected", None)
    monkeypatch.setattr(sys, "argv", ["hdeeprm-like"])


def typed(folder, *arguments, python=("-m", "hdeeprm_like"), output="typed", **environment):
    """A command in a process of its own, where nothing is built."""
    command = [sys.executable, *python, "launch", "-o", str(experiment_file(folder)), "--output", str(folder / output)]
    environment = {**os.environ, "HDEEPRM_LIKE_CACHE": str(folder / "cache"), **environment}
    return subprocess.run([*command, *arguments], capture_output=True, text=True, env=environment, timeout=300)


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


def test_a_launch_with_its_machine_code_never_begins_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["hdeeprm-like", "launch", "-q", "-o", str(experiment_file(tmp_path))])
    monkeypatch.chdir(tmp_path)
    assert main() == 0  # this process would be replaced
    assert first_use._expected == (pytest.approx(60 * 0.003), False)


def test_a_launch_within_another_process_never_replaces_it(tmp_path):
    launched(experiment_file(tmp_path), tmp_path / "run")
    assert first_use._expected is None


def test_runs_are_plain_python_until_they_have_taken_as_long_as_compiling(tmp_path):
    jobs = int(0.4 * COMPILING / first_use.FOR_A_JOB["easy"])
    expect(jobs, "easy", shown=False)
    for _ in range(2):
        with pytest.raises(BeginAgain):
            begin_again_if_short(tmp_path, compiler=True)
    begin_again_if_short(tmp_path, compiler=True)
    assert float((tmp_path / SPENT).read_text()) == pytest.approx(0.8 * COMPILING)
    with pytest.raises(BeginAgain):  # nothing can compile it
        begin_again_if_short(tmp_path, compiler=False)


@pytest.mark.parametrize(
    ("jobs", "mode"), [(int(COMPILING / 0.003) + 1, "pair"), (10, "conservative"), (10, "scored")], ids=str
)
def test_a_run_that_takes_long_is_compiled(tmp_path, jobs, mode):
    expect(jobs, mode)
    begin_again_if_short(tmp_path, compiler=True)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_changes_nothing(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    expect(10, "pair")
    with pytest.raises(BeginAgain):
        begin_again_if_short(tmp_path / "file" / "folder", compiler=True)
    assert "plain Python" in capsys.readouterr().err


def test_inputs_that_can_be_read_only_once_are_not_read_again(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    for source in ("-", str(tmp_path / "pipe")):
        monkeypatch.setattr(sys, "argv", ["hdeeprm-like", "launch", "--trace", source])
        expect(10, "pair")
        begin_again_if_short(tmp_path, compiler=True)


def test_every_mode_with_an_estimate_is_a_mode():
    from hdeeprm_like.decision.mode_specs import MODES

    assert set(first_use.FOR_A_JOB) - {"pair"} <= set(MODES)


@pytest.mark.parametrize("damaged", ["nan", "inf", "-1e9", "x", ""])
def test_a_damaged_count_of_seconds_counts_nothing(tmp_path, damaged):
    (tmp_path / SPENT).write_text(damaged)
    expect(10, "pair", shown=False)
    with pytest.raises(BeginAgain):
        begin_again_if_short(tmp_path, compiler=True)
    assert float((tmp_path / SPENT).read_text()) == pytest.approx(0.03)


def test_a_number_of_messages_that_is_none_hides_none(monkeypatch):
    monkeypatch.setenv(first_use.SHOWN, "abc")
    assert first_use.Messages().filter("a message")
