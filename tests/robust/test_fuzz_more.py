"""As `test_fuzz`, for what real clusters tell, logs, configurations, what Slurm shows; for sweeps; and for pictures."""

import json

import numpy as np
import pytest
from cases import accepted, command, launch, try_cases
from mutations import changed_bytes, changed_text, copy_of_run, json_bytes, odd_word, put
from robust_inputs import ROOT, machine, options, printed, workload, write_inputs
from table_map import OWN_MAP

from hdeeprm_like.formats.swf import read_swf

CHUNKS, CASES = 8, 390  # `make test-more` runs the first chunk, `make test-all` all of them
RECORDED = ROOT / "tests" / "golden" / "slurm"

LOG = """id;in;from;to;n;limit;ram;hosts;how
7;2024-01-10 10:00:00;2024-01-10 10:01:00;2024-01-10 10:03:00;4;1.5;8;2;good
8;2024-01-10 10:00:05;2024-01-10 10:02:00;2024-01-10 10:02:30;1;0.5;2;1;good
"""
SLURM = {
    "nodes": [{"hosts": "n[1-2]", "features": ["ib"]}, {"hosts": "n[3-4]", "weight": 2}],
    "partitions": [
        {"name": "batch", "hosts": "n[1-4]", "Default": "YES", "MaxTime": 3600},
        {"name": "debug", "hosts": "n[3-4]", "PriorityTier": 10},
        {"name": "whole", "hosts": "n[1-2]", "OverSubscribe": "EXCLUSIVE"},
    ],
}


def with_partitions():
    """Return a platform of four nodes, in partitions."""
    found = machine(processors=2)
    found["clusters"][0]["nodes"][0]["number"] = 4
    return {**found, "slurm": SLURM}


def asking():
    """Return jobs that ask for partitions and nodes."""
    found = workload()
    found["nb_res"] = 16
    asked = [{"partition": "debug"}, {"nodes": 2, "cores_per_task": 2, "res": 4}, {"constraint": "ib&x|ib"}]
    asked += [{"exclusive": True}, {"account": "a", "qos": "q", "nice": 3}, {"nodes": 1}]
    for job, more in zip(found["jobs"], asked, strict=True):
        job.update(more)
    return found


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A folder of good inputs; whatever is compiled for them is compiled now."""
    files = {"machine.json": with_partitions(), "jobs.json": asking(), "options.json": options(policy="fcfs+easy")}
    folder = write_inputs(tmp_path_factory.mktemp("good"), **files)
    printed("launch", "-q", "--options", folder / "options.json", "--output", folder / "run")
    (folder / "map.toml").write_text(OWN_MAP)
    (folder / "log.csv").write_text(LOG)
    printed("import", "table", folder / "log.csv", "--map", folder / "map.toml", "-q", "-o", folder / "log.swf")
    return folder


def changed_lines(rng, text, separator):
    """Return the text of a table of some lines, changed; sometimes its bytes."""
    lines = text.split("\n")
    text = "\n".join([lines[0], *(lines[1 + rng.randrange(len(lines) - 2)] for _ in range(12))]) + "\n"
    if rng.random() < 0.3:
        return changed_bytes(rng, text.encode())
    return changed_text(rng, text, separator).encode("utf-8", "surrogatepass")


def is_a_trace(path):
    """Tell that what an import wrote can be read, if it wrote something."""
    if path.exists():
        trace = read_swf(path)
        assert np.isfinite(trace.submit).all()
    return True


def sacct(rng, good, folder):
    (folder / "log.txt").write_bytes(changed_lines(rng, (RECORDED / "sacct.txt").read_text(), "|"))
    odd = odd_word(rng).replace("\0", "")
    flags = ["--separator", "--time-format", "--time-limit", "--timezone", "--cores", "--salt", "--platform"]
    more = [rng.choice(flags), odd] if rng.random() < 0.3 else []
    done = command("import", "sacct", folder / "log.txt", "-q", "-o", folder / "t.swf", *more)
    return is_a_trace(folder / "t.swf") and done


def jobcomp(rng, good, folder):
    (folder / "jobs.txt").write_bytes(changed_lines(rng, (RECORDED / "jobcomp.txt").read_text(), " "))
    done = command("import", "jobcomp", folder / "jobs.txt", "-q", "-o", folder / "t.swf")
    return is_a_trace(folder / "t.swf") and done


def limits_of_an_imported_machine(rng, good, folder):
    (folder / "machine.json").write_bytes(json_bytes(rng, with_partitions()))
    words = ("--platform", folder / "machine.json", "-q", "-o", folder / "t.swf")
    return command("import", "sacct", RECORDED / "sacct.txt", *words)


def table(rng, good, folder):
    text = changed_text(rng, OWN_MAP, " ") if rng.random() < 0.5 else OWN_MAP
    put(folder / "map.toml", text)
    (folder / "log.csv").write_bytes(changed_lines(rng, LOG, ";"))
    words = ("--map", folder / "map.toml", "-q", "-o", folder / "t.swf")
    done = command("import", "table", folder / "log.csv", *words)
    return is_a_trace(folder / "t.swf") and done


def slurm_conf(rng, good, folder):
    text = (RECORDED / "slurm.conf").read_text()
    text = changed_text(rng, text, rng.choice([" ", "=", ","]))
    put(folder / "slurm.conf", text)
    done = command("import", "slurm-conf", folder / "slurm.conf", "-q", "-o", folder / "p.json")
    return done and command("convert", folder / "p.json", folder / "p.xml", "-q")


def scontrol(rng, good, folder):
    for name in ("nodes.txt", "partitions.txt", "config.txt", "nodes.json"):
        data = (RECORDED / name).read_bytes()
        if rng.random() < 0.5:
            data = json_bytes(rng, json.loads(data)) if name[-1] == "n" else changed_bytes(rng, data)
        (folder / name).write_bytes(data)
    files = [folder / name for name in rng.sample(["nodes.txt", "partitions.txt", "config.txt", "nodes.json"], 3)]
    done = command("import", "scontrol", *files, "-q", "-o", folder / "p.json")
    return done and command("convert", folder / "p.json", folder / "p.xml", "-q")


def shown_by_slurm(rng, good, folder):
    from hdeeprm_like.slurm.shown import jobs_of_json, nodes_of_json, nodes_of_text

    shown = {"number": 5, "set": True, "infinite": False}
    job = {"job_id": 5, "job_state": ["PENDING"], "user_name": "ada", "partition": "a,b", "cpus": shown, "priority": 3}
    jobs = json_bytes(rng, {"jobs": [job, job | {"job_id": 6, "array_job_id": shown}]})
    nodes = json_bytes(rng, json.loads((RECORDED / "nodes.json").read_bytes()))
    text = changed_bytes(rng, (RECORDED / "nodes.txt").read_bytes())
    found = accepted(jobs_of_json, jobs.decode(errors="replace"))
    for one in found or []:
        assert one.cpus >= 0
        assert one.limit >= 0.0
    accepted(nodes_of_json, nodes.decode(errors="replace"))
    accepted(nodes_of_text, text.decode(errors="replace"))
    return found is not None


def partitions(rng, good, folder):
    (folder / "machine.json").write_bytes(json_bytes(rng, with_partitions()))
    return launch(good, folder / "out", "--platform", folder / "machine.json", whole_nodes=True)


def jobs_on_partitions(rng, good, folder):
    (folder / "jobs.json").write_bytes(json_bytes(rng, asking()))
    return launch(good, folder / "out", "--workload", folder / "jobs.json", whole_nodes=True)


def log_of_whatif(rng, good, folder):
    from hdeeprm_like.formats.open import load_platform
    from hdeeprm_like.studies.whatif.changes import change_named
    from hdeeprm_like.studies.whatif.inputs import load_log

    for name in ("log.swf", "log.extra.csv"):
        text = (good / name).read_text()
        text = changed_text(rng, text, "," if name.endswith("csv") else " ") if rng.random() < 0.7 else text
        put(folder / name, text)
    known = accepted(load_platform, good / "machine.json")
    log = accepted(load_log, folder / "log.swf", known)
    change = accepted(change_named, f"{rng.choice(['nodes', 'load', 'x'])}={odd_word(rng)}")
    if log is None or change is None:
        return log is not None
    accepted(change.of_machine, known)
    jobs = accepted(change.of_log, log)
    assert jobs is None or np.isfinite(jobs.jobs.submit).all()
    return True


def pictures_of_a_run(rng, good, folder):
    changed = rng.choice([path for path in sorted((good / "run").iterdir()) if path.suffix != ".xml"])
    copy_of_run(rng, good / "run", folder, changed, commas=(",", " "))
    kind = rng.choice(["queue_size", "job_load", "utilization", "power", "lifecycle", "gantt", "core_bubbles"])
    drawn = command("visual", kind, "--run", folder, "--save", folder / "picture.png", "-q")
    if rng.random() < 0.3:  # takes 2 s
        drawn = command("report", folder, "-o", folder / "report.html", "-q") or drawn
    return drawn


def grid_of_a_sweep(rng, good, folder):
    from hdeeprm_like.studies.sweep.tasks import read_sweep

    launched = {**options(platform_file_path=str(good / "machine.json"), workload_file_path=str(good / "jobs.json"))}
    launched |= {"seed": [1, 2, 3], "nb_resources": [4, 16], "policy": ["fcfs", "sjf+easy"]}
    compared = {"compare": str(good / "trace.swf"), "policies": ["fcfs", "sjf+easy"], "windows": "2x10", "seed": [1, 2]}
    (folder / "grid.json").write_bytes(json_bytes(rng, rng.choice([launched, compared, [launched, compared]])))
    return accepted(read_sweep, folder / "grid.json") is not None


TARGETS = (
    sacct, sacct, jobcomp, limits_of_an_imported_machine, table, slurm_conf, scontrol, shown_by_slurm, partitions,
    jobs_on_partitions, log_of_whatif, log_of_whatif, grid_of_a_sweep, pictures_of_a_run,
)  # fmt: skip


# compiles runs on partitions, for 20 s; other changes of the same inputs
@pytest.mark.lane(more=r"0", slow=r"(?!(0)$).*")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_a_cluster_tells_is_refused_in_one_line_or_harmless(chunk, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    taken = try_cases(TARGETS, f"clusters {chunk}", CASES, good, tmp_path, compiles=True)
    for target in (sacct, jobcomp, slurm_conf, log_of_whatif):
        assert taken[target] > 0, "none was accepted, so nothing was proven"
