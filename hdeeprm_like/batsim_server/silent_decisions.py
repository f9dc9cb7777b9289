"""The decisions of a scheduler's replies, put into the memory of the machine code that plays a silent session."""

from array import array
from collections.abc import Sequence
from typing import NamedTuple, TypeGuard

from hdeeprm_like.batsim_server.jobs import Job, Profile
from hdeeprm_like.batsim_server.parallel_tasks import Amounts, work_of
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.profile_types.sleeping import DELAY
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent
from hdeeprm_like.batsim_server.sharing import Variable, Work
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.batsim_server.ways import Way, way_of
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set

COMPUTING = (HOMOGENEOUS, HOMOGENEOUS_TOTAL, PARALLEL)
ODD = ("mapping", "storage_mapping", "additional_io_job")  # of EXECUTE_JOB
MOST_KNOWN = 4096  # sets of machines
TALK = {name: place for place, (name, _) in enumerate(layout.TALK)}
JOB = {name: place for place, (name, _) in enumerate(layout.JOB)}
_, ROW, DATE, WANTED, FIRST, COUNT, NUMBER = range(len(layout.COMMAND))  # words of a decision, after its kind
WORDS = len(layout.COMMAND)


class Unusual(Exception):
    """A reply holds what only the `Server` knows."""


class Allocation(NamedTuple):
    """A set of machines.

    Attributes:
        text: as Batsim prints it. way: latency (s), share and rate (1/s) of a message from the first one to the server.
        seen: whether that message updates the energy of the first one. kinds: of the machines, see `_classes`.
    """

    numbers: "array[int]"
    text: str
    way: Way
    seen: bool
    kinds: frozenset[int]


class Switch(NamedTuple):
    """A change of machines, as Batsim prints them, to a P-state."""

    machines: str
    count: int
    pstate: int


def way_to_server(simulation: Simulation, source: str) -> tuple[Way | None, bool]:
    """Return the way of a message from a host to the server, and whether it updates the energy of that host."""
    work = simulation.network.message_work(source, simulation.master, 1.0)
    return way_of(work, simulation.quiet, simulation.engine.simgrid), isinstance(work, Work)


def is_possible(way: Way | None) -> TypeGuard[Way]:
    """Return whether machine code knows the way of a message: one with a latency takes time after that, too."""
    return way is not None and (way.left > 0.0 or way.latency == 0.0)


class Decisions:
    """Puts the decisions of replies into the memory of the machine code.

    Attributes:
        allocs: the machines of each job, as Batsim prints them. notes: metadata of jobs. switches: changes of P-states.
    """

    def __init__(self, simulation: Simulation, jobs: Sequence[Job], memory: layout.Memory) -> None:
        """Take decisions on some jobs, in the order in which they are in the memory."""
        self.allocs = [""] * len(jobs)
        self.notes: list[str] = []
        self.switches: list[Switch] = []
        self._simulation, self._jobs, self._memory = simulation, jobs, memory
        self._rows = {job.identifier: row for row, job in enumerate(jobs)}
        self._energy = simulation.machines.meter is not None
        self._rates: dict[tuple[Profile, int, frozenset[int]], tuple[float, float]] = {}
        self._known: dict[str, Allocation] = {}
        self._classes = _classes(simulation)
        self._talk, self._talk_times = memory.integers("talk"), memory.floats("talk")
        self._job, self._job_times = memory.integers("jobs"), memory.floats("jobs")
        self._commands, self._times = memory.integers("commands"), memory.floats("commands")
        self._chosen, self._loads = memory.integers("chosen"), memory.floats("loads")
        self._used = 0  # entries of these

    def take(self, reply: Reply) -> None:
        """Pass the decisions of a reply to the machine code.

        Raises:
            ProtocolError, Unusual: it cannot take them.
        """
        place = self._used = 0
        if len(reply.events) > self._memory.commands:
            raise Unusual
        for event in reply.events:
            take = TAKES.get(event.kind)
            if take is None:
                raise Unusual
            self._times[place + DATE] = event.timestamp
            self._commands[place] = take(self, event, place)
            place += WORDS
        self._talk[TALK["commands"]] = len(reply.events)
        self._talk_times[TALK["reply_date"]] = reply.now

    def _row(self, identifier: object) -> int:
        try:
            return self._rows[identifier]  # type: ignore[index]
        except (KeyError, TypeError):
            raise Unusual from None

    def _choose(self, place: int, numbers: Sequence[int]) -> int:
        """Note the machines or jobs that a decision names; return the place of the first one."""
        first, self._used = self._used, self._used + len(numbers)
        if self._used > self._memory.machines:
            raise Unusual
        self._commands[place + FIRST], self._commands[place + COUNT] = first, len(numbers)
        self._chosen[first : self._used] = array("q", numbers)
        return first

    def _execute(self, event: SchedulerEvent, place: int) -> int:
        """Note the machines of a job that starts, and how fast it runs there."""
        data = event.data
        row, text = self._row(data.get("job_id")), data.get("alloc")
        if type(text) is not str or (len(data) > 2 and any(key in data for key in ODD)):
            raise Unusual
        job, allocation = self._jobs[row], self._known.get(text) or self._allocation(text)
        numbers = allocation.numbers
        if len(numbers) != job.size and not job.profile.any_size:
            raise Unusual
        first = self._choose(place, numbers)
        self._commands[place + ROW] = row
        self.allocs[row] = allocation.text
        at, times = row * len(JOB), self._job_times
        times[at + JOB["latency"]], times[at + JOB["share"]], times[at + JOB["speed"]] = allocation.way
        if self._energy:
            self._job[at + JOB["seen"]] = allocation.seen
        if job.profile.type is DELAY:
            return layout.EXECUTE
        if self._energy:
            loads = _loads(job.profile, len(numbers))
            self._loads[first : self._used] = array("d", loads)
            times[at + JOB["left"]] = 1.0 if any(loads) else 0.0
        else:
            times[at + JOB["left"]], times[at + JOB["rate"]] = self._work(job.profile, allocation)
        return layout.EXECUTE

    def _allocation(self, text: str) -> Allocation:
        """Return the set of machines that a text names, for the first time or again."""
        numbers = self._machines(text)
        way, seen = way_to_server(self._simulation, self._simulation.machines[numbers[0]].host.name)
        if not is_possible(way):
            raise Unusual
        kinds = frozenset([self._classes[number] for number in numbers] if self._classes else ())
        if len(self._known) == MOST_KNOWN:
            self._known.clear()
        known = self._known[text] = Allocation(array("q", numbers), interval_set(numbers), way, seen, kinds)
        return known

    def _machines(self, text: str) -> list[int]:
        numbers = parse_interval_set(text, below=len(self._simulation.machines), error=ProtocolError)
        if not numbers:
            raise Unusual
        return numbers

    def _work(self, profile: Profile, allocation: Allocation) -> tuple[float, float]:
        """Return what a job of a profile has left of its work at its start, as a share, and its share per s."""
        numbers = allocation.numbers
        key = profile, len(numbers), allocation.kinds
        known = self._rates.get(key)
        if known is None:
            known = _work_of(self._simulation, profile, numbers)
            if isinstance(profile.parameters.flops, float):
                self._rates[key] = known
        return known

    def _reject(self, event: SchedulerEvent, place: int) -> int:
        self._commands[place + ROW] = self._row(event.data.get("job_id"))
        return layout.REJECT

    def _call(self, event: SchedulerEvent, place: int) -> int:
        self._times[place + WANTED] = event.number("timestamp")
        return layout.CALL

    def _kill(self, event: SchedulerEvent, place: int) -> int:
        self._choose(place, [self._row(identifier) for identifier in event.texts("job_ids")])
        return layout.KILL

    def _note(self, event: SchedulerEvent, place: int) -> int:
        text = event.text("metadata")
        if '"' in text or "\n" in text or "\r" in text:
            raise Unusual
        self._commands[place + ROW] = self._row(event.data.get("job_id"))
        self._commands[place + NUMBER] = len(self.notes)
        self.notes.append(text)
        return layout.NOTE

    def _query(self, event: SchedulerEvent, place: int) -> int:
        if not self._energy or list(event.object("requests")) != ["consumed_energy"]:
            raise Unusual
        return layout.QUERY

    def _switch(self, event: SchedulerEvent, place: int) -> int:
        """Note a change of machines from one computing P-state to another."""
        text, state = event.text("resources"), event.text("state")
        if not self._energy or not state.isdigit() or len(state) > 5:
            raise Unusual
        pstate, numbers, machines = int(state), self._machines(text), self._simulation.machines
        if not all(machines[number].computes_in(pstate) for number in numbers):
            raise Unusual
        self._choose(place, numbers)
        self._commands[place + ROW], self._commands[place + NUMBER] = pstate, len(self.switches)
        self.switches.append(Switch(interval_set(numbers), len(numbers), pstate))
        return layout.SWITCH


TAKES = {
    "EXECUTE_JOB": Decisions._execute,
    "REJECT_JOB": Decisions._reject,
    "CALL_ME_LATER": Decisions._call,
    "KILL_JOB": Decisions._kill,
    "SET_JOB_METADATA": Decisions._note,
    "QUERY": Decisions._query,
    "SET_RESOURCE_STATE": Decisions._switch,
}


def _classes(simulation: Simulation) -> list[int]:
    """Return for each machine the number of its kind of speed and cores; nothing if all are of one kind."""
    kinds: dict[tuple[float, float, int], int] = {}
    constraints = [machine.constraint for machine in simulation.machines.all]
    found = [kinds.setdefault((c.core_speed, c.share, c.cores), len(kinds)) for c in constraints]
    return found if len(kinds) > 1 else []


def _amounts(profile: Profile, count: int) -> Amounts:
    """Return what each of some machines computes."""
    amounts: Amounts = profile.parameters
    if profile.type is HOMOGENEOUS_TOTAL:
        assert isinstance(amounts.flops, float)
        return Amounts(amounts.flops / count, 0.0)
    return amounts


def _loads(profile: Profile, count: int) -> Sequence[float]:
    """Return the flop of a job on each of its machines."""
    flops = _amounts(profile, count).flops
    return [flops] * count if isinstance(flops, float) else flops


def _work_of(simulation: Simulation, profile: Profile, numbers: Sequence[int]) -> tuple[float, float]:
    """Return the share of its work that a job of a profile has left at first, and the share per s that it does."""
    work = work_of(simulation.machines, simulation.network, numbers, _amounts(profile, len(numbers)))
    variable, sharing = Variable(work.weights, work.crowds), simulation.engine.sharing
    sharing.enable(variable)
    sharing.solve()
    rate = variable.value
    sharing.remove(variable)
    return (1.0 if any(work.weights.values()) else 0.0), rate
