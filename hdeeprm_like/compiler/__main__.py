"""``python -m hdeeprm_like.compiler``: compile the library.

By default the machine code goes into the user's cache, where processes of this machine find it; only kinds whose
sources have changed are compiled then. A wheel is built with ``--into``.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hdeeprm_like.engine import library, plain


def main(arguments: Sequence[str] | None = None) -> int:
    """Build what is missing; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hdeeprm_like.compiler", description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, metavar="DIR", help="write the library for a package into this folder")
    parser.add_argument(
        "--processors",
        default=library.target(),
        metavar="NAMES",
        help="with --into: for which processors, separated by commas, as x86-64-v2,x86-64-v3 (default: this one)",
    )
    parser.add_argument("--list", action="store_true", help="list the kinds of calls and build nothing")
    options = parser.parse_args(arguments)
    if not find_spec("numba"):
        sys.stderr.write('the library is compiled by numba, which is missing: pip install "hdeeprm_like[compile]"\n')
        return 2
    if not options.into and not options.list and is_up_to_date():
        sys.stdout.write(f"nothing to do: {library.tables().kept} has it\n")
        return 0
    if not plain.BUILDS:  # compiled functions run as plain Python there, which must be known before they are imported
        command = [sys.executable, "-m", "hdeeprm_like.compiler", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(command, env={**os.environ, plain.VARIABLE: plain.BUILD}, check=False).returncode
    from hdeeprm_like.compiler.kinds import kinds

    gc.disable()  # everything that numba creates is in use until the library is written
    found = kinds()
    if options.list:
        sys.stdout.writelines(f"{kind}\n" for kind in found)
    elif options.into:
        build(found, options.into, processors=options.processors.split(","))
        for name in options.processors.split(","):
            note_whole(options.into / name)
    else:
        update(found)
    return 0


def is_up_to_date() -> bool:
    """Return whether all kinds were compiled of the present sources."""
    return library.tables().whole


def update(found: Mapping[str, Any]) -> None:
    """Compile the kinds whose machine code is missing or older than its sources."""
    tables = library.tables()
    missing = {kind: call for kind, call in found.items() if tables.find(kind) is None}
    if missing:
        build(missing, tables.kept, f"library-{time.time_ns()}")  # a new name: `tables` knows the older ones
        tables.look()
    for table in tables.kept.glob("*.json"):
        bring_up_to_date(table, found)
    note_whole(tables.kept)


def bring_up_to_date(table: Path, found: Mapping[str, Any]) -> None:
    """Leave in a table what is made of the present sources, and what users' own functions are made of."""
    tables, content = library.tables(), json.loads(table.read_text())
    others = {kind: code for kind, code in content["entries"].items() if kind not in found}
    ours = {kind for kind in others if kind.removeprefix(library.BY_ADDRESS).startswith(library.PACKAGE.name)}
    kept = {kind: code for kind, code in others.items() if kind not in ours}
    for kind in found.keys() & content["entries"].keys():
        place = tables.find(kind)
        if place is not None and place.path.stem == table.stem:
            kept[kind] = content["entries"][kind]
    if not kept:
        for ending in (".json", ".so", library.PARTS):
            table.with_suffix(ending).unlink(missing_ok=True)
    elif others.keys() == ours:
        write(table, json.dumps(content | {"sources": library.source_digest(), "entries": kept}, indent=0))


def note_whole(folder: Path) -> None:
    """Note that the libraries in a folder have all kinds, as the sources are now."""
    write(folder / library.WHOLE, library.source_digest())


def write(path: Path, text: str) -> None:
    """Replace a file at once, for those that read it."""
    made = path.with_name(f"{path.name}.{os.getpid()}")
    made.write_text(text)
    made.replace(path)


def build(found: Mapping[str, Any], folder: Path, name: str = "library", processors: Sequence[str] = ()) -> None:
    """Compile kinds and write them into a folder, or for each of some processors into a folder of its name there."""
    from tqdm import tqdm

    from hdeeprm_like.compiler import emit, frontend

    emit.look_back_less()
    entries = {
        kind: frontend.part_of(function, tuple(map(frontend.type_of, call)))
        for kind, (function, call) in tqdm(
            found.items(), unit=" kinds", mininterval=0.5, disable=None, desc="compiling"
        )
    }
    for processor in processors or ("",):
        into = folder / processor
        into.mkdir(parents=True, exist_ok=True)
        path = emit.write_library(into, name, entries, processor)
        size = path.stat().st_size / 1e6
        seconds = time.process_time()
        made = f"{len(entries)} kinds of calls, {len(frontend.parts)} functions, {size:.1f} MB"
        sys.stdout.write(f"{path}: {made}, {seconds:.0f} CPU s so far\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
