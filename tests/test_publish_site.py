"""The site of a version is put beside those of others, with a list of them and a way to the newest release."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def published(built, folder, version):
    command = [sys.executable, str(ROOT / ".ci" / "publish_site.py"), str(built), str(folder), version]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_versions_lie_beside_each_other_and_the_newest_release_is_the_way_in(tmp_path):
    built, folder = tmp_path / "html", tmp_path / "pages"
    (built / ".doctrees").mkdir(parents=True)
    folder.mkdir()
    for version in ("main", "v0.9.0", "v0.10.0", "v0.2.0"):
        (built / "index.html").write_text(version)
        assert published(built, folder, version).returncode == 0
        if version == "main":
            assert "url=main/index.html" in (folder / "index.html").read_text()
    assert json.loads((folder / "versions.json").read_text()) == ["main", "v0.10.0", "v0.9.0", "v0.2.0"]
    assert "url=v0.10.0/index.html" in (folder / "index.html").read_text()
    assert (folder / "v0.9.0" / "index.html").read_text() == "v0.9.0"
    assert not (folder / "main" / ".doctrees").exists()
    (built / "index.html").write_text("again")
    published(built, folder, "main")
    assert (folder / "main" / "index.html").read_text() == "again"


@pytest.mark.parametrize("name", ["../x", "v1", "feature", ""])
def test_a_branch_or_a_path_is_no_version(tmp_path, name):
    (tmp_path / "html").mkdir()
    done = published(tmp_path / "html", tmp_path / "pages", name)
    assert done.returncode == 1
    assert "is no version" in done.stderr
    assert not (tmp_path / "pages").exists()
