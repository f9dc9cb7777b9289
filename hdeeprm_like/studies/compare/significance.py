"""Tests of differences between policies, Holm's correction for several tests, and intervals by the bootstrap.

The intervals need no normal distribution and stay in the range of the values.

Those of every comparison use only the distribution functions of ``scipy.special``: ``scipy.stats``, which the tests
that must be asked for come from, takes 0.6 s of CPU time more to import, and 2 ms for each pair. The numbers agree with
it to the last digit.
"""

import warnings

import numpy as np

from hdeeprm_like.types import Floats, Ints

EXACT = 50  # windows up to which the distribution of Wilcoxon's statistic is enumerated
EXACT_TIES = 13  # the same with zero differences or ties
CONFIDENCE = 0.95
RESAMPLES = 10_000
AT_ONCE = 1000  # resamples held in memory at a time
SEED = 1


def resampled_means(values: Floats) -> Floats:
    """Return the means of resamples of the windows, of the same size and with replacement.

    Args:
        values: (n, columns) a row for each window. All columns have the same draws, so that they stay paired.

    Returns:
        (RESAMPLES, columns) the same in every call.
    """
    rng, size = np.random.default_rng(SEED), len(values)
    rows = size * np.arange(AT_ONCE)[:, np.newaxis]
    means = []
    for _ in range(RESAMPLES // AT_ONCE):
        drawn = rng.integers(size, size=(AT_ONCE, size)) + rows
        times = np.bincount(drawn.ravel(), minlength=AT_ONCE * size).reshape(AT_ONCE, size)
        means.append(times.astype(np.float64) @ values / size)
    return np.concatenate(means)


def intervals(values: Floats) -> tuple[Floats, Floats]:
    """Return the lower and the upper bounds of the 95 % intervals of the means of columns.

    They are percentiles of the means of `RESAMPLES` resamples. Such an interval never leaves the range of the values,
    so that of a bounded slowdown is at least 1. Over few windows it is too narrow: over ten about a fifth narrower than
    Student's, over sixty a thirtieth.

    Args:
        values: (n, columns) a row for each window.

    Returns:
        (columns,) each; NaN for fewer than two windows, or where a value of the column is not known.

    Source: Efron, "Bootstrap methods: another look at the jackknife", 1979.
    """
    if len(values) < 2:
        return np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    outside = 50.0 * (1.0 - CONFIDENCE)
    low, high = np.percentile(resampled_means(values), [outside, 100.0 - outside], axis=0)
    least, largest = values.min(axis=0), values.max(axis=0)  # a mean may round to beyond them
    return np.clip(low, least, largest), np.clip(high, least, largest)


def holm(p: Floats) -> Floats:
    """Return p-values corrected for their number, by Holm's method.

    Args:
        p: (tests,) NaN for a missing test, which does not count.

    Returns:
        (tests,) the k-th smallest times the number of tests not before it, never below one before it nor above 1.

    Source: Holm, "A simple sequentially rejective multiple test procedure", 1979.
    """
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p, kind="stable")[: int(np.isfinite(p).sum())]  # NaN is sorted last
    stepped = p[order] * np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return corrected


def ranks_of(values: Floats) -> tuple[Floats, Ints]:
    """Return the ranks of (n,) values from 1, with mean ranks for ties, and the size of each tie."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2.0)[place], counts


def friedman(groups: Floats) -> float:
    """Return the p-value of Friedman's test: whether the ranks of the groups within the windows differ.

    Args:
        groups: (G, n) the values of each group, window by window.

    Returns:
        NaN for fewer than three groups or two windows, or where all groups are equal in every window.

    Source: Friedman, "The use of ranks to avoid the assumption of normality", 1937.
    """
    count, size = groups.shape
    if count < 3 or size < 2 or not np.isfinite(groups).all():
        return float("nan")
    ranked = [ranks_of(window) for window in groups.T]
    ties = sum(float(np.sum(counts * (counts**2.0 - 1.0))) for _, counts in ranked)
    untied = 1.0 - ties / (count * (count * count - 1.0) * size)
    if untied <= 0.0:
        return float("nan")
    sums = np.sum([ranks for ranks, _ in ranked], axis=0)
    statistic = (12.0 / (count * size * (count + 1.0)) * float(np.sum(sums**2)) - 3.0 * size * (count + 1.0)) / untied
    from scipy.special import chdtrc  # takes as long as a hundred windows

    return float(chdtrc(count - 1.0, statistic))


def anova(groups: Floats) -> float:
    """Return the p-value of a one-way analysis of variance.

    Args:
        groups: (G, n) the values of each group.

    Returns:
        0 where all groups are constant but not equal; NaN where all values are equal, or n is 1.

    Source: Fisher, "Statistical Methods for Research Workers", 1925.
    """
    from scipy import stats

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant groups
        return float(stats.f_oneway(*groups).pvalue)


def welch(first: Floats, second: Floats) -> Floats:
    """Return the p-values of Welch's t-test, two-sided.

    Args:
        first, second: (pairs, n) the values of both samples of each pair.

    Returns:
        (pairs,) NaN where n is 1, or both samples are constant and equal.

    Source: Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", 1947.
    """
    from scipy import stats

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant samples
        return np.asarray(stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue)


def one_sample(samples: Floats, mean: float) -> Floats:
    """Return the p-values of Student's t-test of whether samples are of a distribution with some mean, two-sided.

    Args:
        samples: (rows, n).

    Returns:
        (rows,) 1 where all values are the mean, NaN where n is 1.

    Source: Student, "The probable error of a mean", 1908.
    """
    from scipy import stats

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of constant samples
        p = stats.ttest_1samp(samples, mean, axis=1).pvalue
    return np.where((samples != mean).any(axis=1) | np.isnan(p) & (samples.shape[1] < 2), p, 1.0)


def wilcoxon(first: Floats, second: Floats) -> list[float]:
    """Return the p-value of Wilcoxon's signed-rank test for each pair of samples, two-sided.

    Args:
        first, second: (pairs, n) values that belong together.

    Returns:
        (pairs,) 1 where the samples are equal, NaN where n is 1.

    Source: Wilcoxon, "Individual comparisons by ranking methods", 1945.
    """
    if first.shape[1] < 2:
        return [float("nan")] * len(first)
    return [signed_ranks(differences) if differences.any() else 1.0 for differences in first - second]


def signed_ranks(differences: Floats) -> float:
    """Return the p-value of Wilcoxon's test on (n,) differences that are not all 0; zeros are left out.

    For few values the distribution is enumerated: with ranks r, each of the 2^n choices of signs is equally likely if
    there is no difference. For more values it is the normal distribution with a correction for ties.
    """
    sizes = np.abs(differences[differences != 0.0])
    ranks, counts = ranks_of(sizes)
    positive = ranks[differences[differences != 0.0] > 0.0].sum()
    n = len(sizes)
    distinct = len(counts) == len(differences)
    if len(differences) <= (EXACT if distinct else EXACT_TIES):
        probabilities = sums_of_ranks(np.rint(2.0 * ranks).astype(np.int64))
        at = round(2.0 * positive)
        return float(min(1.0, 2.0 * min(probabilities[: at + 1].sum(), probabilities[at:].sum())))
    from scipy.special import ndtr

    deviation = np.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - np.sum(counts**3.0 - counts) / 2.0) / 24.0)
    z = (positive - n * (n + 1.0) * 0.25) / deviation
    return float(2.0 * ndtr(-np.abs(z)))


def sums_of_ranks(doubled: np.ndarray) -> Floats:
    """Return the probability of each sum of ranks if each rank is added with probability 1/2.

    Args:
        doubled: (n,) twice the ranks, whole numbers.

    Returns:
        (sum of *doubled* + 1,) by twice the sum.
    """
    probabilities = np.zeros(int(doubled.sum()) + 1)
    probabilities[0] = 1.0
    for rank in doubled.tolist():
        probabilities[rank:] = (probabilities[rank:] + probabilities[: len(probabilities) - rank]) / 2.0
        probabilities[:rank] /= 2.0
    return probabilities
