"""``launch`` leaves a whole directory, the same for the same seed; ``clean`` takes away no more than that."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from robust_inputs import printed, refused
from small import RUN_FILES

from hdeeprm_like.errors import ResultsError
from hdeeprm_like.experiment import Overrides, load_experiment
from hdeeprm_like.launch.drivers import Classic
from hdeeprm_like.launch.in_process import launch, staged
from hdeeprm_like.launch.run_folder import clean, listed_files

ROOT = Path(__file__).parent.parent
PLATFORM = ROOT / "platforms" / "learning.json"
WALL_CLOCK = ("scheduling_time", "simulation_time")
TRACE = ("--trace", "workloads/nasa_ipsc_500.swf.gz", "--platform", "platforms/pik.json")
TRACE = tuple(word if word.startswith("--") else str(ROOT / word) for word in TRACE)


def experiment_file(folder, pair="random-random", jobs=60):
    """An options file and a workload of random jobs on the learning platform."""
    rng = np.random.default_rng(5)
    profiles = {
        f"p{k}": {"type": "parallel_homogeneous", "com": 0, "cpu": float(rng.integers(1, 40)) * 1e9, "req_time": k + 1,
                  "mem": int(rng.integers(1, 9000)), "mem_bw": int(rng.integers(4, 24))}
        for k in range(8)
    }  # fmt: skip
    rows = [
        {"id": i, "subtime": int(rng.integers(0, 60)), "res": int(rng.integers(1, 4)), "profile": f"p{i % 8}"}
        for i in range(jobs)
    ]
    (folder / "jobs.json").write_text(json.dumps({"nb_res": 4, "jobs": rows, "profiles": profiles}))
    options = {
        "seed": 3,
        "workload_file_path": "jobs.json",
        "platform_file_path": str(PLATFORM),
        "pybatsim": {"agent": {"type": "CLASSIC", "policy_pair": pair}},
    }
    (folder / "exp.json").write_text(json.dumps(options))
    return folder / "exp.json"


def launched(options, output, *arguments):
    """The files of a run and their content, without what the wall clock shows."""
    printed("launch", "-q", "--overwrite", "-o", options, "--output", output, *arguments)
    return content(output)


def content(folder):
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    names, values = (line.split(",") for line in found["out_schedule.csv"].decode().split())
    found["out_schedule.csv"] = {n: v for n, v in zip(names, values, strict=True) if n not in WALL_CLOCK}
    run = json.loads(found.pop("run.json"))
    for name in WALL_CLOCK:
        del run["metrics"][name]
    del run["wall_seconds"]
    return found | {"run.json": run}


def test_a_run_leaves_its_inputs_its_outputs_and_a_record_of_them(tmp_path):
    found = launched(experiment_file(tmp_path), tmp_path / "out")
    assert set(found) == RUN_FILES
    run = found["run.json"]
    assert set(run["files"]) == RUN_FILES
    assert (run["status"], run["seed"], run["runs"], run["unfinished"]) == ("complete", 3, 1, 0)
    assert run["platform"]["cores"] == 4
    assert run["workload"]["jobs"] == 60
    assert {"hdeeprm_like", "numpy", "python"} <= run["versions"].keys()


def test_another_seed_gives_another_schedule_of_random_policies(tmp_path):
    options = experiment_file(tmp_path)
    one, other = (launched(options, tmp_path / seed, "--seed", seed) for seed in ("1", "2"))
    assert one["out_jobs.csv"] != other["out_jobs.csv"]
    assert one["run.json"]["seed"] == 1


def test_the_jobs_of_a_trace_depend_on_the_seed_alone(tmp_path):
    options = experiment_file(tmp_path, "first-high_gflops")
    runs = [launched(options, tmp_path / name, *TRACE, "--seed", name[0]) for name in ("1", "1again", "2")]
    assert runs[0] == runs[1]
    assert runs[0]["workload.json"] != runs[2]["workload.json"]


def test_a_hundred_runs_leave_what_one_run_does(tmp_path):
    options = experiment_file(tmp_path)
    one, many = launched(options, tmp_path / "one"), launched(options, tmp_path / "many", "--runs", "100")
    assert many["makespans.log"] == one["makespans.log"] * 100
    assert many["run.json"].pop("runs") == 100
    assert one["run.json"].pop("runs") == 1
    del one["makespans.log"], many["makespans.log"]
    assert one == many


@pytest.mark.parametrize("flags", [(), TRACE], ids=["json", "trace"])
def test_the_options_that_a_run_leaves_give_the_run_again_also_into_its_own_directory(tmp_path, flags):
    first = launched(experiment_file(tmp_path), tmp_path / "run", *flags)
    shutil.move(tmp_path / "run", tmp_path / "moved")  # it needs nothing else
    for output in ("again", "moved") if not flags else ("moved",):
        again = launched(tmp_path / "moved" / "options.json", tmp_path / output)
        for file in RUN_FILES - {"run.json", "options.json"}:
            assert again[file] == first[file], file


def test_running_again_replaces_the_files_of_the_run_and_touches_no_other(tmp_path):
    options, out = experiment_file(tmp_path), tmp_path / "out"
    launched(options, out)
    record = json.loads((out / "run.json").read_text())
    (out / "gone.csv").write_text("of an earlier version")
    (out / "run.json").write_text(json.dumps(record | {"files": [*record["files"], "gone.csv"]}))
    (out / "mine.txt").write_text("mine")
    found = launched(options, out, "--seed", "9")
    assert set(found) == RUN_FILES | {"mine.txt"}
    assert found["mine.txt"] == b"mine"
    assert found["run.json"]["seed"] == 9


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("there", ["a run", "an empty directory", "nothing"])
def test_a_run_that_fails_leaves_what_was_there(tmp_path, there, error):
    out = tmp_path / "out"
    if there == "a run":
        launched(experiment_file(tmp_path), out)
    elif there == "an empty directory":
        out.mkdir()
    before = {path: path.read_bytes() for path in out.rglob("*")}
    with pytest.raises(error), staged(out) as stage:  # noqa: PT012
        (stage / "out_jobs.csv").write_text("half")
        raise error
    assert {path: path.read_bytes() for path in out.rglob("*")} == before
    assert out.exists() == (there != "nothing")


def test_two_runs_into_one_directory_do_not_mix(tmp_path):
    experiment, texts = load_experiment(experiment_file(tmp_path)), dict.fromkeys(("out_jobs.csv", "run.json"), "first")
    with staged(tmp_path / "out") as stage:
        for name, text in texts.items():
            (stage / name).write_text(text)
        with pytest.raises(ResultsError, match="another command is writing there"):
            launch(Classic(experiment), tmp_path / "out", progress=False)
    assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == texts


def test_packed_inputs_are_unpacked_into_the_directory(tmp_path):
    plain = launched(experiment_file(tmp_path), tmp_path / "plain")
    for name in ("workload.json", "platform.xml"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(plain[name]))
    flags = ("--workload", str(tmp_path / "workload.json.gz"), "--platform", str(tmp_path / "platform.xml.gz"))
    packed = launched(tmp_path / "exp.json", tmp_path / "packed", *flags)
    assert all(packed[name] == plain[name] for name in RUN_FILES - {"run.json"})


# clean


def test_clean_deletes_what_the_record_lists_and_no_more(tmp_path):
    out = tmp_path / "out"
    launched(experiment_file(tmp_path), out)
    (out / "mine.txt").write_text("mine")
    (out / "folder").mkdir()
    assert "11 files deleted" in printed("clean", out)
    assert sorted(path.name for path in out.iterdir()) == ["folder", "mine.txt"]


def test_soft_cleaning_keeps_the_inputs_which_can_run_again(tmp_path):
    out = tmp_path / "out"
    first = launched(experiment_file(tmp_path), out)
    gone = clean(out, soft=True)
    assert set(gone) == RUN_FILES - {"options.json", "workload.json", "platform.xml", "run.json"}
    assert sorted(listed_files(out)) == ["options.json", "platform.xml", "run.json", "workload.json"]
    assert json.loads((out / "run.json").read_text())["status"] == "cleaned"
    assert clean(out, soft=True) == []
    again = launched(out / "options.json", out)
    assert all(again[name] == first[name] for name in RUN_FILES - {"run.json"})
    assert len(clean(out)) == len(RUN_FILES)
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("name", ["../mine.txt", "/etc/hostname", "..", ".", "", "folder/mine.txt", "folder", "a\0b"])
def test_clean_refuses_names_outside_its_folder(tmp_path, name):
    out = tmp_path / "out"
    (out / "folder").mkdir(parents=True)
    (out / "folder" / "mine.txt").write_text("mine")
    (tmp_path / "mine.txt").write_text("mine")
    (out / "run.json").write_text(json.dumps({"files": ["run.json", name]}))
    before = sorted(tmp_path.rglob("*"))
    refused("clean", out)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"files": 3}', '{"files": [3]}', '{"files": null}'])
def test_clean_and_launch_refuse_a_record_that_is_none(tmp_path, text):
    options, out = experiment_file(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(text)
    refused("clean", out)
    refused("launch", "-q", "-o", options, "--output", out)
    assert {path.name: path.read_text() for path in out.iterdir()} == {"run.json": text}


def test_clean_refuses_a_folder_without_a_record(tmp_path):
    (tmp_path / "out_jobs.csv").write_text("mine")
    for folder in (tmp_path, tmp_path / "none", tmp_path / "out_jobs.csv"):
        assert "has no run.json" in refused("clean", folder)
    assert (tmp_path / "out_jobs.csv").exists()


def test_clean_follows_no_link(tmp_path):
    out = tmp_path / "out"
    launched(experiment_file(tmp_path), out)
    (tmp_path / "mine.txt").write_text("mine")
    (out / "out_jobs.csv").unlink()
    (out / "out_jobs.csv").symlink_to(tmp_path / "mine.txt")
    clean(out)
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert list(out.iterdir()) == []


def test_overrides_are_relative_to_the_current_folder_and_the_file_to_itself(tmp_path, monkeypatch):
    experiment_file(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(PLATFORM, tmp_path / "elsewhere" / "p.json")
    monkeypatch.chdir(tmp_path / "elsewhere")
    experiment = load_experiment(Path("../exp.json"), Overrides(platform=Path("p.json")))
    assert experiment.platform.cores == 4
    assert len(experiment.workload) == 60


def test_a_classic_run_is_the_same_when_its_decisions_are_rewarded_and_kept(tmp_path):
    options = experiment_file(tmp_path)
    plain = launched(options, tmp_path / "plain")
    logged = launched(options, tmp_path / "logged", "--log-decisions", "-nr", "2")
    assert {name for name in logged if name not in plain} == {"decisions.jsonl", "rewards.log"}
    for name in ("out_jobs.csv", "out_machine_states.csv", "out_consumed_energy.csv", "overutilizations.json"):
        assert logged[name] == plain[name]
    decisions = [json.loads(line) for line in logged["decisions.jsonl"].decode().splitlines()]
    assert {one["name"] for one in decisions} == {"random-random"}
    rewards = [float(line) for line in logged["rewards.log"].decode().split()]
    assert rewards == [pytest.approx(sum(one["reward"] for one in decisions))] * 2
    assert logged["run.json"]["reward"] == rewards[-1] < 0.0


def test_what_cannot_be_rewarded_in_a_classic_run_is_one_line(tmp_path):
    options = experiment_file(tmp_path, "first-high_gflops")
    line = ("launch", "-o", options, "--output", tmp_path / "run", "--log-decisions")
    assert "needs --simulator embedded" in refused(*line, "--simulator", "batsim")
    content = json.loads(options.read_text())
    content["pybatsim"]["agent"] = {"type": "CLASSIC"}
    options.write_text(json.dumps({**content, "policy": "fcfs+easy", "whole": True}))
    assert "--log-decisions: whole" in refused(*line)
    assert not (tmp_path / "run").exists()
