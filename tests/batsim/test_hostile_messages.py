"""Thousands of broken messages over real sockets: each gets an answer, or one clear line and the end; none hangs."""

import json
import random
import re
import resource
import threading
import time

import pytest
import zmq
from batsim_talk import FOUR, play_on_server5, talk
from hostile import mutated
from server_inputs import reply

from hdeeprm_like.batsim.codec4 import Codec4
from hdeeprm_like.batsim.codec5 import Codec5
from hdeeprm_like.batsim.endpoint import Endpoint
from hdeeprm_like.batsim_server import cli as server
from hdeeprm_like.batsim_server.batsim5 import cli as server5
from hdeeprm_like.errors import HDeepRMError

LONGEST = 120.0  # s that one conversation may take; it takes much less
MOST_MEMORY = 400.0  # MB that all of them together may add to what this process takes
SHARES = [200, pytest.param(10_000, marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def recorded5(folder):
    """The same with Batsim 5, whose texts end with a zero byte."""
    ours, answers = talk(codec=Codec5()), []
    answer = ours.answer

    def keep(message):
        answers.append(answer(message).encode())
        return answers[-1].decode()

    ours.answer = keep
    said, over = play_on_server5(ours, folder)
    assert over
    return [text if isinstance(text, bytes) else text.encode() for text in said], answers


def mutated5(dice, texts):
    """The same as `mutated`; the first text is no JSON alone and stays, the others lose their zero byte."""
    at, parts = mutated(dice, [text.rstrip(b"\0") for text in texts[1:]])
    return at + 1, parts


def check_line(line):
    assert line
    assert "\n" not in line
    assert "Traceback" not in line
    assert len(line) < 400


class Memory:
    """Holds the memory of this process to a bound."""

    def __enter__(self):
        self.before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def __exit__(self, *_):
        more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.before
        assert more / 1024 < MOST_MEMORY


# two hundred messages more of the same sort
@pytest.mark.lane(more=r"200-5")
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("count", SHARES)
def test_a_hostile_batsim_gets_answers_or_one_clear_line(count, version, request):
    recorded = request.getfixturevalue("recorded5" if version == 5 else "recorded")
    codec, mutate = (Codec5, mutated5) if version == 5 else (Codec4, mutated)
    dice, endpoint, problems = random.Random(count), Endpoint("tcp://127.0.0.1:*"), []

    def serve(given):
        try:
            endpoint.play(talk(given, codec=codec()), patience=LONGEST, first_patience=LONGEST)
        except HDeepRMError as error:
            problems.append(str(error))
            endpoint.refuse(str(error))
        except BaseException as error:
            problems.append(f"Traceback {error!r}")
            endpoint.refuse("a bug")

    refused = 0
    with zmq.Context() as context, Memory():
        for number in range(count):
            at, parts = mutate(dice, recorded[0])
            problems.clear()
            thread = threading.Thread(target=serve, args=(dice.choice([None, FOUR]),), daemon=True)
            thread.start()
            with context.socket(zmq.REQ) as batsim:
                batsim.setsockopt(zmq.LINGER, 0)
                batsim.connect(endpoint.address)
                before, after = ([[text] for text in texts] for texts in (recorded[0][:at], recorded[0][at + 1 :]))
                heard = say_all(batsim, [*before, parts, *after], thread)
            if thread.is_alive():  # it waits for more, as the message had taken the end of the simulation away
                heard &= stop(context, endpoint, thread)
                thread.join(LONGEST)
            assert not thread.is_alive(), (number, parts)
            if not heard:
                endpoint.close(0)
                endpoint = Endpoint("tcp://127.0.0.1:*")
            refused += len(problems)
            for line in problems:
                check_line(line)
    endpoint.close(0)
    assert count * 0.5 < refused < count


def say_all(batsim, messages, thread):
    """Say messages, each when the one before is answered, until one is refused; False if one is not heard any more."""
    for parts in messages:
        batsim.send_multipart(parts)
        deadline = time.monotonic() + LONGEST
        while not batsim.poll(20):
            if not thread.is_alive():
                return False  # the message has ended the simulation early
            assert time.monotonic() < deadline
        bare = re.sub(rb"^[^{]*|\0$", b"", batsim.recv())  # Batsim 5 has a length before and a zero byte after
        answer = json.loads(bare)
        if "error" in answer:
            thread.join(LONGEST)
            return True
        assert set(answer) == {"now", "events"}
    thread.join(0.05)
    return True


def stop(context, endpoint, thread):
    """Say what ends a simulation that waits for more; False if it has ended by itself and did not hear that."""
    with context.socket(zmq.REQ) as batsim:
        batsim.setsockopt(zmq.LINGER, 0)
        batsim.connect(endpoint.address)
        batsim.send(b"stop")
        while not (heard := batsim.poll(20)) and thread.is_alive():
            pass
        return bool(heard)


EVERYTHING = reply(  # of what a scheduler can say; the jobs are those that the recorded answers start
    0.0,
    ("REGISTER_PROFILE", {"workload_name": "d", "profile_name": "p", "profile": {"type": "delay", "delay": 2}}),
    ("REGISTER_JOB", {"job_id": "d!1", "job": {"id": "d!1", "subtime": 0, "res": 1, "profile": "p", "walltime": 3.5}}),
    ("SET_JOB_METADATA", {"job_id": "d!1", "metadata": "mine"}),
    ("TO_JOB_MSG", {"job_id": "d!1", "msg": "hello"}),
    ("EXECUTE_JOB", {"job_id": "d!1", "alloc": "3", "mapping": {"0": "0"}}),
    ("QUERY", {"requests": {"consumed_energy": {}}}),
    ("CALL_ME_LATER", {"timestamp": 30.0}),
    ("SET_RESOURCE_STATE", {"resources": "3", "state": "0"}),
    ("KILL_JOB", {"job_ids": ["d!1"]}),
    ("NOTIFY", {"type": "registration_finished"}),
)


# as many messages the other way, two seconds each
@pytest.mark.lane(more=r"200-[45]")
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("count", SHARES)
def test_a_hostile_scheduler_ends_the_server_in_one_clear_line(count, version, request, folder, capsys):
    answers = request.getfixturevalue("recorded5" if version == 5 else "recorded")[1]
    dice = random.Random(count + 1)
    words = ["-p", folder / "platform.xml", "-e", folder / "fuzz", "-q"]
    if version == 5:
        run, mutate, words = server5.main, mutated5, [*words, "-w", folder / "workload5.json", "--energy-host"]
    else:
        run, mutate, words = server.main, mutated, [*words, "-w", folder / "workload.json", "-E"]
        words, answers = [*words, "--enable-dynamic-jobs"], [EVERYTHING, *answers[1:]]
    with zmq.Context() as context, Memory(), context.socket(zmq.REP) as scheduler:
        scheduler.setsockopt(zmq.LINGER, 0)
        address = f"tcp://127.0.0.1:{scheduler.bind_to_random_port('tcp://127.0.0.1')}"
        faults = []
        over = threading.Event()
        peer = threading.Thread(target=answer_all, args=(scheduler, answers, faults, over), daemon=True)
        peer.start()
        for _ in range(count):
            at, parts = mutate(dice, answers)
            faults.append((at, parts))
            began = time.monotonic()
            where = ["-s", address, *[""] * (version == 5), "--timeout", str(LONGEST / 2)]
            status = run([*map(str, words), *where])
            assert time.monotonic() - began < LONGEST
            errors = capsys.readouterr().err
            assert status in (0, 1)
            if status == 1:
                check_line(errors.removesuffix("\n"))
                assert (folder / ("fuzzINCOMPLETE" if version == 5 else "fuzz_INCOMPLETE")).exists()
        over.set()
        peer.join(LONGEST)


def answer_all(scheduler, answers, faults, over):
    """Answer one simulation after the other, each with the last fault in its place."""
    heard = 0
    while not over.is_set():
        if not scheduler.poll(100):
            continue
        text = scheduler.recv()
        heard = 0 if b"SIMULATION_BEGINS" in text or b'"now"' not in text else heard + 1
        at, parts = faults[-1]
        if heard == at:
            scheduler.send_multipart(parts)
        elif heard < min(len(answers), 60):
            scheduler.send(answers[heard])
        else:
            scheduler.send(b"the test has nothing more to say")
