"""The decisions of replies that machine code does not read, put into the memory of a silent session."""

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hdeeprm_like.batsim_server.jobs import Job, Profile
from hdeeprm_like.batsim_server.parallel_tasks import add_flows
from hdeeprm_like.batsim_server.profile_types.computing import HOMOGENEOUS_TOTAL, PARALLEL
from hdeeprm_like.batsim_server.replies import Reply, SchedulerEvent
from hdeeprm_like.batsim_server.sharing import Constraint, Sharing, Variable
from hdeeprm_like.batsim_server.simulation import Simulation
from hdeeprm_like.engine import silent_layout as layout
from hdeeprm_like.errors import ProtocolError
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set
from hdeeprm_like.values import whole_in

ODD = ("mapping", "storage_mapping", "additional_io_job")  # of EXECUTE_JOB
TALK = layout.places_of(layout.TALK)
MACHINE = layout.places_of(layout.MACHINE)
# words of a decision, after its kind
_, ROW, DATE, WANTED, FIRST, COUNT, NUMBER, USE, USES, DELAY, LIMIT = range(len(layout.COMMAND))
WORDS = len(layout.COMMAND)
USE_WORDS = len(layout.USE)


class Unusual(Exception):
    """A reply holds what only the `Server` knows."""


class Switch(NamedTuple):
    """A change of machines, as Batsim prints them, to a P-state."""

    machines: str
    size: int
    pstate: int


class Way(NamedTuple):
    """The way of a message to the server: a latency in s, then work that is *left* at a rate in 1/s."""

    latency: float
    left: float
    rate: float


def way_to_server(simulation: Simulation, source: str) -> Way:
    """Return the way of a message from a host to the server, where nothing else uses its links."""
    work, simgrid = simulation.network.message_work(source, simulation.master, 1.0), simulation.engine.simgrid
    variable, sharing = Variable(work.weights), Sharing(simgrid.work_amount)
    if work.latency > 0.0:
        variable.way_limit = simgrid.tcp_gamma / (2.0 * work.bytes_delay)
    sharing.enable(variable)
    sharing.solve()
    rate = variable.value
    sharing.remove(variable)
    return Way(work.latency, 1.0 if any(work.weights.values()) else 0.0, rate)


def is_possible(way: Way) -> bool:
    """Return whether machine code knows the way of a message: one with a latency takes time after that, too."""
    return way.left > 0.0 or way.latency == 0.0


class Decisions:
    """Puts the decisions of replies into the memory of the machine code.

    Attributes:
        notes: metadata of jobs. switches: changes of P-states.
    """

    def __init__(
        self, simulation: Simulation, jobs: Sequence[Job], rows: Mapping[str, int], memory: layout.Memory
    ) -> None:
        """Take decisions on some jobs, which have these rows in the memory."""
        self.notes: list[str] = []
        self.switches: list[Switch] = []
        self._simulation, self._jobs, self._rows, self._memory = simulation, jobs, rows, memory
        self._energy = simulation.machines.meter is not None
        self._talk, self._talk_times = memory.integers("talk"), memory.floats("talk")
        self._commands, self._times = memory.integers("commands"), memory.floats("commands")
        self._machines, self._ways = memory.integers("machines"), memory.floats("machines")
        self._chosen, self._loads = memory.integers("chosen"), memory.floats("loads")
        self._used = 0  # entries of these
        self._uses, self._amounts = memory.integers("uses"), memory.floats("uses")
        self._links: dict[Constraint, int] = {}  # those used so far, by number
        self._gates = memory.entries["session"]["uses"]  # entries of uses from there on are of ways to the server
        self._next_use = 0  # of those before, the ones that a reply uses

    def take(self, reply: Reply) -> None:
        """Pass the decisions of a reply to the machine code.

        Raises:
            ProtocolError, Unusual: it cannot take them.
        """
        place = self._used = self._next_use = 0
        if len(reply.events) > self._memory.entries["session"]["commands"]:
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
        if self._used > self._memory.entries["session"]["chosen"]:
            raise Unusual
        self._commands[place + FIRST], self._commands[place + COUNT] = first, len(numbers)
        self._chosen[first : self._used] = array("q", numbers)
        return first

    def _execute(self, event: SchedulerEvent, place: int) -> int:
        """Note the machines of a job that starts, and what it computes on each if that differs."""
        data = event.data
        row, text = self._row(data.get("job_id")), data.get("alloc")
        if type(text) is not str or (len(data) > 2 and any(key in data for key in ODD)):
            raise Unusual
        profile, numbers = self._jobs[row].profile, self._numbers(text)
        if len(numbers) != self._jobs[row].size and not profile.any_size:
            raise Unusual
        first = self._choose(place, numbers)
        self._commands[place + ROW] = row
        self._note_way(numbers[0])
        if profile.type is PARALLEL:
            self._loads[first : self._used] = array("d", profile.parameters.flops)
        self._commands[place + USES] = 0
        if len(numbers) > 1 and not profile.type.silent(profile.parameters):
            self._note_links(place, numbers, profile)
        return layout.EXECUTE

    def _note_links(self, place: int, numbers: Sequence[int], profile: Profile) -> None:
        """Note the links between the machines of a job that sends."""
        simulation, amounts = self._simulation, profile.parameters.bytes
        if profile.type is HOMOGENEOUS_TOTAL:
            amounts /= len(numbers)
        weights: dict[Constraint, float] = {}
        names = [simulation.machines[number].host.name for number in numbers]
        latency, bytes_delay = add_flows(simulation.network, names, amounts, weights)
        self._commands[place + USE], self._next_use = self._next_use, self._next_use + len(weights)
        if self._next_use > self._gates or (latency > 0.0 and not weights) or simulation.network.loopback in weights:
            raise Unusual
        self._put_links(self._commands[place + USE], weights)
        self._commands[place + USES], self._times[place + DELAY] = len(weights), latency
        self._times[place + LIMIT] = self._limit(latency, bytes_delay)

    def _limit(self, latency: float, bytes_delay: float) -> float:
        """Return the 1/s of work that the latency of a route allows, -1 if that has none."""
        return self._simulation.engine.simgrid.tcp_gamma / (2.0 * bytes_delay) if latency > 0.0 else -1.0

    def _put_links(self, first: int, weights: Mapping[Constraint, float]) -> None:
        """Put the uses of links into the memory, from an entry on."""
        for entry, (link, weight) in enumerate(weights.items(), start=first):
            number = self._links.setdefault(link, len(self._links))
            if number >= self._memory.entries["traffic"]["capacities"] - self._memory.content.machines:
                raise Unusual
            at = entry * USE_WORDS
            self._uses[at], self._uses[at + 3] = number, link.fatpipe
            self._amounts[at + 1], self._amounts[at + 2] = weight, link.bound

    def _numbers(self, text: str) -> list[int]:
        numbers = parse_interval_set(text, below=len(self._simulation.machines), error=ProtocolError)
        if not numbers:
            raise Unusual
        return numbers

    def _note_way(self, number: int) -> None:
        """Note the way of a message from a machine to the server."""
        at = number * len(MACHINE)
        if self._machines[at + MACHINE["way"]]:
            return
        way = way_to_server(self._simulation, self._simulation.machines[number].host.name)
        if not is_possible(way):
            raise Unusual
        ways = self._ways
        ways[at + MACHINE["latency"]], ways[at + MACHINE["share"]], ways[at + MACHINE["rate"]] = way
        self._machines[at + MACHINE["way"]] = 1
        if self._talk[TALK["sends"]]:
            self._note_gates(number, at)

    def _note_gates(self, number: int, at: int) -> None:
        """Note the links of the way of a message from a machine to the server."""
        simulation = self._simulation
        work = simulation.network.message_work(simulation.machines[number].host.name, simulation.master, 1.0)
        links = {link: weight for link, weight in work.weights.items() if weight > 0.0}
        self._gates -= len(links)
        if self._gates < self._next_use or (simulation.network.loopback in links and len(links) > 1):
            raise Unusual
        self._put_links(self._gates, links)
        self._machines[at + MACHINE["gate"]], self._machines[at + MACHINE["gates"]] = self._gates, len(links)
        self._ways[at + MACHINE["limit"]] = self._limit(work.latency, work.bytes_delay)
        self._talk[TALK["gates"]] = max(self._talk[TALK["gates"]], len(links))

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
        if not self._energy:
            raise Unusual
        pstate, numbers, machines = whole_in(state), self._numbers(text), self._simulation.machines
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
