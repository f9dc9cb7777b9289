"""Our requests and replies against libzmq's sockets: what one of them sends the other receives."""

import socket
import threading
import time

import pytest
import zmq
from server_inputs import free_port

from hdeeprm_like.zmtp import AT_ONCE, Lost, Replier, Requester

LARGEST = 1 << 22
SIZES = [0, 1, 255, 256, AT_ONCE, 3 * AT_ONCE + 1]  # bytes: around the two forms of a frame, and of many receptions


def soon(seconds=60.0):
    return time.monotonic() + seconds


@pytest.fixture
def context():
    with zmq.Context() as made:
        yield made


@pytest.fixture
def replier():
    made = Replier("tcp://127.0.0.1:*", LARGEST, 0.1)
    yield made
    made.close()


@pytest.fixture
def requester():
    made = []
    yield lambda endpoint, largest=LARGEST: made.append(Requester(endpoint, largest)) or made[-1]
    for one in made:
        one.close()


def heard_by(replier):
    """The parts of the next request."""
    deadline = soon()
    while (parts := replier.receive()) is None:
        assert time.monotonic() < deadline
    return parts


def echo(context, endpoint, times, parts=1, wait=0.0):
    """Start a libzmq socket that replies with what it has received; return its thread."""

    def run():
        time.sleep(wait)
        with context.socket(zmq.REP) as peer:
            peer.bind(endpoint)
            for _ in range(times):
                peer.send_multipart(peer.recv_multipart() * parts)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_requests_of_all_sizes_come_back_from_libzmq(context, requester):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    thread = echo(context, endpoint, len(SIZES))
    ours = requester(endpoint)
    for size in SIZES:
        assert ours.ask(b"x" * size, soon()) == [b"x" * size]
    thread.join()


def test_a_socket_of_the_file_system_does_as_well(context, requester, tmp_path):
    endpoint = f"ipc://{tmp_path}/socket"
    thread = echo(context, endpoint, 1)
    assert requester(endpoint).ask(b"hello", soon()) == [b"hello"]
    thread.join()


def test_a_request_waits_for_a_socket_that_comes_later_and_gives_up_at_its_time(context, requester):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    assert requester(endpoint).ask(b"early", soon(0.3)) is None
    thread = echo(context, endpoint, 1, wait=0.5)
    assert requester(endpoint).ask(b"early", soon()) == [b"early"]
    thread.join()


def test_all_parts_of_a_reply_are_seen(context, requester):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    thread = echo(context, endpoint, 1, parts=3)
    assert requester(endpoint).ask(b"a", soon()) == [b"a", b"a", b"a"]
    thread.join()


def test_a_reply_that_is_too_large_is_not_taken(context, requester):
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    thread = echo(context, endpoint, 1, parts=2)
    with pytest.raises(Lost, match="more than 1000 bytes"):
        requester(endpoint, 1000).ask(b"x" * 600, soon())
    thread.join()


def plain_peer(act):
    """Listen with a plain socket that does something with its first connection; return the endpoint."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run():
        with listener, listener.accept()[0] as peer:
            act(peer)

    threading.Thread(target=run, daemon=True).start()
    return f"tcp://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("noise", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" + b"\0" * 8 + b"\x7f\1" + b"\0" * 60])
def test_a_peer_that_does_not_speak_the_protocol_is_an_error(requester, noise):
    with pytest.raises(Lost, match="protocol"):
        requester(plain_peer(lambda peer: (peer.sendall(noise), peer.recv(1)))).ask(b"hello", soon())


def test_a_peer_that_takes_the_request_and_goes_is_an_error(context, requester):
    endpoint = f"tcp://127.0.0.1:{free_port()}"

    def run():
        with context.socket(zmq.REP) as peer:
            peer.bind(endpoint)
            peer.recv()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    with pytest.raises(Lost):
        requester(endpoint).ask(b"hello", soon())
    thread.join()


@pytest.mark.parametrize(
    "endpoint", ["nonsense", "tcp://here", "tcp://:1", "tcp://a:b", "tcp://a:99999", "ipc://", "inproc://a"]
)
def test_an_endpoint_that_is_none_is_refused(endpoint):
    with pytest.raises(ValueError, match=r"is neither|is no port"):
        Requester(endpoint, LARGEST)
    with pytest.raises(ValueError, match=r"is neither|is no port"):
        Replier(endpoint, LARGEST, 0.1)


def test_replies_of_all_sizes_reach_libzmq(context, replier):
    with context.socket(zmq.REQ) as peer:
        peer.connect(replier.endpoint)
        for size in SIZES:
            peer.send(b"x" * size)
            assert heard_by(replier) == [b"x" * size]
            assert replier.owes
            replier.reply(b"y" * size)
            assert peer.recv() == b"y" * size
            assert not replier.owes


def test_several_peers_are_served_in_turn(context, replier):
    peers = [context.socket(zmq.REQ) for _ in range(3)]
    for peer in peers:
        peer.connect(replier.endpoint)
    for _ in range(2):
        for number, peer in enumerate(peers):
            peer.send(b"%d" % number)
        heard = []
        for _ in peers:
            heard += heard_by(replier)
            replier.reply(heard[-1])
        assert sorted(heard) == [b"0", b"1", b"2"]
        assert [peer.recv() for peer in peers] == [b"0", b"1", b"2"]
    for peer in peers:
        peer.close()


def test_a_request_through_a_proxy_finds_its_way_back(context, replier):
    with context.socket(zmq.ROUTER) as front, context.socket(zmq.DEALER) as back, context.socket(zmq.REQ) as peer:
        back.connect(replier.endpoint)
        peer.connect(f"tcp://127.0.0.1:{front.bind_to_random_port('tcp://127.0.0.1')}")
        peer.send(b"hello")
        back.send_multipart(front.recv_multipart())
        assert heard_by(replier) == [b"hello"]
        replier.reply(b"back")
        front.send_multipart(back.recv_multipart())
        assert peer.recv() == b"back"


def test_a_message_without_an_envelope_is_no_request(context, replier):
    with context.socket(zmq.DEALER) as peer:
        peer.connect(replier.endpoint)
        peer.send(b"no envelope")
        peer.send_multipart([b"", b"one"])
        assert heard_by(replier) == [b"one"]


def test_the_replier_knows_whether_there_is_a_peer_and_replies_into_nothing(context, replier):
    assert not replier.connected()
    with context.socket(zmq.REQ) as peer:
        peer.setsockopt(zmq.LINGER, 0)
        peer.connect(replier.endpoint)
        peer.send(b"hello")
        assert heard_by(replier) == [b"hello"]
        assert replier.connected()
    deadline = soon()
    while replier.connected():
        assert time.monotonic() < deadline
    replier.reply(b"nobody")
    assert not replier.owes
