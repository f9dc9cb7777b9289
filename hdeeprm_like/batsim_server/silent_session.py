"""A session that machine code plays: its jobs and machines, the messages to its scheduler, and the results."""

import time
from collections.abc import Callable
from typing import Any

from hdeeprm_like.batsim_server.jobs import KILLED
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.outbox import Outbox
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.replies import read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.batsim_server.server import Ask, description
from hdeeprm_like.batsim_server.silent_decisions import JOB, TALK, Decisions, Unusual, is_possible, way_to_server
from hdeeprm_like.batsim_server.simulation import Simulation, row_of
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import EnergyRow, JobRow, MachineStateRow, PstateRow

Advance = Callable[[], int]
MakeAdvance = Callable[[layout.Memory], Advance]  # returns `silent_clock.advance` for a session's memory

EVENTS, NOW, ROWS = TALK["events"], TALK["now"], TALK["rows"]
OUTCOME, DELAYS, PROGRESS = JOB["outcome"], JOB["delay"], JOB["progress"]
WORDS = len(JOB)
METER = {name: place for place, (name, _) in enumerate(layout.METER)}
KINDS = {layout.AT_START: "s", layout.AT_END: "e"}  # of rows of energy; those of P-states are "p"


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
        self._outbox = Outbox()
        self._jobs = sorted(simulation.workloads[0], key=lambda job: (job.submit, job.identifier))
        self._state_rows: list[MachineStateRow] = []
        self._energy_rows: list[EnergyRow] = []
        self._pstate_rows: list[PstateRow] = []
        self._switches = self._switched = 0  # changes of P-states, and machines in them
        powers = _powers(simulation)
        self._memory = memory = layout.Memory(len(self._jobs), len(simulation.machines), len(powers[0]))
        self._talk, self._times = memory.integers("talk"), memory.floats("talk")
        self._job, self._job_times = memory.integers("jobs"), memory.floats("jobs")
        self._events, self._event_times = memory.integers("events"), memory.floats("events")
        self._decisions = Decisions(simulation, self._jobs, memory)
        way, at = way_to_server(simulation, simulation.master)[0], TALK["latency"]
        assert is_possible(way)
        self._times[at], self._times[at + 1], self._times[at + 2] = way
        for row, job in enumerate(self._jobs):
            place = row * WORDS
            self._job_times[place + JOB["submit"]] = job.submit
            self._job_times[place + JOB["walltime"]] = job.walltime
            self._job_times[place + DELAYS] = job.profile.parameters if job.profile.type is DELAY else -1.0
        if simulation.machines.meter is not None:
            self._measure(*powers)
        self._advance = make_advance(memory)

    def _measure(self, powers: list[tuple[float, ...]], places: list[int]) -> None:
        """Have the energy of the machines measured."""
        memory = self._memory
        table, machines, watts = memory.floats("powers"), memory.integers("machines"), memory.floats("machines")
        fields = {name: place for place, (name, _) in enumerate(layout.MACHINE)}
        for place, power in enumerate(power for row in powers for power in row):
            table[place] = power
        for number, machine in enumerate(self.simulation.machines.all):
            at = number * len(fields)
            machines[at + fields["power"]], machines[at + fields["pstate"]] = places[number], machine.pstate
            watts[at + fields["watts"]] = powers[places[number]][2]  # SimGrid first takes P-state 0
        memory.integers("meter")[METER["measures"]] = 1
        memory.floats("meter")[METER["first"]] = -1.0

    def run(self) -> bool | None:
        """Play to the end; return whether the simulation ended rather than got stuck, None if something is unusual."""
        advance, talk = self._advance, self._talk
        while (result := advance()) in (layout.ASKS, layout.FULL):
            if result == layout.FULL:
                self._fetch_rows()
                continue
            text = self._message()
            began = time.perf_counter()
            raw = self.ask(text)
            self.scheduling_time += time.perf_counter() - began
            self.replies.append(raw)
            reply = read_reply(raw, SCHEDULER_EVENTS)
            try:
                self._decisions.take(reply)
            except (ProtocolError, Unusual):
                return None
        return None if result == layout.UNUSUAL else bool(talk[TALK["ended"]])

    def _message(self) -> str:
        """Return the message to the scheduler."""
        outbox, jobs, simulation = self._outbox, self._jobs, self.simulation
        for place in range(0, len(layout.EVENT) * self._talk[EVENTS], len(layout.EVENT)):
            kind, row, now = self._events[place], self._events[place + 1], self._event_times[place + 2]
            if kind == layout.JOB_SUBMITTED:
                outbox.job_submitted(jobs[row], simulation.options.forward_profiles, now)
            elif kind == layout.JOB_COMPLETED:
                state, code = self._outcome(row)
                outbox.job_completed(jobs[row].identifier, state, code, self._decisions.allocs[row], now)
            elif kind == layout.CALLED:
                outbox.called("", now)
            elif kind == layout.SWITCHED:
                switch = self._decisions.switches[row]
                outbox.resources_changed(switch.machines, switch.pstate, now)
            elif kind == layout.ANSWER:
                outbox.energy_answer(self._event_times[place + 3], now)
            elif kind == layout.JOBS_KILLED:
                outbox.jobs_killed(*self._killed(row), now)
            elif kind == layout.NO_MORE_JOBS:
                outbox.no_more_jobs(now)
            elif kind == layout.BEGINS:
                outbox.add("SIMULATION_BEGINS", description(simulation), now)
            else:
                outbox.simulation_ends(now)
        self._talk[EVENTS] = 0
        return outbox.take(self._times[NOW])

    def _killed(self, number: int) -> tuple[list[str], dict[str, Any]]:
        """Return the jobs that one decision has killed, and the progress of those that still ran."""
        words = len(layout.STRIKE)
        first, count = self._memory.integers("strikes")[number * words : number * words + 2]
        rows = self._memory.integers("struck")[first : first + count].tolist()
        progress = {
            self._jobs[row].identifier: {
                "profile_name": self._jobs[row].profile.name,
                "progress": self._job_times[row * WORDS + PROGRESS],
            }
            for row in rows
            if self._job[row * WORDS + OUTCOME] == layout.KILLED
        }
        return [self._jobs[row].identifier for row in rows], progress

    def _outcome(self, row: int) -> tuple[str, int]:
        """Return the final state and the return code of a job that ran."""
        outcome = self._job[row * WORDS + OUTCOME]
        if outcome == layout.WALLTIME:
            return "COMPLETED_WALLTIME_REACHED", -1
        if outcome == layout.KILLED:
            return "COMPLETED_KILLED", KILLED if self._job_times[row * WORDS + DELAYS] < 0.0 else -1
        code = self._jobs[row].profile.ret
        return ("COMPLETED_FAILED" if code else "COMPLETED_SUCCESSFULLY"), code

    def _fetch_rows(self) -> None:
        """Take the rows of the output files out of the memory."""
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
                self._switches, self._switched = self._switches + begins, self._switched + begins * switch.count
        self._talk[ROWS] = 0

    def note_results(self) -> None:
        """Note the results in the simulation, as the `Server` does."""
        simulation, machines, talk = self.simulation, self.simulation.machines, self._talk
        self._fetch_rows()
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
            job.state, job.alloc = self._outcome(row)[0], self._decisions.allocs[row]
            job.start, job.run = self._job_times[place + JOB["start"]], self._job_times[place + JOB["run"]]
            if self.simulation.machines.meter is not None:
                job.joules = self._job_times[place + JOB["joules"]]
        return row_of(job)


def _powers(simulation: Simulation) -> tuple[list[tuple[float, ...]], list[int]]:
    """Return speed, cores and power in each P-state of each kind of machine, and the place of each machine's first."""
    if simulation.machines.meter is None:
        return [()], []
    places: dict[tuple[tuple[float, ...], ...], int] = {}
    powers: list[tuple[float, ...]] = []
    found = []
    for machine in simulation.machines.all:
        host = machine.host
        ranges = zip(host.speeds, host.power_ranges(), strict=True)
        kind = tuple((speed, float(host.cores), *watts) for speed, watts in ranges)
        if kind not in places:
            places[kind] = len(powers)
            powers += kind
        found.append(places[kind])
    return powers, found
