"""Modal user estimates by Tsafrir, Etsion and Feitelson: a few round values cover nearly all jobs."""

from dataclasses import dataclass

import numpy as np

from hdeeprm_like.cluster.synthetic.jobs import ABOVE_0, check
from hdeeprm_like.errors import WorkloadError
from hdeeprm_like.types import Floats, Ints

MINUTE, HOUR = 60.0, 3600.0
HEAD = 20  # popular values
HEAD_SHARE = 0.89  # their share of the jobs
ROUND = (  # s, by falling popularity after the maximum, about as in the CTC SP2 log
    *(15 * MINUTE, 5 * MINUTE, 10 * MINUTE, 6 * HOUR, 2 * HOUR, 3 * HOUR, HOUR, 30 * MINUTE, 12 * HOUR, 4 * HOUR),
    *(20 * MINUTE, 10 * HOUR, 8 * HOUR, 18 * HOUR, 5 * HOUR, 24 * HOUR, 16 * HOUR, 90 * MINUTE, 36 * HOUR, 48 * HOUR),
    *(40 * MINUTE, 45 * MINUTE, 150 * MINUTE, 9 * HOUR, 2 * MINUTE, MINUTE, 72 * HOUR, 96 * HOUR),
)
STEPS = ((HOUR, 5 * MINUTE), (5 * HOUR, 15 * MINUTE), (np.inf, HOUR))  # (up to, multiples of)
SECOND = 1.0


@dataclass(frozen=True)
class Tsafrir:
    """Estimates that repeat: 20 popular values for 89 % of the jobs, a power law of rare ones for the others.

    Estimates lie between the run time of the job and the maximum.

    Attributes:
        maximum: s, the longest and most popular estimate; None rounds the longest run time up to a whole hour.
        popular: s, the popular values by falling popularity after the maximum; those above the maximum are left out.

    Source: Tsafrir, Etsion and Feitelson, "Modeling User Runtime Estimates", JSSPP 2005. The ranking of the popular
    values is not part of the model; the paper takes it from the system at hand. Here it is `popular`.
    """

    maximum: float | None = None
    popular: tuple[float, ...] = ROUND

    def __post_init__(self) -> None:
        if self.maximum is not None:
            check("tsafrir", self, {"maximum": ABOVE_0})
        ABOVE_0.all_of(list(self.popular), WorkloadError, "tsafrir", "popular")

    def __call__(self, run: Floats, rng: np.random.Generator) -> Floats:
        """Return (J,) s.

        Raises:
            WorkloadError: a job runs longer than the maximum.
        """
        if not len(run):
            return run.copy()
        longest = float(run.max())
        maximum = max(np.ceil(longest / HOUR) * HOUR, HOUR) if self.maximum is None else self.maximum
        if longest > maximum:
            raise WorkloadError(f"tsafrir: maximum: is {maximum:g} s; the longest job runs {longest:g} s")
        values = distinct_estimates(len(run), maximum, rng, self.popular)
        counts = shared_out(popularity(len(values)), len(run))
        return assigned(np.repeat(values, counts), run, maximum, rng)


def popularity(values: int) -> Floats:
    """Return (K,) the share of jobs of each popularity rank; sums to one.

    Ranks 2 to 20 fall exponentially, all 20 have 89 % together; the others share the rest by a power law.
    """
    rank = np.arange(1.0, values + 1)
    share = (14.0491 * np.exp(-0.177531 * rank) + 0.462513) / 100
    share[0] = HEAD_SHARE - ((14.0491 * np.exp(-0.177531 * np.arange(2.0, HEAD + 1)) + 0.462513) / 100).sum()
    tail = 795.6 * rank[HEAD:] ** -2.267
    share[HEAD:] = (1 - HEAD_SHARE) * tail / tail.sum() if len(tail) else 0.0
    shares: Floats = share / share.sum()
    return shares


def number_of_values(jobs: int) -> int:
    """Return the number of different estimates of *jobs* jobs, by the paper's power model."""
    return max(1, round(float(0.653566 * jobs**0.547761)))


def distinct_estimates(
    jobs: int, maximum: float, rng: np.random.Generator, popular: tuple[float, ...] = ROUND
) -> Floats:
    """Return (K,) s, the different estimates by falling popularity: the maximum, the popular values, the others.

    The others lie on the paper's curve from short to long, rounded to the times that people use; rounder ones are more
    popular, and equally round ones are in random order.
    """
    number = min(number_of_values(jobs), max(1, int(maximum)))
    head = list(dict.fromkeys([maximum, *(value for value in popular if value < maximum)]))[: min(HEAD, number)]
    rank = np.arange(1, number + 1) / number
    a = 1 + 12.1039 * number**-0.6026
    taken = dict.fromkeys(head)
    others: dict[float, int] = {}
    for time in (maximum * (a - 1) * rank / (a - rank)).tolist():
        for fineness, step in enumerate((_step(time), MINUTE, SECOND)):
            rounded = min(max(round(time / step) * step, step), maximum)
            if rounded not in taken and rounded not in others:
                others[rounded] = fineness
                break
    tail = sorted(rng.permutation(list(others)).tolist(), key=others.__getitem__)
    return np.array([*head, *tail][:number])


def _step(time: float) -> float:
    return next(step for most, step in STEPS if time <= most)


def shared_out(shares: Floats, jobs: int) -> Ints:
    """Return (K,) integer numbers of jobs in proportion to *shares*, by largest remainders."""
    exact = shares * jobs
    counts = np.floor(exact).astype(np.int64)
    largest = np.argsort(counts - exact, kind="stable")[: jobs - int(counts.sum())]
    counts[largest] += 1
    return counts


def assigned(estimates: Floats, run: Floats, maximum: float, rng: np.random.Generator) -> Floats:
    """Return (J,) s: the estimates assigned to jobs at random, each at least its job's run time.

    The longest job draws first from all estimates long enough for it, so each possible assignment is equally likely. If
    there are too few long estimates, the maximum is used instead and the shortest are left over.
    """
    waiting = np.sort(estimates)[::-1].tolist()
    order = np.argsort(-run, kind="stable")
    longest_first = run[order].tolist()
    chance = rng.random(len(run)).tolist()
    given = [maximum] * len(longest_first)
    pool: list[float] = []
    next_one = 0
    for j, (time, u) in enumerate(zip(longest_first, chance, strict=True)):
        while next_one < len(waiting) and waiting[next_one] >= time:
            pool.append(waiting[next_one])
            next_one += 1
        if pool:
            at = int(u * len(pool))
            given[j], pool[at] = pool[at], pool[-1]
            pool.pop()
    result = np.empty(len(run))
    result[order] = given
    return result
