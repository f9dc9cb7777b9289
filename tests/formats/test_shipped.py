"""Names of the shipped data: each leads to its file, in every folder, and a wrong one is refused."""

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import hdeeprm_like as hl
from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError, PlatformError, WorkloadError
from hdeeprm_like.experiment import load_experiment
from hdeeprm_like.formats import shipped as module
from hdeeprm_like.formats.archive import trace_folder
from hdeeprm_like.formats.open import load_platform, load_trace, load_workload
from hdeeprm_like.formats.shipped import KINDS, SHIPPED, existing, found, listed, looks_like_a_name, name_of, names_of

ROOT = Path(__file__).parent.parent.parent
TAKEN_TOGETHER = (("trace", "workload"), ("sweep", "options"))  # kinds that one argument takes
NO_DATA = (  # what the folders hold besides: a licence, READMEs, and Python to be read and changed
    *("README.md", "eagle_1000.LICENSE.txt", "own_parts.py", "own_predictor.py"),
    *("sb3_vector.py", "train_maskable_ppo.py"),
    *("cleanrl_ppo.py", "torchrl_ppo.py", "tianshou_ppo.py", "rllib_ppo.py"),
)


def of(kind):
    return [one for one in SHIPPED if one.kind == kind]


# the table


def test_every_file_of_the_three_folders_has_a_name_and_every_name_a_file():
    files = {one.file for one in SHIPPED}
    assert len(files) == len(SHIPPED)
    there = {
        path.relative_to(ROOT).as_posix()
        for name in ("agents", "platforms", "workloads")
        for path in (ROOT / name).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name not in NO_DATA
    }
    learned = {name for name in there if name.startswith("agents/zoo/")}  # policies, which go by zoo:NAME
    assert files - {"agents/zoo/evolution/small.json"} == there - learned
    assert all(one.path.is_file() for one in SHIPPED)


def test_no_argument_knows_two_files_by_one_name_and_no_name_looks_like_a_file():
    for kinds in (*TAKEN_TOGETHER, *((kind,) for kind in KINDS)):
        counts = Counter(one.name for one in SHIPPED if one.kind in kinds)
        assert [name for name, count in counts.items() if count > 1] == []
    assert all(looks_like_a_name(name) for name in names_of(*KINDS))


@pytest.mark.parametrize("one", of("platform"), ids=lambda one: one.name)
def test_a_platform_has_the_size_that_the_table_gives(one):
    platform = load_platform(one.path)
    told = [int(number) for number in re.findall(r"\d+", one.size.replace(",", "").replace("  ", " "))]
    assert told == [platform.nodes, platform.processors, platform.cores]


@pytest.mark.parametrize("one", [*of("trace"), *of("workload")], ids=lambda one: f"{one.kind}-{one.name}")
def test_jobs_are_as_many_as_the_table_gives_and_their_machine_is_known(one):
    jobs = load_trace(one.path) if one.kind == "trace" else load_workload(one.path, reference_flops=1e9)
    assert one.size == f"{len(jobs):,} job{'s' * (len(jobs) != 1)}"
    if isinstance(one.machine, str):
        assert one.machine in {platform.name for platform in of("platform")}
    else:
        assert one.machine >= max(jobs.size if one.kind == "workload" else jobs.processors)


@pytest.mark.parametrize("folder", ["platforms", "workloads"])
def test_the_readme_of_a_folder_has_names_files_and_sizes_of_the_table(folder):
    text = (ROOT / folder / "README.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")
    ]
    known = {one.file.partition("/")[2]: one for one in SHIPPED if one.file.startswith(f"{folder}/")}
    assert {row[1]: row[0] for row in rows} == {file: one.name for file, one in known.items()}
    for _, file, *cells in rows:
        told = re.findall(r"\d+", known[file].size.replace(",", ""))
        shown = cells[-3:] if folder == "platforms" else cells[:1]
        if known[file].kind != "offsets":
            assert [cell.replace(",", "") for cell in shown] == told


# reading an argument


def test_a_name_is_its_file_in_every_folder(monkeypatch, tmp_path, caplog):
    monkeypatch.chdir(tmp_path)
    assert found("gaia", "platform") == ROOT / "platforms" / "gaia.json"
    assert found("gaia", "trace", "workload") == ROOT / "workloads" / "gaia.swf.gz"
    assert found("gaia", "options") == ROOT / "agents" / "gaia-first-high_gflops.json"
    assert caplog.messages == []
    (tmp_path / "gaia").write_text("mine")
    assert found("gaia", "platform") == ROOT / "platforms" / "gaia.json"
    (message,) = caplog.messages
    assert message == "gaia: is taken as the shipped platform; write ./gaia for the file of this folder"
    assert found("./gaia", "platform") == Path("gaia")


def test_what_has_a_separator_or_an_ending_is_a_path_that_need_not_exist(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for text in ("a/gaia", "./gaia", "gaia.json", "x.swf.gz", "mine.txt", "/gaia", "../gaia", ".", "-", "~/x"):
        assert found(text, "platform") == Path(text)
    (tmp_path / "days").mkdir()
    assert found("days", "trace", "workload") == Path("days")
    assert found("days.swf", "trace", folder=tmp_path) == tmp_path / "days.swf"


@pytest.mark.parametrize(
    ("text", "kinds", "error", "said"),
    [
        ("gaja", ("platform",), PlatformError, "'gaja' is no shipped platform, and no file; did you mean"),
        ("gaja", ("trace",), WorkloadError, "did you mean 'gaia'? known: gaia, ctc-sp2, ctc-sp2-windows, nasa-ipsc"),
        ("CTC-SP2-1996-3.1-cn", ("trace",), WorkloadError, "did you mean 'CTC-SP2-1996-3.1-cln'?"),
        ("qqqq", ("workload",), WorkloadError, "and no file; known: learning, worked-one"),
        ("gaia", ("workload",), WorkloadError, "'gaia' is a name of: platform, trace, options file; but no workload;"),
        ("nope", ("options",), OptionsError, "known: gaia, gaia-shortest, frontier, learning,"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_refused_with_the_nearest_and_the_list(text, kinds, error, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error) as refused:
        found(text, *kinds)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 280
    assert "\n" not in str(refused.value)


def test_a_trace_of_the_archive_is_known_once_it_was_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = "CTC-SP2-1996-3.1-cln"
    with pytest.raises(WorkloadError, match=f"download it once with: hdeeprm-like fetch-trace {name}$"):
        found(name, "trace")
    trace_folder().mkdir()
    with gzip.open(trace_folder() / f"{name}.swf.gz", "wb") as file:
        file.write(b"; MaxProcs: 4\n1 0 0 10 1 -1 -1 1 10 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert found(name, "trace") == trace_folder() / f"{name}.swf.gz"
    assert main(["jobstat", name, "size", "count"]) == 0


def test_an_installation_that_lacks_the_data_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "__file__", str(tmp_path / "hdeeprm_like" / "formats" / "shipped.py"))
    with pytest.raises(PlatformError, match="this installation of hdeeprm_like is not whole"):
        found("gaia", "platform")


def test_the_name_of_a_file_that_comes_along_is_known_and_of_others_it_is_their_own():
    assert name_of(found("gaia-shortest", "options")) == "gaia-shortest"
    assert name_of(Path("mine/exp.json")) == "exp"


# Python


def test_the_gaia_experiment_is_one_thing_in_python_and_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gaia = hl.load_experiment("gaia")
    jobs = gaia.workload
    assert jobs.account.left_out == 69  # the thesis' own reading leaves out jobs of unknown memory, the usual one not
    assert hl.load_workload("gaia", jobs=1000, skip=4, seed=20091995).account.left_out == 0
    for name, policy in (("gaia", "first-high_gflops"), ("gaia-shortest", "shortest-high_gflops")):
        assert main(["launch", "-q", "--options", name]) == 0
        launched = json.loads((tmp_path / f"run-{name}" / "run.json").read_text())["metrics"]
        simulated = hl.simulate("gaia", jobs, policy).figures
        assert simulated["slowdown"] == pytest.approx(launched["mean_slowdown"], rel=1e-12)


def test_jobs_of_a_name_have_its_machine_and_those_of_a_file_that_of_its_header(tmp_path):
    assert len(hl.load_workload("lublin-1-500", jobs=7)) == 7
    assert hl.load_workload("lublin-1-500", jobs=7).capacity == 256
    assert len(hl.load_workload("learning")) == 2
    later = hl.load_workload("lublin-1-500", skip=490)
    assert len(later) == 10
    path = found("lublin-1-500", "trace")
    assert len(hl.load_workload(path, 256)) == 500
    assert hl.load_workload(path).capacity == 256
    bare = tmp_path / "bare.swf"
    bare.write_text("1 0 -1 10 4 -1 -1 4 10 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(OptionsError, match=r"bare.swf: its header has no number of processors .*; give the platform$"):
        hl.load_workload(bare)


@pytest.mark.parametrize(
    ("name", "more", "said"),
    [
        ("gaia", {"jobs": 0}, "jobs: is 0; a whole number from 1 to 2,000,000 is needed"),
        ("gaia", {"skip": -1}, "skip: is -1; a whole number from 0 to 2,000,000 is needed"),
        ("gaia", {"jobs": 10**15}, "jobs: is 1000000000000000; a whole number from 1 to 2,000,000"),
        ("gaia", {"skip": 10**6}, "no"),
        ("learning", {"jobs": 1}, "is a complete workload, which runs whole; jobs and skip need a trace"),
    ],
)
def test_numbers_of_jobs_that_make_no_sense_are_refused(name, more, said):
    with pytest.raises(hl.HDeepRMError, match=re.escape(said)):
        hl.load_workload(name, **more)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hl.simulate("nowhere.json", "gaia", "sjf+easy"),
        lambda: hl.simulate("gaia", "nowhere.swf", "sjf+easy"),
        lambda: hl.load_workload("nowhere.swf"),
        lambda: hl.load_platform("nowhere.json"),
        lambda: hl.load_experiment("nowhere.json"),
        lambda: hl.compare("nowhere.swf", ["fcfs"]),
        lambda: hl.stream("nowhere.swf", "fcfs", "out"),
        lambda: existing(Path("nowhere.json"), "platform"),  # as it refuses a text
    ],
)
def test_a_missing_file_is_refused_at_once_in_one_line_with_names_to_try(ask):
    with pytest.raises(hl.HDeepRMError, match=r"^nowhere\.[a-z]+: no such file; names of shipped data: \S") as refused:
        ask()
    assert len(refused.traceback) <= 5  # pytest's, this lambda, the function, and what looks for the file


def test_no_module_takes_the_place_of_a_function_of_the_interface():
    package = ROOT / "hdeeprm_like"
    modules = {path.stem for path in package.glob("*.py")} | {path.name for path in package.iterdir() if path.is_dir()}
    assert modules & set(hl.__all__) == set()


def test_examples_print_as_a_table_and_know_their_kinds():
    everything = hl.examples()
    assert len(everything) == len(SHIPPED)
    assert "trace     lublin-1" in str(everything)
    assert [one.name for one in hl.examples("agent")][:3] == ["reinforce", "actor-critic", "ppo"]
    assert str(hl.examples("rates")).count("\n") == 0
    assert str(listed("rates")[:0]) == "()"  # a part is a tuple as any
    with pytest.raises(OptionsError, match="'trce' is no kind of shipped data; did you mean 'trace'"):
        hl.examples("trce")


# options files


def test_an_options_file_names_platform_and_jobs(tmp_path):
    content = json.loads(found("gaia", "options").read_text())
    content |= {"platform_file_path": "gaia", "workload_file_path": "gaia"}
    (tmp_path / "mine.json").write_text(json.dumps(content))
    experiment = load_experiment(tmp_path / "mine.json")
    assert experiment.workload.ops.tolist() == hl.load_experiment("gaia").workload.ops.tolist()
    (tmp_path / "mine.json").write_text(json.dumps(content | {"platform_file_path": "gaja"}))
    said = r"mine\.json: platform_file_path: 'gaja' is no shipped platform.* did you mean"
    with pytest.raises(PlatformError, match=said):
        load_experiment(tmp_path / "mine.json")


def test_every_options_file_that_comes_along_is_found_by_its_name():
    for one in of("options"):
        if "zoo" not in one.file:
            assert hl.load_experiment(one.name).options_path == one.path


# as an installed package, away from the clone


@pytest.mark.more  # copies the package and starts a few interpreters
def test_an_installed_package_finds_its_data_away_from_the_clone(tmp_path):
    package = tmp_path / "site" / "hdeeprm_like"
    package.parent.mkdir()
    subprocess.run(["cp", "-r", str(ROOT / "hdeeprm_like"), str(package)], check=True)
    for name in ("agents", "platforms", "workloads"):
        (package / "examples").mkdir(exist_ok=True)
        subprocess.run(["cp", "-r", str(ROOT / name), str(package / "examples")], check=True)
    away = tmp_path / "away"
    away.mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(package.parent)}
    statement = "import hdeeprm_like as hl; print(hl.examples('trace')[0].path)"
    commands = (["jobstat", "gaia", "size", "p95"], ["convert", "gaia", "gaia.xml"], ["example", "--names"])
    for words in (*(["-m", "hdeeprm_like", *words] for words in commands), ["-c", statement]):
        done = subprocess.run(
            [sys.executable, *words], cwd=away, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(package / "examples" / "workloads" / "gaia.swf.gz")
