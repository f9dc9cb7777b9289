"""The command ``explain``."""

import argparse
import sys
from typing import Any

from hdeeprm_like.cli.arguments import (
    Commands,
    add_json_flag,
    add_reading_flags,
    add_trust_flag,
    command,
    moment,
    print_json,
)
from hdeeprm_like.cli.names import one_of
from hdeeprm_like.limits import JOBS
from hdeeprm_like.refusals import EXPLAIN

MOST_SHOWN = 12  # jobs that are shown


def add_explain(commands: Commands) -> None:
    """Add ``explain``."""
    added = command(commands, "explain", "print a learned policy as formulas, and why a job is first", run_explain)
    added.option("policy", "POLICY", "zoo:NAME or scored:FILE.json", completes=one_of("cli.names:learned_policies"))
    text = "explain a queue of this trace: a name, e.g. lublin-1, or a file"
    added.named("--trace", ("trace",), "SWF", text)
    add_reading_flags(added)
    added.whole("--jobs", JOBS, "jobs of the trace", default=1024)
    added.option("--at", "S", "moment, in s after the first job", kind=moment, default=0.0)
    add_json_flag(added)
    add_trust_flag(added)


def run_explain(options: argparse.Namespace) -> None:
    """Print the policy as formulas, and with a trace also its queue at one moment."""
    from hdeeprm_like.decision.names import Baseline, policy_in
    from hdeeprm_like.studies.explain import explain_moment, explained

    policy = policy_in(options.policy, EXPLAIN)
    assert isinstance(policy, Baseline)
    assert policy.learned is not None
    lines = list(explained(policy.learned, policy.mode.bound))
    if options.trace is None:
        show({"formulas": lines}, "", options)
        return
    from dataclasses import replace

    import numpy as np

    from hdeeprm_like.cluster.pool import pool
    from hdeeprm_like.formats.job_reading import Reading, larger_of, machine_size, read_jobs
    from hdeeprm_like.formats.swf_cuts import take
    from hdeeprm_like.formats.windows import window

    trace = read_jobs(options.trace, Reading(options.cores, larger_of(options.leave_out_larger), memory=False))
    cores = machine_size(trace)
    looked_at = take(trace, np.arange(min(options.jobs, len(trace))))
    jobs = window(looked_at, cores).workload
    numbers = looked_at.job[np.argsort(looked_at.submit, kind="stable")]  # as `window` orders them
    jobs = replace(jobs, ids=tuple(map(str, numbers.tolist())))
    moment = explain_moment(pool(cores), jobs, policy, options.at)
    text = (
        f"\nAt {moment.now:g} s it starts {moment.started} of {len(moment.jobs)} waiting jobs; then {moment.free} of "
        f"{cores} cores are free. Jobs have the numbers of the trace; the last columns show how much a feature moves "
        "the score beside the mean of these jobs (less is earlier):\n"
    )
    shown = moment.jobs.head(MOST_SHOWN).to_string(index=False, float_format=lambda number: f"{number:.4g}")
    text += f"{shown}\n"
    if len(moment.jobs) > MOST_SHOWN:
        text += f"and {len(moment.jobs) - MOST_SHOWN} more\n"
    found = {"at": moment.now, "starts": moment.started, "free": moment.free, "cores": cores}
    show({"formulas": lines, **found, "waiting": moment.jobs.to_dict("records")}, text, options)


def show(content: dict[str, Any], text: str, options: argparse.Namespace) -> None:
    """Print the formulas of a policy, and its queue as *text*; or all as JSON."""
    if options.json:
        print_json(content)
    else:
        sys.stdout.write("".join(f"{line}\n" for line in content["formulas"]) + text)
