"""A session that machine code plays: its jobs, the messages to its scheduler, and the decisions of the replies."""

import time
from array import array
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeGuard

from hdeeprm_like.batsim_server.jobs import Profile
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.outbox import Outbox
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent, read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.batsim_server.server import Ask, description
from hdeeprm_like.batsim_server.sharing import Variable
from hdeeprm_like.batsim_server.simulation import Simulation, row_of
from hdeeprm_like.batsim_server.ways import Way
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import JobRow, interval_set, parse_interval_set

Advance = Callable[[], int]
MakeAdvance = Callable[[layout.Memory], Advance]  # returns `silent_clock.advance` for a session's memory

COMPUTING = (HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL)
ODD = ("mapping", "storage_mapping", "additional_io_job")  # of EXECUTE_JOB
MOST_KNOWN = 4096  # sets of machines
TALK = {name: place for place, (name, _) in enumerate(layout.TALK)}
JOB = {name: place for place, (name, _) in enumerate(layout.JOB)}
EVENTS, NOW = TALK["events"], TALK["now"]
_, JOB_ROW, DATE, WANTED, FIRST, COUNT = range(len(layout.COMMAND))  # words of a decision, after its kind
ROW, WORDS = len(JOB), len(layout.COMMAND)
OUTCOME, LATENCY, LEFT = JOB["outcome"], JOB["latency"], JOB["left"]


class Unusual(Exception):
    """A reply holds what only the `Server` knows."""


class Allocation(NamedTuple):
    """A set of machines.

    Attributes:
        text: as Batsim prints it. way: latency (s), share and rate (1/s) of a message from the first one to the server.
        kinds: of the machines, see `_classes`.
    """

    numbers: "array[int]"
    text: str
    way: tuple[float, float, float]
    kinds: frozenset[int]


def is_possible(way: Way | None) -> TypeGuard[Way]:
    """Return whether machine code knows the way of a message: one with a latency takes time after that, too."""
    return way is not None and (way.left > 0.0 or way.latency == 0.0)


class SilentSession:
    """A silent simulation and its scheduler.

    Attributes:
        replies: those so far. scheduling_time: s of wall clock that they took.
    """

    def __init__(self, simulation: Simulation, ask: Ask, make_advance: MakeAdvance) -> None:
        """Put the jobs into the memory of the machine code; *ask* is the scheduler."""
        self.simulation = simulation
        self.ask = ask
        self.replies: list[bytes] = []
        self.scheduling_time = 0.0
        self._outbox = Outbox()
        self._jobs = sorted(simulation.workloads[0], key=lambda job: (job.submit, job.identifier))
        self._rows = {job.identifier: row for row, job in enumerate(self._jobs)}
        self._allocs = [""] * len(self._jobs)
        self._rates: dict[tuple[Profile, int, frozenset[int]], tuple[float, float]] = {}
        self._classes = _classes(simulation)
        self._memory = memory = layout.Memory(len(self._jobs), len(simulation.machines))
        self._talk, self._times = memory.integers("talk"), memory.floats("talk")
        self._job, self._job_times = memory.integers("jobs"), memory.floats("jobs")
        self._commands, self._command_times = memory.integers("commands"), memory.floats("commands")
        self._events, self._event_times = memory.integers("events"), memory.floats("events")
        self._chosen = memory.integers("chosen")
        self._known: dict[str, Allocation] = {}
        way, at = simulation.engine.way(simulation.master, simulation.master), TALK["latency"]
        assert is_possible(way)
        self._times[at], self._times[at + 1], self._times[at + 2] = way
        for row, job in enumerate(self._jobs):
            place = row * ROW
            self._job_times[place + JOB["submit"]] = job.submit
            self._job_times[place + JOB["walltime"]] = job.walltime
            self._job_times[place + JOB["delay"]] = job.profile.parameters if job.profile.type is DELAY else -1.0
        self._advance = make_advance(memory)

    def run(self) -> bool | None:
        """Play to the end; return whether the simulation ended rather than got stuck, None if something is unusual."""
        advance, talk = self._advance, self._talk
        while (result := advance()) == layout.ASKS:
            text = self._message()
            began = time.perf_counter()
            raw = self.ask(text)
            self.scheduling_time += time.perf_counter() - began
            self.replies.append(raw)
            reply = read_reply(raw, SCHEDULER_EVENTS)
            try:
                self._take(reply)
            except (ProtocolError, Unusual):
                return None
        return None if result == layout.UNUSUAL else bool(talk[TALK["ended"]])

    def _message(self) -> str:
        """Return the message to the scheduler."""
        outbox, jobs, simulation = self._outbox, self._jobs, self.simulation
        for place in range(0, 3 * self._talk[EVENTS], 3):
            kind, row, now = self._events[place], self._events[place + 1], self._event_times[place + 2]
            if kind == layout.JOB_SUBMITTED:
                outbox.job_submitted(jobs[row], simulation.options.forward_profiles, now)
            elif kind == layout.JOB_COMPLETED:
                state, code = self._outcome(row)
                outbox.job_completed(jobs[row].identifier, state, code, self._allocs[row], now)
            elif kind == layout.CALLED:
                outbox.called("", now)
            elif kind == layout.NO_MORE_JOBS:
                outbox.no_more_jobs(now)
            elif kind == layout.BEGINS:
                outbox.add("SIMULATION_BEGINS", description(simulation), now)
            else:
                outbox.simulation_ends(now)
        self._talk[EVENTS] = 0
        return outbox.take(self._times[NOW])

    def _outcome(self, row: int) -> tuple[str, int]:
        """Return the final state and the return code of a job that ran."""
        if self._job[row * ROW + OUTCOME] == layout.WALLTIME:
            return "COMPLETED_WALLTIME_REACHED", -1
        code = self._jobs[row].profile.ret
        return ("COMPLETED_FAILED" if code else "COMPLETED_SUCCESSFULLY"), code

    def _take(self, reply: Reply) -> None:
        """Pass the decisions of a reply to the machine code.

        Raises:
            ProtocolError, Unusual: it cannot take them.
        """
        commands, times, place, used = self._commands, self._command_times, 0, 0
        if len(reply.events) > self._memory.commands:
            raise Unusual
        for event in reply.events:
            times[place + DATE] = event.timestamp
            if event.kind == "EXECUTE_JOB":
                commands[place], commands[place + FIRST] = layout.EXECUTE, used
                used = self._execute(event, place, used)
            elif event.kind == "REJECT_JOB":
                commands[place], commands[place + JOB_ROW] = layout.REJECT, self._row_of(event)
            elif event.kind == "CALL_ME_LATER":
                commands[place], times[place + WANTED] = layout.CALL, event.number("timestamp")
            else:
                raise Unusual
            place += WORDS
        self._talk[TALK["commands"]] = len(reply.events)
        self._times[TALK["reply_date"]] = reply.now

    def _row_of(self, event: SchedulerEvent) -> int:
        try:
            return self._rows[event.data["job_id"]]
        except (KeyError, TypeError):
            raise Unusual from None

    def _execute(self, event: SchedulerEvent, place: int, used: int) -> int:
        """Note the machines of a job that starts, and how fast it runs there; return how many are noted in all."""
        row, data = self._row_of(event), event.data
        text = data.get("alloc")
        if type(text) is not str:
            raise Unusual
        job, (numbers, name, way, kinds) = self._jobs[row], self._known.get(text) or self._allocation(text)
        count = len(numbers)
        if count != job.size and not job.profile.any_size:
            raise Unusual
        if used + count > self._memory.machines or (len(data) > 2 and any(key in data for key in ODD)):
            raise Unusual
        self._commands[place + JOB_ROW], self._commands[place + COUNT] = row, count
        self._chosen[used : used + count] = numbers
        self._allocs[row] = name
        at = row * ROW + LATENCY
        times = self._job_times
        times[at], times[at + 1], times[at + 2] = way
        if job.profile.type is not DELAY:
            at = row * ROW + LEFT
            times[at], times[at + 1] = self._work(job.profile, numbers, kinds)
        return used + count

    def _allocation(self, text: str) -> Allocation:
        """Return the set of machines that a text names, for the first time or again."""
        simulation = self.simulation
        numbers = parse_interval_set(text, below=len(simulation.machines), error=ProtocolError)
        if not numbers:
            raise Unusual
        way = simulation.engine.way(simulation.machines[numbers[0]].host.name, simulation.master)
        if not is_possible(way):
            raise Unusual
        kinds = frozenset([self._classes[number] for number in numbers] if self._classes else ())
        if len(self._known) == MOST_KNOWN:
            self._known.clear()
        known = self._known[text] = Allocation(array("q", numbers), interval_set(numbers), way, kinds)
        return known

    def _work(self, profile: Profile, numbers: Sequence[int], kinds: frozenset[int]) -> tuple[float, float]:
        """Return what a job of a profile has left of its work at its start, as a share, and its share per s."""
        key = profile, len(numbers), kinds
        known = self._rates.get(key)
        if known is None:
            known = _work_of(self.simulation, profile, numbers)
            if isinstance(profile.parameters.flops, float):
                self._rates[key] = known
        return known

    def note_results(self) -> None:
        """Note the results in the simulation, as the `Server` does."""
        simulation, machines, talk = self.simulation, self.simulation.machines, self._talk
        simulation.rows = [self._result(row) for row in self._memory.integers("closed")[: talk[TALK["closed"]]]]
        count, changes = len(machines), self._memory.integers("states")
        states = slice(0, 2 * talk[TALK["states"]], 2)
        for now, computing in zip(self._memory.floats("states")[states], changes[1 : states.stop : 2], strict=True):
            machines.state_rows.append((now, 0, 0, 0, count - computing, computing))
        machines.seconds[MachineState.IDLE] = self._times[TALK["idle_seconds"]]
        machines.seconds[MachineState.COMPUTING] = self._times[TALK["computing_seconds"]]
        simulation.submitted, simulation.completed = talk[TALK["submitted"]], talk[TALK["completed"]]
        simulation.scheduling_time, simulation.engine.now = self.scheduling_time, self._times[NOW]

    def _result(self, row: int) -> JobRow:
        job, times, place = self._jobs[row], self._job_times, row * ROW
        job.state = "REJECTED"
        if self._job[place + OUTCOME]:
            job.state, job.alloc = self._outcome(row)[0], self._allocs[row]
            job.start, job.run = times[place + JOB["start"]], times[place + JOB["run"]]
        return row_of(job)


def _classes(simulation: Simulation) -> list[int]:
    """Return for each machine the number of its kind of speed and cores; nothing if all are of one kind."""
    kinds: dict[tuple[float, float, int], int] = {}
    constraints = [machine.constraint for machine in simulation.machines.all]
    found = [kinds.setdefault((c.core_speed, c.share, c.cores), len(kinds)) for c in constraints]
    return found if len(kinds) > 1 else []


def _work_of(simulation: Simulation, profile: Profile, numbers: Sequence[int]) -> tuple[float, float]:
    """Return the share of its work that a job of a profile has left at first, and the share per s that it does."""
    amounts: Amounts = profile.parameters
    if profile.type is HOMOGENEOUS_TOTAL:
        assert isinstance(amounts.flops, float)
        amounts = Amounts(amounts.flops / len(numbers), 0.0)
    work = work_of(simulation.machines, simulation.network, numbers, amounts)
    variable, sharing = Variable(work.weights, work.crowds), simulation.engine.sharing
    sharing.enable(variable)
    sharing.solve()
    rate = variable.value
    sharing.remove(variable)
    return (1.0 if any(work.weights.values()) else 0.0), rate
