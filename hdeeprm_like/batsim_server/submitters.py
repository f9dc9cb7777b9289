"""The actors around the server: who submits jobs, who brings outside events, who wakes the scheduler, who switches."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hdeeprm_like.batsim_server.engine import Script, Work
from hdeeprm_like.batsim_server.jobs import Job
from hdeeprm_like.batsim_server.machines import Machine, MachineState
from hdeeprm_like.batsim_server.protocol import encode
from hdeeprm_like.errors import OptionsError, WorkloadError
from hdeeprm_like.formats.files import read_text
from hdeeprm_like.results.batsim_files import parse_interval_set

if TYPE_CHECKING:
    from hdeeprm_like.batsim_server.session import Session

SHORTEST_WAIT = 1e-5  # s, of a CALL_ME_LATER
_EVENT_ORDER = {"machine_available": 0, "machine_unavailable": 1}  # others after them


@dataclass(frozen=True)
class OutsideEvent:
    """Something that happens to the cluster, from an events file."""

    timestamp: float  # s
    kind: str
    machines: tuple[int, ...]
    text: str  # JSON


def read_events(path: Path, machines: int, forward_unknown: bool) -> list[OutsideEvent]:
    """Return the events of a file with one JSON object per line, in the order in which they happen.

    Raises:
        WorkloadError: a line is no event.
        OptionsError: an event is of an unknown type, and they are not to be forwarded.
    """
    events: list[OutsideEvent] = []
    for number, line in enumerate(read_text(path, WorkloadError).splitlines(), start=1):
        if line.strip():
            events.append(_read_event(line, f"{path}:{number}", machines, forward_unknown))
    return sorted(events, key=lambda event: (event.timestamp, _EVENT_ORDER.get(event.kind, 2)))


def _read_event(line: str, where: str, machines: int, forward_unknown: bool) -> OutsideEvent:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as cause:
        raise WorkloadError(f"{where}: not valid JSON: {cause}") from cause
    kind = content.get("type") if isinstance(content, dict) else None
    time = content.get("timestamp") if isinstance(content, dict) else None
    if not isinstance(kind, str) or isinstance(time, bool) or not isinstance(time, int | float):
        raise WorkloadError(f"{where}: an event is an object with a type and a timestamp")
    if "\\ud" in line.lower():
        raise WorkloadError(f"{where}: holds half a surrogate pair, or a whole one that is not written as UTF-8")
    if not 0.0 <= time < 1e15:
        raise WorkloadError(f"{where}: timestamp {str(time)[:40]} is no time")
    if kind in _EVENT_ORDER:
        named = parse_interval_set(str(content.get("resources", "")), below=machines, error=WorkloadError)
        return OutsideEvent(float(time), kind, tuple(named), encode(content))
    if not forward_unknown:
        raise OptionsError(f"{where}: event type {kind!r} is not known; forward it with --forward-unknown-events")
    return OutsideEvent(float(time), kind, (), encode(content))


def submit_jobs(session: "Session", jobs: Sequence[Job]) -> Script:
    """Submit the jobs of one workload, those of one time together."""
    first = True

    def before_first() -> Script:
        nonlocal first
        if first:
            first = False
            yield from session.note_first_submission()

    waiting = sorted(jobs, key=lambda job: (job.submit, job.identifier))
    yield from _one_by_one(session, [(job.submit, job) for job in waiting], "JOB_SUBMITTED", before_first)
    yield (session.engine.put, ("SUBMITTER_BYE", "jobs"))


def bring_events(session: "Session", events: Sequence[OutsideEvent]) -> Script:
    """Bring the events of one file, those of one time together."""

    def nothing() -> Script:
        yield from ()

    yield from _one_by_one(session, [(event.timestamp, event) for event in events], "EVENTS", nothing)
    yield (session.engine.put, ("SUBMITTER_BYE", "events"))


def _one_by_one(session: "Session", items: Sequence[tuple[float, Any]], kind: str, before_first: Any) -> Script:
    engine = session.engine
    yield (engine.put, ("SUBMITTER_HELLO", None))
    reached = engine.now  # as in Batsim, not looked at again after sending, which delays the next date by that time
    together: list[Any] = []
    for time, item in items:
        if time > reached:
            if together:
                yield (engine.put, (kind, together))
                together = []
            yield (engine.sleep, time - reached)
            reached = engine.now
        yield from before_first()
        together.append(item)
    if together:
        yield (engine.put, (kind, together))


def wake_later(session: "Session", time: float) -> Script:
    """Tell the server when a time has come, unless the simulation has ended."""
    engine = session.engine
    if engine.now < time:
        yield (engine.sleep, max(time - engine.now, SHORTEST_WAIT))
    if session.ends_sent:
        session.waiters -= 1
    else:
        yield (engine.put, ("WAITING_DONE", None))


def switch_machine(session: "Session", machine: Machine, pstate: int, way: str) -> Script:
    """Lead a machine to sleep (``off``) or back (``on``) through the P-state in which that takes its time."""
    engine = session.engine
    sleeping = pstate if way == "off" else machine.pstate
    through = machine.sleep_pstates[sleeping][0 if way == "off" else 1]
    yield from session.set_pstate(machine, through)
    work = Work({machine.constraint: 1.0}, (machine.number,), 0.0, 0.0)  # 1 flop at the P-state's speed
    action = yield (engine.start, work)
    yield (engine.wait, action, -1.0)
    yield from session.set_pstate(machine, pstate)
    state = MachineState.SLEEPING if way == "off" else MachineState.IDLE
    session.machines.set_state(machine, state, engine.now)
    yield (engine.put, ("SWITCHED", (machine.number, pstate)))
