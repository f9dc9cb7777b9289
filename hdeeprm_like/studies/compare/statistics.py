"""How sure the differences between policies are; all policies ran the same windows, so they are compared in pairs.

The tests are written here, over the distribution functions of ``scipy.special``, for all pairs of policies at once:
``scipy.stats`` takes 0.8 s of CPU time to import, and 2 ms for each pair. They give its numbers to the last digit.
"""

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.types import Floats

CONFIDENCE = 0.95
TESTED = ("bounded_slowdown", "wait", "utilization")
EXACT = 50  # windows up to which the distribution of Wilcoxon's statistic is counted out
EXACT_TIES = 13  # the same where differences are zero or of equal size


def half_width(values: Floats) -> float:
    """Half of the interval that holds the mean with 95 % confidence (Student's t); NaN for a single value."""
    from scipy.special import stdtrit

    if len(values) < 2:
        return float("nan")
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return float(stdtrit(len(values) - 1.0, 0.5 + CONFIDENCE / 2.0)) * float(error)


def summary_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per policy: the mean over the windows of each figure, and the interval of the tested ones.

    Columns: ``policy``, ``windows``, then for each figure its mean (the maximum where the worst counts, as for
    ``*_max``), and for those in `TESTED` ``*_low`` and ``*_high``.
    """
    rows = []
    for policy, own in table.groupby("policy", sort=False):
        row: dict[str, Any] = {"policy": policy, "windows": len(own)}
        for name in own.columns.drop(["policy", "window"]):
            values = own[name].to_numpy(np.float64)
            row[name] = float(values.max() if FIGURES[name].worst_of else values.mean())
            if name in TESTED:
                half = half_width(values)
                row[f"{name}_low"], row[f"{name}_high"] = row[name] - half, row[name] + half
        rows.append(row)
    return pd.DataFrame(rows)


def p_values_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per figure and pair of policies, after a row per figure on all policies at once.

    Columns: ``figure``, ``first``, ``second``, ``difference`` of the means (second less first), ``test``, ``p``. The
    tests are ANOVA over all (``first`` and ``second`` are empty then), Welch's t-test, and Wilcoxon's signed ranks of
    the differences window by window. Nothing is corrected for the number of tests. p is NaN for fewer than two windows.

    Sources: ANOVA, then pairs, is how the KSU paper compares schedulers (III.C); Welch, 1947; Wilcoxon, 1945.
    """
    rows: list[dict[str, Any]] = []
    policies = list(dict.fromkeys(table["policy"]))
    pairs = list(combinations(range(len(policies)), 2))
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    for name in TESTED:
        wide = table.pivot(index="window", columns="policy", values=name)
        values = np.ascontiguousarray(wide[policies].to_numpy(np.float64).T)  # (policies, windows)
        if len(policies) > 1:
            p = anova(values)
            rows.append({"figure": name, "first": "", "second": "", "difference": np.nan, "test": "ANOVA", "p": p})
        welchs, wilcoxons = welch(values[firsts], values[seconds]), wilcoxon(values[firsts], values[seconds])
        means = values.mean(axis=1)
        for (first, second), p_welch, p_wilcoxon in zip(pairs, welchs.tolist(), wilcoxons, strict=True):
            pair = {"figure": name, "first": policies[first], "second": policies[second]}
            pair["difference"] = float(means[second] - means[first])
            rows.append({**pair, "test": "Welch", "p": p_welch})
            rows.append({**pair, "test": "Wilcoxon", "p": p_wilcoxon})
    return pd.DataFrame(rows, columns=["figure", "first", "second", "difference", "test", "p"])


def anova(groups: Floats) -> float:
    """Return the p-value of a one-way analysis of variance.

    Args:
        groups: (G, n) the values of each group.

    Returns:
        0 where all groups are constant but not equal; NaN where all values are equal, or n is 1.

    Source: Fisher, "Statistical Methods for Research Workers", 1925.
    """
    from scipy.special import fdtrc

    count, size = groups.shape
    if size < 2 or (groups == groups[0, 0]).all():
        return float("nan")
    if (groups == groups[:, :1]).all():
        return 0.0
    values = groups.ravel()
    offset = values.mean()  # p does not depend on it, but the sums of squares lose fewer digits around 0
    values = values - offset
    of_all = values.sum() ** 2 / values.size
    total = values @ values - of_all
    between = sum((group - offset).sum() ** 2 / size for group in groups) - of_all
    within = total - between
    with np.errstate(divide="ignore", invalid="ignore"):
        f = (between / (count - 1)) / (within / (values.size - count))
    return float(fdtrc(count - 1, values.size - count, f))


def welch(first: Floats, second: Floats) -> Floats:
    """Return the p-values of Welch's t-test, two-sided.

    Args:
        first, second: (pairs, n) the values of both samples of each pair.

    Returns:
        (pairs,) NaN where n is 1, or both samples are constant and equal.

    Source: Welch, "The generalization of 'Student's' problem when several different population variances are
    involved", 1947.
    """
    from scipy.special import stdtr

    size = first.shape[1]
    if size < 2:
        return np.full(len(first), np.nan)
    one, two = variance(first) / size, variance(second) / size
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = (one + two) ** 2 / (one**2 / (size - 1) + two**2 / (size - 1))
        t = (first.mean(axis=1) - second.mean(axis=1)) / np.sqrt(one + two)
    p: Floats = 2.0 * stdtr(np.where(np.isnan(freedom), 1.0, freedom), -np.abs(t))
    return p


def variance(samples: Floats) -> Floats:
    """Return the (rows,) unbiased variance of each row of (rows, n) samples."""
    size = samples.shape[1]
    centred = samples - samples.mean(axis=1, keepdims=True)
    return np.asarray(np.mean(centred**2, axis=1) * (size / (size - 1.0)))


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

    For few values it is counted out: with ranks r, each of the 2^n choices of signs is equally likely if there is no
    difference. For more it is that of the normal distribution with a correction for ties.
    """
    from scipy.special import ndtr

    sizes = np.abs(differences[differences != 0.0])
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[place]  # equal sizes share their mean rank
    positive = ranks[differences[differences != 0.0] > 0.0].sum()
    n = len(sizes)
    distinct = len(counts) == len(differences)
    if len(differences) <= (EXACT if distinct else EXACT_TIES):
        probabilities = sums_of_ranks(np.rint(2.0 * ranks).astype(np.int64))
        at = round(2.0 * positive)
        return float(min(1.0, 2.0 * min(probabilities[: at + 1].sum(), probabilities[at:].sum())))
    deviation = np.sqrt((n * (n + 1.0) * (2.0 * n + 1.0) - np.sum(counts**3.0 - counts) / 2.0) / 24.0)
    z = (positive - n * (n + 1.0) * 0.25) / deviation
    return float(2.0 * ndtr(-np.abs(z)))


def sums_of_ranks(doubled: np.ndarray) -> Floats:
    """Return how likely each sum of ranks is where each rank is added or not with equal chances.

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
