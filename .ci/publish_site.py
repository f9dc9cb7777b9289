"""Put a site that was built beside those of other versions: ``publish_site.py BUILT FOLDER VERSION``.

FOLDER gets BUILT as ``VERSION/``, the list ``versions.json``, which the choice in the sidebar reads, and an
``index.html`` that leads to the newest release, or to ``main`` where there is none yet.
"""

import json
import re
import shutil
import sys
from pathlib import Path

NAME = re.compile(r"main|v\d+\.\d+\.\d+")
REFRESH = '<meta http-equiv="refresh" content="0; url={0}/index.html">'
PAGE = f'<!DOCTYPE html><meta charset="utf-8">{REFRESH}<a href="{{0}}/">{{0}}</a>\n'


def publish(built: Path, folder: Path, version: str) -> list[str]:
    """Put a site into a folder of sites and return the versions there, main first, then the newest."""
    if not NAME.fullmatch(version):
        raise SystemExit(f"{version!r:.80} is no version; give main or, for instance, v1.2.3")
    shutil.rmtree(folder / version, ignore_errors=True)
    shutil.copytree(built, folder / version, ignore=shutil.ignore_patterns(".doctrees"))
    found = [path.name for path in folder.iterdir() if path.is_dir() and NAME.fullmatch(path.name)]
    known = sorted(found, key=order, reverse=True)
    (folder / "versions.json").write_text(json.dumps(known) + "\n", encoding="utf-8")
    newest = next((name for name in known if name != "main"), "main")
    (folder / "index.html").write_text(PAGE.format(newest), encoding="utf-8")
    (folder / ".nojekyll").touch()  # folders whose names begin with _ are served, too
    return known


def order(name: str) -> tuple[int, ...]:
    """Return what versions are sorted by."""
    return (10**9,) if name == "main" else tuple(map(int, name[1:].split(".")))


if __name__ == "__main__":
    sys.stdout.write(" ".join(publish(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])) + "\n")
