"""Putting a policy through the benchmark: a comparison for each case, and a card of them all.

The folder holds ``cases/``, a comparison each, from which an interrupted benchmark goes on, `CARD` and `PAGE`.
"""

import time
from pathlib import Path
from typing import Any

from hdeeprm_like.errors import HDeepRMError, OptionsError, ResultsError
from hdeeprm_like.formats.files import alone_in, null_for_nan, write_json
from hdeeprm_like.formats.shipped import existing
from hdeeprm_like.inputs import read_object
from hdeeprm_like.studies.benchmark.protocol import AGAINST, FULL, PROTOCOL, QUICK, REFERENCES, Case
from hdeeprm_like.studies.compare.inputs import Comparison, inputs_of
from hdeeprm_like.studies.compare.policies import Policy, Recorded, compared_policy
from hdeeprm_like.studies.compare.run import POLICY, run_comparison
from hdeeprm_like.studies.compare.sampling import windows_named
from hdeeprm_like.studies.compare.windows import schedules
from hdeeprm_like.version import __version__

CARD, PAGE, CASES = "card.json", "card.html", "cases"
KEPT = ("bounded_slowdown", "wait", "utilization", "energy", "wait_max", "bounded_slowdown_max", "starving")
BOUNDS = ("_low", "_high", "_difference", "_difference_low", "_difference_high", "_p")
TIMES = 3  # repetitions of the measurement of a decision's cost; the smallest counts


def benchmark(
    policy: str, output: Path, quick: bool = False, processes: int | None = None, progress: bool = True
) -> dict[str, Any]:
    """Put a policy through the benchmark, or through what is left of it; write and return its card.

    Args:
        policy: as ``compare`` takes one. quick: plays `QUICK` in place of `FULL`.

    Raises:
        OptionsError: there is no such policy, or it is the recorded schedule.
        ResultsError: the folder holds the card of another policy or protocol.
    """
    chosen = compared_policy(policy)
    if isinstance(chosen, Recorded):
        raise OptionsError("benchmark: the recorded schedule is no policy; name one")
    with alone_in(output):
        check_folder(output, chosen.name, quick)
        compared = [compared_policy(name) for name in REFERENCES]
        compared += [chosen] if chosen not in compared else []
        played = QUICK if quick else FULL
        cases = [case_of(case, tuple(compared), chosen, output, processes, progress) for case in played]
        card: dict[str, Any] = {
            "protocol": PROTOCOL,
            "quick": quick,
            "policy": chosen.name,
            "version": __version__,
            "against": AGAINST,
            "cost": cost_of(chosen),
            "cases": cases,
        }
        write_json(output / CARD, card)
        from hdeeprm_like.studies.benchmark.page import write_card_page

        write_card_page(card, output / PAGE)
        return card


def check_folder(output: Path, policy: str, quick: bool) -> None:
    """Refuse a folder with the card of something else.

    Raises:
        ResultsError: it is.
    """
    if not (output / CARD).exists():
        return
    before = read_object(output / CARD, ResultsError)
    for name, value in (("policy", policy), ("quick", quick), ("protocol", PROTOCOL)):
        if before.get(name) != value:
            told = f"holds a card whose {name} is {before.get(name)!r:.60}, not {value!r:.60}; name another folder"
            raise ResultsError(f"{output}: {told}")


def case_of(
    case: Case, policies: tuple[Policy, ...], chosen: Policy, output: Path, processes: int | None, progress: bool
) -> dict[str, Any]:
    """Return the figures of a case; those of the references alone where the policy cannot play it."""
    folder = output / CASES / case.name.replace(", ", "-")
    told = ""
    try:
        summary = run_comparison(comparison_of(case, policies), folder, processes, progress)[0]
    except HDeepRMError as cause:
        others = tuple(policy for policy in policies if policy is not chosen)
        if chosen.name in REFERENCES:
            raise
        told = str(cause)
        summary = run_comparison(comparison_of(case, others), folder, processes, progress)[0]
    rows = {row[POLICY]: null_for_nan(figures_of(row)) for row in summary}
    return {
        "name": case.name,
        "trace": case.trace,
        "platform": case.platform or "a pool",
        "requests": case.requests,
        "windows": summary[0]["windows"],
        "jobs": int(summary[0]["jobs_run"]),
        "refused": told,
        "figures": rows,
    }


def comparison_of(case: Case, policies: tuple[Policy, ...]) -> Comparison:
    """Return the comparison of a case."""
    return Comparison(
        trace=existing(case.trace, "trace"),
        policies=policies,
        windows=windows_named(case.windows, None),
        seed=1,
        platform=existing(case.platform, "platform") if case.platform else None,
        reference=AGAINST,
    )


def figures_of(row: dict[str, Any]) -> dict[str, float]:
    """Return what a card keeps of the summary of a policy."""
    return {
        name: row[name]
        for figure in KEPT
        for name in (figure, *(f"{figure}{bound}" for bound in BOUNDS))
        if name in row
    }


def cost_of(policy: Policy) -> dict[str, Any]:
    """Return the CPU s that a policy takes for each job of a small window, the simulation included."""
    inputs = inputs_of(comparison_of(QUICK[0], (policy,)))
    window, least = inputs.window(0), float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        schedules(inputs.machine, [window], policy)
        least = min(least, time.process_time() - began)
    return {
        "seconds_per_job": least / inputs.jobs,
        "of": f"{inputs.jobs} jobs of {QUICK[0].trace}, CPU, with the simulation",
    }
