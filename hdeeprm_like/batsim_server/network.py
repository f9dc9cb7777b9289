"""The links between the hosts: the capacities and the latency of a route, and what a message to the server costs."""

from hdeeprm_like.batsim_server.engine import Work
from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.formats.simgrid_xml import SimgridPlatform
from hdeeprm_like.formats.simgrid_zones import Link


class Network:
    """The routes of a platform; each link is one capacity that all routes through it share."""

    def __init__(self, platform: SimgridPlatform, machines: Machines, master: str) -> None:
        """Connect the machines with each other and with the host *master*, where the server runs."""
        self._platform = platform
        self._machines = machines
        self._master = master
        self._constraints: dict[Link, Constraint] = {}
        self._messages: dict[str, Work | float] = {}

    def route(self, source: str, destination: str) -> tuple[list[Constraint], float]:
        """Return the capacities between two hosts and the latency in s."""
        links, latency = self._platform.route(source, destination)
        return [self._constraint(link) for link in links], latency

    def message_work(self, host: str) -> Work | float:
        """Return what one byte from a host to the master asks for; its rate in 1/s if it shares nothing."""
        known = self._messages.get(host)
        if known is None:
            links, latency = self._platform.route(host, self._master)
            if len(links) == 1 and links[0].fatpipe and latency == 0.0:
                known = links[0].bandwidth
            else:
                numbers = [machine.number for machine in self._machines.all if machine.host.name == host]
                weights = {self._machines[number].constraint: 0.0 for number in numbers}
                weights |= {self._constraint(link): 1.0 for link in links}
                known = Work(weights, numbers, latency, latency)
            self._messages[host] = known
        return known

    def _constraint(self, link: Link) -> Constraint:
        found = self._constraints.get(link)
        if found is None:
            found = self._constraints[link] = Constraint(link.bandwidth, link.fatpipe)
        return found
