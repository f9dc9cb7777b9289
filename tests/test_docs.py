"""What the README and the site show: commands and Python run as they are typed, away from the clone, and print what the
page shows; pages are built without a warning.

``make package`` runs all of it with an installed package, without numba: then the machine code must be whole."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
INSTALLED = os.environ.get("HDEEPRM_LIKE_TRIED")  # Python of an environment in which the package is installed
PYTHON = INSTALLED or sys.executable
sys.path.append(str(ROOT / "docs"))

from make_notebooks import write_notebooks  # noqa: E402
from run_blocks import USERS  # noqa: E402

from hdeeprm_like.engine.numbers import JOB_POLICIES, ORDERS, PLACEMENTS  # noqa: E402

DOCS = ROOT / "docs"
CONTRIBUTORS = {DOCS / f"{name}.md" for name in ("architecture", "compiled", "contributing", "changelog")}
GUIDE = [
    path
    for path in (*sorted(DOCS.glob("*.md")), *sorted((DOCS / "tutorials").glob("*.md")))
    if path not in CONTRIBUTORS
]
MOST_WORDS = 14_000  # of the guide, which is read in an hour; what was tried and measured is in docs/notebook
BY_OTHERS = {DOCS / "slurm.md", DOCS / "own_log.md"}  # run by tests/slurm/test_slurm_page.py and test_real_slurm.py
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted(DOCS.rglob("*.md")) if path not in BY_OTHERS and "made" not in path.parts),
]
FIRST_TO_READ = r"docs/(index|cluster|policies|import|tutorials/.*)\.md-.*"
# what installs, takes minutes, or is tried in tests/test_cli.py
SKIPPED = (
    "python -m hdeeprm_like.compiler",
    "pip install",
    "python agents/train_maskable_ppo.py",
    "python tests/bench/",
    "docker ",
    "make ",
    "eval ",
)


BLOCK = r"^```{}\n(.*?)^```\n(?:\n```text\n(.*?)^```)?"


def blocks(language):
    """Each block of a language with the name of its page and the output that the page shows for it, in order."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block, output in re.findall(BLOCK.format(language), text, re.DOTALL | re.MULTILINE):
            found.append((page.relative_to(ROOT).as_posix(), block, output))
    return found


def commands_of(block):
    return [line for line in block.splitlines() if not line.startswith(SKIPPED)]


COMMANDS = [(page, block, output) for page, block, output in blocks("sh") if commands_of(block)]
PYTHON_BLOCKS = blocks("python")
WITHOUT_CLONE = {path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *GUIDE)}


def ids_of(found):
    return [f"{page}-{number}" for number, (page, *_) in enumerate(found)]


def differences(printed, shown):
    """Lines that a page shows and that were not printed, in this order; a line of three dots stands for any lines."""
    printed, shown = ([line.rstrip() for line in text.splitlines()] for text in (printed, shown))
    missing, place, free = [], 0, False
    for line in shown:
        if line == "...":
            free = True
            continue
        found = next((n for n in range(place, len(printed)) if printed[n] == line), None) if free else place
        if found is None or found >= len(printed) or printed[found] != line:
            missing.append(line)
        else:
            place, free = found + 1, False
    return missing if free or not shown else [*missing, *printed[place:]]


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """A folder for each page; one command finds there what those before it on the page left.

    It looks like a clone, or has only the files of a user's that the pages of the guide name.
    """
    made = {}

    def clone_of(page):
        if page not in made:
            here = USERS if page in WITHOUT_CLONE else {name: ROOT / name for name in IN_CLONE}
            made[page] = new_clone(tmp_path_factory.mktemp("clone"), here)
        return made[page]

    return clone_of


IN_CLONE = ("agents", "platforms", "workloads", "tests")


def new_clone(folder, here=()):
    folder.mkdir(exist_ok=True)
    for name in here:
        if here[name].is_dir():
            (folder / name).symlink_to(here[name])
        else:  # a page may write over it
            shutil.copy(here[name], folder / name)
    (folder / "bin").mkdir()
    command = folder / "bin" / "hdeeprm-like"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(PYTHON)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    return folder


def run(clone, command):
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": "" if INSTALLED else str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(
        command, cwd=clone, env=environment, timeout=3600, capture_output=True, text=True, check=False
    )
    assert "machine code is missing" not in done.stderr
    return done


# the commands of the README stay; more pages
@pytest.mark.lane(more=FIRST_TO_READ, slow=rf"(?!README\.md|{FIRST_TO_READ}).*")
@pytest.mark.parametrize(("page", "block", "shown"), COMMANDS, ids=ids_of(COMMANDS))
def test_commands_work_as_typed_and_print_what_the_page_shows(clones, page, block, shown):
    for needed in written_before(page, block):
        made = run(clones(page), [PYTHON, "-c", needed])
        assert made.returncode == 0, made.stderr
    printed = ""
    for line in commands_of(block):
        assert line.startswith("hdeeprm-like "), f"{page} shows a command that no test runs: {line}"
        done = run(clones(page), shlex.split(line, comments=True))
        assert done.returncode == 0, done.stderr
        printed += done.stdout
    if shown:
        assert differences(printed, shown) == [], printed


def written_before(page, block):
    """The blocks of Python that write files and stand before a block of commands on its page."""
    before = (ROOT / page).read_text(encoding="utf-8").partition(block)[0]
    return [text for name, text, _ in PYTHON_BLOCKS if name == page and "write_text" in text and text in before]


# compiles nothing new; the blocks of README and index stay; more pages
@pytest.mark.lane(more=FIRST_TO_READ, slow=rf"(?!README\.md|{FIRST_TO_READ}).*")
@pytest.mark.parametrize(("page", "block", "shown"), PYTHON_BLOCKS, ids=ids_of(PYTHON_BLOCKS))
def test_python_works_as_typed_and_prints_what_the_page_shows(clones, page, block, shown):
    before = [text for name, text, _ in PYTHON_BLOCKS if name == page]
    before = before[: before.index(block)] if page in WITHOUT_CLONE else [one for one in before if "import" in one][:1]
    needed = [] if "import" in block else before
    done = run(clones(page), [PYTHON, "-c", "\n".join(["import contextlib, io", *map(silent, needed), block])])
    assert done.returncode == 0, done.stderr
    if shown:
        assert differences(done.stdout, shown) == [], done.stdout


def silent(block):
    """A block of a page that is needed by a later one, without what it prints."""
    indented = block.replace("\n", "\n    ")
    return f"with contextlib.redirect_stdout(io.StringIO()):\n    {indented}"


def test_the_figures_of_a_page_are_compared_with_what_was_printed():
    printed = "a 1\nb 2\nc 3\n"
    assert differences(printed, printed) == []
    assert differences(printed, "a 1\n...\n") == []
    assert differences(printed, "...\nb 2\n...\n") == []
    assert differences(printed, "...\nc 3\n") == []
    assert differences(printed, "a 1\nb 2\n") == ["c 3"]
    assert differences(printed, "a 1\nb 4\nc 3\n") != []
    assert differences(printed, "...\nb 4\n...\n") == ["b 4"]


def test_pages_for_newcomers_name_no_path_of_the_repository():
    shown = [(page, block) for page, block, _ in (*COMMANDS, *PYTHON_BLOCKS) if page in WITHOUT_CLONE]
    named = [
        (page, path) for page, block in shown for path in re.findall(r"\b(?:agents|platforms|workloads|tests)/", block)
    ]
    assert named == []


def test_the_pages_that_play_the_gaia_experiment_show_its_figures():
    for name in ("README.md", "docs/tutorials/first_run.md"):
        assert "Mean slowdown                55.49  2.257" in (ROOT / name).read_text(encoding="utf-8")


def test_the_results_of_the_readme_are_those_of_the_pages_that_it_names():
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    rows = {}
    trace = ""
    for line in (DOCS / "notebook" / "bounded.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and len(cells) == 8:
            trace = cells[0] or trace
            rows[trace.partition(",")[0] + trace.partition("half")[0][-7:], cells[1]] = cells
    found = {key: cells for key, cells in rows.items() if "CTC SP2" in key[0] and "second" in key[0]}
    easy, zoo = (next(v for k, v in found.items() if k[1] == f"`{name}`") for name in ("fcfs+easy", "zoo:steady"))
    assert f"a bounded slowdown of {zoo[3]} where EASY has {easy[2]}, and a longest wait of {zoo[7]} of EASY's" in text
    steady = [cells[7] for (_, policy), cells in rows.items() if policy == "`zoo:steady`"]
    assert len(steady) == 6
    assert f"no job waits longer than {max(steady, key=float)} times the longest wait under EASY" in text
    lublin, lublin_easy = (
        next(v for (of, policy), v in rows.items() if of.startswith("Lublin-1") and policy == f"`{own}`")
        for own in ("zoo:steady", "fcfs+easy")
    )
    assert f"mean wait of Lublin-1 ({lublin[5]} against {lublin_easy[4]})" in text


def test_the_table_of_placements_is_that_of_the_recorded_figures():
    sys.path.append(str(ROOT / "tests" / "bench"))
    import placements

    text = (DOCS / "notebook" / "placement.md").read_text(encoding="utf-8")
    figures = json.loads(placements.FIGURES.read_text(encoding="utf-8"))
    lines = list(placements.table(figures))
    assert set(figures) <= set(placements.MACHINES)
    assert len(lines) == 2 + 3 * len(figures)
    assert "\n".join(lines) in text
    assert "\n".join(placements.causes(figures)) in text


def test_the_verdicts_of_the_readme_are_those_of_the_reproduction():
    counts = Counter()

    def count(part):
        for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            count(one)
        if isinstance(part, dict) and "verdict" in part:
            counts[part["verdict"]] += 1

    count(json.loads((ROOT / "docs" / "reproduction" / "results.json").read_text(encoding="utf-8")))
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    confirmed = counts["confirmed"] + counts["direction confirmed"]
    differ = counts["differs"] + counts["contradicted"]
    told = f"{counts['equal']} equal, {confirmed} confirmed in size or direction, {differ} differ or are contradicted, "
    assert f"Of {counts.total()} published numbers, each has a verdict" in text
    assert f"{told}{counts['not shown']} not shown at our budgets" in text


# runs the tutorials once more
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Jupyter's own packages
@pytest.mark.parametrize("name", [page.stem for page in sorted((ROOT / "docs" / "tutorials").glob("*.md"))])
def test_a_tutorial_runs_as_a_notebook_in_two_minutes(name, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="pip install nbclient ipykernel runs the notebooks")
    pytest.importorskip("ipykernel", reason="pip install nbclient ipykernel runs the notebooks")
    import nbformat

    write_notebooks(ROOT / "docs" / "tutorials", tmp_path)
    notebook = nbformat.read(tmp_path / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":  # a command that fails is no error to a notebook, so each is asked
            cell.source = re.sub("^(!.*)$", r"\1\nassert _exit_code == 0", cell.source, flags=re.MULTILINE)
    clone = new_clone(tmp_path / "clone")
    monkeypatch.setenv("PATH", f"{clone / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    begun = time.monotonic()
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(clone)}}).execute()
    assert time.monotonic() - begun < 120


def test_every_link_between_files_leads_somewhere():
    for page in [*ROOT.glob("*.md"), ROOT / "llms.txt", *PAGES, *BY_OTHERS, ROOT / "docker" / "README.md"]:
        for target in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert "/made/" in target or (page.parent / target).exists(), f"{page}: {target}"


def test_the_guide_is_no_longer_than_it_may_be():
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in GUIDE) <= MOST_WORDS


def test_the_page_of_policies_names_every_order_and_every_placement():
    text = (DOCS / "policies.md").read_text(encoding="utf-8")
    assert [
        name for name in (*ORDERS, *PLACEMENTS, *JOB_POLICIES) if f"`{name}`" not in text and name not in ("f2", "f3")
    ] == []


def test_the_map_on_the_page_of_logs_is_the_beginning_of_eagles():
    (shown,) = re.findall(r"```toml\n(.*?)```", (DOCS / "import.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown in (ROOT / "hdeeprm_like" / "importers" / "maps" / "eagle.toml").read_text(encoding="utf-8")


def test_there_is_something_to_run():
    assert len(COMMANDS) > 20
    assert len(PYTHON_BLOCKS) > 4
    assert sum(bool(shown) for _, _, shown in (*COMMANDS, *PYTHON_BLOCKS)) > 9


# builds the site; `make docs` does so too
@pytest.mark.more
def test_the_site_is_built_without_a_warning_and_can_be_searched(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed, so the site is not built")
    done = run(
        tmp_path, [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(ROOT / "docs"), str(tmp_path)]
    )
    assert done.returncode == 0, done.stderr
    assert "backfilling" in (tmp_path / "searchindex.js").read_text(encoding="utf-8").lower()
    notebook = json.loads((tmp_path / "first_run.ipynb").read_text(encoding="utf-8"))
    code = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code[0].startswith("!hdeeprm-like launch --options gaia ")
    assert "hl.simulate" in code[1]
    for page in ("index", "concepts", "reference/made/options", "reference/api"):
        assert (tmp_path / f"{page}.html").exists()
    assert (
        "https://"
        not in re.sub(r"<a [^>]*>", "", (tmp_path / "index.html").read_text(encoding="utf-8")).split("<body")[0]
    )
