"""The search for weights: CMA-ES over windows that are new in each generation, and validation that chooses.

A folder holds the state to continue bit for bit: the options, the initial policy, and the cost of each candidate of
each generation (`COSTS`). The search is repeated from its seed with these costs, which takes no time. The traces stay
where the options name them.

Source of the search: Hansen and Ostermeier, "Completely derandomized self-adaptation in evolution strategies", 2001.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.schedule import FIGURES, Schedule
from hdeeprm_like.cluster.workload import Workload
from hdeeprm_like.decision.actions import Policy, PolicyActions, policy_named
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.decision.policies.placing import CORE, JOB
from hdeeprm_like.decision.policies.scores import EXACT, FEATURE, KINDS, USUAL
from hdeeprm_like.decision.policy_words import SCORED
from hdeeprm_like.decision.score_files import read_scored, split_term
from hdeeprm_like.engine.job_rows import countable
from hdeeprm_like.engine.state import State
from hdeeprm_like.errors import OptionsError, ResultsError
from hdeeprm_like.formats.files import alone_in, replacing, write_json
from hdeeprm_like.inputs import read_json, read_text
from hdeeprm_like.run.loop import FOREVER, OVER, advance
from hdeeprm_like.run.memory import arrays_of
from hdeeprm_like.run.schedules import schedule_of
from hdeeprm_like.run.simulator import Clock, Simulator
from hdeeprm_like.run.to_end import constant_run
from hdeeprm_like.studies.evolution.options import BOTH_WAYS, EvolutionOptions, Source, read_evolution
from hdeeprm_like.studies.evolution.windows import VALIDATION, window_of
from hdeeprm_like.studies.sweep.engine import Engine, Where, engine_named, gathered
from hdeeprm_like.types import Floats, Ints

OPTIONS, BEGIN, COSTS, BEST, RECORD = "options.json", "begin.json", "costs.jsonl", "best.json", "run.json"
SCORES, PLACEMENT = ("queue", "backfill"), "placement"
BROKEN = 100.0  # cost of a broken constraint, above that of all policies that keep them
LEAST = {"wait": 1.0, "wait_max": 60.0, "utilization": 1e-6}  # below which ratios say nothing


@dataclass(frozen=True)
class Weight:
    """A number of a policy's file that is searched for.

    Attributes:
        path: keys that lead to it in the file. row: stage or score, in ``Scores.params`` or ``Scores.weights``; of a
            placement, the feature of cores in ``Placing.weights``.
        column: feature, or the field of ``SCORE`` for what is kept.
    """

    path: tuple[str, ...]
    row: int
    column: int | str

    @property
    def places(self) -> bool:
        """Whether it is of the score of cores."""
        return self.path[0] == PLACEMENT


def weights_in(content: dict[str, Any], searched: str = "both") -> tuple[list[Weight], Floats]:
    """Return the numbers of a policy's file that are searched for, those of one stage or of both, and their values."""
    found: dict[Weight, float] = {}
    for stage, prefix, name_of_stage in ((USUAL, (), "usual"), (EXACT, ("exact",), "exact")):
        if searched not in ("both", name_of_stage):
            continue
        part = content.get("exact", {}) if prefix else content
        for kind, score in enumerate(SCORES):
            for feature, value in part.get(score, {}).items():
                found[Weight((*prefix, score, feature), stage * KINDS + kind, FEATURE[feature])] = float(value)
        for name, value in part.get("keep", {}).items():
            if name != "bins":  # a whole number
                found[Weight((*prefix, "keep", name), stage, name)] = float(value)
    for name, value in content.get(PLACEMENT, {}).items():
        cores, job = split_term(name, PLACEMENT)
        found[Weight((PLACEMENT, name), CORE[cores], JOB[job])] = float(value)
    return list(found), np.array(list(found.values()))


def with_weights(content: dict[str, Any], weights: Sequence[Weight], values: Floats) -> dict[str, Any]:
    """Return the content of a policy's file with other numbers."""
    new: dict[str, Any] = json.loads(json.dumps(content))
    for weight, value in zip(weights, values.tolist(), strict=True):
        inner = new
        for key in weight.path[:-1]:
            inner = inner[key]
        inner[weight.path[-1]] = round(value, 6)
    return new


Row = list[tuple[Weight, float]]  # each weight and its value


def played(
    machine: Platform, jobs: Workload, policy: Policy, rows: Sequence[Row], clock: Clock = "textbook"
) -> list[dict[str, float]]:
    """Return the figures of a window under one policy with each of some rows in place of its own weights.

    All start from copies of the same arrays, because building these takes up to half of the time of the window.
    """
    actions, found = PolicyActions([policy]), []
    named = clock == "batsim" or not countable(machine, jobs)
    simulator = Simulator(State(machine, jobs, log=False, needs=actions.needs, named=named), jobs, clock)
    choices = actions.choices(simulator.state, constant=0)
    knowledge = choices.plans.knowledge  # of a learned policy; a rule, which has no weights, may have none
    run = constant_run(simulator, choices)
    fresh = [array.copy() for array in arrays_of(run)]
    for values in rows:
        for array, content in zip(arrays_of(run), fresh, strict=True):
            array[...] = content
        for weight, value in values:
            if isinstance(weight.column, str):
                knowledge.scores.params[weight.column][weight.row] = value
            elif weight.places:
                knowledge.placing.weights[weight.row, weight.column] = value
            else:
                knowledge.scores.weights[weight.row, weight.column] = value
        if (
            values and isinstance(policy, Baseline) and policy.learned is not None and policy.learned.exact is None
        ):  # both stages are one
            weights, params = knowledge.scores.weights, knowledge.scores.params
            weights[KINDS:], params[EXACT] = weights[:KINDS], params[USUAL]
        while advance(run, FOREVER) != OVER:
            pass
        found.append(figures_of(schedule_of(simulator, jobs)))
    return found


def figures_of(schedule: Schedule) -> dict[str, float]:
    """Return the figures that count."""
    return {name: FIGURES[name].value(schedule) for name in (*BOTH_WAYS, *LEAST)}


def log_ratios(own: dict[str, float], reference: dict[str, float]) -> list[float]:
    """Return ln(own / reference) of each figure, above 0 for what is worse."""
    found = []
    for name in (*BOTH_WAYS, *LEAST):
        least = LEAST.get(name, 1.0)
        ratio = float(np.log(max(own[name], least) / max(reference[name], least)))
        found.append(-ratio if name == "utilization" else ratio)
    return found


def costs_of(options: EvolutionOptions, ratios: Floats, sources: Ints) -> Floats:
    """Return what candidates cost, below 0 for what is better than the reference.

    Args:
        ratios: (windows, candidates, figures) of `log_ratios`. sources: (windows,) which source each window is of.

    Returns:
        (candidates,) the weighted means over the sources of the means over their windows. Waits and utilization count
        only where that of a source is worse: one of them must not pay for another. Where constraints are broken, it is
        `BROKEN` and by how much instead.
    """
    found, broken = np.zeros(ratios.shape[1]), np.zeros(ratios.shape[1])
    numbers = np.unique(sources)
    for source in numbers:
        means = ratios[sources == source].mean(axis=0)  # (candidates, figures)
        for i, name in enumerate((*BOTH_WAYS, *LEAST)):
            counts = means[:, i] if name in BOTH_WAYS else excess(means[:, i], options.allowed.get(name, 1.0), name)
            found += options.objective.get(name, 0.0) * counts / len(numbers)
            if name in options.constraints:
                broken += excess(means[:, i], options.constraints[name], name) / len(numbers)
    costs: Floats = np.where(broken > 0.0, BROKEN + broken, found)
    return costs


def excess(logs: Floats, ratio: float, name: str) -> Floats:
    """Return by how much `log_ratios` of a figure are worse than a ratio to the reference; 0 where they are not."""
    most = float(np.log(ratio))
    above: Floats = np.maximum(logs - (-most if name == "utilization" else most), 0.0)
    return above


def ratios_on(
    options: EvolutionOptions, folder: Path, number: int, name: str, rows: Sequence[Row]
) -> list[list[float]]:
    """Return the figures of each of some candidates beside those of the reference, on the window of a number."""
    machine, jobs = window_of(options, folder, number)
    (reference,) = played(machine, jobs, policy_named(options.reference), [[]], options.clock)
    return [log_ratios(own, reference) for own in played(machine, jobs, policy_named(name), rows, options.clock)]


class Search:
    """An evolution in its folder.

    Attributes:
        options: of the file. output: the folder.
    """

    def __init__(self, options: EvolutionOptions, folder: Path, output: Path) -> None:
        """Begin or go on.

        Args:
            folder: that the paths of the options are relative to.

        Raises:
            HDeepRMError: the policy to begin with cannot be used, or the folder holds something else.
        """
        from cmaes import CMA

        self.options, self.folder, self.output = options, folder, output
        source = output / BEGIN if (output / BEGIN).exists() else folder / options.policy
        read_scored(source)
        self._content = read_json(source, OptionsError)
        self._weights, begin = weights_in(self._content, options.stage)
        if len(begin) < 2:
            raise OptionsError(f"{source}: has {len(begin)} weights; two are needed to search for")
        write_json(output / BEGIN, self._content)
        self._name = SCORED + str((output / BEGIN).absolute())
        self._cma = CMA(begin, options.spread, seed=options.seed, population_size=options.population)
        self._begin = begin
        self.generation = 0
        self.best = np.inf
        for line in lines_of(output / COSTS)[: options.generations]:
            self._tell([self._cma.ask() for _ in range(options.population)], line["costs"])
            self.best = min(self.best, line.get("validation", np.inf))

    def _tell(self, candidates: list[Floats], costs: list[float]) -> None:
        self._cma.tell(list(zip(candidates, costs, strict=True)))
        self.generation += 1

    def _rows(self, candidates: Sequence[Floats]) -> list[Row]:
        return [list(zip(self._weights, one.tolist(), strict=True)) for one in candidates]

    def _costs(self, engine: Engine, numbers: range, candidates: Sequence[Floats]) -> Floats:
        """Return (candidates,) what they cost on some windows."""
        rows = self._rows(candidates)
        calls = [(self.options, self.folder, n, self._name, rows) for n in numbers]
        ratios = np.array(gathered(engine, ratios_on, calls))
        return costs_of(self.options, ratios, np.array(numbers) % len(self.options.windows.sources))

    def compile(self) -> None:
        """Compile what the processes need, once in place of once in each."""
        short = self.options.windows.model_copy(update={"jobs": 10})
        options = self.options.model_copy(update={"windows": short})
        ratios_on(options, self.folder, 0, self._name, self._rows([self._begin]))

    def run(self, engine: Engine) -> Iterator[float]:
        """Go on to the last generation; yield the mean cost of each one's candidates."""
        options = self.options
        count = options.windows.per_generation
        while self.generation < options.generations:
            candidates = [self._cma.ask() for _ in range(options.population)]
            numbers = range(self.generation * count, (self.generation + 1) * count)
            costs = self._costs(engine, numbers, candidates)
            self._tell(candidates, costs.tolist())
            line: dict[str, Any] = {"generation": self.generation, "costs": costs.tolist()}
            if self.generation % options.validate_every == 0 or self.generation == options.generations:
                line["validation"] = self._validate(engine)
            with (self.output / COSTS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            yield float(costs.mean())

    def _validate(self, engine: Engine) -> float:
        """Return the cost of the middle of the search on the windows of validation; keep its weights if it is best."""
        middle = np.array(self._cma.mean)
        numbers = range(VALIDATION, VALIDATION + self.options.windows.validation)
        (cost,) = self._costs(engine, numbers, [middle]).tolist()
        if cost < self.best:
            self.best = cost
            found = with_weights(self._content, self._weights, middle)
            write_json(self.output / BEST, found | {"made_by": self._lineage()})
        return float(cost)

    def _lineage(self) -> dict[str, Any]:
        """Return how the policy was made: this search, and how what it began with was made."""
        options = self.options
        jobs = options.windows.validation_jobs or options.windows.jobs
        return {
            "command": "hdeeprm-like train --method evolution",
            "seed": options.seed,
            "traces": ", ".join(dict.fromkeys(map(named, options.windows.sources))),
            "chosen": f"generation {self.generation} of {options.generations} by {options.windows.validation} windows "
            f"of {jobs} jobs",
            "begun_with": self._content.get("made_by", "a file that says nothing of how it was made"),
        }


def named(source: Source) -> str:
    """Return where windows come from, for readers."""
    if source.trace is not None:
        return f"{Path(source.trace).name} from {source.begin:g} to {source.end:g} of its jobs"
    return f"{source.model} {source.preset}, {source.estimates} requests"


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return what is known of each generation; a line that was being written when the process ended is dropped."""
    if not path.exists():
        return []
    whole = read_text(path, ResultsError).split("\n")[:-1]
    try:
        found = [json.loads(line) for line in whole]
    except (ValueError, RecursionError) as error:
        raise ResultsError(f"{path}: is no table of costs ({error}); start again in another folder") from error
    if not all(isinstance(line, dict) and isinstance(line.get("costs"), list) for line in found):
        raise ResultsError(f"{path}: is no table of costs (a line has none); start again in another folder")
    with replacing(path) as file:
        file.writelines(f"{line}\n" for line in whole)
    return found


def left_in(output: Path) -> tuple[EvolutionOptions, Path]:
    """Return the options of an evolution that is to go on, and the folder that their paths are relative to.

    Raises:
        ResultsError: the folder holds none.
    """
    record = read_json(output / RECORD, ResultsError)
    if not isinstance(record, dict) or not isinstance(record.get("folder"), str):
        raise ResultsError(f"{output / RECORD}: is of no evolution; name the folder of one")
    return read_evolution(output / OPTIONS), Path(record["folder"])


def evolve(path: Path | None, output: Path, where: Where | None = None, progress: bool = True) -> Path:
    """Evolve a policy, from the beginning, or from where a folder's evolution was left.

    Args:
        path: of the options file, None to go on.
        where: the windows are tried; None for all processors of this computer.

    Returns:
        The file of the best policy.

    Raises:
        HDeepRMError: the options cannot be used, or the folder holds another evolution.
    """
    import_module("cmaes")  # not before, for it loads all of scipy.stats; and before anything is written
    if path is None:
        options, folder = left_in(output)
    elif (output / RECORD).exists():
        raise ResultsError(f"{output}: holds a training; go on with --resume, or choose another directory")
    else:
        options, folder = read_evolution(path), path.parent.absolute()
    place = where or Where("local", output)
    with alone_in(output):
        search = Search(options, folder, output)
        write_json(output / OPTIONS, options.model_dump(mode="json"))
        write_json(output / RECORD, {"method": "evolution", "folder": str(folder), "generations": options.generations})
        windows = options.population * options.windows.per_generation
        search.compile()
        begun, first = time.perf_counter(), search.generation
        with (
            engine_named(place.engine)(place) as engine,
            tqdm(total=options.generations, initial=first, unit=" generations", disable=not progress) as bar,
        ):
            for cost in search.run(engine):
                spent = time.perf_counter() - begun
                rate = windows * (search.generation - first) / spent
                bar.set_postfix_str(f"cost {cost:.3f}, best {search.best:.3f}, {rate:.0f} windows/s")
                bar.update(1)
    return output / BEST
