"""One simulation as seen by the decision system: a message in, an answer out; no socket, no clock.

A codec (``codec4`` or ``codec5``) turns the contents of a message into calls of methods of `Conversation`. Submissions,
completions and requested calls make an instant, at which the decision system decides. So do cores that become available
when jobs wait, and the end of all arrivals when jobs wait and none runs. Cores that become unavailable make no instant,
and jobs on them continue.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from hdeeprm_like.batsim.codec import Codec, Submission, WireEvent, shown
from hdeeprm_like.batsim.machine_map import Host, MachineMap, map_machines
from hdeeprm_like.batsim.profiles import Profiles
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import change
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.engine.cores import set_available
from hdeeprm_like.engine.state import Commands, Instant
from hdeeprm_like.errors import PlatformError, ProtocolError, WorkloadError
from hdeeprm_like.formats.platform_properties import are_ours

log = logging.getLogger(__name__)

Decider: TypeAlias = Callable[[Platform, JobLimits], DecisionSystem]

NOTHING = Commands()  # the commands of a message without a decision
LARGEST_TIME = 1e15  # s; beyond that floats do not resolve microseconds at all


class Conversation:
    """The decision system's side of one simulation.

    Attributes:
        system: there is none before the simulation begins.
        machines: mapping between cores and Batsim's machines.
        identifiers: of the jobs by row.
        now: s, time of the last message. begun, ended: whether the simulation has.
        completed: number of ended jobs.
        outcomes: number of jobs by final state.
    """

    system: DecisionSystem
    machines: MachineMap

    def __init__(
        self,
        decider: Decider,
        agent: Agent,
        codec: Codec,
        platform: Platform | None = None,
        limits: JobLimits | None = None,
        exact: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Wait for Batsim's first message.

        Args:
            decider: makes the decision system when the platform is known. agent: decides.
            codec: for the version of Batsim in use.
            platform: that Batsim must have; None builds it from the properties of Batsim's hosts.
            limits: the largest requests; None for those of Batsim's profiles.
            exact: the profiles by workload and name from their files (Batsim rounds to six decimals).
        """
        self._codec = codec
        self._decider = decider
        self._agent = agent
        self._platform = platform
        self._limits = limits
        self._exact = exact
        self.identifiers: list[str] = []
        self.now = 0.0
        self.begun = self.ended = False
        self.completed = 0
        self.outcomes: dict[str, int] = {}
        self._profiles = Profiles({})
        self._rows: dict[str, int] = {}
        self._running: set[int] = set()
        self._arrivals_over = False
        self._decision_due = False  # for other reasons than arrivals and ends of jobs
        self._steps = True  # whether machines change their P-state
        self._registration = False  # whether Batsim waits for dynamic jobs; there are none
        self._completed_now: list[int] = []
        self._submitted_now = 0

    def hear(self, message: Any) -> Commands:
        """Process a message and return the decisions.

        Raises:
            ProtocolError: the message is invalid.
            PlatformError: the machines are not those of the platform.
            AgentError: the agent's decision is invalid.
        """
        self._codec.deliver(message, self)
        return self._decide()

    def _decide(self) -> Commands:
        """Decide, if there is something to decide on, and all of it is known."""
        if not self.begun or self._codec.awaits_ends():
            return NOTHING
        system, state = self.system, self.system.state
        clock = state.tables.clock[0]
        if not self._completed_now and not self._submitted_now:
            if self._arrivals_over and not clock["arrivals_over"]:
                clock["arrivals_over"] = 1
                self._decision_due |= bool(clock["running"] == 0 and clock["waiting"] > 0)
            if not self._decision_due:
                return NOTHING if not self._registration else Commands()
        system.receive(Instant(self.now, self._completed_now, self._submitted_now, self._arrivals_over))
        self._completed_now, self._submitted_now, self._decision_due = [], 0, False
        while system.open:
            system.act(self._agent.act(*system.observe()))
        commands = state.drain(requested=True)
        if not self._steps:  # these hosts stay in the P-state that they have
            commands.pstates.clear()
        for job, _ in commands.starts:
            self._running.add(job)
        return commands

    # -- calls by the codec

    def time_is(self, now: float) -> None:
        """Set the clock to the time of a message in s."""
        if now < self.now:
            raise ProtocolError(f"time runs backwards: it was {self.now:f} s and is {now:f} s")
        if now > LARGEST_TIME:
            raise ProtocolError(f"the now of a message is {now:g} s; {LARGEST_TIME:g} s is the end of time")
        self.now = now

    def simulation_begins(self, hosts: Sequence[Host], profiles: Any, registration: bool, sharing: bool = True) -> None:
        """Make the decision system for these machines.

        Raises:
            PlatformError: machines have several cores, and Batsim gives each to one job at a time.
        """
        self.machines, platform = map_machines(hosts, self._platform)
        if self.machines.shared and not sharing:
            raise PlatformError(
                "Batsim's hosts have several cores; start it with --enable-compute-sharing, so that jobs can share them"
            )
        self._steps = are_ours(hosts[0][1]) or change(platform.processor_flops[0].tolist())
        self._profiles = Profiles(profiles, self._exact)
        self._registration = registration
        self._reference_flops = platform.reference_flops
        self.system = self._decider(platform, self._limits or self._profiles.limits(platform.cores))
        self.begun = True

    def simulation_ends(self) -> None:
        """Check that no job is left, and settle the last reward."""
        waiting = int(self.system.state.tables.clock["waiting"][0])
        if self._running or waiting or self._submitted_now:
            raise ProtocolError(f"{len(self._running)} jobs run and {waiting} wait")
        self.ended = True
        self.system.settle()

    def job_submitted(self, submission: Submission) -> None:
        """Add a submitted job."""
        identifier = submission.identifier
        if identifier in self._rows:
            raise ProtocolError(f"job {shown(identifier)} has been submitted before")
        request = self._profiles.request(submission, self._reference_flops)
        try:
            self._rows[identifier] = self.system.state.append(request)
        except WorkloadError as error:
            raise ProtocolError(f"job {shown(identifier)}: {error}") from None
        sets = self.system.state.tables.node_sets
        if self.system.state.platform.partitions is not None and sets.demands["exclusive"][self._rows[identifier]]:
            raise ProtocolError(f"job {shown(identifier)} gets whole nodes; Batsim gives no more cores than requested")
        self.identifiers.append(identifier)
        self._submitted_now += 1

    def job_completed(self, identifier: object, outcome: object) -> None:
        """Record the end of a running job at this instant."""
        row = self._rows.get(identifier, -1) if isinstance(identifier, str) else -1
        if row not in self._running:
            raise ProtocolError(f"job {shown(identifier)} does not run")
        if not isinstance(outcome, str):
            raise ProtocolError("the final state of a job must be a name")
        if outcome == "COMPLETED_KILLED":
            log.warning("job %s has been killed", shown(identifier))
        self._running.remove(row)
        self._completed_now.append(row)
        self.completed += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def cores_changed(self, cores: Sequence[int], available: bool) -> None:
        """Make cores available or unavailable; newly free cores make a decision due when jobs wait."""
        state = self.system.state
        free = state.tables.clock["free_cores"][0]
        for core in cores:
            set_available(state.tables, core, available)
        log.info("%d cores %s", len(cores), "rejoin" if available else "leave")
        self._decision_due |= bool(state.tables.clock["free_cores"][0] > free and state.tables.clock["waiting"][0] > 0)

    def called(self) -> None:
        """Record that a requested decision is due."""
        self._decision_due = True

    def arrivals_over(self) -> None:
        """Record that no more jobs will be submitted."""
        self._arrivals_over = True

    # -- answers

    def answer(self, message: str | bytes) -> str:
        """Process a received message and return the answer to send."""
        greeting = None if self.begun else self._codec.greet(message)
        return self.write(self.hear(self._codec.parse(message))) if greeting is None else greeting

    def parse(self, message: str | bytes) -> Any:
        """Parse a received message into the argument of `hear`."""
        return self._codec.parse(message)

    def write(self, commands: Commands) -> str:
        """Return commands as a message to Batsim."""
        return self._codec.format(self.now, () if commands is NOTHING else self.events_of(commands))

    def events_of(self, commands: Commands) -> list[WireEvent]:
        """Return type and data of each event that carries commands, in the order in which they take effect."""
        finish, self._registration = self._registration, False
        return self._codec.events_of(commands, self.identifiers, self.machines, finish)
