"""What the benchmarks share: seconds and memory of processes, turns of programs, and how a mean is told."""

import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from hdeeprm_like.studies.compare.significance import intervals

ROOT = Path(__file__).parents[2]
GAIA_ORIGINAL = 12.3  # CPU s of the original and Batsim together for the first 1000 jobs of Gaia


def in_a_process(function, *arguments, **more):
    """What a function returns in a process of its own, so that its peak of memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as workers:
        return workers.apply(function, arguments, more)


def peak():
    """The most megabytes that this process had; `getrusage` gives those of who began it, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def timed(call):
    """CPU s of a call, and what it returns."""
    begin = time.process_time()
    found = call()
    return time.process_time() - begin, found


def least(times, call):
    """The least CPU s of some calls: other work on the machine makes the others longer."""
    return min(timed(call)[0] for _ in range(times))


def ended(process):
    """CPU s of a process that ends well, which nobody has waited for."""
    _, process.returncode, usage = os.wait4(process.pid, 0)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def pythons():
    """This Python, and in BASE that of another version of this package."""
    return {"this": sys.executable} | ({"base": os.environ["BASE"]} if "BASE" in os.environ else {})


def in_turns(what, programs, times, cpu_of, first):
    """Print the CPU s of programs that run in turns, and the median of their ratios to one of them."""
    turns = [[cpu_of(program) for program in programs.values()] for _ in range(times)]
    columns = dict(zip(programs, zip(*turns, strict=True), strict=True))
    for name, column in columns.items():
        ratio = statistics.median(one / other for one, other in zip(column, columns[first], strict=True))
        shown = f"least {min(column):.3f} CPU s, median {statistics.median(column):.3f}"
        print(f"\n{what}: {name} {shown}, {ratio:.3f} x {first}")


def told(change):
    """A mean over windows with its interval."""
    (low,), (high,) = intervals(np.asarray(change)[:, np.newaxis])
    return f"{np.mean(change):+.3f} [{low:+.3f}, {high:+.3f}]"
