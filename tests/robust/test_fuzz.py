"""Inputs that are nearly right: each is refused in one line, or used in a way that is proven harmless.

A case takes a good input, changes it by a seeded random generator (`mutations`), and gives it to a command. That ends
with status 0 or 2, with no more than one line of an error of at most 300 characters, in 10 s and 1 GB. Where a
simulation was accepted, its output is checked for what no input can change: cores are held by one job at a time, and
all jobs are accounted for.
"""

import gzip
import json
import re
import warnings

import numpy as np
import pytest
from cases import accepted, command, launch, try_cases
from mutations import ODD_VALUES, changed_bytes, changed_json, changed_text, copy_of_run, json_bytes, odd_word, put
from robust_inputs import ROOT, learning, machine, options, told, trace, workload, write_inputs

from hdeeprm_like.formats.open import write
from hdeeprm_like.formats.platform_json import read_platform

CHUNKS, CASES = 20, 500  # `make test` runs the first chunk, `make test-all` all of them

SCORED = {"queue": {"log_time": 1.0, "log_cores": 0.5}, "keep": {"widest": 0.5}}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder of good inputs and of a run made of them; whatever is compiled for that is compiled now."""
    folder = write_inputs(tmp_path_factory.mktemp("good"))
    assert told("launch", "--options", folder / "options.json", "--output", folder / "run", "-q")[0] == 0
    write(read_platform(folder / "machine.json"), folder / "machine.xml", "platform")
    launched = ("launch", "-q", "--options", folder / "options.json", "--output", folder / "other")
    assert told(*launched, "--trace", folder / "trace.swf")[0] == 0
    assert told("jobstat", folder / "trace.swf", "all")[0] == 0
    assert told("metrics", folder / "run")[0] == 0
    return folder


# -- what is changed: each takes a generator, the good inputs and an empty folder, and returns whether it was accepted


def options_file(rng, good, folder):
    content = options(platform_file_path=str(good / "machine.json"), workload_file_path=str(good / "jobs.json"))
    content |= {"nb_resources": 4, "training": {"episodes": 3, "envs": 1}, "pybatsim": {"log_level": "WARNING"}}
    (folder / "options.json").write_bytes(json_bytes(rng, content))
    return launch(folder, folder / "out")


def options_of_a_model(rng, good, folder):
    parameters = {"nodes": 4} if rng.random() < 0.5 else {}
    content = options(nb_jobs=5, workload={"model": rng.choice(["lublin", "mao", "ksu"]), "parameters": parameters})
    content |= {"platform_file_path": str(good / "machine.json"), "workload_file_path": ""}
    name = rng.choice(["steps", "nodes", "arrival", "gap_shape", "x"])
    content["workload"]["parameters"][name] = rng.choice(ODD_VALUES)
    changed = content if rng.random() < 0.5 else changed_json(rng, content)
    (folder / "options.json").write_text(json.dumps(changed))
    return launch(folder, folder / "out")


def learning_options(rng, good, folder):
    from hdeeprm_like.experiment import load_experiment
    from hdeeprm_like.launch.learner import AgentChoice, Learner

    content = learning(baseline="none", entropy=0.1)
    content |= {"platform_file_path": str(good / "machine.json"), "workload_file_path": str(good / "jobs.json")}
    content["pybatsim"]["env"] = {"preset": rng.choice(["HDeepRM", "DeepRM", "SMDP"]), "horizon": 5, "backlog": 3}
    (folder / "options.json").write_bytes(json_bytes(rng, content))

    def learner():
        return Learner(load_experiment(folder / "options.json"), AgentChoice(str(ROOT / "agents" / "reinforce.py")))

    return accepted(learner) is not None


def swf(rng, good, folder):
    path = put(folder / "t.swf", changed_text(rng, trace(12)))
    return launch(good, folder / "out", "--trace", path)


def packed_swf(rng, good, folder):
    data = gzip.compress(changed_bytes(rng, trace(12).encode(), 5))
    (folder / "t.swf.gz").write_bytes(changed_bytes(rng, data) if rng.random() < 0.6 else data)
    return command("jobstat", folder / "t.swf.gz", rng.choice(["size", "all", "submit", "x"]))


def windows(rng, good, folder):
    from hdeeprm_like.decision.compared_policies import policies_named
    from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
    from hdeeprm_like.studies.compare.sampling import windows_named

    put(folder / "t.swf", changed_text(rng, trace(12)))
    offsets = "start_index,first_job_id\n0,1\n3,4\n"
    put(folder / "o.csv", changed_text(rng, offsets, ","))
    named = rng.choice(["2x3", "disjoint:2x3", "all", "2x99", None, odd_word(rng)])

    def read():
        place = folder / "o.csv" if rng.random() < 0.5 else None
        cores = rng.choice([None, 4, 10**12])
        comparison = Comparison(folder / "t.swf", policies_named("fcfs"), windows_named(named, place), 1, cores)
        found = inputs_of(comparison)
        return [found.window(number) for number in range(len(found.begins))]

    found = accepted(read)
    for one in found or []:
        jobs = one.workload
        assert np.isfinite(jobs.submit).all()
        assert (jobs.size > 0).all()
        assert (np.diff(jobs.submit) >= 0).all()
    return found is not None


def platform_json(rng, good, folder):
    write_inputs(folder)
    if rng.random() < 0.3:
        (folder / "processor_types.json").write_bytes(json_bytes(rng, machine()["types"]["processors"]))
    platform = machine(processors=rng.choice([2, 2, 2, 10**9]))
    (folder / "machine.json").write_bytes(json_bytes(rng, platform))
    return launch(folder, folder / "out")


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a "aaaaaaaaaa">'
    + "".join(f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    + ']><platform version="4.1">&i;</platform>'
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/passwd">]><platform>&a;</platform>'
CYCLE = '<platform version="4.1">' + '<zone id="z" routing="Full">' * 900 + "</zone>" * 900 + "</platform>"


def platform_xml(rng, good, folder):
    text = (good / "machine.xml").read_text()
    if rng.random() < 0.1:
        text = rng.choice([BOMB, OUTSIDE, CYCLE])
    elif rng.random() < 0.6:
        quoted = re.findall(r'"[^"]*"', text)
        for one in rng.sample(quoted, 2):
            text = text.replace(one, f'"{odd_word(rng)}"', rng.randint(1, 3))
    data = text.encode("utf-8", "surrogatepass")
    (folder / "p.xml").write_bytes(changed_bytes(rng, data, 3) if rng.random() < 0.4 else data)
    return launch(good, folder / "out", "--platform", folder / "p.xml")


def platform_csv(rng, good, folder):
    text = "MachineName,TotalCPUs,TotalMemory,TotalGPUs\nn1,4,4000,1\nn2,4,4000,0\n"
    put(folder / "p.csv", changed_text(rng, text, ","))
    return launch(good, folder / "out", "--platform", folder / "p.csv")


def workload_json(rng, good, folder):
    (folder / "jobs.json").write_bytes(json_bytes(rng, workload()))
    return launch(good, folder / "out", "--workload", folder / "jobs.json")


def jobs_csv(rng, good, folder):
    columns = "JobName,SubmitTime,RequestedDuration,ActualDuration,RequestedCPUs,RequestedMemory,RequestedGPUs"
    text = f"{columns}\n1,0,10,9,2,100,0\n2,3,10,10,1,0,0\n3,4,20,1,4,50,0\n"
    put(folder / "jobs.csv", changed_text(rng, text, ","))
    return launch(good, folder / "out", "--workload", folder / "jobs.csv")


def folder_of_a_run(rng, good, folder):
    copy_of_run(rng, good / "run", folder, rng.choice(sorted((good / "run").iterdir())))
    found = command("metrics", folder, "--csv", folder / "figures.csv")
    return command("clean", folder) or found


def scored_policy(rng, good, folder):
    from hdeeprm_like.decision.names import baseline

    (folder / "own.json").write_bytes(json_bytes(rng, SCORED))
    return accepted(baseline, f"scored:{folder / 'own.json'}") is not None


def predictor(rng, good, folder):
    from hdeeprm_like.decision.names import baseline

    leaves = [{"value": -0.1}, {"value": 0.2}]
    tree = [{"feature": "log_time", "at_most": 1.0, "left": 1, "right": 2}, *leaves]
    (folder / "own.json").write_bytes(json_bytes(rng, {"baseline": 0.0, "trees": [tree]}))
    return accepted(baseline, f"sjf@learned:{folder / 'own.json'}+easy") is not None


def checkpoint(rng, good, folder):
    import torch

    from hdeeprm_like.decision.layout import plain_layout
    from hdeeprm_like.learning.checkpoint import counters_of, read_checkpoint, resume_agent, save_checkpoint
    from hdeeprm_like.learning.loading import build_agent, load_agent_class

    kind = load_agent_class(str(ROOT / "agents" / "reinforce.py"))
    agent = build_agent(kind, {"gamma": 0.9, "hidden": 4}, plain_layout((3,), "ab"))
    path = folder / "c.pt"
    save_checkpoint(path, agent, ("a", "b"))
    if rng.random() < 0.5:
        path.write_bytes(changed_bytes(rng, path.read_bytes()))
    else:
        content = torch.load(path, weights_only=True)
        content["counters"] = {"episode": 1, "best": 0.5, "envs": 1, "episodes": 5}
        container, key = rng.choice([(part, key) for part in (content, content["counters"]) for key in part])
        container[key] = rng.choice(ODD_VALUES)
        torch.save(content, path)

    def resume():
        with warnings.catch_warnings(action="ignore"):
            content = read_checkpoint(path)
            resume_agent(agent, content, ("a", "b"), path)
        return agent.decide(
            np.zeros((1, 3), np.float32), np.ones((1, 2), np.bool_), np.zeros(1, np.int64)
        ) is not None and (not content["counters"] or counters_of(content, path)["episode"] >= 0)

    return accepted(resume) is not None


def logs_of_a_training(rng, good, folder):
    from hdeeprm_like.learning.logs import TrainingLog

    (folder / "progress.csv").write_bytes(
        changed_bytes(rng, b"episode,decisions,reward,p:a,p:b\n1,3,0.5,0.1,0.9\n2,3,0.5,0.2,0.8\n", 4)
    )
    (folder / "evaluations.csv").write_bytes(changed_bytes(rng, b"episode,reward\n0,1.5\n2,1.7\n", 4))
    (folder / "losses.log").write_bytes(changed_bytes(rng, b"0.1\n0.2\n", 2))

    def reopen():
        log = TrainingLog(folder, ("a", "b"), rng.choice([0, 1, 2, 10**9]))
        log.close()
        return log

    return accepted(reopen) is not None


FLAGS = {
    "launch": [
        "--runs",
        "--seed",
        "--platform",
        "--workload",
        "--trace",
        "--output",
        "--agent",
        "--socket",
        "--timeout",
    ],
    "train": ["--episodes", "--envs", "--seed", "--processes", "--resume", "--device", "--input-model"],
    "compare": ["--windows", "--cores", "--seed", "--offsets", "--reference", "--clock", "--platform", "--policies"],
    "generate": ["--jobs", "--nodes", "--set", "--preset", "--estimates", "--gflops", "--seed", "--estimate"],
    "cut": ["--first", "--skip", "--from", "--to", "--load", "--windows", "--seed"],
    "jobstat": ["--seed", "--platform"],
    "metrics": ["--short", "--csv"],
    "visual": ["--run", "--save"],
    "explain": ["--cores", "--jobs", "--at", "--trace"],
    "predict": ["--cores", "--split", "--predictors", "--quantile"],
    "clean": ["--soft"],
    "example": ["--force"],
    "schema": ["--save"],
    "report": ["--output"],
    "convert": ["--batsim"],
    "sweep": ["--workers", "--chunk", "--engine", "--slurm"],
    "whatif": ["--cores", "--now", "--change", "--machine"],
    "reproduce": ["--seeds", "--tier", "--scale", "--processes"],
}
WRITTEN = ("--output", "--save", "--csv")  # in the folder of the case, for root may write elsewhere


def command_line(rng, good, folder):
    name = rng.choice(list(FLAGS))
    fixed = {
        "launch": ["--options", good / "options.json", "--output", folder / "out"],
        "train": ["--options", good / "options.json", "--output", folder / "out"],
        "compare": ["--trace", good / "trace.swf", "--policies", "no-such", "--output", folder / "out"],
        "generate": ["lublin", "--jobs", "5", "--seed", "1", "--output", folder / "jobs.swf"],
        "cut": [good / "trace.swf", "--output", folder / "cut.swf"],
        "jobstat": [good / "trace.swf", "size"],
        "metrics": [good / "run"],
        "visual": [odd_word(rng), "--run", good / "run"],
        "explain": [f"zoo:{odd_word(rng)}"],
        "predict": [good / "nothing.swf"],
        "clean": [folder],
        "example": ["no-such", folder / "example"],
        "schema": [],
        "report": [good / "run"],
        "convert": [good / "machine.json", folder / rng.choice(["x.xml", "x.swf", odd_word(rng).replace("/", "")])],
        "sweep": ["status", folder],
        "whatif": ["--jobs", good / "trace.swf", "--policies", "no-such", "--output", folder / "answer"],
        "reproduce": ["--list"],
    }[name]
    more = []
    for _ in range(rng.randint(0, 3)):
        flag = rng.choice(FLAGS[name] + ["--no-such", "-x"])
        word = odd_word(rng).replace("\0", "")
        more += [flag, folder / word.lstrip("/") if flag in WRITTEN else word]
    return command(name, *fixed, *more, "-q")


TARGETS = (
    options_file, options_of_a_model, learning_options, swf, swf, packed_swf, windows, platform_json, platform_xml,
    platform_csv, workload_json, workload_json, jobs_csv, folder_of_a_run, scored_policy, predictor, checkpoint,
    logs_of_a_training, command_line, command_line,
)  # fmt: skip


# compiles for what it lets through; `test_refusals` stays; other changes of the same inputs
@pytest.mark.lane(more=r"0", slow=r"(?!(0)$).*")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_is_changed_in_an_input_it_is_refused_in_one_line_or_harmless(chunk, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = try_cases(TARGETS, f"{chunk}", CASES, good, tmp_path)
    assert taken[swf] > 0, "none was accepted, so nothing was proven"
    assert taken[workload_json] > 0, "none was accepted, so nothing was proven"
