"""Putting a policy through the benchmark: a comparison for each case, and a card of them all.

A score is 0 for the first reference and 1 for the best one on the same jobs; more is better than all of them.

The folder holds ``jobs/``, what is drawn, ``cases/``, a comparison each, from which an interrupted benchmark goes on,
`CARD` and `PAGE`.
"""

import math
import tempfile
import time
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.decision.compared_policies import Policy, Recorded, compared_policy
from hdeeprm_like.errors import HDeepRMError, OptionsError, ResultsError
from hdeeprm_like.formats.files import alone_in, null_for_nan, write_json
from hdeeprm_like.inputs import read_object, sha256
from hdeeprm_like.studies.benchmark.origin import origin_of, was_learned_from
from hdeeprm_like.studies.benchmark.page import read_card, write_card_page
from hdeeprm_like.studies.benchmark.protocol import FULL, PROTOCOL, QUICK, Case, comparison_of, digest_of, folder_of
from hdeeprm_like.studies.compare.figures import with_tails
from hdeeprm_like.studies.compare.inputs import inputs_of
from hdeeprm_like.studies.compare.run import POLICY, RESULTS, rows_in, run_comparison
from hdeeprm_like.studies.compare.significance import CONFIDENCE, resampled_means
from hdeeprm_like.studies.compare.statistics import Rows, values_of
from hdeeprm_like.studies.compare.windows import schedules
from hdeeprm_like.types import Floats
from hdeeprm_like.version import __version__

CARD, PAGE = "card.json", "card.html"
TIMES = 3  # repetitions of the measurement of a decision's cost; the smallest counts
LEAST = -1.0  # score of a case, so that one case cannot decide the mean of all
CLOSE = 1e-9  # relative difference of figures that are the same
NOT_PLAYED = ("cost", "version", "code", "declared")  # what may differ when a card is played again


def benchmark(
    policies: Sequence[str],
    output: Path,
    quick: bool = False,
    fresh: str | None = None,
    learned_from: Sequence[str] = (),
    processes: int | None = None,
    progress: bool = True,
) -> dict[str, Any]:
    """Put a policy through the benchmark, or through what is left of it; write and return its card.

    Args:
        policies: as ``compare`` takes them; several are trainings of one agent with other seeds.
        quick: plays `QUICK` in place of `FULL`. fresh: date that draws the fresh jobs; None for that of a card that is
        there, or today. learned_from: names of data that the policy has learned from, besides what its files say.

    Raises:
        OptionsError: there is no such policy, it is the recorded schedule, or it can play no case.
        ResultsError: the folder holds the card of another policy, date or protocol.
    """
    chosen = [compared_policy(name) for name in policies]
    if any(isinstance(policy, Recorded) for policy in chosen):
        raise OptionsError("benchmark: the recorded schedule is no policy; name one")
    with alone_in(output):
        origins = [origin_of(policy, learned_from) for policy in chosen]
        before = read_object(output / CARD, ResultsError) if (output / CARD).exists() else {}
        card: dict[str, Any] = {
            "protocol": PROTOCOL,
            "quick": quick,
            "policies": origins,
            "fresh": fresh or before.get("fresh") or date.today().isoformat(),
            "version": __version__,
            "code": sha256(*sorted(Path(__file__).parents[2].rglob("*.py"))),
        }
        check_folder(output, before or card, card)
        cases = QUICK if quick else FULL
        own = list(zip(chosen, origins, strict=True))
        refused = [[refusal(case, *one, output, card["fresh"]) for one in own] for case in cases]
        playable = next((case for case, told in zip(cases, refused, strict=True) if not told[0]), None)
        if playable is None:
            raise OptionsError(f"benchmark: {policies[0]} can play no case: {refused[0][0]}")
        card["cost"] = cost_of(playable, chosen[0], output, card["fresh"])
        card["cases"] = [
            case_of(case, list(zip(chosen, told, strict=True)), output, card["fresh"], processes, progress)
            for case, told in zip(cases, refused, strict=True)
        ]
        card["score"] = aggregated(card["cases"], [policy.name for policy in chosen])
        for case in card["cases"]:
            del case["resampled"]
        write_json(output / CARD, null_for_nan(card))
        write_card_page(null_for_nan(card), output / PAGE)
        return read_card(output / CARD)


def check(path: Path, policies: Sequence[str] = (), processes: int | None = None, progress: bool = True) -> list[str]:
    """Play a card again, and return what is different, a line each.

    Args:
        policies: where they are now; empty for the names on the card.

    Raises:
        ResultsError: it is no card of this protocol. HDeepRMError: its policies cannot be played.
    """
    card = read_card(path)
    if card["protocol"] != PROTOCOL:
        raise ResultsError(f"{path}: is of protocol {card['protocol']}, not {PROTOCOL}; use the version that made it")
    own = [one["name"] for one in card["policies"]]
    with tempfile.TemporaryDirectory() as place:
        how = (card["quick"], card["fresh"], card["policies"][0]["declared"], processes, progress)
        again = flat(benchmark(policies or own, Path(place) / "card", *how), {})
    was = flat(card, dict(zip(own, policies, strict=False)))
    different = [name for name in {**was, **again} if not same(was.get(name), again.get(name))]
    return [f"{name}: {was.get(name)}, now {again.get(name)}" for name in different]


def flat(content: Any, renamed: dict[str, str], where: str = "") -> dict[str, Any]:
    """Return the values of a card by their places, without those that are not played.

    Args:
        renamed: other names of policies.
    """
    if isinstance(content, list):
        content = {str(number): value for number, value in enumerate(content, start=1)}
    if not isinstance(content, dict):
        return {where.strip(): renamed.get(content, content) if isinstance(content, str) else content}
    found: dict[str, Any] = {}
    for name, value in content.items():
        found |= {} if name in NOT_PLAYED else flat(value, renamed, f"{where} {renamed.get(name, name)}")
    return found


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same, numbers but for rounding."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def check_folder(output: Path, before: dict[str, Any], card: dict[str, Any]) -> None:
    """Refuse a folder with the card of something else.

    Raises:
        ResultsError: it is.
    """
    for name in ("policies", "quick", "protocol", "fresh"):
        was, now = ([one["name"] for one in of[name]] if name == "policies" else of.get(name) for of in (before, card))
        if was != now:
            told = f"holds a card whose {name} is {was!r:.60}, not {now!r:.60}; name another folder"
            raise ResultsError(f"{output}: {told}")


def refusal(case: Case, policy: Policy, origin: dict[str, Any], output: Path, date: str) -> str:
    """Return why a policy does not play a case, empty where it does."""
    try:
        comparison = comparison_of(case, (policy,), output, date)
        if not case.fresh and (learned := was_learned_from(case, comparison.trace, origin["learned_from"])):
            return f"has learned from {learned}"
        inputs_of(comparison)
    except HDeepRMError as cause:
        if policy.name in case.references:
            raise
        return str(cause)
    return ""


def case_of(
    case: Case, tried: list[tuple[Policy, str]], output: Path, date: str, processes: int | None, progress: bool
) -> dict[str, Any]:
    """Return the figures of a case; those of the references alone where no policy plays it.

    Args:
        tried: each policy, and why it does not play, empty for those that do.
    """
    folder = folder_of(case, output)
    references = [compared_policy(name) for name in case.references]
    own = [policy for policy, why in tried if not why and policy not in references]
    try:
        comparison = comparison_of(case, (*references, *own), output, date)
        summary = run_comparison(comparison, folder, processes, progress)[0]
    except HDeepRMError as cause:
        if not own:
            raise
        tried = [(policy, why or str(cause)) for policy, why in tried]
        comparison = comparison_of(case, tuple(references), output, date)
        summary = run_comparison(comparison, folder, processes, progress)[0]
    costs = costs_of(rows_in(folder / RESULTS), [row[POLICY] for row in summary], case.objective)
    kept = (
        POLICY,
        *with_tails(comparison.shown),
        *(f"{comparison.shown[0]}{end}" for end in ("_std", "_low", "_high")),
    )
    refused = {policy.name: why for policy, why in tried if why}
    scores, resampled = (
        {name: one for name, one in found.items() if name not in refused} for found in scores_of(costs, case.references)
    )
    return {
        "name": case.name,
        "fresh": case.fresh,
        "jobs": int(summary[0]["jobs_run"]),
        "windows": summary[0]["windows"],
        "of": case.trace or f"the model {case.model}",
        "on": case.platform or f"{inputs_of(comparison).machine.cores} cores",
        "objective": " x ".join(case.objective),
        "digest": digest_of(comparison.trace),
        "refused": refused,
        "costs": {name: float(cost.mean()) for name, cost in costs.items()},
        "scores": scores,
        "resampled": resampled,
        "shown": comparison.shown,
        "summary": [{name: row[name] for name in kept} for row in summary],
    }


def cost_of(case: Case, policy: Policy, output: Path, date: str) -> dict[str, Any]:
    """Return the CPU s that a policy takes for each job of a window of a case, the simulation included."""
    inputs = inputs_of(comparison_of(case, (policy,), output, date))
    window, least = inputs.window(0), math.inf
    for _ in range(TIMES):
        began = time.process_time()
        schedules(inputs.machine, [window], policy)
        least = min(least, time.process_time() - began)
    jobs = len(window.workload)
    return {"seconds_per_job": least / jobs, "of": f"{jobs} jobs of {case.name}, CPU, with the simulation"}


def costs_of(results: Rows, policies: Sequence[str], objective: Sequence[str]) -> dict[str, Floats]:
    """Return the (windows,) cost of each policy: the product of the figures of an objective."""
    table = [row for name in policies for row in results if row["policy"] == name]
    product = np.prod([values_of(table, figure) for figure in objective], axis=0)
    return dict(zip(policies, product, strict=True))


def scores_of(costs: dict[str, Floats], references: Sequence[str]) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return the score of each policy, and its scores on resampled windows; 0 where the references do not differ.

    A score is at least `LEAST`.
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
