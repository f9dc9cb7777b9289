"""Holds what ``whatif`` predicts from the log of each pair's first run beside what was measured: ``told.py FILE``.

The pairs come from ``pairs.py``. Of each policy it prints the change of the mean wait to Slurm's own order, predicted
and measured, with intervals of 95 % by the bootstrap over pairs.
"""

import gzip
import json
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np
from pairs import FACTOR, INTERVAL, NODES, OWN, POLICIES

from hdeeprm_like.cli.main import main as command
from hdeeprm_like.formats.open import load_platform
from hdeeprm_like.studies.whatif.calibration import calibrate
from hdeeprm_like.studies.whatif.inputs import load_log
from hdeeprm_like.studies.whatif.mechanism import asked_for
from hdeeprm_like.studies.whatif.outcome import simulate

DRAWS = 10_000


def waits(lines):
    """(J,) s that the jobs of an arm waited."""
    told = [dict(word.split("=", 1) for word in line.split()) for line in lines]
    return np.array([seconds(job["StartTime"]) - seconds(job["SubmitTime"]) for job in told])


def seconds(text):
    """A date of Slurm's log in s."""
    return datetime.fromisoformat(text).timestamp()


def predicted(pair, folder):
    """The mean wait under each policy by the log of the first run, Slurm's own order as OWN."""
    conf, log = folder / "slurm.conf", folder / "jobs.txt"
    conf.write_text(pair["conf"])
    parts = (" UserId=u(1) GroupId=g(1) Name=wrap ", " Partition=normal ", f" NodeList=n[1-{NODES}] ")
    lines = [line.replace(" JobState", f"{parts[0]}JobState", 1).replace(" TimeLimit", f"{parts[1]}TimeLimit", 1)
             .replace(" NodeCnt", f"{parts[2]}NodeCnt", 1) for line in pair["arms"][OWN]]  # fmt: skip
    log.write_text("\n".join(lines) + "\n")
    platform, jobs = folder / "platform.json", folder / "jobs.csv"
    assert command(["import", "slurm-conf", str(conf), "-o", str(platform), "--quiet"]) in (0, None)
    words = ["import", "jobcomp", str(log), "-o", str(jobs), "--platform", str(platform), "--quiet"]
    assert command(words) in (0, None)
    machine = load_platform(platform)
    found = load_log(jobs, machine)
    asked = asked_for("multifactor+slurm", POLICIES, (), INTERVAL, FACTOR)
    overheads = calibrate(machine, found, asked[0].policy).overheads
    return {
        name: float(np.nanmean(simulate(machine, found, one.policy, overheads=overheads).wait))
        for name, one in zip((OWN, *POLICIES), asked, strict=True)
    }


def interval(ratios, draw):
    """The mean of some ratios with its interval of 95 %."""
    means = np.mean(draw.choice(ratios, (DRAWS, len(ratios))), axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return f"{100 * (np.mean(ratios) - 1):+.0f} % ({100 * (low - 1):+.0f} % to {100 * (high - 1):+.0f} %)"


def main(path):
    """Print the table."""
    pairs = json.loads(gzip.decompress(Path(path).read_bytes()))
    with tempfile.TemporaryDirectory() as folder:
        told = [predicted(pair, Path(folder)) for pair in pairs]
    real = [{name: float(waits(lines).mean()) for name, lines in pair["arms"].items()} for pair in pairs]
    draw = np.random.default_rng(1)
    error = np.array([one[OWN] / other[OWN] for one, other in zip(told, real, strict=True)])
    sys.stdout.write(f"{len(pairs)} pairs; the model's mean wait of Slurm's own order: {interval(error, draw)}\n")
    for policy in POLICIES:
        model, live = (np.array([one[policy] / one[OWN] for one in some]) for some in (told, real))
        apart = interval(model / live, draw)
        right = np.mean((model < 1) == (live < 1))
        sys.stdout.write(
            f"{policy}: predicted {interval(model, draw)}, measured {interval(live, draw)}, one over the other "
            f"{apart}; the same sign in {100 * right:.0f} % of the pairs\n"
        )


if __name__ == "__main__":
    main(sys.argv[1])
