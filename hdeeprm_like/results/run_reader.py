"""Reading what a finished run left in its directory: ours, the original's or that of a real Batsim 4 or 5."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hdeeprm_like import limits
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.training_logs import LOSSES, PREFERENCES, REWARDS
from hdeeprm_like.inputs import read_document, read_json
from hdeeprm_like.results.run_files import SCHEDULE, as_left
from hdeeprm_like.results.run_values import numbers_in, numbers_of, table_of
from hdeeprm_like.types import Bools, Floats, Ints
from hdeeprm_like.values import FINITE, Number

JOBS = "out_jobs.csv"
OVERUTILIZATIONS = "overutilizations.json"
RECORD = "run.json"
WORKLOAD = "workload.json"
LEARNING = (LOSSES, REWARDS, PREFERENCES)

TIMES = ("submission_time", "starting_time", "finish_time", "waiting_time", "execution_time")
SIZE = "requested_number_of_resources"
DIGIT = 1e-6  # s, the last one that out_jobs.csv has
LATEST = 1e15  # s, a thousand of the longest jobs one after the other; what is more is a damaged file
MOST_CORES = 1e12  # of a job; what is more is one, too


@dataclass(frozen=True, eq=False)
class RunJobs:
    """The jobs of a run in the order in which they ended; what never happened (a rejected job's start) is NaN.

    Attributes:
        ids: (J,) Batsim job identifiers with their workload, ``"w0!12"``.
        size: (J,) cores requested.
        submit, start, finish, wait, run: (J,) s.
        blocks: (B, 3) job row, first core, last core: the contiguous stretches of cores that each job got.
    """

    ids: tuple[str, ...]
    size: Ints
    submit: Floats
    start: Floats
    finish: Floats
    wait: Floats
    run: Floats
    blocks: Ints

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ran(self) -> Bools:
        """(J,) whether the job started and ended."""
        return np.isfinite(self.start) & np.isfinite(self.finish)

    @property
    def held(self) -> Ints:
        """(J,) cores that the job got; those requested where it ran and which ones is not recorded, as in a stream."""
        width = self.blocks[:, 2] - self.blocks[:, 1] + 1
        recorded = np.bincount(self.blocks[:, 0], weights=width, minlength=len(self)).astype(np.int64)
        return np.where(self.ran & (recorded == 0), self.size, recorded)

    @property
    def busiest(self) -> int:
        """Most cores in use at once."""
        ran, held = self.ran, self.held
        times = np.concatenate([self.start[ran], self.finish[ran]])
        changes = np.concatenate([held[ran], -held[ran]])
        return int(np.cumsum(changes[np.lexsort((changes, times))]).max(initial=0))


class Requests(NamedTuple):
    """Requests of the jobs of a run, from ``workload.json``; None where one of the jobs has none there.

    Attributes:
        time: (J,) s requested. user: (J,) a number for each user.
    """

    time: Floats | None = None
    user: Ints | None = None


@dataclass(frozen=True, eq=False)
class Overutilizations:
    """When jobs got in one another's way (thesis 4.3, E.2).

    Attributes:
        core, memory: (n,) s, the times of conflicts that the original records; or (n, 2) s, from and to, of ours.
        processors: of the platform, P.
        bandwidth_processor: (m,) processor of each span in which its memory bandwidth was oversubscribed.
        bandwidth: (m, 2) s from and to; to is infinite where the run ended inside the span.
    """

    core: Floats
    memory: Floats
    processors: int
    bandwidth_processor: Ints
    bandwidth: Floats


@dataclass(frozen=True)
class Run:
    """A finished run; each file is read when it is first asked for.

    Attributes:
        folder: where its files are.
        schedule_path: its ``out_schedule.csv`` or Batsim 5's ``schedule.json``, wherever that is.
        only_schedule: whether the user gave nothing but that file.
    """

    folder: Path
    schedule_path: Path
    only_schedule: bool = False

    @property
    def name(self) -> str:
        """What to call the run: its directory's name, or its file's where that says more."""
        own = self.schedule_path.name.split(".")[0]
        if self.only_schedule and own not in ("out_schedule", "schedule"):
            return own
        return self.folder.resolve().name

    def has(self, name: str) -> bool:
        """Say whether the run left a file of that name, packed or not."""
        return not self.only_schedule and as_left(self.folder / name).exists()

    def path(self, name: str) -> Path:
        """Return where a file of the run is.

        Raises:
            ResultsError: the run has none; the message says which command makes it.
        """
        path = as_left(self.folder / name)
        if not path.exists():
            raise ResultsError(f"{self.folder}: has no {name}; {_maker(name)}")
        return path

    @cached_property
    def jobs(self) -> RunJobs:
        """The jobs, from ``out_jobs.csv``."""
        return _read_jobs(self.path(JOBS))

    @cached_property
    def schedule(self) -> dict[str, float]:
        """The figures of `schedule_path`; NaN for those that are none (versions, means of nothing)."""
        if not self.schedule_path.exists():
            raise ResultsError(f"{self.schedule_path.parent}: has no {SCHEDULE}; {_maker(SCHEDULE)}")
        if self.schedule_path.suffix == ".json":
            content = read_json(self.schedule_path, ResultsError)
            if not isinstance(content, dict) or "makespan" not in content:
                raise ResultsError(f"{self.schedule_path}: has no 'makespan'; is it the schedule.json of a run?")
            return {name: float(value) if type(value) in (int, float) else math.nan for name, value in content.items()}
        frame = table_of(self.schedule_path, ("makespan", "mean_slowdown"))
        if len(frame) != 1:
            raise ResultsError(f"{self.schedule_path}: has {len(frame)} rows of figures; one is needed")
        return {str(name): FINITE.in_text_or(text, math.nan) for name, text in frame.iloc[0].items()}

    @cached_property
    def overutilizations(self) -> Overutilizations:
        """The conflicts, from ``overutilizations.json``."""
        return _read_overutilizations(self.path(OVERUTILIZATIONS))

    @cached_property
    def record(self) -> dict[str, Any]:
        """What ``launch`` wrote down about the run in ``run.json``; empty for a run of another program."""
        content = read_json(self.path(RECORD), ResultsError) if self.has(RECORD) else {}
        if not isinstance(content, dict):
            raise ResultsError(f"{self.folder / RECORD}: is not an object")
        return content

    @cached_property
    def cores(self) -> int:
        """Cores of the machine: of ``out_schedule.csv``, else of ``workload.json``, else as many as were used."""
        if as_left(self.schedule_path).exists():
            known = self.schedule.get("nb_computing_machines", math.nan)
            if known > 0:
                return int(known)
        if self.has(WORKLOAD):
            content = read_json(self.path(WORKLOAD), ResultsError)
            capacity = content.get("nb_res") if isinstance(content, dict) else None
            if isinstance(capacity, int) and capacity > 0:
                return capacity
        return max(int(self.jobs.blocks[:, 2].max(initial=0)) + 1, self.jobs.busiest)

    @cached_property
    def requests(self) -> Requests:
        """What the jobs of `jobs` asked for, from ``workload.json`` if there is one."""
        content = read_json(self.path(WORKLOAD), ResultsError) if self.has(WORKLOAD) else None
        return _read_requests(content, self.jobs.ids)

    @cached_property
    def end(self) -> float:
        """Time of the last finish in s, 0 if unknown."""
        finish = self.jobs.finish[self.jobs.ran] if self.has(JOBS) else np.zeros(0)
        if len(finish):
            return float(finish.max())
        known = self.schedule.get("makespan", 0.0) if self.schedule_path.exists() else 0.0
        return known if math.isfinite(known) else 0.0

    def log(self, name: str) -> Floats:
        """Return the numbers of a log with one per line and episode: (E,)."""
        path = self.path(name)
        values = []
        for line, text in enumerate(read_document(path, ResultsError).splitlines(), start=1):
            if text.strip():
                values.append(FINITE.in_text(text, ResultsError, f"{path}:{line}"))
        return np.array(values, dtype=np.float64)

    def preferences(self) -> Floats:
        """Return the probabilities of ``probs.json``: (A, E), one row per action, one column per episode."""
        path = self.path(PREFERENCES)
        content = read_json(path, ResultsError)
        rows = content.get("probs") if isinstance(content, dict) else None
        return numbers_of(rows, f"{path}: 'probs' must be one list of probabilities per action, equally long", 2)

    def action_names(self, count: int) -> list[str]:
        """Return what to call *count* actions: the policies of the options where they are known, else numbers."""
        options = read_json(self.path("options.json"), ResultsError) if self.has("options.json") else self.record
        names = _policy_names(options)
        return names if len(names) == count else [f"action {number}" for number in range(count)]


def open_run(path: Path) -> Run:
    """Return the run in a directory, or the one whose ``out_schedule.csv`` or ``schedule.json`` is given by its path.

    Raises:
        ResultsError: there is no such directory or file.
    """
    if path.is_dir():
        return Run(path, as_left(path / SCHEDULE))
    if path.is_file():
        return Run(path.parent, path, only_schedule=True)
    raise ResultsError(f"{path}: no such run; give the directory of a run, or an {SCHEDULE}")


def open_runs(paths: Sequence[Path]) -> dict[str, Run]:
    """Return several runs by name, each with as many last folders of its path as it takes to make the names differ."""
    if not paths:
        raise ResultsError("no run to look at; give at least one directory of a run")
    runs = [open_run(path) for path in paths]
    names = [run.name for run in runs]
    parts = [[part for part in run.folder.resolve().parts if part != "/"] for run in runs]
    depth = 1
    while len(set(names)) < len(names) and depth < max(map(len, parts)):
        depth += 1
        repeated = {name for name in names if names.count(name) > 1}
        names = ["/".join(own[-depth:]) if name in repeated else name for name, own in zip(names, parts, strict=True)]
    if len(set(names)) < len(names):  # one run given twice
        names = [f"{run.name} ({place})" for place, run in enumerate(runs, start=1)]
    return dict(zip(names, runs, strict=True))


def _policy_names(options: object) -> list[str]:
    """Return the policy pairs that some options select, in the order of their actions; none where they select none."""
    if isinstance(options, list):
        return next((names for part in options if (names := _policy_names(part))), [])
    if not isinstance(options, dict):
        return []
    policies = options.get("policies")
    if isinstance(policies, list) and policies:
        return [*map(str, policies), "void"] if options.get("void") is True else [str(policy) for policy in policies]
    selection = options.get("selection")
    if not isinstance(selection, list):
        return _policy_names(list(options.values()))
    names = []
    for entry in selection:
        pairs = entry.items() if isinstance(entry, dict) else []
        names += [f"{job}-{core}" for job, cores in pairs if isinstance(cores, list) for core in cores]
    return [*names, "void"] if options.get("void") is True else names


def _maker(name: str) -> str:
    """Say which command makes a file of a run."""
    if name in LEARNING:
        return "`hdeeprm-like launch` writes it when its agent learns"
    return "`hdeeprm-like launch` writes it into the directory of its run"


def _read_jobs(path: Path) -> RunJobs:
    frame = table_of(path, ("job_id", "workload_name", SIZE, "allocated_resources", *TIMES))

    def column(name: str, lack: bool = False) -> Floats:
        most = MOST_CORES if name == SIZE else LATEST
        return np.array(numbers_in(frame, name, path, Number(-most, most), lack))

    start, finish, wait, run = (column(name, lack=True) for name in TIMES[1:])
    submit = column(TIMES[0])
    # Batsim's clock adds up many steps, so a job may start a trifle before the time in its workload
    submit = np.where((start < submit) & (start > submit - 2.0 * DIGIT), start, submit)
    blocks = [
        (row, first, last)
        for row, text in enumerate(frame["allocated_resources"])
        for first, last in _intervals(text, f"{path}:{row + 2}: allocated_resources")
    ]
    return RunJobs(
        ids=tuple(f"{name}!{job}" for name, job in zip(frame["workload_name"], frame["job_id"], strict=True)),
        size=column(SIZE).astype(np.int64),
        submit=submit,
        start=start,
        finish=finish,
        wait=wait,
        run=run,
        blocks=np.array(blocks, dtype=np.int64).reshape(-1, 3),
    )


def _read_requests(content: object, ids: Sequence[str]) -> Requests:
    """Return what a workload says about some jobs; no requests if it is of another form or lacks a job."""
    try:
        jobs = {f"w0!{str(job['id']).removeprefix('w0!')}": job for job in content["jobs"]}  # type: ignore[index]
        own = [jobs[name] for name in ids]
        profiles = [content["profiles"][job["profile"]] for job in own]  # type: ignore[index]
        times = [
            profile.get("req_time", job.get("walltime", math.nan)) for job, profile in zip(own, profiles, strict=True)
        ]
        time = np.array(times, np.float64)
        names = [str(job.get("user", "")) for job in own]
    except (KeyError, TypeError, ValueError, AttributeError):
        return Requests()
    user = np.unique(np.array(names, np.str_), return_inverse=True)[1] if all(names) else None
    return Requests(time if (time >= 0.0).all() else None, user)


def _intervals(text: str, where: str) -> list[tuple[int, int]]:
    """Return the first and last core of each stretch of an interval set as Batsim writes it: ``0-3 6``."""
    try:
        pairs = [part.partition("-") for part in text.split()]
        found = [(int(first), int(last or first)) for first, _, last in pairs]
    except ValueError:
        found = [(-1, -1)]
    if not all(0 <= first <= last < limits.CORES.most for first, last in found):
        raise ResultsError(f"{where} is {text!r:.80}, not a set of cores such as '0-3 6'")
    return found


def _read_overutilizations(path: Path) -> Overutilizations:
    content = read_json(path, ResultsError)
    try:
        core, memory, bandwidth = content["core"], content["mem"], content["mem_bw"]
        count, records = int(bandwidth["nb_procs"]), bandwidth["procs"].items()
        spans = [
            (int(number), span[0], _span_end(span, place == len(record["values"]) - 1 and record["state"] == 1))
            for number, record in records
            for place, span in enumerate(record["values"])
        ]
        columns = np.array(spans, dtype=np.float64).reshape(-1, 3)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as cause:
        raise ResultsError(f"{path}: has no overutilizations of core, mem and mem_bw ({cause})") from cause
    return Overutilizations(
        core=_conflicts(core, f"{path}: 'core'"),
        memory=_conflicts(memory, f"{path}: 'mem'"),
        processors=max(count, 1 + int(columns[:, 0].max(initial=-1))),
        bandwidth_processor=columns[:, 0].astype(np.int64),
        bandwidth=columns[:, 1:],
    )


def _span_end(span: Sequence[float], is_open: bool) -> float:
    """Return when a ``[start, duration]`` ends; one that is still open at the end of the run has no duration yet."""
    lasts = span[1] if len(span) > 1 else None
    return math.inf if lasts is None or (is_open and not lasts) else float(span[0]) + float(lasts)


def _conflicts(values: object, where: str) -> Floats:
    of_times = isinstance(values, list) and bool(values) and not isinstance(values[0], list)
    numbers = numbers_of(values, f"{where} must be a list of times or a list of [start, end]", 1 if of_times else 2)
    if not of_times and len(numbers) and numbers.shape[1] != 2:
        raise ResultsError(f"{where}: a span must be [start, end]")
    return numbers if of_times else numbers.reshape(-1, 2)
