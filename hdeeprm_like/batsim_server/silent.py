"""Sessions in which jobs only compute and delay, played in machine code.

The machine code does what the actors do, and says what to report to the scheduler. Some decisions it leaves to the
`Server`, valid or not: then the session is played again from its beginning, with the replies so far, and goes on there.
"""

import ctypes
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

from hdeeprm_like.batsim_server.jobs import Job, Profile
from hdeeprm_like.batsim_server.machines import MachineState
from hdeeprm_like.batsim_server.outbox import Outbox
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent, read_reply
from hdeeprm_like.batsim_server.scheduler_events import SCHEDULER_EVENTS
from hdeeprm_like.batsim_server.server import Ask, Server, description
from hdeeprm_like.batsim_server.sharing import Variable
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.engine.light_library import function_of
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import JobRow, interval_set, parse_interval_set

Advance = Callable[[], int]
MakeAdvance = Callable[[layout.Memory], Advance]  # returns `silent_clock.advance` for a session's memory

FEWEST_JOBS = 200  # below that, to find the machine code takes longer than it saves
COMPUTING = (HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL)
ODD = ("mapping", "storage_mapping", "additional_io_job")  # of EXECUTE_JOB
TALK = {name: place for place, (name, _) in enumerate(layout.TALK)}
JOB = {name: place for place, (name, _) in enumerate(layout.JOB)}
COMMAND = {name: place for place, (name, _) in enumerate(layout.COMMAND)}


class Unusual(Exception):
    """A reply holds what only the `Server` knows."""


def run(simulation: Simulation, ask: Ask) -> bool:
    """Run a simulation, in machine code where that pays; return whether it ended rather than got stuck.

    Raises:
        ProtocolError: the scheduler sent something on which Batsim would abort.
    """
    debugging = logging.getLogger("hdeeprm_like.batsim_server").isEnabledFor(logging.DEBUG)
    if len(simulation.jobs) >= FEWEST_JOBS and not debugging and is_silent(simulation):
        make_advance = machine_code()
        if make_advance is not None:
            return run_silent(simulation, ask, make_advance)
    return Server(simulation, ask).run()


def machine_code() -> MakeAdvance | None:
    """Return what makes `silent_clock.advance` for a session's memory, if a library of machine code has it."""
    function = function_of("hdeeprm_like.engine.silent_clock", "advance")
    if function is None:
        return None

    def make_advance(memory: layout.Memory) -> Advance:
        record = memory.record()
        return lambda: function(ctypes.addressof(record[0]))

    return make_advance


def is_silent(simulation: Simulation) -> bool:
    """Return whether jobs only compute and delay, each alone on its machines, and nothing else takes part."""
    options, machines = simulation.options, simulation.machines.all
    if not simulation.engine.is_usual or not simulation.engine.silent or options.compute_sharing or simulation.events:
        return False
    if len(simulation.workloads) != 1 or not machines or any(machine.stores for machine in machines):
        return False
    used = simulation.profiles["w0"].values()
    return all(profile.type in (DELAY, *COMPUTING) and profile.ret >= 0 for profile in used)


def run_silent(simulation: Simulation, ask: Ask, make_advance: MakeAdvance) -> bool:
    """Run a silent simulation; return whether it ended rather than got stuck.

    Raises:
        ProtocolError: the scheduler sent something on which Batsim would abort.
    """
    session = SilentSession(simulation, ask, make_advance)
    try:
        ended = session.run()
    except BaseException:
        session.note_results()
        raise
    if ended is None:
        replies = deque(session.replies)
        simulation.scheduling_time = session.scheduling_time
        return Server(simulation, lambda text: replies.popleft() if replies else ask(text)).run()
    session.note_results()
    return ended


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
        way = simulation.engine.way(simulation.master, simulation.master)
        assert way is not None
        at = TALK["latency"]
        self._times[at], self._times[at + 1], self._times[at + 2] = way
        for row, job in enumerate(self._jobs):
            place = row * len(JOB)
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
        for place in range(0, 3 * self._talk[TALK["events"]], 3):
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
        self._talk[TALK["events"]] = 0
        return outbox.take(self._times[TALK["now"]])

    def _outcome(self, row: int) -> tuple[str, int]:
        """Return the final state and the return code of a job that ran."""
        if self._job[row * len(JOB) + JOB["outcome"]] == layout.WALLTIME:
            return "COMPLETED_WALLTIME_REACHED", -1
        code = self._jobs[row].profile.ret
        return ("COMPLETED_FAILED" if code else "COMPLETED_SUCCESSFULLY"), code

    def _take(self, reply: Reply) -> None:
        """Pass the decisions of a reply to the machine code.

        Raises:
            ProtocolError, Unusual: it cannot take them.
        """
        if len(reply.events) > self._memory.commands:
            raise Unusual
        used = 0
        for number, event in enumerate(reply.events):
            place = number * len(COMMAND)
            self._command_times[place + COMMAND["date"]] = event.timestamp
            if event.kind == "EXECUTE_JOB":
                self._commands[place] = layout.EXECUTE
                self._commands[place + COMMAND["first"]] = used
                used = self._execute(event, place, used)
            elif event.kind == "REJECT_JOB":
                self._commands[place] = layout.REJECT
                self._commands[place + COMMAND["job"]] = self._row_of(event)
            elif event.kind == "CALL_ME_LATER":
                self._commands[place] = layout.CALL
                self._command_times[place + COMMAND["wanted"]] = event.number("timestamp")
            else:
                raise Unusual
        self._talk[TALK["commands"]] = len(reply.events)
        self._times[TALK["reply_date"]] = reply.now

    def _row_of(self, event: SchedulerEvent) -> int:
        row = self._rows.get(event.text("job_id"))
        if row is None:
            raise Unusual
        return row

    def _execute(self, event: SchedulerEvent, place: int, used: int) -> int:
        """Note the machines of a job that starts, and how fast it runs there; return how many are noted in all."""
        row, data = self._row_of(event), event.data
        if any(key in data for key in ODD):
            raise Unusual
        job = self._jobs[row]
        numbers = parse_interval_set(event.text("alloc"), below=len(self.simulation.machines), error=ProtocolError)
        count = len(numbers)
        if not count or (count != job.size and not job.profile.any_size) or used + count > self._memory.machines:
            raise Unusual
        self._commands[place + COMMAND["job"]], self._commands[place + COMMAND["count"]] = row, count
        for at, number in enumerate(numbers, used):
            self._chosen[at] = number
        simulation = self.simulation
        way = simulation.engine.way(simulation.machines[numbers[0]].host.name, simulation.master)
        if way is None or (way.latency and not way.left):
            raise Unusual
        self._allocs[row] = interval_set(numbers)
        at = row * len(JOB) + JOB["latency"]
        self._job_times[at], self._job_times[at + 1], self._job_times[at + 2] = way
        if job.profile.type is not DELAY:
            at = row * len(JOB) + JOB["left"]
            self._job_times[at], self._job_times[at + 1] = self._work(job, numbers)
        return used + count

    def _work(self, job: Job, numbers: Sequence[int]) -> tuple[float, float]:
        """Return the share of its work that a job has left at its start, and the share per s that it does."""
        profile, classes = job.profile, self._classes
        key = profile, len(numbers), frozenset([classes[number] for number in numbers] if classes else ())
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
        simulation.scheduling_time, simulation.engine.now = self.scheduling_time, self._times[TALK["now"]]

    def _result(self, row: int) -> JobRow:
        job, times, place = self._jobs[row], self._job_times, row * len(JOB)
        ran = self._job[place + JOB["outcome"]] != 0
        state = self._outcome(row)[0] if ran else "REJECTED"
        return JobRow(
            job_id=job.number,
            workload=job.workload,
            profile=job.profile.name,
            submission_time=job.submit,
            size=job.size,
            walltime=job.walltime,
            success=state == "COMPLETED_SUCCESSFULLY",
            final_state=state,
            starting_time=times[place + JOB["start"]] if ran else None,
            execution_time=times[place + JOB["run"]] if ran else None,
            allocated=self._allocs[row] if ran else "",
            energy=-1.0,
        )


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
