"""One simulation as the decision system hears it from Batsim: a message in, an answer out; no socket, no clock.

| Batsim says | what that is here |
|---|---|
| SIMULATION_BEGINS | the platform: from the hosts' properties, or checked against the one given |
| JOB_SUBMITTED, JOB_COMPLETED, REQUESTED_CALL | an instant |
| NOTIFY event_machine_available (or ADD_RESOURCES) | cores rejoin the pool; an instant when jobs wait |
| NOTIFY event_machine_unavailable (or REMOVE_RESOURCES) | cores leave the pool; the jobs on them go on |
| NOTIFY no_more_static_job_to_submit | arrivals are over; an instant when jobs wait and none runs |
| RESOURCE_STATE_CHANGED | nothing: P-states count as changed when they are asked for |
| JOB_KILLED, ANSWER, FROM_JOB_MSG, other NOTIFY | nothing; they are logged |

Whatever else arrives, or arrives when it cannot, is one `ProtocolError`.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any

from hdeeprm_like.batsim.machine_map import MachineMap, map_machines
from hdeeprm_like.batsim.profiles import Profiles, number, shown
from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.workload import JobLimits
from hdeeprm_like.decision.system import Agent, DecisionSystem
from hdeeprm_like.engine.lifecycle import set_available
from hdeeprm_like.engine.state import Commands, Instant
from hdeeprm_like.errors import ProtocolError

log = logging.getLogger(__name__)

Content = dict[str, Any]  # a JSON object
Decider = Callable[[Platform, JobLimits], DecisionSystem]

JOIN = ("event_machine_available", "ADD_RESOURCES")
LEAVE = ("event_machine_unavailable", "REMOVE_RESOURCES")
NOTHING = Commands()  # is ordered where nothing was to be decided

LARGEST_TIME = 1e15  # s; beyond that a float does not tell microseconds apart at all


def _refuse(constant: str) -> float:
    raise ProtocolError(f"the message holds {constant}, which is no number that JSON knows")


_decoder = json.JSONDecoder(parse_constant=_refuse)
_quoted = json.encoder.encode_basestring_ascii


def read_message(message: str | bytes) -> Any:
    """Return the JSON of a message.

    Raises:
        ProtocolError: it is none.
    """
    try:
        text = (message if isinstance(message, str) else message.decode()).strip(" \t\r\n")
        content, end = _decoder.raw_decode(text)
        return content if end == len(text) else _decoder.decode(text)
    except UnicodeDecodeError as cause:
        raise ProtocolError(f"the message is not UTF-8 (byte {cause.start})") from None
    except json.JSONDecodeError as cause:
        raise ProtocolError(f"the message is not valid JSON at character {cause.pos}: {cause.msg}") from None
    except RecursionError:
        raise ProtocolError("the message is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise ProtocolError("the message holds a number that is too large") from None


def written(data: Content) -> str:
    """Return the inside of an object as JSON; the keys are ours, hence plain."""
    parts = [
        f'"{key}":{_quoted(value) if isinstance(value, str) else json.dumps(value)}' for key, value in data.items()
    ]
    return ",".join(parts)


class Conversation:
    """The decision system's side of one simulation.

    Attributes:
        system: None before the simulation begins.
        machines: which core is which of Batsim's machines.
        identifiers: of the jobs by row.
        now: s, of the last message. begun, ended: whether the simulation has.
        completed: jobs that are over.
        outcomes: how many jobs ended in which state.
    """

    system: DecisionSystem
    machines: MachineMap

    def __init__(
        self,
        decider: Decider,
        agent: Agent,
        platform: Platform | None = None,
        limits: JobLimits | None = None,
        exact: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Wait for Batsim's first message.

        Args:
            decider: makes the decision system when the platform is known. agent: decides.
            platform: that Batsim must have; None takes the one that its hosts tell of.
            limits: the largest requests; None takes those of Batsim's profiles.
            exact: the profiles by workload and name as their files have them (Batsim rounds to six decimals).
        """
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
        self._over = False  # no more static jobs
        self._news = False  # of this message, beside jobs that come and go
        self._registration = False  # whether Batsim waits for dynamic jobs, of which there are none
        self._ended_now: list[int] = []
        self._submitted_now = 0
        self._handlers: dict[str, Callable[[Content], None]] = {
            "SIMULATION_BEGINS": self._begin,
            "SIMULATION_ENDS": self._end,
            "JOB_SUBMITTED": self._submit,
            "JOB_COMPLETED": self._complete,
            "RESOURCE_STATE_CHANGED": self._ignore,
            "REQUESTED_CALL": self._call,
            "NOTIFY": self._notify,
            "ADD_RESOURCES": lambda data: self._change_pool("ADD_RESOURCES", data),
            "REMOVE_RESOURCES": lambda data: self._change_pool("REMOVE_RESOURCES", data),
            "JOB_KILLED": lambda data: log.warning("Batsim tells of a kill that nobody asked for: %s", shown(data)),
            "ANSWER": lambda data: log.info("Batsim answers what nobody asked: %s", shown(data)),
            "FROM_JOB_MSG": lambda data: log.info("a job sends a message, which nobody reads: %s", shown(data)),
        }

    def hear(self, message: Any) -> Commands:
        """Take in a message and return what is decided.

        Raises:
            ProtocolError: the message is nonsense here.
            PlatformError: the machines are not those of the platform.
            AgentError: the agent's decision is none.
        """
        events = self._open(message)
        for event in events:
            try:
                kind, data = event["type"], event.get("data", {})
                event["timestamp"]  # of no use here, but PyBatsim relies on it
                handler = self._handlers.get(kind)
            except (KeyError, TypeError, AttributeError):
                raise ProtocolError("an event must be an object with a timestamp, a type and data") from None
            if handler is None:
                raise ProtocolError(f"events of type {shown(kind)} are not known")
            if not isinstance(data, dict):
                raise ProtocolError(f"{kind}: data must be an object")
            if self.begun == (kind == "SIMULATION_BEGINS") or self.ended:
                raise ProtocolError(f"{kind}: comes {'again' if self.begun else 'before the simulation begins'}")
            handler(data)
        return self._decide()

    def _open(self, message: Any) -> list[Any]:
        """Set the clock to a message's time and return its events."""
        try:
            now, events = message["now"], message["events"]
        except (KeyError, TypeError):
            raise ProtocolError("a message must be an object with now and events") from None
        if not isinstance(events, list):
            raise ProtocolError("the events of a message must be a list")
        now = number(now, "the now of a message")
        if now < self.now:
            raise ProtocolError(f"time runs backwards: it was {self.now:f} s and is {now:f} s")
        if now > LARGEST_TIME:
            raise ProtocolError(f"the now of a message is {now:g} s; {LARGEST_TIME:g} s is the end of time")
        self.now = now
        return events

    def _decide(self) -> Commands:
        """Run the decision lines if there is something to decide on."""
        if not self.begun:
            return NOTHING
        system, state = self.system, self.system.state
        clock = state.tables.clock[0]
        if not self._ended_now and not self._submitted_now:
            if self._over and not clock["arrivals_over"]:
                clock["arrivals_over"] = 1
                self._news |= bool(clock["running"] == 0 and clock["waiting"] > 0)
            if not self._news:
                return NOTHING if not self._registration else Commands()
        system.receive(Instant(self.now, self._ended_now, self._submitted_now, self._over))
        self._ended_now, self._submitted_now, self._news = [], 0, False
        while system.open:
            system.act(self._agent.act(*system.observe()))
        commands = state.drain()
        state.confirm(commands.pstates)
        for job, _ in commands.starts:
            self._running.add(job)
        return commands

    # -- events

    def _begin(self, data: Content) -> None:
        self.machines, platform = map_machines(data.get("compute_resources"), self._platform)
        self._profiles = Profiles(data.get("profiles", {}), self._exact)
        config = data.get("config")
        self._registration = isinstance(config, dict) and config.get("dynamic-jobs-enabled") is True
        self._reference_flops = platform.reference_flops
        self.system = self._decider(platform, self._limits or self._profiles.limits(platform.cores))
        self.begun = True

    def _end(self, data: Content) -> None:
        waiting = int(self.system.state.tables.clock["waiting"][0])
        if self._running or waiting or self._submitted_now:
            raise ProtocolError(f"SIMULATION_ENDS: {len(self._running)} jobs run and {waiting} wait")
        self.ended = True
        self.system.settle()

    def _submit(self, data: Content) -> None:
        identifier, job = data.get("job_id"), data.get("job")
        if not isinstance(identifier, str) or not isinstance(job, dict):
            raise ProtocolError("JOB_SUBMITTED: must tell a job_id and a job")
        if identifier in self._rows:
            raise ProtocolError(f"JOB_SUBMITTED: job {shown(identifier)} has been submitted before")
        request = self._profiles.request(identifier, job, data.get("profile"), self._reference_flops)
        self._rows[identifier] = self.system.state.append(request)
        self.identifiers.append(identifier)
        self._submitted_now += 1

    def _complete(self, data: Content) -> None:
        identifier, outcome = data.get("job_id"), data.get("job_state")
        row = self._rows.get(identifier, -1) if isinstance(identifier, str) else -1
        if row not in self._running:
            raise ProtocolError(f"JOB_COMPLETED: job {shown(identifier)} does not run")
        if not isinstance(outcome, str):
            raise ProtocolError("JOB_COMPLETED: job_state must be a name")
        if outcome == "COMPLETED_KILLED":
            log.warning("job %s has been killed", shown(identifier))
        self._running.remove(row)
        self._ended_now.append(row)
        self.completed += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def _ignore(self, data: Content) -> None:
        pass

    def _call(self, data: Content) -> None:
        self._news = True

    def _notify(self, data: Content) -> None:
        kind = data.get("type")
        if kind == "no_more_static_job_to_submit":
            self._over = True
        elif kind in JOIN or kind in LEAVE:
            self._change_pool(kind, data)
        else:
            log.info("Batsim notifies of %s", shown(kind))

    def _change_pool(self, kind: str, data: Content) -> None:
        state = self.system.state
        free = state.tables.clock["free_cores"][0]
        cores = self.machines.cores_named(data.get("resources"), kind)
        for core in cores:
            set_available(state.tables, core, kind in JOIN)
        log.info("%d cores %s", len(cores), "rejoin" if kind in JOIN else "leave")
        self._news |= bool(state.tables.clock["free_cores"][0] > free and state.tables.clock["waiting"][0] > 0)

    # -- answers

    def answer(self, message: str | bytes) -> str:
        """Take in a message as it comes over the wire and return the answer to send."""
        return self.write(self.hear(read_message(message)))

    def write(self, commands: Commands) -> str:
        """Return commands as the message that Batsim wants."""
        now = self.now
        if commands is NOTHING:
            return f'{{"now":{now!r},"events":[]}}'
        head = f'{{"timestamp":{now!r},"type":"'
        events = [f'{head}{kind}","data":{{{written(data)}}}}}' for kind, data in self.orders(commands)]
        return f'{{"now":{now!r},"events":[{",".join(events)}]}}'

    def orders(self, commands: Commands) -> list[tuple[str, Content]]:
        """Return the type and the data of each event that carries commands, in the order that they take effect in.

        Rejections, starts, P-states 0 to 3, kills, the call: the embedded simulator applies them in this order.
        """
        names, machines = self.identifiers, self.machines
        orders: list[tuple[str, Content]] = []
        if self._registration:
            self._registration = False
            orders.append(("NOTIFY", {"type": "registration_finished"}))
        for job in commands.rejects:
            orders.append(("REJECT_JOB", {"job_id": names[job]}))
        for job, cores in commands.starts:
            orders.append(("EXECUTE_JOB", {"job_id": names[job], "alloc": machines.named(cores.tolist())}))
        for pstate in sorted(set(commands.pstates.values())):
            changed = [core for core, wanted in commands.pstates.items() if wanted == pstate]
            orders.append(("SET_RESOURCE_STATE", {"resources": machines.named(changed), "state": str(pstate)}))
        if commands.kills:
            orders.append(("KILL_JOB", {"job_ids": [names[job] for job in commands.kills]}))
        if math.isfinite(commands.wake_at):
            orders.append(("CALL_ME_LATER", {"timestamp": commands.wake_at}))
        return orders
