"""Scores: 0 for the first reference, 1 for the best reference on the same jobs; more is better than all of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hdeeprm_like.studies.compare.bootstrap import CONFIDENCE, resampled_means
from hdeeprm_like.studies.compare.statistics import Rows, values_of
from hdeeprm_like.types import Floats

LEAST = -1.0


def costs_of(results: Rows, policies: Sequence[str], objective: Sequence[str]) -> dict[str, Floats]:
    """Return the (windows,) cost of each policy: the product of the figures of an objective."""
    table = [row for name in policies for row in results if row["policy"] == name]
    product = np.prod([values_of(table, figure) for figure in objective], axis=0)
    return dict(zip(policies, product, strict=True))


def scores_of(costs: dict[str, Floats], references: Sequence[str]) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return the score of each policy, and its scores on resampled windows; 0 where the references do not differ.

    A score is at least `LEAST`, so that one case cannot decide the mean of all.
    """
    names = list(costs)
    values = np.array([costs[name] for name in names]).T
    base, means = names.index(references[0]), values.mean(axis=0)
    room = means[base] - min(means[names.index(name)] for name in references)
    gains = values[:, [base]] - values
    shares = gains / room if room > 0.0 else 0.0 * gains
    drawn = np.maximum(LEAST, resampled_means(shares) if len(shares) > 1 else shares)
    scores = np.maximum(LEAST, shares.mean(axis=0)).tolist()
    return dict(zip(names, scores, strict=True)), dict(zip(names, drawn.T, strict=True))


def aggregated(cases: Sequence[dict[str, Any]], policies: Sequence[str]) -> dict[str, Any]:
    """Return the mean score over the fixed cases, and over the fresh ones, of the mean of some policies.

    A case that a policy does not play counts 0: there `references[0]` would be run. The interval is by the bootstrap
    over the windows of each case.
    """
    found = {}
    for group in ("fixed", "fresh"):
        of = [case for case in cases if case["fresh"] == (group == "fresh")]
        each = [float(np.mean([case["scores"].get(name, 0.0) for case in of])) for name in policies]
        drawn = [[case["resampled"].get(name, np.zeros(1)) for name in policies] for case in of]
        size = max(len(one) for row in drawn for one in row)
        means = np.mean([[np.resize(one, size) for one in row] for row in drawn], axis=(0, 1))
        outside = 50.0 * (1.0 - CONFIDENCE)
        low, high = np.percentile(means, [outside, 100.0 - outside])
        played = sum(any(name in case["scores"] for name in policies) for case in of)
        found[group] = {"mean": float(np.mean(each)), "low": float(low), "high": float(high), "each": each}
        found[group] |= {"played": played, "cases": len(of)}
    return found
