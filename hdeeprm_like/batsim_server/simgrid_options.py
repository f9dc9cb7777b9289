"""SimGrid options set by a platform or ``--sg-cfg``: those that change results are supported, or raise an error."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from hdeeprm_like.errors import OptionsError, did_you_mean
from hdeeprm_like.values import UTMOST, Number


class SimgridOptions(NamedTuple):
    """The parameters of SimGrid's model of parallel tasks; names and defaults are SimGrid's."""

    tcp_gamma: float = 4194304.0  # most bytes in flight, which limits the rate on a long route
    loopback_bandwidth: float = 1e10  # bytes/s
    loopback_latency: float = 0.0  # s
    timing: float = 1e-9  # s, a timer with less left ends
    work_amount: float = 1e-5  # flops/s or bytes/s, a capacity with less left is exhausted
    exact_timeouts: bool = False  # as in SimGrid 4: a wait with a limit ends at that date, not up to 1e-9 s before


_NUMBERS = {
    "network/TCP-gamma": "tcp_gamma",
    "network/loopback-bw": "loopback_bandwidth",
    "network/loopback-lat": "loopback_latency",
    "surf/precision": "timing",
    "maxmin/precision": "work_amount",
}
# Batsim itself selects the model of parallel tasks, which has its own models of hosts and links: options of others
# have no effect, nor do options of SimGrid's internals.
_WITHOUT_EFFECT = (
    "bmf/",
    "contexts/",
    "cpu/",
    "debug/",
    "disk/",
    "exception/",
    "network/bandwidth-factor",
    "network/coordinates",
    "network/crosstraffic",
    "network/latency-factor",
    "network/maxmin-selective-update",
    "network/model",
    "network/optim",
    "network/solver",
    "network/weight-S",
    "ns3/",
    "path",
    "smpi/",
    "surf/nthreads",
    "tracing",
    "vm/",
)
_ONLY = {"host/model": "ptask_L07", "host/solver": "fairbottleneck"}


def read_simgrid_options(texts: Sequence[str]) -> SimgridOptions:
    """Return the options set by ``NAME:VALUE`` texts, the last of each.

    Raises:
        OptionsError: one is no option, or requests something unsupported.
    """
    options = SimgridOptions()
    for text in texts:
        name, colon, value = text.partition(":")
        where = f"--sg-cfg {text[:80]!r}"
        if not colon:
            raise OptionsError(f"{where}: is not NAME:VALUE")
        if name in _NUMBERS:
            kind = Number(0.0, UTMOST, above="latency" not in _NUMBERS[name])
            number: Any = kind.in_text(value, OptionsError, where)
            options = options._replace(**{_NUMBERS[name]: number})
        elif name in _ONLY:
            if value != _ONLY[name]:
                raise OptionsError(f"{where}: only {_ONLY[name]} is imitated")
        elif not name.startswith(_WITHOUT_EFFECT):
            raise OptionsError(f"{where}: is not imitated{did_you_mean(name, {*_NUMBERS, *_ONLY, *_WITHOUT_EFFECT})}")
    return options
