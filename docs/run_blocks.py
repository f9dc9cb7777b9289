"""The commands and Python blocks of pages, run when the site is built: what they print and draw is put below them.

MyST-NB and sphinx-gallery were considered. MyST-NB runs notebooks: commands of a shell would be Python's ``!`` lines,
and it needs a kernel and some forty packages; sphinx-gallery runs Python files only. The tests run the blocks of all
pages as a shell does, so the site does the same, in an empty folder with the command in the path.

What a page shows below a block stays as it is, for the tests compare it with what is printed; a block with nothing
below it gets its output. A page is run again where one of its blocks, or a source of the package, has changed.
"""

import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```\n(\n```text\n.*?^```\n)?", re.DOTALL | re.MULTILINE)
LOGS = ROOT / "tests" / "golden"
USERS = {  # files of a user's that pages name, by what stands in for them
    **{
        name: LOGS / "slurm" / name for name in ("slurm.conf", "sacct.txt", "nodes.txt", "partitions.txt", "config.txt")
    },
    "jobcomp.txt": LOGS / "slurm" / "jobcomp.txt",
    **{name: LOGS / "slurm" / "mechanism" / "tree" / name for name in ("assoc.txt", "qos.txt")},
    **{name: LOGS / "logs" / name for name in ("pbs.txt", "lsb.acct")},
}
MOST_LINES = 40  # of an output; a longer one is cut in its middle
LATEST = 1200  # s that one block may take
NOT_RUN = ("pip install",)  # commands that change the environment in which the site is built


@dataclass
class Result:
    """What a block printed, and the pictures that it left, base64 of PNG by name."""

    printed: str = ""
    pictures: dict[str, str] = field(default_factory=dict)


def results_of(text: str, kept: Path) -> list[Result]:
    """Return what each block of a page prints and draws; *kept* is the file of an earlier run."""
    blocks = [(language, code) for language, code, _ in BLOCK.findall(text)]
    key = hashlib.sha256(json.dumps([sources(), blocks]).encode()).hexdigest()
    if kept.exists():
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found["key"] == key:
            return [Result(**one) for one in found["results"]]
    results = run(blocks)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"key": key, "results": [asdict(one) for one in results]}), encoding="utf-8")
    return results


@cache
def sources() -> str:
    """Return a digest of all sources of the package."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "hdeeprm_like").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def run(blocks: Sequence[tuple[str, str]]) -> list[Result]:
    """Run blocks one after the other in a folder of their own, which has the files of users that pages name.

    Raises:
        RuntimeError: a block failed.
    """
    results, before = [], ""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "work"
        folder.mkdir()
        for name, path in USERS.items():
            shutil.copy(path, folder / name)
        environment = environment_in(Path(place))
        seen: dict[Path, int] = {}
        for language, code in blocks:
            if language == "sh":
                lines = [line for line in code.splitlines() if not line.startswith(NOT_RUN)]
                printed = "".join(output(shlex.split(line, comments=True), folder, environment) for line in lines)
            else:
                printed = output([sys.executable, "-c", before + code], folder, environment)
                before += silent(code)
            pictures = {}
            for path in sorted(folder.rglob("*.png")):
                changed = path.stat().st_mtime_ns
                if seen.get(path) != changed:
                    pictures[path.name] = base64.b64encode(path.read_bytes()).decode()
                seen[path] = changed
            results.append(Result(printed, pictures))
    return results


def environment_in(place: Path) -> dict[str, str]:
    """Return an environment whose path has the command of this checkout, which lies below *place*."""
    command = place / "bin" / "hdeeprm-like"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hdeeprm_like "$@"\n')
    command.chmod(0o755)
    own = {"PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return os.environ | own | {"OMP_NUM_THREADS": "1"}


def output(command: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    """Return what a command prints.

    Raises:
        RuntimeError: it failed.
    """
    done = subprocess.run(
        command, cwd=folder, env=environment, timeout=LATEST, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command):.200} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def silent(code: str) -> str:
    """Return a block that a later one needs, without what it prints."""
    indented = code.replace("\n", "\n    ")
    return f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    {indented}\n"


def filled(text: str, results: Sequence[Result], pictures: Path, link: str) -> str:
    """Return the text of a page with what its blocks printed and drew.

    Args:
        pictures: a folder to write the pictures to. link: to that folder from the page.
    """
    left = iter(results)

    def with_result(block: re.Match[str]) -> str:
        result = next(left)
        parts = [block[0]]
        if result.printed.strip() and not block[3]:
            parts.append(f"\n```text\n{shortened(result.printed)}```\n")
        for name, content in result.pictures.items():
            pictures.mkdir(parents=True, exist_ok=True)
            (pictures / name).write_bytes(base64.b64decode(content))
            parts.append(f"\n![{Path(name).stem}]({link}/{name})\n")
        return "".join(parts)

    return BLOCK.sub(with_result, text)


def shortened(printed: str) -> str:
    """Return an output of which, if it is long, only the beginning and the end are shown."""
    lines = printed.rstrip().splitlines()
    if len(lines) > MOST_LINES:
        lines = [*lines[: MOST_LINES // 2], "...", *lines[-MOST_LINES // 2 :]]
    return "\n".join(lines) + "\n"
