"""How sure the differences between policies are; all policies ran the same windows, so they are compared in pairs."""

import warnings
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from hdeeprm_like.errors import OptionsError
from hdeeprm_like.types import Floats

CONFIDENCE = 0.95
TESTED = ("bounded_slowdown", "wait", "utilization")


def scipy_stats() -> ModuleType:
    """Return scipy's statistics.

    Raises:
        OptionsError: scipy is not installed.
    """
    try:
        from scipy import stats
    except ImportError as cause:
        raise OptionsError("comparing needs scipy: pip install 'hdeeprm_like[compare]'") from cause
    module: ModuleType = stats
    return module


def half_width(values: Floats) -> float:
    """Half of the interval that holds the mean with 95 % confidence (Student's t); NaN for a single value."""
    if len(values) < 2:
        return float("nan")
    error = float(np.std(values, ddof=1)) / np.sqrt(len(values))
    return float(scipy_stats().t.ppf(0.5 + CONFIDENCE / 2.0, len(values) - 1)) * float(error)


def summary_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per policy: the mean over the windows of each figure, and the interval of the tested ones.

    Columns: ``policy``, ``windows``, then for each figure its mean (of ``*_max`` the maximum), and for those in
    `TESTED` ``*_low`` and ``*_high``.
    """
    rows = []
    for policy, own in table.groupby("policy", sort=False):
        row: dict[str, Any] = {"policy": policy, "windows": len(own)}
        for name in own.columns.drop(["policy", "window"]):
            values = own[name].to_numpy(np.float64)
            row[name] = float(values.max() if name.endswith("_max") else values.mean())
            if name in TESTED:
                half = half_width(values)
                row[f"{name}_low"], row[f"{name}_high"] = row[name] - half, row[name] + half
        rows.append(row)
    return pd.DataFrame(rows)


def p_values_of(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per figure and pair of policies, after a row per figure on all policies at once.

    Columns: ``figure``, ``first``, ``second``, ``difference`` of the means (second less first), ``test``, ``p``. The
    tests are ANOVA over all (``first`` and ``second`` are empty then), Welch's t-test, and Wilcoxon's signed ranks of
    the differences window by window. Nothing is corrected for the number of tests.

    Sources: ANOVA, then pairs, is how the KSU paper compares schedulers (III.C); Welch, 1947; Wilcoxon, 1945.
    """
    rows: list[dict[str, Any]] = []
    policies = list(dict.fromkeys(table["policy"]))
    for name in TESTED:
        wide = table.pivot(index="window", columns="policy", values=name)
        columns = {policy: wide[policy].to_numpy(np.float64) for policy in policies}
        if len(policies) > 1:
            p = p_value("f_oneway", *columns.values())
            rows.append({"figure": name, "first": "", "second": "", "difference": np.nan, "test": "ANOVA", "p": p})
        for first, second in combinations(policies, 2):
            a, b = columns[first], columns[second]
            pair = {"figure": name, "first": first, "second": second, "difference": float(b.mean() - a.mean())}
            rows.append({**pair, "test": "Welch", "p": p_value("ttest_ind", a, b, equal_var=False)})
            rows.append({**pair, "test": "Wilcoxon", "p": p_value("wilcoxon", a, b) if (a != b).any() else 1.0})
    return pd.DataFrame(rows, columns=["figure", "first", "second", "difference", "test", "p"])


def p_value(test: str, *columns: Floats, **options: Any) -> float:
    """Return the p-value of one of scipy's tests; NaN for too few values."""
    if len(columns[0]) < 2:
        return float("nan")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # scipy tells of few or equal values; the p-value says it
        return float(getattr(scipy_stats(), test)(*columns, **options).pvalue)
