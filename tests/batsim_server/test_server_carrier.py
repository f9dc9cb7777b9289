"""The server's connection: a signal ends a wait for a reply, whenever it comes."""

import os
import signal
import threading
import time
from contextlib import closing

import pytest
from server_inputs import free_port

from hdeeprm_like.batsim_server.carrier import Carrier
from hdeeprm_like.errors import ProtocolError


class Stopped(Exception):
    """The signal has come."""


def test_a_signal_that_does_not_interrupt_the_wait_is_heeded(request):
    """It reaches another thread, as if it had come just before the wait; without a look at it the wait has no end."""

    def stop(number, frame):
        raise Stopped

    before = signal.signal(signal.SIGUSR1, stop)
    request.addfinalizer(lambda: signal.signal(signal.SIGUSR1, before))
    ready = threading.Event()

    def send():
        ready.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    other = threading.Thread(target=send)
    other.start()  # with the signal open; it is closed for this thread from here on
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    request.addfinalizer(lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1}))
    begun = time.monotonic()
    with closing(Carrier(f"tcp://127.0.0.1:{free_port()}", timeout=100.0)) as carrier:

        def ask():
            threading.Timer(0.3, ready.set).start()
            carrier.ask("nobody answers")

        with pytest.raises(Stopped):
            ask()
    other.join()
    assert time.monotonic() - begun < 90.0  # the signal was handled before the time limit


def test_a_reply_that_does_not_come_in_time_is_an_error():
    late = pytest.raises(ProtocolError, match=r"has not answered for 0\.6 s")
    with closing(Carrier(f"tcp://127.0.0.1:{free_port()}", timeout=0.6)) as carrier, late:
        carrier.ask("nobody answers")
