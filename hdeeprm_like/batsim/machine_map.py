"""Mapping between the cores of a platform and Batsim's machines, by host names when a simulation begins."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.errors import PlatformError, ProtocolError
from hdeeprm_like.formats.platform_hosts import platform_of_machines
from hdeeprm_like.formats.platform_properties import are_ours, first_mismatch, host_of, platform_from_properties
from hdeeprm_like.results.batsim_files import interval_set, parse_interval_set
from hdeeprm_like.values import whole_in

Host: TypeAlias = tuple[str, Mapping[str, str]]  # name and properties


class MachineMap:
    """Core numbers to machine ids and back.

    Attributes:
        machines: (C,) machine of each core. None if the numbers are equal.
        cores: the cores of each machine. None in the same case.
        shared: whether several cores are of one machine.
    """

    def __init__(self, machines: Sequence[int]) -> None:
        """Take the machine of each core."""
        self.count = len(set(machines))
        self.shared = self.count < len(machines)
        self.machines: Sequence[int] | None = None
        self.cores: list[list[int]] | None = None
        if list(machines) != list(range(self.count)):
            self.machines = machines
            self.cores = [[] for _ in range(self.count)]
            for core, machine in enumerate(machines):
                self.cores[machine].append(core)

    def named(self, cores: Sequence[int]) -> str:
        """Return the machines of cores in ascending order in Batsim's notation, ``0-3 6``."""
        if self.machines is not None:
            return interval_set(sorted({self.machines[core] for core in cores}))
        first, last = cores[0], cores[-1]
        if last - first + 1 == len(cores):
            return f"{first}-{last}" if last > first else str(first)
        return interval_set(cores)

    def places(self, cores: Sequence[int]) -> list[int] | None:
        """Return for each core the place of its machine among those that `named` names; None if each has its own."""
        if not self.shared or self.machines is None:
            return None
        own = [self.machines[core] for core in cores]
        place = {machine: at for at, machine in enumerate(sorted(set(own)))}
        return [place[machine] for machine in own]

    def cores_named(self, text: object, what: str) -> list[int]:
        """Return the cores of a set of machines.

        Raises:
            ProtocolError: it is no such set, or contains machines that do not exist.
        """
        if not isinstance(text, str):
            raise ProtocolError(f"{what}: resources must be a set of machines such as '0-3 6'")
        machines = parse_interval_set(text, below=self.count, error=ProtocolError)
        return machines if self.cores is None else [core for machine in machines for core in self.cores[machine]]


def map_machines(hosts: Sequence[Host], platform: Platform | None) -> tuple[MachineMap, Platform]:
    """Find the core of each machine.

    Args:
        hosts: in the order of the ids of Batsim's machines.
        platform: that the machines must match; None makes it of what Batsim says of them.

    Returns:
        The map, and the platform.

    Raises:
        PlatformError: the first host that matches no core of the platform, or has invalid properties.
    """
    if platform is None and any(are_ours(properties) for _, properties in hosts):
        order = sorted(range(len(hosts)), key=lambda machine: place_of(hosts[machine]))
        return MachineMap(order), platform_from_properties([hosts[machine] for machine in order], "batsim")
    if platform is None:
        return MachineMap(range(len(hosts))), platform_of_machines(hosts)
    order = order_of_names([name for name, _ in hosts], platform)
    if wrong := first_mismatch(platform, [hosts[machine] for machine in order]):
        raise PlatformError(f"Batsim's machines are not those of the platform: {wrong}")
    return MachineMap(order), platform


def order_of_names(names: Sequence[str], platform: Platform) -> list[int]:
    """Return the machine of each core by its host's name, else by the number at the name's end, else by its id."""
    by_name = {name: machine for machine, name in enumerate(names)}
    of_cores = [host_of(core) for core in platform.core_names]
    if by_name.keys() == set(of_cores):
        return [by_name[name] for name in of_cores]
    by_number = {last_number(name): machine for machine, name in enumerate(names)}
    if by_number.keys() == set(range(platform.cores)):
        return [by_number[core] for core in range(platform.cores)]
    return list(range(len(names)))


def last_number(name: str) -> int:
    """Return the number at the end of a name, -1 if there is none."""
    digits = name[len(name.rstrip("0123456789")) :]
    return int(digits) if 0 < len(digits) <= 18 else -1


def place_of(host: Host) -> tuple[int, list[str | int]]:
    """Return the sort key of hosts in the order of cores: their processor, then their name, numbers as numbers."""
    name, properties = host
    processor = properties.get("hdeeprm_processor", "")
    number = whole_in(processor)
    words = re.split(r"([0-9]{1,18})", name)
    return number, [int(word) if odd % 2 else word for odd, word in enumerate(words)]
