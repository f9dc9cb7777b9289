"""Bootstrap intervals of means over windows: they need no normal distribution and stay in the range of the values."""

import numpy as np

from hdeeprm_like.types import Floats

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
