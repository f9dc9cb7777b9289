"""What no schedule can go below on a machine of several kinds of cores: mean turnaround, energy, energy-delay product.

`alone` lets each job run by itself on its best cores. `with_rents` also counts that jobs compete for the few best ones:
cores of each kind have a rent for each span of time, each job chooses when and on what kind it runs so that its
completion and its rents together are least, and the rents that all cores can earn are subtracted. Whatever the rents,
that is a bound: in any schedule the jobs pay no more than the cores can earn. The best rents are climbed to. This is
the Lagrangian relaxation of the machine's capacity in a time-indexed formulation (Fisher, "The Lagrangian relaxation
method for solving integer programming problems", 1981; Dyer and Wolsey, 1990). Contention for bandwidth, what idle
cores beside busy ones draw, and how cores lie on nodes are left out of both, which only lowers them.

`frugal` bounds energy the same way: all work must fit onto the cores until the last job ends, the cheapest cores first.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import linprog

from hdeeprm_like.cluster.platform import Platform
from hdeeprm_like.cluster.pstates import P0, P3
from hdeeprm_like.cluster.workload import Workload

SPANS, BEYOND = 12, 1.2  # spans of time with a rent of their own, and where they end, in times of the last submission
STEPS, FADING = 100, 0.99  # of the climb, and what a step is of the one before
ENDS, LATEST = 24, 3.0  # ends that the bound of energy tries, up to so many times the earliest one


@dataclass(frozen=True)
class Kinds:
    """Kinds of cores: those of one speed, with or without GPUs; K kinds.

    Attributes:
        of: (P,) the kind of each processor. speed: (K,) flop/s. gpus: (K,) if they have GPUs. cores: (K,) how many.
        watts: (K,) W of a core that computes, less what it draws asleep; the least of the kind.
    """

    of: np.ndarray
    speed: np.ndarray
    gpus: np.ndarray
    cores: np.ndarray
    watts: np.ndarray

    @classmethod
    def on(cls, machine: Platform) -> "Kinds":
        """Return those of a machine."""
        watts = machine.processor_watts[:, P0] - machine.processor_watts[:, P3]
        gpus = machine.node_gpus[machine.processor_node] > 0.0
        found, of = np.unique(np.stack([machine.processor_flops[:, P0], gpus], 1), axis=0, return_inverse=True)
        of = of.reshape(-1)
        cores = np.bincount(of, machine.processor_cores)
        least = np.array([watts[of == k].min() for k in range(len(found))])
        return cls(of, found[:, 0], found[:, 1] > 0.0, cores, least)

    def as_fast(self, k: int, with_gpus: bool) -> np.ndarray:
        """Return (K,) which kinds a job can use whose slowest cores are of kind *k*."""
        found: np.ndarray = (self.speed >= self.speed[k]) & (self.gpus | (not with_gpus))
        return found


class Bounds:
    """Bounds for the jobs of a window that fit the machine; J jobs.

    Args:
        ran: which jobs a schedule has run; None for all that find enough cores, whatever lies on the same node.

    Attributes:
        seconds: (J, K) run time where the slowest cores are of a kind, infinite if too few are as fast.
    """

    def __init__(self, machine: Platform, jobs: Workload, ran: np.ndarray | None = None) -> None:
        self.machine, self.kinds = machine, Kinds.on(machine)
        seconds = np.stack([self._seconds(jobs, j) for j in range(len(jobs))])
        self.fits = np.isfinite(seconds).any(1) & (True if ran is None else ran)
        self.seconds, self.submit, self.ops = seconds[self.fits], jobs.submit[self.fits], jobs.ops[self.fits]
        self.size, self.on_gpus = jobs.size[self.fits].astype(float), jobs.gpus[self.fits] > 0.0

    def _seconds(self, jobs: Workload, j: int) -> np.ndarray:
        """Return (K,) the run times of a job."""
        machine, kinds = self.machine, self.kinds
        memory = machine.node_memory[machine.processor_node] * (1.0 + 1e-9)
        room = np.minimum(machine.processor_cores, memory // max(jobs.memory[j], 1e-9))
        of_kind, gpus = np.bincount(kinds.of, room, len(kinds.speed)), bool(jobs.gpus[j] > 0.0)
        found = np.full(len(kinds.speed), np.inf)
        for k, speed in enumerate(kinds.speed):
            able = kinds.as_fast(k, gpus)
            if able[k] and of_kind[able].sum() >= jobs.size[j]:
                found[k] = jobs.ops[j] / speed
        return found

    @cached_property
    def best_seconds(self) -> np.ndarray:
        """(J,) the run time of each job alone on its best cores."""
        least: np.ndarray = self.seconds.min(1)
        return least

    def alone(self) -> float:
        """Return a bound of the mean turnaround in s: each job runs by itself on its best cores, when it comes."""
        return float(self.best_seconds.mean())

    def with_rents(self) -> float:
        """Return a bound of the mean turnaround in s that counts what the jobs have to share; no less than `alone`."""
        return max(Rents(self).climb(), self.alone())  # without rents, its sums round otherwise

    def earliest_end(self) -> float:
        """Return a bound of the last job's end in s: its own, and that of all cores busy from any submission on."""
        order = np.argsort(self.submit)
        later = np.cumsum((self.ops * self.size)[order][::-1])[::-1]  # work that is submitted from each time on
        full = self.submit[order] + later / (self.kinds.speed * self.kinds.cores).sum()
        return float(max((self.submit + self.best_seconds).max(), full.max()))

    def frugal(self) -> tuple[float, float]:
        """Return bounds of the energy in J and of the energy-delay product in J s.

        For ends between two that are tried, the work costs no less than with the later one's room, and sleep no less
        than until the earlier one.
        """
        asleep = float((self.machine.processor_watts[:, P3] * self.machine.processor_cores).sum())
        ends = self.earliest_end() * np.geomspace(1.0, LATEST, ENDS)
        work = [*(self._work_until(end) for end in ends[1:]), self._work_until(np.inf)]
        joules = [one + asleep * end for one, end in zip(work, ends, strict=True)]
        return min(joules), min(one * end for one, end in zip(joules, ends, strict=True))

    def _work_until(self, end: float) -> float:
        """Return J above those of sleep that all work needs at least, if no core can work longer than until *end*."""
        kinds, users = self.kinds, [self.on_gpus, ~self.on_gpus]
        work = np.array([(self.ops * self.size)[one].sum() for one in users])
        cost = kinds.watts / kinds.speed  # J for an operation
        cheapest = work @ [cost[kinds.gpus].min() if kinds.gpus.any() else 0.0, cost.min()]
        if not np.isfinite(end):
            return float(cheapest)
        unit, count = work.sum(), len(cost)
        room = kinds.speed * kinds.cores * (end - self.submit.min()) / unit
        shares = np.stack([np.repeat(np.eye(2)[i], count) for i in range(2)])
        shares = shares.reshape(2, 2, count).reshape(2, 2 * count)
        usable = np.concatenate([kinds.gpus, np.ones(count, np.bool_)])
        found = linprog(
            np.tile(cost / cost.min(), 2),
            A_ub=np.tile(np.eye(count), 2),
            b_ub=room,
            A_eq=shares,
            b_eq=work / unit,
            bounds=[(0.0, None if one else 0.0) for one in usable],
        )
        return max(float(cheapest), float(found.fun) * cost.min() * unit) if found.status == 0 else float(cheapest)


class Rents:
    """Rents of cores, (K, SPANS) in s of completion for each core second, and what jobs choose that pay them."""

    def __init__(self, bounds: Bounds) -> None:
        self.of, count = bounds, len(bounds.submit)
        self.edges = np.linspace(0.0, BEYOND * float(bounds.submit.max()) or bounds.earliest_end(), SPANS + 1)
        seconds = np.where(np.isfinite(bounds.seconds), bounds.seconds, 0.0)[:, :, None]
        # between these starts what a job suffers is a straight line: its submission, and where it begins or ends at an
        # edge
        edges = np.broadcast_to(self.edges, (*seconds.shape[:2], SPANS + 1))
        at_once = np.zeros((*seconds.shape[:2], 1))
        starts = np.concatenate([at_once, edges, edges - seconds], 2)
        self.starts = np.maximum(starts, bounds.submit[:, None, None])
        self.ends = self.starts + seconds
        self.never = ~np.isfinite(bounds.seconds)[:, :, None]
        self.jobs = np.arange(count)

    def cheapest(self, rents: np.ndarray, with_gpus: bool) -> np.ndarray:
        """Return (K, SPANS) the kind that costs least of those as fast as a kind, for jobs with GPUs or without."""
        kinds = self.of.kinds
        able = np.stack([kinds.as_fast(k, with_gpus) for k in range(len(kinds.speed))])
        found: np.ndarray = np.where(able[:, :, None], rents, np.inf).argmin(1)
        return found

    def value(self, rents: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the bound of the mean turnaround in s, and (K, SPANS) by how many cores more are wanted than exist."""
        of, spans, paid = self.of, np.diff(self.edges), np.empty_like(self.starts)
        taken = np.stack([self.cheapest(rents, gpus) for gpus in (False, True)])
        for gpus in (False, True):
            some = of.on_gpus == gpus
            for k, row in enumerate(np.take_along_axis(rents, taken[int(gpus)], 0)):
                until = np.concatenate([[0.0], np.cumsum(row * spans)])
                first, last = self.starts[some, k], self.ends[some, k]
                paid[some, k] = np.interp(last, self.edges, until) - np.interp(first, self.edges, until)
        suffered = np.where(self.never, np.inf, self.ends + of.size[:, None, None] * paid).reshape(len(self.jobs), -1)
        chosen = suffered.argmin(1)
        earned = float((rents * spans).sum(1) @ of.kinds.cores)
        bound = float((suffered[self.jobs, chosen] - of.submit).sum() - earned) / len(self.jobs)
        kind = chosen // self.starts.shape[2]
        first, last = (
            times.reshape(len(self.jobs), -1)[self.jobs, chosen][:, None] for times in (self.starts, self.ends)
        )
        used = np.zeros_like(rents)
        overlap = np.clip(np.minimum(last, self.edges[1:]) - np.maximum(first, self.edges[:-1]), 0.0, None)
        np.add.at(used, (taken[of.on_gpus.astype(int), kind], np.arange(SPANS)), overlap * of.size[:, None])
        return bound, used / spans - of.kinds.cores[:, None]

    def climb(self) -> float:
        """Return the highest bound on the way uphill from no rents, in steps scaled by the size of past slopes."""
        of, rents = self.of, np.zeros((len(self.of.kinds.speed), SPANS))
        unit = 0.3 * of.best_seconds.mean() / (of.best_seconds * of.size).mean()  # a job's time for that of its cores
        best, mean, square = -np.inf, np.zeros_like(rents), np.zeros_like(rents)
        for step in range(STEPS):
            bound, slope = self.value(rents)
            best, slope = max(best, bound), slope / of.kinds.cores[:, None]
            mean, square = 0.9 * mean + 0.1 * slope, 0.95 * square + 0.05 * slope**2
            ahead = mean / (1.0 - 0.9 ** (step + 1)) / np.sqrt(square / (1.0 - 0.95 ** (step + 1)) + 1e-6)
            rents = np.maximum(0.0, rents + unit * FADING**step * ahead)
        return best
