"""What is no sensible input is refused in one line, in little memory, before anything is run."""

import gzip
import os

import pytest
from robust_inputs import (
    LEARNER,
    LONGEST,
    learning,
    machine,
    measured,
    options,
    refused,
    refused_launch,
    told,
    trace,
    workload,
    write_inputs,
)

from hdeeprm_like.errors import WorkloadError, one_line
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.inputs import LIMIT

UP_TO = "a number of seconds from 0 to 1e+"
HUGE = 10**4000  # digits that nobody wants to read


# writes a gigabyte each; one stays
@pytest.mark.lane(more=r"1 |7 100 2 50 4 30 2500 4 60 -1 1 3 1 -1 1 -1 -1 -1\\n")
@pytest.mark.parametrize("piece", [b"\0", b"1 ", b"7 100 2 50 4 30 2500 4 60 -1 1 3 1 -1 1 -1 -1 -1\n"])
def test_a_packed_trace_that_grows_to_a_gigabyte_takes_little_memory(tmp_path, piece):
    path = tmp_path / "big.swf.gz"
    block = piece * (10**6 // len(piece))
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(300):
            file.write(block)
    status, error, memory = measured("jobstat", path, "size")
    assert status == 2
    assert len(error) <= LONGEST
    assert error.count("\n") == 1
    refusals = ("holds more than 128 MB, once unpacked", "more than 10000 characters", "is no text")
    assert any(words in error for words in refusals)
    assert memory < 900


def test_a_limit_can_be_raised_as_its_line_says(tmp_path, monkeypatch):
    (tmp_path / "two.swf").write_text(trace(30_000))  # 2 MB
    (tmp_path / "two.swf.gz").write_bytes(gzip.compress(trace(30_000).encode(), 1))
    monkeypatch.setenv(LIMIT, "1")
    for name in ("two.swf", "two.swf.gz"):
        with pytest.raises(WorkloadError, match=f"holds more than 1 MB, once unpacked.* set {LIMIT}=MB higher"):
            read_swf(tmp_path / name)
    monkeypatch.setenv(LIMIT, "2")
    assert len(read_swf(tmp_path / "two.swf")) == 30_000
    monkeypatch.setenv(LIMIT, "much")
    assert f"{LIMIT}: is 'much'; a number of MB" in refused("jobstat", tmp_path / "two.swf", "size")


def test_a_file_that_is_too_large_as_it_lies_there_is_refused_before_it_is_read(tmp_path):
    path = tmp_path / "large.swf"
    with path.open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(WorkloadError, match="holds more than 128 MB"):
        read_swf(path)


def test_json_of_very_many_values_is_refused_before_they_are_made(tmp_path):
    (tmp_path / "many.json").write_text("[" + "{}," * 8_000_000 + "{}]")
    status, error, memory = measured("launch", "--options", tmp_path / "many.json")
    assert (status, error.count("\n")) == (2, 1)
    assert "holds more than 5,120,000 values" in error
    assert memory < 500


@pytest.mark.parametrize("place", ["options", "platform", "workload", "trace"])
@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_what_is_no_regular_file_is_refused_wherever_a_file_is_named(tmp_path, place, kind):
    odd = tmp_path / "odd.json"
    if kind == "device":
        odd.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.mkdir()
    line = refused_launch(tmp_path, f"--{place}", odd)  # of two options files the second one counts
    assert f"{odd}: is a {'folder' if kind == 'folder' else 'device, a pipe or a socket'}" in line


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--cores", "1000000000000"], "at most 1,000,000 are possible: every core has its own place"),
        (["--cores", "9" * 5000], "a whole number from 1 to 1,000,000,000,000,000,000 is needed"),
        (["--windows", "999999999x1"], "at most 100,000 are possible: every window"),
        (["--processes", "99999"], "at most 1,024 are possible: each takes 200 MB"),
    ],
)
def test_numbers_beyond_any_use_are_refused_with_the_reason(tmp_path, more, words):
    folder = write_inputs(tmp_path)
    line = ("compare", "--trace", folder / "trace.swf", "--policies", "fcfs", "--output", folder / "out")
    assert words in refused(*line, "--windows", "2x10", *more)


@pytest.mark.parametrize("speed", ["1e300", "1e-300", "0", "nan", "-1"])
def test_speeds_of_cores_that_make_no_number_of_operations_are_refused(tmp_path, speed):
    """Operations of an infinite speed were written as `inf`, which is no JSON."""
    made = ["generate", "lublin", "--seed", "1", "--jobs", "3", "--output", tmp_path / "j.json"]
    for command in (made, ["convert", write_inputs(tmp_path) / "trace.swf", tmp_path / "j.json"]):
        words = "a number of Gflop/s from 0.001 to 1e+06 is needed"
        assert words in refused(*command, f"--gflops={speed}")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"nb_jobs": 2**63, "workload": {"model": "lublin"}}, "nb_jobs: 9223372036854775808: at most 2,000,000"),
        ({"nb_jobs": HUGE}, "at most 2,000,000 are possible: every job takes"),
        ({"seed": HUGE}, "seed: 1000"),
        ({"training": {"envs": 10**9}}, "training.envs: 1000000000: at most 4,096 are possible"),
        ({"workload": {"skip": 10**30}}, "workload.skip: 1000"),
    ],
)
def test_whole_numbers_of_options_are_bounded(tmp_path, changes, words):
    found = {**options(), **changes}
    if "workload" in changes and "model" in changes["workload"]:
        del found["workload_file_path"]
    line = refused_launch(tmp_path, **{"options.json": found})
    assert words in line
    assert "0" * 100 not in line


@pytest.mark.parametrize(
    ("env", "agent", "words"),
    [
        ({"preset": "DeepRM", "horizon": 10**30}, {}, "env.horizon: 1000000000000000000000000000000: at most 100,000"),
        ({"preset": "DeepRM", "horizon": 100_000, "window": {"head": 100_000}}, {}, "an observation of"),
        ({}, {"hidden": 2**64}, "agent.hidden: 18446744073709551616: at most 65,536 are possible"),
        ({}, {"hidden": [8, HUGE]}, "at most 65,536"),
        ({}, {"entropy": "/etc/passwd"}, "agent.entropy is '/etc/passwd'; a number from 0 is needed"),
        ({}, {"entropy": -1}, "agent.entropy is -1; a number from 0 is needed"),
        ({}, {"hidden": [8, "wide"]}, "agent.hidden: [8, 'wide']: a number of units"),
        ({}, {"baseline": "median"}, "agent.baseline is 'median'; 'none' or 'mean' is needed"),
    ],
)
def test_what_an_agent_is_given_is_checked_before_it_plays(tmp_path, env, agent, words):
    content = learning(**agent)
    content["pybatsim"]["env"] = env
    assert words in refused_launch(tmp_path, agent=LEARNER, **{"learning.json": content})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda jobs: jobs["jobs"][0].update(subtime=1e308), f"jobs[0].subtime: is 1e+308; {UP_TO}12 is needed"),
        (
            lambda jobs: jobs["profiles"]["p1"].update(gpus=1e30),
            ".gpus: is 1e+30; a number from 0 to 2.14748e+09 is needed",
        ),
        (lambda jobs: jobs["profiles"]["p1"].update(cpu=1e300), ".cpu: is 1e+300; a number from 0 to 1e+30 is needed"),
        (lambda jobs: jobs["profiles"]["p0"].update(delay=HUGE), ".delay: is a number of more than 20 digits"),
    ],
)
def test_figures_of_jobs_that_no_cluster_has_are_refused(tmp_path, change, words):
    jobs = workload()
    change(jobs)
    assert words in refused_launch(tmp_path, **{"jobs.json": jobs})


def test_a_node_with_more_gpus_than_can_be_counted_is_refused(tmp_path):
    platform = machine()
    platform["types"]["nodes"]["one"]["gpus"] = 10**30
    line = refused_launch(tmp_path, **{"machine.json": platform})
    assert "types.nodes.one.gpus: is a number of more than 20 digits; a whole number from 0 to 2,147,483,647" in line


@pytest.mark.parametrize("size", [0, -1])
def test_a_trace_whose_only_job_has_no_size_is_refused(tmp_path, size):
    (tmp_path / "t.swf").write_text(f"1 0 0 10 {size} -1 -1 {size} 20 -1 1 1 1 1 1 -1 -1 -1\n")
    for command in (
        ["compare", "--policies", "fcfs", "--windows", w, "--output", tmp_path / "o"] for w in ("all", "1x1")
    ):
        line = refused(*command, "--trace", tmp_path / "t.swf")
        assert "t.swf: no job of it ran on some processors: 1 without a number of processors (fields 5 and 8)" in line


@pytest.mark.parametrize(
    "command",
    [
        "predict {}",
        "explain zoo:balanced --trace {}",
        "compare --policies fcfs --windows all --trace {} --output {}.out",
    ],
)
def test_a_header_that_tells_of_too_many_processors_is_refused(tmp_path, command):
    """The old code asked for as much memory as so many cores need."""
    (tmp_path / "t.swf").write_text(trace(cores=2_000_000_000))
    words = [word.format(tmp_path / "t.swf") for word in command.split()]
    assert "t.swf: has 2,000,000,000 processors; at most 1,000,000 are possible" in refused(*words)


def test_a_name_that_is_too_long_or_breaks_the_line_is_one_short_line(tmp_path):
    assert "File name too long" in refused("metrics", tmp_path / ("x" * 300))
    odd = tmp_path / "two\nlines\x1b[31m"
    assert "two\\nlines\\x1b[31m: no such run" in refused("metrics", odd)
    odd.mkdir()
    status, error = told("metrics", odd)
    assert status == 2
    assert error.count("\n") == 1


def test_a_message_is_cut_in_its_middle_and_a_long_path_before_the_sentence_around_it():
    line = one_line("a " * 200 + "\n" + " b" * 200)
    assert len(line) == 280
    assert (line[:3], line[-3:]) == ("a a", "b b")
    assert " ... " in line
    line = one_line(f"{'/folder' * 60}/run.json: {'the sentence goes on ' * 8}")
    assert line.startswith("/folder/folder")
    assert "...er/folder/run.json: the sentence" in line
    assert line.count("goes on") == 8


def test_a_file_name_that_is_no_text_can_be_told(tmp_path):
    status, error, _ = measured("metrics", os.fsdecode(bytes(tmp_path) + b"/\xff\xfe"))
    assert status == 2
    assert error.count("\n") == 1


def test_a_memory_that_does_not_suffice_is_told_in_one_line(tmp_path, monkeypatch):
    from hdeeprm_like.studies.compare import run

    def too_much(*_, **__):
        raise MemoryError

    monkeypatch.setattr(run, "run_comparison", too_much)
    folder = write_inputs(tmp_path)
    line = refused("compare", "--trace", folder / "trace.swf", "--policies", "fcfs", "--output", folder / "out")
    assert "out of memory; reduce the problem" in line


def test_nothing_is_put_in_the_place_of_a_device_or_a_pipe(tmp_path):
    place = tmp_path / "out.swf"
    os.mkfifo(place)
    (tmp_path / "trace.swf").write_text(trace())
    for words in (["cut", tmp_path / "trace.swf", "--first", "2", "-o"], ["schema", "--save"]):
        assert "out.swf: is a device, a pipe or a socket" in refused(*words, place)
        assert place.is_fifo()


def test_files_that_begin_with_a_mark_of_their_encoding_are_read(tmp_path):
    folder = write_inputs(tmp_path)
    for name in ("machine.json", "jobs.json", "options.json", "trace.swf"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    command = ["launch", "-q", "--options", folder / "options.json"]
    assert told(*command, "--output", folder / "a") == (0, "")
    assert told(*command, "--trace", folder / "trace.swf", "--output", folder / "b") == (0, "")
    jobs = (folder / "b" / "out_jobs.csv").read_text()
    assert jobs.count("\n") == 1 + trace().count("\n") - 1  # the header of the trace is no job


def test_an_ending_that_tells_no_format_is_told_with_the_name(tmp_path):
    (tmp_path / "trace.swf").write_text(trace())
    line = refused("convert", tmp_path / "trace.swf", tmp_path / "x.nothing")
    assert f"{tmp_path / 'x.nothing'}: a name that ends in .json" in line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["launch", "--options", "options.json", "--simulator", "batsim", "--batsim-command", '"'],
            "No closing quotation",
        ),
        (
            ["explain", "zoo:balanced", "--trace", "trace.swf", "--at", "nan"],
            f"{UP_TO}18 is needed",
        ),
    ],
)
def test_words_that_cannot_be_read_are_refused_in_one_line(tmp_path, monkeypatch, words, told):
    monkeypatch.chdir(write_inputs(tmp_path))
    assert told in refused(*words)


def damaged(text, column, value):
    """Return a table with another value in the first line of a column."""
    head, first, *others = text.splitlines()
    cells = first.split(",")
    cells[head.split(",").index(column)] = value
    return "\n".join([head, ",".join(cells), *others]) + "\n"


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("finish_time", "1e308", "finish_time: is '1e308'; a number from -1e+15 to 1e+15 is needed"),
        ("requested_number_of_resources", "1e30", "a number from -1e+12 to 1e+12 is needed"),
        ("allocated_resources", "0-99999999999", "is '0-99999999999', not a set of cores"),
        ("allocated_resources", "3-1", "is '3-1', not a set of cores"),
    ],
)
def test_what_a_damaged_run_tells_is_not_drawn(tmp_path, column, value, words):
    out = launched(tmp_path)
    jobs = out / "out_jobs.csv"
    jobs.write_text(damaged(jobs.read_text(), column, value))
    for command in (["visual", "gantt", "--save", tmp_path / "g.png", "--run"], ["report"]):
        assert words in refused(*command, out)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("2 2e12 0 9 1 -1 -1 1 9", "job 2 comes 2e+12 s after the first; at most 1e+12 are possible"),
        ("2 5 0 9 1 -1 -1 1 2e12", "job 2 requests 2e+12 s; at most 1e+12 are possible"),
    ],
)
def test_times_of_a_trace_that_no_workload_can_hold_are_refused(tmp_path, line, words):
    text = trace(1) + f"{line} 2000 1 1 1 1 1 1 -1 -1\n"
    assert words in refused_launch(tmp_path, "--trace", tmp_path / "t.swf", **{"t.swf": text})


def launched(tmp_path, jobs=""):
    """The folder of a launch, of the lines of a trace where some are given."""
    folder = write_inputs(tmp_path, **{"t.swf": jobs})
    more = ("--trace", folder / "t.swf") if jobs else ()
    assert told("launch", "-q", "--options", folder / "options.json", "--output", folder / "out", *more) == (0, "")
    return folder / "out"


def test_what_is_made_of_the_longest_jobs_can_be_read(tmp_path):
    """The old reader refused more than 1e12 s, which a sum of such jobs is."""
    jobs = "".join(f"{number} 0 0 1e12 4 -1 -1 4 1e12 2000 1 1 1 1 1 1 -1 -1\n" for number in range(1, 4))
    out = launched(tmp_path, jobs)
    assert told("metrics", "-q", out) == (0, "")
    assert told("jobstat", out / "workload.json", "all") == (0, "")


def test_the_slowdown_of_jobs_that_are_over_at_once_is_not_known(tmp_path):
    """A table of times with six digits shows no run time of them, for which it was refused."""
    jobs = "".join(f"{number} {number} 0 1e-7 1 -1 -1 1 1e-7 2000 1 1 1 1 1 1 -1 -1\n" for number in range(1, 4))
    assert told("metrics", launched(tmp_path, jobs), "--csv", tmp_path / "m.csv", "-q") == (0, "")
    figures = dict(line.rsplit(",", 1) for line in (tmp_path / "m.csv").read_text().splitlines())
    assert (figures["slowdown"], figures["slowdown_max"]) == ("", "")
    assert (figures["bounded_slowdown"], figures["jobs_run"]) == ("1.0", "3.0")


def test_a_run_of_which_no_job_ran_has_a_report(tmp_path):
    jobs = launched(tmp_path) / "out_jobs.csv"
    jobs.write_text(jobs.read_text().splitlines()[0] + "\n")
    assert told("report", tmp_path / "out", "-o", tmp_path / "report.html")[0] == 0
