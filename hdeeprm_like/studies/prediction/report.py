"""Compare predicted with true run times in the last part of a trace."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hdeeprm_like.cluster.account import Account
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pool import pool
from hdeeprm_like.decision.tree_files import is_predictor, predictor
from hdeeprm_like.engine.numbers import RUN_TIMES
from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.formats.job_reading import Reading, larger_of, machine_size, read_jobs
from hdeeprm_like.formats.swf import Trace
from hdeeprm_like.formats.windows import Window, window
from hdeeprm_like.run.replay import replay
from hdeeprm_like.studies.compare.text import aligned
from hdeeprm_like.types import Floats

USUAL = ("requested", "tsafrir", "ewma", "expected")


@dataclass(frozen=True, eq=False)
class Recording:
    """The jobs of a trace with their recorded starts.

    Attributes:
        trace: its jobs. machine: a pool of its cores. window: the jobs in the order of submission.
        start: (J,) s, recorded starts; a job without a wait in the trace started at once.
        first: the first job of the last part; all jobs before it are past.
    """

    trace: Trace
    machine: Platform
    window: Window
    start: Floats
    first: int

    @property
    def finish(self) -> Floats:
        """(J,) s."""
        return self.start + self.window.workload.delay

    @property
    def now(self) -> float:
        """The beginning of the last part, in s."""
        return float(self.window.workload.submit[self.first])


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a predictor in the last part.

    Attributes:
        predictor: its name.
        r2: share of the variance of ln(run time) that it explains, negative if a constant is better; None if all run
        times are equal.
        mean_log_error, rms_log_error: of ln(predicted / run time).
        underestimates: share of the jobs that run longer than predicted.
        mean_ratio: mean of run time / predicted.
        accuracy: mean of the smaller of the two over the larger (Tsafrir et al., "Backfilling using system-generated
            predictions rather than user runtime estimates", 2007).
    """

    predictor: str
    r2: float | None
    mean_log_error: float
    rms_log_error: float
    underestimates: float
    mean_ratio: float
    accuracy: float


@dataclass(frozen=True)
class Report:
    """The result of `report`.

    Attributes:
        trace: the file. cores: of the machine. past: jobs used only for training. jobs: in the last part.
        predictors: accuracy of each there. account: of the trace.
    """

    trace: str
    cores: int
    past: int
    jobs: int
    predictors: tuple[Accuracy, ...]
    account: Account | None = None

    def content(self) -> dict[str, Any]:
        """Return the content of a JSON file."""
        return asdict(replace(self, account=None)) | {"account": self.account and self.account.content()}


def predictors_named(text: str) -> tuple[str, ...]:
    """Return the run times of ``"requested,tsafrir,learned:FILE.json"``, each once.

    Raises:
        OptionsError: one is not known, or its file cannot be used.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if is_predictor(name):
            predictor(name)
        elif name not in RUN_TIMES:
            known = (*RUN_TIMES, "learned:FILE.json")
            raise OptionsError(f"--predictors: {name!r:.80} is not known{did_you_mean(name, known)}")
    return names


def read_recording(path: Path, split: float, cores: int | None = None, leave_out_larger: bool = False) -> Recording:
    """Read a trace with the recorded starts of its jobs.

    Args:
        split: share of past jobs, from 0 to 1. cores: of the machine, None for those of the header.
        leave_out_larger: whether jobs larger than the machine are left out; otherwise they are an error.

    Raises:
        HDeepRMError: the trace cannot be used, or one of its parts has no job.
    """
    trace = read_jobs(path, Reading(cores, larger_of(leave_out_larger), memory=False))
    machine = pool(machine_size(trace))
    jobs = window(trace, machine.cores)
    first = int(split * len(trace))
    if not 0 < first < len(trace):
        raise OptionsError(f"--split: {split:g} of {len(trace)} jobs leaves no past job, or none to predict")
    assert jobs.wait is not None
    return Recording(trace, machine, jobs, jobs.workload.submit + np.maximum(jobs.wait, 0.0), first)


def report(recording: Recording, predictors: Sequence[str]) -> Report:
    """Return the accuracy of predictors in the last part of a trace; they know all jobs before.

    Raises:
        OptionsError: the file of a learned predictor cannot be used.
    """
    jobs, first = recording.window.workload, recording.first
    told = replay(recording.machine, jobs, recording.start, predictors)
    found = [
        accuracy(name, jobs.delay[first:], predicted[first:])
        for name, predicted in zip(predictors, told.predicted, strict=True)
    ]
    trace, cores = recording.trace, recording.machine.cores
    return Report(str(trace.path), cores, first, len(jobs) - first, tuple(found), trace.account)


def accuracy(name: str, run: Floats, predicted: Floats) -> Accuracy:
    """Return the accuracy of (J,) s of predicted run times; predicted and true ones count as 1 s at least."""
    run, predicted = np.maximum(run, 1.0), np.maximum(predicted, 1.0)
    error = np.log(predicted / run)
    variance = float(np.var(np.log(run))) if np.ptp(run) > 0.0 else 0.0  # np.var of equal numbers is not always 0
    return Accuracy(
        predictor=name,
        r2=1.0 - float(np.mean(error**2)) / variance if variance > 0.0 else None,
        mean_log_error=float(np.mean(error)),
        rms_log_error=float(np.sqrt(np.mean(error**2))),
        underestimates=float(np.mean(predicted < run)),
        mean_ratio=float(np.mean(run / predicted)),
        accuracy=float(np.mean(np.minimum(run, predicted) / np.maximum(run, predicted))),
    )


HEADS = ("R2", "mean log error", "rms log error", "underestimates", "run / predicted", "accuracy")


def format_report(found: Report) -> str:
    """Return a report as text: a line about the trace, and a table."""
    lines = [["predictor", *HEADS]]
    for one in found.predictors:
        lines.append(
            [
                one.predictor,
                "-" if one.r2 is None else f"{one.r2:.3f}",
                f"{one.mean_log_error:+.2f}",
                f"{one.rms_log_error:.2f}",
                f"{one.underestimates:.1%}",
                f"{one.mean_ratio:.2f}",
                f"{one.accuracy:.2f}",
            ]
        )
    about = f"{found.trace}: the last {found.jobs} jobs on {found.cores} cores; {found.past} before them are past"
    return f"{about}\n{aligned(lines)}"
