"""The server for Batsim 5 repeats ten conversations that the real Batsim 5.0.0-rc2 had, and writes the same files."""

import json
import shlex
import shutil
import struct
import threading
from pathlib import Path

import pytest
import zmq

from hdeeprm_like.batsim_server.batsim5 import cli
from hdeeprm_like.errors import ProtocolError

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim5"
CASES = sorted(path.name for path in GOLDEN.iterdir())
REFUSED = ["err_call_offset", "force_stop_simple"]  # on which Batsim aborts
WALL_CLOCK = "real_exec_info.json"


class Recording:
    """The other side of a recorded conversation; it insists on hearing what Batsim said, byte for byte."""

    def __init__(self, case):
        self.messages = [json.loads(line) for line in (GOLDEN / case / "transcript.jsonl").read_text().splitlines()]
        self.heard = 0

    def ask(self, message):
        expected = self.messages[self.heard]
        self.heard += 2
        reply = self.messages[self.heard - 1]
        if "hex" in expected:
            assert message.hex() == expected["hex"]
            return struct.pack("=I", reply["flags"]) + reply["raw"].encode()
        assert message.decode() == expected["raw"] + "\0"
        return reply["raw"].encode()

    @property
    def over(self):
        return self.heard == len(self.messages)


def command_line(case, folder):
    """Copy a case's inputs to a folder; return its command line there."""
    for source in (GOLDEN / case).iterdir():
        if source.is_file():
            shutil.copy(source, folder)
    return shlex.split((GOLDEN / case / "cmdline.txt").read_text())[1:]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same_files(case, folder):
    theirs = {path.name: path.read_text() for path in (GOLDEN / case / "out").iterdir()}
    ours = {path.name: path.read_text() for path in (folder / "out").iterdir()}
    assert json.loads(theirs.pop(WALL_CLOCK)).keys() == json.loads(ours.pop(WALL_CLOCK)).keys()
    assert ours == theirs


@pytest.mark.parametrize("case", [case for case in CASES if case not in REFUSED])
def test_the_server_says_and_writes_what_batsim_did_to_the_byte(case, folder):
    options, _ = cli.read_command_line(command_line(case, folder))
    recording = Recording(case)
    assert cli.play(options, recording.ask)
    assert recording.over
    assert_same_files(case, folder)


@pytest.mark.parametrize("case", REFUSED)
def test_the_server_refuses_what_batsim_aborts_on_and_marks_its_files(case, folder):
    options, _ = cli.read_command_line(command_line(case, folder))
    recording = Recording(case)
    with pytest.raises(ProtocolError) as error:
        cli.play(options, recording.ask)
    assert recording.over
    assert "\n" not in str(error.value)
    assert (folder / "out" / "INCOMPLETE").read_text() == f"{error.value}\n"


def test_all_recorded_cases_are_there():
    assert len(CASES) == 10


def test_a_recorded_conversation_is_the_same_over_a_socket(folder):
    words = command_line("call", folder)
    recording = Recording("call")
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        endpoint = f"tcp://127.0.0.1:{port}"
        recorded = words[words.index("-s") + 1]
        recording.messages[2]["raw"] = recording.messages[2]["raw"].replace(recorded, endpoint)
        words[words.index("-s") + 1] = endpoint

        def answer():
            while not recording.over:
                socket.send(recording.ask(socket.recv()))

        scheduler = threading.Thread(target=answer, daemon=True)
        scheduler.start()
        # the scheduler receives the command line, so it must not change
        options, _ = cli.read_command_line(words)
        assert cli.serve(options)
        scheduler.join(300)
    assert recording.over
    assert_same_files("call", folder)
