"""Statistics of the differences between policies; all ran the same windows, so comparisons are paired.

Tables are lists of rows, each with its values by column: pandas takes a quarter of a second to load.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from operator import itemgetter
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from hdeeprm_like.cluster.schedule import FIGURES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.studies.compare.figures import USUAL
from hdeeprm_like.studies.compare.significance import (
    anova,
    friedman,
    holm,
    intervals,
    one_sample,
    welch,
    wilcoxon,
)
from hdeeprm_like.types import Floats
from hdeeprm_like.values import NUMBER

ONE_SAMPLE = "one-sample t"
ENDS = ("", "_low", "_high")
BOUNDS = ("_std", *ENDS, *(f"_{of}{end}" for of in ("difference", "ratio") for end in ENDS), "_p")  # of shown figures
OF_TESTS = ("figure", "first", "second", "difference", "test", "p", "p_holm")  # columns of `p_values_of`

Rows: TypeAlias = list[dict[str, Any]]


def policies_in(table: Rows) -> list[str]:
    """Return the policies of a table of results in its order."""
    return list(dict.fromkeys(row["policy"] for row in table))


def values_of(table: Rows, figure: str) -> Floats:
    """Return (policies, windows) values of a figure."""
    values: dict[str, list[float]] = {policy: [] for policy in policies_in(table)}
    for row in sorted(table, key=itemgetter("window")):
        values[row["policy"]].append(row[figure])
    return np.array([*values.values()], np.float64)


def best_of(table: Rows, figure: str) -> str:
    """Return the policy with the best mean of a figure, the first of several; those where it is unknown are not."""
    means = values_of(table, figure).mean(axis=1) * (-1.0 if FIGURES[figure].more_is_better else 1.0)
    return policies_in(table)[int(np.argmin(np.where(np.isnan(means), np.inf, means)))]


def summary_of(table: Rows, tests: Rows, reference: str | None = None, shown: Sequence[str] = USUAL) -> Rows:
    """Return one row per policy: its figures, and their differences to a reference.

    Columns: ``policy``, ``windows``, ``reference``; for each figure its mean over the windows (or the maximum of
    figures such as ``*_max``). Those that are *shown* have more: ``*_std``, the standard deviation over the windows;
    ``*_low`` and ``*_high``, the interval of the mean; ``*_difference``, the mean difference to the reference, and
    ``*_ratio``, the geometric mean of the ratios to it, both with ``_low`` and ``_high``; ``*_p`` of Wilcoxon's test
    against the reference, corrected by Holm's method. Intervals are those of `significance.intervals`.

    Args:
        tests: of `p_values_of`.
        reference: the name of a policy; the correction is then for the pairs with it. None selects the best, see
        `best_of`; the correction is then for all pairs. shown: figures, the first of which ranks.
    """
    policies = policies_in(table)
    against = best_of(table, shown[0]) if reference is None else reference
    figures = [name for name in table[0] if name not in ("policy", "window")]
    summary: Rows = [{"policy": policy, "windows": 0, "reference": against} for policy in policies]
    for name in figures:
        values = values_of(table, name)
        columns = {name: [float(np.max(own) if FIGURES[name].worst_of else np.mean(own)) for own in values]}
        if name in shown:
            bounds = bounds_of(name, values, policies.index(against))
            columns |= {column: found.tolist() for column, found in bounds.items()}
            of_figure = [row for row in tests if row["figure"] == name]
            columns[f"{name}_p"] = p_against(of_figure, policies, against, reference is None)
        for place, row in enumerate(summary):
            row["windows"] = values.shape[1]
            row |= {column: found[place] for column, found in columns.items()}
    return summary


def bounds_of(name: str, values: Floats, reference: int) -> dict[str, Floats]:
    """Return the columns of `summary_of` for a tested figure, except its mean and p.

    Args:
        values: (policies, windows). reference: its row.
    """
    differences = values - values[reference]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((values > 0.0) & (values[reference] > 0.0), values / values[reference], np.nan)
    logarithms = np.log(ratios)
    low, high = (np.split(bound, 3) for bound in intervals(np.concatenate([values, differences, logarithms]).T))
    return {
        f"{name}_std": np.std(values, axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan),
        f"{name}_low": low[0],
        f"{name}_high": high[0],
        f"{name}_difference": differences.mean(axis=1),
        f"{name}_difference_low": low[1],
        f"{name}_difference_high": high[1],
        f"{name}_ratio": np.exp(logarithms.mean(axis=1)),
        f"{name}_ratio_low": np.exp(low[2]),
        f"{name}_ratio_high": np.exp(high[2]),
    }


def p_against(tests: Rows, policies: list[str], reference: str, found_by_looking: bool) -> list[float]:
    """Return the corrected p of Wilcoxon's test of each policy against a reference, NaN for itself.

    Args:
        tests: of one figure. found_by_looking: correct for all pairs, else for those with the reference.
    """
    pairs = [row for row in tests if row["test"] == "Wilcoxon" and reference in (row["first"], row["second"])]
    others = [row["second"] if row["first"] == reference else row["first"] for row in pairs]
    p = np.array([row["p_holm" if found_by_looking else "p"] for row in pairs], np.float64)
    by_policy = dict(zip(others, (p if found_by_looking else holm(p)).tolist(), strict=True))
    return [by_policy.get(policy, math.nan) for policy in policies]


def published_named(text: str | None) -> dict[str, float]:
    """Return the published means of ``"bounded_slowdown=67.55,utilization=0.795"``.

    Raises:
        OptionsError: the text is invalid, or a figure is not known.
    """
    found = {}
    for part in [] if text is None else text.split(","):
        name, _, value = part.partition("=")
        if name not in FIGURES:
            raise OptionsError(f"published: figure {name[:40]!r} is not known{did_you_mean(name, FIGURES)}")
        found[name] = NUMBER.in_text(value, OptionsError, "published", name)
    return found


def published_rows(table: Rows, published: Mapping[str, float]) -> Rows:
    """Return a row of `p_values_of` for each policy and published mean: Student's one-sample t-test.

    ``second`` is the published mean, and ``difference`` is the mean of the policy minus the published one; Holm's
    correction is over the policies.
    """
    rows = []
    for name, mean in published.items():
        values = values_of(table, name)
        p = one_sample(values, mean)
        for policy, own, alone, corrected in zip(policies_in(table), values.mean(axis=1), p, holm(p), strict=True):
            pair = {"figure": name, "first": policy, "second": f"{mean:g}", "difference": float(own - mean)}
            rows.append({**pair, "test": ONE_SAMPLE, "p": float(alone), "p_holm": float(corrected)})
    return rows


def p_values_of(
    table: Rows,
    parametric: bool = False,
    published: Mapping[str, float] = MappingProxyType({}),
    shown: Sequence[str] = USUAL,
) -> Rows:
    """Return one row per figure and pair of policies, after a row per figure on all policies at once.

    Columns: ``figure``, ``first``, ``second``, ``difference`` of the means (second less first), ``test``, ``p`` and
    ``p_holm``, corrected for all pairs of a figure by Holm's method. The tests are Friedman's over all (``first`` and
    ``second`` are empty then), and Wilcoxon's signed ranks of the differences window by window. p is NaN for fewer than
    two windows and for figures that are not known, and Friedman's for fewer than three policies.

    Args:
        parametric: adds the tests common in papers: ANOVA over all and Welch's t-test of the pairs, which ignore the
        pairing of windows, and the paired t-test (KSU, III.C; dissertation, 5.3).
        published: means of figures, see `published_rows`. shown: the figures that are tested.

    Sources: Friedman, 1937; Wilcoxon, 1945; Welch, 1947; Student, 1908; choice of tests: Demsar, "Statistical
    comparisons of classifiers over multiple data sets", 2006.
    """
    rows: Rows = []
    policies = policies_in(table)
    pairs = list(combinations(range(len(policies)), 2))
    firsts, seconds = [first for first, _ in pairs], [second for _, second in pairs]
    for name in shown:
        values = values_of(table, name)
        over_all = {"Friedman": friedman(values)} | ({"ANOVA": anova(values)} if parametric else {})
        for test, p in over_all.items() if len(policies) > 1 else ():
            all_of = {"figure": name, "first": "", "second": "", "difference": np.nan}
            rows.append({**all_of, "test": test, "p": p, "p_holm": p})
        of_pairs = {"Wilcoxon": np.array(wilcoxon(values[firsts], values[seconds]))}
        if parametric:
            of_pairs["Welch"] = welch(values[firsts], values[seconds])
            of_pairs["paired t"] = one_sample(values[firsts] - values[seconds], 0.0)
        means = values.mean(axis=1)
        known = np.isfinite(means[firsts] + means[seconds])
        of_pairs = {test: np.where(known, found, np.nan) for test, found in of_pairs.items()}
        corrected = {test: holm(found) for test, found in of_pairs.items()}
        for place, (first, second) in enumerate(pairs):
            pair: dict[str, Any] = {"figure": name, "first": policies[first], "second": policies[second]}
            pair["difference"] = float(means[second] - means[first])
            for test, found in of_pairs.items():
                rows.append({**pair, "test": test, "p": float(found[place]), "p_holm": float(corrected[test][place])})
    return rows + published_rows(table, published)
