"""Memory of a silent session: jobs only compute and delay, so nothing but messages to the server uses links.

Batsim's server plays such sessions in machine code, without numpy, whose import takes longer than a short session. So
the memory is made here of bytes, laid out as the bundles of `engine.silent_session`.
"""

import ctypes
from math import inf

WORD = 8  # bytes

# Status of a job
UNKNOWN, SUBMITTED, RUNNING, REJECTED, ENDED, FORGOTTEN = 0, 1, 2, 3, 4, 5

# How the work of a job ended
SUCCESS, WALLTIME, KILLED = 1, 2, 3

# Decisions of the scheduler
EXECUTE, REJECT, CALL, KILL, NOTE, QUERY, SWITCH = 0, 1, 2, 3, 4, 5, 6

# What the server reports to it
BEGINS, JOB_SUBMITTED, JOB_COMPLETED, CALLED, NO_MORE_JOBS, ENDS = 0, 1, 2, 3, 4, 5
JOBS_KILLED, ANSWER, SWITCHED = 6, 7, 8

# Rows of the output files: how many machines compute; the energy at a start, an end, and around a change of P-states
COMPUTING, AT_START, AT_END, SWITCHES, HAS_SWITCHED = 0, 1, 2, 3, 4

# What a machine does; its last job still uses one that is LEFT, though Batsim counts it as idle
IDLE, COMPUTES, LEFT = 0, 1, 2

# Actors: after that of the first job come those of the other jobs, then those that kill jobs
SERVER, ANSWERER, SUBMITTER, CALLER, AWAKE_CALLER, JOBS = 0, 1, 2, 3, 4, 5

# Results of `silent_clock.advance`
OVER, ASKS, UNUSUAL, FULL = 0, 1, 2, 3

TALK = (
    ("now", "f8"),  # s
    ("at", "i8"),  # actors of this round that have run
    ("ready", "i8"),  # actors in this round
    ("next_ready", "i8"),  # actors in the next one
    ("ran", "i8"),  # requests of this round
    ("first_message", "i8"),
    ("messages", "i8"),  # in the mailbox
    ("server_waits", "i8"),  # 1 while the server waits for a message
    ("on_the_way", "i8"),  # the message under way
    ("sender_first", "i8"),  # 1 if its sender runs before the server after its arrival
    ("received", "i8"),  # the message that the server acts on next
    ("server_stage", "i8"),
    ("was_empty", "i8"),  # 1 if the mailbox was empty when the server looked
    ("spawned", "i8"),  # the actor that the server starts
    ("doing", "i8"),  # what the server goes on with after that
    ("rounds", "i8"),  # rounds until then
    ("decision", "i8"),  # of the reply, which it carries out
    ("switched", "i8"),  # machines that have got their P-state by it
    ("scheduler_ready", "i8"),  # 1 if the last reply is carried out
    ("ends_sent", "i8"),
    ("ended", "i8"),
    ("over", "i8"),  # 1 if all jobs are submitted
    ("waiters", "i8"),  # calls to come
    ("killers", "i8"),  # actors that kill jobs and have not yet reported
    ("strikes", "i8"),  # of those so far
    ("struck", "i8"),  # used entries of Session.struck
    ("running", "i8"),
    ("submitted", "i8"),
    ("completed", "i8"),
    ("announced", "i8"),  # jobs
    ("closed", "i8"),  # used entries of Session.closed
    ("forgotten", "i8"),  # of these, those whose end the scheduler knows
    ("events", "i8"),  # used entries of Session.events
    ("rows", "i8"),  # used entries of Session.rows
    ("changed", "i8"),  # used entries of Session.changed
    ("unusual", "i8"),  # 1 after something that only the server in Python knows
    ("computing", "i8"),  # machines
    ("idle_seconds", "f8"),  # s of all machines, up to their last change
    ("computing_seconds", "f8"),
    ("answerer_stage", "i8"),
    ("command", "i8"),  # the decision that the answerer sends next
    ("commands", "i8"),  # decisions of the reply
    ("reply_date", "f8"),  # s
    ("call_date", "f8"),  # s, of the caller that begins
    ("submitter_stage", "i8"),
    ("next_job", "i8"),  # of the submitter
    ("batch", "i8"),  # 1 if it has jobs to submit together
    ("first_look", "i8"),  # at the energy before the first job: 1 while it takes rounds, 2 after it
    ("look_rounds", "i8"),
    ("reached", "f8"),  # s, when it last looked at the clock
    ("latency", "f8"),  # s, of a message from the server's host to itself
    ("share", "f8"),  # of it that takes time after that
    ("speed", "f8"),  # 1/s
)
JOB = (
    ("submit", "f8"),  # s
    ("walltime", "f8"),  # s, below 0 without limit
    ("delay", "f8"),  # s; below 0 for a job that computes
    ("left", "f8"),  # share of its work
    ("rate", "f8"),  # 1/s
    ("latency", "f8"),  # s, from its first machine to the server
    ("share", "f8"),  # of a message that takes time after that
    ("speed", "f8"),  # 1/s
    ("start", "f8"),  # s
    ("run", "f8"),  # s
    ("joules", "f8"),  # of its machines before it, then its own
    ("progress", "f8"),  # when it was killed
    ("first", "i8"),  # its first machine; the others follow in Session.machines
    ("size", "i8"),  # machines that it has
    ("status", "i8"),
    ("stage", "i8"),
    ("rounds", "i8"),  # until its next stage
    ("outcome", "i8"),
    ("killed", "i8"),  # 1 if the scheduler has it killed
    ("note", "i8"),  # 1 + the number of its latest metadata; 0 without
    ("seen", "i8"),  # 1 if the message of its end passes through its first machine, whose energy is then updated
    ("changed", "i8"),  # 1 if its speed is to be computed
)
MACHINE = (
    ("since", "f8"),  # s, of its last change
    ("busy", "i8"),  # what it does
    ("next", "i8"),  # its job's next machine
    ("worker", "i8"),  # 1 + the job that works on it; 0 without
    ("flops", "f8"),  # that this job has for it
    ("seen", "f8"),  # s, date of its joules
    ("watts", "f8"),  # now
    ("power", "i8"),  # entry of Session.powers for its P-state 0
    ("pstate", "i8"),
)
POWER = (("speed", "f8"), ("cores", "f8"), ("idle", "f8"), ("least", "f8"), ("most", "f8"))  # flop/s of a core, W
METER = (
    ("measures", "i8"),  # 1 if energy is measured
    ("judged", "i8"),  # 1 once the P-states are known to it; SimGrid first takes 0 for all
    ("date", "f8"),  # s, of the last look at all machines
    ("joules", "f8"),  # of all then
    ("first", "f8"),  # J before the first job
    ("noted", "f8"),  # s, of the last row
    ("noted_joules", "f8"),
    ("exponent", "i8"),  # of Session.sum
    ("least", "f8"),  # W of all machines at their least load
    ("least_known", "i8"),
)
COMMAND = (
    ("kind", "i8"),
    ("job", "i8"),  # or the P-state
    ("date", "f8"),
    ("wanted", "f8"),
    ("first", "i8"),
    ("count", "i8"),
    ("number", "i8"),  # of the metadata, or the change of P-states
)
EVENT = (("kind", "i8"), ("job", "i8"), ("time", "f8"), ("joules", "f8"))
ROW = (("kind", "i8"), ("number", "i8"), ("time", "f8"), ("joules", "f8"), ("least", "f8"), ("watts", "f8"))
STRIKE = (("first", "i8"), ("count", "i8"), ("at", "i8"), ("stage", "i8"), ("rounds", "i8"))

Fields = tuple[tuple[str, str], ...]

PACE_WORDS, STEPS = 15, 64  # of `engine.actions`
ENDLESS = (5, 7, 9, 10)  # words of its PACE that are infinite at first
CALLS = 1000  # requested at once, and one more for each job
LEAST_COMMANDS = 100  # of a reply, and three more for each job
ROWS = 4096  # that are kept here
MOST_PARTS = 64  # of an exact sum


def place_of(fields: Fields, name: str) -> int:
    """Return the place of a field in its record, in words."""
    return [field for field, _ in fields].index(name)


class Memory:
    """The arrays of a silent session.

    Attributes:
        arrays: the memory of each array by its name: those of the session, and those of its actions.
        calls, commands, machines: how many calls can be pending, how many decisions a reply may hold, and how many
        machines these may name.
    """

    def __init__(self, jobs: int, machines: int, powers: int = 1) -> None:
        """Make the arrays for a session that has not begun, of at least one job, machine and P-state."""
        self.calls, self.commands = CALLS + jobs, LEAST_COMMANDS + 3 * jobs
        self.machines = 4 * machines + LEAST_COMMANDS
        actions, actors = 2 * jobs + self.calls + 1, 2 * jobs + self.calls + 8
        self._actions = {
            "pace": (1, PACE_WORDS),
            "dates": (actions, 1),
            "left": (actions, 1),
            "rates": (actions, 1),
            "made": (actions, 1),
            "since": (actions, 1),
            "owners": (actions, 1),
            "places": (2 * jobs, 1),
            "steps": (STEPS, 1),
            "scratch": (actions, 1),
            "ended": (actions, 1),
            "made_ended": (actions, 1),
        }
        self._session = {
            "talk": (1, len(TALK)),
            "jobs": (jobs, len(JOB)),
            "machines": (machines, len(MACHINE)),
            "powers": (powers, len(POWER)),
            "meter": (1, len(METER)),
            "joules": (machines, 1),
            "joule_bits": (machines, 1),
            "sum": (1, 1),
            "gathered": (machines, 1),
            "parts": (MOST_PARTS, 1),
            "commands": (self.commands, len(COMMAND)),
            "chosen": (self.machines, 1),
            "loads": (self.machines, 1),
            "events": (3 * jobs + self.calls + self.commands + 8, len(EVENT)),
            "rows": (ROWS, len(ROW)),
            "strikes": (jobs + 1, len(STRIKE)),
            "struck": (jobs, 1),
            "changed": (jobs, 1),
            "closed": (jobs, 1),
            "ready_now": (actors, 1),
            "ready_next": (actors, 1),
            "ran": (actors, 1),
            "outgoing": (actors, 1),
            "messages": (actors, 1),
        }
        sizes = {**self._actions, **self._session}
        self.arrays = {name: bytearray(WORD * entries * words) for name, (entries, words) in sizes.items()}
        self.arrays["joule_bits"] = self.arrays["joules"]  # the same memory
        for word in ENDLESS:
            self.floats("pace")[word] = inf
        places = self.integers("places")
        for place in range(2 * jobs):
            places[place] = -1
        ready = self.integers("ready_next")
        ready[0], ready[1] = SUBMITTER, SERVER
        self.integers("talk")[place_of(TALK, "next_ready")] = 2

    def floats(self, name: str) -> "memoryview[float]":
        """Return the words of an array as floats."""
        return memoryview(self.arrays[name]).cast("d")

    def integers(self, name: str) -> "memoryview[int]":
        """Return the words of an array as integers."""
        return memoryview(self.arrays[name]).cast("q")

    def address(self) -> int:
        """Return the address of a record of the session as `engine.bundles` has it, which lives as long as this."""
        actions = self._record_of(self._actions)
        self._records = [self._record_of(self._session, ctypes.addressof(actions)), actions]
        return ctypes.addressof(self._records[0])

    def _record_of(self, sizes: "dict[str, tuple[int, int]]", *first: int) -> "ctypes.Array[ctypes.c_int64]":
        words = list(first)
        for name, (entries, _) in sizes.items():
            words += [ctypes.addressof(ctypes.c_char.from_buffer(self.arrays[name])), entries]
        return (ctypes.c_int64 * len(words))(*words)
