"""The links between the hosts: capacities and latency of a route, and the load of a message."""

from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.sharing import Constraint, Work
from hdeeprm_like.formats.simgrid_hosts import SimgridPlatform
from hdeeprm_like.formats.simgrid_zones import Link


class Network:
    """The routes of a platform; each link is one capacity shared by all routes through it."""

    def __init__(self, platform: SimgridPlatform, machines: Machines) -> None:
        """Connect the machines with each other and with the host of the server."""
        self._platform = platform
        self._machines = machines
        self._constraints: dict[Link, Constraint] = {}
        self._routes: dict[tuple[str, str], tuple[list[Constraint], float]] = {}
        self._messages: dict[tuple[str, str, float], Work] = {}

    @property
    def loopback(self) -> Constraint:
        """Return the capacity from each host to itself, unless the platform has a route for that."""
        return self._constraint(self._platform.routing.loopback)

    def route(self, source: str, destination: str) -> tuple[list[Constraint], float]:
        """Return the capacities between two hosts and the latency in s."""
        known = self._routes.get((source, destination))
        if known is None:
            links, latency = self._platform.route(source, destination)
            known = self._routes[source, destination] = [self._constraint(link) for link in links], latency
        return known

    def message_work(self, source: str, destination: str, size: float) -> Work:
        """Return the load of a message from one host to another."""
        known = self._messages.get((source, destination, size))
        if known is None:
            links, latency = self._platform.route(source, destination)
            numbers = [machine.number for machine in self._machines.all if machine.host.name in (source, destination)]
            weights = {self._machines[number].constraint: 0.0 for number in numbers}
            for link in links:
                used = 0.0 if link.fatpipe else weights.get(self._constraint(link), 0.0)
                weights[self._constraint(link)] = used + size
            known = self._messages[source, destination, size] = Work(weights, numbers, latency, latency * size)
        return known

    def _constraint(self, link: Link) -> Constraint:
        found = self._constraints.get(link)
        if found is None:
            found = self._constraints[link] = Constraint(link.bandwidth, link.fatpipe)
        return found
