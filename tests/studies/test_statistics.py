"""The tests of the comparison against those of scipy, which are the same to the last digit."""

import warnings

import numpy as np
import pytest
from scipy import stats

from hdeeprm_like.studies.compare.statistics import anova, half_width, welch, wilcoxon


def samples(kind, rows, size, seed):
    """Samples with no ties, with ties, with zeros, or far apart."""
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 6, (rows, size)).astype(np.float64)
    if kind == "constant":
        return np.repeat(rng.integers(0, 3, (rows, 1)), size, axis=1).astype(np.float64)
    return rng.lognormal(3.0, 2.0, (rows, size))


@pytest.mark.parametrize("size", [2, 3, 10, 13, 14, 30, 50, 51])
@pytest.mark.parametrize("kind", ["distinct", "ties", "constant"])
def test_p_values_are_those_of_scipy(kind, size):
    groups = samples(kind, 6, size, seed=size)
    first, second = groups[[0, 0, 1, 2]], groups[[1, 2, 3, 5]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scipy warns of constant samples
        assert np.array_equal(anova(groups), stats.f_oneway(*groups).pvalue, equal_nan=True)
        ours = welch(first, second), wilcoxon(first, second)
        for row in range(len(first)):
            a, b = first[row], second[row]
            assert np.array_equal(ours[0][row], stats.ttest_ind(a, b, equal_var=False).pvalue, equal_nan=True)
            assert ours[1][row] == (stats.wilcoxon(a, b).pvalue if (a != b).any() else 1.0)


@pytest.mark.parametrize("size", [2, 3, 10, 100])
def test_the_half_width_of_the_interval_is_that_of_scipy(size):
    values = samples("distinct", 1, size, seed=size)[0]
    error = np.std(values, ddof=1) / np.sqrt(size)
    assert half_width(values) == stats.t.ppf(0.975, size - 1) * error


def test_a_single_window_tells_nothing():
    one = np.array([[1.0], [2.0]])
    assert np.isnan(anova(one))
    assert np.isnan(welch(one, one + 1.0)).all()
    assert np.isnan(wilcoxon(one, one + 1.0)).all()
