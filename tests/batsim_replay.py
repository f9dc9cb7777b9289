"""Plays recorded conversations of the real Batsim 4.2.1 with our server, and says where ours differs.

By hand: ``python tests/batsim_replay.py FOLDER [PART_OF_A_NAME ...]`` with a folder that holds one folder per case in
``cases/``: ``cmdline.txt``, ``transcript.jsonl.gz`` and Batsim's output files, packed by gzip. With ``--note`` what
became of all cases is noted in ``tests/golden/batsim4_suite.json``, with ``--note-complete`` what became of them in a
folder that has the traces of their jobs too; a test holds the figures in docs/notebook/batsim.md to that.
"""

import csv
import gzip
import io
import itertools
import json
import os
import shlex
import struct
import sys
import tempfile
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.errors import HDeepRMError

WALL_CLOCK = ("scheduling_time", "simulation_time", "batsim_version")
CLOSE = 1e-6  # s or relative
EQUAL = "equal"
KINDS = (EQUAL, "different", "refused")
NOTE = Path(__file__).parent / "golden" / "batsim4_suite.json"
COMPLETE = "complete"  # in the note: with the traces that the recording lacks


class Differs(Exception):
    """Ours said or wrote something else than Batsim."""


def messages_of(case):
    """The recorded messages of a case, packed or not: what Batsim said and what it was answered in turn."""
    packed = case / "transcript.jsonl.gz"
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else (case / "transcript.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


class Conversation:
    """The scheduler's side of a recorded conversation, which insists on hearing what Batsim said.

    *compare* raises where a message is not the recorded one; the third argument is its number.
    """

    def __init__(self, messages, compare):
        self.messages, self.compare, self.heard = messages, compare, 0

    def ask(self, said):
        if self.heard >= len(self.messages):
            raise Differs(f"after the end: {said[:300]}")
        self.compare(self.messages[self.heard], said, self.heard)
        self.heard += 2
        reply = self.messages[self.heard - 1]
        return (struct.pack("=I", reply["flags"]) if "flags" in reply else b"") + reply["raw"].encode()

    def must_be_over(self):
        if self.heard < len(self.messages):
            raise Differs(f"ours ends before message {self.heard}: {self.messages[self.heard]['raw'][:300]}")


def assert_equal(expected, ours, where):
    """Raise where two texts differ, with what stands there; pytest would take minutes to compare long ones."""
    if expected != ours:
        alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(expected, ours, strict=False))
        at = sum(1 for _ in alike)
        near = slice(max(at - 60, 0), at + 60)
        raise Differs(f"{where}, character {at}: Batsim {expected[near]!r}, ours {ours[near]!r}")


def compare_message(recorded, text, number):
    """Raise where a message of Batsim 4 differs by more than the last digits of its numbers."""
    if text != recorded["raw"]:
        compare(without_paths(recorded["raw"]), without_paths(text), f"message {number}")


def without_paths(text):
    """A message as JSON, without the paths of the recording machine."""
    message = json.loads(text)
    for event in message["events"]:
        if event["type"] == "SIMULATION_BEGINS":
            event["data"].pop("workloads")
    return message


def compare(expected, ours, where):
    """Raise where two pieces of JSON differ; numbers may by 1e-6, dictionaries have no order."""
    if isinstance(expected, float) or isinstance(ours, float):
        if isinstance(expected, str) or isinstance(ours, str) or not close(float(expected), float(ours)):
            raise Differs(f"{where}: Batsim {expected!r}, ours {ours!r}")
    elif type(expected) is not type(ours):
        raise Differs(f"{where}: Batsim {expected!r}, ours {ours!r}")
    elif isinstance(expected, dict):
        if expected.keys() != ours.keys():
            raise Differs(f"{where}: Batsim has {short(expected)}, ours {short(ours)}")
        for key, value in expected.items():
            compare(value, ours[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if len(expected) != len(ours):
            raise Differs(f"{where}: Batsim has {short(expected)}, ours {short(ours)}")
        for index, (theirs, mine) in enumerate(zip(expected, ours, strict=True)):
            compare(theirs, mine, f"{where}[{index}]")
    elif expected != ours:
        raise Differs(f"{where}: Batsim {expected!r}, ours {ours!r}")


def close(expected, ours):
    """Whether two numbers are equal to 1e-6 s, or to the last digits of a double where these say less."""
    return abs(expected - ours) <= max(1.001 * CLOSE, 1e-15 * abs(expected))


def short(value):
    return json.dumps(value)[:400]


def compare_files(expected_texts, folder, least=1.001):
    """Raise where the tables in a folder are not the expected ones, given by their names.

    Figures may differ by a millionth, those below *least* by a millionth of that.
    """
    for name, text in expected_texts.items():
        if not (folder / name).exists():
            raise Differs(f"{name}: not written")
        theirs, ours = (list(csv.reader(io.StringIO(t))) for t in (text, (folder / name).read_text()))
        for line, (row, own) in enumerate(zip(theirs, ours, strict=False), start=1):
            if len(row) != len(own):
                raise Differs(f"{name}:{line}: Batsim {row}, ours {own}")
            for column, x, y in zip(theirs[0], row, own, strict=True):
                if column not in WALL_CLOCK and x != y and not same_figure(x, y, least):
                    raise Differs(f"{name}:{line}: {column}: Batsim {x}, ours {y}")
        if len(theirs) != len(ours):
            raise Differs(f"{name}: Batsim has {len(theirs)} lines, ours {len(ours)}")
    written = {path.name for path in folder.glob("*.csv")}
    if written != set(expected_texts):
        raise Differs(f"ours writes {sorted(written)}, Batsim {sorted(expected_texts)}")


def same_figure(x, y, least):
    try:
        return abs(float(x) - float(y)) <= CLOSE * max(least, abs(float(x)))
    except ValueError:
        return False


def replay_case(case, folder):
    """Play one case of a suite, its files written to a folder; return `EQUAL`, or how ours differs or refuses."""
    words = shlex.split((case / "cmdline.txt").read_text())[1:]
    conversation = Conversation(messages_of(case), compare_message)
    tables = {path.stem: gzip.decompress(path.read_bytes()).decode() for path in case.glob("*.csv.gz")}
    with inside(case), redirect_stdout(io.StringIO()):
        try:
            options, _ = cli.read_command_line([*words, "-e", str(folder / "out")])
            cli.play(options, conversation.ask)
            conversation.must_be_over()
            compare_files(tables, folder)
        except Differs as difference:
            return f"different: {difference}"
        except HDeepRMError as error:
            return f"refused: {error}"
    return EQUAL


@contextmanager
def inside(folder):
    """Work in a folder for a while."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def replay_suite(suite, parts=()):
    """Yield the name of each case of a suite, if it has one of the given parts, and what became of it."""
    for case in sorted((suite / "cases").iterdir()):
        if not parts or any(part in case.name for part in parts):
            with tempfile.TemporaryDirectory() as folder:
                yield case.name, replay_case(case.absolute(), Path(folder))


def summary(verdicts):
    """What became of all cases: their number, how many are equal, the names of the others."""
    names = {kind: [name for name, verdict in verdicts if verdict.partition(":")[0] == kind] for kind in KINDS}
    return {"cases": len(verdicts), "equal": len(names[EQUAL]), **{kind: names[kind] for kind in KINDS[1:]}}


def main():
    folder, *parts = (word for word in sys.argv[1:] if not word.startswith("--note"))
    verdicts = []
    for name, verdict in replay_suite(Path(folder), parts):
        verdicts.append((name, verdict))
        if verdict != EQUAL:
            sys.stdout.write(f"{name}: {verdict}\n")
    found = summary(verdicts)
    noted = json.loads(NOTE.read_text())
    if "--note" in sys.argv:
        NOTE.write_text(json.dumps(found | {COMPLETE: noted[COMPLETE]}, indent=2) + "\n")
    if "--note-complete" in sys.argv:
        NOTE.write_text(json.dumps(noted | {COMPLETE: found}, indent=2) + "\n")
    sys.stdout.write(f"{found['equal']} of {found['cases']} equal, {len(found['different'])} different, ")
    sys.stdout.write(f"{len(found['refused'])} refused\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
