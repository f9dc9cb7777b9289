"""How a case of nearly right input is tried: in little time and memory, and refused in one line or harmless."""

import json
import math
import random
import re
import signal
import time
from itertools import pairwise
from pathlib import Path

import pandas as pd
from robust_inputs import LONGEST, told

from hdeeprm_like.errors import HDeepRMError

SECONDS, MEGABYTES = 10, 1000
HANGS = 600  # s, after which nobody waits for a case any more


class TooLong(BaseException):
    """A case that took longer than it may; once may be, where something was compiled for it."""


class Hangs(BaseException):
    """A case of which nobody knows whether it ends."""


def limited(call):
    """Call something under the limits of time and memory; return what it returns."""

    def stop(*_):
        raise Hangs

    before = signal.signal(signal.SIGALRM, stop)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    resident = peak_of_memory()
    signal.alarm(HANGS)
    begun = time.process_time()  # not the time of day: what else the machine does is no matter
    try:
        return call()
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        assert peak_of_memory() - resident <= MEGABYTES
        if time.process_time() - begun > SECONDS:
            raise TooLong


def peak_of_memory():
    """Return MB."""
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1000


def command(*arguments):
    """Run a command; return whether it was accepted."""
    status, error = limited(lambda: told(*arguments))
    refusals = [line for line in error.split("\n") if line.startswith("hdeeprm-like: ")]
    assert status in (0, 2), error
    assert "Traceback" not in error
    if status == 2:
        assert refusals, error
        assert len(refusals[-1]) <= LONGEST, error
        assert refusals[-1].isprintable()
    return status == 0


def accepted(call, *arguments):
    """Call a function of ours; return what it returns, None where it refuses in one line."""
    try:
        return limited(lambda: call(*arguments))
    except HDeepRMError:
        return None


def check_run(folder, whole_nodes=False):
    """Check what holds for every simulation, whatever its input was; *whole_nodes*: some may get more than they ask."""
    record = json.loads((folder / "run.json").read_text())
    assert record["status"] == "complete"
    assert sorted(record["files"]) == sorted(path.name for path in folder.iterdir())
    texts = {"allocated_resources": str, "job_id": str}
    jobs = pd.read_csv(folder / "out_jobs.csv", dtype=texts, keep_default_na=False)
    assert len(jobs) == record["workload"]["jobs"]
    ran = jobs[jobs.success.astype(int) == 1]
    cores = record["platform"]["cores"]
    spans = []
    for row in ran.itertuples():
        start, finish, submit = float(row.starting_time), float(row.finish_time), float(row.submission_time)
        assert submit <= start <= finish < math.inf
        held = [int(core) for core in expanded(row.allocated_resources)]
        asked = int(row.requested_number_of_resources)
        assert len(set(held)) == len(held)
        assert len(held) == asked or (whole_nodes and len(held) > asked)
        assert all(0 <= core < cores for core in held)
        spans += [(core, start, finish) for core in held]
    spans.sort()
    for (core, _, finish), (other, start, _) in pairwise(spans):
        assert core != other or start >= finish - 1e-6 * max(1.0, finish)
    energy = record["metrics"].get("consumed_joules", 0.0)
    assert 0.0 <= energy < math.inf


def expanded(text):
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def launch(folder, output, *flags, whole_nodes=False):
    """Launch; check the run if it was accepted."""
    done = command("launch", "-q", "--overwrite", "--options", folder / "options.json", "--output", output, *flags)
    if done:
        check_run(output, whole_nodes)
    return done


def try_cases(targets, seed, cases, good, folder, compiles=False):
    """Try cases, each in a folder of its own, the targets taking turns; return how many of each were accepted.

    Args:
        compiles: whether the first try of a case may compile something; one that takes too long is tried again then.
    """
    taken = dict.fromkeys(targets, 0)
    for case in range(cases):
        target = targets[case % len(targets)]
        try:
            try:
                taken[target] += try_case(target, f"{seed} {case}", good, folder / str(case))
            except TooLong:
                if not compiles:
                    raise
                taken[target] += try_case(target, f"{seed} {case}", good, folder / f"{case}-again")
        except BaseException as error:
            where = f"seed {seed}, case {case}: {target.__name__}; see {folder / str(case)}"
            raise AssertionError(f"{where}: {error!r:.600}") from error
    return taken


def try_case(target, seed, good, folder):
    """Return whether a case in a new folder was accepted."""
    folder.mkdir()
    return bool(target(random.Random(seed), good, folder))
