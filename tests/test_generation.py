"""Jobs by name: from Python, from the command line, from an options file."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused

from hdeeprm_like.cluster.synthetic.estimates import Gaussian
from hdeeprm_like.cluster.synthetic.lublin import LUBLIN, Lublin
from hdeeprm_like.cluster.synthetic.mao import MAO
from hdeeprm_like.cluster.synthetic.models import PRESETS, Recipe, estimates_named, model_named
from hdeeprm_like.errors import HDeepRMError, OptionsError
from hdeeprm_like.experiment import Overrides, load_experiment, made_jobs
from hdeeprm_like.formats.swf import read_swf
from hdeeprm_like.formats.workload_json import read_workload

ROOT = Path(__file__).parents[1]
TRACE = ROOT / "workloads" / "lublin_256.swf.gz"


def test_parameters_by_name_come_on_top_of_preset_and_machine():
    assert model_named("lublin") == LUBLIN["batch"]
    model = model_named("lublin", "whole", {"serial": 0.5}, 256)
    assert isinstance(model, Lublin)
    assert (model.serial, model.nodes, model.size_high, model.run_shape_1) == (0.5, 256, 8.0, 4.2)
    assert model_named("lublin", parameters={"nodes": 64}, nodes=256).nodes == 64
    assert model_named("lublin", "both", {"batch": {"serial": 1}}).batch.serial == 1.0
    assert model_named("ksu", parameters={"log": {"serial": 0.0}, "gpus": [8]}).gpus == (8,)
    assert model_named("mao", "scenario-3") == MAO["scenario-3"]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (("lublim",), "model 'lublim' is not known; did you mean 'lublin'?"),
        (("mao", "scenario-11"), "preset 'scenario-11' of mao is not known; did you mean 'scenario-1'?"),
        (("lublin", None, {"serail": 1}), "parameters.serail: is not known; did you mean 'serial'?"),
        (("lublin", None, {"serial": "1"}), "parameters.serial: '1': input should be a valid number"),
        (("lublin", None, {"nodes": True}), "parameters.nodes: True: a whole number from 1 on is needed"),
        (("lublin", "both", {"batch": 1}), "parameters.batch: 1: an object is needed"),
        (("lublin", "both", {"batch": {"x": 1}}), "parameters.batch.x: is not known; known: "),
        (("mao", None, {"short_length": [1]}), "parameters.short_length.1: "),
        (("mao", None, {"steps": 1.5}), "parameters.steps: 1.5: input should be a valid integer"),
        (("mao", None, {"arrival": 2}), "mao: arrival: is 2.0; a probability above 0 and up to 1 is needed"),
        ("tsafir", "estimates: model 'tsafir' is not known; did you mean 'tsafrir'"),
        ({"model": "gaussian", "nv": 1}, "estimates.nv: is not known; known: nu, side"),
    ],
)
def test_wrong_names_and_values_are_told(made, message):
    with pytest.raises(HDeepRMError) as error:
        model_named(*made) if isinstance(made, tuple) else estimates_named(made)
    assert str(error.value).startswith(message)


def test_estimates_come_by_name_or_as_an_object():
    assert estimates_named("gaussian") == Gaussian()
    assert estimates_named({"model": "gaussian", "nu": 0.5, "side": "under"}) == Gaussian(0.5, "under")


def test_the_same_jobs_come_under_other_estimates_and_columns():
    plain = Recipe(LUBLIN["batch"]).jobs(50, np.random.default_rng(3))
    other = Recipe(LUBLIN["batch"], estimates_named("tsafrir"), "hdeeprm").jobs(50, np.random.default_rng(3))
    assert np.array_equal(plain.run, other.run)
    assert np.array_equal(plain.submit, other.submit)
    assert not plain.bandwidth.any()
    assert other.bandwidth.all()


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_model_is_generated_into_every_form(tmp_path, name):
    for ending in ("json", "swf", "swf.gz", "csv"):
        words = ("--jobs", "20", "--seed", "1", "--hdeeprm", "-o", tmp_path / f"jobs.{ending}")
        count = int(printed("generate", name, *words).split()[0])
    workload = read_workload(tmp_path / "jobs.json", reference_flops=1e9)
    with (tmp_path / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    trace = read_swf(tmp_path / "jobs.swf")
    assert len(workload) == len(rows) == len(trace) == len(read_swf(tmp_path / "jobs.swf.gz")) == count
    assert [float(row["ActualDuration"]) for row in rows] == trace.run.tolist()
    assert [int(row["RequestedCPUs"]) for row in rows] == trace.processors.tolist()
    assert sorted(workload.ops.tolist()) == sorted((trace.run * 1e9).tolist())
    assert workload.bandwidth.all()


def test_the_csv_has_the_columns_of_ksu_and_its_gpus(tmp_path):
    path = tmp_path / "set.csv"
    printed("generate", "ksu", "--jobs", "102", "--seed", "5", "-q", "-o", path)
    lines = path.read_text().splitlines()
    assert lines[0] == "JobName,RequestedMemory,RequestedCPUs,RequestedGPUs,RequestedDuration,ActualDuration,SubmitTime"
    assert sum(line.split(",")[3] != "0" for line in lines[1:]) == 2
    assert {line.split(",")[6] for line in lines[1:]} == {"0"}


def test_a_set_of_ksu_can_be_sampled_from_a_trace(tmp_path):
    path = tmp_path / "set.swf"
    arguments = ("--jobs", "51", "--seed", "1", "--log", TRACE, "-q", "-o", path)
    printed("generate", "ksu", *arguments)
    read, log = read_swf(path), read_swf(TRACE)
    known = set(zip(log.run.tolist(), log.processors.tolist(), strict=True))
    assert set(zip(read.run.tolist(), read.processors.tolist(), strict=True)) <= known
    assert (read.processors > 20).sum() >= 50
    assert read.header[-1].endswith("of the jobs of lublin_256.swf.gz")
    assert "--log: needs the model ksu" in refused("generate", "lublin", *arguments)


def test_the_seed_decides_what_the_command_writes(tmp_path):
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        words = "--preset whole --nodes 64 --jobs 50 --set serial=0.5 --estimates gaussian --estimate side=under -q"
        printed("generate", "lublin", *words.split(), "--seed", seed, "-o", tmp_path / f"{name}.swf.gz")
    one, again, other = ((tmp_path / f"{name}.swf.gz").read_bytes() for name in "abc")
    assert one == again != other
    trace = read_swf(tmp_path / "a.swf.gz")
    assert (trace.requested_time <= trace.run).all()
    assert "serial=0.5" in trace.header[-1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("-o x.txt", "--output: x.txt: a name that ends in .json, .json.gz, .swf, .swf.gz, .csv or .csv.gz is needed"),
        ("-o x.swf", "model lublin: the number of jobs is missing"),
        ("-o x.swf --set serial", "--set: 'serial': NAME=VALUE is needed"),
        ("-o x.swf --set a=1 --set a.b=1", "--set: a.b: 'a' already has a value"),
        ("-o x.swf --estimate nu=1", "--estimate: needs --estimates"),
    ],
)
def test_a_wrong_command_is_one_line(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert refused("generate", "lublin", *words.split(), "--seed", "1").startswith(f"hdeeprm-like: {message}")
    assert not list(tmp_path.iterdir())


def test_windows_and_cuts_are_written_by_the_command(tmp_path):
    printed("cut", TRACE, "--from", "100000", "--to", "500000", "--first", "9", "-o", tmp_path / "c.swf")
    part = read_swf(tmp_path / "c.swf")
    assert len(part) == 9
    assert part.submit.min() >= 100_000
    words = ("--windows", "3x64", "--seed", "2", "--load", "2", "-o", tmp_path / "w.swf.gz")
    assert printed("cut", TRACE, *words).count("64 jobs in ") == 3
    assert sorted(path.name for path in tmp_path.glob("w-*")) == ["w-1.swf.gz", "w-2.swf.gz", "w-3.swf.gz"]
    assert len(read_swf(tmp_path / "w-2.swf.gz")) == 64


def options_file(tmp_path, trace="", **workload):
    """An experiment on Gaia whose jobs a model makes, or has with a trace."""
    content = {
        "seed": 3,
        "nb_jobs": 40,
        "platform_file_path": str(ROOT / "platforms" / "gaia.json"),
        "workload_file_path": str(trace),
        "workload": {"model": None if trace else "lublin", **workload},
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": "first-high_gflops"}},
    }
    path = tmp_path / "options.json"
    path.write_text(json.dumps(content))
    return path


def test_an_experiment_makes_its_jobs_from_its_seed(tmp_path):
    path = options_file(tmp_path, preset="whole", estimates="tsafrir", columns="hdeeprm", parameters={"nodes": 256})
    one, again = load_experiment(path), load_experiment(path)
    other = load_experiment(path, Overrides(seed=4))
    assert len(one.workload) == 40
    assert one.workload.capacity == one.platform.cores
    assert one.workload.size.max() <= 256
    assert np.array_equal(one.workload.ops, again.workload.ops)
    assert not np.array_equal(one.workload.ops, other.workload.ops)
    assert (one.workload.requested_ops >= one.workload.ops).all()


def test_episodes_of_one_seed_are_fresh_and_can_be_had_again(tmp_path):
    experiment = load_experiment(options_file(tmp_path))
    episodes = [made_jobs(Path("o.json"), experiment.options, experiment.platform, number) for number in (0, 1, 1)]
    assert np.array_equal(episodes[0].ops, experiment.workload.ops)
    assert not np.array_equal(episodes[0].ops, episodes[1].ops)
    assert np.array_equal(episodes[1].ops, episodes[2].ops)


@pytest.mark.parametrize(
    ("workload", "message"),
    [
        ({"parameters": {"serail": 1}}, "workload.parameters.serail: is not known; did you mean 'serial'?"),
        ({"preset": "all"}, "workload: preset 'all' of lublin is not known"),
        ({"estimates": "tsafir"}, "workload.estimates: model 'tsafir' is not known; did you mean 'tsafrir'?"),
        ({"parameters": {"serial": 2}}, "workload: lublin: serial: is 2.0; a probability from 0 to 1 is needed"),
        ({"model": None, "preset": "whole"}, "workload: preset, parameters and columns belong to a model"),
        ({"model": "lubln"}, "workload.model: 'lubln' is not known; did you mean 'lublin'?"),
        ({"model": "lublin", "trace": "x.swf"}, "workload.model and workload_file_path exclude one another"),
    ],
)
def test_what_is_wrong_in_an_options_file_is_told_with_its_path(tmp_path, workload, message):
    path = options_file(tmp_path, **workload)
    with pytest.raises(OptionsError) as error:
        load_experiment(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)


def test_a_trace_can_get_estimates_too(tmp_path):
    how = {"runtimes": "trace", "missing_memory": 0, "estimates": {"model": "gaussian", "nu": 1}}
    workload = load_experiment(options_file(tmp_path, TRACE, **how)).workload
    assert (workload.requested_ops >= workload.ops).all()
    assert (workload.requested_ops > workload.ops).any()
