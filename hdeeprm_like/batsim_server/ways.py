"""The way of a message to the server, where nothing else uses its links: a latency, then work at a known rate."""

from collections.abc import Callable
from typing import NamedTuple

from hdeeprm_like.batsim_server.sharing import Sharing, Variable, Work
from hdeeprm_like.batsim_server.simgrid_options import SimgridOptions


class Way(NamedTuple):
    """A latency in s, then work that is *left* at a rate in 1/s."""

    latency: float
    left: float
    rate: float


class Arriving:
    """A message on its way to the server; *sequence* is the number of the action, *on_end* is called at its end."""

    __slots__ = ("latency", "left", "on_end", "rate", "sequence")

    def __init__(self, sequence: int, way: Way, on_end: Callable[[], None]) -> None:
        """Start at the beginning of the way."""
        self.sequence = sequence
        self.on_end = on_end
        self.latency, self.left, self.rate = way

    def nearest(self) -> float:
        """Return the s until the latency or the work is over."""
        return self.latency or self.left / self.rate

    def advance(self, step: float, timing: float, precision: float) -> bool:
        """Advance by *step* s; return whether the message has arrived."""
        if self.latency:
            self.latency -= step
            if self.latency >= timing:
                return False
            self.latency = 0.0
            return not self.left
        self.left -= self.rate * step
        return self.left < precision


def way_of(work: Work, simgrid: SimgridOptions) -> Way:
    """Return the way of a message with some load that shares nothing."""
    variable, sharing = Variable(work.weights), Sharing(simgrid.work_amount)
    if work.latency > 0.0:
        variable.way_limit = simgrid.tcp_gamma / (2.0 * work.bytes_delay)
    sharing.enable(variable)
    sharing.solve()
    rate = variable.value
    sharing.remove(variable)
    return Way(work.latency, 1.0 if any(work.weights.values()) else 0.0, rate)
