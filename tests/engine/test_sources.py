"""The digest of the sources of machine code is kept from process to process, and an edited source is always seen."""

import os
import time

import pytest

from hdeeprm_like.engine import sources

digest_now = sources.source_digest.__wrapped__


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package whose files have not just changed, and an empty folder for what is kept."""
    package = tmp_path / "package"
    for name in sources.SOURCES:
        (package / name / "inner").mkdir(parents=True)
        (package / name / "inner" / "one.py").write_text(f"NAME = '{name}'\n")
    monkeypatch.setattr(sources, "PACKAGE", package)
    monkeypatch.setenv(sources.CACHE, str(tmp_path / "kept"))
    now = time.time
    monkeypatch.setattr(sources.time, "time", lambda: now() + 10.0)
    return package


def kept(package):
    """The files in the folder for what is kept."""
    folder = package.parent / "kept"
    return list(folder.iterdir()) if folder.is_dir() else []


def later():
    """Wait until the dates of files have another value; those of Linux change every 4 ms at most."""
    time.sleep(0.05)


def test_the_digest_is_read_where_no_file_has_changed(package):
    digest = digest_now()
    (note,) = kept(package)
    note.write_bytes(note.read_bytes().replace(digest.encode(), b"0123456789abcdef"))
    assert digest_now() == "0123456789abcdef"


@pytest.mark.parametrize("dates", ["new dates", "the date of before"])
def test_an_edit_that_keeps_the_size_makes_another_digest(package, dates):
    before, file = digest_now(), package / "engine" / "inner" / "one.py"
    at = file.stat()
    later()
    file.write_text(file.read_text().replace("engine", "ENGINE"))
    if dates == "the date of before":
        os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert file.stat().st_size == at.st_size
    assert digest_now() != before


def test_a_file_put_in_the_place_of_another_makes_another_digest(package):
    before, file = digest_now(), package / "run" / "inner" / "one.py"
    at, other = file.stat(), package.parent / "other.py"
    other.write_text(file.read_text().replace("run", "RUN"))
    os.utime(other, ns=(at.st_atime_ns, at.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == at.st_mtime_ns
    assert digest_now() != before


def test_a_file_more_or_less_makes_another_digest(package):
    before = digest_now()
    (package / "compiler" / "two.py").write_text("")
    more = digest_now()
    (package / "compiler" / "two.py").unlink()
    (package / "run" / "inner" / "one.py").unlink()
    assert len({before, more, digest_now()}) == 3


def test_what_is_no_source_counts_for_nothing(package):
    before = digest_now()
    (package / "compiler" / "two.pyc").write_text("")
    assert digest_now() == before


def test_the_digest_of_a_file_that_has_just_changed_is_not_kept(package, monkeypatch):
    now = time.time
    digest = digest_now()
    (package / "run" / "inner" / "one.py").write_text("another = 1\n")
    monkeypatch.setattr(sources.time, "time", lambda: now() - 10.0)
    before = kept(package)[0].read_bytes()
    assert digest_now() != digest
    assert [note.read_bytes() for note in kept(package)] == [before]


def test_checked_and_unchecked_code_have_their_own_digests(package, monkeypatch):
    monkeypatch.setattr(sources, "CHECKED", False)
    unchecked = digest_now()
    monkeypatch.setattr(sources, "CHECKED", True)
    assert digest_now() != unchecked
    monkeypatch.setattr(sources, "CHECKED", False)
    assert digest_now() == unchecked


@pytest.mark.parametrize("content", [b"", b"\n", b"0123456789abcdef\n", b"\xff\x00" * 9])
def test_a_damaged_note_counts_for_nothing(package, content):
    digest = digest_now()
    kept(package)[0].write_bytes(content)
    assert digest_now() == digest


def test_a_folder_that_cannot_be_written_to_keeps_nothing(package):
    (package.parent / "kept").write_text("a file\n")
    assert digest_now() == digest_now()
    assert (package.parent / "kept").read_text() == "a file\n"
