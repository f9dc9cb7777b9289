"""What the README and the site show: commands run as they are typed, Python runs, pages are built without a warning."""

import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "docs"))

from make_notebooks import write_notebooks  # noqa: E402

# made from the code; run by tests/importers/test_tutorial.py, and by tests/slurm/test_slurm_page.py
NOT_HERE = ("made", "import.md", "slurm.md")
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if not {*path.parts} & {*NOT_HERE}),
]
# what installs, takes minutes, or is tried in tests/test_cli.py
SKIPPED = ("pip install", "python agents/train_maskable_ppo.py", "docker ", "make ", "eval ")


def blocks(language):
    """Each block of a language with the name of its page, in order."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
            found.append((page.relative_to(ROOT).as_posix(), block))
    return found


COMMANDS = [(page, line) for page, block in blocks("sh") for line in block.splitlines() if not line.startswith(SKIPPED)]
PYTHON = blocks("python")


@pytest.fixture(scope="module")
def clones(tmp_path_factory):
    """A folder for each page that looks like a clone; one command finds there what those before it on the page left."""
    made = {}

    def clone_of(page):
        if page not in made:
            made[page] = new_clone(tmp_path_factory.mktemp("clone"))
        return made[page]

    return clone_of


def new_clone(folder):
    folder.mkdir(exist_ok=True)
    for name in ("agents", "platforms", "workloads", "tests"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    command = folder / "bin" / "hdeeprm-like"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    return folder


def run(clone, command):
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return subprocess.run(command, cwd=clone, env=environment, timeout=300, capture_output=True, text=True, check=False)


# compiles nothing new; the README's commands stay; more pages
@pytest.mark.lane(more=r"docs/tutorials/first_run\.md-.*", slow=r"(?!README\.md|docs/tutorials/first_run\.md).*")
@pytest.mark.parametrize(("page", "line"), COMMANDS, ids=[f"{page}-{n}" for n, (page, _) in enumerate(COMMANDS)])
def test_a_command_works_as_typed(clones, page, line):
    assert line.startswith("hdeeprm-like "), f"{page} shows a command that no test runs: {line}"
    done = run(clones(page), shlex.split(line, comments=True))
    assert done.returncode == 0, done.stderr


# compiles nothing new; the README's commands stay; more pages
@pytest.mark.lane(more=r"docs/tutorials/first_run\.md-8", slow=r"(?!(README\.md-0|docs/tutorials/first_run\.md-8)$).*")
@pytest.mark.parametrize(("page", "block"), PYTHON, ids=[f"{page}-{n}" for n, (page, _) in enumerate(PYTHON)])
def test_python_works_as_typed(clones, page, block):
    before = [text for name, text in PYTHON if name == page and text != block]
    needed = [text for text in before if "import" in text][:1] if "import" not in block else []
    done = run(clones(page), [sys.executable, "-c", "\n".join([*needed, block])])
    assert done.returncode == 0, done.stderr


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
    pages = [*ROOT.glob("*.md"), ROOT / "llms.txt", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md")]
    for page in [*pages, ROOT / "docker" / "README.md"]:
        for target in re.findall(r"\]\(([^)\s#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page}: {target}"


def test_there_is_something_to_run():
    assert len(COMMANDS) > 30
    assert len(PYTHON) > 4


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
    assert code[0].startswith("!hdeeprm-like example gaia x\n!hdeeprm-like launch")
    assert "hl.simulate" in code[1]
    for page in ("index", "concepts", "reference/made/options", "reference/api"):
        assert (tmp_path / f"{page}.html").exists()
    assert (
        "https://"
        not in re.sub(r"<a [^>]*>", "", (tmp_path / "index.html").read_text(encoding="utf-8")).split("<body")[0]
    )
