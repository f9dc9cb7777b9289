"""The progress bar: on a terminal, from the first second on."""

import io

import pytest

from hdeeprm_like import progress
from hdeeprm_like.progress import progress_bar


class Screen(io.StringIO):
    """What stderr may be."""

    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "shown", "delay", "drawn"),
    [
        (True, True, -1.0, True),
        (True, True, 3600.0, False),
        (True, False, -1.0, False),
        (False, True, -1.0, False),
    ],
)
def test_a_bar_is_drawn_on_a_terminal_for_work_that_takes_long(terminal, shown, delay, drawn, monkeypatch):
    screen = Screen(terminal)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(progress, "DELAY", delay)
    with progress_bar(10, shown, " runs") as show:
        show(3, "at 5 s")
    assert ("/10 [" in screen.getvalue()) is drawn
    assert bool(screen.getvalue()) is drawn


def test_without_stderr_work_goes_on(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with progress_bar(10, True) as show:
        show(3)
