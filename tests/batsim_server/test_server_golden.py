"""The servers repeat 27 conversations of the real Batsim 4.2.1 and ten of 5.0.0-rc2, and write the same files."""

import json
import shlex
import shutil
import threading
from pathlib import Path

import pytest
import zmq
from batsim_replay import CLOSE, Conversation, assert_equal, compare, compare_files, messages_of

from hdeeprm_like.batsim_server import cli
from hdeeprm_like.batsim_server.batsim5 import cli as cli5
from hdeeprm_like.errors import ProtocolError

GOLDEN = Path(__file__).parent.parent / "golden"
VERSIONS = {"batsim4": cli, "batsim5": cli5}
CASES = sorted((path.parent.name, path.name) for path in GOLDEN.glob("batsim[45]/*") if path.is_dir())
REFUSED = [case for case in CASES if case[1].startswith("err_") or case[1] == "force_stop_simple"]  # Batsim aborts
MARKERS = {"batsim4": "out_INCOMPLETE", "batsim5": "out/INCOMPLETE"}


def recording(version, case):
    """The other side of a recorded conversation; it insists on hearing what Batsim said, to the letter."""
    return Conversation(messages_of(GOLDEN / version / case), compare5 if version == "batsim5" else compare4)


def compare4(recorded, said, number):
    """Batsim 4 lists profiles and properties in its first message in no order."""
    if number == 0:
        compare(without_order(recorded["raw"]), without_order(said), "the first message")
    else:
        assert_equal(recorded["raw"], said, f"message {number}")


def compare5(recorded, said, number):
    if number == 0:
        assert said.hex() == recorded["hex"]
    else:
        assert_equal(recorded["raw"] + "\0", said.decode(), f"message {number}")


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
        assert ours.keys() == theirs.keys()
        for name, text in theirs.items():
            assert_equal(text, ours[name], name)
        return
    tables = {path.name: path.read_text() for path in (GOLDEN / version / case).glob("*.csv")}
    compare_files(tables, folder, least=CLOSE)


@pytest.mark.parametrize(("version", "case"), [case for case in CASES if case not in REFUSED])
def test_the_server_says_and_writes_what_batsim_did(version, case, folder):
    options, _ = VERSIONS[version].read_command_line(command_line(version, case, folder))
    batsim = recording(version, case)
    assert VERSIONS[version].play(options, batsim.ask)
    batsim.must_be_over()
    assert_same_files(version, case, folder)


@pytest.mark.parametrize(("version", "case"), REFUSED)
def test_the_server_refuses_what_batsim_aborts_on_and_marks_its_files(version, case, folder):
    options, _ = VERSIONS[version].read_command_line(command_line(version, case, folder))
    batsim = recording(version, case)
    with pytest.raises(ProtocolError) as error:
        VERSIONS[version].play(options, batsim.ask)
    batsim.must_be_over()
    assert "\n" not in str(error.value)
    assert (folder / MARKERS[version]).read_text() == f"{error.value}\n"


def test_all_recorded_cases_are_there():
    assert [sum(case[0] == version for case in CASES) for version in VERSIONS] == [27, 10]


@pytest.mark.parametrize(("version", "case"), [("batsim4", "pstate_zero"), ("batsim5", "call")])
def test_a_recorded_conversation_is_the_same_over_a_socket(version, case, folder):
    words = command_line(version, case, folder)
    batsim, five = recording(version, case), version == "batsim5"
    with zmq.Context() as context, context.socket(zmq.REP) as socket:
        endpoint = f"tcp://127.0.0.1:{socket.bind_to_random_port('tcp://127.0.0.1')}"
        place = words.index("-s") + 1
        if five:  # the scheduler receives the command line, so it must not change otherwise
            batsim.messages[2]["raw"] = batsim.messages[2]["raw"].replace(words[place], endpoint)
        words[place] = endpoint

        def answer():
            while batsim.heard < len(batsim.messages):
                raw = socket.recv()
                socket.send(batsim.ask(raw if five else raw.decode()))

        scheduler = threading.Thread(target=answer, daemon=True)
        scheduler.start()
        options, _ = VERSIONS[version].read_command_line(words)
        assert VERSIONS[version].serve(options.replaced(timeout=60.0))  # s, where what is heard is not as recorded
        scheduler.join(300)
    batsim.must_be_over()
    assert_same_files(version, case, folder)
