"""Sharing of capacities: hosts and links are constraints, parallel tasks and messages are variables.

The value of a variable is the share of its whole work done per second; a weight is the load of the whole work on a
constraint (flops of a host, bytes of a link). `engine.sharing` has the rule and the solver. Only variables connected
to a change are recomputed.

Source: SimGrid 3.32, host model ptask_L07.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any, NamedTuple


class Constraint:
    """A capacity in units per second, shared by its variables, or (fat pipe) fully available to each of them.

    Attributes:
        machine: the number of the host, -1 for a link.
        cores: of the host; a rank of a task uses one core.
        core_speed: flop/s of each. share: of that speed which the host has now.
    """

    def __init__(self, bound: float, fatpipe: bool = False, machine: int = -1, cores: int = 1) -> None:
        """Start unused; *bound* is the capacity of a link, or of one core."""
        self.bound = bound * cores
        self.core_speed = bound
        self.share = 1.0
        self.cores = cores
        self.fatpipe = fatpipe
        self.machine = machine
        self.variables: dict[Variable, float] = {}  # the growing ones, with their weights


class Crowd(NamedTuple):
    """Several ranks of one task on one host: how many have work, and the most work of one of them."""

    ranks: int
    heaviest: float


Crowds = Mapping[Constraint, Crowd]
NO_CROWDS: Crowds = {}


class Work:
    """Load of a parallel task or a message.

    Attributes:
        ranks: of the task, on these machines.
    """

    def __init__(
        self,
        weights: dict[Constraint, float],
        machines: Sequence[int],
        latency: float = 0.0,
        bytes_delay: float = 0.0,
        crowds: Crowds = NO_CROWDS,
        ranks: int = 1,
    ) -> None:
        """Keep the weights per constraint; latency in s, *bytes_delay* the largest latency times bytes of a flow."""
        self.weights = weights
        self.machines = machines
        self.latency = latency
        self.bytes_delay = bytes_delay
        self.crowds = crowds
        self.ranks = ranks


class Variable:
    """A parallel task or a message: its weights, and the share of its work done per second.

    Attributes:
        crowds: of the hosts with several ranks of the task.
        way_limit: 1/s, limit by the latency of its route; negative: unlimited.
        bound: 1/s, limit in all; negative: unlimited.
        owner: what progresses with that share.
    """

    def __init__(self, weights: dict[Constraint, float], crowds: Crowds = NO_CROWDS, owner: Any = None) -> None:
        """Start disabled and unlimited."""
        self.weights = weights
        self.crowds = crowds
        self.way_limit = self.bound = -1.0
        self.value = 0.0  # 1/s
        self.enabled = False
        self.owner = owner

    def set_bound(self) -> None:
        """Set the smallest of its limits: of its route, and of the one core that each of its ranks can use."""
        limits = [self.way_limit] if self.way_limit > 0.0 else []
        for constraint, weight in self.weights.items():
            if constraint.cores > 1 and weight > 0.0:
                heaviest = self.crowds.get(constraint, Crowd(1, weight)).heaviest
                limits.append(constraint.core_speed * constraint.share / heaviest)
        self.bound = min(limits, default=-1.0)


class Sharing:
    """All constraints and variables, and which of them must be recomputed."""

    def __init__(self, precision: float = 1e-5) -> None:
        """Start without variables; a capacity is exhausted when less than *precision* is left of it."""
        self.precision = precision
        self.dirty: dict[Variable, None] = {}

    def enable(self, variable: Variable) -> None:
        """Start a variable's use of its constraints."""
        variable.enabled = True
        variable.set_bound()
        for constraint, weight in variable.weights.items():
            constraint.variables[variable] = weight
        self.dirty[variable] = None

    def remove(self, variable: Variable) -> None:
        """Remove a variable from its constraints; its share is redistributed at the next `solve`."""
        if variable.enabled:
            variable.enabled = False
            for constraint, weight in variable.weights.items():
                users = constraint.variables
                del users[variable]
                if weight > 0.0:
                    self.dirty |= dict.fromkeys(users)
        variable.value = 0.0
        self.dirty.pop(variable, None)

    def set_host_speed(self, constraint: Constraint, speed: float, share: float) -> None:
        """Change the speed of a host's cores, and the share of it that the host has."""
        constraint.core_speed, constraint.share = speed, share
        constraint.bound = speed * share * constraint.cores
        for variable in constraint.variables:
            variable.set_bound()
            self.dirty[variable] = None

    def solve(self) -> list[Variable]:
        """Return the variables whose value was recomputed."""
        todo, self.dirty = self.dirty, {}
        done: dict[Variable, None] = {}
        for variable in todo:
            if variable in done or not variable.enabled:
                continue
            component = _connected(variable)
            if len(component) > 1 or variable.crowds or not _grows_at_once(variable, self.precision):
                for one, value in zip(component, _shares(component, self.precision), strict=True):
                    one.value = value
            done.update(component)
        return list(done)


def _connected(start: Variable) -> dict[Variable, None]:
    """Return the variables that share, directly or not, a constraint with *start*."""
    component = {start: None}
    front = [start]
    seen: set[Constraint] = set()
    while front:
        for constraint, weight in front.pop().weights.items():
            if weight <= 0.0 or len(constraint.variables) == 1 or constraint in seen:
                continue
            seen.add(constraint)
            for other, its_weight in constraint.variables.items():
                if its_weight > 0.0 and other not in component:
                    component[other] = None
                    front.append(other)
    return component


def _grows_at_once(variable: Variable, precision: float) -> bool:
    """Set a variable that shares nothing; return whether that exhausts its limit (rounding may leave a rest)."""
    value = 1.0  # for a task without any work, which ends at once
    least, left = inf, 0.0
    for constraint, weight in variable.weights.items():
        if weight > 0.0 and constraint.bound / weight < least:
            value = least = constraint.bound / weight
            left = constraint.bound - weight * least
    if 0.0 < variable.bound <= least:
        value, left = variable.bound, 0.0
    variable.value = value
    return left < precision


def _shares(component: dict[Variable, None], precision: float) -> list[float]:
    """Return the values of variables that share constraints, found by the solver of the embedded simulator."""
    from hdeeprm_like.engine.sharing import new_problem, share  # many simulations share nothing, and begin sooner

    numbers = {variable: number for number, variable in enumerate(component)}
    used = dict.fromkeys([c for one in component for c, weight in one.weights.items() if weight > 0.0])
    rows: list[tuple[float, ...]] = []
    uses: list[tuple[float, ...]] = []
    for constraint in used:
        rows.append((constraint.bound, 0.0, len(uses), constraint.fatpipe, 0.0))
        for other, weight in constraint.variables.items():
            if weight > 0.0:
                crowd = other.crowds.get(constraint, Crowd(1, weight))
                uses.append((weight, crowd.heaviest, crowd.ranks, numbers[other]))
    rows.append((0.0, 0.0, len(uses), 0, 0.0))
    problem = new_problem(len(used), len(component), len(uses), precision)
    problem.size[0] = len(used), len(component), len(uses), precision
    problem.constraints[:], problem.uses[:] = rows, uses
    problem.variables["bound"] = [variable.bound for variable in component]
    share(problem)
    values: list[float] = problem.variables["value"].tolist()
    return values
