"""What an agent saw, did and got, decision by decision, as lines of JSON: the ``insights.log`` of the thesis, 4.3.

| key | value |
|---|---|
| ``time`` | s on the cluster's clock |
| ``observation`` | what was to be seen, an image row by row; each number to 7 digits |
| ``action``, ``name`` | its number and its name |
| ``reward`` | of this decision |
| ``overutilized`` | of what the cluster was short right after it: ``core``, ``mem``, ``gpu``, ``mem_bw`` |
"""

import json
from pathlib import Path

from hdeeprm_like.decision.system import DecisionSystem
from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, GPUS, MEMORY
from hdeeprm_like.formats.files import replacing
from hdeeprm_like.results.overutilization import Spans, blocked_spans, oversubscribed_spans

DECISIONS = "decisions.jsonl"
LACKS = {"core": CORES, "mem": MEMORY, "gpu": GPUS}


def write_decisions(path: Path, system: DecisionSystem) -> None:
    """Write the decisions of a run that is over and has kept its log."""
    episode, names = system.episode, system.actions.names
    short = spans_of_all(system.state)
    columns = (episode.times, episode.observations, episode.actions, episode.rewards)
    with replacing(path) as file:
        for time, seen, action, reward in zip(*columns, strict=True):
            line = {
                "time": float(time),
                "observation": [float(f"{value:.7g}") for value in seen.ravel().tolist()],
                "action": int(action),
                "name": names[action],
                "reward": float(reward),
                "overutilized": [what for what, spans in short.items() if any(a <= time < b for a, b in spans)],
            }
            file.write(json.dumps(line) + "\n")


def spans_of_all(state: State) -> dict[str, Spans]:
    """Return from when to when, in s, the cluster was short of each thing."""
    processors = [one["values"] for one in oversubscribed_spans(state).values()]
    bandwidth = [(begin, begin + lasted) for values in processors for begin, lasted in values]
    return {**{what: blocked_spans(state, lack) for what, lack in LACKS.items()}, "mem_bw": bandwidth}
