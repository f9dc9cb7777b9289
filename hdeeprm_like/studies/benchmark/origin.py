"""Where a policy comes from: its digest, what it has learned from, its training's cost and curve."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hdeeprm_like.decision.agent_names import Trained
from hdeeprm_like.decision.compared_policies import Policy
from hdeeprm_like.decision.names import Baseline
from hdeeprm_like.errors import ResultsError
from hdeeprm_like.formats.shipped import name_of
from hdeeprm_like.formats.training_logs import EVALUATIONS, PROGRESS
from hdeeprm_like.inputs import read_object, read_rows, sha256
from hdeeprm_like.studies.benchmark.protocol import Case, digest_of
from hdeeprm_like.studies.compare.inputs import files_of

CARD, OPTIONS, RECORD = "card.json", "options.json", "run.json"
POINTS = 40  # of a curve


def origin_of(policy: Policy, declared: Sequence[str] = ()) -> dict[str, Any]:
    """Return name and digest of a policy, the data that it has learned from, and seed, seconds and curve of a training.

    Args:
        declared: data that its files do not name.

    Raises:
        ResultsError: a file of a training cannot be read.
    """
    files = files_of(policy)
    found: dict[str, Any] = {"name": policy.name, "digest": sha256(*files) if files else None, "learned_from": []}
    found |= {"seed": None, "seconds": None, "curve": []}
    if isinstance(policy, Trained):
        found |= of_training(policy)
    elif isinstance(policy, Baseline):
        for file in files:
            made = read_object(file, ResultsError).get("made_by") if file.suffix == ".json" else None
            if isinstance(made, dict):
                told = made.get("learned_from", [made[key] for key in ("traces", "chosen", "trace") if key in made])
                found["learned_from"] += [str(one) for one in told]
    found["learned_from"] = list(dict.fromkeys([*found["learned_from"], *declared]))
    return found | {"declared": list(declared)}


def of_training(agent: Trained) -> dict[str, Any]:
    """Return what a trained agent has learned from, and the seed, the seconds and the curve of its training."""
    folder = agent.folder
    options = read_object(agent.options or folder / OPTIONS, ResultsError)
    model = (options.get("workload") or {}).get("model")
    record = {} if agent.options else read_object(folder / RECORD, ResultsError).get("resumable") or {}
    file = Path(str(record.get("workload") or options.get("workload_file_path") or ""))
    source = f"model:{model}" if model else name_of(file)
    found: dict[str, Any] = {"learned_from": [source], "seed": options.get("seed")}
    if agent.options is None and (folder / CARD).exists():
        card = read_object(folder / CARD, ResultsError)
        found |= {"learned_from": card["learned_from"], "seconds": card["cpu_seconds"]}
    if agent.options is None and (folder / PROGRESS).exists():
        rows = read_rows(folder / PROGRESS, ("seconds",), ResultsError)
        found["seconds"] = sum(float(row["seconds"]) for row in rows)
        found["curve"] = curve_of(folder)
    return found


def curve_of(folder: Path) -> list[list[float]]:
    """Return episodes and rewards: of the evaluations where there are some, else of the episodes learned from."""
    file = folder / EVALUATIONS if (folder / EVALUATIONS).exists() else folder / PROGRESS
    rows = read_rows(file, ("episode", "reward"), ResultsError)
    points = [(float(row["episode"]), float(row["reward"])) for row in rows]
    size = -(-len(points) // POINTS) or 1
    chunks = [points[first : first + size] for first in range(0, len(points), size)]
    return [[chunk[-1][0], sum(reward for _, reward in chunk) / len(chunk)] for chunk in chunks]


def was_learned_from(case: Case, jobs: Path, learned_from: Sequence[str]) -> str:
    """Return the entry of a list of training data that is the jobs of a fixed case, by name or digest; empty for none.

    A name stands for the whole trace. Of real logs the first half may be learned from, in other words than the name:
    ``"gaia, first half"``.
    """
    own = {case.trace, case.trace.removesuffix("-windows"), f"model:{case.model} {case.seed}", digest_of(jobs)} - {""}
    return next((one for one in learned_from if one in own), "")
