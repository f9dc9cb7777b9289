"""The statistics of the comparison: on paper, and against those of scipy, which are the same to the last digit."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from hdeeprm_like.studies.compare.figures import USUAL
from hdeeprm_like.studies.compare.significance import anova, friedman, holm, intervals, welch, wilcoxon
from hdeeprm_like.studies.compare.statistics import best_of, p_values_of, summary_of
from hdeeprm_like.studies.compare.text import difference_lines, summary_lines


def samples(kind, rows, size, seed):
    """Samples with no ties, with ties, with zeros, or far apart."""
    rng = np.random.default_rng(seed)
    if kind == "ties":
        return rng.integers(0, 6, (rows, size)).astype(np.float64)
    if kind == "constant":
        return np.repeat(rng.integers(0, 3, (rows, 1)), size, axis=1).astype(np.float64)
    return rng.lognormal(3.0, 2.0, (rows, size))


# asks scipy for seconds; the smaller ones stay
@pytest.mark.lane(more=r"ties-13|ties-10|constant-10")
@pytest.mark.parametrize("size", [2, 3, 10, 13, 14, 30, 50, 51])
@pytest.mark.parametrize("kind", ["distinct", "ties", "constant"])
def test_p_values_are_those_of_scipy(kind, size):
    groups = samples(kind, 6, size, seed=size)
    first, second = groups[[0, 0, 1, 2]], groups[[1, 2, 3, 5]]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scipy warns of constant samples
        assert np.array_equal(anova(groups), stats.f_oneway(*groups).pvalue, equal_nan=True)
        for a, b, ours, other in zip(first, second, welch(first, second), wilcoxon(first, second), strict=True):
            assert np.array_equal(ours, stats.ttest_ind(a, b, equal_var=False).pvalue, equal_nan=True)
            assert other == (stats.wilcoxon(a, b).pvalue if (a != b).any() else 1.0)


@pytest.mark.parametrize("size", [2, 3, 10, 60])
@pytest.mark.parametrize("kind", ["distinct", "ties", "constant"])
def test_friedmans_p_is_that_of_scipy(kind, size):
    groups = samples(kind, 6, size, seed=size)
    with np.errstate(all="ignore"):
        assert friedman(groups) == pytest.approx(stats.friedmanchisquare(*groups).pvalue, rel=1e-12, nan_ok=True)


def test_friedmans_p_on_paper():
    """Three policies ranked alike in all of four windows: 12 / (4 * 3 * 4) * (4^2 + 8^2 + 12^2) - 3 * 4 * 4 = 8."""
    alike = np.array([[1.0, 2.0, 3.0, 4.0]] * 3) + np.array([[0.0], [0.1], [0.2]])
    assert friedman(alike) == pytest.approx(np.exp(-8.0 / 2.0))  # of chi squared with two degrees of freedom
    assert np.isnan(friedman(alike[:2]))
    assert np.isnan(friedman(np.ones((3, 4))))


def test_wilcoxons_p_of_more_than_a_few_windows_is_the_normal_one_where_two_policies_tie_once():
    # ranks 1 to 19 are all positive, and one difference is zero: the sum 190 is 95 above its mean, the variance 617.5
    differences = np.arange(20.0)
    (found,) = wilcoxon(differences[np.newaxis], np.zeros((1, 20)))
    assert found == pytest.approx(math.erfc(95.0 / math.sqrt(617.5) / math.sqrt(2.0)))
    (exact,) = wilcoxon(differences[np.newaxis, 1:], np.zeros((1, 19)))
    assert exact == pytest.approx(2.0 / 2.0**19)


def test_holms_correction_on_paper():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])  # 3 * 0.01, 2 * 0.03
    assert holm(np.array([0.5, 0.6])).tolist() == [1.0, 1.0]
    assert holm(np.array([np.nan, 0.02, 0.01])).tolist() == pytest.approx([np.nan, 0.02, 0.02], nan_ok=True)
    assert len(holm(np.zeros(0))) == 0


def test_the_interval_of_a_constant_is_that_constant():
    low, high = intervals(np.array([[0.1, -7.0]] * 9))
    assert low.tolist() == high.tolist() == [0.1, -7.0]


def test_the_interval_of_two_windows_holds_both():
    """A resample has the first window twice in a quarter of the cases, and the second in another."""
    low, high = intervals(np.array([[1.0, 10.0], [3.0, 0.0]]))
    assert (low.tolist(), high.tolist()) == ([1.0, 0.0], [3.0, 10.0])


def test_intervals_stay_where_the_values_are():
    slowdowns = np.array([[1.0], [1.0], [1.0], [1.0], [40.0]])  # Student's interval would begin at -12.8
    low, high = intervals(slowdowns)
    assert low[0] == 1.0
    assert 1.0 < high[0] < 40.0


def test_the_interval_is_near_students_where_values_are_normal():
    values = np.random.default_rng(5).normal(10.0, 2.0, 200)
    low, high = intervals(values[:, np.newaxis])
    half = stats.t.ppf(0.975, 199) * values.std(ddof=1) / np.sqrt(200)
    assert (low[0], high[0]) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.03)


def test_intervals_are_the_same_each_time_and_of_one_column_as_beside_others():
    values = samples("distinct", 3, 12, seed=1).T
    assert np.array_equal(intervals(values), intervals(values))
    assert np.allclose(np.array(intervals(values[:, 1:2]))[:, 0], np.array(intervals(values))[:, 1])


def test_a_single_window_tells_nothing():
    one = np.array([[1.0], [2.0]])
    assert np.isnan(anova(one))
    assert np.isnan(welch(one, one + 1.0)).all()
    assert np.isnan(wilcoxon(one, one + 1.0)).all()
    assert np.isnan(friedman(np.array([[1.0], [2.0], [3.0]])))
    assert np.isnan(intervals(np.array([[1.0, 2.0]]))).all()


def table_of(**slowdowns):
    """Results whose tested figures are all the same: a list of values, window by window, for each policy."""
    return [
        {"policy": policy, "window": window, **dict.fromkeys(USUAL, float(value))}
        for policy, values in slowdowns.items()
        for window, value in enumerate(values)
    ]


def summarized(table, reference=None):
    return pd.DataFrame(summary_of(table, p_values_of(table), reference)).set_index("policy")


def test_a_constant_difference_is_its_own_interval_and_so_is_a_constant_ratio():
    base = [1.0, 4.0, 9.0, 2.0]
    summary = summarized(table_of(a=base, b=[value + 3.0 for value in base], c=[2.0 * value for value in base]), "a")
    difference = summary.loc["b", ["wait_difference", "wait_difference_low", "wait_difference_high"]]
    ratio = summary.loc["c", ["wait_ratio", "wait_ratio_low", "wait_ratio_high"]]
    assert difference.tolist() == pytest.approx([3.0] * 3)
    assert ratio.tolist() == pytest.approx([2.0] * 3)
    assert summary.wait_std["a"] == pytest.approx(np.sqrt(38.0 / 3.0))  # 9, 0, 25, 4 around a mean of 4
    assert summary.wait_difference["a"] == 0.0
    assert summary.wait_ratio["a"] == 1.0
    assert np.isnan(summary.wait_p["a"])


def test_an_interval_has_the_unit_of_its_column():
    table = [row | {"energy": 1e5 * row["wait"]} for row in table_of(a=[7.0, 9.0], b=[11.0, 13.0])]
    rows = summary_of(table, p_values_of(table, shown=["energy"]), "a", ["energy"])
    assert summary_lines(rows, ["energy"])[1][1:3] == ["0.80 MJ", "0.70 to 0.90"]
    assert difference_lines(rows, ["energy"])[1][2:5] == ["+0.40 MJ", "0.40 to 0.40", "1.507"]


def test_the_first_figure_chooses_the_reference_and_more_may_be_better():
    table = [row | {"utilization": -row["wait"]} for row in table_of(a=[1.0, 5.0], b=[2.0, 6.0])]
    for row in table:
        row["energy"] = np.nan if row["policy"] == "a" else 1.0
    assert [best_of(table, name) for name in ("wait", "utilization", "energy")] == ["a", "a", "b"]
    tests = p_values_of(table, shown=["energy"])
    assert all(np.isnan(row["p"]) for row in tests)


def test_the_ratio_is_the_geometric_mean_so_twice_and_half_make_one():
    summary = summarized(table_of(a=[2.0, 2.0], b=[4.0, 1.0]), "a")
    assert summary.bounded_slowdown_ratio["b"] == pytest.approx(1.0)
    assert summary.bounded_slowdown_difference["b"] == 0.5


def test_over_all_windows_the_longest_wait_is_the_longest_and_the_mean_wait_the_mean():
    table = [row | {"wait_max": 10.0 * row["wait"]} for row in table_of(a=[1.0, 5.0, 3.0])]
    summary = summarized(table)
    assert (summary.wait["a"], summary.wait_max["a"]) == (3.0, 50.0)


def test_a_ratio_to_nothing_is_not_known():
    summary = summarized(table_of(a=[0.0, 2.0], b=[4.0, 1.0]), "a")
    assert np.isnan(summary.wait_ratio["b"])
    assert np.isnan(summary.wait_ratio_low["b"])
    assert summary.wait_difference["b"] == 1.5


def test_a_named_reference_is_tested_on_its_own_pairs_and_one_that_was_looked_for_on_all():
    """Eight windows with one sign each: p is 2 / 2^8 before any correction, of two pairs or of three."""
    table = table_of(a=range(1, 9), b=range(2, 10), c=range(4, 12))
    assert summarized(table, "a").wait_p[["b", "c"]].tolist() == pytest.approx([2 * 2 / 2**8] * 2)
    found = summarized(table)
    assert set(found.reference) == {"a"}
    assert found.wait_p[["b", "c"]].tolist() == pytest.approx([3 * 2 / 2**8] * 2)


def test_the_tests_of_all_pairs_are_corrected_for_each_figure():
    tests = pd.DataFrame(p_values_of(table_of(a=range(1, 9), b=range(2, 10), c=range(4, 12))))
    pairs = tests[tests.test == "Wilcoxon"]
    assert pairs.groupby("figure").size().tolist() == [3] * len(USUAL)
    assert pairs.p_holm.tolist() == pytest.approx([3 * 2 / 2**8] * 3 * len(USUAL))
    assert tests[tests.test == "Friedman"].p.tolist() == pytest.approx([np.exp(-16.0 / 2.0)] * len(USUAL))
