"""Load of a parallel task on hosts and links: flops of each rank, bytes between each pair."""

from collections.abc import Sequence
from typing import NamedTuple

from hdeeprm_like.batsim_server.machines import Machines
from hdeeprm_like.batsim_server.network import Network
from hdeeprm_like.batsim_server.sharing import NO_CROWDS, Constraint, Crowd, Work


class Amounts(NamedTuple):
    """Amounts of a parallel task on R ranks.

    Attributes:
        flops: (R,) of each rank, or one number for every rank.
        bytes: (R * R,) from row to column, or one number for every pair of different ranks.
    """

    flops: float | Sequence[float]
    bytes: float | Sequence[float]

    @property
    def silent(self) -> bool:
        """Whether there is nothing to send."""
        return not (self.bytes if isinstance(self.bytes, float) else any(self.bytes))

    def of_rank(self, rank: int) -> float:
        """Return the flops of one rank."""
        return self.flops if isinstance(self.flops, float) else self.flops[rank]


def work_of(machines: Machines, network: Network, ranks: Sequence[int], amounts: Amounts) -> Work:
    """Return the load of a parallel task on hosts and links.

    Args:
        ranks: (R,) number of the machine of each rank; a machine may have several. SimGrid ignores what a single rank
        sends to itself.
    """
    weights: dict[Constraint, float] = {}
    for rank, number in enumerate(ranks):
        host = machines[number].constraint
        weights[host] = weights.get(host, 0.0) + amounts.of_rank(rank)
    crowds = NO_CROWDS if len(weights) == len(ranks) else _crowds(machines, ranks, amounts)
    latency = bytes_delay = 0.0
    if len(ranks) > 1 and not amounts.silent:
        names = [machines[number].host.name for number in ranks]
        latency, bytes_delay = add_flows(network, names, amounts.bytes, weights)
    return Work(weights, sorted(set(ranks)), latency, bytes_delay, crowds, len(ranks))


def _crowds(machines: Machines, ranks: Sequence[int], amounts: Amounts) -> dict[Constraint, Crowd]:
    """Return the hosts with several ranks that have work."""
    shares: dict[Constraint, list[float]] = {}
    for rank, number in enumerate(ranks):
        if amounts.of_rank(rank) > 0.0:
            shares.setdefault(machines[number].constraint, []).append(amounts.of_rank(rank))
    return {host: Crowd(len(flops), max(flops)) for host, flops in shares.items() if len(flops) > 1}


def add_flows(
    network: Network, names: Sequence[str], amounts: float | Sequence[float], weights: dict[Constraint, float]
) -> tuple[float, float]:
    """Add the bytes between each pair of hosts to their links; return largest latency, and latency times bytes."""
    latency = bytes_delay = 0.0
    count = len(names)
    for i, source in enumerate(names):
        for j, destination in enumerate(names):
            between = amounts if isinstance(amounts, float) else amounts[i * count + j]
            amount = 0.0 if i == j and isinstance(amounts, float) else between
            if amount <= 0.0:
                continue
            links, delay = network.route(source, destination)
            latency = max(latency, delay)
            bytes_delay = max(bytes_delay, delay * amount)
            for link in links:
                used = weights.get(link, 0.0)
                weights[link] = max(used, amount) if link.fatpipe else used + amount
    return latency, bytes_delay
