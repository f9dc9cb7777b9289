"""A trace that is simulated as it is read: the same jobs as at once, whole files or none, and one clear line."""

import csv
import json

import numpy as np
import pytest
from robust_inputs import printed, refused

from hdeeprm_like import simulate
from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import OptionsError, ResultsError, WorkloadError
from hdeeprm_like.formats import swf
from hdeeprm_like.results.report import figures_of_run
from hdeeprm_like.results.run_reader import open_run
from hdeeprm_like.studies import stream as studied
from hdeeprm_like.studies.stream import Streaming, stream

CORES = 8
UNKNOWN = (
    *("_median", "_p95", "energy", "energy_delay_product"),
    *("queue_length_max", "job_load_max", "steady_utilization"),
)


def lines(count, seed=1, users=3):
    """Lines of a trace, some of which are no job that can be used."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, 20 * count, count))
    for number in range(count):
        run, size = rng.integers(-1, 90), rng.integers(0, CORES + 1)
        requested = -1 if rng.random() < 0.1 else run + rng.integers(0, 50)
        user = rng.integers(0, users)
        yield f"{number + 1} {submit[number]} -1 {run} {size} -1 -1 -1 {requested} -1 1 {user} -1 -1 -1 -1 -1 -1\n"


@pytest.fixture
def trace(tmp_path, monkeypatch):
    """A trace that is read in many parts."""
    monkeypatch.setattr(swf, "READ_AT_ONCE", 1000)
    path = tmp_path / "trace.swf"
    path.write_text(f"; MaxProcs: {CORES}\n" + "".join(lines(400)))
    return path


def rows_of(path):
    with path.open() as file:
        return list(csv.DictReader(file))


def streamed(trace, output, policy="fcfs", cores=None, seed=0):
    """The figures of a trace that is streamed into a folder."""
    return stream(Streaming(trace, policy, output, cores, seed=seed), progress=False)


@pytest.mark.parametrize("policy", ["fcfs+easy", "first-high_gflops"])
def test_its_files_tell_what_a_run_of_all_jobs_tells(trace, tmp_path, policy):
    found = streamed(trace, tmp_path / "streamed", policy)
    whole = simulate(CORES, trace, policy, "textbook")
    whole.save(tmp_path / "whole")
    ours, theirs = (rows_of(tmp_path / name / "out_jobs.csv") for name in ("streamed", "whole"))
    assert len(ours) > 300
    for mine, other in zip(ours, theirs, strict=True):
        assert int(mine.pop("job_id")) == int(other.pop("job_id"))
        assert mine.pop("allocated_resources") == ""
        assert other.pop("allocated_resources") != ""
        assert mine == other
    for name, value in whole.figures.items():
        if not name.endswith(UNKNOWN):
            assert found[name] == pytest.approx(value, rel=1e-12), name
    assert sorted(found) == sorted(FIGURES)
    written = json.loads((tmp_path / "streamed" / "figures.json").read_text())
    assert written.pop("account")["jobs"] >= len(ours)
    assert written == {name: None if value != value else value for name, value in found.items()}
    assert {name for name, one in written.items() if one is None} == {n for n in FIGURES if n.endswith(UNKNOWN)}


def test_a_file_larger_than_others_may_be_is_read(trace, tmp_path, monkeypatch):
    monkeypatch.setenv("HDEEPRM_LIKE_LARGEST_INPUT", "1")
    with trace.open("a") as file:
        file.write("; a long note\n" * 80_000)
    assert streamed(trace, tmp_path / "out")["jobs_run"] > 300


def test_nothing_is_left_of_a_run_that_fails_and_what_was_there_stays(trace, tmp_path, monkeypatch):
    streamed(trace, tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert sorted(before) == ["figures.json", "out_jobs.csv"]

    def interrupted(ended, cores, told=[]):  # noqa: B006 - counts its calls
        told.append(len(ended))
        if len(told) > 2:
            raise KeyboardInterrupt
        return schedule_of(ended, cores)

    schedule_of = studied.schedule_of
    monkeypatch.setattr(studied, "schedule_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        streamed(trace, tmp_path / "out", "sjf")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_neither_file_appears_where_one_cannot(trace, tmp_path):
    (tmp_path / "out" / "figures.json").mkdir(parents=True)
    with pytest.raises(ResultsError, match=r"figures.json"):
        streamed(trace, tmp_path / "out")
    assert not (tmp_path / "out" / "out_jobs.csv").exists()


@pytest.mark.parametrize(("cores", "seed"), [("8", 0), (2.5, 0), (0, 0), (8, -1), (8, "x")])
def test_numbers_that_make_no_sense_are_refused_in_one_line(cores, seed, trace, tmp_path):
    with pytest.raises(OptionsError, match=r"(cores|seed): is .*; a whole number from"):
        streamed(trace, tmp_path / "out", cores=cores, seed=seed)


@pytest.mark.parametrize("name", ["zoo:balanced", "scored:own.json", "sjf@learned:own.py+easy", "fcfs-scored:own.json"])
def test_learned_policies_are_refused_before_their_files_are_read_or_run(name, trace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("raise SystemExit(7)")
    words = ("stream", "--policy", name, "--trace", trace, "--output", "out", "-q")
    for trust in ([], ["--trust"]):
        line = refused(*words, *trust)
        assert line.startswith(f"hdeeprm-like: {name}: learned policies and predictors use what they know of ended")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text + "401 5 -1 9 1 -1 -1 -1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n", "job 401 is submitted at 5 s"),
        (lambda text: text + f"401 99999 -1 9 {CORES + 1} -1 -1 -1 9 -1 1 1 -1 -1 -1 -1 -1 -1\n", "job 401 requests 9"),
        (lambda text: text + "401 99999 x\n", ":402: has 3 fields"),
    ],
)
def test_a_trace_that_cannot_be_streamed_is_refused_in_one_line(trace, tmp_path, change, message):
    trace.write_text(change(trace.read_text()))
    with pytest.raises(WorkloadError, match=message):
        streamed(trace, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "jobs", [[(0, 9, 12)], [(i, 5 + i, 4 if i == 9 else 3600) for i in range(40)]], ids=["longer", "round"]
)
def test_a_trace_whose_cpu_times_may_be_its_requests_is_left_to_who_reads_it_whole(tmp_path, jobs):
    path = tmp_path / "trace.swf"
    lines = [f"{i} {i} -1 {run} 1 {cpu} -1 -1 -1 -1 1 1 -1 -1 -1 -1 -1 -1\n" for i, run, cpu in jobs]
    path.write_text("".join(["; MaxProcs: 4\n", *lines]))
    with pytest.raises(WorkloadError, match="has no requested times"):
        streamed(path, tmp_path / "out")


def test_run_times_stand_in_for_requests_with_a_warning(trace, tmp_path, caplog):
    streamed(trace, tmp_path / "out")
    assert "the run time replaces it, a perfect estimate" in caplog.text


def test_who_does_not_tell_how_many_cores_there_are_is_asked(trace, tmp_path):
    trace.write_text("".join(lines(5)))
    with pytest.raises(OptionsError, match="give --cores"):
        streamed(trace, tmp_path / "out")


def test_the_command_prints_the_figures_that_it_knows(trace, tmp_path):
    line = ("stream", "--trace", trace, "--output", tmp_path / "out", "--policy")
    said = printed(*line, "fcfs")
    assert "Mean bounded slowdown" in said
    assert "Median" not in said
    assert printed(*line, "fcfs", "--quiet") == ""
    assert "keeps a plan of all jobs" in refused(*line, "fcfs+commit")


def test_metrics_of_its_folder_are_those_that_it_has_printed_though_no_cores_are_recorded(trace, tmp_path):
    found = streamed(trace, tmp_path / "streamed", "fcfs+easy")
    run = open_run(tmp_path / "streamed")
    assert run.cores == CORES
    for name, value in figures_of_run(run).items():
        if np.isfinite(found[name]) and name not in ("job_load", "fairness", "worst_user", "starving"):
            assert value == pytest.approx(found[name], rel=1e-4), name
