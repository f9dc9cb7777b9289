"""Whole traces and windows of some lengths: what policies cost beside the best rule that starves no job.

``python tests/bench/judge.py lublin-1 CTC-SP2-1996-3.1-cln:0.5-1 --policies zoo:steady --windows whole,5000``

The rivals are 20 rules from the literature, of which those count whose longest wait is at most 1.5 times that under
``fcfs+easy``; the best of these is picked in hindsight. Each line has, for one policy on one trace: the geometric mean
over the windows of the ratio of the bounded slowdown to that rule's, with its 95 % interval over windows, or over weeks
of a whole trace; then as ratios to that rule the mean wait, the area-weighted response time and the utilization; the
longest wait as a ratio to that under ``fcfs+easy``, and its job; and Jain's index of the users' mean bounded slowdowns
beside that of the rule. Windows are disjoint; of many, 20 are taken evenly. A last line sums up the traces.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.cluster.schedule import FIGURES, Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import PolicyActions
from hdeeprm_like.decision.names import baseline
from hdeeprm_like.engine.state import State
from hdeeprm_like.formats.job_reading import Reading, machine_size, read_jobs
from hdeeprm_like.formats.shipped import found
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.swf_cuts import take
from hdeeprm_like.formats.windows import window
from hdeeprm_like.run.loop import FOREVER, OVER, advance
from hdeeprm_like.run.schedules import schedule_of
from hdeeprm_like.run.simulator import Simulator
from hdeeprm_like.run.to_end import constant_run
from hdeeprm_like.studies.whatif.figures import blocks_of, ratio_of
from hdeeprm_like.types import Floats

RULES = (
    *("fcfs+easy", "fcfs+easysjf", "fcfs+conservative", "fcfs+easy@tsafrir", "fcfs+easysjf@tsafrir"),
    *("wfp3+easy", "wfp3+easysjf", "wfp3+conservative", "wfp3@ewma+easy", "wfp3@ewma+easysjf", "wfp3@tsafrir+easysjf"),
    *("unicep+easy", "unicep+easysjf", "unicep+conservative", "unicep@ewma+easysjf", "unicep@tsafrir+easysjf"),
    *("multifactor+easysjf", "sjf+conservative", "saf+conservative", "f1+easy"),
)
WAITS, WHOLE, MOST, DRAWS, LONGEST = "fcfs+easy", "whole", 20, 2000, 1.5


@dataclass(frozen=True)
class Judged:
    """Figures of one schedule; waits in s."""

    slowdown: float
    wait: float
    longest: float
    whose: int  # job of the trace
    utilization: float
    response: float
    jain: float
    slowdowns: Floats  # (J,) of jobs in the order of *submit*, s
    submit: Floats


def part_of(name: str) -> tuple[Trace, int]:
    """Return a trace, or the part of it that ``TRACE:BEGIN-END`` names by shares of its jobs, and its cores."""
    stem, _, part = name.partition(":")
    trace = read_jobs(found(stem, "trace"), Reading(larger="keep", memory=False))
    begin, end = (float(share) for share in (part or "0-1").split("-"))
    jobs = len(trace)
    return take(trace, np.arange(round(begin * jobs + 1e-3), round(end * jobs + 1e-3))), machine_size(trace)


def windows_of(trace: Trace, length: str) -> list[Trace]:
    """Return the whole trace, or disjoint windows of so many jobs."""
    if length == WHOLE:
        return [trace]
    jobs = int(length)
    begins = np.arange(len(trace) // jobs) * jobs
    if len(begins) > MOST:
        begins = begins[np.linspace(0, len(begins) - 1, MOST).astype(int)]
    return [take(trace, np.arange(begin, begin + jobs)) for begin in begins]


def played(machine: Platform, jobs: Workload, name: str) -> Schedule:
    """Return the schedule of a policy."""
    actions = PolicyActions([baseline(name)])
    simulator = Simulator(State(machine, jobs, log=False, needs=actions.needs, named=False), jobs, "textbook")
    run = constant_run(simulator, actions.choices(simulator.state, constant=0))
    while advance(run, FOREVER) != OVER:
        pass
    return schedule_of(simulator, jobs)


def judged(part: Trace, cores: int, name: str) -> Judged:
    """Return the figures of a policy on a part of a trace."""
    schedule = played(pool(cores), window(part, cores).workload, name)
    users = schedule.user_slowdowns
    area = schedule.size * schedule.run_time
    return Judged(
        slowdown=float(schedule.bounded_slowdown.mean()),
        wait=float(schedule.wait.mean()),
        longest=float(schedule.wait.max()),
        whose=int(part.job[np.argsort(part.submit, kind="stable")][np.argmax(schedule.wait)]),
        utilization=FIGURES["utilization"].value(schedule),
        response=float(np.average(schedule.finish - schedule.submit, weights=area)),
        jain=float(users.sum() ** 2 / (len(users) * (users**2).sum())) if len(users) > 1 else np.nan,
        slowdowns=schedule.bounded_slowdown,
        submit=schedule.submit,
    )


def mean(found: Sequence[Judged], name: str) -> float:
    """Return the mean of a figure over windows."""
    return float(np.mean([getattr(one, name) for one in found]))


def interval(own: Sequence[Judged], reference: Sequence[Judged]) -> str:
    """Return the 95 % interval of the ratio of two bounded slowdowns over windows, or over weeks of a whole trace."""
    if len(own) == 1:
        one, rule = own[0], reference[0]
        low, high = ratio_of(one.slowdowns, rule.slowdowns, blocks_of(one.submit))[1:]
        return f"[{low:.2f}, {high:.2f}]"
    logs = np.log([a.slowdown / b.slowdown for a, b in zip(own, reference, strict=True)])
    drawn = logs[np.random.default_rng(0).integers(0, len(logs), (DRAWS, len(logs)))].mean(axis=1)
    low, high = np.exp(np.percentile(drawn, [2.5, 97.5]))
    return f"[{low:.2f}, {high:.2f}]"


def best_rule(parts: Sequence[Trace], cores: int) -> tuple[str, list[Judged], float]:
    """Return the best of the rules that starve no job, its figures, and the longest wait under ``fcfs+easy``, in s."""
    rules = {one: [judged(part, cores, one) for part in parts] for one in RULES}
    longest = max(one.longest for one in rules[WAITS])
    fair = [one for one, found in rules.items() if max(part.longest for part in found) <= LONGEST * longest]
    best = min(fair, key=lambda one: mean(rules[one], "slowdown"))
    return best, rules[best], longest


def lines(name: str, length: str, policies: Sequence[str], ratios: dict[str, list[float]]) -> Iterator[str]:
    """Yield the table of one trace and one length of windows, and add each policy's ratio to *ratios*."""
    trace, cores = part_of(name)
    parts = windows_of(trace, length)
    if not parts:
        yield f"{name}, {length}: it has only {len(trace):,} jobs"
        return
    best, reference, longest = best_rule(parts, cores)
    slowdown = mean(reference, "slowdown")
    yield f"{name}, {length}, {len(parts)} times: {best} {slowdown:.2f}, longest of {WAITS} {longest:.0f} s"
    for policy in policies:
        own = [judged(part, cores, policy) for part in parts]
        ratio = geometric([a.slowdown / b.slowdown for a, b in zip(own, reference, strict=True)])
        worst = max(own, key=lambda one: one.longest)
        wait, response, use = (
            mean(own, figure) / mean(reference, figure) for figure in ("wait", "response", "utilization")
        )
        ratios.setdefault(f"{policy}, {length}", []).append(ratio)
        yield (
            f"  {policy}: {ratio:.3f} {interval(own, reference)}; wait {wait:.2f}, AWRT {response:.2f}, utilization "
            f"{use:.3f}, longest {worst.longest / longest:.2f} (job {worst.whose}), Jain {mean(own, 'jain'):.3f} "
            f"beside {mean(reference, 'jain'):.3f}"
        )


def geometric(values: Sequence[float]) -> float:
    """Return a geometric mean."""
    return float(np.exp(np.log(values).mean()))


def main() -> None:
    """Print a table for each trace and length."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("traces", nargs="+", metavar="TRACE[:BEGIN-END]")
    options.add_argument("--policies", required=True, type=lambda text: text.split(","))
    options.add_argument("--windows", default=WHOLE, type=lambda text: text.split(","))
    given = options.parse_args()
    ratios: dict[str, list[float]] = {}
    for name in given.traces:
        for length in given.windows:
            for line in lines(name, length, given.policies, ratios):
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
    for policy, some in ratios.items():
        sys.stdout.write(f"{policy}: geometric mean {geometric(some):.3f}, worst {max(some):.3f}\n")


if __name__ == "__main__":
    main()
