"""Plays random worlds on Batsim's clock twice in plain Python: as it is, and by turns of its actors alone."""

import sys

from random_worlds import world
from small import begun

from hdeeprm_like.decision.policies.pairs import apply_pair
from hdeeprm_like.engine import batsim_clock


def played(seed):
    """All that happens in a world, with every bit."""
    cluster, workload, pair = world(seed)
    simulator, numbers = begun(cluster, workload, pair)
    found = []
    while (instant := simulator.next_instant()) is not None:
        found.append(instant)
        simulator.state.receive(instant)
        apply_pair(simulator.state.tables, *numbers)
        simulator.apply(simulator.state.drain())
    clock, tables = simulator.clock, simulator.state.tables
    columns = simulator.simulation.tasks, tables.log[: tables.clock["logged"][0]], clock.actions.pace
    return found, [column.tobytes() for column in columns]


def by_turns(seed):
    """The same without what the clock does at once."""
    kept = batsim_clock.only_jobs_end, batsim_clock.run_at_once
    batsim_clock.only_jobs_end = batsim_clock.run_at_once = lambda *_: False
    try:
        return played(seed)
    finally:
        batsim_clock.only_jobs_end, batsim_clock.run_at_once = kept


if __name__ == "__main__":
    sys.stdout.write(
        repr([seed for seed in range(int(sys.argv[1]), int(sys.argv[2])) if played(seed) != by_turns(seed)])
    )
