"""A SimGrid platform and its hosts: speeds in P-states, and what their properties say about power and sleep."""

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from hdeeprm_like.cluster.units import AMOUNT, SPEEDS, measure
from hdeeprm_like.errors import PlatformError
from hdeeprm_like.formats.simgrid_zones import Link, Routing
from hdeeprm_like.values import whole_in

if TYPE_CHECKING:
    from hdeeprm_like.cluster.speed_profiles import SpeedProfile


class Host(NamedTuple):
    """One host: its speed in each P-state and its properties as text."""

    name: str
    speeds: tuple[float, ...]  # flop/s of one core, per P-state
    pstate: int
    properties: dict[str, str]
    zone_properties: dict[str, str]
    cores: int = 1
    profile: "SpeedProfile | None" = None  # how its speed changes, if it does

    def power_ranges(self, exact: bool = True) -> tuple[tuple[float, float, float], ...]:
        """Return per P-state the W when idle, at the least load and at full load.

        Args:
            exact: whether each P-state needs its own.

        Raises:
            PlatformError: the property ``wattage_per_state`` is missing or does not fit the P-states.
        """
        text = self.properties.get("wattage_per_state")
        where = f"host {self.name!r}"
        if text is None:
            hint = " (this host has the older watt_per_state)" if "watt_per_state" in self.properties else ""
            raise PlatformError(f"{where}: energy needs the property wattage_per_state{hint}")
        try:
            ranges = _watts(text)
        except PlatformError as cause:
            raise PlatformError(f"{where}: {cause}") from None
        if exact and len(ranges) != len(self.speeds):
            raise PlatformError(f"{where}: wattage_per_state has {len(ranges)} entries for {len(self.speeds)} P-states")
        return ranges

    def sleep_pstates(self) -> dict[int, tuple[int, int]]:
        """Return per sleep P-state the P-states passed through when it is switched off and on.

        Raises:
            PlatformError: the property ``sleep_pstates`` is not made of known P-states.
        """
        found: dict[int, tuple[int, int]] = {}
        for part in filter(None, (word.strip() for word in self.properties.get("sleep_pstates", "").split(","))):
            states = [whole_in(word) for word in part.split(":")]
            if len(states) != 3 or not all(0 <= state < len(self.speeds) for state in states):
                raise PlatformError(f"host {self.name!r}: sleep_pstates {part!r} is not sleep:off:on of known P-states")
            found[states[0]] = (states[1], states[2])
        return found


class SimgridPlatform:
    """The hosts of a SimGrid platform, and the links that a message crosses between two of them."""

    def __init__(self, path: str) -> None:
        """Start empty; *path* is for messages."""
        self.path = path
        self.hosts: dict[str, Host] = {}
        self.routing = Routing(path)
        self.settings: list[str] = []  # SimGrid options set by the file, as NAME:VALUE
        self.link_texts: dict[str, tuple[str, str]] = {}  # bandwidth and latency of each <link> as in the file
        self.failing = ""  # the first host with a state_file

    def route(self, source: str, destination: str) -> tuple[tuple[Link, ...], float]:
        """Return the links from one host to another, and the latency of all of them in s.

        Raises:
            PlatformError: the platform has no such route.
        """
        return self.routing.route(source, destination)


@lru_cache(maxsize=64)  # most hosts of a platform share it
def _watts(text: str) -> tuple[tuple[float, float, float], ...]:
    ranges: list[tuple[float, float, float]] = []
    for part in text.split(","):
        watts = [AMOUNT.in_text(word.strip(), PlatformError, "wattage_per_state") for word in part.split(":")]
        if len(watts) not in (2, 3):
            raise PlatformError(f"wattage_per_state {part.strip()!r} is not idle:least:full")
        ranges.append((watts[0], watts[-2], watts[-1]))
    return tuple(ranges)


@lru_cache(maxsize=64)
def speeds_of(text: str) -> tuple[float, ...]:
    """Return the flop/s of one core in each P-state.

    Raises:
        PlatformError: one is no speed.
    """
    return tuple(measure(word.strip(), SPEEDS, "speed") for word in text.split(","))
