"""The energy of the machines, integrated as in SimGrid's energy plugin.

The energy of a machine is updated when something on it ends or changes and when it is read, always with the power of
that moment. So a machine not updated since its load changed is charged its new power for the past too; Batsim's
results contain that, so ours do.

Source: SimGrid 3.32, plugin host_energy.
"""

from collections.abc import Sequence
from math import fsum
from typing import Any

from hdeeprm_like.batsim_server.sharing import Constraint, Variable

PowerRanges = tuple[tuple[float, float, float], ...]  # per P-state: W when idle, at the least load, at full load

NOISE = 1e-6  # of two sums that differ by less than this share the rounding shows in the sixth decimal of a mean power
LONG_BITS = 64  # mantissa of a C long double on x86
GRID = 2.0**80  # 1 / resolution of all relevant joules
MANY = 512  # machines from which on numpy is worth its import

Numbers = Any  # of each machine: a list of floats, or a numpy array where there are many machines


def numbers(values: list[float]) -> Numbers:
    """Return numbers in the form that is fast for so many."""
    if len(values) <= MANY:
        return values
    import numpy as np  # its import takes longer than whole simulations of few machines

    return np.array(values)


class EnergyMeter:
    """Joules, watts and loads of M machines."""

    def __init__(self, hosts: Sequence[Constraint], ranges: Sequence[PowerRanges], pstates: Sequence[int]) -> None:
        """Start at time 0 with idle machines."""
        self._hosts = hosts
        self._ranges = ranges
        self._pstates = list(pstates)
        self.joules = numbers([0.0] * len(hosts))  # (M,)
        self._seen_at = numbers([0.0] * len(hosts))  # (M,) s, date of the joules
        self._watts = numbers([watts[0][0] for watts in ranges])  # (M,) W, now
        # the plugin assumes P-state 0 for a machine until its first update
        self._misjudged = {machine for machine, pstate in enumerate(pstates) if pstate != 0}
        self._least = [r[p][1] for r, p in zip(ranges, pstates, strict=True)]
        self._total: tuple[float, float] = (0.0, 0.0)  # s, J of all machines then
        self._noted: tuple[float, float, Numbers] = (0.0, 0.0, self.joules.copy())  # s, J in all, J of each

    def out_of_date(self, now: float, most: int) -> int:
        """Return the number of machines not updated at *now*, at most *most*."""
        if self._total[0] == now:
            return 0
        late = 0
        for seen_at in self._seen_at:
            late += seen_at < now
            if late == most:
                break
        return late

    def update(self, machines: Sequence[int], now: float) -> None:
        """Update some machines to *now*."""
        for machine in machines:
            span = now - self._seen_at[machine]
            if span > 0.0:
                self.joules[machine] += self._watts[machine] * span
                self._seen_at[machine] = now
            if machine in self._misjudged:
                self._misjudged.remove(machine)
                self._refresh(machine)

    def total(self, now: float) -> float:
        """Update all machines to *now*; return the sum of their joules."""
        if self._total[0] != now:
            if isinstance(self.joules, list):
                known = zip(self.joules, self._watts, self._seen_at, strict=True)
                self.joules = [joules + watts * (now - seen_at) for joules, watts, seen_at in known]
                self._seen_at = [now] * len(self.joules)
                self._total = (now, fsum(self.joules))
            else:
                self.joules += self._watts * (now - self._seen_at)
                self._seen_at[:] = now
                self._total = (now, fsum(self.joules.tolist()))
        while self._misjudged:
            self._refresh(self._misjudged.pop())
        return self._total[1]

    def mean_watts(self, now: float) -> float | None:
        """Return the mean power of all machines since the last call, None if no time has passed."""
        total = self.total(now)
        then, total_then, joules_then = self._noted
        self._noted = (now, total, self.joules.copy())
        span = now - then
        if span <= 0.0:
            return None
        if total - total_then > NOISE * total:
            return (total - total_then) / span
        return (long_sum(self.joules) - long_sum(joules_then)) / GRID / span

    @property
    def least_watts(self) -> float:
        """Return the W of all machines at their least load."""
        return fsum(self._least)

    def of(self, machines: Sequence[int]) -> float:
        """Return the joules of some machines at their last updates."""
        return fsum(map(self.joules_of, machines))

    def joules_of(self, machine: int) -> float:
        """Return the joules of a machine at its last update."""
        return float(self.joules[machine])

    def watts_of(self, machine: int) -> float:
        """Return the present power of a machine."""
        return float(self._watts[machine])

    def set_pstate(self, machine: int, pstate: int, now: float) -> None:
        """Change a machine's P-state; energy until now is counted with the old one."""
        self.update((machine,), now)
        self._pstates[machine] = pstate
        self._least[machine] = self._ranges[machine][pstate][1]
        self._refresh(machine)

    def on_rates(self, variables: Sequence[Variable]) -> None:
        """Update the loads of machines from tasks with new rates."""
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
        full = host.core_speed * host.cores  # whatever share of it the host has
        load = min(used / full, 1.0) if full > 0.0 else 1.0
        self._watts[machine] = least + load * (most - least) if load > 0.0 else idle


def long_sum(values: Numbers) -> int:
    """Return a sum as computed with C long doubles, rounded after each addition, in units of 1 / GRID."""
    if len(values) > MANY:
        import numpy as np  # has that type

        total = np.cumsum(values, dtype=np.longdouble)[-1]
        return int(float(total) * GRID) + int(float(total - float(total)) * GRID)
    units = 0
    for value in values:
        units += int(value * GRID)
        dropped = units.bit_length() - LONG_BITS
        if dropped > 0:
            rest = units & ((1 << dropped) - 1)
            units -= rest
            middle = 1 << (dropped - 1)
            if rest > middle or (rest == middle and units >> dropped & 1):
                units += 1 << dropped
    return units
