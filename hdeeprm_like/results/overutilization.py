"""When a cluster was short of something: the content of ``overutilizations.json``, from the log of a state."""

from collections import defaultdict
from typing import Any

from hdeeprm_like.engine.state import State
from hdeeprm_like.engine.tables import CORES, GPUS, LOG_BLOCKED, LOG_OVERSUBSCRIBED, MEMORY
from hdeeprm_like.types import Records

Spans = list[tuple[float, float]]  # from, to in s


def overutilizations(state: State) -> dict[str, object]:
    """Return when the selected job lacked cores, memory or GPUs, and when processors were short of bandwidth.

    ``core``, ``mem`` and, on a platform with GPUs, ``gpu`` list spans [from, to]; ``mem_bw`` lists [from,
    duration] by processor, as the original. All are closed, at the last instant if they last until then.
    """
    gpu = {"gpu": blocked_spans(state, GPUS)} if state.platform.node_gpus.any() else {}
    return {
        "core": blocked_spans(state, CORES),
        "mem": blocked_spans(state, MEMORY),
        **gpu,
        "mem_bw": {"nb_procs": state.platform.processors, "procs": oversubscribed_spans(state)},
    }


def entries(state: State, kind: int) -> Records:
    """Return the log entries of a kind, in order."""
    log: Records = state.tables.log[: int(state.tables.clock["logged"][0])]
    found: Records = log[log["kind"] == kind]
    return found


def blocked_spans(state: State, lack: int) -> Spans:
    """Return the spans in which the selected job lacked something."""
    changes = [(time, value == lack) for time, _, _, value, _ in entries(state, LOG_BLOCKED).tolist()]
    return spans(changes, state.now)


def oversubscribed_spans(state: State) -> dict[str, dict[str, Any]]:
    """Return the spans of over-utilized bandwidth by processor."""
    changes = defaultdict(list)
    for time, _, processor, begins, _ in entries(state, LOG_OVERSUBSCRIBED).tolist():
        changes[processor].append((time, bool(begins)))
    return {
        str(processor): {"state": 0, "values": [(begin, end - begin) for begin, end in spans(own, state.now)]}
        for processor, own in changes.items()
    }


def spans(changes: list[tuple[float, bool]], end: float) -> Spans:
    """Turn on and off switches into spans, joining those that touch and dropping empty ones."""
    found: Spans = []
    begin: float | None = None
    for time, on in [*changes, (end, False)]:
        if on and begin is None:
            begin = time
            if found and found[-1][1] == time:
                begin = found.pop()[0]
        elif not on and begin is not None:
            if time > begin:
                found.append((begin, time))
            begin = None
    return found
