"""Memory of a silent session: jobs only delay, compute, and send one another bytes while they do.

Batsim's server plays such sessions in machine code, without numpy, whose import takes longer than a short session. So
the memory is made here of bytes, laid out as the bundles of `engine.silent_session`.
"""

import ctypes
from array import array
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from struct import Struct
from typing import NamedTuple

from hdeeprm_like.cluster.speed_profiles import SpeedProfile
from hdeeprm_like.engine import actor_fields
from hdeeprm_like.engine.actor_fields import GREET, INFORM, KILLING, SERVER, SUBMITTER

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

UNREAD = 4  # result of `silent_clock.advance`, besides those of rounds

# Words of replies, as the machine code knows them
NOW_WORD, EVENTS_WORD, EVENT_WORD, TYPE_WORD, EXECUTE_WORD, REJECT_WORD, CALL_WORD = range(7)
ALLOC_WORD, DATA_END, CALL_END, NEXT_EVENT, REPLY_END = range(7, 12)
KNOWN_WORDS = (
    *('{"now":', ',"events":[', '{"timestamp":', ',"type":"', 'EXECUTE_JOB","data":{"job_id":"w0!'),
    *('REJECT_JOB","data":{"job_id":"w0!', 'CALL_ME_LATER","data":{"timestamp":'),
    *('","alloc":"', '"}}', "}}", ",", "]}"),
)

# Parts of messages
MESSAGE_PART, EVENTS_PART, EVENT_PART, SUBMITTED_PART, COMPLETED_PART, CALLED_PART, STATE_PART = range(12, 19)
CODE_PART, ALLOC_PART, EVENT_END, MESSAGE_END, SUCCESS_PART, FAILED_PART, WALLTIME_PART, KILLED_PART = range(19, 27)
PARTS = (
    *('{"now":', ',"events":[', '{"timestamp":', ',"type":"JOB_SUBMITTED","data":', ',"type":"JOB_COMPLETED","data":'),
    *(',"type":"REQUESTED_CALL","data":{}}', ',"job_state":"COMPLETED_', '","return_code":', ',"alloc":"', '"}}', "]}"),
    *("SUCCESSFULLY", "FAILED", "WALLTIME_REACHED", "KILLED"),
)
TEXTS = [text.encode() for text in KNOWN_WORDS + PARTS]

TALK = (
    *actor_fields.TALK,
    ("now", "f8"),  # s
    ("doing", "i8"),  # what the server goes on with in its next turn
    ("decision", "i8"),  # of the reply, which it carries out
    ("switched", "i8"),  # machines that have got their P-state by it
    ("over", "i8"),  # 1 if all jobs are submitted
    ("killers", "i8"),  # actors that kill jobs and have not yet reported
    ("killings", "i8"),  # of those so far
    ("kills", "i8"),  # used entries of Session.kills
    ("running", "i8"),
    ("submitted", "i8"),  # jobs
    ("completed", "i8"),
    ("closed", "i8"),  # used entries of Session.closed
    ("forgotten", "i8"),  # of these, those whose end the scheduler knows
    ("events", "i8"),  # used entries of Session.events
    ("rows", "i8"),  # used entries of Session.rows
    ("changed", "i8"),  # used entries of Session.changed
    ("reply", "i8"),  # bytes of the reply that is to be read
    ("figure", "f8"),  # the number just read
    ("longest", "i8"),  # bytes of the description of a job
    ("listed", "i8"),  # events of the message
    ("written", "i8"),  # end of what is written of it in Session.out
    ("head", "i8"),  # its first byte there, once it is complete
    ("allocs", "i8"),  # used bytes of Session.allocs
    ("fetched", "i8"),  # bytes of that taken away before
    ("unusual", "i8"),  # 1 after something that only the server in Python knows
    ("sends", "i8"),  # 1 if jobs send
    ("gates", "i8"),  # most links that the message of a job's end uses
    ("computing", "i8"),  # machines
    ("idle_seconds", "f8"),  # s of all machines, up to their last change
    ("computing_seconds", "f8"),
    ("commands", "i8"),  # decisions of the reply
    ("reply_date", "f8"),  # s
    ("latency", "f8"),  # s, of a message from the server's host to itself
    ("share", "f8"),  # of it that takes time after that
    ("speed", "f8"),  # 1/s
)
SIM = (("jobs", "i8"), ("next_job", "i8"))  # jobs in all, and those submitted so far
JOB = (
    ("walltime", "f8"),  # s, infinite without limit
    ("delay", "f8"),  # s; below 0 for a job that computes
    ("flops", "f8"),  # on each machine, or on all
    ("divided", "i8"),  # 1 for all
    ("listed", "i8"),  # 1 if they are in Session.loads
    ("sends", "i8"),  # 1 if it may send
    ("wanted", "i8"),  # machines, 0 for any number
    ("code", "i8"),  # that it returns
    ("text", "i8"),  # its description in Session.texts: the first byte,
    ("text_key", "i8"),  # where its name ends,
    ("text_end", "i8"),  # and its end
    ("rate", "f8"),  # 1/s
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
    ("alloc", "i8"),  # first byte of its machines as text, in all that Session.allocs held
    ("alloc_length", "i8"),
    ("killed", "i8"),  # 1 if the scheduler has it killed
    ("note", "i8"),  # 1 + the number of its latest metadata; 0 without
    ("changed", "i8"),  # 1 if its speed is to be computed
    ("uses", "i8"),  # links that it sends over
    ("limit", "f8"),  # 1/s, of its work by the latency of its route; not above 0 without
)
GIVEN = "3d8q"  # the form of what is known of a job at first, up to the end of its description
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
    ("latency", "f8"),  # s, of a message to the server
    ("share", "f8"),  # of it that takes time after that
    ("rate", "f8"),  # 1/s
    ("way", "i8"),  # 1 if that way is known
    ("gate", "i8"),  # where jobs send: the first link of that way in Session.uses,
    ("gates", "i8"),  # and how many there are; 0 where nothing else uses them
    ("limit", "f8"),  # 1/s, by the latency of that way; not above 0 without
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
    ("use", "i8"),  # its first link in Session.uses
    ("uses", "i8"),
    ("delay", "f8"),  # s, latency of the longest of its routes
    ("limit", "f8"),  # 1/s, by that latency; not above 0 without
)
USE = (("link", "i8"), ("weight", "f8"), ("bandwidth", "f8"), ("fatpipe", "i8"))  # of a link: bytes, bytes/s
EVENT = (("kind", "i8"), ("job", "i8"), ("time", "f8"), ("joules", "f8"), ("place", "i8"))  # in the message
ROW = (("kind", "i8"), ("number", "i8"), ("time", "f8"), ("joules", "f8"), ("least", "f8"), ("watts", "f8"))

Fields = tuple[tuple[str, str], ...]

RECORDS: dict[str, Fields] = {  # what the entries of arrays are, where they are no numbers
    "talk": TALK,
    "sim": SIM,
    "tasks": JOB,
    "machines": MACHINE,
    "powers": POWER,
    "meter": METER,
    "commands": COMMAND,
    "uses": USE,
    "events": EVENT,
    "rows": ROW,
    "killings": KILLING,
}
WORDS = {name: len(fields) for name, fields in RECORDS.items()} | {"pace": 16, "heap": 4}  # of an entry, 1 of a number
WORDS |= {"size": 4, "constraints": 5, "variables": 5, "problem_uses": 4}  # of `engine.sharing`
WORDS |= {"changes": 2, "profiles": 7}  # of `engine.speeds`
WORDS |= {"roads": 4, "capacities": 3, "flows": 6, "flow_loads": 4}  # of `engine.flows`
STEPS = 64  # of `engine.actions`
LINKS, LOADS = 1000, 10_000  # of a session whose jobs send, and more for each machine
LINKS_EACH, LOADS_EACH = 8, 64
ENDLESS = (5, 7, 9, 10, 15)  # words of its PACE that are infinite at first
PRECISION = 1e-5  # of `engine.sharing`
SPEED = Struct("=qqqdddq")  # of `engine.speeds`
NUMBER, UNUSED, FIRST_USE = Struct("=i"), Struct("=d4i").pack(0.0, 0, -1, -1, 0), 24  # of `engine.flows`
CALLS = 1000  # requested at once, and one more for each job
LEAST_COMMANDS = 100  # of a reply, and three more for each job
ROWS = 4096  # that are kept here
MOST_PARTS = 64  # of an exact sum
MOST_KILLED = 64  # jobs that one decision kills
HEAD = 64  # bytes of a message before its events
EVENT_BYTES, SUBMITTED_BYTES = 300, 96  # of an event without the job's description and machines
PLACE_BYTES = 12  # of a machine in a list
REPLY_BYTES = 1 << 16


def places_of(fields: Fields) -> dict[str, int]:
    """Return the place of each field in its record, in words."""
    return {field: place for place, (field, _) in enumerate(fields)}


class Content(NamedTuple):
    """What a session is about: at least one job, machine and P-state.

    Attributes:
        jobs, machines, powers: how many there are, powers for each P-state of each kind of machine.
        texts: the descriptions of all jobs; *longest* is the size of the longest one.
        numbers: bound of those that jobs have in their names. sends: whether jobs send.
        followed: by the speed of each machine.
    """

    jobs: int
    machines: int
    powers: int = 1
    texts: bytes = b" "
    longest: int = 1
    numbers: int = 1
    sends: bool = False
    followed: Sequence[SpeedProfile | None] = ()

    @property
    def profiles(self) -> list[SpeedProfile]:
        """Return the different files that speeds follow."""
        return list(dict.fromkeys(profile for profile in self.followed if profile is not None))


Entries = dict[str, int]  # of arrays, by their names


def entries_of(content: Content) -> dict[str, Entries]:
    """Return how many entries each array has, by the bundle that it belongs to, in the order there.

    So many decisions may a reply hold, less one, machines these name, and links all of them and the ways to the server
    use; a capacity is a machine or a link.
    """
    jobs, machines = content.jobs, content.machines
    actions = actors = 3 * jobs + CALLS + 8  # also those that end together, with the message and the answer
    commands, chosen = LEAST_COMMANDS + 3 * jobs, LEAST_COMMANDS + 4 * machines
    capacities, flows, uses = machines, 1, 1
    if content.sends:
        capacities += LINKS + LINKS_EACH * machines
        flows, uses = jobs + 1, LOADS + LOADS_EACH * machines
    profiles = content.profiles
    changes = sum(len(profile.dates) for profile in profiles) or 1
    return {
        "actions": {"pace": 1}
        | dict.fromkeys(("heap", "left", "rates"), actions)
        | {"places": 2 * jobs, "steps": STEPS}
        | dict.fromkeys(("scratch", "ended", "made_ended"), actions),
        "problem": {"size": 1, "constraints": capacities + 1, "variables": flows}
        | {"problem_uses": uses, "open": capacities + 1},
        "traffic": {"roads": 1, "capacities": capacities, "flows": flows, "flow_loads": uses}
        | {"changed_flows": flows + 1, "members": flows, "met": capacities},
        "speeds": {"changes": 1, "profiles": len(profiles) or 1, "speed_of": machines}
        | {"change_steps": changes, "shares": changes},
        "session": {"talk": 1}
        | dict.fromkeys(("ready", "ran", "requests", "messages"), actors)
        | {"killings": jobs + 1, "sim": 1, "submit": jobs, "tasks": jobs}
        | {"machines": machines, "powers": content.powers, "meter": 1}
        | {"joules": machines, "joule_bits": machines, "sum": 1, "gathered": machines, "parts": MOST_PARTS}
        | {"commands": commands, "chosen": chosen, "loads": chosen, "events": jobs + commands + 8, "rows": ROWS}
        | dict.fromkeys(("kills", "changed", "closed"), jobs)
        | {"uses": uses, "numbers": content.numbers, "word_ends": len(TEXTS) + 1},
    }


def bytes_of(content: Content) -> Entries:
    """Return how many bytes each text of a session has, in the order of its bundle, behind its arrays."""
    in_a_turn = MOST_KILLED * (EVENT_BYTES + content.longest) + PLACE_BYTES * content.machines
    return {
        "words": sum(map(len, TEXTS)),
        "texts": len(content.texts),
        "reply": REPLY_BYTES + PLACE_BYTES * content.machines,
        "out": HEAD + len(content.texts) + SUBMITTED_BYTES * content.jobs + 2 * in_a_turn,
        "allocs": REPLY_BYTES + 2 * PLACE_BYTES * content.machines,
    }


class Memory:
    """The arrays of a silent session.

    Attributes:
        content: what it is about. entries: see `entries_of`. arrays: the memory of each array by its name.
    """

    def __init__(self, content: Content) -> None:
        """Make the arrays for a session that has not begun."""
        self.content, self.entries, self._texts = content, entries_of(content), bytes_of(content)
        self.arrays = {name: bytearray(size) for name, size in self._texts.items()}
        for entries in self.entries.values():
            self.arrays |= {name: bytearray(WORD * count * WORDS.get(name, 1)) for name, count in entries.items()}
        self.arrays["joule_bits"] = self.arrays["joules"]  # the same memory
        self.arrays["texts"][:] = content.texts
        self.arrays["words"][:] = b"".join(TEXTS)
        self.integers("word_ends")[1:] = array("q", accumulate(map(len, TEXTS)))
        self._begin()
        self._follow()

    def _begin(self) -> None:
        """Write what a session begins with: its submitter and server are to run, its message has the first event."""
        for word in ENDLESS:
            self.floats("pace")[word] = inf
        self.floats("size")[WORDS["size"] - 1] = PRECISION
        self.arrays["capacities"][:] = UNUSED * (len(self.arrays["capacities"]) // len(UNUSED))
        NUMBER.pack_into(self.arrays["flows"], FIRST_USE, -1)
        for name in ("places", "numbers", "speed_of"):
            self.arrays[name][:] = b"\xff" * len(self.arrays[name])  # -1
        first = {"ready": 2, "submitter_stage": GREET, "server_stage": INFORM, "listed": 1, "events": 1}
        talk, places, event = self.integers("talk"), places_of(TALK), places_of(EVENT)
        first |= {"written": HEAD, "longest": self.content.longest, "sends": self.content.sends}
        for name, value in first.items():
            talk[places[name]] = value
        self.integers("ready")[:2] = array("q", (SUBMITTER, SERVER))
        self.integers("events")[event["kind"]], self.integers("events")[event["place"]] = BEGINS, HEAD
        self.integers("sim")[0] = self.content.jobs

    def _follow(self) -> None:
        """Write what is known of speeds that follow files, as `engine.speeds` does."""
        profiles, first = self.content.profiles, 0
        dates = [profile.dates[0] for profile in profiles]
        for place, profile in enumerate(profiles):
            end, row = first + len(profile.dates), place * SPEED.size
            SPEED.pack_into(self.arrays["profiles"], row, first, end, first, dates[place], profile.again, 1.0, 0)
            self.floats("change_steps")[first:end] = array("d", profile.steps)
            self.floats("shares")[first:end] = array("d", profile.shares)
            first = end
        of_machine = array("q", (-1 if one is None else profiles.index(one) for one in self.content.followed))
        self.integers("speed_of")[: len(of_machine)] = of_machine
        self.floats("changes")[:2] = array("d", (min(dates, default=inf), -1.0))

    def floats(self, name: str) -> "memoryview[float]":
        """Return the words of an array as floats."""
        return memoryview(self.arrays[name]).cast("d")

    def integers(self, name: str) -> "memoryview[int]":
        """Return the words of an array as integers."""
        return memoryview(self.arrays[name]).cast("q")

    def address(self) -> int:
        """Return the address of a record of the session as `engine.bundles` has it, which lives as long as this."""
        of = self.entries
        actions, problem, speeds = (self._record_of(of[name]) for name in ("actions", "problem", "speeds"))
        traffic = self._record_of(of["traffic"], ctypes.addressof(problem))
        session = self._record_of(of["session"] | self._texts, *map(ctypes.addressof, (actions, traffic, speeds)))
        self._records = session, actions, traffic, speeds, problem
        return ctypes.addressof(session)

    def _record_of(self, sizes: Entries, *first: int) -> "ctypes.Array[ctypes.c_int64]":
        words = list(first)
        for name, count in sizes.items():
            words += [ctypes.addressof(ctypes.c_char.from_buffer(self.arrays[name])), count]
        return (ctypes.c_int64 * len(words))(*words)
