"""A session that machine code plays: its jobs and machines, the messages to its scheduler, and the results."""

import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from math import inf
from struct import Struct
from typing import Any

from hdeeprm_like.batsim_server.jobs import Profile
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.outbox import Outbox, described
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.replies import read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.batsim_server.server import Ask, description
from hdeeprm_like.batsim_server.silent_decisions import TALK, Decisions, Unusual, way_to_server
from hdeeprm_like.batsim_server.simulation import Simulation, row_of
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.engine.actor_fields import ASKS, FULL, KILLING, OVER, UNUSUAL
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import EnergyRow, JobRow, MachineStateRow, PstateRow

Advance = Callable[[], int]
MakeAdvance = Callable[[layout.Memory], Advance]  # returns `silent_clock.advance` for a session's memory

JOB, METER = layout.places_of(layout.JOB), layout.places_of(layout.METER)
EVENTS, NOW, ROWS, WRITTEN, READS = TALK["events"], TALK["now"], TALK["rows"], TALK["written"], TALK["reply"]
OUTCOME, DELAYS, PROGRESS = JOB["outcome"], JOB["delay"], JOB["progress"]
WORDS = len(JOB)
AFTER_NAME = b',"job":'  # in the description of a job; a name has no such quotes
KINDS = {layout.AT_START: "s", layout.AT_END: "e"}  # of rows of energy; those of P-states are "p"
MOST_DIGITS = 10  # of a number in the name of a job
HIGHEST = 4  # numbers in the names of jobs are looked up in a table of up to so many entries for each job


class SilentSession:
    """A silent simulation and its scheduler.

    Attributes:
        replies: those so far. scheduling_time: s of wall clock that they took.
    """

    def __init__(self, simulation: Simulation, ask: Ask, make_advance: MakeAdvance) -> None:
        """Put jobs and machines into the memory of the machine code; *ask* is the scheduler."""
        self.simulation = simulation
        self.ask = ask
        self.replies: list[bytes] = []
        self.scheduling_time = 0.0
        self._jobs = sorted(simulation.workloads[0], key=lambda job: (job.submit, job.identifier))
        self._state_rows: list[MachineStateRow] = []
        self._energy_rows: list[EnergyRow] = []
        self._pstate_rows: list[PstateRow] = []
        self._switches = self._switched = 0  # changes of P-states, and machines in them
        self._allocs = bytearray()  # the machines of jobs that have ended, as text
        self._parts: list[str] = []  # of the message, those that are complete
        powers, places = _powers(simulation)
        rows = {job.identifier: row for row, job in enumerate(self._jobs)}
        texts, numbers = self._texts(), _numbers(rows)
        content = layout.Content(
            *(len(rows), len(simulation.machines), len(powers), b"".join(texts), max(map(len, texts)), len(numbers)),
            sends=not simulation.quiet,
            followed=[machine.host.profile for machine in simulation.machines.all],
        )
        self._memory = memory = layout.Memory(content)
        self._talk, self._times = memory.integers("talk"), memory.floats("talk")
        self._job, self._job_times = memory.integers("tasks"), memory.floats("tasks")
        self._events, self._event_times = memory.integers("events"), memory.floats("events")
        self._bytes = {name: memoryview(memory.arrays[name]) for name in ("reply", "out", "allocs")}
        memory.integers("numbers")[:] = numbers
        way, at = way_to_server(simulation, simulation.master), TALK["latency"]
        self._times[at], self._times[at + 1], self._times[at + 2] = way
        self._note_jobs(texts)
        self._note_machines(powers, places)
        self._decisions = Decisions(simulation, self._jobs, rows, memory)
        self._advance = make_advance(memory)

    def _texts(self) -> list[bytes]:
        """Return the description of each job in the message of its arrival."""
        with_profile = self.simulation.options.forward_profiles
        return [described(job, with_profile).encode() for job in self._jobs]

    def _note_jobs(self, texts: Sequence[bytes]) -> None:
        """Put the jobs into the memory."""
        put, jobs, at = Struct(layout.GIVEN).pack_into, self._memory.arrays["tasks"], 0
        submit = self._memory.floats("submit")
        known: dict[Profile, tuple[float, float, bool, bool, bool, bool]] = {}
        for place, (job, text) in enumerate(zip(self._jobs, texts, strict=True)):
            if job.profile not in known:
                known[job.profile] = _amounts(job.profile)
            delay, flops, divided, listed, sends, any_size = known[job.profile]
            wanted, end, key = 0 if any_size else job.size, at + len(text), at + text.index(AFTER_NAME)
            kind = job.walltime if job.walltime > 0.0 else inf, delay, flops, divided, listed, sends, wanted
            put(jobs, place * WORDS * layout.WORD, *kind, job.profile.ret, at, key, end)
            submit[place] = job.submit
            at = end

    def _note_machines(self, powers: list[tuple[float, ...]], places: list[int]) -> None:
        """Put the machines and their P-states into the memory."""
        memory, fields = self._memory, layout.places_of(layout.MACHINE)
        table, machines, watts = memory.floats("powers"), memory.integers("machines"), memory.floats("machines")
        for place, power in enumerate(power for row in powers for power in row):
            table[place] = power
        for number, machine in enumerate(self.simulation.machines.all):
            at = number * len(fields)
            machines[at + fields["power"]], machines[at + fields["pstate"]] = places[number], machine.pstate
            watts[at + fields["watts"]] = powers[places[number]][2]  # SimGrid first takes P-state 0
        memory.integers("meter")[METER["measures"]] = self.simulation.machines.meter is not None
        memory.floats("meter")[METER["first"]] = -1.0

    def run(self) -> bool | None:
        """Play to the end; return whether the simulation ended rather than got stuck, None if something is unusual."""
        advance, talk, reply, room = self._advance, self._talk, self._bytes["reply"], len(self._bytes["reply"])
        raw = b""
        while (result := advance()) not in (OVER, UNUSUAL):
            if result == FULL:
                self._fetch()
                continue
            if result == ASKS:
                text = self._message()
                began = time.perf_counter()
                raw = self.ask(text)
                self.scheduling_time += time.perf_counter() - began
                self.replies.append(raw)
                if 0 < len(raw) < room:
                    reply[: len(raw)], reply[len(raw)], talk[READS] = raw, 0, len(raw)
                    continue
            decisions = read_reply(raw, SCHEDULER_EVENTS)
            try:
                self._decisions.take(decisions)
            except (ProtocolError, Unusual):
                return None
        return None if result == UNUSUAL else bool(talk[TALK["ended"]])

    def _message(self) -> str:
        """Return the message to the scheduler."""
        talk, end = self._talk, self._talk[WRITTEN]
        if not talk[EVENTS] and not self._parts:
            text = str(self._bytes["out"][talk[TALK["head"]] : end], "utf-8")
        else:
            self._parts += self._events_up_to(end)
            head = str(self._bytes["out"][talk[TALK["head"]] : layout.HEAD], "utf-8")
            text = head + "".join(self._parts)
            self._parts = []
        talk[TALK["listed"]], talk[WRITTEN] = 0, layout.HEAD
        return text

    def _events_up_to(self, end: int) -> Iterator[str]:
        """Yield the message up to some byte of what is written, with the events that machine code has left out."""
        at, out, words = layout.HEAD, self._bytes["out"], len(layout.EVENT)
        for place in range(0, words * self._talk[EVENTS], words):
            kind, row, _, _, here = self._events[place : place + words]
            yield str(out[at:here], "utf-8")
            yield self._event(kind, row, *self._event_times[place + 2 : place + 4])
            at = here
        yield str(out[at:end], "utf-8")
        self._talk[EVENTS] = 0

    def _event(self, kind: int, row: int, now: float, joules: float) -> str:
        """Return an event for the scheduler."""
        outbox = Outbox()
        if kind == layout.SWITCHED:
            switch = self._decisions.switches[row]
            outbox.resources_changed(switch.machines, switch.pstate, now)
        elif kind == layout.ANSWER:
            outbox.energy_answer(joules, now)
        elif kind == layout.JOBS_KILLED:
            outbox.jobs_killed(*self._killed(row), now)
        elif kind == layout.NO_MORE_JOBS:
            outbox.no_more_jobs(now)
        elif kind == layout.BEGINS:
            outbox.add("SIMULATION_BEGINS", description(self.simulation), now)
        else:
            outbox.simulation_ends(now)
        return outbox.listed()

    def _killed(self, number: int) -> tuple[list[str], dict[str, Any]]:
        """Return the jobs that one decision has killed, and the progress of those that still ran."""
        words = len(KILLING)
        first, count = self._memory.integers("killings")[number * words : number * words + 2]
        rows = self._memory.integers("kills")[first : first + count].tolist()
        progress = {
            self._jobs[row].identifier: {
                "profile_name": self._jobs[row].profile.name,
                "progress": self._job_times[row * WORDS + PROGRESS],
            }
            for row in rows
            if self._job[row * WORDS + OUTCOME] == layout.KILLED
        }
        return [self._jobs[row].identifier for row in rows], progress

    def _outcome(self, row: int) -> str:
        """Return the final state of a job that ran."""
        outcome = self._job[row * WORDS + OUTCOME]
        if outcome == layout.SUCCESS:
            return "COMPLETED_FAILED" if self._jobs[row].profile.ret else "COMPLETED_SUCCESSFULLY"
        return "COMPLETED_KILLED" if outcome == layout.KILLED else "COMPLETED_WALLTIME_REACHED"

    def _fetch(self) -> None:
        """Take the rows of the output files, the machines of jobs and a part of the message out of the memory."""
        rows, times = self._memory.integers("rows"), self._memory.floats("rows")
        machines, words = len(self.simulation.machines), len(layout.ROW)
        for place in range(0, words * self._talk[ROWS], words):
            kind, number, now = rows[place], rows[place + 1], times[place + 2]
            if kind == layout.COMPUTING:
                self._state_rows.append((now, 0, 0, 0, machines - number, number))
                continue
            joules, least, watts = times[place + 3 : place + 6]
            self._energy_rows.append((now, joules, KINDS.get(kind, "p"), least, None if watts < 0.0 else watts))
            if kind not in KINDS:
                switch = self._decisions.switches[number]
                begins = kind == layout.SWITCHES
                self._pstate_rows.append((now, switch.machines, -1 if begins else switch.pstate))
                self._switches, self._switched = self._switches + begins, self._switched + begins * switch.size
        self._talk[ROWS] = 0
        self._allocs += self._bytes["allocs"][: self._talk[TALK["allocs"]]]
        self._talk[TALK["allocs"]], self._talk[TALK["fetched"]] = 0, len(self._allocs)
        self._parts += self._events_up_to(self._talk[WRITTEN])
        self._talk[WRITTEN] = layout.HEAD

    def note_results(self) -> None:
        """Note the results in the simulation, as the `Server` does."""
        simulation, machines, talk = self.simulation, self.simulation.machines, self._talk
        self._fetch()
        self._ended = self._allocs.decode()
        simulation.rows = [self._result(row) for row in self._memory.integers("closed")[: talk[TALK["closed"]]]]
        machines.state_rows += self._state_rows
        machines.energy_rows += self._energy_rows
        machines.pstate_rows += self._pstate_rows
        if machines.meter is not None:
            machines.joules_at_last_end = next((row[1] for row in reversed(self._energy_rows) if row[2] == "e"), -1.0)
            simulation.joules_at_first = self._memory.floats("meter")[METER["first"]]
            machines.grouped_switches, machines.machine_switches = self._switches, self._switched
        machines.seconds[MachineState.IDLE] = self._times[TALK["idle_seconds"]]
        machines.seconds[MachineState.COMPUTING] = self._times[TALK["computing_seconds"]]
        simulation.submitted, simulation.completed = talk[TALK["submitted"]], talk[TALK["completed"]]
        simulation.scheduling_time, simulation.engine.now = self.scheduling_time, self._times[NOW]

    def _result(self, row: int) -> JobRow:
        job, place = self._jobs[row], row * WORDS
        job.state = "REJECTED"
        if note := self._job[place + JOB["note"]]:
            job.metadata = self._decisions.notes[note - 1]
        if self._job[place + OUTCOME]:
            alloc, length = self._job[place + JOB["alloc"]], self._job[place + JOB["alloc_length"]]
            job.state, job.alloc = self._outcome(row), self._ended[alloc : alloc + length]
            job.start, job.run = self._job_times[place + JOB["start"]], self._job_times[place + JOB["run"]]
            if self.simulation.machines.meter is not None:
                job.joules = self._job_times[place + JOB["joules"]]
        return row_of(job)


def _numbers(rows: Mapping[str, int]) -> "array[int]":
    """Return the row of the job with each number, such as w0!12; -1 where there is none, or they are too large."""
    most, found = HIGHEST * len(rows) + 1, array("q")
    for identifier, row in rows.items():
        text = identifier.removeprefix("w0!")
        number = int(text) if text.isdecimal() and len(text) < MOST_DIGITS else -1
        if number < most and text == str(number):
            found.extend(repeat(-1, number + 1 - len(found)))
            found[number] = row
    return found or array("q", [-1])


def _amounts(profile: Profile) -> tuple[float, float, bool, bool, bool, bool]:
    """Return what a job with a profile does.

    Returns:
        Its s of sleep, below 0 if it computes; its flop on each machine; whether these are of all machines together,
        whether they are listed instead, whether it may send, and whether it takes any number of machines.
    """
    if profile.type is DELAY:
        return profile.parameters, 0.0, False, False, False, profile.any_size
    listed = profile.type is PARALLEL
    flops = 0.0 if listed else profile.parameters.flops
    sends = not profile.type.silent(profile.parameters)
    return -1.0, flops, profile.type is HOMOGENEOUS_TOTAL, listed, sends, profile.any_size


def _powers(simulation: Simulation) -> tuple[list[tuple[float, ...]], list[int]]:
    """Return speed, cores and power in each P-state of each kind of machine, and the place of each machine's first."""
    places: dict[tuple[tuple[float, ...], ...], int] = {}
    powers: list[tuple[float, ...]] = []
    known: dict[tuple[object, ...], int] = {}  # places by what machines of a cluster share
    found = []
    for machine in simulation.machines.all:
        host = machine.host
        alike = id(host.properties), host.speeds, host.cores
        if alike not in known:
            unmeasured = ((0.0, 0.0, 0.0),) * len(host.speeds)
            ranges = host.power_ranges() if simulation.machines.meter is not None else unmeasured
            kind = tuple((speed, float(host.cores), *watts) for speed, watts in zip(host.speeds, ranges, strict=True))
            if kind not in places:
                places[kind] = len(powers)
                powers += kind
            known[alike] = places[kind]
        found.append(known[alike])
    return powers, found
