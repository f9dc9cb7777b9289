"""The servers repeat 27 conversations of the real Batsim 4.2.1 and ten of 5.0.0-rc2, and write the same files."""

import csv
import json
import shlex
import shutil
import struct
import threading
from pathlib import Path

import pytest
import zmq

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.batsim5 import cli as cli5
from hdeeprm_like.errors import ProtocolError

GOLDEN = Path(__file__).parent.parent / "golden"
VERSIONS = {"batsim4": cli, "batsim5": cli5}
CASES = sorted((path.parent.name, path.name) for path in GOLDEN.glob("batsim[45]/*") if path.is_dir())
REFUSED = [case for case in CASES if case[1].startswith("err_") or case[1] == "force_stop_simple"]  # Batsim aborts
MARKERS = {"batsim4": "out_INCOMPLETE", "batsim5": "out/INCOMPLETE"}
WALL_CLOCK = ("scheduling_time", "simulation_time", "batsim_version")


class Recording:
    """The other side of a recorded conversation; it insists on hearing what Batsim said.

    Batsim 4 lists profiles and properties in its first message in no order.
    """

    def __init__(self, version, case):
        lines = (GOLDEN / version / case / "transcript.jsonl").read_text().splitlines()
        self.messages = [json.loads(line) for line in lines]
        self.five, self.heard = version == "batsim5", 0

    def ask(self, message):
        expected, reply = self.messages[self.heard : self.heard + 2]
        if "hex" in expected:
            assert message.hex() == expected["hex"]
        elif self.five:
            assert message.decode() == expected["raw"] + "\0"
        elif self.heard == 0:
            assert without_order(message) == without_order(expected["raw"])
        else:
            assert message == expected["raw"]
        self.heard += 2
        return (struct.pack("=I", reply["flags"]) if "hex" in expected else b"") + reply["raw"].encode()

    @property
    def over(self):
        return self.heard == len(self.messages)


def without_order(text):
    """Parse the first message; numbers are compared as written."""
    message = json.loads(text, parse_float=str)
    message["events"][0]["data"].pop("workloads")
    return message


def command_line(version, case, folder):
    """Copy a case's inputs to a folder; return its command line there."""
    words = shlex.split((GOLDEN / version / case / "cmdline.txt").read_text())[1:]
    for source in [*(GOLDEN / version).iterdir(), *(GOLDEN / version / case).iterdir()]:
        if source.is_file() and source.suffix != ".csv":
            shutil.copy(source, folder)
    return words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_in(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def assert_same_files(version, case, folder):
    if version == "batsim5":
        theirs, ours = files_in(GOLDEN / version / case / "out"), files_in(folder / "out")
        wall_clock = "real_exec_info.json"
        assert json.loads(theirs.pop(wall_clock)).keys() == json.loads(ours.pop(wall_clock)).keys()
        assert ours == theirs
        return
    for path in sorted((GOLDEN / version / case).glob("*.csv")):
        expected, written = (list(csv.reader(p.read_text().splitlines())) for p in (path, folder / path.name))
        assert len(written) == len(expected), path.name
        for line, (theirs, ours) in enumerate(zip(expected, written, strict=True), start=1):
            for column, x, y in zip(expected[0], theirs, ours, strict=True):
                if column not in WALL_CLOCK and x != y:
                    assert float(y) == pytest.approx(float(x), rel=1e-6), (path.name, line, column)
    known = {path.name for path in (GOLDEN / version / case).glob("*.csv")}
    assert {path.name for path in folder.glob("*.csv")} == known


@pytest.mark.parametrize(("version", "case"), [case for case in CASES if case not in REFUSED])
def test_the_server_says_and_writes_what_batsim_did(version, case, folder):
    options, _ = VERSIONS[version].read_command_line(command_line(version, case, folder))
    recording = Recording(version, case)
    assert VERSIONS[version].play(options, recording.ask)
    assert recording.over
    assert_same_files(version, case, folder)


@pytest.mark.parametrize(("version", "case"), REFUSED)
def test_the_server_refuses_what_batsim_aborts_on_and_marks_its_files(version, case, folder):
    options, _ = VERSIONS[version].read_command_line(command_line(version, case, folder))
    recording = Recording(version, case)
    with pytest.raises(ProtocolError) as error:
        VERSIONS[version].play(options, recording.ask)
    assert recording.over
    assert "\n" not in str(error.value)
    assert (folder / MARKERS[version]).read_text() == f"{error.value}\n"


def test_all_recorded_cases_are_there():
    assert [sum(case[0] == version for case in CASES) for version in VERSIONS] == [27, 10]


@pytest.mark.parametrize(("version", "case"), [("batsim4", "pstate_zero"), ("batsim5", "call")])
def test_a_recorded_conversation_is_the_same_over_a_socket(version, case, folder):
    words = command_line(version, case, folder)
    recording = Recording(version, case)
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        endpoint = f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"
        place = words.index("-s") + 1
        if recording.five:  # the scheduler receives the command line, so it must not change otherwise
            recording.messages[2]["raw"] = recording.messages[2]["raw"].replace(words[place], endpoint)
        words[place] = endpoint

        def answer():
            while not recording.over:
                raw = socket.recv()
                socket.send(recording.ask(raw if recording.five else raw.decode()))

        scheduler = threading.Thread(target=answer, daemon=True)
        scheduler.start()
        assert VERSIONS[version].serve(VERSIONS[version].read_command_line(words)[0])
        scheduler.join(300)
    assert recording.over
    assert_same_files(version, case, folder)
