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
SUCCESS, WALLTIME = 1, 2

# Decisions of the scheduler
EXECUTE, REJECT, CALL = 0, 1, 2

# What the server reports to it
BEGINS, JOB_SUBMITTED, JOB_COMPLETED, CALLED, NO_MORE_JOBS, ENDS = 0, 1, 2, 3, 4, 5

SERVER, ANSWERER, SUBMITTER, CALLER, AWAKE_CALLER, JOBS = 0, 1, 2, 3, 4, 5  # actors, and that of the first job

# Results of `silent_clock.advance`
OVER, ASKS, UNUSUAL = 0, 1, 2

TALK = (
    ("now", "f8"),  # s
    ("at", "i8"),  # actors of this round that have run
    ("ready", "i8"),  # actors in this round
    ("next_ready", "i8"),  # actors in the next one
    ("ran", "i8"),  # requests of this round
    ("granted", "i8"),  # 1 if the actors of this round have run and their requests are to be granted
    ("first_message", "i8"),
    ("messages", "i8"),  # in the mailbox
    ("server_waits", "i8"),  # 1 while the server waits for a message
    ("on_the_way", "i8"),  # the message under way
    ("sender_first", "i8"),  # 1 if its sender runs before the server after its arrival
    ("received", "i8"),  # the message that the server acts on next
    ("server_stage", "i8"),
    ("was_empty", "i8"),  # 1 if the mailbox was empty when the server looked
    ("spawned", "i8"),  # the actor that the server starts
    ("scheduler_ready", "i8"),  # 1 if the last reply is carried out
    ("ends_sent", "i8"),
    ("ended", "i8"),
    ("over", "i8"),  # 1 if all jobs are submitted
    ("waiters", "i8"),  # calls to come
    ("running", "i8"),
    ("submitted", "i8"),
    ("completed", "i8"),
    ("announced", "i8"),  # jobs
    ("closed", "i8"),  # used entries of Session.closed
    ("forgotten", "i8"),  # of these, those whose end the scheduler knows
    ("events", "i8"),  # used entries of Session.events
    ("states", "i8"),  # used entries of Session.states
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
    ("first", "i8"),  # its first machine; the others follow in Session.machines
    ("size", "i8"),  # machines that it has
    ("status", "i8"),
    ("stage", "i8"),
    ("outcome", "i8"),
)
MACHINE = (("since", "f8"), ("busy", "i8"), ("next", "i8"))  # s of its last change; the job's next machine
COMMAND = (("kind", "i8"), ("job", "i8"), ("date", "f8"), ("wanted", "f8"), ("first", "i8"), ("count", "i8"))
EVENT = (("kind", "i8"), ("job", "i8"), ("time", "f8"))
STATE = (("time", "f8"), ("computing", "i8"))

Fields = tuple[tuple[str, str], ...]

PACE_WORDS, STEPS = 15, 64  # of `engine.actions`
ENDLESS = (5, 7, 9, 10)  # words of its PACE that are infinite at first
CALLS = 1000  # requested at once, and one more for each job
LEAST_COMMANDS = 100  # of a reply, and three more for each job


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

    def __init__(self, jobs: int, machines: int) -> None:
        """Make the arrays for a session that has not begun, of at least one job and one machine."""
        self.calls, self.commands = CALLS + jobs, LEAST_COMMANDS + 3 * jobs
        self.machines = 4 * machines + LEAST_COMMANDS
        actions, actors = 2 * jobs + self.calls + 1, jobs + self.calls + 8
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
            "commands": (self.commands, len(COMMAND)),
            "chosen": (self.machines, 1),
            "events": (2 * jobs + self.calls + 8, len(EVENT)),
            "states": (2 * jobs, len(STATE)),
            "closed": (jobs, 1),
            "ready_now": (actors, 1),
            "ready_next": (actors, 1),
            "ran": (actors, 1),
            "outgoing": (actors, 1),
            "messages": (actors, 1),
        }
        sizes = {**self._actions, **self._session}
        self.arrays = {name: bytearray(WORD * entries * words) for name, (entries, words) in sizes.items()}
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
