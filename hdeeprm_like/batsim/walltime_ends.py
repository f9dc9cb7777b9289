"""The ends of walltimes that Batsim 5 reports in a message of their own, and Batsim 4 with what happens just before.

SimGrid 3 ends timers up to a nanosecond early, together with what ends then; SimGrid 4 ends a walltime exactly. A job
starts some 1e-10 s after the instant in which it is decided on, so in a world of whole seconds its walltime ends that
much after others arrive. Where the rest is a nanosecond to the last bit, rounding decides in SimGrid 3, unknown here;
as a rule the walltime then ends by itself.
"""

from math import inf

DELAY = 1e-10  # s, of a message inside Batsim
TOGETHER = 1e-9  # s, within which SimGrid 3 ends timers together


class WalltimeEnds:
    """When the running jobs reach their walltimes."""

    def __init__(self) -> None:
        """Begin without jobs."""
        self._walltimes: dict[str, float] = {}  # s
        self._ends: dict[str, tuple[float, float]] = {}  # s, and how much earlier it would be in Batsim 4
        self._now = self._reached = 0.0  # s, of the last message, and when what it reports began to happen
        self._lag = self._next_lag = 0.0  # s, of the last message behind Batsim 4's, and of the one that is awaited

    def message(self, now: float, submitted: dict[str, float], completed: list[str]) -> None:
        """Receive the exact time of a message in s, the walltimes of new jobs, and the jobs that have ended."""
        self._now = now
        if not self._next_lag:
            self._reached = min([now - DELAY, *(self._ends[job][0] for job in completed if job in self._ends)])
        self._lag, self._next_lag = self._next_lag, 0.0
        self._walltimes.update(submitted)
        for job in completed:
            self._ends.pop(job, None)

    def start(self, jobs: list[str], rejected: int, rounded: float) -> None:
        """Note that jobs are started in the answer to the last message, after rejections, at a rounded time in s."""
        for place, job in enumerate(jobs, start=rejected + 1):
            begin = max(self._now, rounded) + DELAY * place
            self._ends[job] = begin + self._walltimes.pop(job, inf), self._lag

    def awaited(self) -> bool:
        """Return whether a walltime is still to end that Batsim 4 would have reported in the last message."""
        soon = [end for end, early in self._ends.values() if end - early < self._reached + TOGETHER]
        self._next_lag = self._lag + min(soon) - self._now if soon else 0.0
        return bool(soon)
