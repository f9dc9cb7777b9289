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


def edited(package):
    """Write another text of the same size."""
    file = package / "engine" / "inner" / "one.py"
    file.write_text(file.read_text().replace("engine", "ENGINE"))


def edited_and_dated_back(package):
    """Write it with the date of before."""
    file = package / "engine" / "inner" / "one.py"
    at = file.stat()
    edited(package)
    os.utime(file, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert file.stat().st_size == at.st_size


def replaced(package):
    """Put another file with the same date and size in the place of one."""
    file, other = package / "run" / "inner" / "one.py", package.parent / "other.py"
    at = file.stat()
    other.write_text(file.read_text().replace("run", "RUN"))
    os.utime(other, ns=(at.st_atime_ns, at.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == at.st_mtime_ns


def added(package):
    """Add a file."""
    (package / "compiler" / "two.py").write_text("")


def removed(package):
    """Remove one."""
    (package / "run" / "inner" / "one.py").unlink()


@pytest.mark.parametrize("change", [edited, edited_and_dated_back, replaced, added, removed])
def test_whatever_changes_in_a_source_makes_another_digest(package, change):
    before = digest_now()
    later()
    change(package)
    assert digest_now() != before


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
