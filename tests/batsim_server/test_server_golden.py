"""The server repeats 27 conversations that the real Batsim 4.2.1 had, and writes the same files."""

import csv
import json
import shlex
import shutil
import threading
from pathlib import Path

import pytest
import zmq

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.errors import ProtocolError

GOLDEN = Path(__file__).parent.parent / "golden" / "batsim4"
CASES = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir())
REFUSED = [case for case in CASES if case.startswith("err_")]
WALL_CLOCK = ("scheduling_time", "simulation_time", "batsim_version")


class Recording:
    """The other side of a recorded conversation; it insists on hearing what Batsim said."""

    def __init__(self, case):
        lines = (GOLDEN / case / "transcript.jsonl").read_text().splitlines()
        self.messages = [json.loads(line)["raw"] for line in lines]
        self.heard = 0

    def ask(self, text):
        expected = self.messages[self.heard]
        if self.heard == 0:
            assert without_order(text) == without_order(expected)
        else:
            assert text == expected
        self.heard += 2
        return self.messages[self.heard - 1].encode()

    @property
    def over(self):
        return self.heard == len(self.messages)


def without_order(text):
    """Parse the first message: Batsim lists profiles and properties in no order; numbers are compared as written."""
    message = json.loads(text, parse_float=str)
    message["events"][0]["data"].pop("workloads")
    return message


def command_line(case, folder):
    """Copy a case's inputs to a folder; return its command line there."""
    words = shlex.split((GOLDEN / case / "cmdline.txt").read_text())[1:]
    for word in words:
        for source in (GOLDEN / case / word, GOLDEN / word):
            if word.endswith((".xml", ".json", ".txt")) and source.exists():
                shutil.copy(source, folder / word)
    return words


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def assert_same_files(case, folder):
    for path in sorted((GOLDEN / case).glob("*.csv")):
        expected, written = (list(csv.reader(p.read_text().splitlines())) for p in (path, folder / path.name))
        assert len(written) == len(expected), path.name
        for line, (theirs, ours) in enumerate(zip(expected, written, strict=True), start=1):
            for column, x, y in zip(expected[0], theirs, ours, strict=True):
                if column not in WALL_CLOCK and x != y:
                    assert float(y) == pytest.approx(float(x), rel=1e-6), (path.name, line, column)
    known = {path.name for path in (GOLDEN / case).glob("*.csv")}
    assert {path.name for path in folder.glob("*.csv")} == known


@pytest.mark.parametrize("case", [case for case in CASES if case not in REFUSED])
def test_the_server_says_and_writes_what_batsim_did(case, folder):
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
    assert (folder / "out_INCOMPLETE").read_text() == f"{error.value}\n"


def test_all_recorded_cases_are_there():
    assert len(CASES) == 27


def test_a_recorded_conversation_is_the_same_over_a_socket(folder):
    words = command_line("pstate_zero", folder)
    recording = Recording("pstate_zero")
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        port = socket.bind_to_random_port("tcp://127.0.0.1")
        words[words.index("-s") + 1] = f"tcp://127.0.0.1:{port}"

        def answer():
            while not recording.over:
                socket.send(recording.ask(socket.recv_string()))

        scheduler = threading.Thread(target=answer, daemon=True)
        scheduler.start()
        assert cli.main([*words, "-q", "--timeout", "300"]) == 0
        scheduler.join(300)
    assert recording.over
    assert_same_files("pstate_zero", folder)
