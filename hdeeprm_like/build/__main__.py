"""``python -m hdeeprm_like.build``: compile the library, whole or in part.

By default the machine code goes into the user's cache, where processes of this machine find it. A wheel is built with
``--into``, once for each kind of processor that it supports.
"""

import argparse
import gc
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hdeeprm_like.engine import library, plain

GROUPS = {
    "launch": "launch under a policy pair",
    "batsim": "other policies on Batsim's clock, and decisions for Batsim",
    "compare": "compare, simulate and stream on the textbook's clock, and all modes",
    "environments": "Gymnasium's environments, single and vectorized, and what agents play in",
    "training": "what agents make of rewards",
    "slurm": "machines with partitions, and a Slurm that is followed",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build the requested groups; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m hdeeprm_like.build", description=__doc__.partition("\n")[0])
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"what to build: {', '.join(GROUPS)}; all if none")
    parser.add_argument("--into", type=Path, metavar="DIR", help="write the library for a package into this folder")
    parser.add_argument(
        "--processors",
        default=library.target(),
        metavar="NAMES",
        help="with --into: for which processors, separated by commas, as x86-64-v2,x86-64-v3 (default: this one)",
    )
    parser.add_argument("--list", action="store_true", help="list the kinds of runs and build nothing")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.groups if name not in GROUPS]
    if unknown:
        parser.error(f"there is no group {unknown[0]!r}; choose from {', '.join(GROUPS)}")
    groups = options.groups or list(GROUPS)
    name = "_".join(groups) if options.groups else "all"
    kept = library.tables().kept
    folders = [options.into / one for one in options.processors.split(",")] if options.into else [kept]
    if options.list:
        from hdeeprm_like.build.kinds import kinds

        sys.stdout.writelines(f"{kind.group:13} {kind.name}\n" for kind in kinds() if kind.group in groups)
        return 0
    if not options.into and any((kept / f"{one}.json").exists() for one in (name, "all")):
        sys.stdout.write(f"nothing to do: {kept} has it\n")
        return 0
    if not plain.RECORDS:  # the kinds are executed as plain Python, which must be known before they are imported
        command = [sys.executable, "-m", "hdeeprm_like.build", *(sys.argv[1:] if arguments is None else arguments)]
        return subprocess.run(command, env={**os.environ, plain.VARIABLE: plain.RECORD}, check=False).returncode
    build(groups, name, folders)
    return 0


def build(groups: Sequence[str], name: str, folders: Sequence[Path]) -> None:
    """Compile the kinds of some groups and write them, once for each processor."""
    from tqdm import tqdm

    from hdeeprm_like.build import emit, frontend
    from hdeeprm_like.build.kinds import kinds
    from hdeeprm_like.build.recording import Recorder, recording

    emit.look_back_less()
    recorder = Recorder()
    gc.disable()  # everything that numba creates is in use until the library is written
    with recording(recorder):
        for kind in kinds():
            if kind.group in groups:
                kind.play()
    entries = {
        kind: frontend.part_of(*call)
        for kind, call in tqdm(recorder.calls.items(), unit=" kinds", mininterval=0.5, disable=None, desc="compiling")
    }
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
        processor = folder.name if folder.name.startswith(("x86-64", "generic")) else ""
        path = emit.write_library(folder, name, entries, processor)
        size = path.stat().st_size / 1e6
        seconds = time.process_time()
        made = f"{len(entries)} kinds of calls, {len(frontend.parts)} functions, {size:.1f} MB"
        sys.stdout.write(f"{path}: {made}, {seconds:.0f} CPU s so far\n")
        sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
