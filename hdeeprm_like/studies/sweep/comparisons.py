"""The tasks that compare: each policy on each window of a trace, as ``compare`` runs it."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from hdeeprm_like.cluster.schedule import UNKNOWN, figures
from hdeeprm_like.decision.compared_policies import compared_policy, policies_named
from hdeeprm_like.decision.policy_words import AGENT, beside
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.shipped import Kind, found
from hdeeprm_like.formats.windows import Window
from hdeeprm_like.option_sections import Section, Seed
from hdeeprm_like.studies.compare.inputs import (
    Comparison,
    Inputs,
    agents_of,
    inputs_of,
    is_workload,
    machine_and_jobs,
    windows_of,
)
from hdeeprm_like.studies.compare.sampling import Windows, windows_named
from hdeeprm_like.studies.compare.windows import schedule
from hdeeprm_like.studies.sweep.tasks import COMPARE, Content, Task, combinations, task_of, validated


class ComparisonOptions(Section):
    """The keys beside ``compare`` in one combination of a sweep file; as the flags of the command."""

    compare: str
    policies: Annotated[list[str], Field(min_length=1)]
    windows: str | None = None
    seed: Seed = 1
    cores: Annotated[int, Field(ge=1)] | None = None
    platform: str | None = None
    clock: Literal["textbook", "one-by-one", "batsim"] = "textbook"
    jobs_by: Literal["file", "id"] = "file"
    leave_out_larger: bool = False
    offsets: str | None = None


def comparison_tasks(path: Path, entry: Content) -> Iterator[Task]:
    """Yield the tasks of an object of a sweep file that compares: window by window, with all policies of each.

    Raises:
        HDeepRMError: the object or one of its files cannot be used.
    """
    for combination in combinations(path, beside(entry, path.parent)):
        options = validated(path, ComparisonOptions, combination)
        comparison = comparison_in(path.parent, options)
        inputs = inputs_of(comparison)
        if is_workload(comparison.trace):
            raise OptionsError(f"{path}: compare: {comparison.trace} holds workloads; sweeps need traces")
        agents = agents_of(comparison)
        shared: Content = {
            "trace": str(comparison.trace),
            "platform": comparison.platform and str(comparison.platform),
            **{name: getattr(options, name) for name in ("cores", "clock", "jobs_by", "leave_out_larger")},
        }
        told = {**shared, "trace": comparison.trace.name, "seed": options.seed}
        names = [policy.name for policy in comparison.policies]
        for window, begin in enumerate(inputs.begins):
            place: Content = {**shared, "begin": begin, "jobs": inputs.jobs}
            for name in names:
                content = {"window": place, "policy": name, "learned": agents.get(name)}
                values = {"policy": name, "window": window, "begin": begin, "jobs": inputs.jobs, **told}
                yield task_of(COMPARE, content, values, [shared["trace"], shared["platform"]])


def comparison_in(folder: Path, options: ComparisonOptions) -> Comparison:
    """Return a comparison with absolute paths."""

    def path_of(name: str, *kinds: Kind) -> Path:
        named = found(name, *kinds, folder=folder.absolute()) if kinds else folder.absolute() / name
        return Path(os.path.normpath(named))

    def policy_of(name: str) -> str:
        return AGENT + str(path_of(name.removeprefix(AGENT))) if name.startswith(AGENT) else name

    return Comparison(
        path_of(options.compare, "trace"),
        policies_named(",".join(map(policy_of, options.policies))),
        windows_named(options.windows, path_of(options.offsets, "offsets") if options.offsets else None),
        seed=options.seed,
        cores=options.cores,
        clock=options.clock,
        platform=path_of(options.platform, "platform") if options.platform else None,
        jobs_by=options.jobs_by,
        leave_out_larger=options.leave_out_larger,
    )


policy_at = lru_cache(maxsize=64)(compared_policy)


def compared(task: Task, folder: Path) -> dict[str, float]:
    """Return the figures of a policy on a window, as ``compare`` runs it."""
    inputs, jobs = window_of_comparison(json.dumps(task.content["window"]))
    comparison = inputs.comparison
    found = schedule(inputs.machine, jobs, policy_at(task.content["policy"]), comparison.clock)
    return figures(found if comparison.platform else replace(found, energy=UNKNOWN))


@lru_cache(maxsize=2)
def window_of_comparison(content: str) -> tuple[Inputs, Window]:
    """Return the machine and the jobs of a window as JSON; tasks of one window are consecutive."""
    told = json.loads(content)
    comparison = comparison_of(told)
    machine, trace = of_all_windows(comparison)
    inputs = windows_of(comparison, machine, trace, [told["begin"]], told["jobs"])
    return inputs, inputs.window(0)


of_all_windows = lru_cache(maxsize=2)(machine_and_jobs)


def comparison_of(told: dict[str, Any]) -> Comparison:
    """Return a comparison without its policies."""
    platform = told.get("platform")
    return Comparison(
        Path(told["trace"]),
        (),
        Windows(),
        seed=0,
        cores=told.get("cores"),
        clock=told["clock"],
        platform=platform and Path(platform),
        jobs_by=told["jobs_by"],
        leave_out_larger=told["leave_out_larger"],
    )
