"""slurmrestd in the place of squeue and sinfo: a server that answers as it does, and all that may go wrong with one."""

import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from slurm_shows import sinfo, squeue

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import OptionsError, ProtocolError
from hdeeprm_like.slurm import rest
from hdeeprm_like.slurm.commands import ContactLost
from hdeeprm_like.slurm.rest import Rest
from hdeeprm_like.slurm.shown import jobs_of_json, nodes_of_json


class Stand(BaseHTTPRequestHandler):
    """Answers from ``server.pages``, and keeps what it was asked in ``server.asked``."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers.get(rest.TOKEN)))
        status, text = self.server.pages.get(self.path, (404, "Unable find requested URL."))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass

    def address_string(self):
        return "somebody"


class OverUnix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


@pytest.fixture(params=["http", "unix"])
def served(request, tmp_path):
    """A server and its address."""
    path = tmp_path / "socket"
    server = OverUnix(str(path), Stand) if request.param == "unix" else ThreadingHTTPServer(("127.0.0.1", 0), Stand)
    server.asked, server.pages = [], {}
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server, f"unix:{path}" if request.param == "unix" else f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_jobs_and_nodes_are_those_that_the_programs_show(served):
    server, address = served
    jobs, nodes = squeue("24.05"), sinfo("24.05")
    server.pages = {"/slurm/v0.0.41/jobs": (200, jobs), "/slurm/v0.0.41/nodes": (200, nodes)}
    slurm = Rest(address, {})
    assert slurm.jobs() == jobs_of_json(jobs)
    assert slurm.nodes() == nodes_of_json(nodes)
    slurm.jobs()
    asked = [path for path, _ in server.asked]
    assert asked[:6] == [f"/slurm/v0.0.{number}/jobs" for number in range(46, 40, -1)]  # the newest first
    assert asked[6:] == ["/slurm/v0.0.41/nodes", "/slurm/v0.0.41/jobs"]  # and remembered


def test_the_token_goes_along(served):
    server, address = served
    with pytest.raises(ContactLost, match="has no jobs in /slurm"):
        Rest(address, {"SLURM_JWT": "secret"}).jobs()
    assert {token for _, token in server.asked} == {"secret"}


def test_an_interface_that_goes_is_looked_for_again(served):
    server, address = served
    server.pages = {"/slurm/v0.0.41/jobs": (200, squeue("24.05"))}
    slurm = Rest(address, {})
    slurm.jobs()
    server.pages = {"/slurm/v0.0.40/jobs": (200, squeue("24.05"))}
    with pytest.raises(ContactLost):
        slurm.jobs()
    assert slurm.jobs()


SHOWN = squeue("24.05")


@pytest.mark.parametrize(
    ("answer", "changed", "error", "words"),
    [
        ((401, "Authentication failure"), {}, ContactLost, "401 'Authentication failure'; SLURM_JWT"),
        ((500, "a\nb"), {}, ContactLost, "500 'a"),
        ((200, '{"jobs": ['), {}, ProtocolError, "not valid JSON"),  # nonsense is no loss, a flood or drops are one
        ((200, SHOWN), {"LARGEST_ANSWER": 5}, ContactLost, "more than"),
        ((200, SHOWN), {"READ_AT_ONCE": 100}, ContactLost, "does not end within 60 s"),
    ],
)
def test_an_answer_that_is_no_list_of_jobs_is_a_loss_or_nonsense(served, monkeypatch, answer, changed, error, words):
    server, address = served
    server.pages = {"/slurm/v0.0.46/jobs": answer}
    clock = iter(range(0, 10_000, 25))
    monkeypatch.setattr(rest, "time", SimpleNamespace(monotonic=lambda: next(clock)))  # 25 s from piece to piece
    for name, value in changed.items():
        monkeypatch.setattr(rest, name, value)
    with pytest.raises(error, match=words) as raised:
        Rest(address, {}).jobs()
    assert type(raised.value) is error
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "unix:/nowhere/at/all"])
def test_nobody_there_is_a_loss(address):
    with pytest.raises(ContactLost, match="slurmrestd at"):
        Rest(address, {}).jobs()


@pytest.mark.parametrize(
    "address",
    [
        *("", "unix:", "here", "ftp://a", "http://", "http://a:b", "http://a:70000", "http://a/slurm/v0.0.38"),
        *("http://[::1", "http://a b:1", "http://a..b:1", f"http://{64 * 'a'}:1"),
    ],
)
def test_what_is_no_address_is_one_line(address, capsys):
    assert main(["slurm", "watch", "--policy", "sjf", "--rest", address]) == 2
    said = capsys.readouterr().err
    assert "http://HOST:PORT, https://HOST:PORT or unix:PATH is needed" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("token", ["secret\n", "gehe\u00efm", "se\x00cret"])
def test_what_is_no_token_is_refused_and_not_shown(token):
    with pytest.raises(OptionsError, match="SLURM_JWT is no token") as error:
        Rest("https://cluster:6820", {"SLURM_JWT": token})
    assert token.strip() not in str(error.value)


def test_a_password_in_the_address_is_refused_and_not_shown():
    with pytest.raises(OptionsError, match="is not used") as error:
        Rest("http://ada:secret@cluster", {})
    assert "secret" not in str(error.value)


def test_a_token_goes_to_no_other_machine_in_the_clear():
    with pytest.raises(OptionsError, match="in the clear"):
        Rest("http://cluster:6820", {"SLURM_JWT": "secret"})
    Rest("http://cluster:6820", {})
    Rest("https://cluster:6820", {"SLURM_JWT": "secret"})
