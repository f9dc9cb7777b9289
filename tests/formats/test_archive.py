"""Traces of the archive: fetched once, checked, kept; and what is said when they cannot be had."""

import gzip
import hashlib
import threading
import tracemalloc
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from hdeeprm_like.cli.main import main
from hdeeprm_like.errors import ResultsError, WorkloadError
from hdeeprm_like.formats import archive
from hdeeprm_like.formats.archive import Origin, fetch_trace

ROOT = Path(__file__).parents[2]
GAIA = (ROOT / "workloads" / "gaia.swf.gz").read_bytes()
OTHER = gzip.compress(b"; Version: 2.2\n1 0 -1 5 1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n", mtime=0)


@contextmanager
def site(content, length=None):
    """An archive on this machine that answers with *content* and a length; yields address and requests."""
    asked = []

    class Archive(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Length", str(len(content or b"") if length is None else length))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Archive) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def straight(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")


def test_a_trace_is_fetched_once_and_kept(tmp_path):
    seen = []
    with site(GAIA) as (address, asked):
        fetched = fetch_trace("UniLu-Gaia-2014-2", tmp_path, site=address, progress=lambda *told: seen.append(told))
        again = fetch_trace("UniLu-Gaia-2014-2.swf.gz", tmp_path, site=address)
    assert archive.TRACES["UniLu-Gaia-2014-2"].sha256 == hashlib.sha256(GAIA).hexdigest()
    assert fetched == again == (tmp_path / "UniLu-Gaia-2014-2.swf.gz", hashlib.sha256(GAIA).hexdigest())
    assert fetched[0].read_bytes() == GAIA
    assert asked == ["/l_unilu_gaia/UniLu-Gaia-2014-2.swf.gz"]
    assert seen[-1] == (len(GAIA), len(GAIA))


@pytest.mark.parametrize(
    ("name", "content", "length", "said"),
    [
        ("CTC-SP2-1996-3.1-cln", OTHER, None, "is not the trace that it should be: SHA-256"),
        ("HPC2N-2002-2.2-cln", b"<html>", None, "is no gzip file"),
        ("UniLu-Gaia-2014-2", GAIA, len(GAIA) + 5, "broke off"),
        ("UniLu-Gaia-2014-2", None, None, "answers 404 Not Found; or put the file at"),
        ("CTC-SP2-1996-3.1", GAIA, None, r"did you mean 'CTC-SP2-1996-3\.1-cln'"),
    ],
)
def test_what_is_not_the_trace_is_refused_and_leaves_nothing(name, content, length, said, tmp_path):
    with site(content, length) as (address, _), pytest.raises(WorkloadError, match=said):
        fetch_trace(name, tmp_path, site=address)
    assert not list(tmp_path.iterdir())


def test_a_kept_trace_that_has_changed_is_refused(tmp_path):
    (tmp_path / "CTC-SP2-1996-3.1-cln.swf.gz").write_bytes(OTHER)
    with pytest.raises(WorkloadError, match=r"\(delete it to download it again\): is not the trace"):
        fetch_trace("CTC-SP2-1996-3.1-cln", tmp_path)


def test_being_offline_is_one_line_that_says_what_else_helps(tmp_path, capsys):
    with site(None) as (address, _):
        pass  # no server listens there any more
    folder = tmp_path / "kept"
    status = main(["fetch-trace", "CTC-SP2-1996-3.1-cln", "--folder", str(folder), "--site", address])
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "cannot be reached" in said.err
    assert "are you offline?; or put the file at" in said.err
    assert not folder.exists()


def test_the_command_prints_where_the_trace_is(tmp_path, capsys):
    with site(GAIA) as (address, _):
        assert main(["fetch-trace", "UniLu-Gaia-2014-2", "--folder", str(tmp_path), "--site", address]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'UniLu-Gaia-2014-2.swf.gz'}\n"


def test_every_known_trace_has_a_folder_and_a_checksum_of_the_right_length():
    for origin in archive.TRACES.values():
        assert isinstance(origin, Origin)
        assert origin.folder.startswith("l_")
        assert origin.sha256 is None or len(origin.sha256) == 64


def test_kept_traces_lie_in_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert archive.trace_folder() == tmp_path / "hdeeprm_like-traces"


def test_a_packed_bomb_is_refused_in_little_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "LARGEST_UNPACKED", 64 << 20)
    bomb = gzip.compress(b"\n" * (96 << 20), 1)
    tracemalloc.start()
    try:
        with site(bomb) as (address, _), pytest.raises(WorkloadError, match="holds more than 64 MiB, once unpacked"):
            fetch_trace("HPC2N-2002-2.2-cln", tmp_path, site=address)
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert not list(tmp_path.iterdir())


def test_the_checksum_of_what_was_fetched_is_kept_and_a_change_is_reported(tmp_path, caplog):
    name = "HPC2N-2002-2.2-cln"
    with site(OTHER) as (address, _):
        path, digest = fetch_trace(name, tmp_path, site=address)
    assert path.read_bytes() == OTHER
    assert digest in caplog.text
    record = tmp_path / f"{name}.swf.gz.sha256"
    assert record.read_text() == f"{digest}  {name}.swf.gz\n"
    caplog.clear()
    assert fetch_trace(name, tmp_path) == (path, digest)
    assert not caplog.text
    path.unlink()
    with site(gzip.compress(b"; another\n")) as (address, _):
        _, other = fetch_trace(name, tmp_path, site=address)
    assert f"has changed: its SHA-256 was {digest} and is {other}; if that is right, delete {record}" in caplog.text
    caplog.clear()
    fetch_trace(name, tmp_path)
    assert "has changed" in caplog.text
    record.unlink()
    caplog.clear()
    fetch_trace(name, tmp_path)
    assert not caplog.text
    assert record.read_text().startswith(other)


def test_a_trace_in_a_folder_that_may_only_be_read_is_taken_without_a_record(tmp_path, monkeypatch):
    def refused(path):
        raise ResultsError(f"{path}: cannot be written: Read-only file system")

    (tmp_path / "HPC2N-2002-2.2-cln.swf.gz").write_bytes(OTHER)
    monkeypatch.setattr(archive, "replacing", refused)
    assert fetch_trace("HPC2N-2002-2.2-cln", tmp_path)[1] == hashlib.sha256(OTHER).hexdigest()
