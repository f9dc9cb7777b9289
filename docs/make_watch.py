"""The picture of the page on the watch: mean waits in a real Slurm without it and with it, as they were recorded."""

import gzip
import json
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean

from hdeeprm_like.results.pictures import picture

PAIRS = Path(__file__).parent.parent / "tests" / "golden" / "slurm" / "mechanism" / "pairs.json.gz"


def write_watch(path: Path) -> None:
    """Draw a point for each queue and policy, and the line on which a watch changes nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pairs = json.loads(gzip.decompress(PAIRS.read_bytes()))
    own, *policies = pairs[0]["arms"]
    with picture(path, width=6.0, height=4.2) as figure:
        axes = figure.subplots()
        without = [mean_wait(pair["arms"][own]) for pair in pairs]
        for policy in policies:
            axes.scatter(without, [mean_wait(pair["arms"][policy]) for pair in pairs], s=16, label=policy)
        axes.plot([0.0, max(without)], [0.0, max(without)], color="grey", linewidth=1.0)
        axes.set_xlabel("mean wait in Slurm's own order (s)")
        axes.set_ylabel("with a watch (s)")
        axes.legend()


def mean_wait(lines: Sequence[str]) -> float:
    """Return the mean wait in s of jobs, by their lines in Slurm's log of ended jobs."""

    def seconds(name: str, line: str) -> float:
        found = re.search(f"{name}=(\\S+)", line)
        assert found is not None
        return datetime.fromisoformat(found[1]).timestamp()

    return fmean(seconds("StartTime", line) - seconds("SubmitTime", line) for line in lines)
