"""The machines: numbers, states and P-states, time in each state, and the traces of these."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from hdeeprm_like.batsim_server.energy import EnergyMeter
from hdeeprm_like.batsim_server.sharing import Constraint
from hdeeprm_like.errors import OptionsError
from hdeeprm_like.formats.simgrid_hosts import Host, SimgridPlatform
from hdeeprm_like.results.batsim_files import EnergyRow, MachineStateRow, PstateRow, interval_set


class MachineState(IntEnum):
    """What a machine is doing."""

    SLEEPING = 0
    SWITCHING_ON = 1
    SWITCHING_OFF = 2
    IDLE = 3
    COMPUTING = 4
    UNAVAILABLE = 5


class Machine:
    """One host that computes or stores."""

    def __init__(self, number: int, host: Host, role: str) -> None:
        """Start idle in the platform's P-state; *role* is as Batsim reports it, "" if none was given."""
        self.number = number
        self.role = role
        self.host = host
        self.pstate = host.pstate
        self.state = MachineState.IDLE
        self.since = 0.0  # s, when it took this state
        self.jobs: set[str] = set()
        self.sleep_pstates = host.sleep_pstates()
        self.virtual_pstates = {pstate for pair in self.sleep_pstates.values() for pstate in pair}
        self.constraint = Constraint(host.speeds[host.pstate], machine=number, cores=host.cores)

    @property
    def stores(self) -> bool:
        """Whether it is a storage host, which cannot compute."""
        return self.role == STORAGE

    def computes_in(self, pstate: int) -> bool:
        """Whether a P-state is a computing one."""
        return 0 <= pstate < len(self.host.speeds) and not (
            pstate in self.sleep_pstates or pstate in self.virtual_pstates
        )


MASTER, STORAGE, ROLES = "master", "storage", ("", "master", "compute_node", "storage")


def roles_of(platform: SimgridPlatform, given: Mapping[str, str]) -> dict[str, str]:
    """Return the role of each host: the one in the platform, then, after a comma, the one of the command line.

    Args:
        given: roles by name of the host; hosts that the platform lacks are left out.

    Raises:
        OptionsError: a host has a role unknown to Batsim, or there is not exactly one master.
    """
    roles: dict[str, str] = {}
    for name, host in platform.hosts.items():
        roles[name] = ",".join(filter(None, (host.properties.get("role"), given.get(name))))
        if roles[name] not in ROLES:
            raise OptionsError(
                f"{platform.path}: host {name!r} has the role {roles[name]!r}, of platform and command line together; "
                f"Batsim knows one of {', '.join(ROLES[1:])}"
            )
    masters = [name for name, role in roles.items() if role == MASTER]
    if not masters:
        wanted = "".join(f", nor a host {name!r}" for name, role in given.items() if role == MASTER)
        raise OptionsError(f"{platform.path}: has no host with the role {MASTER}{wanted}; name one with -m")
    if len(masters) > 1:
        raise OptionsError(f"{platform.path}: there are two master hosts, {masters[0]!r} and {masters[1]!r}")
    return roles


class Machines:
    """All hosts but the master in Batsim's numbering, with the rows of the output files about them.

    Attributes:
        computing: number of compute hosts; these come first.
        idle_again: whether machines become idle after their jobs; a release candidate of Batsim 5 forgets that.
    """

    def __init__(
        self,
        platform: SimgridPlatform,
        roles: Mapping[str, str],
        limit: int,
        energy: bool,
        order: Callable[[str], Any] = str.encode,
    ) -> None:
        """Number the compute hosts in the order of their names, then the storage hosts.

        Args:
            roles: of each host, see `roles_of`.
            limit: of compute hosts; 0 for none.
            order: sort key of the names.

        Raises:
            PlatformError: energy is requested and a host has no usable power ranges.
        """
        names = sorted((name for name in platform.hosts if roles[name] != MASTER), key=order)
        computing = [name for name in names if roles[name] != STORAGE]
        if limit > len(computing):
            raise OptionsError(f"{platform.path}: has {len(computing)} hosts to compute on; {limit} are requested")
        computing = computing[: limit or None]
        chosen = [*computing, *(name for name in names if roles[name] == STORAGE)]
        self.all = [Machine(number, platform.hosts[name], roles[name]) for number, name in enumerate(chosen)]
        self.computing = len(computing)
        self.meter: EnergyMeter | None = None
        if energy:
            ranges = [machine.host.power_ranges() for machine in self.all]
            self.meter = EnergyMeter([m.constraint for m in self.all], ranges, [m.pstate for m in self.all])
        self.idle_again = True
        self.counts = [0] * len(MachineState)
        self.counts[MachineState.IDLE] = self.computing
        self.seconds = [0.0] * len(MachineState)  # s of all machines in each state, up to their last change
        self.grouped_switches = self.machine_switches = 0
        self.state_rows: list[MachineStateRow] = []
        self.energy_rows: list[EnergyRow] = []
        self.pstate_rows: list[PstateRow] = []
        for pstate in sorted({machine.pstate for machine in self.all}):
            alike = [machine.number for machine in self.all if machine.pstate == pstate]
            self.pstate_rows.append((0.0, interval_set(alike), pstate))
        self._switches: list[tuple[Sequence[int], set[int], int]] = []  # machines, those not ready, their next P-state
        self.joules_at_last_end = -1.0  # Batsim's value if no job has ended

    def __len__(self) -> int:
        """Return the number of machines."""
        return len(self.all)

    def __getitem__(self, number: int) -> Machine:
        """Return one machine."""
        return self.all[number]

    def set_state(self, machine: Machine, state: MachineState, now: float) -> None:
        """Change a machine's state."""
        self.seconds[machine.state] += now - machine.since
        self.counts[machine.state] -= 1
        self.counts[state] += 1
        machine.state = state
        machine.since = now

    def begin_job(self, identifier: str, numbers: Sequence[int], now: float) -> None:
        """Set machines to computing a job."""
        for number in numbers:
            machine = self.all[number]
            if not machine.jobs:
                self.set_state(machine, MachineState.COMPUTING, now)
            machine.jobs.add(identifier)
        self.trace_states(now)

    def end_job(self, identifier: str, numbers: Sequence[int], now: float) -> None:
        """Release a job's machines."""
        for number in numbers:
            machine = self.all[number]
            machine.jobs.discard(identifier)
            if self.idle_again and not machine.jobs and machine.state is MachineState.COMPUTING:
                self.set_state(machine, MachineState.IDLE, now)
        self.trace_states(now)

    def trace_states(self, now: float) -> None:
        """Add a row of ``out_machine_states.csv``."""
        sleeping, on, off, idle, computing, _ = self.counts
        self.state_rows.append((now, sleeping, on, off, idle, computing))

    def trace_energy(self, kind: str, now: float) -> None:
        """Add a row of ``out_consumed_energy.csv``: *kind* is s, e or p."""
        if self.meter is None:
            return
        joules = self.meter.total(now)
        self.energy_rows.append((now, joules, kind, self.meter.least_watts, self.meter.mean_watts(now)))
        if kind == "e":
            self.joules_at_last_end = joules

    def begin_switch(self, numbers: Sequence[int], pstate: int, now: float) -> None:
        """Record that machines begin to change their P-state."""
        self._switches.append((numbers, set(numbers), pstate))
        self.trace_energy("p", now)
        way = -1 if self.all[numbers[0]].computes_in(pstate) else -2
        self.pstate_rows.append((now, interval_set(numbers), way))
        self.grouped_switches += 1
        self.machine_switches += len(numbers)

    def note_pstate(self, numbers: Sequence[int], pstate: int, now: float) -> None:
        """Record that machines have reached a P-state."""
        self.trace_energy("p", now)
        self.pstate_rows.append((now, interval_set(numbers), pstate))

    def end_switch(self, number: int, pstate: int) -> Sequence[int]:
        """Return all machines of a change when the last of them, this one, has reached its P-state; before, none."""
        for switch in self._switches:
            machines, left, reached = switch
            if reached == pstate and number in left:
                left.remove(number)
                if left:
                    return ()
                self._switches.remove(switch)
                return machines
        return ()
