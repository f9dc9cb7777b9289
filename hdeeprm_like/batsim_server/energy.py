"""The energy of the machines, integrated as SimGrid's energy plugin does it.

The energy of a machine is brought up to date when something on it ends or changes and when somebody asks, always with
the power of that moment. A machine that nobody looked at since its load changed is thus charged its new power for the
past too; Batsim's figures contain that, so ours do.

Source: SimGrid 3.32, plugin host_energy.
"""

from collections.abc import Sequence

import numpy as np

from hdeeprm_like.batsim_server.sharing import Constraint, Variable
from hdeeprm_like.types import Floats

PowerRanges = tuple[tuple[float, float, float], ...]  # per P-state: W when idle, at the least load, at full load


class EnergyMeter:
    """Joules, watts and loads of M machines."""

    def __init__(self, hosts: Sequence[Constraint], ranges: Sequence[PowerRanges], pstates: Sequence[int]) -> None:
        """Start at time 0 with idle machines."""
        self._hosts = hosts
        self._ranges = ranges
        self._pstates = list(pstates)
        self.joules: Floats = np.zeros(len(hosts))  # (M,)
        self._seen_at: Floats = np.zeros(len(hosts))  # (M,) s, up to when the joules are counted
        self._watts: Floats = np.array([watts[0][0] for watts in ranges], dtype=np.float64)  # (M,) W, now
        # the plugin takes a machine to be in P-state 0 until it first looks at it
        self._misjudged = {machine for machine, pstate in enumerate(pstates) if pstate != 0}
        self._least: Floats = np.array([r[p][1] for r, p in zip(ranges, pstates, strict=True)], dtype=np.float64)
        self.least_watts = float(self._least.sum())  # W, of all machines if each had a little to do

    def out_of_date(self, now: float) -> int:
        """Return how many machines are not counted up to *now*."""
        return int(np.count_nonzero(self._seen_at < now))

    def update(self, machines: Sequence[int], now: float) -> None:
        """Count some machines up to *now*."""
        for machine in machines:
            span = now - self._seen_at[machine]
            if span > 0.0:
                self.joules[machine] += self._watts[machine] * span
                self._seen_at[machine] = now
            if machine in self._misjudged:
                self._misjudged.remove(machine)
                self._refresh(machine)

    def total(self, now: float) -> np.longdouble:
        """Count all machines up to *now*; return the sum of their joules."""
        self.joules += self._watts * (now - self._seen_at)
        self._seen_at.fill(now)
        while self._misjudged:
            self._refresh(self._misjudged.pop())
        return np.cumsum(self.joules, dtype=np.longdouble)[-1] if self.joules.size else np.longdouble(0)

    def of(self, machines: Sequence[int]) -> float:
        """Return the joules of some machines, as counted so far."""
        return float(np.sum(self.joules[list(machines)], dtype=np.longdouble))

    def set_pstate(self, machine: int, pstate: int, now: float) -> None:
        """Change a machine's P-state; the past is counted with the old one."""
        self.update((machine,), now)
        self._pstates[machine] = pstate
        self._least[machine] = self._ranges[machine][pstate][1]
        self.least_watts = float(self._least.sum())
        self._refresh(machine)

    def on_rates(self, variables: Sequence[Variable]) -> None:
        """Take the loads that tasks with new rates put on their machines."""
        for variable in variables:
            for constraint in variable.weights:
                if constraint.machine >= 0:
                    self._refresh(constraint.machine)

    def _refresh(self, machine: int) -> None:
        if machine in self._misjudged:
            return
        host = self._hosts[machine]
        idle, least, most = self._ranges[machine][self._pstates[machine]]
        used = 0.0  # flop/s
        for variable, weight in host.variables.items():
            used += weight * variable.value
        load = min(used / host.bound, 1.0) if host.bound > 0.0 else 1.0
        self._watts[machine] = least + load * (most - least) if load > 0.0 else idle
