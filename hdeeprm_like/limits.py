"""Limits of the whole numbers on the command line and in options files, with reasons.

A number beyond the needs of any study is a typing error; without a limit it would fill the memory or run for years.
Every limit is far above any real use.
"""

from typing import NamedTuple


class Limit(NamedTuple):
    """The largest number, and the reason for the message that refuses a larger one."""

    most: int
    reason: str


CORES = Limit(1_000_000, "every core has its own place in memory, and the largest machines have fewer")
JOBS = Limit(2_000_000, "every job takes some 500 bytes of memory")
WINDOWS = Limit(100_000, "every window and policy is a line of a table that is kept in memory")
TASKS = Limit(100_000, "every task of a sweep is a line of a table that is kept in memory")
EPISODES = Limit(100_000_000, "no training takes so long")
DECISIONS = Limit(1_000_000_000_000, "no training takes so long")
ENVS = Limit(4096, "every episode that is played at once has its own cluster in memory")
BRANCHES = Limit(65_536, "every branch has its own cluster in memory")
PROCESSES = Limit(1024, "each takes 200 MB of memory")
SLOTS = Limit(100_000, "an observation has numbers for every slot")
STEPS = Limit(100_000, "an observation has numbers for every step")
UNITS = Limit(65_536, "two layers of so many units have 17 GB of weights")
OBSERVATION = Limit(10_000_000, "it is written again at every decision")
RUNS = Limit(1_000_000, "each is simulated one after the other")
LONGEST = 1e12  # s, 30,000 years: times that far apart still differ by a tenth of a millisecond
SITE_FACTOR = Limit(2_000_000_000, "Slurm knows no larger ones")


def refusal(limit: Limit) -> str:
    """Return the message for a number above a limit."""
    return f"at most {limit.most:,} are possible: {limit.reason}"
