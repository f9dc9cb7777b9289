"""Deep Back-Filling with a split window beside a plain one, in several seeds; prints figures and fails nothing.

Set SWEEP to the folder of a sweep of trainings that differ in their window and seed, and TRACES to traces, separated by
commas. Each agent plays the first 1,000 jobs that it places from starts 1,000 jobs apart, as in the paper's section IV.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from hdeeprm_like.studies.compare.bootstrap import intervals

pytestmark = pytest.mark.bench

SWEEP = os.environ.get("SWEEP", "")
SKIP = int(os.environ.get("SKIP", "0"))  # jobs of each trace before the first start
STARTS = int(os.environ.get("STARTS", "30"))  # at most, of each trace
APART, JOBS = 1000, 2000


@pytest.mark.skipif(not SWEEP, reason="SWEEP names no sweep")
def test_splits():
    from hdeeprm_like.cluster.pool import pool
    from hdeeprm_like.formats.open import load_trace
    from hdeeprm_like.formats.windows import Window, usable, window, with_requested_times
    from hdeeprm_like.run.episodes import fragment
    from hdeeprm_like.run.schedules import schedule_of
    from hdeeprm_like.studies.compare.policies import Trained, policy_named
    from hdeeprm_like.studies.compare.trained import play_windows
    from hdeeprm_like.studies.compare.windows import schedule
    from hdeeprm_like.studies.reproduction.measures.r16 import row_of

    machine = pool(256)
    tasks = [json.loads(line) for line in (Path(SWEEP) / "tasks.jsonl").read_text().splitlines()]
    for path in os.environ["TRACES"].split(","):
        whole = window(with_requested_times(usable(load_trace(Path(path)))), machine.cores).workload
        starts = range(SKIP, len(whole) - JOBS + 1, APART)[:STARTS]
        parts = [fragment(whole, start, JOBS) for start in starts]
        print(f"\n{path}: {len(parts)} starts")
        for name in ("fcfs+easy", "smallest+greedy", "sjf+greedy"):
            own = [row_of(schedule(machine, Window(part, 0.0), policy_named(name), "one-by-one"), 20) for part in parts]
            print(f"  {name:18} wait {mean(own, 'wait'):.2f} h, queue {mean(own, 'queue'):.2f}")
        found = {}
        for task in tasks:
            window_of = task["content"]["options"]["pybatsim"]["env"]["window"]
            title = f"{window_of['head']}-{window_of['tail']}"
            agent = Trained(Path(SWEEP) / "trainings" / task["key"])
            played = play_windows(agent, machine, parts, "one-by-one")
            own = [row_of(schedule_of(*both), 20) for both in zip(played, parts, strict=True)]
            found.setdefault(title, []).append(own)
            seed = task["values"]["seed"]
            print(f"  {title} seed {seed}: wait {mean(own, 'wait'):.2f} h, queue {mean(own, 'queue'):.2f}")
        for figure in ("wait", "queue"):
            of = {title: np.array([[row[figure] for row in own] for own in seeds]) for title, seeds in found.items()}
            plain, split = of["20-0"].mean(0), of["10-10"].mean(0)
            change = np.log(split.mean() / plain.mean())
            rng = np.random.default_rng(1)
            drawn = rng.integers(len(parts), size=(10_000, len(parts)))
            ratios = split[drawn].mean(1) / plain[drawn].mean(1) - 1.0
            low, high = np.percentile(ratios, (2.5, 97.5))
            seeds = of["10-10"].mean(1) / of["20-0"].mean(1) - 1.0
            print(
                f"  {figure}: 10-10 beside 20-0 {np.exp(change) - 1:+.1%} [{low:+.1%}, {high:+.1%}] over starts; ",
                end="",
            )
            print(f"by seed {', '.join(f'{one:+.0%}' for one in seeds)}")
            (low,), (high,) = intervals((split - plain)[:, np.newaxis])
            print(f"    difference {(split - plain).mean():+.3f} [{low:+.3f}, {high:+.3f}]")


def mean(rows, figure):
    """The mean of a figure over starts."""
    return float(np.mean([row[figure] for row in rows]))
