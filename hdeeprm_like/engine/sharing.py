"""Sharing of capacities among parallel tasks and messages, for the server and for the embedded simulator.

Hosts and links are constraints, tasks and messages are variables. The value of a variable is the share of its whole
work done per second; a use is the load of the whole work on a constraint (flops of a host, bytes of a link). Capacities
are shared by the "fair bottleneck" rule: the rest of a constraint is offered in equal parts to its growing variables,
each takes the smallest of its offers, and variables on an exhausted constraint stop growing. A task with several ranks
on one host takes one part for each of them, but as its ranks advance together, the heaviest sets the pace.

`share` solves one problem, whose arrays lie in one `Problem`. Sums follow SimGrid's order, for the same last bits.

Source: SimGrid 3.32, host model ptask_L07.
"""

import numpy as np

from hdeeprm_like.engine.bundles import Bundle
from hdeeprm_like.engine.compiled import compiled, entry
from hdeeprm_like.types import Ints, Records

PRECISION = 1e-5  # a capacity is exhausted when less is left of it, unless SimGrid's options differ

CONSTRAINT = np.dtype(
    [
        ("bound", "f8"),  # capacity in units per second
        ("left", "f8"),  # what is left of it
        ("first", "i8"),  # its uses begin here and end where those of the next constraint begin
        ("fatpipe", "i8"),  # 1 if each variable has all of it
        ("offer", "f8"),  # what a growing variable may take
    ],
    align=True,
)

VARIABLE = np.dtype(
    [
        ("bound", "f8"),  # 1/s, limit in all; not above 0: unlimited
        ("value", "f8"),  # 1/s, the solution
        ("grown", "f8"),  # 1/s, its last growth
        ("step", "f8"),  # 1/s, the smallest of its offers
        ("growing", "i8"),
    ],
    align=True,
)

USE = np.dtype(
    [
        ("weight", "f8"),  # load of all ranks together, above 0
        ("heaviest", "f8"),  # the largest load of one rank
        ("takers", "i8"),  # ranks with a load
        ("variable", "i8"),
    ],
    align=True,
)

PROBLEM = np.dtype([("constraints", "i8"), ("variables", "i8"), ("uses", "i8"), ("precision", "f8")], align=True)


class Problem(Bundle):
    """Capacities to be shared, and the solution.

    Attributes:
        size: (1,) PROBLEM, used entries of the others.
        constraints: CONSTRAINT, one more than there are. variables: VARIABLE.
        uses: USE, by constraint; among those of one, in the order in which the variables began.
        open: scratch, as long as the constraints.
    """

    size: Records
    constraints: Records
    variables: Records
    uses: Records
    open: Ints


def new_problem(constraints: int, variables: int, uses: int, precision: float = PRECISION) -> Problem:
    """Return an empty problem with room for the given numbers."""
    size = np.zeros(1, PROBLEM)
    size["precision"] = precision
    return Problem(
        size=size,
        constraints=np.zeros(constraints + 1, CONSTRAINT),
        variables=np.zeros(max(variables, 1), VARIABLE),
        uses=np.zeros(max(uses, 1), USE),
        open=np.zeros(constraints + 1, np.int64),
    )


@entry
def share(problem: Problem) -> None:
    """Write the values of the variables of a problem."""
    size = problem.size[0]
    growing, opened = size.variables, size.constraints
    for v in range(growing):
        variable = problem.variables[v]
        variable.value, variable.grown, variable.growing = 0.0, 0.0, 1
    for c in range(opened):
        problem.open[c] = c
        problem.constraints[c].left = problem.constraints[c].bound
    while growing > 0:
        for v in range(size.variables):
            problem.variables[v].step = np.inf
        opened = offer(problem, opened)
        grow(problem)
        opened = exhaust(problem, opened)
        growing = 0
        for v in range(size.variables):
            growing += problem.variables[v].growing


@compiled
def offer(problem: Problem, opened: int) -> int:
    """Offer what is left of the open constraints to growing variables; return how many constraints are still open."""
    kept = 0
    for i in range(opened):
        c = problem.open[i]
        constraint, end = problem.constraints[c], problem.constraints[c + 1].first
        takers = 0
        for u in range(constraint.first, end):
            if problem.variables[problem.uses[u].variable].growing:
                takers += problem.uses[u].takers
        if takers == 0:
            continue
        constraint.offer = constraint.left if constraint.fatpipe else constraint.left / takers
        problem.open[kept] = c
        kept += 1
        for u in range(constraint.first, end):
            variable = problem.variables[problem.uses[u].variable]
            if variable.growing:
                variable.step = min(variable.step, constraint.offer / problem.uses[u].heaviest)
    return kept


@compiled
def grow(problem: Problem) -> None:
    """Give every growing variable the smallest of its offers."""
    for v in range(problem.size[0].variables):
        variable = problem.variables[v]
        if not variable.growing:
            continue
        step = 0.0 if variable.step == np.inf else variable.step
        if variable.bound > 0.0:
            step = min(step, variable.bound - variable.value)
        variable.grown = step
        variable.value += step
        if variable.value == variable.bound or step <= 0.0:
            variable.growing = 0


@compiled
def exhaust(problem: Problem, opened: int) -> int:
    """Subtract the growth from the open constraints and stop variables on exhausted ones; return how many stay open."""
    precision, kept = problem.size[0].precision, 0
    for i in range(opened):
        c = problem.open[i]
        constraint, end = problem.constraints[c], problem.constraints[c + 1].first
        rest = constraint.left
        if constraint.fatpipe:
            most = constraint.offer
            for u in range(constraint.first, end):
                most = min(most, problem.uses[u].weight * problem.variables[problem.uses[u].variable].grown)
            rest -= most
        else:
            for u in range(end - 1, constraint.first - 1, -1):  # the latest is first in SimGrid
                rest -= problem.uses[u].weight * problem.variables[problem.uses[u].variable].grown
                if rest < precision:
                    rest = 0.0
        if rest < precision:
            rest = 0.0
            for u in range(constraint.first, end):
                problem.variables[problem.uses[u].variable].growing = 0
        else:
            problem.open[kept] = c
            kept += 1
        constraint.left = rest
    return kept
