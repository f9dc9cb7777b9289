"""Signals that raise an error: also where a library loses the first one."""

import contextlib
import ctypes
import math
import os
import signal
import threading
import time

import pytest

from hdeeprm_like.signals import deferred, raised_by


class Asked(BaseException):
    pass


def ask(number=signal.SIGUSR1):
    os.kill(os.getpid(), number)
    return 0


def call_from_c(function):
    """Call a function as C does, which drops what it raises."""
    ctypes.CFUNCTYPE(ctypes.c_int)(function)()


def let_pass(number):
    return None


def asked(number):
    return Asked(number)


@pytest.fixture(autouse=True)
def harmless():
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_raises_and_its_handler_is_put_back():
    with pytest.raises(Asked), raised_by([signal.SIGUSR1], asked):
        ask()
    ask()  # ignored, as before


def test_what_c_has_called_raises_a_little_later_and_prints_nothing(capfd):
    def work():
        call_from_c(ask)
        time.sleep(10)

    with pytest.raises(Asked), raised_by([signal.SIGUSR1], asked):
        work()
    assert capfd.readouterr().err == ""


def heard_afterwards():
    """Return the signals that come until all timers have ended."""
    heard = []
    signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()
    return heard


@pytest.fixture
def patient(monkeypatch):
    """A lost error is raised again only after a time in which the slowest machine has left the block."""
    monkeypatch.setattr("hdeeprm_like.signals.AGAIN", 3.0)


@pytest.mark.usefixtures("patient")
def test_what_is_lost_last_of_all_is_not_raised_afterwards():
    with raised_by([signal.SIGUSR1], asked):
        call_from_c(ask)
    assert heard_afterwards() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.usefixtures("patient")
def test_other_errors_that_are_lost_are_told_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda unraisable: told.append(unraisable.exc_type))
    with raised_by([signal.SIGUSR1], asked):
        call_from_c(lambda: 1 // 0)
    assert told == [ZeroDivisionError]


def test_a_signal_may_pass():
    with raised_by([signal.SIGUSR1], let_pass):
        ask()


def test_outside_the_main_thread_signals_are_left_alone():
    before, seen = signal.getsignal(signal.SIGUSR1), []

    def look():
        with raised_by([signal.SIGUSR1], asked):
            seen.append(signal.getsignal(signal.SIGUSR1))

    other = threading.Thread(target=look)
    other.start()
    other.join()
    assert seen == [before]


def test_what_makes_another_error_of_it_is_seen_through(monkeypatch):
    monkeypatch.setattr("hdeeprm_like.signals.SOON", math.inf)

    def changed():
        try:
            ask()
        except Asked:
            raise SystemError("a function returned a result with an exception set") from None

    with pytest.raises(Asked) as raised, raised_by([signal.SIGUSR1], asked):
        changed()
    assert isinstance(raised.value.__cause__, SystemError)


def test_errors_that_no_signal_caused_are_left_as_they_are(monkeypatch):
    with pytest.raises(ZeroDivisionError), raised_by([signal.SIGUSR1], asked):
        raise ZeroDivisionError
    monkeypatch.setattr("hdeeprm_like.signals.SOON", 0.0)

    def much_later():
        with contextlib.suppress(Asked):
            ask()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), raised_by([signal.SIGUSR1], asked):
        much_later()


def test_what_is_lost_last_of_all_is_raised_by_the_one_around():
    def work():
        with raised_by([signal.SIGUSR1], asked):
            call_from_c(ask)
        time.sleep(10)

    with pytest.raises(Asked), raised_by([signal.SIGUSR1], asked):
        work()


@pytest.mark.usefixtures("patient")
def test_two_signals_that_are_lost_leave_nothing_behind():
    with raised_by([signal.SIGUSR1], asked):
        call_from_c(ask)
        call_from_c(ask)
    assert heard_afterwards() == []


def test_a_signal_that_is_held_back_counts_afterwards():
    done = []

    def work():
        with deferred(signal.SIGUSR1):
            threading.Thread(target=ask).start()
            time.sleep(0.05)
            done.append("the block")
        done.append("more")

    with pytest.raises(Asked), raised_by([signal.SIGUSR1], asked):
        work()
    assert done == ["the block"]
